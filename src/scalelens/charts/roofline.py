"""Operators below the roofline of their device.

Shows: how fast the most expensive operators compute, against what their arithmetic intensity allows.
Query: roofline
Encodings:
    x        floating-point operations per byte moved, from shapes, logarithmic
    y        TFLOP/s achieved, logarithmic
    point    an operator with its shapes, by family in color and shape, its area the time it takes
    line     the roofline of each element type with a given peak and bandwidth, or one from the catalog; broken, where
             neither is known, the highest rates that operators reached
    caption  how many operators, which share of the time they take, peaks, what is not drawn
Source: S. Williams, A. Waterman, D. Patterson, Roofline, CACM 52(4), 2009
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from scalelens.charts import limits, style, words
from scalelens.charts.layout import SINGLE, Page
from scalelens.charts.style import Row
from scalelens.errors import UserError

QUERY = "roofline"

_COVERED = 0.99  # share of the time that is drawn: the other operators would only crowd the figure
_MOST_OPERATORS = 400
# Label of a tick, at most four letters: 0.01, 1, 1000, and 1e-3 or 1e5, which a format would write 1e+5.
_POWER = "datum.value > 5e-3 && datum.value < 5e3 ? format(datum.value, '~g') : '1e' + round(log(datum.value) / LN10)"
_ROOF = style.Look("roofline", style.INK, None, [1, 0], 1)
_REACHED = style.Look("highest rates reached", style.GRAY, None, [3, 2], 0.8)


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    page: Page = SINGLE,
) -> Any:
    """The figure of the rows of `roofline`.  Raises UserError if no operator has shapes, and for several runs.

    With operators of different devices below one roof, some would seem far from a roof that is not theirs.
    """
    known = rows.filter((pl.col("tflops_per_s") > 0) & (pl.col("intensity") > 0))
    if known.is_empty():
        raise UserError(
            "there are no operators with shapes to draw",
            "record traces with record_shapes=True; scalelens query op_work",
        )
    limits.check_one_run(known, "operators")
    largest = known.sort("kernel_s", "name", "shapes", "run_id", descending=[True, False, False, False])
    taken = largest.with_columns(before=pl.col("kernel_s").cum_sum() - pl.col("kernel_s"))
    shown = taken.filter(pl.col("before") < _COVERED * pl.col("kernel_s").sum()).head(_MOST_OPERATORS)
    points = shown.select("name", "family", "shapes", "intensity", "tflops_per_s", "kernel_s").to_dicts()
    peaks = _peaks(shown)
    looks = [look._replace(thickness=0) for look in style.looks(sorted({row["family"] for row in points}), page)]
    roofs = [(peak, bandwidth) for peak, bandwidth in peaks if bandwidth is not None]
    roof, roofs = (_ROOF, roofs) if roofs else (_REACHED, [_reached(known)])
    panel = _panel(points, looks, roofs, roof)
    return style.figure([[style.Panel(panel)]], [*looks, roof], _caption(rows, shown, peaks, roofs), page)


_Limits = tuple[float | None, float | None]  # TFLOP/s and GB/s; None: not known
_Roof = tuple[float | None, float]  # the same of a line that is drawn


def _peaks(shown: pl.DataFrame) -> dict[_Limits, list[str]]:
    """Element types by the limits to which they are compared."""
    dtypes: dict[_Limits, list[str]] = {}
    known = shown.select("peak", "bandwidth", "dtype").drop_nulls("dtype").unique()
    for peak, bandwidth, dtype in known.sort("peak", "bandwidth", "dtype", nulls_last=True).iter_rows():
        dtypes.setdefault((peak, bandwidth), []).append(dtype.lower().removeprefix("c10::"))
    return dtypes


def _reached(known: pl.DataFrame) -> _Roof:
    """The most TFLOP/s and GB/s of any operator: what the device can do at least."""
    gb_per_s = 1000 * known["tflops_per_s"] / known["intensity"]
    return float(known["tflops_per_s"].max()), float(gb_per_s.max())  # type: ignore[arg-type]


def _panel(points: Sequence[Row], looks: Sequence[style.Look], roofs: Sequence[_Roof], roof: style.Look) -> Any:
    low, high = (edge(row["intensity"] for row in points) for edge in (min, max))
    bottom, top = (edge(row["tflops_per_s"] for row in points) for edge in (min, max))
    for peak, bandwidth in roofs:
        if peak is not None:
            ridge = _ridge(peak, bandwidth)
            low, high = min(low, ridge / 3), max(high, 3 * ridge)
            top = max(top, 1.5 * peak)
    x, y = _axis("intensity", "FLOP per byte", low, high), _axis("tflops_per_s", "TFLOP/s", bottom, top)
    by = style.encodings(looks, "family")
    longest = max(row["kernel_s"] for row in points)
    size = alt.Size("kernel_s:Q", scale=alt.Scale(type="linear", domain=[0, longest], range=[4, 90]), legend=None)
    tips = style.tooltips("name:N", "shapes:N", "intensity:Q", "tflops_per_s:Q", "kernel_s:Q")
    marks = alt.Chart(style.values(points)).mark_point(opacity=0.7)
    layers = [marks.encode(x, y, by["color"], by["shape"], size, tooltip=tips)]
    return alt.layer(*layers, *(_roof(of, low, high, roof).encode(x, y) for of in roofs))


def _roof(of: _Roof, low: float, high: float, look: style.Look) -> Any:
    """The line that a device cannot exceed: memory limits left of the ridge, known arithmetic right of it."""
    peak, bandwidth = of
    start, end = _decades(low, high)
    most = math.inf if peak is None else peak
    corners = [
        {"intensity": at, "tflops_per_s": min(most, at * bandwidth / 1000)}
        for at in sorted({start, min(max(_ridge(most, bandwidth), start), end), end})
    ]
    return alt.Chart(style.values(corners)).mark_line(
        color=look.color, strokeWidth=look.thickness, strokeDash=list(look.dash), clip=True
    )


def _ridge(peak: float, bandwidth: float) -> float:
    """Intensity in FLOP per byte from which arithmetic is the limit, from TFLOP/s and GB/s."""
    return 1000 * peak / bandwidth


def _decades(low: float, high: float) -> tuple[float, float]:
    """Powers of ten around two values."""
    start, end = math.floor(math.log10(low)), math.ceil(math.log10(high))
    return 10.0**start, 10.0 ** max(end, start + 1)


def _axis(field: str, title: str, low: float, high: float) -> Any:
    start, end = _decades(low, high)
    exponents = range(round(math.log10(start)), round(math.log10(end)) + 1)
    every = math.ceil(len(exponents) / 7)
    ticks = [10.0**n for n in exponents if (n - exponents[0]) % every == 0]
    axis = alt.Axis(values=ticks, tickCount=len(ticks), labelExpr=_POWER)
    channel = alt.X if field == "intensity" else alt.Y
    return channel(f"{field}:Q", title=title, scale=alt.Scale(type="log", domain=[start, end], nice=False), axis=axis)


def _caption(
    rows: pl.DataFrame, shown: pl.DataFrame, peaks: Mapping[_Limits, list[str]], roofs: Sequence[_Roof]
) -> list[str]:
    total, drawn = (sum(of["kernel_s"].to_list()) for of in (rows, shown))
    lines = [
        f"{words.counted([shown.height], 'operator')} by shapes, {100 * drawn / total:.0f} % of the time of "
        "operators with shapes. The area of a marker is its time."
    ]
    lines.append("Bytes from shapes, each tensor moved once. Rates are total work over total time of kernels.")
    if any(bandwidth for _, bandwidth in peaks):
        lines += [_of_roof(peak, bandwidth, ", ".join(dtypes)) for (peak, bandwidth), dtypes in peaks.items()]
    else:
        arithmetic, memory = (words.short_number(rate or 0) for rate in roofs[0])
        missing = (
            "bandwidth of the device is" if any(peak for peak, _ in peaks) else "bandwidth and peak of the device are"
        )
        lines.append(
            f"The {missing} not known. Broken line: the highest rates reached, {arithmetic} TFLOP/s and {memory} GB/s."
        )
    if hidden := rows.height - shown.height:
        lines.append(f"Not drawn: {words.counted([hidden], 'operator')} (least time).")
    return lines


def _of_roof(peak: float | None, bandwidth: float | None, dtypes: str) -> str:
    """The limits of element types, or which of them is not known."""
    memory = None if bandwidth is None else f"{words.short_number(bandwidth)} GB/s"
    if peak is None and memory:
        return f"Roof of memory alone for {dtypes}: {memory}; no dense peak of that type is known (peak_tflops)."
    if memory is None or peak is None:
        missing = "the memory bandwidth" + (" and the dense peak" if peak is None else "")
        given = "bandwidth_gb_per_s" + (" and peak_tflops" if peak is None else "")
        return f"No roofline of {dtypes}: {missing} of the device is not known ({given})."
    return f"Roofline of {dtypes}: {words.short_number(peak)} TFLOP/s dense, {memory}."
