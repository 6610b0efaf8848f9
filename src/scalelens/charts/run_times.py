"""Step times of runs side by side, the shortest first: `throughput` where no log states the work of most steps."""

import polars as pl

from scalelens.charts import many_runs, number_sweep, run_bars, style, words
from scalelens.charts.layout import Page
from scalelens.charts.run_bars import Measure
from scalelens.charts.run_rates import MOST_RUNS
from scalelens.charts.style import Row

FEWEST_RUNS = 3
_TITLE = "median step time [s]"
_NOTE = (
    "No log states the samples or tokens of most steps: "
    "runs with other batches or settings are not comparable by their step time."
)


def of(rows: pl.DataFrame, rated: int) -> list[Row]:
    """The runs with a step time, the shortest first; none where at least half as many have a rate."""
    timed = rows.filter(pl.col("step_s") > 0)
    if timed.height < FEWEST_RUNS or 2 * rated >= timed.height:
        return []
    return sorted(timed.to_dicts(), key=lambda run: (run["step_s"], words.natural(run_bars.name(run))))


def panels(runs: list[Row], hidden: int, page: Page) -> tuple[list[list[style.Panel]], list[style.Look], list[str]]:
    """Points over a number in the names that the times follow, else bars, with their legend and the caption."""
    measure = Measure("step_s", _TITLE, "shortest")
    steps = words.counted([run["n_steps"] for run in runs], "record")
    notes = [_NOTE, *([f"Not drawn: {words.counted([hidden], 'run')} without step times."] if hidden else [])]
    if swept := number_sweep.of(runs, measure.column):
        panel, legend = number_sweep.panel(swept, measure.title, page)
        return [[panel]], legend, [number_sweep.NOTE, *notes]
    if len(runs) > MOST_RUNS:
        panel, legend, note = many_runs.drawn(runs, measure, page, MOST_RUNS)
        return [[panel]], legend, [f"Each run: {steps}.", *notes, *filter(None, [note])]
    texts = [" · ".join([run_bars.name(run), *run_bars.amount(run, measure.column)]) for run in runs]
    return [[run_bars.panel(runs, texts, measure, page)]], [], [f"Each bar: 1 run of {steps}.", *notes]
