"""Cumulative distribution of the times of steps.

Shows: which share of the steps took at most how long, one curve per run.  The fast mode and the tail, which a mean
    hides, are visible at once.
Query: batch_cdf
Encodings:
    x        time of a step in seconds, up to the 95th percentile of the slowest run where a tail would press the body
             of the distribution into a quarter of the width (of more than twelve runs, of all but the slowest fifth);
             logarithmic if what is shown spans a factor of ten.
             It begins shortly before the bodies where fewer than two in a hundred steps would press them so.
             `--xlim 0.2:0.4` shows another part, `--log x` the whole.  Relative to the median of its run if the
             medians differ by a factor of ten, which would hide everything else, or the models do, whose steps are
             not the same work
    y        share of the steps in percent
    curve    a run, by color, shape and dash; named by what sets the runs apart, and by its median if x is relative; of
             more than twelve runs, the fastest and the one in the middle are named and the others pale; where x is
             relative, the one whose slower steps are closest to its median
    point    the median, where the curve reaches one half
    circle   elbows, from the query `elbow`, with the 95 % interval of their share; a dot where it would cover another
    caption  runs, steps, what a record is, what is beyond the axis, what was left out, which runs have no distribution
             and why, whether invisible corners were dropped
Source: T. Hoefler, R. Belli, Scientific Benchmarking of Parallel Computing Systems, SC'15, rules 5 and 12
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import altair as alt
import polars as pl

from scalelens.charts import axes, exclusions, facets, run_labels, style, words
from scalelens.charts.highlights import PALE, Chosen, looks_of
from scalelens.charts.layout import SINGLE, Page
from scalelens.charts.style import Row
from scalelens.errors import UserError

QUERY = "batch_cdf"
FACETS = True
MOST_RUNS = style.MOST_SERIES * facets.MOST_PANELS
FACTS = ("name", "system", "model", "precision", "device_model", "devices", "device_unit", "global_batch_size")
PARAMETERS = {"cdf_slots": "10000"}  # finer than the grid of the widest page: nobody sees corners within a slot

_INTERVAL = ("ci95", "steps")  # kind and scope of the interval of an elbow's share
_REASONS = {"few": "too few records", "quantized": "rounded times"}  # why a run has no elbow, in words
_BODY = 0.95  # share of a run's steps that its body holds
_HEAD = 0.02  # share of a run's steps that may be faster than its body
_BODIES = 0.8  # of more runs than a legend can name, of which the body is shown
_ROOM_BESIDE_BODY = 1.15  # length of the axis over that of the body
_LONG_TAIL = 4  # length of the whole axis over that of the body from which only the body is shown
_NAMED = "Named{}: the run {}, and the one in the middle."
_FASTEST = "of the shortest median step"
_STEADIEST = "whose slower steps are closest to its median"
_CIRCLE, _DOT = 6.0, 5  # points: diameter of a circle with its line; area of a dot
_RELATIVE_FROM = 10  # ratio of the largest to the smallest median of a run
DOTS_PER_POINT = 5  # of the grid for thinning curves: a dot is a sixth of the line's width


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    page: Page = SINGLE,
) -> Any:
    """The figure of the rows of `batch_cdf`.  Raises UserError if no run has a distribution."""
    refused = rows.filter(pl.col("step_s").is_null()).sort("run_id")
    known = rows.filter(pl.col("step_s").is_not_null()).sort("run_id", "step_s")
    if known.is_empty():
        reasons = "; ".join(sorted(set(refused["reason"].drop_nulls())))
        raise UserError(
            f"there is no distribution of step times to draw{f' ({reasons})' if reasons else ''}",
            "see what was measured: scalelens query batch_stats",
        )
    known = known.with_columns(batch=run_labels.batch(known))
    room = style.legend_room(page)
    labels = run_labels.labels(known, room)
    medians_s = median_times(known)
    models = known["model"].n_unique() if "model" in known.columns else 1
    is_relative = models > 1 or max(medians_s.values()) > _RELATIVE_FROM * min(medians_s.values())
    if is_relative:
        at = {run: f" · {words.short_number(median_s)} s" for run, median_s in medians_s.items()}
        labels = run_labels.labels(known, room - max(map(words.text_width, at.values())))
        labels = {run: f"{label}{at[run]}" for run, label in labels.items()}
        known = known.with_columns(pl.col("step_s") / pl.col("run_id").replace_strict(medians_s))
    runs = [run | {"label": labels[run["run_id"]]} for run in known.unique("run_id", maintain_order=True).to_dicts()]
    facets.take_from_labels(runs, page.facet)
    told = _told(known, runs, is_relative, page)
    extent = _extent(known, page)
    curves = _curves(known, told, extent, page)
    medians: dict[str, list[Row]] = {
        run: [{"step_s": half_s, "percent": 50}] for run, half_s in median_times(told.rows).items()
    }
    elbows = _elbows(told.rows)
    _part_circles([elbow for of_run in elbows.values() for elbow in of_run], extent, page)
    x, y = _axes(extent, sorted(set(known["label"])), is_relative)
    y = facets.over(y, (0, 100 * axes.HEADROOM), page)  # titles have the same height

    def panel(part: Sequence[Row], y: Any) -> Any:
        def of_part(rows_of: Mapping[str, Sequence[Row]]) -> list[Row]:
            return [row | {"label": run["label"]} for run in part for row in rows_of.get(run["run_id"], [])]

        return _panel(of_part(curves), of_part(medians), of_part(elbows), told.chosen.looks, x, y)

    legend: list[style.Look | style.IntervalLook] = [look for look in told.chosen.looks if look.label]
    legend += [style.INTERVALS[_INTERVAL]] if elbows else []
    caption = [*_caption(known, told, refused), *_beyond(known, extent, is_relative), exclusions.sentence(left_out)]
    return style.figure(facets.panels(runs, page, panel, x, y, told.chosen.lines), legend, caption, page)


def _panel(
    curves: Sequence[Row], medians: Sequence[Row], elbows: Sequence[Row], looks: Sequence[style.Look], x: Any, y: Any
) -> Any:
    """The curves of runs, with their medians and elbows."""
    by = style.encodings(looks)
    half = alt.Chart(style.values([{"percent": 50}])).mark_rule(color=style.GRAY, strokeWidth=0.5, strokeDash=[2, 1.5])
    behind, before = ([row for row in curves if ("run" in row) == is_behind] for is_behind in (True, False))
    line = {"interpolate": "step-after", "clip": True}
    looks_of = (by["color"], by["strokeDash"], by["strokeWidth"])
    pale = (
        [alt.Chart(style.values(behind)).mark_line(**line).encode(x, y, *looks_of, detail=alt.Detail("run:N"))]
        if behind
        else []
    )
    points = alt.Chart(style.values(medians)).mark_point(clip=True)
    return alt.layer(
        half.encode(y=alt.Y("percent:Q")),
        *pale,
        alt.Chart(style.values(before)).mark_line(**line).encode(x, y, *looks_of),
        points.encode(x, y, by["color"], by["shape"], tooltip=style.tooltips("label:N", "step_s:Q")),
        *_elbow_marks(elbows, x, y, by["color"]),
    )


class _Told(NamedTuple):
    """The looks of the labels, the rows of the runs that have a look of their own, and why these."""

    chosen: Chosen
    rows: pl.DataFrame
    sentence: str


def _told(known: pl.DataFrame, runs: list[Row], is_relative: bool, page: Page) -> _Told:
    """All runs, if a legend can name them; else two of them, or two of each panel, and the others."""
    times = _tails(known) if is_relative else median_times(known)
    panels = facets.parts(runs, page)
    chosen = looks_of(panels, lambda of_label: min(times[run["run_id"]] for run in of_label), page, "runs", True)
    if not chosen.is_part:
        return _Told(chosen, known, "")
    *named, others = chosen.looks
    rows = known.filter(pl.col("run_id").is_in([run["run_id"] for run in runs if run["front"] > PALE]))
    why = _NAMED.format(" in each panel" if page.facet else "", _STEADIEST if is_relative else _FASTEST)
    return _Told(chosen._replace(looks=[*named, others._replace(shape=None)]), rows, why)


def _tails(known: pl.DataFrame) -> dict[str, float]:
    """How long the slower steps of each run take: the time that all but a twentieth keep to."""
    return dict(known.filter(pl.col("cdf") >= _BODY).group_by("run_id").agg(pl.min("step_s")).iter_rows())


def median_times(known: pl.DataFrame) -> dict[str, float]:
    """The median time of each run: halfway along the level part where the curve runs along one half, if it does."""
    beyond_half = 2 * (pl.col("cdf") * pl.col("n_steps")).round() - pl.col("n_steps")  # in records
    reached, passed = (
        known.filter(is_there).group_by("run_id").agg(pl.min("step_s"))
        for is_there in (beyond_half >= 0, beyond_half > 0)
    )
    both = reached.join(passed, on="run_id", suffix="_passed")
    return dict(both.select("run_id", (pl.col("step_s") + pl.col("step_s_passed")) / 2).iter_rows())


def _elbows(known: pl.DataFrame) -> dict[str, list[Row]]:
    """Elbows of the curves by run; none if the rows do not have them."""
    if "elbow_number" not in known.columns:
        return {}
    found = known.filter(pl.col("elbow_number").is_not_null())
    columns = {"percent": "cdf", "percent_low": "elbow_share_low", "percent_high": "elbow_share_high"}
    shares = [(100 * pl.col(share)).alias(name) for name, share in columns.items()]
    elbows: dict[str, list[Row]] = {}
    for row in found.select("run_id", "step_s", *shares).to_dicts():
        elbows.setdefault(row["run_id"], []).append(row)
    return elbows


def _elbow_marks(elbows: Sequence[Row], x: Any, y: Any, color: Any) -> list[Any]:
    """Open circles, and bars for the intervals of their shares."""
    if not elbows:
        return []
    tips = style.tooltips("label:N", "step_s:Q", "percent:Q")
    circle = {"shape": "circle", "filled": False, "fill": "white", "strokeWidth": 0.8, "clip": True}
    dot = {"shape": "circle", "size": _DOT, "clip": True}
    layers = style.interval_layers(elbows, _INTERVAL, x, ("percent_low", "percent_high"), color)
    for is_apart, mark in ((False, dot), (True, circle)):
        part = [elbow for elbow in elbows if elbow["is_apart"] == is_apart]
        layers += [alt.Chart(style.values(part)).mark_point(**mark).encode(x, y, color, tooltip=tips)] if part else []
    return layers


def _part_circles(elbows: Sequence[Row], extent: "Extent", page: Page) -> None:
    """Says of each elbow whether its circle is apart from those before it, on one panel over the whole width."""
    width, height = style.panel_width(1, page), style.WIDE_HEIGHT if page.is_wide else style.HEIGHT
    placed: list[tuple[float, float]] = []
    for elbow in sorted(elbows, key=lambda elbow: (elbow["step_s"], elbow["percent"])):
        place = extent.place(elbow["step_s"]) * width, elbow["percent"] / 100 * height
        elbow["is_apart"] = all(math.dist(place, other) >= _CIRCLE for other in placed)
        placed += [place] if elbow["is_apart"] else []


class Extent(NamedTuple):
    """The ends of the axis, in seconds or relative to the medians."""

    low: float
    high: float
    asked_for_log: bool = False

    @property
    def is_log(self) -> bool:
        return self.low > 0 and (self.asked_for_log or axes.is_logarithmic(self.low, self.high))

    def place(self, time: float) -> float:
        """Where a time is on the axis, 0 at its start and 1 at its end."""
        if self.high == self.low:
            return 0.5
        if self.is_log:
            return math.log(time / self.low) / math.log(self.high / self.low)
        return (time - self.low) / (self.high - self.low)


def _extent(known: pl.DataFrame, page: Page) -> Extent:
    """What the page asks for; else the whole, or the body of the distributions where their tail is long."""
    asked_for_log = bool(page.logarithmic)
    if page.x_limits:
        return Extent(*next(iter(page.x_limits.values())), asked_for_log)
    low, high = known.select(low=pl.min("step_s"), high=pl.max("step_s")).row(0)
    if asked_for_log:
        return Extent(low, high, asked_for_log)
    bodies = sorted(_tails(known).values())
    body = bodies[-1] if len(bodies) <= style.MOST_SERIES else bodies[math.ceil(_BODIES * len(bodies)) - 1]
    low = _beginning(known, low, body)
    end = low + _ROOM_BESIDE_BODY * (body - low)
    is_tail_long = high - low > _LONG_TAIL * (end - low) > 0
    return Extent(low, end if is_tail_long else high)


def _beginning(known: pl.DataFrame, low: float, body: float) -> float:
    """Where the axis begins: at the fastest step, or a little before the bodies where few steps are far faster."""
    heads = sorted(known.filter(pl.col("cdf") >= _HEAD).group_by("run_id").agg(pl.min("step_s"))["step_s"].to_list())
    head = heads[0] if len(heads) <= style.MOST_SERIES else heads[math.floor((1 - _BODIES) * len(heads))]
    begin = head - (_ROOM_BESIDE_BODY - 1) * (body - head)
    elbows = [elbow["step_s"] for of_run in _elbows(known).values() for elbow in of_run]
    is_head_long = body - low > _LONG_TAIL * _ROOM_BESIDE_BODY * (body - head) > 0
    return max(low, min([begin, *elbows])) if is_head_long else low


def _beyond(known: pl.DataFrame, extent: Extent, is_relative: bool) -> list[str]:
    """Which steps the axis does not show."""
    unit = " times the median" if is_relative else " s"
    fastest, slowest = float(known["step_s"].min()), float(known["step_s"].max())  # type: ignore[arg-type]
    hidden = []
    if fastest < extent.low:
        before = known.with_columns(cdf=pl.when(pl.col("step_s") < extent.low).then("cdf").otherwise(0.0))
        shares = [100 * share for share in before.group_by("run_id").agg(pl.max("cdf"))["cdf"]]
        hidden.append(f"the fastest {_shares(shares)}, down to {words.short_number(fastest)}{unit}")
    if slowest > extent.high:
        shown = known.filter(pl.col("step_s") <= extent.high).group_by("run_id").agg(pl.max("cdf"))
        shares = [100 * (1 - share) for share in shown["cdf"]]
        hidden.append(f"the slowest {_shares(shares)}, up to {words.short_number(slowest)}{unit}")
    return [f"Beyond the axis: {', and '.join(hidden)}."] if hidden else []


def _shares(percents: Sequence[float]) -> str:
    low, high = (f"{end(percents):.2g}" for end in (min, max))
    return f"{high if low == high else f'{low} to {high}'}\u00a0% of the records of a run"


def _axes(extent: Extent, kinds: list[str], is_relative: bool) -> tuple[Any, Any]:
    """The x and y axis of curves with records of these kinds."""
    parts = ["step time over the run's median" if is_relative else "step time [s]"]
    if len(kinds) == 1 and kinds != [run_labels.ONE_STEP]:
        parts += kinds
    domain = [extent.low, extent.high] if extent.high > extent.low else None
    ticks: dict[str, Any] = {"tickCount": 6}
    if extent.is_log:
        parts.append("logarithmic")
        values = axes.ticks_of_decades(extent.low, extent.high)
        ticks = {"values": values, "tickCount": len(values)}
    x = alt.X(
        "step_s:Q",
        title=", ".join(parts),
        scale=alt.Scale(type="log" if extent.is_log else "linear", zero=False, nice=False, padding=8)
        if domain is None
        else alt.Scale(type="log" if extent.is_log else "linear", domain=domain, nice=False, padding=8),
        axis=alt.Axis(labelOverlap="greedy", labelSeparation=3, **axes.labels(extent.high), **ticks),
    )
    y = alt.Y(
        "percent:Q",
        title="share of steps [%]" if kinds == [run_labels.ONE_STEP] else "share of records [%]",
        scale=alt.Scale(domain=[0, 100]),
        axis=alt.Axis(values=[0, 25, 50, 75, 100], tickCount=5),
    )
    return x, y


def curve_rows(curve: pl.DataFrame, extent: Extent, width: int, dots: int = DOTS_PER_POINT) -> list[Row]:
    """Corners of a run's curve, without those that the line would cover.

    All corners of a million steps would make a figure of 100 MB.  The grid is finer than the line, and the first and
    the last corner in each of its columns are kept, so the curve looks the same.
    """
    place = pl.col("step_s").log() if extent.is_log else pl.col("step_s")
    beyond = pl.col("step_s") > extent.high
    before = curve.filter(pl.col("step_s") < extent.low)
    curve = curve.filter((~beyond | ~beyond.shift(1, fill_value=False)) & (pl.col("step_s") >= extent.low))
    span = (math.log(extent.high / extent.low) if extent.is_log else extent.high - extent.low) or 1.0
    column = (place / span * width * dots).floor()
    kept = curve.with_columns(column=column).filter(
        (pl.col("column") != pl.col("column").shift(1, fill_value=math.nan))
        | (pl.col("column") != pl.col("column").shift(-1, fill_value=math.nan))
    )
    corners = [{"step_s": row["step_s"], "percent": 100 * row["cdf"]} for row in kept.iter_rows(named=True)]
    first = {"step_s": extent.low, "percent": 100 * before["cdf"].max()} if before.height else None  # type: ignore[operator]
    return [first or {"step_s": corners[0]["step_s"], "percent": 0}, *corners]


def _curves(known: pl.DataFrame, told: _Told, extent: Extent, page: Page) -> dict[str, list[Row]]:
    """The corners of each run's curve; those of a run without a label of its own are fewer, and say which `run`."""
    own, curves = set(told.rows["run_id"]), {}
    for run, curve in ((f"{run}", curve) for (run,), curve in known.group_by("run_id")):
        rows = curve_rows(curve, extent, page.points, DOTS_PER_POINT if run in own else 1)
        curves[run] = rows if run in own else [row | {"run": run} for row in rows]
    return curves


