"""Exported history of a W&B run, as CSV or JSON lines, and the table of one chart.

Tool: Weights & Biases client and its web page
Versions: 0.8 to 0.2x
Yields: steps, metrics
Source: wandb/apis/public/runs.py, history() and scan_history(), written by whoever exports; the page's "Export CSV"

A row per call of log(), with the keys logged then, `_step`, and `_timestamp` or `_runtime`.  Numbers have the roles that
columns of a CSV have by their names (docs/generic.md); all others are metrics, and so is `_runtime`, in seconds since
the start.  The step is the column that the script counts steps in, as `train/global_step`, else `_step`.  history() gives
a sample of 500 rows, and scan_history(keys=...) those that have the keys: rows may be missing, so leaps of `_step` show
nothing here.  Times of steps need a column that says them, or the script's own count of steps; `--map step=_step` says
that `_step` is one.  Each is a mean since the row before, with whatever lies between.  A step that goes back is a restart.

A chart's table has a column per run and metric, `RUN - METRIC`: all are metrics under these names.  Those of the
smallest and the largest value drawn at a step (`RUN - METRIC__MIN`, `__MAX`) say the same where nothing was smoothed,
and are left.  Its first column is the axis of the chart: `Step`, or whatever the page was told.  One that counts steps
by its name is the step; any other is a metric of the same line, without a step.

Samples:
    {"_step": 50, "_runtime": 731.2, "_timestamp": 1714979309.5, "loss": 1.5, "train/images_per_s": 812.5}
    {"_step": 100, "_runtime": 761.5, "_timestamp": 1714979339.75, "loss": 1.25, "train/images_per_s": 815.0}
"""

import json
from collections.abc import Iterator

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.values import json_number, number
from scalelens.tabular.cells import cells_of, lines_of, nested_values
from scalelens.tabular.column_names import read_name
from scalelens.tabular.history.columns import History
from scalelens.tabular.history.meanings import Own
from scalelens.tabular.history.writing import write_history

VERSION = 2

_FIRST_ROW = re.compile(rb'\s*\{[^\n]*"_step"\s*:[^\n]*\}\s*(?:\n|\Z)')
_TIMED = re.compile(rb'"_(?:timestamp|runtime)"\s*:')
_DRAWN = ("__MIN", "__MAX")
_CHART_STEP = "Step"
_OWN = Own("_step", "_timestamp", ("_runtime",), leaps_tell=False)
_IN_MS = 1e11  # a stamp above it is not in seconds
_NO_STEP = "`_step` may count calls of log(): times of steps need a column that counts steps, or --map step=_step"


def recognise(head: bytes, name: str) -> bool:
    head = head.removeprefix(b"\xef\xbb\xbf")
    first, _, rest = head.partition(b"\n")
    if head.lstrip().startswith(b"{"):
        return bool(_FIRST_ROW.match(head) and _TIMED.search(first) and rest.lstrip().startswith(b"{"))
    names = cells_of(first.decode("utf-8", "replace"))
    return ("_step" in names and bool({"_timestamp", "_runtime"} & set(names))) or _is_chart(names)


def _is_chart(names: list[str]) -> bool:
    drawn = set(names)
    return " - " not in names[0] and any(f"{name}__MIN" in drawn and " - " in name for name in names[1:])


def read(source: Source, rows: Rows) -> str | None:
    history, last = History(), None
    for line, names, values in _records(source, rows):
        axis = names[0] if names and "_step" not in names else "_step"
        step = values.get(axis)
        if axis not in ("_step", _CHART_STEP) and read_name(axis).role != "step":
            rows.metrics(line, None, None, None, _drawn(values))
            continue
        if step is None or step != step or abs(step) >= 1 << 53 or step != int(step):
            rows.problem(line, "the row has no step, or its step is not a whole number", str(values))
            continue
        rows.attempt += last is not None and step < last
        last = step
        if axis == "_step":
            if (stamp := values.get("_timestamp", 0.0)) > _IN_MS:
                values["_timestamp"] = stamp / 1000
            history.add(line, values, rows.attempt)
        else:
            rows.metrics(line, None, None, int(step), _drawn({k: v for k, v in values.items() if k != axis}))
    if not history.records:
        return None
    rows.param("tracker", "wandb")
    found = write_history(history, _OWN, rows, units={"_runtime": "s"})
    return _NO_STEP if found.lacks_times and history.records > 1 else None


def _drawn(values: dict[str, float]) -> list[tuple[str, float, None]]:
    return [(name, value, None) for name, value in values.items() if not name.endswith(_DRAWN)]


def _records(source: Source, rows: Rows) -> Iterator[tuple[int, list[str], dict[str, float]]]:
    """Number of each line, the names of the columns, and the numbers of the line by name."""
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
            yield line, ["_step"], {name: value for name, field in nested if (value := json_number(field)) is not None}
            continue
        cells = cells_of(text)
        if not whole or len(cells) != len(names):
            rows.problem(line, f"the row has {len(cells)} cells, the header {len(names)}, or it is cut", text)
            continue
        named = zip(names, cells, strict=True)
        yield line, names, {name: value for name, cell in named if (value := number(cell)) is not None}
