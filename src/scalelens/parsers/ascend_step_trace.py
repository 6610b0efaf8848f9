"""Times of profiled steps by Ascend's profiler (CSV).

Tool: torch_npu.profiler and MindStudio's cluster analysis (Huawei Ascend)
Versions: 2023 to 2026, with and without Device_id
Yields: steps, metrics
Source: Ascend/pytorch, torch_npu/profiler/analysis, step_trace_time.csv; cluster_step_trace_time.csv of msprof-analyze

The times are microseconds, which the file does not say.  A step lasts Stage and Bubble: Bubble is the wait for the stage
before in pipeline parallel training, Stage the rest.  All times are metrics too.  A row without a step is of the whole
recording, and gives metrics alone, as a row of the cluster's file does that is of a stage.  `Preparing` is left out where
it is no time: the writer prints -1, or the time of day, where it did not find the first kernel.

Device_id is the device in its node and no rank: it goes to `place`.  The cluster's file names the rank.  The profiler
was on: such steps are slower than others.

Samples:
    Device_id,Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,Communication(Not Overlapped and Exclude Receive),Preparing
    0,10,85750.0,3875.5,630.5,4506.0,21374.5,111000.0,0,3875.5,0.67
"""

from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.values import amount, integer
from scalelens.tabular.cells import cells_by_column, first_cells

VERSION = 1
IN_HEAD = (b"Communication(Not Overlapped)",)

_NEEDED = {"Step", "Computing", "Communication(Not Overlapped)", "Free", "Stage", "Bubble"}
_NO_TIMES = {"Device_id", "Step", "Type", "Index", "DP Index", "PP Index", "TP Index"}
_LONGEST_US = 1e12  # eleven days; a time of day in microseconds since 1970 is longer


def recognise(head: bytes, name: str) -> bool:
    return {*first_cells(head)} >= _NEEDED


def read(source: Source, rows: Rows) -> None:
    for line, text, cells in cells_by_column(source, rows):
        _of_row(line, text, cells, rows)


def _of_row(line: int, text: str, cells: dict[str, str], rows: Rows) -> None:
    """A row of the table: times of a step, of a recording, or of a stage of the cluster."""
    times = {name: amount(cell) for name, cell in cells.items() if name not in _NO_TIMES}
    if any(times[name] is None for name in _NEEDED & times.keys()):
        rows.problem(line, "a time is missing, or is not a number", text)
        return
    step, kind, index = integer(cells["Step"], 15), cells.get("Type"), cells.get("Index", "")
    if cells["Step"] and step is None:
        rows.problem(line, "the step is not a whole number", text)
        return
    rank = integer(index) if kind == "rank" else None
    place = _place_of(kind, index, cells.get("Device_id"))
    known = [(name, us / 1e6, "s") for name, us in times.items() if us is not None and us < _LONGEST_US]
    rows.metrics(line, rank, place, step, known)
    if step is not None and kind in (None, "rank"):
        rows.add(
            "steps", line, rank=rank, place=place, phase="train", step=step, averaged_steps=1, value_kind="instant",
            step_s=((times["Stage"] or 0.0) + (times["Bubble"] or 0.0)) / 1e6,
        )  # fmt: skip


def _place_of(kind: str | None, index: str, device: str | None) -> str | None:
    """The device of a profiler's row, the stage of a cluster's; None for a rank, which says more."""
    if kind is None:
        return f"device {device}" if device else None
    return None if kind == "rank" else f"{kind} {index}"
