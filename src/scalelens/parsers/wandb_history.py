"""Exported history of a W&B run, as CSV or JSON lines, and the table of one chart.

Tool: Weights & Biases client and its web page
Versions: 0.8 to 0.2x
Yields: metrics
Source: wandb/apis/public/runs.py, history() and scan_history(), written by whoever exports; the page's "Export CSV"

A row per call of log(), with the keys logged then, `_step`, and `_timestamp` or `_runtime`.  `_timestamp` becomes the
metric `wall_time`, in seconds since 1970, `_runtime` keeps its name: seconds since the start, and whatever lies between
two rows is in their difference.  Metrics keep their names; what they are means of is not said.  history() gives a
sample of 500 rows, scan_history() all.  A chart's table begins with `Step` and has a column per run and metric,
`RUN - METRIC`; those of the smallest and the largest value drawn at a step (`RUN - METRIC__MIN`, `__MAX`) say the same
where nothing was smoothed, and are left.

Samples:
    {"_step": 50, "_runtime": 731.2, "_timestamp": 1714979309.5, "loss": 1.5, "train/images_per_s": 812.5}
    {"_step": 100, "_runtime": 761.5, "_timestamp": 1714979339.75, "loss": 1.25, "train/images_per_s": 815.0}
"""

import json
import re
from collections.abc import Iterator

from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.values import json_number, number
from scalelens.tabular.cells import cells_of, lines_of, nested_values

VERSION = 1

_FIRST_ROW = re.compile(rb'\s*\{[^\n]*"_step"\s*:[^\n]*\}\s*(?:\n|\Z)')
_TIMED = re.compile(rb'"_(?:timestamp|runtime)"\s*:')
_DRAWN = ("__MIN", "__MAX")


def recognise(head: bytes, name: str) -> bool:
    head = head.removeprefix(b"\xef\xbb\xbf")
    first, _, rest = head.partition(b"\n")
    if head.lstrip().startswith(b"{"):
        return bool(_FIRST_ROW.match(head) and _TIMED.search(first) and rest.lstrip().startswith(b"{"))
    names = cells_of(first.decode("utf-8", "replace"))
    return ("_step" in names and bool({"_timestamp", "_runtime"} & set(names))) or _is_chart(names)


def _is_chart(names: list[str]) -> bool:
    return names[:1] == ["Step"] and any(f"{name}__MIN" in names and " - " in name for name in names[1:])


def read(source: Source, rows: Rows) -> None:
    last = None
    for line, values in _records(source, rows):
        stamp, step = values.pop("_timestamp", None), values.pop("_step" if "_step" in values else "Step", None)
        if step is None or step != step or abs(step) >= 1 << 62 or step != int(step):
            rows.problem(line, "the row has no step, or its step is not a whole number", str(values))
            continue
        rows.attempt += last is not None and step < last
        last = step
        if stamp is not None and 0 < stamp / (1000 if stamp > 1e11 else 1) < 1e11:
            rows.metric(line, None, None, int(step), "wall_time", stamp / (1000 if stamp > 1e11 else 1), "s")
        if (runtime := values.pop("_runtime", None)) is not None:
            rows.metric(line, None, None, int(step), "_runtime", runtime, "s")
        named = [(name, value, None) for name, value in values.items() if not name.endswith(_DRAWN)]
        rows.metrics(line, None, None, int(step), named)


def _records(source: Source, rows: Rows) -> Iterator[tuple[int, dict[str, float]]]:
    """Number of each line, and the numbers in it by name."""
    names: list[str] | None = None
    is_json = False
    for line, text, whole in lines_of(source):
        if names is None:
            is_json, names = text.lstrip().startswith("{"), cells_of(text)
            if not is_json:
                continue
        if is_json:
            try:
                record = json.loads(text)
                if not isinstance(record, dict):
                    raise ValueError
            except (ValueError, RecursionError):
                rows.problem(line, "the row is cut, or is not a JSON object", text)
                continue
            nested = nested_values(record, marker="_type")  # of a table or a picture
            yield line, {name: value for name, field in nested if (value := json_number(field)) is not None}
            continue
        cells = cells_of(text)
        if not whole or len(cells) != len(names):
            rows.problem(line, f"the row has {len(cells)} cells, the header {len(names)}, or it is cut", text)
            continue
        named = zip(names, cells, strict=True)
        yield line, {name: value for name, cell in named if (value := number(cell)) is not None}
