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

Histories of several runs below each other have a text column that names the run (`run_id`, `run_name`, `run`, `id`,
`name`): where it changes, another run begins; `id` and `name` may be of something else, if `_step` grows there.  Where a
run comes again, the rows from there on are not read.  Without such a column another run begins where `_step` goes back
together with `_runtime` or `_timestamp`, which continue when a run is resumed.  A row for each run is a table of runs,
and not a history.  Columns without a name, as pandas writes its index, are not read.

A chart's table has a column per run and metric, `RUN - METRIC`: all are metrics under these names.  Those of the
smallest and the largest value at a step (`RUN - METRIC__MIN`, `__MAX`) are metrics of that statistic where they differ
from the value: a chart of many points, or of a group of runs.  Its first column is the axis of the chart: `Step`, or
whatever the page was told.  One that counts steps by its name is the step, where it is a whole number; any other is a
metric of the same line, without a step.

Samples:
    {"_step": 50, "_runtime": 731.2, "_timestamp": 1714979309.5, "loss": 1.5, "train/images_per_s": 812.5}
    {"_step": 100, "_runtime": 761.5, "_timestamp": 1714979339.75, "loss": 1.25, "train/images_per_s": 815.0}
"""

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.values import json_number, number
from scalelens.tabular.cells import cells_of, lines_of, nested_values
from scalelens.tabular.column_names import read_name
from scalelens.tabular.history.columns import History
from scalelens.tabular.history.meanings import Own
from scalelens.tabular.history.writing import write_history
from scalelens.tabular.named_rows import is_index, is_of_runs, is_sure, naming_column, naming_key

VERSION = 3

IN_HEAD = (b"_timestamp", b"_runtime", b"__MIN")
_FIRST_ROW = re.compile(rb'\s*\{[^\n]*"_step"\s*:[^\n]*\}\s*(?:\n|\Z)')
_TIMED = re.compile(rb'"_(?:timestamp|runtime)"\s*:')
_STATISTIC = {"__MIN": "min", "__MAX": "max"}
_DRAWN = tuple(_STATISTIC)
_LONGEST = 500
_Named = tuple[str | None, str | None]  # the column that may name a run, and what it says
_UNNAMED: _Named = (None, None)
_CHART_STEP = "Step"
_CONTINUED = ("_runtime", "_timestamp")  # where a run is resumed
_OWN = Own("_step", "_timestamp", ("_runtime",), leaps_tell=False)
_IN_MS = 1e11  # a stamp above it is not in seconds
_NO_STEP = "`_step` may count calls of log(): times of steps need a column that counts steps, or --map step=_step"


class _Record(NamedTuple):
    """A line: its number, the columns of the file, the line's numbers by name, and the run that it names."""

    line: int
    names: list[str]
    values: dict[str, float]
    named: _Named


def recognise(head: bytes, name: str) -> bool:
    head = head.removeprefix(b"\xef\xbb\xbf")
    first, _, rest = head.partition(b"\n")
    if head.lstrip().startswith(b"{"):
        return bool(_FIRST_ROW.match(head) and _TIMED.search(first) and rest.lstrip().startswith(b"{"))
    names = cells_of(first.decode("utf-8", "replace"))
    if "_step" not in names or _is_chart(names):
        return _is_chart(names)
    return bool({"_timestamp", "_runtime"} & set(names)) and not is_of_runs(head, "_step")


def _is_chart(names: list[str]) -> bool:
    drawn = set(names)
    return " - " not in _axis_of(names) and any(f"{name}__MIN" in drawn and " - " in name for name in names)


def _axis_of(names: list[str]) -> str:
    """The column that the others of a chart are drawn over."""
    return next((name for name in names if not is_index(name)), "")


class _Runs:
    """The runs that rows name, in their order.

    `id` and `name` may be of something else: then `_step` grows where they change first, as it does within a run.
    """

    def __init__(self) -> None:
        self.known: list[str] = []
        self.is_told: bool | None = None  # whether the column names runs

    def begins(self, name: str | None, of_run: str | None, step: float, last: float | None) -> bool:
        """Whether another run than that of the row before begins with this row."""
        if not name or not of_run or self.is_told is False or of_run in self.known[-1:]:
            return False
        if self.known and last is not None and self.is_told is None:
            self.is_told = is_sure(name) or step <= last
            if not self.is_told:
                return False
        self.known.append(of_run)
        return True

    def come_again(self) -> bool:
        """Whether that run was read before; it is forgotten again."""
        return self.known[-1] in self.known[:-1] and bool(self.known.pop())

    def name(self) -> str | None:
        """Of the run that was read last; None where the column names something else."""
        return self.known[-1] if self.known and self.is_told is not False else None


