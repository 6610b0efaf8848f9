"""Operators and the device work that they launched.

Shows: the tree of operators down to kernels, copies and fills, all ranks together: each bar holds those indented
    below it. The sixteen branches with the largest sum of durations are drawn.
Query: kernel_tree
Encodings:
    y        a branch, its share of the sum of all durations in percent as label, below the operator that called it
    x        sum of the durations of what was launched within, in milliseconds, from 0
    colour   operator of the host, or compute, communication, copies and fills
    text     indented by depth: name, without its middle where it is too long, and how often device work ran
    caption  traces, branches that are not drawn, which part of the traces
Source: the call tree of TensorBoard's profiler plugin, with the time of the device instead of the host
"""

import heapq
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import altair as alt
import polars as pl

from scalelens.charts import style, words
from scalelens.errors import UserError

QUERY = "kernel_tree"

MOST_BRANCHES = 16
BAR = 11  # points
INDENT = 6
DEEPEST = 8  # what lies deeper is indented no further
BETWEEN = " / "  # of the query, and of operators that are drawn as one
OUTSIDE = "no operator known"
TINTS = {"operator": "#dfe7e1", "compute": "#a6cee3", "communication": "#fdbf6f", "memory": "#d9d9d9"}  # under text
NAMES = {"operator": "operator", "compute": "compute", "communication": "communication", "memory": "copies and fills"}


@dataclass
class Branch:
    """An operator or, without branches of its own, a piece of device work."""

    name: str
    kind: str
    total_ns: int = 0
    calls: int = 0
    within: dict[tuple[str, str], "Branch"] = field(default_factory=dict)

    def at(self, name: str, kind: str) -> "Branch":
        return self.within.setdefault((name, kind), Branch(name, kind))

    def largest_first(self) -> list["Branch"]:
        return sorted(self.within.values(), key=lambda branch: (-branch.total_ns, branch.name))


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    width: style.Width = "single",
) -> Any:
    """The figure of the rows of `kernel_tree`.  Raises UserError where nothing ran."""
    if rows.is_empty() or rows["total_ns"].sum() <= 0:
        raise UserError("there is no work of a device to draw", "see what the traces hold: scalelens query trace_steps")
    root = tree(rows)
    drawn = largest(root)
    room = style.WIDTHS[width] - 2 * style.MARGIN - style.Y_AXIS - style.STROKES - 6
    bars: list[dict[str, Any]] = [
        {
            "place": place, "share": f"{100 * branch.total_ns / root.total_ns:.1f}",
            "total_ms": branch.total_ns / 1e6, "kind": branch.kind, "indent": min(depth, DEEPEST) * INDENT,
            "text": text(branch, room - min(depth, DEEPEST) * INDENT),
        }
        for place, (depth, branch) in enumerate(shown(root, drawn))
    ]  # fmt: skip
    named = " : ".join(f"datum.value == {bar['place']} ? '{bar['share']}'" for bar in bars) + " : ''"
    y = alt.Y("place:O", title="share of device time [%]", axis=alt.Axis(labelExpr=named, ticks=False, domain=False))
    x = alt.X(
        "total_ms:Q",
        title="sum of durations [ms]",
        scale=alt.Scale(domainMin=0, nice=False),
        axis=alt.Axis(tickCount=5),
    )
    kinds = [kind for kind in TINTS if any(bar["kind"] == kind for bar in bars)]
    colour = alt.Color("kind:N", scale=alt.Scale(domain=kinds, range=[TINTS[kind] for kind in kinds]), legend=None)
    panel = alt.layer(
        alt.Chart(style.values(bars)).mark_bar(height={"band": 0.85}).encode(x, y, colour),
        *(
            alt.Chart(style.values([bar for bar in bars if bar["indent"] == indent]))
            .mark_text(align="left", baseline="middle", dx=2 + indent)
            .encode(y=y, x=alt.value(0), text="text:N")
            for indent in sorted({bar["indent"] for bar in bars})
        ),
    )
    legend = [style.Look(NAMES[kind], TINTS[kind], "square", [1, 0], 5) for kind in kinds]
    traces, more = rows["file_id"].n_unique(), sum(1 for _ in branches(root)) - len(bars)
    caption = [
        f"{words.span([traces], 'trace')}, {style.SELECTIONS[(parameters or {}).get('steps', 'all')]}: sums over all.",
        "A bar holds those indented below it"
        + (f"; {words.span([more], 'smaller branch').replace('branchs', 'branches')} not drawn." if more else "."),
    ]
    return style.figure([[style.Panel(panel, height=BAR * len(bars))]], legend, caption, width)


def tree(rows: pl.DataFrame) -> Branch:
    """All rows as one tree, in which an operator that only calls one other is drawn with it as one."""
    root = Branch("", "operator")
    for row in rows.iter_rows(named=True):
        path = [(one, "operator") for one in (row["operators"] or OUTSIDE).split(BETWEEN)]
        branch = root
        for name, kind in [*path, (row["name"] or "without a name", row["class"])]:
            branch.total_ns += row["total_ns"]
            branch.calls += row["calls"]
            branch = branch.at(name, kind)
        branch.total_ns += row["total_ns"]
        branch.calls += row["calls"]
    joined(root)
    return root


def joined(branch: Branch) -> None:
    for one in branch.within.values():
        while len(one.within) == 1 and (only := next(iter(one.within.values()))).kind == "operator":
            one.name, one.within = one.name + BETWEEN + only.name, only.within
        joined(one)


def largest(root: Branch) -> set[int]:
    """The branches to draw: the largest whose operator is drawn, by the identity of their objects."""
    drawn: set[int] = set()
    waiting: list[tuple[int, int, Branch]] = []
    places = itertools.count()

    def offer(branch: Branch) -> None:
        for one in branch.largest_first():
            heapq.heappush(waiting, (-one.total_ns, next(places), one))

    offer(root)
    while waiting and len(drawn) < MOST_BRANCHES:
        branch = heapq.heappop(waiting)[-1]
        drawn.add(id(branch))
        offer(branch)
    return drawn


def shown(branch: Branch, drawn: set[int], depth: int = 0) -> Iterator[tuple[int, Branch]]:
    """What is drawn, each operator before what it launched."""
    for one in branch.largest_first():
        if id(one) in drawn:
            yield depth, one
            yield from shown(one, drawn, depth + 1)


def branches(branch: Branch) -> Iterator[Branch]:
    for one in branch.within.values():
        yield one
        yield from branches(one)


def text(branch: Branch, room: float) -> str:
    """Name and number of pieces of work in the room there is."""
    times = f" · {words.number(branch.calls)} ×"
    return words.shorten(branch.name, room - words.text_width(times)) + times
