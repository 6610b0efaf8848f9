"""Losses of pytorch-CycleGAN-and-pix2pix, and of what was made from it.

Tool: pytorch-CycleGAN-and-pix2pix (junyanz); pix2pixHD, SPADE, contrastive-unpaired-translation (CUT) and other forks
Versions: 2017 to 2025
Yields: params, steps, phases, metrics
Source: util/visualizer.py, print_current_losses(); train.py; options/base_options.py, print_options()

`iters` are images since the epoch began, and `time` is of one image: the seconds of an iteration, from its images in memory
to its losses on the host, over the batch.  It includes displaying images in that iteration, and waiting for what the
device still had to compute of the steps before.  The time of a step is that by the batch, where the table of options and the number of
images come before; else `time` is a metric, since forks print other things there.  It is also a metric where the epochs
(`Time Taken`) are too short for all of their steps to have taken that long.  `data` is the wait for the
batch, not divided.  CUT smooths `time`: a running mean.  Lines without `data` are of the first versions (one iteration),
SPADE (one, with the wait for data) and pix2pixHD (a mean since the line before, likewise); of other forks their time is a
metric.  The batch is of all GPUs, in lines of a rank its own.  Epochs count from 1 there, from 0 here.

Samples:
    (epoch: 3, iters: 400, time: 0.125, data: 0.250) G_GAN: 1.250 G_L1: 12.500 D_real: 0.625 D_fake: 0.500
    [Rank 0] (epoch: 3, iters: 400, time: 0.125, data: 0.002) , G_GAN: 1.250, G_L1: 12.500
    (epoch: 3, iters: 400, time: 0.125) G_GAN: 1.250 G_L1: 12.500
    ================ Training Loss (Wed Mar  4 11:20:05 2026) ================
    End of epoch 3 / 200 	 Time Taken: 312 sec
    ----------------- Options ---------------
    The number of training images = 1250
    #training images = 1250
"""

import statistics
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.values import integer

VERSION = 2
ANCHORS = (
    "(epoch: ", "= Training Loss (", "Time Taken: ", "-- Options --", "#training images = ",
    "The number of training ",
)  # fmt: skip

_N = r"-?(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|inf)|nan"
_RECORD = re.compile(
    r"(?:\[Rank (\d{1,6})\] )?\(epoch: (\d{1,9}), iters: (\d{1,12}), time: (\d+\.\d+)(?:, data: (\d+\.\d+))?\) ?"
)
_LOSS = re.compile(rf"(?:, )?([A-Za-z][\w./-]{{0,60}}): ({_N})(?:\s+|(?=,)|\Z)")
_EPOCH = re.compile(r"End of epoch (\d{1,9}) / \d{1,9}\s{1,9}Time Taken: (\d{1,9}) sec\s*\Z")
_IMAGES = re.compile(r"(?:#|The number of )training (?:images|samples) = (\d{1,12})\s*\Z")
_HEADER = re.compile(r"-{5,20} Options -{5,20}\s*\Z")
_OPTION = re.compile(r"\s*(\w{1,60}): (.*?)\s*(?:\[default: .*\])?\s*\Z")
_LAUNCH = re.compile(r"={5,} Training Loss \(.{5,60}\) ={5,}\s*\Z")
_OF_TIME = ("step_s", "data_s", "value_kind", "averaged_steps")
_MOST_HELD = 20_000
_LONGER = 1.05  # than an epoch its steps would be: then the printed ones are longer than the others
_TOO_LONG = "steps as long as those printed would take longer than the epoch: other steps are faster, and these times are metrics"


