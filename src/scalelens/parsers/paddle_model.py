"""Progress of paddle.Model: fit(), with the evaluations between its epochs.

Tool: PaddlePaddle's high-level API (paddle.Model.fit, evaluate), verbose=1, 2 or 3
Versions: 2.0 to 3.3
Yields: steps, phases, params
Source: paddle/hapi/progressbar.py, ProgressBar.update(); paddle/hapi/callbacks.py, ProgBarLogger

The time of a line is the mean since its epoch began, rounded to milliseconds or seconds: times the count it is a clock,
whose differences are times of steps where its last digit is fine enough.  The same lines follow `Eval begin...`, and
are of the evaluation then, up to the next epoch.  verbose=3 prints more times, which are not read.

Samples:
    step 10/50 - loss: 0.6214 - 345ms/step
    step 20/50 [===========>..................] - loss: 1.8729 - acc: 0.5125 - ETA: 4s - 159ms/step
    Eval begin...
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.since_start import SinceStart
from scalelens.units import factors

VERSION = 1
ANCHORS = ("/step", "Epoch ", "Eval begin...", "Predict begin...")

_EPOCH = re.compile(r"\s*Epoch (\d{1,9})/\d{1,9}\s*\Z")
_OTHER = re.compile(r"\s*(Eval|Predict) begin\.\.\.")
_STEP = re.compile(
    r"(?:\A|(?<=[\r\b]))\s*step +(\d{1,9})/(\d{1,9}) (?:\[[=>.]*\] )?- (?P<values>(?:\w+: [^\r\b]{1,200}? - )+)"
    r"(?:ETA: [\d:]+s? - )?(\d{1,9})(us|ms|s)/step(?=[\s\b]|\Z|,)"
)
_LOSS = re.compile(r"loss: (-?\d+(?:\.\d*)?(?:e[-+]?\d+)?)(?= )")
_SECONDS = factors("us", "ms", "s")


class _Log:
    """The lines of one writer."""

    def __init__(self) -> None:
        self.epoch: int | None = None
        self.doing = "train"
        self.clock: SinceStart | None = None  # of the epoch


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.logs: dict[tuple[int | None, str | None], _Log] = {}

    def take(self, line: Line) -> bool:
        log = self.logs.setdefault((line.rank, line.location), _Log())
        if header := _EPOCH.match(line.text):
            log.epoch, log.doing, log.clock = int(header[1]), "train", None
            return False  # other loops print it, too
        if other := _OTHER.match(line.text):
            log.doing = other[1]
            return True
        drawn = list(_STEP.finditer(line.text))
        for step in drawn:
            if log.doing == "train" and log.epoch is not None:
                self.trained(step, log, line)
            elif step[1] == step[2]:
                self.phase(step, "evaluation", log, line)
        return bool(drawn)

    def trained(self, found: re.Match[str], log: _Log, line: Line) -> None:
        rows, epoch = self.rows, log.epoch or 0
        done, total, unit_s = int(found[1]), int(found[2]), _SECONDS[found[5]]
        begin = (epoch - 1) * total
        if log.clock is None:
            log.clock = SinceStart()
            log.clock.before = begin, 0.0
        position = rows.attempt_of(line.number, (epoch, done), line.rank, line.location)
        loss = _LOSS.search(found["values"])
        rows.param("framework", "paddlepaddle", line.number, origin="inferred")
        rows.add(
            "steps", line.number, attempt=position.attempt, rank=line.rank, place=line.location, phase="train",
            epoch=epoch, step=begin + done, loss=float(loss[1]) if loss else None,
            **log.clock.times(begin + done, done * int(found[4]) * unit_s, done * unit_s),
        )  # fmt: skip
        if done == total:
            self.phase(found, "train", log, line)

    def phase(self, found: re.Match[str], phase: str, log: _Log, line: Line) -> None:
        """What a whole epoch, or an evaluation, took: its mean times its count."""
        span_s = int(found[1]) * int(found[4]) * _SECONDS[found[5]]
        if span_s and log.doing != "Predict":
            self.rows.add(
                "phases", line.number, attempt=self.rows.attempt, rank=line.rank, place=line.location, phase=phase,
                epoch=log.epoch, span_s=span_s, origin="logged",
            )  # fmt: skip
