"""Progress lines of OpenCLIP.

Tool: open_clip (mlfoundations), open_clip_train
Versions: 2.0 to 3; of one real log three lines were at hand, the rest by the source
Yields: steps, metrics, params
Source: src/open_clip_train/train.py, train_one_epoch()

The fraction counts samples of the epoch, of all devices.  `Batch (t)` and `Data (t)` are means since the line before,
while the rates are those of the last step alone: they are metrics.  The first line of an epoch is of one step, so that
its samples are the global batch, and its rate times its time as well: that proves it.  Until a line does, nothing is
read.  The rate over that of a GPU is the number of devices.  The learning rate has six decimals; 0.000000 is unknown.

Samples:
    2026-10-01,12:03:13 | INFO | Train Epoch: 0 [  8192/1600000 (1%)] Data (t): 60.938 Batch (t): 91.606, 89.4265/s, 5.58916/s/gpu LR: 0.000001 Logit Scale: 14.286 Contrastive_loss: 9.0120 (9.0120) Loss: 9.0120 (9.0120)
    2026-10-01,12:03:20 | INFO | Train Epoch: 0 [819200/1600000 (51%)] Loss: 7.0120 (7.512) Data (t): 0.029 Batch (t): 3.655, 2241.31/s LR: 0.000050 Logit Scale: 14.286
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 1
ANCHORS = (" Batch (t): ",)

_N = r"(\d{1,12}(?:\.\d{0,9})?(?:e[-+]\d{1,3})?)"
_HEAD = re.compile(r"Train Epoch: (\d{1,9}) \[ {0,15}(\d{1,15})/(\d{1,15}) \( {0,3}\d{1,3}%\)\] ")
_TIMES = re.compile(rf" Data \(t\): {_N} Batch \(t\): {_N}, {_N}/s(?:, {_N}/s/gpu)? LR: {_N} Logit Scale: ")
_LOSS = re.compile(r" Loss: (-?\d{1,12}(?:\.\d{0,9})?(?:e[-+]\d{1,3})?|nan|inf) \(")
_OF_ONE_STEP = 0.005  # the time has three decimals, the rate six digits
_WHOLE = 0.001  # a number of devices is whole but for such a share


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.batch: int | None = None  # of all devices
        self.at: dict[tuple[int | None, str | None], tuple[int, int]] = {}  # epoch, and batches of it

    def take(self, line: Line) -> bool:
        head = _HEAD.search(line.text)
        if not head:
            return False
        times = _TIMES.search(line.text, head.end() - 1)
        epoch, samples, all_samples = (int(text) for text in head.groups())
        whose = (line.rank, line.location)
        if not times:
            self.rows.problem(line.number, "the record is cut, or something else was printed into it", line.text)
            self.at[whose] = epoch, samples // (self.batch or samples or 1)
            return True
        data_s, step_s, rate, per_gpu, learning_rate = (float(text) if text else None for text in times.groups())
        if step_s and rate and abs(samples / (rate * step_s) - 1) < _OF_ONE_STEP:
            if self.batch not in (None, samples):
                self.rows.new_part()  # another global batch is another run
                self.at = {}
            self.batch = samples
            self.facts(line, rate, per_gpu)
        if not self.batch or samples % self.batch or not samples or not step_s:
            self.rows.problem(
                line.number, "the samples of a step are not known, or do not divide those so far", line.text
            )
            return True
        batches = samples // self.batch
        before = self.at.get(whose, (epoch, 0))
        since = batches - before[1] if before[0] == epoch and batches > before[1] else batches
        self.at[whose] = epoch, batches
        step = epoch * (all_samples // self.batch) + batches - 1
        attempt = self.rows.attempt_of(line.number, step, line.rank, line.location).attempt
        loss = _LOSS.search(line.text)
        self.rows.add(
            "steps", line.number, attempt=attempt, rank=line.rank, place=line.location, phase="train", epoch=epoch,
            step=step, step_s=step_s, data_s=data_s, samples=self.batch, averaged_steps=since,
            value_kind="instant" if since == 1 else "interval_mean",
            loss=float(loss[1]) if loss else None, learning_rate=learning_rate or None,
        )  # fmt: skip
        rates = [("samples_per_second", rate, None), ("samples_per_second_per_gpu", per_gpu, None)]
        known = [(name, value, unit) for name, value, unit in rates if value is not None]
        self.rows.metrics(line.number, line.rank, line.location, step, known)
        return True

    def facts(self, line: Line, rate: float, per_gpu: float | None) -> None:
        self.rows.param("framework", "open_clip", line.number, origin="inferred")
        self.rows.param("global_batch_size", self.batch, line.number, origin="inferred")
        devices = rate / per_gpu if per_gpu else 0.0
        if devices >= 1 and abs(devices / round(devices) - 1) < _WHOLE:
            self.rows.param("devices", round(devices), line.number, origin="inferred")
