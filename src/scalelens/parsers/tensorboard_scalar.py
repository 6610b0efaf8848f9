"""A scalar that TensorBoard's page exported, as CSV or JSON.

Tool: TensorBoard, "download data" of the scalars page
Versions: 1 and 2
Yields: metrics
Source: tensorboard/plugins/scalar/scalars_plugin.py, scalars_impl() and _get_value()

`Wall time,Step,Value`, or the same as a JSON list of lists.  The tag is in the name of the file alone, where blanks and
bars have become `_`: run-RUN-tag-TAG.csv.  By default an export holds 1,000 points at most, drawn at random from
longer series: points are missing in it, and times between two of them are of any number of steps.  The time of a point
is the metric `wall_time`, in seconds since 1970.  What a step counts is not said.

Samples:
    Wall time,Step,Value
    1714979309.5312,50,0.6875
    [[1714979309.5312, 50, 0.6875], [1714979312.75, 100, 0.5]]
"""

import json
from collections.abc import Iterator
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source

VERSION = 1

_HEADER = b"Wall time,Step,Value"
_POINTS = re.compile(rb"\s*\[\s*\[\s*1\d{9}(?:\.\d*)?(?:e[+-]?\d+)?\s*,\s*-?\d{1,18}\s*,\s*(?:-?\d|NaN|\"?-?Inf)")
_TAG = re.compile(r"(?:\A|-)tag-(.+)\Z")
_SUFFIX = re.compile(r"(?:\.(?:csv|json))?(?:\.(?:gz|zst|xz|bz2))?\Z")
_LIMIT = 256 << 20


def recognise(head: bytes, name: str) -> bool:
    head = head.removeprefix(b"\xef\xbb\xbf")
    return head.startswith(_HEADER) or bool(_POINTS.match(head))


def read(source: Source, rows: Rows) -> None:
    stem = _SUFFIX.sub("", source.name, count=1)
    tag = _TAG.search(stem)
    name = tag[1] if tag else stem
    before, last = None, -1
    for line, cells in _points(source, rows):
        try:
            wall, step, value = float(cells[0]), int(float(cells[1])), float(cells[2])
        except (ValueError, TypeError, IndexError, OverflowError):
            rows.problem(
                line, "the point is cut, or does not hold a time, a step and a value", ",".join(map(str, cells))
            )
            continue
        if abs(step) >= 1 << 62:
            rows.problem(line, "the step is too large", ",".join(map(str, cells)))
            continue
        rows.attempt += before is not None and step < last
        before, last = wall, step
        named = [("wall_time", wall, "s")] if 0 < wall < 1e11 else []
        rows.metrics(line, None, None, step, [*named, (name, value, None)])


def _points(source: Source, rows: Rows) -> Iterator[tuple[int, list[Any]]]:
    """Number and cells of each point: the line of a CSV, the place in a JSON list."""
    text = source.text()[:_LIMIT].decode("utf-8", "replace").lstrip("\ufeff")
    if text.lstrip().startswith("["):
        try:
            listed = json.loads(text)
        except (ValueError, RecursionError):
            rows.problem(1, "the JSON is cut or damaged", text)
            return
        for place, point in enumerate(listed, 1):
            yield place, point if isinstance(point, list) and len(point) == 3 else [point]
        return
    *lines, rest = text.split("\n")
    for number, line in enumerate(lines, 1):
        if number > 1 and line.strip():
            yield number, line.strip().split(",")
    if rest.strip() and lines:  # without an end the last digits may be missing
        rows.problem(len(lines) + 1, "the line is cut", rest)
