"""One metric of an MLflow run in a folder: mlruns/EXPERIMENT/RUN/metrics/NAME.

Tool: MLflow, file store
Versions: 1 to 3
Yields: metrics, power
Source: mlflow/store/tracking/file_store.py, _log_run_metric()

A line per value: time in milliseconds since 1970, value, step.  The name is that of the file below `metrics`, with its
folders; what a value is a mean of, and what a step counts, is not said.  The time is the metric `wall_time`, in
seconds since 1970: whatever lies between two of them is in their difference.  A step has as many files here as it has
metrics, so none of them is its row in `steps`; of a run kept in a database (mlflow_database) it has one.

Metrics that MLflow measures by itself (system/...) count their own samples as steps: power of GPUs is `power`, their use
and memory are metrics with their device.

Samples:
    1714979309512 0.6875 50
"""

from datetime import UTC, datetime

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.system_metrics import SystemMetrics, is_of_system

VERSION = 2

_VALUE = r"-?(?:\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|inf(?:inity)?)|nan"
_LINE = re.compile(rf"(1\d{{12}}) ({_VALUE}) (-?\d{{1,18}})\s*", re.IGNORECASE)
_BELOW = re.compile(r"/metrics/(.+?)(?:\.(?:gz|zst|xz|bz2))?\Z")


def recognise(head: bytes, name: str) -> bool:
    lines = head[:4096].decode("utf-8", "replace").split("\n", 5)[:5] if head.startswith(b"1") else [""]
    return bool(_LINE.fullmatch(lines[0])) and all(_LINE.fullmatch(line) for line in lines[1:-1])


def read(source: Source, rows: Rows) -> None:
    below = _BELOW.search(source.path)
    points = _Points(below[1] if below else source.name, rows)
    number, rest = 0, b""
    for block in source.utf8():
        *lines, rest = (rest + block).split(b"\n")
        for line in lines:
            number += 1
            if line.strip():
                points.take(number, line.decode("utf-8", "replace"))
    if rest.strip():  # without an end the step's last digits may be missing
        rows.problem(number + 1, "the line is cut", rest.decode("utf-8", "replace"))


class _Points:
    """The values of one metric."""

    def __init__(self, name: str, rows: Rows) -> None:
        self.name, self.rows = name, rows
        self.system = SystemMetrics(rows) if is_of_system(name) else None
        self.last: int | None = None  # step

    def take(self, number: int, text: str) -> None:
        match = _LINE.fullmatch(text)
        if not match:
            self.rows.problem(number, "the line does not hold a time, a value and a step", text)
            return
        ms, value, step = int(match[1]), float(match[2]), int(match[3])
        if self.system:
            stamp = datetime.fromtimestamp(ms / 1000, UTC).replace(tzinfo=None)
            self.system.take(number, self.name, value, (stamp, "utc"), step)
            return
        self.rows.attempt += self.last is not None and step < self.last
        self.last = step
        values: list[tuple[str, float, str | None]] = [("wall_time", ms / 1000, "s"), (self.name, value, None)]
        self.rows.metrics(number, None, None, step, values)