class Reader:
    claims = re.compile(r"\s*\w{1,60}: |-{5,20} End -{5,20}")

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.options = dict[str, str]()
        self.table: dict[str, str] | None = None  # that is being printed
        self.images: int | None = None  # of the data set
        self._begin()

    def _begin(self) -> None:
        """No records of this part yet."""
        self.held = list[tuple[int, int, dict[str, Any]]]()  # part, line, row: until their times are judged
        self.per_image = list[float]()
        self.epochs = list[float]()  # seconds of each
        self.of_epoch: int | None = None  # images, or those of one process
        self.last: tuple[int, int] | None = None  # epoch and images in it of the last record
        self.are_too_long: bool | None = None

    def take(self, line: Line) -> bool:
        rows, self.table = self.rows, None
        if record := _RECORD.search(line.text):
            return self.record(line, record)
        if _HEADER.match(line.text):
            self.table = {}
        elif _LAUNCH.match(line.text):
            self.finish()
            rows.launched(line.rank)
        elif images := _IMAGES.match(line.text):
            self.images = int(images[1])
        elif epoch := _EPOCH.match(line.text):
            self.epochs.append(float(epoch[2]))
            rows.add(
                "phases", line.number, attempt=rows.attempt, rank=line.rank, place=line.location, phase="epoch",
                epoch=int(epoch[1]) - 1, step=rows.step, span_s=float(epoch[2]), origin="logged",
            )  # fmt: skip
        else:
            return False
        return True

    def more(self, line: Line) -> None:
        """A line of the table of options, or its end."""
        if self.table is None:
            return
        if option := _OPTION.match(line.text):
            self.table[option[1]] = option[2]
        elif " End " in line.text:
            if self.options and self.options != self.table and self.rows.part in self.rows.last_steps:
                self.rows.new_part()
                self.images = None
            self.rows.launched(line.rank)
            self.options, self.table = self.table, None

    def record(self, line: Line, record: re.Match[str]) -> bool:
        rows, losses, end = self.rows, list[tuple[str, float, str | None]](), record.end()
        while loss := _LOSS.match(line.text, end):
            losses.append((loss[1], float(loss[2]), None))
            end = loss.end()
        if end < len(line.text.rstrip()) or not losses:
            rows.problem(line.number, "the record is cut, or something else was printed into it", line.text)
            return True
        epoch, index = int(record[2]) - 1, int(record[3])
        place = record[1] or line.location
        batch = integer(self.options.get("batch_size", self.options.get("batchSize", ""))) or None
        step = None
        if batch and self.images and not record[1]:
            step = epoch * -(-self.images // batch) + -(-index // batch)
            rows.param("iterations_per_epoch", -(-self.images // batch), line.number, origin="inferred")
        position = rows.attempt_of(line.number, (epoch, index), line.rank, place)
        row: dict[str, Any] = {"attempt": position.attempt, "phase": "train", "epoch": epoch, "step": step}
        if batch:
            rows.param("micro_batch_size" if record[1] else "global_batch_size", batch, line.number)
            row["samples"] = None if record[1] else batch
        time_s, data_s = float(record[4]), float(record[5]) if record[5] else None
        meaning = self.meaning(batch, data_s is not None, {name for name, *_ in losses})
        if batch and meaning and self.images and index < self.images:  # a fork prints the time of an epoch at its end
            row |= {"step_s": time_s * batch, "data_s": data_s} | meaning
            if meaning["value_kind"] == "instant":
                self.per_image.append(time_s)
        self._note(epoch, index, of_rank=bool(record[1]))
        self._hold(line.number, row | {"rank": line.rank, "place": place})
        rows.param("framework", "pytorch", line.number, origin="inferred")
        rows.param("model", self.options.get("model"), line.number)
        named = [("time", time_s, "s"), *(loss for loss in losses if loss[1] == loss[1])]
        rows.metrics(line.number, line.rank, place, step, named)
        return True

    def _note(self, epoch: int, index: int, of_rank: bool) -> None:
        """How many images are in an epoch: those of the data set, or of one process by where its lines stand."""
        every = integer(self.options.get("print_freq", ""))
        if not of_rank:
            self.of_epoch = self.images
        elif self.last and every and epoch == self.last[0] + 1 and self.last[1] < self.last[1] + every - index:
            self.of_epoch = self.last[1] + every - index
        self.last = epoch, index

    def _hold(self, number: int, row: dict[str, Any]) -> None:
        self.rows.reached(number, row["step"])
        self.held.append((self.rows.part, number, row))
        if self.are_too_long is not None or len(self.held) >= _MOST_HELD:
            self.finish()

    def finish(self) -> None:
        """Gives the records, without their times where the epochs were shorter than their steps."""
        if self.are_too_long is None and self.held and self.per_image and self.epochs and self.of_epoch:
            all_s = statistics.median(self.per_image) * self.of_epoch
            self.are_too_long = all_s > _LONGER * (statistics.median(self.epochs) + 1)
            if self.are_too_long:
                self.rows.problem(self.held[0][1], _TOO_LONG)
        now = self.rows.part
        for part, number, row in self.held:
            if self.are_too_long and row.get("value_kind") == "instant":
                row = {name: value for name, value in row.items() if name not in _OF_TIME}
            self.rows.part = part
            self.rows.put("steps", number, row)
        self.rows.part, self.held = now, []

    def meaning(self, batch: int | None, has_data: bool, losses: set[str]) -> dict[str, Any] | None:
        """Which of its programs prints, and so what the time is; None where that is not known."""
        options = self.options
        if any(name.startswith("NCE") for name in losses) or any(name.startswith("nce_") for name in options):
            return {"value_kind": "running_mean"}
        if not has_data and "n_downsample_global" in options:
            every = integer(options.get("print_freq", ""))
            return (
                {"value_kind": "interval_mean", "averaged_steps": max(every // batch, 1)} if every and batch else None
            )
        if has_data or "no_TTUR" in options or "which_model_netG" in options:
            return {"value_kind": "instant", "averaged_steps": 1}
        return None
