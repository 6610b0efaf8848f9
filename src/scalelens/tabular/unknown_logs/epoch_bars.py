"""Times of epochs by a progress bar that counts them.

    Epoch 38/100:  37%|###7      | 37/100 [1:02:33<1:46:30, 101.4s/it]
    Epochs:  37%|###7      | 37/100 [1:02:33<1:46:30, 101.4s/it]
     37%|###7      | 37/100 [1:02:33<1:46:30, 101.4s/epoch, loss=0.31]

A bar without a label counts epochs, too, where lines count as many epochs as it has, one after the other.
"""

from collections.abc import Sequence
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.bar_times import times_of
from scalelens.parsing.progress_bars import BAR, Drawing, begins, is_of_training
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.tabular.unknown_logs.fields import parsed
from scalelens.tabular.unknown_logs.lines import log_lines
from scalelens.tabular.unknown_logs.shapes import Shape

_LABEL = re.compile(r"(?:\W*(?:train(?:ing)?|overall|total|progress))?\W*epochs?\W*\Z", re.IGNORECASE)
_OF_EPOCH = re.compile(r"\W*epoch\W{0,3}(\d{1,6}) {0,2}/ {0,2}(\d{1,6})\b", re.IGNORECASE)
_UNIT = re.compile(r"epochs?", re.IGNORECASE)
_LEAST = 5  # epochs, by which a bar without a label is known
_TOTAL = 4  # its place in the key of such a bar


def epochs_by_bar(source: Source, rows: Rows, shapes: Sequence[Shape]) -> bool:
    """Rows of the times of epochs by the one bar that counts them.  Whether there is one, and its rates are clear."""
    counted = {shape.epochs_told for shape in shapes if shape.epochs_told >= _LEAST}
    totals = {shape.key[_TOTAL] for shape in shapes if shape.is_unlabeled}
    totals = {total for total in totals if any(abs(total - epochs) <= 1 for epochs in counted)}
    drawings: list[tuple[int, Drawing]] = []
    writers: set[Any] = set()
    top = 0
    for line, whole in log_lines(source):
        bar = BAR.search(line.text) if whole and "%|" in line.text else None
        drawing = parsed(line.text).drawing if bar and _counts_epochs(bar, line.text[: bar.start()], totals) else None
        if drawing is None:
            continue
        writers.add((line.rank, line.location))
        if len(writers) > 1 or (drawings and begins(drawings[-1][1], top, drawing)):
            return False  # several bars may be of several launches, or of folds
        drawings.append((line.number, drawing))
        top = max(top, drawing.step)
    times = times_of([drawing for _, drawing in drawings]) if top > 1 else None
    if times is None or times.rate_s or not times.by_step:
        return False
    lines = {drawing.step: number for number, drawing in drawings}
    for epoch, time in times.by_step.items():
        number = lines.get(epoch)
        if time.steps == 1:
            rows.add(
                "phases", number, attempt=0, phase="epoch", epoch=epoch, span_s=round(time.step_s, 6), origin="derived"
            )
        else:
            rows.metrics(number, None, None, epoch, [("epoch time", time.step_s, "s")], stat="mean")
    return True


def _counts_epochs(bar: re.Match[str], label: str, totals: set[Any]) -> bool:
    """Whether a bar counts epochs, by its label, its unit, or its total."""
    if not is_of_training(label):
        return False
    if (epoch := _OF_EPOCH.match(label)) and bar["total"] == epoch[2] and (bar["count"] or "").isdigit():
        return 0 <= int(epoch[1]) - int(bar["count"]) <= 1
    unit = bar["what"] or bar["each"]
    unlabeled = not label.strip() and bar["total"] is not None and bar["total"].isdigit()
    return bool(_LABEL.match(label) or _UNIT.fullmatch(unit) or (unlabeled and int(bar["total"]) in totals))
