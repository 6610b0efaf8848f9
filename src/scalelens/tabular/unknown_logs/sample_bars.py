"""Rates of samples by progress bars that count them, and the times of the epochs in which they fill.

    Epoch 3/5:  37%|###7      | 1720/4580 [01:12<02:00, 25.0img/s, loss (batch)=0.81]

How many samples one step takes is not known, so these bars tell a rate and no time of a step.  Nor is known whether
they count the samples of all processes: the rate is that of the one that draws.  A validation between two drawings is
in the time of the epoch and not in the rate.
"""

from typing import Any, NamedTuple

from scalelens.parsing import lazy_re as re
from scalelens.parsing.bar_times import times_of
from scalelens.parsing.progress_bars import BAR, Drawing, begins, drawing_of, is_of_training
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.tabular.roles import ColumnReading
from scalelens.tabular.unknown_logs.epoch_bars import span_of
from scalelens.tabular.unknown_logs.fields import parsed
from scalelens.tabular.unknown_logs.lines import log_lines
from scalelens.tabular.unknown_logs.records import PAUSES

_SAMPLES = re.compile(
    r"(?:img|image|sample|ex|example|seq|sequence|sent|sentence|graph|clip|video|utt|utterance|patch|crop)(?:e?s)?",
    re.IGNORECASE,
)
_EPOCH = re.compile(r"epoch\W{0,3}(\d{1,6})(?!\d)", re.IGNORECASE)
_LOSS = re.compile(r"loss", re.IGNORECASE)
_TRAINS = re.compile(r"(?<![a-z])(?:train|epoch)", re.IGNORECASE)  # others may count what is loaded or written
_LEAST_S = 10  # that all bars take together


class _Drawn(NamedTuple):
    """One drawing of a bar: its line, what it shows, the loss beside it, and whether a pause may lie before it."""

    line: int
    drawing: Drawing
    loss: float | None
    is_after_pause: bool


class _Bar(NamedTuple):
    """One bar: which writer and which label drew it, the epoch that the label names, and its drawings."""

    whose: tuple[int | None, str | None]
    label: str
    epoch: int | None
    drawn: list[_Drawn]


def rates_of_samples(source: Source, rows: Rows) -> bool:
    """Rows of the rates of samples, one for each bar of training that counts them.  Whether there are any.

    Not where bars of several labels may be the training's.
    """
    bars = _bars_in(source)
    rates = [_rate_of(bar) for bar in bars]
    seconds = sum(bar.drawn[-1].drawing.elapsed_s for bar in bars)
    if not any(rates) or len({bar.label for bar in bars}) > 1 or seconds < _LEAST_S:
        return False
    alone = {bar.whose for bar in bars} == {(None, None)}
    attempt, before = 0, dict[Any, int]()
    for bar, rate in zip(bars, rates, strict=True):
        rank, place = bar.whose
        epoch = before.get(bar.whose, 0) + 1 if bar.epoch is None else bar.epoch
        attempt += alone and epoch <= before.get(bar.whose, -1)
        before[bar.whose] = epoch
        row = {"attempt": attempt, "rank": rank, "place": place, "epoch": epoch}
        last = bar.drawn[-1]
        if rate:
            rows.add(
                "steps", last.line, **row, phase="train", samples_per_s=rate, value_kind="epoch_mean", loss=last.loss,
                rate_scope="rank",
            )  # fmt: skip
        if span_s := span_of([one.drawing for one in bar.drawn]):
            rows.add("phases", last.line, **row, phase="epoch", span_s=round(span_s, 6), origin="derived")
    unit = bars[0].label.rpartition(" ")[2]
    rows.assigned = [*rows.assigned, ColumnReading(f"{unit}/s", "samples_per_s")]
    return True


def _bars_in(source: Source) -> list[_Bar]:
    """The bars of training that count samples."""
    bars: list[_Bar] = []
    open_bars: dict[Any, tuple[_Bar, int]] = {}  # of each writer, with the largest count
    paused: set[Any] = set()  # writers, since the last drawing

    def pause(raw: bytes) -> None:
        if PAUSES.search(raw):
            paused.update(open_bars)

    for line, whole in log_lines(source, pause):
        whose = line.rank, line.location
        bar = BAR.search(line.text)
        unit = (bar["what"] or bar["each"]) if bar else ""
        before = line.text[: bar.start()] if bar else line.text
        if not bar or not bar["count"] or not _SAMPLES.fullmatch(unit) or not is_of_training(before):
            if bar or PAUSES.search(line.text.encode()):
                paused.add(whose)
            continue
        loss = _loss_in(line.text)
        if loss is None and whose not in open_bars and not _TRAINS.search(before):
            continue
        if not whole:
            continue
        drawing = drawing_of(bar)
        label, named = f"{re.sub(r'[0-9]+', '#', before).strip()} {unit}", _EPOCH.search(before)
        known, top = open_bars.get(whose, (None, 0))
        epoch = int(named[1]) if named else None
        same = known is not None and (known.label, known.epoch) == (label, epoch)
        if known is None or not same or begins(known.drawn[-1].drawing, top, drawing):
            known, top = _Bar(whose, label, epoch, []), 0
            bars.append(known)
            paused.discard(whose)
        known.drawn.append(_Drawn(line.number, drawing, loss, whose in paused))
        paused.discard(whose)
        open_bars[whose] = known, max(top, drawing.step)
    return bars


def _loss_in(text: str) -> float | None:
    """The loss beside a bar, if there is one and no other."""
    losses = [field.value for field in parsed(text).fields if _LOSS.search(field.name) and field.value is not None]
    return losses[0] if len(losses) == 1 else None


def _rate_of(bar: _Bar) -> float | None:
    """Samples per second of a bar, without what lies around a pause; None where its drawings do not tell it."""
    times = times_of([one.drawing for one in bar.drawn])
    if times.rate_s and not any(one.is_after_pause for one in bar.drawn):
        return None  # its rates contradict its seconds
    pauses = [one.drawing.step for one in bar.drawn if one.is_after_pause]
    samples, seconds = 0, 0.0
    for step, time in times.by_step.items():
        if not any(step - time.steps < at <= step for at in pauses):
            samples, seconds = samples + time.steps, seconds + time.steps * time.step_s
    return samples / seconds if seconds else None
