"""Runs over a number in their names that their values follow: a sweep of a clock, a batch or a size.

`clk2865_r1` and `clk1785_r2` are drawn over `clk`.  A piece of few alternatives without which the values jump, such as
a model, makes series; so do the folders or files of the runs.
"""

import math
import re
from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean, median, pvariance
from typing import Any, NamedTuple

import altair as alt

from scalelens.charts import axes, name_groups, run_labels, run_strips, style, words
from scalelens.charts.layout import Page
from scalelens.charts.name_groups import Piece
from scalelens.charts.style import Row

_NUMBERED = re.compile(r"([A-Za-z]*)[-=]?(\d+(?:\.\d+)?)([A-Za-z]*)")
_FEWEST_NUMBERS = 4
_MOST_SERIES = 8
_SMOOTHER = 0.5  # of the squared jumps between neighbors, at most as many are left within series
_FOLLOWING = 1.0  # von Neumann's ratio: 2 for values in any order, 0 for a smooth course
_NO_SCATTER = 1e-18  # of logarithms: rounding
_MOST_TICKS = 10
NOTE = "Each point: 1 run; line: the median of those with the same number."


class _Sweep(NamedTuple):
    """What stands around the number, and the runs with their `number`, `series` and `value`."""

    label: str
    points: list[Row]


class _Order(NamedTuple):
    """Runs in the order of a number within series."""

    label: str
    numbers: list[float]
    series: Piece

    def jumps(self, logs: Sequence[float]) -> float:
        """The mean squared difference between neighbors; infinite if there are none.

        Runs of one number have no order among them: the mean over all orders counts, not that in which they come.
        """
        at: dict[str, dict[float, list[float]]] = {}
        for name, number, log in zip(self.series, self.numbers, logs, strict=True):
            at.setdefault(name, {}).setdefault(number, []).append(log)
        squares, pairs = 0.0, 0
        for of_series in at.values():
            ordered = [of_series[number] for number in sorted(of_series)]
            squares += sum(2 * len(alike) * pvariance(alike) for alike in ordered)
            for one, next_one in pairwise(ordered):
                squares += (fmean(one) - fmean(next_one)) ** 2 + pvariance(one) + pvariance(next_one)
            pairs += sum(map(len, ordered)) - 1
        return squares / pairs if pairs else math.inf

    def ratio(self, logs: Sequence[float]) -> float:
        """Von Neumann's: the jumps over the scatter within series; infinite without scatter."""
        of_series: dict[str, list[float]] = {}
        for name, log in zip(self.series, logs, strict=True):
            of_series.setdefault(name, []).append(log)
        means = {name: fmean(several) for name, several in of_series.items()}
        scatter = fmean((log - means[name]) ** 2 for name, log in zip(self.series, logs, strict=True))
        return self.jumps(logs) / scatter if scatter > _NO_SCATTER else math.inf


def of(runs: Sequence[Row], value: str) -> _Sweep | None:
    """The number in the names that the values follow most closely; None if they follow none."""
    pieces = name_groups.pieces(runs)
    if any(run[value] <= 0 for run in runs):
        return None
    logs = [math.log(run[value]) for run in runs]
    folders = _folders(runs)
    orders = [
        _with_series(*numbered, [*(other for other in pieces if other is not piece), *folders], logs)
        for piece in pieces
        if (numbered := _numbers(piece))
    ]
    best = min(orders, key=lambda order: order.ratio(logs), default=None)
    if best is None or best.ratio(logs) >= _FOLLOWING:
        return None
    points = [
        {"number": number, "series": name, "value": run[value], "run_id": run["run_id"]}
        for run, number, name in zip(runs, best.numbers, best.series, strict=True)
    ]
    return _Sweep(best.label, sorted(points, key=lambda point: (words.natural(point["series"]), point["number"])))


def _folders(runs: Sequence[Row]) -> list[Piece]:
    """The folder or file of each run, where these put the runs in groups."""
    groups = run_strips.grouped({run["run_id"]: run_labels.fact(run, "path") for run in runs})
    of_run = {run: name for name, group in groups.items() for run in group}
    return [tuple(of_run[run["run_id"]] for run in runs)] if len(of_run) == len(runs) else []


def _numbers(piece: Piece) -> tuple[str, list[float]] | None:
    """What all have around a number, and the numbers; None unless that is a word, and the numbers are several."""
    found = [match for text in piece if (match := _NUMBERED.fullmatch(text))]
    around = {(match[1], match[3]) for match in found}
    numbers = [float(match[2]) for match in found]
    if len(found) < len(piece) or len(around) != 1 or len({*numbers}) < _FEWEST_NUMBERS:
        return None
    before, after = around.pop()
    label = f"{before}…{after}" if after else before
    return (label, numbers) if before or after else None


def _with_series(label: str, numbers: list[float], others: Sequence[Piece], logs: Sequence[float]) -> _Order:
    """The order of a number, with the piece as series within which values jump the least, if they jump much less."""
    alone = _Order(label, numbers, ("",) * len(numbers))
    several = [_Order(label, numbers, piece) for piece in others if len({*piece}) <= _MOST_SERIES]
    best = min(several, key=lambda order: order.jumps(logs), default=alone)
    return best if best.jumps(logs) < _SMOOTHER * alone.jumps(logs) else alone


def panel(sweep: _Sweep, title: str, page: Page) -> tuple[style.Panel, list[style.Look]]:
    """Points of the runs, and lines through the medians of each number; and the looks of the series."""
    looks = style.looks(list(dict.fromkeys(point["series"] for point in sweep.points)), page)
    by = style.encodings(looks, "series")
    x, y = _axis(sweep), axes.from_zero("value", title, max(point["value"] for point in sweep.points))
    points = alt.Chart(style.values(sweep.points)).mark_point(opacity=0.5, size=10)
    line = alt.Chart(style.values(_medians(sweep.points))).mark_line()
    tips = style.tooltips("run_id:N", "number:Q", "value:Q")
    chart = alt.layer(
        points.encode(x, y, by["color"], by["shape"], tooltip=tips),
        line.encode(x, y, by["color"], by["strokeDash"], by["strokeWidth"]),
    )
    return style.Panel(chart), [look for look in looks if look.label]


def _axis(sweep: _Sweep) -> Any:
    numbers = sorted({point["number"] for point in sweep.points})
    low, high = numbers[0], numbers[-1]
    scale = {"type": "log"} if axes.is_logarithmic(low, high) else {"zero": False}
    ticks = {"values": numbers, "labelOverlap": "greedy"} if len(numbers) <= _MOST_TICKS else {"tickCount": 6}
    return alt.X(
        "number:Q", title=f"{sweep.label}, as the names of the runs have it",
        scale=alt.Scale(domain=[low, high], nice=False, padding=6, **scale),
        axis=alt.Axis(**ticks, **axes.labels(high)),
    )  # fmt: skip


def _medians(points: Sequence[Row]) -> list[Row]:
    values: dict[tuple[str, float], list[float]] = {}
    for point in points:
        values.setdefault((point["series"], point["number"]), []).append(point["value"])
    return [{"series": name, "number": number, "value": median(each)} for (name, number), each in values.items()]
