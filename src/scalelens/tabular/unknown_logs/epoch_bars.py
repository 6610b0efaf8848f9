"""Times of epochs by a progress bar that counts them.

    Epoch 38/100:  37%|###7      | 37/100 [1:02:33<1:46:30, 101.4s/it]
    Epochs:  37%|###7      | 37/100 [1:02:33<1:46:30, 101.4s/it]
     37%|###7      | 37/100 [1:02:33<1:46:30, 101.4s/epoch, loss=0.31]

A bar without a label counts epochs, too, where lines count as many epochs as it has, one after the other; and so
does one whose drawings all name the epoch they count: `54/150 [..., epoch=54, loss=0.58]`, `Epoch 54:  36%|  | 54/150`.

A bar of training that fills again and again, and of which it is open whether it counts samples or steps, fills in one
epoch each time.
"""

import itertools
from collections.abc import Sequence
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.bar_times import skips, time_of_whole, times_of
from scalelens.parsing.bar_updates import mean_of_closed
from scalelens.parsing.progress_bars import BAR, Drawing, begins, is_of_training
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.tabular.unknown_logs.fields import parsed
from scalelens.tabular.unknown_logs.lines import log_lines
from scalelens.tabular.unknown_logs.shapes import Shape, shaped

_LABEL = re.compile(r"(?:\W*(?:train(?:ing)?|overall|total|progress))?\W*epochs?\W*\Z", re.IGNORECASE)
_OF_EPOCH = re.compile(r"\W*epoch\W{0,3}(\d{1,6}) {0,2}/ {0,2}(\d{1,6})\b", re.IGNORECASE)
_UNIT = re.compile(r"epochs?", re.IGNORECASE)
_LEAST = 5  # epochs, by which a bar without a label is known
_LEAST_FULL = 3  # times that a bar fills, for each to be an epoch
_LEAST_S = 10  # seconds, of which the whole ones that a bar shows tell enough
_MOSTLY = 0.6
_LONGEST_COUNT = 12  # digits
_VALIDATED = re.compile(
    r"(?:val|valid|validation|dev)[_ -](?:acc|loss|f1|auc|iou|dice|psnr|mae|mse|rmse)", re.IGNORECASE
)
_TOTAL = 4  # its place in the key of such a bar


def epochs_by_bar(source: Source, rows: Rows, shapes: Sequence[Shape]) -> bool:
    """Rows of the times of epochs by the one bar that counts them.  Whether there is one, and its rates are clear."""
    counted = {shape.epochs_told: shape.last for shape in shapes if shape.epochs_told >= _LEAST}
    totals = {shape.key[_TOTAL] for shape in shapes if shape.is_unlabeled}
    totals = {total for total in totals if any(abs(total - epochs) <= 1 for epochs in counted)}
    over = max(counted.values()) if totals else 0  # the line of the last epoch: a bar that begins after it is another
    named = {
        shape.key for shape in shapes
        if shape.bar == "tqdm" and (shape.counts_the_epochs_it_names or shape.counts_the_epochs_of_its_label)
    }  # fmt: skip
    drawings: list[tuple[int, Drawing]] = []
    writers: set[Any] = set()
    top = 0
    for line, whole in log_lines(source):
        bar = BAR.search(line.text) if whole and "%|" in line.text else None
        if named and bar and (parts := shaped(line.text)) and parts.key in named:
            drawing = parts.parsed.drawing
        else:
            counts = bar and _counts_epochs(bar, line.text[: bar.start()], totals)
            drawing = parsed(line.text).drawing if counts else None
        if drawing is None:
            continue
        writers.add((line.rank, line.location))
        is_next = bool(drawings) and begins(drawings[-1][1], top, drawing)
        if is_next and over and line.number > over and not named:
            break
        if len(writers) > 1 or is_next:
            return False  # several bars may be of several launches, or of folds
        drawings.append((line.number, drawing))
        top = max(top, drawing.step)
    times = times_of([drawing for _, drawing in drawings]) if top > 1 else None
    if times is None or times.rate_s or not times.by_step:
        return False
    lines = {drawing.step: number for number, drawing in drawings}
    for epoch, time in times.by_step.items():
        number = lines.get(epoch)
        _put(rows, number, 0, epoch, time.step_s, time.steps)
    return True


def epochs_of_validating_bar(source: Source, rows: Rows, shape: Shape) -> bool:
    """Rows of the times of epochs by a bar each of whose drawings has another result of a validation.

    `train GNN:  36%|###6  | 54/150 [..., 94.3s/it, loss=0.58, val_acc=0.67]`: a step has none.  Whether it is such.
    """
    validated = [name for name in shape.names if _VALIDATED.match(name)]
    if shape.bar != "tqdm" or not validated or not shape.in_training:
        return False
    bars = _bars_of(source, shape, validated[0])
    if not _differ_in_each(bars):
        return False
    _put_bars(rows, bars)
    return True


def epochs_counted_beside_batches(source: Source, rows: Rows, shapes: Sequence[Shape]) -> bool:
    """Rows of the times of epochs by the one bar that grows with the epochs of which lines count the batches."""
    counting = [shape for shape in shapes if shape.grows_with_epochs]
    bars = _bars_of(source, counting[0]) if len(counting) == 1 else []
    _put_bars(rows, bars)
    return bool(bars)


