"""Labels of an axis of sizes where they do not fit side by side: a second row, or turned, or left out.

The first and the last are always there.  Vega drops labels from left to right, so the largest size, which a figure of
scaling is about, would lose its label.
"""

import math
from collections.abc import Sequence
from typing import Any

from scalelens.charts import words

_GAP = 4  # points between two labels
_LINE = 8.5  # height of a label, in points


def keep_ends(channel: dict[str, Any], width: float) -> None:
    """Gives an axis of counts (`axes.of_counts`), in a panel of `width` points, as many labels as it has room for."""
    axis, scale = channel.get("axis") or {}, channel.get("scale") or {}
    counts = axis.get("values") or []
    if axis.get("format") != "d" or scale.get("type") != "log" or len(counts) < 2 or len(scale.get("domain", ())) != 2:
        return
    low, high = map(math.log, scale["domain"])
    if low == high:
        return
    padding = scale.get("padding", 0)
    places = [padding + (math.log(count) - low) / (high - low) * (width - 2 * padding) for count in counts]
    widths = [words.text_width(f"{count}") for count in counts]
    fitting = _fitting(places, widths)
    if len(fitting) == len(counts):
        return
    if "labelExpr" in axis:  # nodes stand below the devices, where a second row of sizes would be read as nodes
        upright = _fitting(places, [_LINE - _GAP] * len(counts))
        if len(upright) > len(fitting):
            _turn(channel)
        shown = [counts[k] for k in max(upright, fitting, key=len)]
        axis["labelExpr"] = f"indexof({shown}, datum.value) >= 0 ? {axis['labelExpr']} : ''"
        return
    first = f"indexof({[counts[k] for k in fitting]}, datum.value) >= 0"
    others = [k for k in range(len(counts)) if k not in fitting]
    below = [others[k] for k in _fitting([places[k] for k in others], [widths[k] for k in others])]
    second = f"indexof({[counts[k] for k in below]}, datum.value) >= 0"
    axis["labelExpr"] = f"{first} ? datum.label : {second} ? ['', datum.label] : ''"
    axis["labelOverlap"] = False


def _turn(channel: dict[str, Any]) -> None:
    """Turns labels of sizes and nodes by a quarter, each in one line: `768 / 96`."""
    axis = channel["axis"]
    axis["labelExpr"] = f"replace(join({axis['labelExpr']}, ' / '), / \\/ $/, '')"
    axis |= {"labelAngle": -90, "labelAlign": "right", "labelBaseline": "middle", "labelOverlap": False}
    if isinstance(channel.get("title"), list):
        channel["title"] = " / ".join(channel["title"])


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
