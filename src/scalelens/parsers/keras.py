"""Progress bars of Keras: the record at the end of each epoch.

Tool: Keras 2 and tf.keras (`[=====]`), Keras 3 (`━━━`), with verbose=1 or 2
Versions: 2.0 to 3.x
Yields: steps, phases, metrics
Source: keras/src/utils/progbar.py, Progbar.update(); keras/src/callbacks/progbar_logger.py

Within an epoch a bar holds running means for the eye, or no times: what it holds at the end is kept, as a mean of the
epoch, printed with one to three digits.  Of an epoch that did not end, the last bar but one of Keras 3 is kept as a
running mean, as the last may be cut; that of Keras 2 tells no time, nor whether it counts steps or samples: a problem.
From TF 2.2 on the first step is not in the mean, a validation may be.  A logger may stand before each line.
A bar with no `Epoch` line before it is an evaluation (phase `validation`), and so is one with a label such as `Evaluating`;
but one that ends with the learning rate or the result of a validation is the only epoch of a fit(), which prints no such line
from TF 2.2 on; the next such bar is the epoch after it.  Before TF 2.2 a bar may count
samples, where fit() was given arrays: it says `/sample`, or, up to Keras 2.3, `/step` nevertheless, which the line
`Train on 7500 samples` before it gives away, or its drawings: the first is after a batch, 32/7500, and all others are
multiples of it, where one that counts steps begins at 1.  Such a bar gives no time of a step but a rate, the inverse of the time
per sample.  Where Keras itself chooses its backend (`Using TensorFlow backend.`, up to 2.3) and neither is there, nothing
tells what a bar counts: it gives the time of its epoch, and a problem.  The time of an epoch of `0s` is that of its steps.  TF 2.0 and 2.1 print no `Epoch` line if there is only one epoch: there, the bar that counts all samples
after `Train on 7500 samples` is that epoch.  Before
2.0.9, and with verbose=2 before TF 2.5, the time of the epoch alone is printed, in whole seconds.  In TF 2.0 and 2.1
the bar of a first epoch whose length nobody knew stays `/Unknown`: it counts once the next epoch begins.

Samples:
    100/100 [==============================] - 5s 45ms/step - loss: 1.9030 - accuracy: 0.5012 - val_loss: 1.8000
    100/100 ━━━━━━━━━━━━━━━━━━━━ 5s 45ms/step - accuracy: 0.5012 - loss: 1.9030
    100/100 - 5s - loss: 1.9030 - accuracy: 0.5012 - 5s/epoch - 45ms/step
    1250/1250 [==============================] - 615s - acc: 0.3125 - loss: 1.8750
"""

import math
from collections import Counter
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.progress_bars import is_of_training
from scalelens.parsing.rows import Rows
from scalelens.units import factors

VERSION = 8
_NO_LAST_BAR = (
    "the epoch did not end, and its bar tells neither the time of a step nor whether it counts steps or samples"
)
_COUNTS_UNKNOWN = "nothing tells whether the bar counts steps or samples: only the time of its epoch is read"
ANCHORS = ("/step", "/sample", " - loss: ", "Epoch ", "Train on ", "Using ")
LATER = (
    "step_s",
    "averaged_steps",
    "samples_per_s",
    "rate_scope",
    "loss",
    "accuracy",
)  # the bar is printed again after the validation

