"""The table of steps that nerfstudio prints.

Tool: nerfstudio, ns-train
Versions: 0.1 to 1
Yields: steps, metrics, params
Source: nerfstudio/utils/writer.py, LocalWriter and _format_time()

The time of a step is a mean over the last steps, 20 by default (`running_mean`).  A table of at most so many lines is
printed anew with each of them: a line that was printed before counts once.  Rays per second are metrics.

Samples:
    Step (% Done)       Train Iter (time)    ETA (time)           Train Rays / Sec
    120 (0.40%)         23.456 ms            11 m, 41 s           175.00 K
"""

from collections import deque

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 1
ANCHORS = ("Train Iter (time)", "%) ")

_NAMES = re.compile(r"Step \(% Done\) +(.*Train Iter \(time\).*)\Z")
_RECORD = re.compile(r"(\d{1,9}) \(\d{1,3}\.\d\d%\) {2,}(\S.*)")
_COLUMNS = re.compile(r"\s{2,}")
_TIME = re.compile(r"(?:(\d{1,6}) s, )?(\d{1,3}\.\d{3}) ms\Z")
_AMOUNT = re.compile(r"(\d{1,6}(?:\.\d{1,4})?)(?: ([KMB]))?\Z")
_SCALES = {None: 1.0, "K": 1e3, "M": 1e6, "B": 1e9}
_STEP = "Train Iter (time)"
_KEPT = 100  # lines of a table that is printed anew


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.names, self.begun = [_STEP], False
        self.told: deque[str] = deque(maxlen=_KEPT)

    def take(self, line: Line) -> bool:
        if names := _NAMES.match(line.text):
            self.begun = True
            self.names = _COLUMNS.split(names[1].strip())
            return True
        record = _RECORD.match(line.text)
        cells = _COLUMNS.split(record[2].rstrip()) if record else []
        values = dict(zip(self.names, cells, strict=False))
        time = _TIME.match(values.get(_STEP, ""))
        if record and time is None and self.begun:
            self.rows.problem(line.number, "the row is cut, or its time is not one", line.text)
            return True
        if record is None or time is None:
            return False
        if line.text in self.told:
            return True
        self.told.append(line.text)
        rows, step, whose = self.rows, int(record[1]), (line.rank, line.location)
        step_s = float(time[1] or 0) + float(time[2]) / 1e3
        rows.add(
            "steps", line.number, attempt=rows.attempt_of(line.number, step, *whose, step_s=step_s).attempt,
            rank=line.rank, place=line.location, phase="train", step=step, step_s=step_s, value_kind="running_mean",
        )  # fmt: skip
        amounts = {name: _AMOUNT.match(cell) for name, cell in values.items() if "(time)" not in name}
        rows.metrics(
            line.number, *whose, step,
            [(name, float(amount[1]) * _SCALES[amount[2]], None) for name, amount in amounts.items() if amount],
        )  # fmt: skip
        rows.param("framework", "nerfstudio", line.number)
        return True
