"""One metric of an MLflow run in a folder: mlruns/EXPERIMENT/RUN/metrics/NAME.

Tool: MLflow, file store
Versions: 1 to 3
Yields: metrics
Source: mlflow/store/tracking/file_store.py, _log_run_metric()

A line per value: time in milliseconds since 1970, value, step.  The name is that of the file below `metrics`, with its
folders; what a value is a mean of, and what a step counts, is not said.  The time is the metric `wall_time`, in
seconds since 1970: whatever lies between two of them is in their difference.  Metrics that MLflow measures by itself
(system/...) count their own samples as steps.  Runs kept in a database: see mlflow_database.

Samples:
    1714979309512 0.6875 50
"""

import re

from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source

VERSION = 1

_VALUE = r"-?(?:\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|inf(?:inity)?)|nan"
_LINE = re.compile(rf"(1\d{{12}}) ({_VALUE}) (-?\d{{1,18}})\s*", re.IGNORECASE)
_BELOW = re.compile(r"/metrics/(.+?)(?:\.(?:gz|zst|xz|bz2))?\Z")


def recognise(head: bytes, name: str) -> bool:
    lines = head[:4096].decode("utf-8", "replace").split("\n", 5)[:5]
    return bool(_LINE.fullmatch(lines[0])) and all(_LINE.fullmatch(line) for line in lines[1:-1])


def read(source: Source, rows: Rows) -> None:
    below = _BELOW.search(source.path)
    name = below[1] if below else source.name
    last = None
    number, rest = 0, b""
    for block in source.utf8():
        *lines, rest = (rest + block).split(b"\n")
        for line in lines:
            number += 1
            last = _point(line, name, number, last, rows)
    if rest.strip():  # without an end the step's last digits may be missing
        rows.problem(number + 1, "the line is cut", rest.decode("utf-8", "replace"))


def _point(line: bytes, name: str, number: int, last: int | None, rows: Rows) -> int | None:
    """The value of a line.  Returns its step."""
    if not line.strip():
        return last
    text = line.decode("utf-8", "replace")
    match = _LINE.fullmatch(text)
    if not match:
        rows.problem(number, "the line does not hold a time, a value and a step", text)
        return last
    step = int(match[3])
    rows.attempt += last is not None and step < last
    values: list[tuple[str, float, str | None]] = [("wall_time", int(match[1]) / 1000, "s")]
    rows.metrics(number, None, None, step, [*values, (name, float(match[2]), None)])
    return step
