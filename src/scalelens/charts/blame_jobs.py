"""Jobs over time by how much slower they were than usual, with the accused nodes, settings or hours in color.

Shows: whether the jobs with a suspect are slower each time and since when, beside slow jobs that had no suspect.
Query: blame_jobs
Encodings:
    x        date at which the job started
    y        how much slower than usual for its configuration; jobs that are far slower than all others lie at the edge
    color    the accused suspect that the job had, and its shape; the most conspicuous of several; gray: none
    shape    filled: the suspect is accused; hollow: it or another one is, and no jobs tell which
    rule     the usual time
    caption  jobs, each suspect with its jobs, slow jobs without a suspect, what is not drawn, what was left out
Source: run charts with marked points, as in W. A. Shewhart, Economic Control of Quality of Manufactured Product, 1931
"""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

import altair as alt
import polars as pl

from scalelens.charts import axes, dates, exclusions, limits, style, words
from scalelens.charts.layout import SINGLE, Page
from scalelens.charts.style import Row
from scalelens.errors import UserError

QUERY = "blame_jobs"

_NONE, _OTHERS = "none accused", "others accused"
_GRAY = "#8a8a8a"
_MOST = 5  # suspects with a look of their own, so that no two have the same shape
_FAR = 4.0  # a job slower by that many times the 90th percentile lies at the edge,
_FAR_FROM = 25.0  # if it is slower by so many percent
_MISSING = {"node": "its nodes", "setting": "a neutral setting", "hour": "its date"}  # by what is suspected


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    page: Page = SINGLE,
) -> Any:
    """The figure of the rows of `blame_jobs`.  Raises UserError if no job has a date and another to compare it with."""
    suspects = (parameters or {}).get("suspects", "node")
    if rows.is_empty():
        raise UserError(
            f"there are no jobs to draw: no run states both the time of a step and {_MISSING.get(suspects, suspects)}",
            f"see what is known: scalelens query {'run_nodes' if suspects == 'node' else 'runs_overview'}",
        )
    known = rows.filter(pl.col("started_at").is_not_null() & pl.col("slower").is_not_null())
    if known.is_empty():
        raise UserError(
            "there are no jobs to draw: none has both a date and another job of its configuration",
            f"see what there is: scalelens query blame_jobs suspects={suspects}",
        )
    limits.check_marks(known.height, "jobs")
    points: list[Row] = known.sort("started_at", "run_id").to_dicts()
    names = _labels(points)
    top = _top([point["slower"] for point in points], [point["slower"] for point in points if point["suspect"]])
    for point in points:
        point |= {"label": names[point["first_suspect"]], "percent": 100 * point["slower"]}
        point |= {"shown": min(point["percent"], top), "at": dates.milliseconds(point["started_at"])}
    looks = _looks(points, page)
    effect = 100 * float((parameters or {}).get("effect", 0.05))
    caption = [
        f"{words.counted([len(points)], 'job')}; usual is the median of the configuration's jobs with none accused.",
        *_not_in_their_place(points, rows, top),
        *_suspects_in_words(points, [look.label for look in looks], effect),
        exclusions.sentence(left_out),
    ]
    return style.figure([[style.Panel(_panel(points, looks))]], looks, caption, page)


def _labels(points: Sequence[Row]) -> dict[str | None, str]:
    """What the legend says of each suspect: those with the most jobs by name, the rest together."""
    counts: dict[str, int] = {}
    verdicts: dict[str, str] = {}
    for point in points:
        if name := point["first_suspect"]:
            counts[name] = counts.get(name, 0) + 1
            verdicts[name] = point["verdict"]
    order = sorted(counts, key=lambda name: (verdicts[name] != "slow", -counts[name], words.natural(name)))
    named = order if len(order) <= _MOST else order[: _MOST - 1]
    own = {name: name if verdicts[name] == "slow" else f"{name} (one of several)" for name in named}
    labels: dict[str | None, str] = {None: _NONE}
    return labels | dict.fromkeys(order, _OTHERS) | own


def _looks(points: Sequence[Row], page: Page) -> list[style.Look]:
    """Gray for jobs without a suspect, which come first so that the others lie above them."""
    labels = {point["label"]: point["verdict"] for point in points}
    named = sorted(labels.keys() - {_NONE, _OTHERS}, key=lambda label: (labels[label] != "slow", words.natural(label)))
    ordered = [_NONE, *named, *([_OTHERS] if _OTHERS in labels else [])]
    looks = []
    for number, look in enumerate(style.looks(ordered, page)):
        is_chosen = look.label in page.colors or str(number) in page.colors
        color = _GRAY if look.label == _NONE and not is_chosen else look.color
        is_hollow = labels.get(look.label) == "confounded" and look.label != _OTHERS
        looks.append(look._replace(color=color, thickness=0, is_hollow=is_hollow))
    return [look for look in looks if look.label in labels]