def read(source: Source, rows: Rows) -> str | None:
    records = _records(source, rows)
    first = next(records, None)
    if first is None:
        return None
    records = itertools.chain([first], records)
    if not _is_chart(first.names):
        return _read_history(records, rows)
    _read_chart(records, rows)
    return None


def _read_chart(records: Iterable[_Record], rows: Rows) -> None:
    for line, names, values, _ in records:
        axis = _axis_of(names)
        step = values.get(axis)
        counts = axis in ("_step", _CHART_STEP) or read_name(axis).role == "step"
        if counts and step is not None and _is_whole(step):
            _write_drawn(rows, line, int(step), {name: value for name, value in values.items() if name != axis})
        else:
            _write_drawn(rows, line, None, values)


def _read_history(records: Iterable[_Record], rows: Rows) -> str | None:
    history, runs = History(), _Runs()
    last: dict[str, float] = {}  # of the row before
    begun = note = None
    for line, _, values, named in records:
        step = values.get("_step")
        if step is None or not _is_whole(step):
            rows.problem(line, "the row has no step, or its step is not a whole number", str(values))
            continue
        if runs.begins(*named, step, last.get("_step")):
            if runs.come_again():
                reason = f"rows of run {named[1]} come again after those of another: sort the file by run"
                rows.problem(line, reason, str(values))
                break
            begins, of_run = bool(history.records), runs.known[-2:-1]
        else:
            begins, of_run = not runs.known and _begins_anew(values, last, begun), []
        if begins:
            note = _write(history, rows, of_run[0] if of_run else None) or note
            rows.new_part()
            history, last, begun = History(), {}, None
        rows.attempt += bool(last) and step < last["_step"]
        begun = step if begun is None else begun
        last = {name: values[name] for name in _CONTINUED if name in values} | {"_step": step}
        if (stamp := values.get("_timestamp", 0.0)) > _IN_MS:
            values["_timestamp"] = stamp / 1000
        history.add(line, values, rows.attempt)
    return (_write(history, rows, runs.name()) or note) if history.records else note


def _is_whole(step: float) -> bool:
    return step == step and abs(step) < 1 << 53 and step == int(step)


def _begins_anew(values: Mapping[str, float], last: Mapping[str, float], begun: float | None) -> bool:
    """Whether another run begins in a row: all that continues in a run goes back, after steps that rose."""
    if begun is None or not begun < last["_step"] > values["_step"]:
        return False
    return any(values[name] < last[name] for name in _CONTINUED if name in values and name in last)


def _write(history: History, rows: Rows, name: str | None) -> str | None:
    rows.param("tracker", "wandb")
    rows.param("run_name", name and name[:_LONGEST])
    found = write_history(history, _OWN, rows, units={"_runtime": "s"})
    return _NO_STEP if found.lacks_times and history.records > 1 else None


def _write_drawn(rows: Rows, line: int, step: int | None, values: dict[str, float]) -> None:
    """The columns of a chart: each value, and the ends of what it stands for where they differ from it."""
    for name, value in values.items():
        base = name[: -len(_DRAWN[0])] if name.endswith(_DRAWN) else None
        if base in values:
            if value != values[base]:
                rows.metric(line, None, None, step, base, value, None, _STATISTIC[name[-len(_DRAWN[0]) :]])
        else:
            rows.metric(line, None, None, step, name, value)


def _records(source: Source, rows: Rows) -> Iterator[_Record]:
    names: list[str] | None = None
    named_by: int | None = None
    is_json, first = False, True
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
            numbers = {name: value for name, field in nested if (value := json_number(field)) is not None}
            key = naming_key(record)
            yield _Record(line, ["_step"], numbers, (key, record[key]) if key else _UNNAMED)
            continue
        cells = cells_of(text)
        if not whole or len(cells) != len(names):
            rows.problem(line, f"the row has {len(cells)} cells, the header {len(names)}, or it is cut", text)
            continue
        if first:
            named_by, first = naming_column(names, cells) if "_step" in names else None, False
        run = (names[named_by], cells[named_by]) if named_by is not None else _UNNAMED
        named = ((name, cell) for name, cell in zip(names, cells, strict=True) if not is_index(name))
        yield _Record(line, names, {name: value for name, cell in named if (value := number(cell)) is not None}, run)
