"""Runs whose names differ only in the pieces that matter least, as one: the repeats of a sweep, without their seeds."""

import math
import re
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from scalelens.charts import words
from scalelens.charts.style import Row

_BETWEEN = re.compile(r"[\s_/]+")
_MOST_ALTERNATIVES = 4  # of a piece, in words


class _Merged(NamedTuple):
    """A row for each group, and for each piece that was left out of the names its alternatives."""

    rows: list[Row]
    left_out: list[list[str]]


def merged(points: Sequence[Row], rate: str, most: int) -> _Merged | None:
    """At most `most` groups of runs; None if their names do not have pieces that tell this.

    Of all pieces in which names differ, that one goes first whose runs have the most similar rates without it.  A row
    is that of the run in the middle, with the rest of the `name`, the median as `rate`, `lowest`, `highest` and `runs`.
    """
    names = [_BETWEEN.split(f"{point['name'] or ''}") for point in points]
    if len({len(name) for name in names}) != 1 or len({tuple(name) for name in names}) < len(points):
        return None
    kept = [k for k in range(len(names[0])) if len({name[k] for name in names}) > 1]
    varying = list(kept)
    rates = [math.log(point[rate]) for point in points if point[rate] > 0]
    if len(rates) < len(points):
        return None
    while kept and len({tuple(name[k] for k in kept) for name in names}) > most:
        kept.remove(min(kept, key=lambda piece: _scatter(names, [k for k in kept if k != piece], rates)))
    if not kept:
        return None
    groups: dict[tuple[str, ...], list[Row]] = {}
    for name, point in zip(names, points, strict=True):
        groups.setdefault(tuple(name[k] for k in kept), []).append(point)
    left_out = [sorted({name[k] for name in names}, key=words.natural) for k in varying if k not in kept]
    return _Merged([_row(" ".join(name), runs, rate) for name, runs in groups.items()], left_out)


def sentence(left_out: Sequence[Sequence[str]]) -> str:
    """What a bar is, for the caption."""
    pieces = "; ".join(
        ", ".join([*alternatives[:_MOST_ALTERNATIVES], *(["..."] if len(alternatives) > _MOST_ALTERNATIVES else [])])
        for alternatives in left_out
    )
    return (
        f"Runs whose names differ only in {pieces} share a bar: the median, and a line from the lowest to the highest."
    )


def _scatter(names: Sequence[Sequence[str]], kept: Sequence[int], rates: Sequence[float]) -> float:
    """The sum of squares within groups of runs whose names agree in the `kept` pieces."""
    groups: dict[tuple[str, ...], list[float]] = {}
    for name, rate in zip(names, rates, strict=True):
        groups.setdefault(tuple(name[k] for k in kept), []).append(rate)
    return sum(sum((rate - sum(group) / len(group)) ** 2 for rate in group) for group in groups.values())


def _row(name: str, runs: Sequence[Row], rate: str) -> Row:
    values = sorted(run[rate] for run in runs)
    middle = min(runs, key=lambda run: abs(run[rate] - median(values)))
    return {
        **middle, "name": name, rate: median(values), "lowest": values[0], "highest": values[-1], "runs": len(runs)
    }  # fmt: skip
