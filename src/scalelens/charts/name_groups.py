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

Piece = tuple[str, ...]  # what stands at one place in the name of each run


class _Merged(NamedTuple):
    """A row for each group, and for each piece that was left out of the names its alternatives."""

    rows: list[Row]
    left_out: list[list[str]]


def pieces(runs: Sequence[Row]) -> list[Piece]:
    """Where the names of runs differ; nothing if they have unlike numbers of pieces, or two are the same."""
    names = [tuple(_BETWEEN.split(f"{run['name'] or ''}")) for run in runs]
    if len({len(name) for name in names}) != 1 or len({*names}) < len(runs):
        return []
    return [piece for piece in zip(*names, strict=True) if len({*piece}) > 1]


def merged(points: Sequence[Row], rate: str, most: int) -> _Merged | None:
    """At most `most` groups of runs; None if their names do not have pieces that tell this.

    Of all pieces in which names differ, that one goes first whose runs have the most similar rates without it; where
    several are alike in this, that of the most alternatives, such as a time.  A row is that of the run in the middle,
    with the rest of the `name`, the median as `rate`, `lowest`, `highest` and `runs`.
    """
    varying = pieces(points)
    rates = [math.log(point[rate]) for point in points if point[rate] > 0]
    if not varying or len(rates) < len(points):
        return None
    kept = list(range(len(varying)))

    def names_of(places: Sequence[int]) -> list[Piece]:
        return [tuple(varying[k][run] for k in places) for run in range(len(points))]

    def cost(place: int) -> tuple[float, int]:
        return scatter(names_of([k for k in kept if k != place]), rates), -len({*varying[place]})

    while kept and len({*names_of(kept)}) > most:
        kept.remove(min(kept, key=cost))
    if not kept:
        return None
    groups: dict[Piece, list[Row]] = {}
    for name, point in zip(names_of(kept), points, strict=True):
        groups.setdefault(name, []).append(point)
    left_out = [sorted({*piece}, key=words.natural) for k, piece in enumerate(varying) if k not in kept]
    return _Merged([_row(" ".join(name), runs, rate) for name, runs in groups.items()], left_out)


def sentence(left_out: Sequence[Sequence[str]]) -> str:
    """What a bar is, for the caption."""
    differing = "; ".join(
        ", ".join([*alternatives[:_MOST_ALTERNATIVES], *(["..."] if len(alternatives) > _MOST_ALTERNATIVES else [])])
        for alternatives in left_out
    )
    return (
        f"Runs whose names differ only in {differing} share a bar: the median, and a line from the lowest to the "
        "highest."
    )


def scatter(names: Sequence[Piece], rates: Sequence[float]) -> float:
    """The sum of squares within groups of runs with the same names."""
    groups: dict[Piece, list[float]] = {}
    for name, rate in zip(names, rates, strict=True):
        groups.setdefault(name, []).append(rate)
    return sum(sum((rate - sum(group) / len(group)) ** 2 for rate in group) for group in groups.values())


def _row(name: str, runs: Sequence[Row], rate: str) -> Row:
    values = sorted(run[rate] for run in runs)
    middle = min(runs, key=lambda run: abs(run[rate] - median(values)))
    return {
        **middle, "name": name, rate: median(values), "lowest": values[0], "highest": values[-1], "runs": len(runs)
    }  # fmt: skip