_ARRAYS = re.compile(r"\s*Train on (\d{1,12}) samples(?:, validate on (\d{1,12}) samples)?\s*\Z")
_BACKEND = re.compile(r"Using (?:TensorFlow|Theano|CNTK|plaidml\.keras\.backend) backend\.?\s*\Z")
_EPOCH = re.compile(r"\s*Epoch (\d{1,9})/\d{1,9}\s*\Z")
_BAR = re.compile(r"(?:(?<![\d/])(\d{1,9})/(\d{1,9}|Unknown) (?:\[=+\] -|━+|={10,60}|-)|\A\s*-) (\d{1,9})s(?= )")
_WITHIN = re.compile(r"(?<![\d/])(\d{1,9})/(\d{1,9}) (?:\[=*>?\.+\] - ETA: |[━─= ]{10,60} (?:\d+:[\d:]+|\d+s) )")
_TIME = re.compile(r" (\d{1,9})(us|ms|s)/(step|sample)(?= |\Z)")
_VALUE = re.compile(
    r" - ([A-Za-z]\w*): (-?\d+(?:\.\d*)?(?:e[-+]?\d+)?|nan|inf)(?= |\Z|[IWEF]\d{4} )"
)  # a message of absl may follow in the same line
# What a logger puts before a line, with the time or the level.
_LOGGER = re.compile(
    r"\[?\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?\]?[ :|-]{1,3}(?:\[?(?:INFO|DEBUG)\]?[ :|-]{1,3})?"
    r"|\[?(?:INFO|DEBUG)\]?(?::\w{1,40})?[ :|-]{1,3}"
)
_LABEL = re.compile(r"[^\d\[]*")
_UNITS = factors("us", "ms", "s")
_PER_SAMPLE, _WITH_VALIDATION = _IN_SECONDS = ("time per sample", "time per step with validation")
_LEAST_MULTIPLES = 3
_TO_A_FIFTIETH_S = 25  # an epoch of which whole seconds say so much
_RATES = ("learning_rate", "lr")  # at the end of an epoch, and nowhere else
_ACCURACIES = ("accuracy", "acc", "categorical_accuracy", "sparse_categorical_accuracy")


