"""Compares names with what templates say of them, in time that grows with the length of a name and no faster.

A name is compared from its end: of each piece of the pattern, only the places are kept where the rest fits.  A regular
expression with several parts of any text would try all their lengths in all combinations.
"""

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass

NUMBER_PATTERNS = {  # of each kind of number, in the order in which they are tried
    "count": (r"0*[1-9][0-9]{0,8}(?![0-9])",),
    "number": (r"[0-9]{1,18}\.[0-9]{1,18}(?![0-9])", r"[0-9]{1,18}(?![0-9])"),
    "int": (r"[0-9]{1,18}(?![0-9])",),
}


@dataclass(frozen=True)
class Literal:
    text: str


@dataclass(frozen=True)
class Text:
    """One letter or more, as many as the rest leaves."""

    name: str | None


@dataclass(frozen=True)
class Star:
    """Any letters, as few as the rest needs."""


@dataclass(frozen=True)
class Choice:
    """A number or one of some words: patterns that each fit one text at a place, in the order of preference."""

    name: str
    patterns: tuple[re.Pattern[str], ...]


Piece = Literal | Text | Star | Choice
NamePattern = tuple[Piece, ...]
ANY_FOLDERS = None  # `**` among the patterns of a path


def values_in_path(patterns: Sequence[NamePattern | None], names: Sequence[str]) -> dict[str, str] | None:
    """Values of the named parts where the patterns fit the first names of a path; None where they do not.

    `**` takes as many folders as the rest leaves.
    """
    count = patterns.index(ANY_FOLDERS) if ANY_FOLDERS in patterns else len(patterns)
    if count > len(names):
        return None
    values: dict[str, str] = {}
    for pattern, name in zip(patterns[:count], names, strict=False):
        if pattern is None or (found := values_in(pattern, name)) is None:
            return None
        values |= found
    rest = _values_after_folders(patterns[count:], names[count:])
    return None if rest is None else values | rest


def _values_after_folders(patterns: Sequence[NamePattern | None], names: Sequence[str]) -> dict[str, str] | None:
    """As `values_in_path`, for patterns of which some are `**`: compared from the last one, as pieces of a name are."""
    fits = [True] * (len(names) + 1)
    found: list[list[dict[str, str] | None]] = []
    ends: list[list[int]] = []
    for pattern in reversed(patterns):
        last = max((k for k, fit in enumerate(fits) if fit), default=-1)
        if pattern is ANY_FOLDERS:
            found.append([None] * len(fits))
            ends.append([last if k <= last else -1 for k in range(len(fits))])
        else:
            found.append([values_in(pattern, name) if fits[k + 1] else None for k, name in enumerate(names)])
            ends.append([-1 if values is None else k + 1 for k, values in enumerate(found[-1])] + [-1])
        fits = [end >= 0 for end in ends[-1]]
    if not fits[0]:
        return None
    values: dict[str, str] = {}
    place = 0
    for of_pattern, end in zip(reversed(found), reversed(ends), strict=True):
        values |= (of_pattern[place] if place < len(of_pattern) else None) or {}
        place = end[place]
    return values


@functools.lru_cache(maxsize=4096)
def values_in(pattern: NamePattern, name: str) -> dict[str, str] | None:
    """Values of the named parts of a pattern that fits a whole name; None where it does not fit."""
    fits = [False] * len(name) + [True]  # by place: whether what follows a piece fits from there
    ends: list[list[int]] = []  # of each piece from the last one: where it ends if it begins at a place, else -1
    for piece in reversed(pattern):
        ends.append(ends_of(piece, name, fits))
        fits = [end >= 0 for end in ends[-1]]
    if not fits[0]:
        return None
    values: dict[str, str] = {}
    place = 0
    for piece, of_piece in zip(pattern, reversed(ends), strict=True):
        if isinstance(piece, Text | Choice) and piece.name:
            values[piece.name] = name[place : of_piece[place]]
        place = of_piece[place]
    return values


def ends_of(piece: Piece, name: str, fits: list[bool]) -> list[int]:
    """By place of a name: where a piece that begins there ends, so that the rest fits; -1 where it cannot."""
    size = len(fits)
    if isinstance(piece, Text):
        last = max((k for k in range(size) if fits[k]), default=-1)
        return [last if k < last else -1 for k in range(size)]
    if isinstance(piece, Star):
        ends, nearest = [-1] * size, -1
        for k in reversed(range(size)):
            ends[k] = nearest = k if fits[k] else nearest
        return ends
    if isinstance(piece, Literal):
        length = len(piece.text)
        return [
            k + length if k + length < size and fits[k + length] and name.startswith(piece.text, k) else -1
            for k in range(size)
        ]
    return [_end_of_choice(piece, name, k, fits) for k in range(size)]


def _end_of_choice(piece: Choice, name: str, place: int, fits: list[bool]) -> int:
    for pattern in piece.patterns:
        if (match := pattern.match(name, place)) and fits[match.end()]:
            return match.end()
    return -1
