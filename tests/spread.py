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
_wanted = {"at night": True}


def only_by_day() -> None:
    """Leaves out what is tried at night, before it is collected: there are as many of those tests as of all others."""
    _wanted["at night"] = False


def by_day_and_at_night(name: str, by_day: Iterable[Any], at_night: Iterable[Any]) -> pytest.MarkDecorator:
    """The test for some values of a parameter by day, and for others at night."""
    slow = [pytest.param(value, marks=pytest.mark.slow) for value in at_night] if _wanted["at night"] else []
    return pytest.mark.parametrize(name, [*by_day, *slow])


def spread(inputs: Iterable[_Input], name_of: Callable[[_Input], str], test: str, share: int = 3) -> list[Any]:
    """Parameters of a test: of each kind, what stands before the slash in the names, one of `share` by day."""
    found: list[Any] = []
    for kind, group in groupby(sorted(inputs, key=name_of), lambda one: name_of(one).rpartition("/")[0]):
        of_kind = list(group)
        first = crc32(f"{test} {kind}".encode()) % min(share, len(of_kind))
        for number, one in enumerate(of_kind):
            is_by_day = number % share == first
            if is_by_day or _wanted["at night"]:
                found.append(pytest.param(one, id=name_of(one), marks=() if is_by_day else (pytest.mark.slow,)))
    return found
