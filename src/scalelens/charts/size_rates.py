"""Throughput against the number of devices, else the time of an epoch, for series that have no efficiency: no log names
their model.

The chart `scaling` draws it instead of an efficiency.  Where runs of the smallest size have the same settings and other
times, nothing says which of them the larger ones belong to: bars with the names of the runs show them then.
"""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import altair as alt

from scalelens.charts import axes, efficiency_panels, naming, run_bars, run_rates, style, words
from scalelens.charts.highlights import PALE, in_front_last, looks_of
from scalelens.charts.layout import Page
from scalelens.charts.style import Row


class _Measure(NamedTuple):
    column: str
    title: str
    name: str
    unit: str
    record: str
    power: int  # of the devices, by which it grows ideally


_MEASURES = (
    _Measure("samples_per_s", "throughput [samples/s]", "throughput", "samples/s", "step record", 1),
    _Measure("tokens_per_s", "throughput [tokens/s]", "throughput", "tokens/s", "step record", 1),
    _Measure("epoch_s", "time of an epoch [s]", "the time of an epoch", "s an epoch", "epoch", -1),
)
_IS_OF_MODEL = re.compile("No log names the model|Set model =")  # the caption says so in words of its own
_UNKNOWN = "No log names the model, so {} is shown instead of efficiency."
_IS_UNLIKE = "runs of the same settings differ"  # a note of the query
_ROOM = 1.15  # around the data, as a factor
_IDEAL = style.Look("ideal, from the smallest size", style.GRAY, None, [3, 2], 0.7)


def measured(rows: Sequence[Row]) -> list[Row]:
    """The rows with the first measure that any of them has."""
    by_measure = ([row for row in rows if row.get(measure.column)] for measure in _MEASURES)
    return next((known for known in by_measure if known), [])


def figure(points: list[Row], left_out: str, page: Page) -> Any:
    """The figure of series without an efficiency, and with a measure at each size.

    `left_out` is the last sentence of its caption.
    """
    measure = next(one for one in _MEASURES if all(row.get(one.column) for row in points))
    shared = naming.name_series(points)
    efficiency_panels.judge(points)
    if _has_unlike_base(points) and len(points) <= run_rates.MOST_RUNS:
        return _bars(points, measure, shared, left_out, page)
    notes = [note for note in efficiency_panels.mark_notes(points) if not _IS_OF_MODEL.search(note)]
    base_of = {row["series"]: row for row in points if row["is_base"]}
    for row in points:
        ideal = _ideal(base_of[row["series"]], row["devices"], measure)
        row["share"] = (row[measure.column] / ideal) ** measure.power
    rank, where = efficiency_panels.ranking(points, "share")
    chosen = looks_of({"": points}, rank, page)
    looks, points = chosen.looks, in_front_last(points)
    legend = [*(look for look in looks if look.label), _IDEAL]
    bases = ", ".join(
        f"{words.short_number(row[measure.column])} {measure.unit} on {words.devices(row)}"
        for row in points
        if row["is_base"] and row["front"] > PALE
    )
    caption = [
        *filter(None, [shared]),
        *([f"Named: the series closest to the ideal{where}, and the one in the middle."] if chosen.is_part else []),
        f"Each point: {words.records_of(points, measure.record)}.",
        _UNKNOWN.format(measure.name),
        *notes,
        f"Smallest size: {bases}.",
    ]
    return style.figure([[style.Panel(_panel(points, measure, looks))]], legend, [*caption, left_out], page)


def _has_unlike_base(points: Sequence[Row]) -> bool:
    """Whether runs of the smallest size of a series are not repeats, although no log says how they differ."""
    return any(
        note.startswith(_IS_UNLIKE) for row in points if row["is_base"] for note in words.split_notes(row["note"])
    )


def _bars(points: Sequence[Row], measure: _Measure, shared: str | None, left_out: str, page: Page) -> Any:
    """A bar for each run, or the median of repeats, the fastest first."""
    fastest = sorted(points, key=lambda row: (-measure.power * row[measure.column], words.natural(run_bars.name(row))))
    texts = [run_rates.text_of(row, measure.column, True, "") for row in fastest]
    panel = run_bars.panel(fastest, texts, run_bars.Measure(measure.column, measure.title, "fastest"), page)
    notes = words.once_each([words.sentence(note) for row in points for note in words.split_notes(row["note"])])
    caption = [
        *filter(None, [shared]),
        f"Each bar: {words.records_of(points, measure.record)}.",
        _UNKNOWN.format(measure.name),
        *(note for note in notes if not _IS_OF_MODEL.search(note)),
        "So each run has a bar of its own.",
    ]
    return style.figure([[panel]], [], [*caption, left_out], page)


def _ideal(base: Row, devices: int, measure: _Measure) -> float:
    """What a size would have if the smallest one were kept to."""
    value: float = base[measure.column] * (devices / base["devices"]) ** measure.power
    return value


def _panel(points: Sequence[Row], measure: _Measure, looks: Sequence[style.Look]) -> Any:
    """What was measured, and the line on which twice the devices are twice as fast as the smallest size."""
    ideal = [
        {
            "series": base["series"],
            "devices": size,
            "ideal": _ideal(base, size, measure),
        }
        for base in points
        if base["is_base"] and base["front"] > PALE
        for size in sorted({row["devices"] for row in points if row["series"] == base["series"]})
    ]
    values = [*(row[measure.column] for row in points), *(row["ideal"] for row in ideal)]
    low, high = min(values), max(values)
    scale = alt.Scale(type="log", domain=[low / _ROOM, high * _ROOM], nice=False)
    axis = alt.Axis(values=axes.round_ticks(low / _ROOM, high * _ROOM), format="~s")
    x, y = axes.of_devices(points), alt.Y(f"{measure.column}:Q", title=measure.title, scale=scale, axis=axis)
    line = alt.Chart(style.values(ideal)).mark_line(
        color=_IDEAL.color, strokeDash=_IDEAL.dash, strokeWidth=_IDEAL.thickness
    )
    series = efficiency_panels.series_layers(points, looks, x, y, measure.column)
    return alt.layer(line.encode(x=x, y=alt.Y("ideal:Q", scale=scale), detail=alt.Detail("series:N")), *series)
