"""Which sizes an axis names where not all of them fit: the first and the last, and as many between as fit.

Vega drops labels from left to right, so the largest size, which a figure of scaling is about, would lose its label.
"""

import math
from collections.abc import Sequence
from typing import Any

from scalelens.charts import words

_GAP = 4  # points between two labels


def keep_ends(channel: dict[str, Any], width: float) -> None:
    """Keeps the labels of both ends of an axis of counts (`axes.of_counts`) in a panel of `width` points."""
    axis, scale = channel.get("axis") or {}, channel.get("scale") or {}
    counts = axis.get("values") or []
    if axis.get("format") != "d" or scale.get("type") != "log" or len(counts) < 2 or len(scale.get("domain", ())) != 2:
        return
    low, high = map(math.log, scale["domain"])
    if low == high:
        return
    padding = scale.get("padding", 0)
    places = [padding + (math.log(count) - low) / (high - low) * (width - 2 * padding) for count in counts]
    kept = [counts[k] for k in _fitting(places, [words.text_width(f"{count}") for count in counts])]
    if kept != counts:
        axis["labelExpr"] = f"indexof({kept}, datum.value) >= 0 ? {axis.get('labelExpr', 'datum.label')} : ''"


def _fitting(places: Sequence[float], widths: Sequence[float]) -> list[int]:
    """Indexes of labels that do not overlap: the last, the first if it is apart from that, and the next that fit."""

    def are_apart(left: int, right: int) -> bool:
        return places[right] - places[left] >= (widths[left] + widths[right]) / 2 + _GAP

    last = len(places) - 1
    kept: list[int] = []
    for k in range(last):
        if are_apart(k, last) and (not kept or are_apart(kept[-1], k)):
            kept.append(k)
    return [*kept, last]
