"""The critical path of each step: what the chain of work and waiting that decides its time is made of.

Shows: whether a step is as long as it is for its computing, its communication, its hosts or the gaps between.
Query: critical_path
Encodings:
    y        a step
    x        time of the step, in s, ms or µs, stacked over what the path is made of
    color    compute, communication, copies and fills, the host until its next call, launches, gaps of the device
    caption  the ranks that the path passes, and its largest parts
Source: the critical path across ranks of docs/traces.md
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from scalelens.charts import limits, stacked_bars, style, words
from scalelens.charts.layout import SINGLE, Page
from scalelens.errors import UserError

QUERY = "critical_path"
_KINDS = {
    "compute": ("compute", "#0072B2"), "communication": ("communication", "#E69F00"),
    "memory": ("copies and fills", "#009E73"), "host": ("host", "#CC79A7"), "launch": ("launch", "#56B4E9"),
    "gap": ("gap", "#BBBBBB"),
}  # fmt: skip
_MOST_STEPS = 64
_LARGEST = 2  # parts of the path that the caption names
_LONGEST_NAME = 36


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    page: Page = SINGLE,
) -> Any:
    """The figure of the rows of `critical_path`.  Raises UserError where no path is known, with the reason."""
    known = rows.filter(pl.col("kind").is_in(list(_KINDS)))
    if known.is_empty():
        reasons = rows["reason"].drop_nulls().to_list()
        why = f": {reasons[0]}" if reasons else ""
        raise UserError(
            f"there is no critical path to draw{why}",
            "see where the time goes: scalelens query temporal_breakdown",
        )
    limits.check_one_run(known, "critical paths")
    steps = known["train_step"].unique().sort().to_list()
    limits.check_count(len(steps), _MOST_STEPS, "steps", "see the numbers: scalelens query critical_path")
    drawn = [kind for kind in _KINDS if kind in set(known["kind"])]
    colors = {_KINDS[kind][0]: _KINDS[kind][1] for kind in drawn}
    unit, unit_ns = stacked_bars.unit_of(known.group_by("train_step").agg(pl.sum("duration_ns"))["duration_ns"].max())  # type: ignore[arg-type]
    sums = known.group_by("train_step", "kind").agg(pl.sum("duration_ns"))
    of_step = {(row["train_step"], row["kind"]): row["duration_ns"] / unit_ns for row in sums.iter_rows(named=True)}
    bars = {
        _label(step): {_KINDS[kind][0]: of_step[step, kind] for kind in drawn if (step, kind) in of_step}
        for step in steps
    }
    stacked = stacked_bars.stacked(bars, colors, x=f"critical path [{unit}]", row="step")
    legend = stacked_bars.legend(bars.values(), colors)
    return style.figure([[stacked_bars.panel(stacked, len(bars), page)]], legend, _caption(known, len(steps)), page)


def _label(step: int | None) -> str:
    return "all" if step is None else str(step)


def _caption(known: pl.DataFrame, steps: int) -> list[str]:
    ranks = known["rank"].drop_nulls().unique().sort().to_list()
    lines = [f"{words.counted([steps], 'step')}, {words.counted([int(known['pieces'].sum())], 'segment')} of the path."]
    if ranks:
        named = ", ".join(map(str, ranks[:8])) + (f" and {len(ranks) - 8} more" if len(ranks) > 8 else "")
        lines.append(f"The path passes through {'rank' if len(ranks) == 1 else 'ranks'} {named}.")
    total = known["duration_ns"].sum()
    parts = known.group_by("kind", "name").agg(pl.sum("duration_ns"))
    largest = parts.sort("duration_ns", "kind", "name", descending=[True, False, False]).head(_LARGEST)
    shares = [
        f"{100 * row['duration_ns'] / total:.0f} % {_told(row['kind'], row['name'] or 'unnamed')}"
        for row in largest.iter_rows(named=True)
    ]
    told = f"Largest: {'; '.join(shares)}"
    return [*lines, told if told.endswith("…") else f"{told}."]


def _told(kind: str, name: str) -> str:
    name = name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"
    return {"host": f"host, up to {name}", "launch": f"launch of {name}", "gap": f"gap before {name}"}.get(kind, name)
