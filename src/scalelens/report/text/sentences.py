"""Sentences of a report and the numbers in them."""

from collections.abc import Sequence
from typing import NamedTuple

MOST = 6  # sentences of one kind; the table has the rest


class FindingSentence(NamedTuple):
    """A finding in words, and what qualifies it: counts, intervals, notes.

    `weight` is how much a reader's conclusion would change: about the share by which a number of the page would differ.
    """

    text: str
    doubt: str = ""
    weight: float = 0.0


class KeyNumber(NamedTuple):
    """A number of the first screen: `95.9 %`, `efficiency at 256 GPUs`, and what it is of."""

    value: str
    label: str
    remark: str = ""


def few(sentences: Sequence[FindingSentence]) -> list[FindingSentence]:
    """The first sentences, and how many more there would be."""
    rest = len(sentences) - MOST
    return [*sentences[:MOST], *([FindingSentence(f"The table has {rest:,} more.")] if rest > 0 else [])]


def plural(count: float, what: str) -> str:
    """`1 run`, `2 runs`, `0.5 runs`."""
    return f"{amount(count)} {what}{'' if count == 1 else 's'}"


def amount(value: float) -> str:
    """A number with four significant digits, never with an exponent of ten for large ones: `24,320`, `0.8139`."""
    return f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.4g}"


def percent(value: float, decimals: int = 1) -> str:
    """A share in per cent."""
    return f"{100 * value:.{decimals}f} %"


def seconds(value: float) -> str:
    """A time with four significant digits, in a unit that suits it."""
    for least, size, unit in ((7200, 3600, "h"), (600, 60, "min"), (0.2, 1, "s"), (2e-4, 1e-3, "ms")):
        if value >= least:
            return f"{value / size:.4g} {unit}"
    return f"{value * 1e6:.4g} µs"


def watt_hours(joules: float) -> str:
    """An energy in Wh, kWh or MWh."""
    hours = joules / 3600
    for least, size, unit in ((1e6, 1e6, "MWh"), (1e3, 1e3, "kWh")):
        if hours >= least:
            return f"{hours / size:.4g} {unit}"
    return f"{hours:.4g} Wh"


_ROOM = 80  # characters of the names in one sentence


def few_within(names: Sequence[str], most: int = 4) -> str:
    """The first names that a sentence has room for, one at least, and how many more there are."""
    shown = next((n for n in range(most, 1, -1) if len(", ".join(names[:n])) <= _ROOM), 1)
    if len(names) == shown + 1 and len(", ".join(names)) > _ROOM:
        return f"{', '.join(names[:shown])} and 1 more"
    return few_of(names, shown)


def few_of(names: Sequence[str], most: int = 4) -> str:
    """The first names, and how many more there are; a single one is named as well."""
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {names[-1] if len(names) == most + 1 else f'{len(names) - most} more'}"
