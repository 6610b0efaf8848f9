"""Lines of a training loop that do not say which step they are of: the n-th such line is step n.

Tool: any script that prints a line for each step, or for each tenth
Versions: a line that times a step and counts none; a line whose count begins anew, where nothing names the epoch
Yields: steps, metrics, params
Source: the user's own

Asked after generic_lines, where that reads nothing.  `Iteration took 31.1 s` has the time of one step, of the rank that
printed it; its unit must be there, a mean is not one, the lines begin alike, and do not say that something is
generated.  Lines that count batches anew without an epoch may be of other epochs or of other launches: they are
numbered as they come, and no time is derived from what lies between them.  Where each stands for several batches, what
is called no more than a time may be that of one of these, or of all.
That steps are lines is said in params (`step_origin` = lines).

Samples:
    Iteration took 31.1 s
    batch: 10, time: 27.25, loss: 55.8125
"""

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator

from scalelens.parsing import lazy_re as re
from scalelens.parsing.recurring_lines import ELSEWHERE, RECURS, TIMED_STEP, skeleton_of
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.tabular import is_text
from scalelens.tabular.cells import TableRecord
from scalelens.tabular.column_names import read_name
from scalelens.tabular.column_values import Survey
from scalelens.tabular.roles import ColumnReading, as_map, assign, options, refused
from scalelens.tabular.steps import lacks, write_rows
from scalelens.tabular.unknown_logs.choice import chosen
from scalelens.tabular.unknown_logs.lines import log_lines
from scalelens.tabular.unknown_logs.records import BY_CLOCK, LineTable
from scalelens.tabular.unknown_logs.shapes import Shape, shapes_in

VERSION = 5
LAST = True  # any other format comes first
GUESSES = True
SECOND_READ = True  # also where other formats took lines, but none that are steps

_MOST_LINES = 300_000
_LINE = "line of the training"
# What a model does when it is used: `step-generate: block 3/125 step 7/48 ... step=887ms`.
_GENERATES = re.compile(r"(?<![a-z])(?:generat|denois|decod(?:e|ing)|serv(?:e|ing)(?![a-z]))", re.IGNORECASE)
_MILLI = re.compile(r"ms|milli", re.IGNORECASE)


def recognise(head: bytes, name: str) -> bool:
    return is_text(head)


def read(source: Source, rows: Rows) -> str | None:
    if rows.part:
        return ""
    shape = chosen(shapes_in(source, _MOST_LINES))
    if isinstance(shape, Shape):
        return _read_shape(source, rows, LineTable(shape)) if _counts_anew(shape) else ""
    return _read_times(source, rows) if not shape else ""


def _counts_anew(shape: Shape) -> bool:
    """Whether lines count steps of an epoch, and nothing says of which."""
    restarting = any(role in ("of_all", "batch") and shape.falls[k] for k, role in enumerate(shape.roles))
    return restarting and not shape.bar and "epoch" not in LineTable(shape).columns


def _read_shape(source: Source, rows: Rows, table: LineTable) -> str | None:
    def numbered(source: Source) -> Iterator[TableRecord]:
        numbers: Counter[tuple[object, object]] = Counter()
        for record in table.records(source):
            whose = record.cells.get("rank"), record.cells.get("worker")
            numbers[whose] += record.damage is None
            cells = {name: value for name, value in record.cells.items() if name != BY_CLOCK}
            yield record._replace(cells={_LINE: numbers[whose]} | cells)

    survey = Survey(numbered(source))
    readings = [
        reading._replace(role=None) if reading.role in ("elapsed", "batches") else reading
        for reading in assign(survey.columns, {"step": (_LINE, None), **rows.mapping})
    ]
    if _stands_for_several(table.shape):
        readings = [_of_one_or_all(reading) if reading.role not in rows.mapping else reading for reading in readings]
    if lacking := lacks(survey, readings):
        return lacking
    rows.assigned = readings
    write_rows(source, rows, numbered, survey, readings)
    rows.param("step_origin", "lines", table.shape.first, origin="inferred")
    return None


def _stands_for_several(shape: Shape) -> bool:
    """Whether each line stands for several batches, as `Batch 20/100`, `Batch 40/100` do."""
    return any(role in ("of_all", "batch") and shape.leaps[k] > 1 for k, role in enumerate(shape.roles))


def _of_one_or_all(reading: ColumnReading) -> ColumnReading:
    """A reading; what is called no more than a time may be that of one batch, or of all since the line before."""
    if reading.role != "batch_time" or read_name(reading.column).role != "time":
        return reading
    choices = tuple(as_map(role, reading) for role in ("batch_time", "span_time", "elapsed"))
    return refused(reading, f"it is unclear which time {reading.column!r} is: use {options(choices)}", *choices)


def _read_times(source: Source, rows: Rows) -> str | None:
    """Rows of the lines that time a step and count none, and begin alike; of several kinds the most frequent."""
    kinds: defaultdict[str, list[tuple[int, int | None, str | None, float]]] = defaultdict(list)
    for line, whole in itertools.islice(log_lines(source), _MOST_LINES):
        skeleton, values = skeleton_of(line.text)
        match = TIMED_STEP.search(skeleton)
        if not match or not whole or ELSEWHERE.search(skeleton) or _GENERATES.search(skeleton, 0, match.start()):
            continue
        seconds = float(values[skeleton.count("#", 0, skeleton.index("#", match.start()))])
        scale = 1000 if _MILLI.search(match[0].rpartition("#")[2]) else 1
        # What comes before the time, too: where that differs from line to line, each is of other work.
        kind = " ".join((skeleton[: match.start()] + match[0].partition("#")[0]).lower().split())
        kinds[kind].append((line.number, line.rank, line.location, seconds / scale))
    records = max(kinds.values(), key=len, default=[])
    if len(records) < RECURS:
        return ""
    steps: Counter[tuple[int | None, str | None]] = Counter()
    for number, rank, location, step_s in records:
        steps[rank, location] += 1
        rows.add(
            "steps", number, attempt=0, rank=rank, place=location, phase="train", step=steps[rank, location],
            step_s=step_s, averaged_steps=1, value_kind="instant", rate_scope="rank",
        )  # fmt: skip
    rows.param("step_origin", "lines", records[0][0], origin="inferred")
    return None
