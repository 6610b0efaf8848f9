"""Points of different series that would lie on each other stand beside each other, around their tick."""

import math
from collections.abc import Sequence
from typing import Any

from scalelens.charts import style
from scalelens.charts.layout import Page
from scalelens.charts.style import Row

NOTE = "Markers beside a tick belong to it."
_MARKER = 5.0  # width of a marker, in points
_STEP = 5.5  # from one marker to the next
_WIDEST = 36.0  # of all markers of a tick


def offsets(points: Sequence[Row], field: str, y: Any, page: Page) -> list[float]:
    """How far each point moves to the right of its tick, in points of the page; 0 where nothing overlaps.

    Points of one series look alike and keep to one place: their spread is what a figure of repeats shows.
    """
    scale = y["scale"].to_dict()
    place = math.log if scale.get("type") == "log" else float
    low, high = (place(end) for end in scale["domain"])
    height = (style.WIDE_HEIGHT if page.is_wide else style.HEIGHT) / (high - low)
    moved = [0.0] * len(points)
    for size in {point["devices"] for point in points}:
        at_size = [k for k, point in enumerate(points) if point["devices"] == size]
        at_size.sort(key=lambda k: points[k][field])
        cluster: list[int] = []
        for k in [*at_size, None]:
            is_near = (
                k is not None
                and cluster
                and height * (place(points[k][field]) - place(points[cluster[-1]][field])) < _MARKER
            )
            if cluster and not is_near:
                _spread(points, cluster, moved)
                cluster = []
            cluster += [k] if k is not None else []
    return moved


def _spread(points: Sequence[Row], cluster: Sequence[int], moved: list[float]) -> None:
    labels = sorted({points[k]["label"] for k in cluster})
    step = min(_STEP, _WIDEST / max(len(labels) - 1, 1))
    for k in cluster:
        moved[k] = round(step * (labels.index(points[k]["label"]) - (len(labels) - 1) / 2), 2)
