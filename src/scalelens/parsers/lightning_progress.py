"""Lightning's progress bars.

Tool: Lightning (pytorch_lightning, lightning.pytorch), TQDMProgressBar and RichProgressBar
Versions: 1.0 to 2.x
Yields: params, steps, metrics
Source: lightning/pytorch/callbacks/progress/tqdm_progress.py, init_train_tqdm(); rich_progress.py; lightning/fabric/utilities/distributed.py

Lightning's bar has the batches since the epoch began over the time since then (tqdm without smoothing): the differences
are times of batches, means over as many as the two decimals and the elapsed seconds allow.  Other loops draw the same
bar with tqdm's moving average, which is inverted: only where Lightning's logger names its version (`v_num`) is it known
which of the two it is.  Before 2.0 the batches of the validation are counted in the same bar: what is drawn after those of a
validation is left out, to the end of the epoch.  A validation within an epoch is left out: its
batch is drawn before it and again after it.  A bar is drawn again and
again: a batch counts once.  A loop whose first epoch is 1 begins with step 1.  In a narrow terminal tqdm leaves out the
bar itself.  Rich's rate is that of the last half minute: there the elapsed seconds alone count.  NeMo's bars, which say
the time of a step, are read as such.  A bar with words of its own before `Epoch` is not Lightning's, nor is a second bar
of an epoch with another total, as loops of one's own draw for the validation, nor one that goes on where the epoch in
its label grows, since it counts epochs: `Epoch 2:  25%|  | 3/12`, then `Epoch 3:  33%|  | 4/12`.  One
that always grows by 8 or a multiple of it, and slower than tqdm draws steps, may count samples, and is not read.  In such
loops the few times that hold a bar of other work, as of an evaluation within the epoch, are left out where each is long.

Samples:
    Epoch 3:  22%|██▏       | 275/1250 [00:34<02:01,  8.05it/s, v_num=4711, train_loss=0.9125]
    Epoch 0: 100%|██████████| 18/18 [01:15<00:00,  4.17s/it, loss=1.125, v_num=0]
    Epoch 3:  22% 275/1250 [00:34<02:01,  8.05it/s, v_num=4711, train_loss=0.9125]
    Epoch 3/9 ━━━━━━━━╸━━━━━━ 275/1250 0:00:34 • 0:02:01 8.05it/s v_num: 0.000 train_loss: 0.912
    Initializing distributed: GLOBAL_RANK: 1, MEMBER: 2/16
"""

import functools
import math
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.bar_times import BarTimes, times_of, without_pauses
from scalelens.parsing.dispatch import Line
from scalelens.parsing.progress_bars import BAR, Drawing, drawing, is_of_training, label_of, may_count_samples
from scalelens.parsing.rows import Rows

VERSION = 7
ANCHORS = ("it/s", "s/it", "GLOBAL_RANK: ")

_BAR = re.compile(
    r"(?:Training )?Epoch (\d{1,9}): +(?:\d+%|(?:\d+%)?\|[^|]*\|) +(\d{1,9})/(\d{1,9}) \[([\d:]+)<[\d:?]+, +(\d+\.\d+)(s/it|it/s)"
    r"([^\]]*)(\])?"
)
_BEFORE = re.compile(r"(?:[\W\d_]|INFO|T(?=\d)|Z)*")  # a launcher's label and a time stamp, but no words
_RICH = re.compile(
    r"Epoch (\d{1,9})(?:/-?\d{1,9})? [━╸╺ -]{0,500}(\d{1,9})/(\d{1,9}) (\d+:\d\d:\d\d) • [\d:-]+ (\d+\.\d+)(it/s)(.*)()"
)
_SETTING = re.compile(r", ([A-Za-z][\w./ -]*)=(-?(?:\d+(?:\.\d*)?(?:e[-+]?\d+)?|inf)|nan)(?=, |\Z)")
_RICH_SETTING = re.compile(r" ([A-Za-z][\w./-]*): (-?(?:\d+(?:\.\d*)?(?:e[-+]?\d+)?|inf)|nan)(?= |\Z)")
_MEMBER = re.compile(r"(?i:initializing )\w+: GLOBAL_RANK: \d+, MEMBER: \d+/(\d{1,7})\b")
_BESIDE = re.compile(
    r"\W*(?:Validation|Validating|Sanity Checking)(?P<lightning> DataLoader \d+)?: +(?:\d+%)?\|(?:[^|]*\| *\d{1,9}/(?P<total>\d{1,9}))?"
)
_OF_NEMO = ("train_step_timing in s=", "consumed_samples=")  # a format of its own
_LOSSES = ("train_loss_step", "reduced_train_loss", "train_loss", "train/loss", "loss")
_OF_SAMPLES = "the bar grows by multiples of a batch and may count samples: it is not read"
_SEVERAL = 2  # epochs after which a bar went on
_VERSION_OF_LOGGER = re.compile(r"\bv_num[=:] ?(\w{1,40})")


