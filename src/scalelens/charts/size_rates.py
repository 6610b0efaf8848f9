"""Throughput against the number of devices, for series that have no efficiency: no log names their model.

The chart `scaling` draws it instead of an efficiency.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from scalelens.charts import axes, efficiency_panels, exclusions, naming, style, words
from scalelens.charts.layout import Page
from scalelens.charts.style import Row

_UNKNOWN = "No log names the model, so throughput is shown instead of efficiency."
_ROOM = 1.15  # around the data, as a factor
_IDEAL = style.Look("ideal, from the smallest size", style.GRAY, None, [3, 2], 0.7)


def figure(points: list[Row], left_out: Mapping[str, int], page: Page) -> Any:
    """The figure of series without an efficiency, and with `samples_per_s` at each size."""
    shared = naming.name_series(points)
    efficiency_panels.judge(points)
    notes = [note for note in efficiency_panels.mark_notes(points) if "No log names the model" not in note]
    looks = style.looks(sorted({row["label"] for row in points}, key=words.natural), page)
    legend = [*(look for look in looks if look.label), _IDEAL]
    base = [row for row in points if row["is_base"]]
    bases = ", ".join(f"{words.short_number(row['samples_per_s'])} samples/s on {words.devices(row)}" for row in base)
    caption = [
        *filter(None, [shared]),
        f"Each point: {words.records_of(points)}.",
        _UNKNOWN,
        *notes,
        f"Smallest size: {bases}.",
    ]
    return style.figure([[style.Panel(_panel(points, looks))]], legend, [*caption, exclusions.sentence(left_out)], page)


def _panel(points: Sequence[Row], looks: Sequence[style.Look]) -> Any:
    """Measured rates, and the line on which twice the devices give twice the rate of the smallest size."""
    ideal = [
        {"series": base["series"], "devices": size, "ideal": base["samples_per_s"] * size / base["devices"]}
        for base in points
        if base["is_base"]
        for size in sorted({row["devices"] for row in points if row["series"] == base["series"]})
    ]
    rates = [*(row["samples_per_s"] for row in points), *(row["ideal"] for row in ideal)]
    low, high = min(rates), max(rates)
    scale = alt.Scale(type="log", domain=[low / _ROOM, high * _ROOM], nice=False)
    axis = alt.Axis(values=axes.ticks_of_decades(low, high), format="~s")
    x, y = axes.of_devices(points), alt.Y("samples_per_s:Q", title="throughput [samples/s]", scale=scale, axis=axis)
    line = alt.Chart(style.values(ideal)).mark_line(
        color=_IDEAL.color, strokeDash=_IDEAL.dash, strokeWidth=_IDEAL.thickness
    )
    series = efficiency_panels.series_layers(points, looks, x, y, "samples_per_s")
    return alt.layer(line.encode(x=x, y=alt.Y("ideal:Q", scale=scale), detail="series:N"), *series)