def _bars_of(source: Source, shape: Shape, measured: str = "") -> list[list[tuple[int, Drawing, float | None]]]:
    """The drawings of each bar of a shape, with what stands in them; none where several programs draw them."""
    bars: list[list[tuple[int, Drawing, float | None]]] = []
    writers: set[Any] = set()
    top = 0
    for line, whole in log_lines(source):
        parts = shaped(line.text) if whole and "%|" in line.text else None
        drawing = parts.parsed.drawing if parts and parts.key == shape.key else None
        if parts is None or drawing is None:
            continue
        writers.add((line.rank, line.location))
        if not bars or begins(bars[-1][-1][1], top, drawing):
            bars.append([])
            top = 0
        result = next((field.value for field in parts.parsed.fields if measured and field.name == measured), None)
        bars[-1].append((line.number, drawing, result))
        top = max(top, drawing.step)
    return bars if len(writers) == 1 else []


def _put_bars(rows: Rows, bars: Sequence[Sequence[tuple[int, Drawing, float | None]]]) -> None:
    """Writes the epoch times of each bar; every bar is an attempt of its own."""
    for attempt, bar in enumerate(bars):
        times = times_of([drawing for _, drawing, _ in bar]) if bar[-1][1].step > 1 else None
        lines = {drawing.step: number for number, drawing, _ in bar}
        for epoch, time in times.by_step.items() if times and not times.rate_s else ():
            _put(rows, lines[epoch], attempt, epoch, time.step_s, time.steps)


def _differ_in_each(bars: Sequence[Sequence[tuple[int, Drawing, float | None]]]) -> bool:
    """Whether the results of most counts differ from those of the count before."""
    changed = counted = 0
    for bar in bars:
        last = {drawing.step: result for _, drawing, result in bar if result is not None}  # of each count, the last one
        results = [last[step] for step in sorted(last)]
        counted += max(len(results) - 1, 0)
        changed += sum(one != other for one, other in itertools.pairwise(results))
    return counted >= _LEAST and changed >= _MOSTLY * counted


def _put(rows: Rows, number: int | None, attempt: int, epoch: int, seconds: float, epochs: int) -> None:
    """Writes the time of an epoch, or the mean of several."""
    if epochs == 1:
        rows.add(
            "phases", number, attempt=attempt, phase="epoch", epoch=epoch, span_s=round(seconds, 6), origin="derived"
        )
    else:
        rows.metrics(number, None, None, epoch, [("epoch time", seconds, "s")], stat="mean")


def epochs_of_bars(source: Source, rows: Rows, shape: Shape) -> bool:
    """Rows of the times of epochs by a bar that fills once in each, whatever it counts.  Whether there are any."""
    bars: list[list[tuple[int, Drawing]]] = []
    writers: set[Any] = set()
    top = 0
    for line, whole in log_lines(source):
        parts = shaped(line.text) if whole and "%|" in line.text else None
        drawing = parts.parsed.drawing if parts and parts.key == shape.key else None
        if drawing is None:
            continue
        writers.add((line.rank, line.location))
        if not bars or begins(bars[-1][-1][1], top, drawing):
            bars.append([])
            top = 0
        bars[-1].append((line.number, drawing))
        top = max(top, drawing.step)
    spans = [(bar[-1][0], span_of([drawing for _, drawing in bar])) for bar in bars]
    told = [(number, span_s) for number, span_s in spans if span_s]
    if len(writers) != 1 or len(told) < max(_LEAST_FULL, len(bars) - 1):
        return False
    for epoch, (number, span_s) in enumerate(told, 1):
        rows.add("phases", number, attempt=0, phase="epoch", epoch=epoch, span_s=round(span_s, 6), origin="derived")
    return True


def span_of(bar: Sequence[Drawing]) -> float | None:
    """Seconds from the start of a bar until it was full; None where its drawings do not tell them."""
    start = bar[0] if not bar[0].step and not bar[0].elapsed_s else None
    if bar[-1].step != bar[-1].total or not start or skips(bar):
        return None
    if closed := mean_of_closed(start, bar):
        return closed[0] * closed[1]
    last = bar[-1]
    by_rate = last.step * (last.pace_s or 0.0)
    if last.elapsed_s >= _LEAST_S and last.elapsed_s <= by_rate <= last.elapsed_s + 1:
        return by_rate
    whole = next(iter(time_of_whole(bar).by_step.values()), None)
    return whole.steps * whole.step_s if whole and last.elapsed_s >= _LEAST_S else None


def _counts_epochs(bar: re.Match[str], label: str, totals: set[Any]) -> bool:
    """Whether a bar counts epochs, by its label, its unit, or its total."""
    if not is_of_training(label):
        return False
    if (epoch := _OF_EPOCH.match(label)) and bar["total"] == epoch[2] and _counts(bar["count"]):
        return 0 <= int(epoch[1]) - int(bar["count"]) <= 1
    unit = bar["what"] or bar["each"]
    unlabeled = not label.strip() and _counts(bar["total"])
    return bool(_LABEL.match(label) or _UNIT.fullmatch(unit) or (unlabeled and int(bar["total"]) in totals))


def _counts(digits: str | None) -> bool:
    """Whether a text is a count, and no longer than one can be."""
    return digits is not None and digits.isdigit() and len(digits) <= _LONGEST_COUNT
