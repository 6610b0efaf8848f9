"""Bars of CenterNet, and of the detectors and trackers that were made from it.

Tool: xingyizhou/CenterNet, CenterTrack; FairMOT; scripts made from them
Versions: 2019 to 2024
Yields: params, steps
Source: CenterNet/src/lib/trains/base_trainer.py, run_epoch()

`Net` is the time of an iteration with its wait for data, a mean since the epoch began (an AverageMeter): times the number of
its iterations it is a clock, and what that grew by since an earlier drawing, as far back as its digits need, is the time of
the iterations between.  `Tot` is in whole seconds.  The losses are such means, too.  A bar of a validation is drawn as `val`.

Samples:
    ctdet/coco_dla |################                | train: [3][120/2451]|Tot: 0:01:05 |ETA: 0:20:11 |loss 2.1250 |hm_loss 1.2500 |wh_loss 3.1250 |off_loss 0.2500 |Data 0.003s(0.021s) |Net 0.531s
"""

from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.since_start import SinceStart

VERSION = 1
ANCHORS = ("s) |Net ",)

_BAR = re.compile(r"(?<![a-z])(train|val): \[(\d{1,9})\]\[(\d{1,9})/(\d{1,9})\]\|Tot: ")
_LOSS = re.compile(r"\|loss (-?\d{1,15}\.\d{4}|nan|inf) ")
_NET = re.compile(r"\|Data (\d{1,9}\.\d{3})s\(\d{1,9}\.\d{3}s\) \|Net (\d{1,9}\.\d{3})s")
_DIGIT_S = 0.001


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.clocks: dict[Any, tuple[tuple[int, int, int], SinceStart]] = {}  # by writer: of an epoch

    def take(self, line: Line) -> bool:
        if not (bar := _BAR.search(line.text)):
            return False
        net, said = _NET.search(line.text, bar.end()), _LOSS.search(line.text, bar.end())
        if not net or not said:
            self.rows.problem(line.number, "the record is cut, or something else was printed into it", line.text)
            return True
        if bar[1] == "val":
            return True
        rows, whose = self.rows, (line.rank, line.location)
        epoch, index, total, loss = int(bar[2]), int(bar[3]), int(bar[4]), float(said[1])
        step = (epoch - 1) * total + index
        attempt = rows.attempt_of(line.number, step, line.rank, line.location).attempt
        of, clock = self.clocks.get(whose, (None, SinceStart()))
        if of != (rows.part, attempt, epoch):
            clock = SinceStart()
            clock.times(-1, 0.0, 0.0)
        self.clocks[whose] = (rows.part, attempt, epoch), clock
        row: dict[str, Any] = {"attempt": attempt, "rank": line.rank, "place": line.location, "phase": "train"}
        row |= {"epoch": epoch, "step": step, "data_s": float(net[1])}
        row |= clock.times(index, float(net[2]) * (index + 1), _DIGIT_S * (index + 1))
        row |= {"loss": loss} if loss == loss else {"nan_steps": 1}
        rows.param("framework", "pytorch", line.number, origin="inferred")
        rows.param("iterations_per_epoch", total, line.number)
        rows.put("steps", line.number, row)
        return True
