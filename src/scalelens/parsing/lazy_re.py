"""Python's `re`, except that `compile` leaves the work to the first use of a pattern.

Two hundred formats have 800 patterns, of which a log uses a few dozen.  Compiling all of them took a fifth of the
processor time of reading one small log.  A format imports it as `re`:

    from scalelens.parsing import lazy_re as re

A pattern that is wrong fails when it is first used; a test compiles all of them.
"""

import functools
import re
from re import (
    ASCII,
    DOTALL,
    IGNORECASE,
    MULTILINE,
    VERBOSE,
    Match,
    Pattern,
    escape,
    findall,
    finditer,
    fullmatch,
    match,
    search,
    split,
    sub,
)
from typing import Any, AnyStr, cast

__all__ = [
    "ASCII", "DOTALL", "IGNORECASE", "MULTILINE", "VERBOSE", "Match", "Pattern", "compile", "compiled", "escape",
    "findall", "finditer", "fullmatch", "match", "search", "split", "sub",
]  # fmt: skip


class _Lazy:
    """Stands for a pattern; what is asked of it is kept, so that only the first call comes through here."""

    def __init__(self, text: str | bytes, flags: int) -> None:
        self._arguments = text, flags

    @functools.cached_property
    def compiled(self) -> Pattern[Any]:
        return re.compile(*self._arguments)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what copying and pickling look for is not the pattern's
            raise AttributeError(name)
        value = getattr(self.compiled, name)
        setattr(self, name, value)
        return value


def compile(pattern: AnyStr, flags: int = 0) -> Pattern[AnyStr]:
    """A pattern that is compiled when it is first used.  Functions of `re` take its `pattern`, not the object."""
    return cast("Pattern[AnyStr]", _Lazy(pattern, flags))


def compiled(value: object) -> Pattern[Any] | None:
    """The pattern that a value is, or stands for; None for other values."""
    if isinstance(value, _Lazy):
        return value.compiled
    return value if isinstance(value, re.Pattern) else None