def _top(values: Sequence[float], of_accused: Sequence[float]) -> float:
    """The largest percentage that the panel shows in its place."""
    percents = [sorted(abs(100 * value) for value in some) for some in (values, of_accused) if some]
    usual = max(some[int(0.9 * (len(some) - 1))] for some in percents)
    return min(100 * max(values), max(_FAR * usual, _FAR_FROM))


def _panel(points: Sequence[Row], looks: Sequence[style.Look]) -> Any:
    """The jobs, those without a suspect below the others."""
    x = dates.axis("at", [point["started_at"] for point in points])
    low, high = min(0.0, *(point["shown"] for point in points)), max(0.0, *(point["shown"] for point in points))
    low, high = (low, high) if low < high else (-1.0, 1.0)
    ticks = axes.ticks_between(low, high)
    axis = alt.Axis(values=ticks, tickCount=len(ticks), **axes.even_labels(high))
    scale = alt.Scale(domain=[low, high], nice=False, zero=False, padding=6)
    y = alt.Y("shown:Q", title="slower than usual [%]", scale=scale, axis=axis)
    by = style.encodings(looks)
    zero = (
        alt.Chart(style.values([{"shown": 0.0}])).mark_rule(color=style.GRAY, strokeWidth=0.5).encode(alt.Y("shown:Q"))
    )
    layers = [zero]
    for is_none, is_hollow in ((True, False), (False, False), (False, True)):
        drawn = [look.label for look in looks if (look.label == _NONE, look.is_hollow) == (is_none, is_hollow)]
        fields = ("at", "shown", "percent", "label", "name", "suspect")
        jobs = [{field: point[field] for field in fields} for point in points if point["label"] in drawn]
        if jobs:
            mark = {"size": 10 if is_none else 20, **({"filled": False, "strokeWidth": 0.8} if is_hollow else {})}
            tips = style.tooltips("name:N", "suspect:N", "percent:Q")
            layers.append(
                alt.Chart(style.values(jobs)).mark_point(**mark).encode(x, y, by["color"], by["shape"], tooltip=tips)
            )
    return alt.layer(*layers)


def _suspects_in_words(points: Sequence[Row], labels: Sequence[str], effect: float) -> list[str]:
    """The jobs of each suspect, and slow ones without one."""
    of_label = {label: [point["percent"] for point in points if point["label"] == label] for label in labels}
    others = of_label.pop(_NONE, [])
    lines = []
    for label, percents in of_label.items():
        n_slower, jobs = sum(percent > 0 for percent in percents), words.counted([len(percents)], "job")
        lines.append(f"{label}: {n_slower} of {jobs} slower, median {_percent(median(percents))}.")
    if others:
        whose = "None accused:" if of_label else "No suspect is accused;"
        n_slow = sum(percent > effect for percent in others)
        lines.append(
            f"{whose} {n_slow} of {words.counted([len(others)], 'job')} slower by more than {effect:g}\u00a0%."
        )
    if any(point["suspect"] != point["first_suspect"] for point in points):
        lines.append("A job with several accused suspects is drawn as one with the most conspicuous of them.")
    return lines


def _not_in_their_place(points: Sequence[Row], rows: pl.DataFrame, top: float) -> list[str]:
    """Jobs at the edge of the panel, jobs with another usual time, and jobs that are not drawn."""
    lines = []
    if far := [point["percent"] for point in points if point["percent"] > top]:
        by = " to ".join(dict.fromkeys(_percent(end) for end in (min(far), max(far))))
        lines.append(f"At the upper edge: {words.counted([len(far)], 'job')}, slower by {by}.")
    if any("usual is their median" in (point["note"] or "") for point in points):
        lines.append("Where all jobs of a configuration had an accused suspect, usual is the median of all.")
    if n_hidden := rows.height - len(points):
        lines.append(f"Not drawn: {words.counted([n_hidden], 'job')} without a date or another to compare with.")
    return lines


def _percent(value: float) -> str:
    return f"{value:.3g}".replace("-", "−") + "\u00a0%"
