"""Sentences of a report and the numbers in them."""

from collections.abc import Sequence
from typing import NamedTuple

MOST = 6  # sentences of one kind; the table has the rest


class FindingSentence(NamedTuple):
    """A finding in words, and what qualifies it: counts, intervals, notes."""

    text: str
    doubt: str = ""


def few(sentences: Sequence[FindingSentence]) -> list[FindingSentence]:
    """The first sentences, and how many more there would be."""
    rest = len(sentences) - MOST
    return [*sentences[:MOST], *([FindingSentence(f"The table has {rest:,} more.")] if rest > 0 else [])]


def plural(count: int, what: str) -> str:
    """`1 run`, `2 runs`."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def percent(value: float, decimals: int = 1) -> str:
    """A share in per cent."""
    return f"{100 * value:.{decimals}f} %"


def seconds(value: float) -> str:
    """A time with four significant digits, in ms below 0.2 s."""
    return f"{value * 1e3:.4g} ms" if value < 0.2 else f"{value:.4g} s"


def few_of(names: Sequence[str], most: int = 4) -> str:
    """The first names, and how many more there are."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
