"""Training loops of MONAI's tutorials, and of the many scripts made from them.

Tool: the tutorials of MONAI on segmentation, such as brats_segmentation_3d
Versions: 2020 to 2026
Yields: steps, phases
Source: Project-MONAI/tutorials, 3d_segmentation/brats_segmentation_3d.ipynb, the prints of its training loop

Times have no unit where they are printed; the scripts take them from `time.time()`: seconds.  That of a step holds its
computation and the copy of its batch, but not the wait for it.  That of an epoch holds its validation, where one follows.
The number after `/` is rounded down, so that an epoch may have one step more: a step of the run is counted on from the
steps of the epochs before.  A script whose last print stands outside the loop prints one epoch's time, the last.

Samples:
    1/194, train_loss: 0.9375, step time: 0.3125
    time consuming of epoch 1 is: 95.1250
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 1
ANCHORS = (", step time: ", "time consuming of epoch ", "epoch ")

_HEAD = re.compile(r"epoch (\d{1,9})/\d{1,9}\s*\Z")  # above the steps of an epoch; other tools print it, too
_N = r"(-?\d+\.\d{4}|nan|inf)"
_STEP = re.compile(rf"(\d{{1,9}})/\d{{1,9}}, train_loss: {_N}, step time: (\d+\.\d{{4}})\s*\Z")
_CUT = re.compile(r"\d{1,9}/\d{1,9}, train_loss: [-\w.]*, step time:[ \d.]*\Z")
_EPOCH = re.compile(r"time consuming of epoch (\d{1,9}) is: (\d+\.\d{4})\s*\Z")


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.epoch: int | None = None
        self.before = self.last = 0  # steps of the epochs before, and the last one of this epoch

    def take(self, line: Line) -> bool:
        if head := _HEAD.match(line.text):
            self.begin(int(head[1]))
            return False
        rows = self.rows
        if epoch := _EPOCH.match(line.text):
            attempt = rows.attempt
            rows.put("phases", line.number, {
                "attempt": attempt, "rank": line.rank, "place": line.location, "phase": "epoch", "epoch": int(epoch[1]),
                "span_s": float(epoch[2]), "origin": "logged",
            })  # fmt: skip
            return True
        record = _STEP.match(line.text)
        if not record:
            if cut := _CUT.match(line.text):
                rows.problem(line.number, "the record is cut", line.text)
            return bool(cut)
        self.last, loss = int(record[1]), float(record[2])
        step = self.before + self.last
        position = rows.attempt_of(line.number, step, line.rank, line.location)
        rows.add(
            "steps", line.number, attempt=position.attempt, rank=line.rank, place=line.location, phase="train",
            epoch=self.epoch, step=step, step_s=float(record[3]), averaged_steps=1, value_kind="instant",
            loss=loss if loss == loss else None, nan_steps=1 if loss != loss else None,
        )  # fmt: skip
        return True

    def begin(self, epoch: int) -> None:
        """The heading of an epoch: one that is not the next begins a launch, whose steps are counted from its start."""
        follows = self.epoch is not None and epoch == self.epoch + 1
        self.before = self.before + self.last if follows else 0
        self.epoch, self.last = epoch, 0