class _Log:
    """State of the lines that have one label of the launcher."""

    def __init__(self) -> None:
        self.epoch: int | None = None
        self.total: int | None = None  # steps of the epoch that is open
        self.samples: set[int] = set()  # of the arrays that are trained and validated on: a bar that counts them
        self.trained_on = 0  # samples of the array that is trained on
        self.first = self.multiples = 0  # of the bar of this epoch: the first count drawn, and how many it divides
        self.common: dict[int, int] = {}  # by total: the largest number that divides the counts drawn
        self.by_one: set[int] = set()  # totals of bars that are drawn after any count: of steps, as batches are larger
        self.fits = 0  # calls of fit() with arrays, one by each writer, that no header of an epoch came after yet
        self.attempt = 0
        self.writers = 1  # ranks that print, by the headers that came before the first bar
        self.headers: Counter[int] = Counter()  # of each epoch, in this attempt
        self.has_bar = False  # in this attempt
        self.headless = False  # no line stands above the bar of an epoch
        self.unknown = False  # whether the bar that is held may not be the last of its epoch
        self.held: tuple[int, dict[str, Any], float | None, dict[str, float]] | None = None  # the bar may come again
        self.within: list[tuple[int, re.Match[str], str]] = []  # the last two bars of an epoch, before its end

    def header(self, epoch: int) -> None:
        """Notes the header of an epoch: one more of them than ranks print is another fit()."""
        self.epoch, self.total, self.fits = epoch, None, 0
        self.first = self.multiples = 0
        count = self.headers[epoch]
        if self.has_bar and (count == self.writers or (not count and epoch < max(self.headers, default=epoch))):
            self.attempt += 1
            self.headers.clear()
            self.has_bar = False
        self.headers[epoch] += 1
        self.writers = max(self.writers, self.headers[epoch])

    def drawn_before_validation(self, total: int) -> bool:
        """Whether the bar that is held may be the one that is about to be printed again, after its validation."""
        return self.held is not None and self.held[1]["phase"] == "validation" and self.held[1].get("step") == total

    def draw(self, count: int, total: int) -> None:
        """Notes a bar within an epoch.  The first is drawn after the first batch: one that counts steps begins at 1."""
        self.common[total] = math.gcd(self.common.get(total, 0), count)
        if self.common[total] == 1 or count == total - 1:
            self.by_one.add(total)
        self.first = self.first or count
        self.multiples = self.multiples + 1 if count % self.first == 0 else -total
        if self.first > 1 and self.multiples >= _LEAST_MULTIPLES:
            self.samples.add(total)


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.logs: dict[tuple[int | None, str | None], _Log] = {}
        self.may_count_samples = False  # Keras chooses its backend: its bars count samples where fit() is given arrays
        self.says_unknown = False

    def take(self, line: Line) -> bool:
        log = self.logs.setdefault((line.rank, line.location), _Log())
        if prefix := _LOGGER.match(line.text):
            line = line._replace(text=line.text[prefix.end() :])
        if header := _EPOCH.match(line.text):
            self.release(log, line)
            log.headless = False
            log.header(int(header[1]) - 1)
            return False  # other loops print it too, above lines of their own
        if arrays := _ARRAYS.match(line.text):
            log.samples = {int(count) for count in arrays.groups() if count}
            log.trained_on = int(arrays[1])
            log.fits += 1
            return True
        self.may_count_samples |= bool(_BACKEND.match(line.text))
        text = line.text.replace("\b", "")
        bars = [bar for bar in _BAR.finditer(text) if bar[2] in (bar[1], "Unknown") and bar[1] != "0"]
        taken = False
        for bar, after in zip(bars, [*bars[1:], None], strict=False):
            taken |= self.bar(bar, text[bar.end() : after.start() if after else None], log, line)
        return taken or self.within(text, log, line)

    def within(self, text: str, log: _Log, line: Line) -> bool:
        """Keeps the last two bars of an epoch that are not at its end."""
        bars = list(_WITHIN.finditer(text))
        if not bars or log.epoch is None or log.total or log.held or int(bars[-1][1]) >= int(bars[-1][2]):
            return False
        for bar in bars:
            log.draw(int(bar[1]), int(bar[2]))
        ends = [*(bar.start() for bar in bars[1:]), len(text)]
        drawn = [(line.number, bar, text[bar.end() : end].rstrip()) for bar, end in zip(bars, ends, strict=True)]
        log.within = [*log.within, *drawn][-2:]
        return True

    def finish(self) -> None:
        for (rank, place), log in self.logs.items():
            log.held = None if log.unknown else log.held
            self.release(log, Line("", 0, rank, place))

    def bar(self, bar: re.Match[str], text: str, log: _Log, line: Line) -> bool:
        values = {name: float(value) for name, value in _VALUE.findall(text.rstrip()) if value != "nan"}
        spent = _TIME.search(text.rstrip())
        # predict() prints no loss, like a cut line; a bar without a count is the first after its header
        if "loss" not in values or (not bar[1] and (log.epoch is None or log.held)):
            return False
        total, unknown = int(bar[1] or 0), bar[2] == "Unknown"
        if unknown and (log.epoch is None or log.total or (log.held and total < log.held[1].get("averaged_steps", 0))):
            return False
        if log.fits and total == log.trained_on:
            self.release(log, line)
            for _ in range(log.fits):
                log.header(0)
        ends_epoch = bool(bar[1]) and any(name in _RATES or name.startswith("val_") for name in values)
        log.headless |= log.epoch is None and ends_epoch
        if log.headless and ends_epoch:
            if not log.drawn_before_validation(total):
                self.release(log, line)
            log.header(0 if log.epoch is None else log.epoch + 1)
        train = log.epoch is not None and log.total in (None, total) and is_of_training(_label_of(line.text))
        train = train and (ends_epoch or not log.headless)
        if not train or (log.writers > 1 and log.held and log.held[0] != line.number):
            self.release(log, line)
        row: dict[str, Any] = {"attempt": log.attempt, "rank": line.rank, "place": line.location, "epoch": log.epoch}
        counts_steps = spent and spent[3] == "step" and total not in log.samples
        if spent and counts_steps and train and self.may_count_samples and not log.fits and total not in log.by_one:
            self.say_unknown(line.number, line.text)
        elif spent and counts_steps:
            step = ((log.epoch or 0) + 1) * total if train else total
            step_s = _mean_of_step(int(spent[1]), _UNITS[spent[2]], int(bar[3]), total)
            row |= {"step": step} | self.time_of_step(step_s, total, values, log, train)
        elif spent:
            values[_PER_SAMPLE] = sample_s = int(spent[1]) * _UNITS[spent[2]]
            scope = "global" if (line.rank, line.location, log.writers) == (None, None, 1) else "rank"
            row |= {"samples_per_s": 1 / sample_s, "rate_scope": scope} if train and sample_s else {}
        row |= {"phase": "train" if train else "validation", "value_kind": "epoch_mean", "loss": values.pop("loss")}
        name = next((name for name in _ACCURACIES if name in values), "")
        row["accuracy"] = values.pop(name, None)
        log.has_bar, log.within = True, []
        log.held, log.unknown = (line.number, row, _span_of(int(bar[3]), spent, total), values), unknown
        self.rows.attempt = max(self.rows.attempt, log.attempt)
        if train:
            log.total = total if not unknown else None
            self.rows.reached(line.number, row.get("step"))
        elif log.epoch is not None and not log.headless:
            self.release(log, line)
        return True

    def say_unknown(self, number: int | None, text: str) -> None:
        if not self.says_unknown:
            self.rows.problem(number, _COUNTS_UNKNOWN, text)
        self.says_unknown = True

    def time_of_step(
        self, step_s: float, total: int, values: dict[str, float], log: _Log, train: bool
    ) -> dict[str, Any]:
        """The mean of the steps; where a validation is in it, that of the bar before the validation, if one was drawn."""
        if not train or not any(name.startswith("val_") for name in values):
            return {"step_s": step_s, "averaged_steps": total}
        values[_WITH_VALIDATION] = step_s
        before = log.held[1] if log.held else {}
        return {name: before[name] for name in ("step_s", "averaged_steps") if before.get("step_s") is not None}

    def unfinished(self, log: _Log, line: Line) -> None:
        """Hands over the last bar but one of an epoch that did not end: the last one may be cut."""
        number, bar, text = log.within[0]
        log.within = []
        spent = _TIME.search(bar[0] + text)
        values = {name: float(value) for name, value in _VALUE.findall(text) if value != "nan"}
        if self.may_count_samples and not log.fits and int(bar[2]) not in log.by_one | log.samples:
            self.say_unknown(None, bar[0] + text)
            return
        if not spent or spent[3] != "step" or int(bar[2]) in log.samples:
            self.rows.problem(None, _NO_LAST_BAR, bar[0] + text)  # true of the log up to its end, not of this line
            return
        done, total = int(bar[1]), int(bar[2])
        self.rows.add(
            "steps", number, attempt=log.attempt, rank=line.rank, place=line.location, phase="train", epoch=log.epoch,
            step=(log.epoch or 0) * total + done, step_s=int(spent[1]) * _UNITS[spent[2]], averaged_steps=done,
            value_kind="running_mean", loss=values.get("loss"),
            accuracy=next((values[name] for name in _ACCURACIES if name in values), None),
        )  # fmt: skip

    def release(self, log: _Log, line: Line) -> None:
        """Hands over the last bar of an epoch."""
        if log.within and not log.held:
            self.unfinished(log, line)
        if not log.held:
            return
        number, row, span_s, values = log.held
        log.held = None
        self.rows.put("steps", number, row)
        whose = {name: row[name] for name in ("attempt", "rank", "place", "epoch")}
        phase = "epoch" if row["phase"] == "train" else "evaluation"
        self.rows.add("phases", number, **whose, phase=phase, step=row.get("step"), span_s=span_s, origin="logged")
        named = [(name, value, "s" if name in _IN_SECONDS else None) for name, value in values.items()]
        self.rows.metrics(number, row["rank"], row["place"], row.get("step"), named)


def _mean_of_step(printed: int, unit_s: float, span_s: int, total: int) -> float:
    """The time of a step: where it is in whole seconds, the time of the epoch says more, to a fiftieth at least.

    `449/449 - 598s 1s/step` is 1.33 s.  The epoch may hold a long first step: then the printed time stays.
    """
    mean_s = span_s / total
    is_finer = unit_s == 1 and span_s > max(printed, _TO_A_FIFTIETH_S) and abs(mean_s - printed) <= unit_s / 2
    return mean_s if is_finer else printed * unit_s


def _span_of(printed_s: int, spent: re.Match[str] | None, total: int) -> float | None:
    """Seconds of an epoch: those printed, or of one that printed `0s` all its steps or samples by the time of one."""
    if printed_s or not spent:
        return printed_s or None
    return round(int(spent[1]) * _UNITS[spent[2]] * total, 6) or None


def _label_of(text: str) -> str:
    """What a program printed before the bars of a line: Keras' own have no label."""
    return _LABEL.match(text)[0]  # type: ignore[index]