def _caption(known: pl.DataFrame, told: _Told, refused: pl.DataFrame) -> list[str]:
    """What the runs share, counts, what a record is, and which runs are not drawn."""
    runs = known.unique("run_id", maintain_order=True).to_dicts()
    facts = [{run_labels.fact(run, fact) for run in runs} for fact in ("name", *run_labels.TELLING)]
    shared = " · ".join(dict.fromkeys(values.pop() for values in facts if len(values) == 1 and "" not in values))
    records = words.counted([run["n_steps"] for run in runs], "record")
    kinds = ", ".join(sorted({run["label"] for run in runs}))
    counts = f"1 run of {records}" if len(runs) == 1 else f"{len(runs)} runs of {records} each"
    lines = [f"{shared}."] if shared else []
    lines += [f"{counts} ({kinds}). Marker: the median.", *([told.sentence] if told.sentence else [])]
    lines += _about_elbows(told.rows)
    if max(run["n_steps"] for run in runs) > int(PARAMETERS["cdf_slots"]):
        lines.append("Curves are drawn as finely as their lines are wide.")
    reasons = (re.sub(r"^([a-z]+)_(?=mean|median)", r"\1 ", why) for why in refused["reason"])
    for reason, count in sorted(Counter(re.sub(r"\d+ |: see .*", "", why) for why in reasons).items()):
        only = refused.to_dicts()[0] if refused.height == 1 else {}
        which = run_labels.fact(only, "name") or run_labels.fact(only, "run_id") or words.counted([count], "run")
        lines.append(f"Not drawn: {which} ({reason}).")
    return lines


def _about_elbows(known: pl.DataFrame) -> list[str]:
    """What the circles are, and how many runs have no elbow, by the reason."""
    lines: list[str] = []
    if _elbows(known):
        lines.append("Circle: elbow, with the interval of its share.")
    if "note" in known.columns:
        runs = known.filter(pl.col("note").is_not_null()).unique("run_id")
        reasons = Counter(_REASONS.get(why := reason.partition(":")[0], why) for reason in runs["note"])
        if len(reasons) == 1 and runs.height == known["run_id"].n_unique():
            lines.append(f"No elbow: {next(iter(reasons))}.")
        elif reasons:
            counts = [f"{words.counted([count], 'run')} ({reason})" for reason, count in sorted(reasons.items())]
            lines.append(f"Without an elbow: {', '.join(counts)}.")
    return lines
