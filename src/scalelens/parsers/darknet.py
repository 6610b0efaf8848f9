"""Iterations of Darknet.

Tool: darknet (pjreddie, AlexeyAB), detector train and classifier train
Versions: 2014 to 2023
Yields: steps, metrics
Source: darknet/examples/detector.c and darknet/src/detector.c, train_detector()

The seconds are those of the update alone: the batch is loaded before the clock starts.  `images` are those seen since the
start: their growth is the batch.  With several GPUs the count grows by as many iterations as there are; the time is then
a mean over them.  Where it grows by more than it did before, lines are missing, and the time is of as many as before.

Samples:
    12: 412.250000, 498.125000 avg, 0.000000 rate, 3.512500 seconds, 768 images
     12: 412.250000, 498.125000 avg loss, 0.000010 rate, 3.512500 seconds, 768 images, 41.250000 hours left
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 2
ANCHORS = (" rate, ",)

_N = r"(-?(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|nan|inf))"
_RECORD = re.compile(
    rf"\s*(?:(\d{{1,12}}): )?{_N}, {_N} avg(?: loss)?, (\d+\.\d+) rate, (\d+\.\d+) seconds, (\d{{1,15}}) images(?![^,\s])"
)


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.last: dict[tuple[int, int | None, str | None], tuple[int, int]] = {}  # iteration and images
        self.least: dict[tuple[int, int | None, str | None], int] = {}  # iterations between two records

    def take(self, line: Line) -> bool:
        record = _RECORD.match(line.text)
        if not record:
            return False
        loss, mean, rate, seconds = map(float, record.groups()[1:5])
        rank, images = line.rank, int(record[6])
        if record[1] is None:
            if rank is None:
                return False
            step, rank = rank, None  # `12: ` looks like the label of a launcher
        else:
            step = int(record[1])
        whose = (self.rows.part, rank, line.location)
        before = self.last.get(whose)
        grown = step - before[0] if before and step > before[0] else 1
        steps = min(grown, self.least.get(whose, grown))
        if before and step > before[0]:
            self.least[whose] = steps
        known = before is not None or step == 1  # of how many iterations the first record is
        samples = images - before[1] if before and images > before[1] else None
        self.last[whose] = step, images
        position = self.rows.attempt_of(line.number, step, rank, line.location)
        self.rows.add(
            "steps", line.number, attempt=position.attempt, rank=rank, place=line.location, phase="train",
            step=step, step_s=seconds / steps if known else None, averaged_steps=steps,
            value_kind="instant" if steps == 1 else "interval_mean", samples=samples and samples / grown,
            loss=loss if loss == loss else None, nan_steps=1 if loss != loss else None, learning_rate=rate,
        )  # fmt: skip
        if mean == mean:
            self.rows.metrics(line.number, rank, line.location, step, [("avg loss", mean, None)])
        self.rows.param("framework", "darknet", line.number, origin="inferred")
        return True
