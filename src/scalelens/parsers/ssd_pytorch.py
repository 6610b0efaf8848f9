"""Iterations and timer of ssd.pytorch, which many detectors were made from.

Tool: ssd.pytorch (amdegroot), train.py; RefineDet.PyTorch, which prints its losses by name
Versions: 2017 to 2020
Yields: params, steps
Source: ssd.pytorch/train.py, train()

The timer is of one iteration, from its images in memory to the end of the update, on the host: the wait for data is not
in it, and without a synchronization only the loss waits for the device.  It is printed before the iteration, mostly every
tenth, and is at the end of the line of the one before, since that line is not ended.

Samples:
    timer: 0.2512 sec.
    iter 20 || Loss: 8.1250 || timer: 0.2475 sec.
    timer:  0.1250 sec.iter 30 || Loss: 7.5000
    iter 40 || ARM_L Loss: 0.3125 ARM_C Loss: 1.1250 ODM_L Loss: 0.6250 ODM_C Loss: 0.8750 ||
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 1
ANCHORS = ("timer: ", "timer:  ", " || Loss: ", " || ARM_L")

_N = r"\d+(?:\.\d+)?(?:e[-+]?\d+)?"
_TIMER = re.compile(rf"timer: {{1,2}}({_N}) sec")
_RECORD = re.compile(
    rf"\biter (\d{{1,12}}) \|\| (?:Loss: ({_N}|nan|inf)(?: \|\||\s*\Z)|ARM_L(?: Loss)?: (?:{_N}|nan|inf) .{{10,200}}\|\|)"
)


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.timer: dict[tuple[int, int | None, str | None], float] = {}  # that no iteration has taken yet

    def take(self, line: Line) -> bool:
        rows, whose = self.rows, (self.rows.part, line.rank, line.location)
        record = _RECORD.search(line.text)
        timers = [timer for timer in _TIMER.finditer(line.text) if not line.text[: timer.start()].strip(" |") or record]
        if record:
            step, loss = int(record[1]), float(record[2]) if record[2] else None
            before = [timer for timer in timers if timer.start() < record.start()]
            step_s = float(before[-1][1]) if before else self.timer.pop(whose, None)
            position = rows.attempt_of(line.number, step, line.rank, line.location)
            timed = {"step_s": step_s, "averaged_steps": 1, "value_kind": "instant"} if step_s is not None else {}
            rows.add(
                "steps", line.number, attempt=position.attempt, rank=line.rank, place=line.location, phase="train",
                step=step, loss=loss if loss == loss else None, nan_steps=1 if loss != loss else None, rate_scope="rank",
                **timed,
            )  # fmt: skip
            rows.param("framework", "pytorch", line.number, origin="inferred")
            timers = [timer for timer in timers if timer.start() > record.start()]
        if timers:
            self.timer[whose] = float(timers[-1][1])
        return bool(record or timers)
