"""Time of an epoch of runs side by side, the shortest first.

Shows: which runs take how long for an epoch, where no log times a step and no number of devices makes a series.
Query: epoch_stats
Encodings:
    y        a run, the shortest epoch first
    x        the median of its epochs after the first, which often is longer
    panel    a model, with an axis of its own, where the logs name several
    many     of more runs than bars find room for: points over a number in their names that the times follow, such as a
             batch, with a line through the medians; else those whose names differ only in what matters least (a
             repeat, a date) share a bar; else a tick each on the line of their folder or file, with its median
    caption  the epochs of a run, and which launch of several counts
Source: epoch times side by side, as in the reports of courses and of DAWNBench
"""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from scalelens.charts import facets, many_runs, number_sweep, run_bars, style, words
from scalelens.charts.layout import SINGLE, Page
from scalelens.charts.run_bars import Measure
from scalelens.charts.run_rates import MOST_RUNS
from scalelens.charts.style import Row
from scalelens.errors import UserError

QUERY = "epoch_stats"
FACTS = ("name", "model")
BY_FOLDER = True

_TITLES = {"epoch": "time of an epoch [s]", "train": "time of an epoch's training [s]"}
_NOTE = "Epochs of different models, batches or data are not comparable."
_OWN_AXES = "Each panel has its own axis."
_MOST_PANELS = 6
_NO_MODEL = "model unknown"


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    page: Page = SINGLE,
) -> Any:
    """The figure of the rows of `epoch_stats`.  Raises UserError if no run has the time of a later epoch."""
    timed = rows.filter(pl.col("later_epoch_s") > 0)
    if timed.is_empty():
        raise UserError(
            "there is nothing to draw: no log times several epochs", "see what there is: scalelens query epoch_times"
        )
    whole = timed["time_of"].value_counts(sort=True).row(0)[0]
    drawn = timed.filter(time_of=whole).sort("n_epochs", descending=True).unique("run_id", keep="first")
    runs = sorted(drawn.to_dicts(), key=lambda run: (run["later_epoch_s"], words.natural(run_bars.name(run))))
    caption = [f"{words.counted([len(runs)], 'run')}; each: {_what(runs)} after the first one.", _NOTE]
    if timed["attempt"].n_unique() > 1:
        caption.append("Of several launches of a run the one with most epochs counts.")
    if hidden := timed["run_id"].n_unique() - len(runs):
        caption.append(f"Not drawn: {words.counted([hidden], 'run')} with times of another part of an epoch.")
    return _figure(runs, Measure("later_epoch_s", _TITLES[whole], "shortest"), caption, page)


def _what(runs: list[Row]) -> str:
    later = [run["n_epochs"] - 1 for run in runs]
    return "the epoch" if max(later) == 1 else f"the median of {words.counted(later, 'epoch')}"


def _figure(runs: list[Row], measure: Measure, caption: list[str], page: Page) -> Any:
    """Points over a number in the names that the times follow, else a panel for each model."""
    if swept := number_sweep.of(runs, measure.column):
        panel, looks = number_sweep.panel(swept, measure.title, page)
        return style.figure([[panel]], looks, [number_sweep.NOTE, *caption], page)
    models = _by_model(runs)
    most = MOST_RUNS // len(models) if len(runs) > MOST_RUNS else MOST_RUNS
    panels: list[list[style.Panel]] = []
    legend: list[style.Look | style.IntervalLook] = []
    notes: list[str] = []
    for model, of_model in models.items():
        panel, marks, note = _panel(of_model, measure, page, most)
        panels.append([panel._replace(chart=facets.titled(panel.chart, model, 1, page), name=model)])
        legend += [look for look in marks if look not in legend]
        notes += [note] if note and note not in notes else []
    own = [_OWN_AXES] if len(models) > 1 else []
    return style.figure(panels, legend, [*own, *caption, *notes], page)


def _by_model(runs: list[Row]) -> dict[str, list[Row]]:
    """The runs of each model, those of the shortest epochs first; all as one where there are too many, or one model."""
    models: dict[str, list[Row]] = {}
    for run in runs:
        models.setdefault(run.get("model") or _NO_MODEL, []).append(run)
    return models if 1 < len(models) <= _MOST_PANELS else {"": runs}


def _panel(runs: list[Row], measure: Measure, page: Page, most: int) -> tuple[style.Panel, Sequence[style.Look], str]:
    """Bars or, of many runs, a mark each."""
    if len(runs) > most:
        return many_runs.drawn(runs, measure, page, most)
    texts = [" · ".join([run_bars.name(run), *run_bars.amount(run, measure.column)]) for run in runs]
    return run_bars.panel(runs, texts, measure, page), [], ""
