"""Inputs of a test that holds for all of them: some are tried by day, all at night.

A property of every fixture or query costs minutes by day, and what breaks it breaks it for most of a kind.  So by day a
test tries a part of each kind, one at least, and another test tries another part; `pytest -m slow` tries the rest.
"""

from collections.abc import Callable, Iterable
from itertools import groupby
from typing import Any, TypeVar
from zlib import crc32

import pytest

_Input = TypeVar("_Input")


def spread(inputs: Iterable[_Input], name_of: Callable[[_Input], str], test: str, share: int = 3) -> list[Any]:
    """Parameters of a test: of each kind, what stands before the slash in the names, one of `share` by day."""
    found: list[Any] = []
    for kind, group in groupby(sorted(inputs, key=name_of), lambda one: name_of(one).rpartition("/")[0]):
        of_kind = list(group)
        first = crc32(f"{test} {kind}".encode()) % min(share, len(of_kind))
        for number, one in enumerate(of_kind):
            marks = () if number % share == first else (pytest.mark.slow,)
            found.append(pytest.param(one, id=name_of(one), marks=marks))
    return found
