"""More runs than a chart can name: every run is drawn, and what tells them apart stands for their names.

The first of these that the runs allow: a number in their names that the values follow is the axis; runs whose names
differ least share a bar; those of a folder or file share a line of marks; those that agree in a setting do.  Else all
share one line.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from scalelens.charts import name_groups, naming, number_sweep, run_bars, run_labels, run_strips, style, words
from scalelens.charts.layout import Page
from scalelens.charts.run_bars import Measure
from scalelens.charts.style import Row

# By which runs are put in groups where neither names nor folders do.
_SETTINGS = (
    "model", "device_model", "system", "framework", "precision", "dataset", "devices", "batch_per_device",
    "global_batch_size", "seq_length", "tp", "pp", "cp",
)  # fmt: skip
_MOST_VALUES, _FEWEST_OF_A_VALUE = 12, 3  # of such a setting; runs of each, on average
_TELLING = 0.7  # of the scatter of all, which is left within groups at most


class _Drawn(NamedTuple):
    """A panel, its entries of the legend, and what its marks are, for the caption."""

    panel: style.Panel
    legend: list[style.Look]
    note: str


def drawn(runs: Sequence[Row], measure: Measure, page: Page, most: int) -> _Drawn:
    """The runs by a measure that all have, with at most `most` bars."""
    return told_apart(runs, measure, page, most) or _by_setting(runs, measure, page) or _as_one(runs, measure, page)


def told_apart(runs: Sequence[Row], measure: Measure, page: Page, most: int) -> _Drawn | None:
    """The same, where names, folders or files tell the runs apart; else None."""
    if swept := number_sweep.of(runs, measure.column):
        panel, legend = number_sweep.panel(swept, measure.title, page)
        return _Drawn(panel, legend, number_sweep.NOTE)
    if merged := name_groups.merged(runs, measure.column, most):
        ordered = sorted(merged.rows, key=lambda run: (-run[measure.column], words.natural(run["name"])))
        texts = [" · ".join([run["name"], *run_bars.amount(run, measure.column)]) for run in ordered]
        return _Drawn(run_bars.panel(ordered, texts, measure, page), [], name_groups.sentence(merged.left_out))
    groups = run_strips.grouped({run["run_id"]: run_labels.fact(run, "path") for run in runs})
    return _in_strips(groups, runs, measure, page) if groups else None


def _by_setting(runs: Sequence[Row], measure: Measure, page: Page) -> _Drawn | None:
    """A line of marks for each value of the setting whose runs have the most similar values; None where none tells."""
    if any(run[measure.column] <= 0 for run in runs):
        return None
    values = [math.log(run[measure.column]) for run in runs]
    told: list[tuple[float, str, dict[str, list[str]]]] = []
    for setting in _SETTINGS:
        if any(run.get(setting) is None for run in runs):
            continue
        texts = [naming.fact_text(run, setting) for run in runs]
        order = sorted({*texts}, key=words.natural)
        groups = {text: [run["run_id"] for run, own in zip(runs, texts, strict=True) if own == text] for text in order}
        if 1 < len(groups) <= _MOST_VALUES and _FEWEST_OF_A_VALUE * len(groups) <= len(runs):
            told.append((name_groups.scatter([(text,) for text in texts], values), setting, groups))
    least, setting, groups = min(told, key=lambda each: each[0], default=(math.inf, "", {}))
    if least >= _TELLING * name_groups.scatter([()] * len(runs), values):
        return None
    is_number = all(isinstance(run[setting], int | float) for run in runs)
    return _in_strips(groups, runs, measure, page, is_ordered=is_number)


def _as_one(runs: Sequence[Row], measure: Measure, page: Page) -> _Drawn:
    """One line of marks, and the names of those at its ends."""
    strip = _in_strips({"": [run["run_id"] for run in runs]}, runs, measure, page)
    highest, lowest = (run_bars.name(end(runs, key=lambda run: run[measure.column])) for end in (max, min))
    return strip._replace(note=f"The highest is {highest}, the lowest {lowest}.")


def _in_strips(
    groups: Mapping[str, Sequence[str]], runs: Sequence[Row], measure: Measure, page: Page, is_ordered: bool = False
) -> _Drawn:
    """A line of marks for each group, from the largest median down unless the groups have an order of their own."""
    values = {run["run_id"]: run[measure.column] for run in runs}
    marks: Mapping[str, Sequence[float]] = {name: [values[run] for run in group] for name, group in groups.items()}
    marks = marks if is_ordered else run_strips.by_median(marks)
    return _Drawn(run_strips.panel(marks, measure.title, page), [run_strips.RUN, run_strips.MEDIAN], "")