class _Epoch:
    """The drawings of the bar of an epoch, and the row of each batch."""

    def __init__(self, part: int, epoch: int, attempt: int, total: int) -> None:
        self.part, self.epoch, self.attempt, self.total = part, epoch, attempt, total
        self.averaged = False  # whether its rate is the mean since its start
        self.paused_s = 0.0  # of validations within the epoch
        self.is_mixed = False  # whether its last drawings count batches of a validation
        self.last_s = 0  # the seconds of its last drawing
        self.begins_s = 0  # those at its start, where the clock of its bar goes on from the epoch before
        self.drawings: list[Drawing] = []
        self.batches: dict[int, tuple[int, dict[str, Any], list[tuple[str, float, None]]]] = {}  # line, row, metrics
        self.ahead = 0  # of the epoch: its first batch that was drawn
        self.interrupted: set[int] = set()  # batches before which a bar of other work was drawn

    def pause(self, drawn: Drawing) -> None:
        """Notes a validation: what its batch, drawn before it and now again, took longer."""
        before = self.drawings[-1]
        if before.step == drawn.step and before.pace_s and drawn.pace_s:
            self.paused_s = max(drawn.step * (drawn.pace_s - before.pace_s), self.paused_s)

    def without_pauses(self, drawn: Drawing) -> Drawing:
        """A drawing whose mean since the start leaves out the validations."""
        if not self.paused_s or not drawn.pace_s:
            return drawn
        trained_s = drawn.step * drawn.pace_s - self.paused_s
        if trained_s <= 0:
            return drawn
        return drawn._replace(
            pace_s=trained_s / drawn.step, error=drawn.error * drawn.step * drawn.pace_s / trained_s,
            elapsed_s=int(trained_s),
        )  # fmt: skip


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.logger: str | None = None  # its version
        self.first_epoch: int | None = None  # 1 where the log counts from 1
        self.at: dict[tuple[int | None, str | None], _Epoch] = {}
        self.is_lightning = False  # by the names of its other bars
        # A full bar with which an epoch begins: the last one of the epoch before, under the name of the next, or its own.
        self.full: dict[tuple[int | None, str | None], tuple[Line, re.Match[str]]] = {}
        # Batches of the validations since the last drawing of the training.
        self.validated: dict[tuple[int | None, str | None], int] = {}
        self.beside: set[tuple[int | None, str | None]] = set()  # who drew a bar of other work since the training's
        # Epochs between which a bar went on, as one that counts epochs does.
        self.carried: dict[tuple[int | None, str | None], list[_Epoch]] = {}
        self.of_epochs: set[tuple[int | None, str | None]] = set()  # whose bar does

    def take(self, line: Line) -> bool:
        if member := _MEMBER.search(line.text):
            self.rows.param("devices", int(member[1]), line.number)
            return True
        bar = _BAR.search(line.text) or _RICH.search(line.text)
        if not bar and (beside := _BESIDE.match(line.text)):
            self.is_lightning |= bool(beside["lightning"])
            self.validated[line.rank, line.location] = int(beside["total"] or 0)
        if not bar and (other := BAR.search(line.text)) and not is_of_training(label_of(line.text, other.start())):
            self.beside.add((line.rank, line.location))
        if not bar or any(name in bar[7] for name in _OF_NEMO):
            return False
        if not _BEFORE.fullmatch(label_of(line.text, bar.start())):
            return False
        if bar[8] is None:
            self.rows.problem(line.number, "the bar is cut, or something else was printed into it", line.text)
        elif float(bar[5]):
            self.settle(line, bar)
        return (line.rank, line.location) not in self.of_epochs

    def settle(self, line: Line, bar: re.Match[str]) -> None:
        """Takes a drawing; of a full one with which an epoch begins, the next one tells whose it is."""
        whose, epoch, batch, total = (line.rank, line.location), *(int(number) for number in bar.groups()[:3])
        now, elapsed_s = self.at.get(whose), _seconds(bar[4])
        if held := self.full.pop(whose, None):
            goes_on = (epoch, total) == (int(held[1][1]), int(held[1][3])) and elapsed_s >= _seconds(held[1][4])
            if goes_on and batch == total:
                self.full[whose] = held
                return
            if not (goes_on and now):
                self.drawn(*held)
            elif batch:
                self.drawn(line, bar, begins_s=_seconds(held[1][4]))
                return
        elif bar[8] and now and (epoch, batch) == (now.epoch + 1, total) and elapsed_s >= now.last_s > 0:
            self.full[whose] = line, bar
            return
        self.drawn(line, bar)

    def drawn(self, line: Line, bar: re.Match[str], begins_s: int = 0) -> None:
        epoch, batch, total = (int(number) for number in bar.groups()[:3])
        if not batch:
            return
        self.version(bar[7])
        whose = line.rank, line.location
        if whose in self.of_epochs:
            return
        now = self.at.get(whose)
        of_lightning = self.is_lightning or bool(_VERSION_OF_LOGGER.search(bar[7]))
        if now and not of_lightning and (now.part, now.epoch) == (self.rows.part, epoch) and now.total != total:
            return  # the validation's, in a loop of one's own
        position = self.rows.attempt_of(line.number, (epoch, batch), line.rank, line.location, once=False)
        if now is None or (now.part, now.epoch, now.attempt) != (self.rows.part, epoch, position.attempt):
            if now and not of_lightning and self.goes_on(now, epoch, batch, _seconds(bar[4])):
                self.carry(whose, now)
            else:
                self.hand_over(*self.carried.pop(whose, []), now)
            now = self.at[whose] = _Epoch(self.rows.part, epoch, position.attempt, total)
            now.begins_s, now.ahead = begins_s, batch - epoch
        shown = drawing(bar[2], bar[3], bar[4], bar[5] if bar[8] else "?", bar[6] == "s/it")
        now.last_s = shown.elapsed_s
        if now.begins_s:  # its rate is that since the start of the training
            shown = shown._replace(pace_s=None, elapsed_s=max(0, shown.elapsed_s - now.begins_s))
        if shown.pace_s is None and not now.drawings:
            now.drawings.append(shown._replace(step=0, elapsed_s=0))  # Rich's first batches may not be drawn
        batches = self.validated.pop(whose, None)
        if batches is not None and of_lightning and now.drawings and shown.pace_s:
            now.pause(shown)
            if not now.is_mixed and 0 < shown.step - now.drawings[-1].step <= batches:
                now.is_mixed, trained = True, now.drawings[-1].step
                now.drawings = [drawn._replace(total=trained) for drawn in now.drawings]
        if now.is_mixed:
            return
        if whose in self.beside and now.drawings and shown.step > now.drawings[-1].step:
            now.interrupted.add(shown.step)
        if not now.drawings or shown.step > now.drawings[-1].step:
            self.beside.discard(whose)
        now.drawings.append(now.without_pauses(shown))
        now.averaged |= of_lightning
        if self.first_epoch is None:
            self.first_epoch = int(epoch == 1 and not of_lightning)
        if batch not in now.batches:
            step = (epoch - self.first_epoch) * total + batch
            self.rows.reached(line.number, step)
            now.batches[batch] = line.number, *self.row(bar, epoch, step, line)

    def goes_on(self, now: _Epoch, epoch: int, batch: int, elapsed_s: int) -> bool:
        """Whether a bar that is not full goes on under the name of the next epoch."""
        last = max(now.batches)
        ahead = now.ahead - (batch == last and now.epoch in (0, 1))  # the drawing before the first count has no rate
        return epoch == now.epoch + 1 and last < now.total and batch - epoch == ahead and elapsed_s >= now.last_s

    def carry(self, whose: tuple[int | None, str | None], ended: _Epoch) -> None:
        """Keeps an epoch whose bar went on; of three in a row the bar counts epochs."""
        carried = self.carried.setdefault(whose, [])
        carried.append(ended)
        if len(carried) >= _SEVERAL:
            self.of_epochs.add(whose)

    def version(self, fields: str) -> None:
        """Each launch has a version of its own, which its logger counts up."""
        version = _VERSION_OF_LOGGER.search(fields)
        if version and self.logger not in (None, version[1]):
            self.rows.launched()
        self.logger = version[1] if version else self.logger

    def row(
        self, bar: re.Match[str], epoch: int, step: int, line: Line
    ) -> tuple[dict[str, Any], list[tuple[str, float, None]]]:
        """The row of a batch, without its time, and its other numbers, which become metrics."""
        settings = (_SETTING if bar[8] else _RICH_SETTING).findall(bar[7])
        values = {name: float(value) for name, value in settings if name != "v_num" and value != "nan"}
        loss = next((name for name in _LOSSES if name in values), "")
        row = {
            "rank": line.rank, "place": line.location, "phase": "train", "epoch": epoch, "step": step,
            "loss": values.pop(loss, None),
        }  # fmt: skip
        return row, [(name, value, None) for name, value in values.items()]

    def hand_over(self, *ended: _Epoch | None) -> None:
        """The rows of epochs, with the times that their bars show."""
        for epoch in ended:
            if epoch is not None:
                self.hand_over_one(epoch)

    def hand_over_one(self, ended: _Epoch) -> None:
        rows = self.rows
        if not ended.averaged and _counts_samples(ended.drawings):
            rows.problem(next(iter(ended.batches.values()))[0], _OF_SAMPLES)
            return
        here = rows.part, rows.attempt
        rows.part, rows.attempt = ended.part, ended.attempt
        times = times_of(_once_each(ended.drawings) if ended.averaged else ended.drawings, ended.averaged)
        if ended.averaged:
            _with_rest(times, _once_each(ended.drawings))
        else:
            times = without_pauses(times, ended.interrupted)
        rows.param("framework", "pytorch", next(iter(ended.batches.values()))[0], origin="inferred")
        for batch, (number, row, metrics) in ended.batches.items():
            rows.metrics(number, row["rank"], row["place"], row["step"], metrics)
            row["attempt"] = ended.attempt
            if time := times.by_step.get(batch):
                kind = "instant" if time.steps == 1 else "interval_mean"
                row |= {"step_s": time.step_s, "averaged_steps": time.steps, "value_kind": kind}
            if time or row["loss"] is not None:
                rows.put("steps", number, row)
        rows.disputed_time(next(iter(ended.batches.values()))[0], times.clock_s, times.rate_s)
        rows.part, rows.attempt = here

    def finish(self) -> None:
        for line, bar in self.full.values():
            self.drawn(line, bar)
        self.full = {}
        for whose, epoch in self.at.items():
            if not self.carried.pop(whose, None):
                self.hand_over(epoch)
        self.at = {}


