"""Progress lines of Caffe's solver.

Tool: Caffe, and what was made from it (SSD, DeepLab, SegNet, R-CNN, NVCaffe, DIGITS)
Versions: 2014 to 2020
Yields: steps, metrics, params
Source: src/caffe/solver.cpp, Solver::Step(), UpdateSmoothedLoss() and TestAll(); src/caffe/solvers/sgd_solver.cpp, ApplyUpdate()

Since 2016 a line states the time of all iterations since the line before; older lines have the time between their stamps.
Both include a test or a snapshot, so a line that follows one has no time.  glog's stamps have no year, so no record has a
`ts`.  Another process is another launch.  `loss` is
a mean over the iterations that `average_loss` counts.  The outputs of a test are metrics of the iteration at which it was.

Samples:
    I0304 10:15:27.125000  4711 solver.cpp:218] Iteration 200 (2.5 iter/s, 40s/100 iters), loss = 0.8125
    I0304 10:15:27.125000  4711 solver.cpp:209] Iteration 200, loss = 0.8125
    I0304 10:15:27.125000  4711 solver.cpp:337] Iteration 200, Testing net (#0)
    I0304 10:15:29.250000  4711 solver.cpp:404]     Test net output #0: accuracy = 0.6875
    I0304 10:15:27.125000  4711 sgd_solver.cpp:106] Iteration 200, lr = 0.001
"""

from datetime import datetime
from typing import Any, NamedTuple

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 1
ANCHORS = ("solver.cpp:",)

_N = r"-?(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|nan|inf)"
_LINE = re.compile(
    r"I(?P<stamp>\d{4} \d\d:\d\d:\d\d\.\d{6}) +(?P<pid>\d{1,8}) (?:sgd_)?solver\.cpp:\d{1,5}\] +(?P<rest>\S.*)"
)
_RECORD = re.compile(rf"Iteration (\d{{1,12}})(?: \(({_N}) iter/s, ({_N})s/(\d{{1,9}}) iters?\))?, loss = ({_N})\Z")
_RATE = re.compile(rf"Iteration (\d{{1,12}}), lr = ({_N})\Z")
_TESTS = re.compile(r"Iteration (\d{1,12}), Testing net \(#\d{1,4}\)\Z")
_OUTPUT = re.compile(rf"Test net output #\d{{1,4}}: ([\w/ .-]{{1,99}}) = ({_N})(?: \(.*)?\Z")
_PAUSES = ("Snapshotting", "Testing", "Restoring", "Resuming")
_LEAP_YEAR = "2000 "


_Whose = tuple[int | None, str | None]  # rank and place


class _At(NamedTuple):
    """The record before."""

    step: int
    pid: str
    ts: datetime


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.before: dict[tuple[int, int | None, str | None], _At] = {}
        self.paused: set[_Whose] = set()  # since the record before
        self.tested: dict[_Whose, int] = {}  # the iteration of the last test

    def take(self, line: Line) -> bool:
        found = _LINE.search(line.text)
        if not found:
            return False
        rows, whose = self.rows, (line.rank, line.location)
        rest = found["rest"].rstrip().removesuffix('"').rstrip()
        if record := _RECORD.match(rest):
            self.record(line, found, record)
        elif rate := _RATE.match(rest):
            rows.metrics(line.number, *whose, int(rate[1]), [("lr", float(rate[2]), None)])
        elif output := _OUTPUT.match(rest):
            value = float(output[2])
            named = [(f"test/{output[1]}", value, None)] if value == value else []
            rows.metrics(line.number, *whose, self.tested.get(whose, 0), named)
        elif tests := _TESTS.match(rest):
            self.paused.add(whose)
            self.tested[whose] = int(tests[1])
        elif rest.startswith("Optimization Done"):
            rows.param("outcome", "completed", line.number)
        else:
            if any(word in rest for word in _PAUSES):
                self.paused.add(whose)
            return False
        return True

    def record(self, line: Line, found: re.Match[str], record: re.Match[str]) -> None:
        rows, whose = self.rows, (self.rows.part, line.rank, line.location)
        paused = whose[1:] in self.paused
        step, loss = int(record[1]), float(record[5])
        before, ts = self.before.get(whose), _time_of(found["stamp"])
        if before and before.pid != found["pid"]:
            rows.launched(line.rank)
            before = None
        if before and step == before.step:
            return  # the loss after the last iteration
        position = rows.attempt_of(line.number, step, line.rank, line.location)
        if position.repeated:
            return
        times: dict[str, Any] = {}
        if ts and before and not paused and not position.begins and step > before.step:
            span_s = float(record[3]) if record[3] else (ts - before.ts).total_seconds()
            steps = step - before.step
            if span_s > 0 and (not record[4] or int(record[4]) == steps):
                kind = "instant" if steps == 1 else "interval_mean"
                times = {"step_s": span_s / steps, "averaged_steps": steps, "value_kind": kind}
        self.paused.discard(whose[1:])
        if ts:
            self.before[whose] = _At(step, found["pid"], ts)
        rows.add(
            "steps", line.number, attempt=position.attempt, rank=line.rank, place=line.location, phase="train",
            step=step, loss=loss if loss == loss else None, nan_steps=1 if loss != loss else None, **times,
        )  # fmt: skip
        rows.param("framework", "caffe", line.number)


def _time_of(stamp: str) -> datetime | None:
    """A stamp of glog, in a leap year."""
    try:
        return datetime.strptime(_LEAP_YEAR + stamp, "%Y %m%d %H:%M:%S.%f")
    except ValueError:
        return None
