"""Where the lost efficiency went: bars from 100 % down to what is left.

Shows: each loss of a job or of a trace, as a bar that begins where the one above it ends, and the part that is left.
Query: waterfall
Encodings:
    panel    a run, from its log or from its traces; a number that the caption explains
    y        a loss, in the order in which they are subtracted, with its share in percent
    x        share of the whole in percent; the bar ends at what is left
    color    a loss, time that no log explains, what is left; they also differ in black and white
    caption  runs, what 100 % is, notes
Source: additive bars of POP's factors, https://pop-coe.eu/node/69
"""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from scalelens.charts import facets, limits, style, words
from scalelens.charts.layout import SINGLE, Page
from scalelens.charts.style import Row
from scalelens.errors import UserError

QUERY = "waterfall"

_LEFT = "what is left"
_KINDS = {"lost": "#E69F00", "lost, not known to what": "#d9d9d9", _LEFT: "#0072B2"}
_MOST_PANELS = 4
_LINE_HEIGHT = 11  # of a bar, in points
_WHOLES = {
    "log": "Log: 100 % is the time of the job; usual steps are what remains.",
    "trace": "Trace: 100 % is the elapsed time of the devices; computing is what remains.",
}
_PARTS_LEFT = {"log": "usual steps", "trace": "computing"}
_LEAST = 0.05  # percent that a part takes, at least, to have a bar


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    page: Page = SINGLE,
) -> Any:
    """The figure of the rows of `waterfall`.  Raises UserError if there is no run, or too many."""
    if rows.is_empty():
        raise UserError("there is no run to draw", "see what is known about the runs: scalelens query runs_overview")
    shown = rows.partition_by(["run_id", "source"], maintain_order=True)
    hint = limits.CHOOSE_RUNS
    limits.check_count(len(shown), _MOST_PANELS, "waterfalls", hint)
    names: list[str] = []
    panels, drawn = [], set()
    for number, part in enumerate(shown, 1):
        bars = [bar for bar in part.to_dicts() if bar["part"] == "left" or abs(bar["percent"]) >= _LEAST]
        drawn |= {_kind(bar["part"]) for bar in bars}
        names.append(f"{bars[0]['name'] or bars[0]['run_id'][:8]} ({bars[0]['source']})")
        is_lowest = number == len(shown)
        title = "" if len(shown) == 1 else names[-1]
        chart = facets.titled(_bars(bars, is_lowest), title, 1, page)
        panels.append([style.Panel(chart, height=_LINE_HEIGHT * len(bars))])
    legend = [style.swatch(kind, color) for kind, color in _KINDS.items() if kind in drawn]
    return style.figure(panels, legend, _caption(rows, names), page)


def _bars(parts: Sequence[Row], is_lowest: bool) -> Any:
    """The bars of one run and their names, on the side with room."""
    bars = [
        {
            "place": k, "kind": _kind(part["part"]),
            "part": _PARTS_LEFT[part["source"]] if part["part"] == "left" else part["part"],
            "begin": 0 if part["part"] == "left" else part["after_percent"],
            "end": part["after_percent"] if part["part"] == "left" else part["after_percent"] + part["percent"],
        }
        for k, part in enumerate(parts)
    ]  # fmt: skip
    shares = " : ".join(f"datum.value == {n} ? '{part['percent']:.1f}'" for n, part in enumerate(parts)) + " : ''"
    y = alt.Y("place:O", title="share [%]", axis=alt.Axis(labelExpr=shares, ticks=False, domain=False))
    scale = alt.Scale(domain=[0, 100], nice=False)
    axis = alt.Axis(values=[0, 25, 50, 75, 100], labels=is_lowest, ticks=is_lowest)
    x = alt.X("begin:Q", title="share of the whole [%]" if is_lowest else None, scale=scale, axis=axis)
    color = alt.Color("kind:N", scale=alt.Scale(domain=list(_KINDS), range=list(_KINDS.values())), legend=None)
    bar = alt.Chart(style.values(bars)).mark_bar(height={"band": 0.8}).encode(x=x, x2=alt.X2("end:Q"), y=y, color=color)
    return alt.layer(bar, *_names(bars, y, scale))


def _names(bars: Sequence[Row], y: Any, scale: Any) -> list[Any]:
    """A name goes left of its bar, right of it if the left is too narrow, or into a long bar."""
    left, right = [], []
    for bar in bars:
        name = {"place": bar["place"], "part": bar["part"], "ink": style.INK}
        if bar["begin"] >= 50:
            left.append(name | {"at": bar["begin"] - 1})
        elif bar["end"] <= 75:
            right.append(name | {"at": bar["end"] + 1})
        else:
            right.append(name | {"at": bar["begin"] + 2, "ink": "white" if bar["kind"] == _LEFT else style.INK})
    ink = alt.Color("ink:N", scale=None)
    return [
        alt.Chart(style.values(names))
        .mark_text(align=align, baseline="middle")
        .encode(x=alt.X("at:Q", scale=scale), y=y, text=alt.Text("part:N"), color=ink)
        for align, names in (("right", left), ("left", right))
        if names
    ]


def _kind(part: str) -> str:
    return {"left": _LEFT, "rest": "lost, not known to what"}.get(part, "lost")


def _caption(rows: pl.DataFrame, names: Sequence[str]) -> list[str]:
    """What a single panel shows, what 100 % is, and the notes of the runs."""
    notes = dict.fromkeys(note for text in rows["note"] for note in words.split_notes(text))
    return [
        *([f"{names[0]}."] if len(names) == 1 else []),
        *(text for source, text in _WHOLES.items() if source in rows["source"].to_list()),
        *map(words.sentence, notes),
    ]