def _counts_samples(drawings: list[Drawing]) -> bool:
    """Whether a bar may count samples, by all its counts but the total."""
    counts = {now.step for now in drawings if 0 < now.step != now.total}
    leap = functools.reduce(math.gcd, counts, 0)
    return may_count_samples(leap, len(counts), drawings[-1].elapsed_s, drawings[-1].step)


def _seconds(elapsed: str) -> int:
    """Seconds of `1:02:03` or `02:03`."""
    return functools.reduce(lambda sum_s, part: 60 * sum_s + int(part), elapsed.split(":"), 0)


def _with_rest(times: BarTimes, drawings: list[Drawing]) -> None:
    """Gives the last time of a full bar the batches after it, too few for one of their own: left out, they bias the rest."""
    if not times.by_step or not drawings or drawings[-1].step != drawings[-1].total:
        return
    full, last = drawings[-1], max(times.by_step)
    counted = sum(time.steps for time in times.by_step.values())
    rest_s = full.step * (full.pace_s or 0.0) - sum(time.steps * time.step_s for time in times.by_step.values())
    if counted != last or not last < full.step or rest_s <= 0:
        return
    time = times.by_step.pop(last)
    steps = time.steps + full.step - last
    times.by_step[full.step] = time._replace(step_s=(time.steps * time.step_s + rest_s) / steps, steps=steps)


def _once_each(drawings: list[Drawing]) -> list[Drawing]:
    """The first drawing of each batch: the last one is drawn again after the validation, which its mean then holds."""
    first: dict[int, Drawing] = {}
    for now in drawings:
        first.setdefault(now.step, now)
    return list(first.values())
