"""An x axis of dates, with ticks at round hours, days, months or years."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import altair as alt
import polars as pl

_MOST_TICKS = 6
_HOUR, _DAY, _MONTH, _YEAR = 3600, 86_400, 2_629_746, 31_556_952  # seconds; of months and years, the mean
_OF_DAY, _OF_MONTH, _OF_YEAR = (f"utcFormat(datum.value, '{form}')" for form in ("%b %-d", "%Y-%m", "%Y"))
_MIDNIGHT = "utchours(datum.value) == 0 && utcminutes(datum.value) == 0"
_CLOCK = f"utcFormat(datum.value, {_MIDNIGHT} ? '%b %-d' : '%H:%M')"
_STEPS = (  # between ticks, as polars writes them and in seconds, and labels; steps grow so little that two fit
    ("1m", 60, _CLOCK), ("2m", 120, _CLOCK), ("5m", 300, _CLOCK), ("15m", 900, _CLOCK), ("30m", 1800, _CLOCK),
    ("1h", _HOUR, _CLOCK), ("3h", 3 * _HOUR, _CLOCK), ("6h", 6 * _HOUR, _CLOCK), ("12h", 12 * _HOUR, _CLOCK),
    ("1d", _DAY, _OF_DAY), ("2d", 2 * _DAY, _OF_DAY), ("4d", 4 * _DAY, _OF_DAY), ("1w", 7 * _DAY, _OF_DAY),
    ("2w", 14 * _DAY, _OF_DAY), ("1mo", _MONTH, _OF_MONTH), ("2mo", 2 * _MONTH, _OF_MONTH),
    ("4mo", 4 * _MONTH, _OF_MONTH), ("1y", _YEAR, _OF_YEAR), ("2y", 2 * _YEAR, _OF_YEAR), ("5y", 5 * _YEAR, _OF_YEAR),
    ("10y", 10 * _YEAR, _OF_YEAR),
)  # fmt: skip


def milliseconds(moment: datetime) -> float:
    """Milliseconds since 1970, which Vega takes for a date."""
    return moment.replace(tzinfo=UTC).timestamp() * 1000


def axis(field: str, moments: Sequence[datetime], what: str = "start") -> Any:
    """The x axis of a field of `milliseconds`; the title says from when to when.

    It is an axis of numbers, drawn in UTC, so that a figure is the same in every time zone.
    """
    first, last = min(moments), max(moments)
    ticks, form = _ticks(first, last)
    return alt.X(
        f"{field}:Q",
        title=f"{what}, {_span(first, last)}",
        scale=alt.Scale(domain=_ends(first, last), nice=False, zero=False, padding=6),
        axis=alt.Axis(
            values=[milliseconds(tick) for tick in ticks], labelExpr=form, labelOverlap="greedy", labelSeparation=2,
        ),
    )  # fmt: skip


def is_date(channel: Mapping[str, Any]) -> bool:
    """Whether an axis of a finished figure is one of dates."""
    return str((channel.get("axis") or {}).get("labelExpr", "")).startswith("utcFormat(")


def between(limits: tuple[float, float], title: str | None) -> dict[str, Any]:
    """What an axis of dates shows between other ends, in milliseconds: its ticks and their labels, and its title."""
    first, last = (datetime.fromtimestamp(end / 1000, UTC).replace(tzinfo=None) for end in limits)
    ticks, form = _ticks(first, last)
    shown = {"values": [milliseconds(tick) for tick in ticks], "labelExpr": form}
    return {"axis": shown} | ({"title": f"{title.partition(', ')[0]}, {_span(first, last)}"} if title else {})


def _ends(first: datetime, last: datetime) -> list[float]:
    """The ends of the axis, which has some length even if all happened at one moment."""
    low, high = milliseconds(first), milliseconds(last)
    return [low, high] if low < high else [low - 1000, high + 1000]


def _ticks(first: datetime, last: datetime) -> tuple[list[datetime], str]:
    """Round moments from the first to the last, at most six or so, and how they are labeled."""
    seconds = (last - first).total_seconds()
    every, _, form = next((step for step in _STEPS if seconds <= _MOST_TICKS * step[1]), _STEPS[-1])
    begin = pl.Series([first]).dt.truncate(every)[0]
    ticks = [tick for tick in pl.datetime_range(begin, last, every, eager=True).to_list() if tick >= first]
    return (ticks, form) if ticks else ([first], _CLOCK)


def _span(first: datetime, last: datetime) -> str:
    """`Nov 2 to Nov 12, 2026`."""
    if first.date() == last.date():
        return f"{_day(last)}, {last.year}"
    year = "" if first.year == last.year else f", {first.year}"
    return f"{_day(first)}{year} to {_day(last)}, {last.year}"


def _day(moment: datetime) -> str:
    return f"{moment:%b} {moment.day}"
