"""Operators and the device work that they launched.

Shows: the tree of operators down to kernels, copies and fills, over all ranks of a run: each bar includes those
    indented below it. The sixteen branches with the largest sum of durations are drawn.
Query: kernel_tree
Encodings:
    y        a branch, labeled by its share of the sum of all durations in percent, below the operator that called it
    x        sum of the durations of what was launched within, from 0, in milliseconds or seconds
    color    operator of the host, or compute, communication, copies and fills
    text     indented by depth: name, without the middle if it is too long, and how often device work ran
    caption  traces, branches that are not drawn, which part of the traces
Source: the call tree of TensorBoard's profiler plugin, with the time of the device instead of the host
"""

import heapq
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from scalelens.charts import kernel_bars, style, words
from scalelens.charts.layout import SINGLE, Page
from scalelens.charts.style import Row

QUERY = "kernel_tree"

_MOST_BRANCHES = 16
_BAR = 11  # points: height of a bar and the gap below it
INDENT = 6
_DEEPEST_INDENT = 8  # deeper branches are not indented further
_BETWEEN = " / "  # the names of joined operators, in the query and here
_OUTSIDE = "no operator known"


@dataclass
class _Branch:
    """An operator or, without branches of its own, a piece of device work."""

    name: str
    kind: str
    total_ns: int = 0
    calls: int = 0
    within: dict[tuple[str, str], "_Branch"] = field(default_factory=dict)

    def add(self, total_ns: int, calls: int) -> None:
        self.total_ns += total_ns
        self.calls += calls

    def at(self, name: str, kind: str) -> "_Branch":
        return self.within.setdefault((name, kind), _Branch(name, kind))

    def largest_first(self) -> list["_Branch"]:
        return sorted(self.within.values(), key=lambda branch: (-branch.total_ns, branch.name))


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    page: Page = SINGLE,
) -> Any:
    """The figure of the rows of `kernel_tree`.  Raises UserError if nothing ran, and for several runs."""
    kernel_bars.check_work(rows)
    root = _tree(rows)
    bars = _bars(root, page)
    undrawn = _size(root) - len(bars)
    branches = words.counted([undrawn], "smaller branch", "smaller branches")
    caption = [
        kernel_bars.what_is_summed(rows, parameters),
        "A bar contains those indented below it" + (f"; {branches} not drawn." if undrawn else "."),
    ]
    panel = style.Panel(kernel_bars.panel(bars), height=_BAR * len(bars))
    return style.figure([[panel]], kernel_bars.legend(bars), caption, page)


def _tree(rows: pl.DataFrame) -> _Branch:
    """All rows as one tree.  An operator that only calls one other operator is joined with it."""
    root = _Branch("", "operator")
    for row in rows.iter_rows(named=True):
        operators = [(name, "operator") for name in (row["operators"] or _OUTSIDE).split(_BETWEEN)]
        branch = root
        branch.add(row["total_ns"], row["calls"])
        for name, kind in [*operators, (row["name"] or "without a name", row["class"])]:
            branch = branch.at(name, kind)
            branch.add(row["total_ns"], row["calls"])
    _join_only_callees(root)
    return root


def _join_only_callees(branch: _Branch) -> None:
    """Joins each operator with the only operator that it calls."""
    for inner in branch.within.values():
        while len(inner.within) == 1 and (only := next(iter(inner.within.values()))).kind == "operator":
            inner.name, inner.within = inner.name + _BETWEEN + only.name, only.within
        _join_only_callees(inner)


def _bars(root: _Branch, page: Page) -> list[Row]:
    """A bar for each branch that is drawn, from the top."""
    drawn = list(_from_the_top(root, _largest(root)))
    indents = [min(depth, _DEEPEST_INDENT) * INDENT for depth, _ in drawn]
    named = [
        kernel_bars.Named(branch.name, branch.calls, branch.kind, indent)
        for indent, (_, branch) in zip(indents, drawn, strict=True)
    ]
    texts = kernel_bars.bar_texts(named, page)
    return [
        {
            "place": k, "share": f"{100 * branch.total_ns / root.total_ns:.1f}",
            "total_ms": branch.total_ns / 1e6, "kind": branch.kind, "indent": indent, "text": text,
        }
        for k, (indent, text, (_, branch)) in enumerate(zip(indents, texts, drawn, strict=True))
    ]  # fmt: skip


def _largest(root: _Branch) -> set[int]:
    """The ids of the branches to draw: again and again the largest of those whose parent is drawn."""
    drawn: set[int] = set()
    waiting: list[tuple[int, int, _Branch]] = []
    places = itertools.count()  # of equal branches, the heap takes the first

    def offer(branch: _Branch) -> None:
        for inner in branch.largest_first():
            heapq.heappush(waiting, (-inner.total_ns, next(places), inner))

    offer(root)
    while waiting and len(drawn) < _MOST_BRANCHES:
        branch = heapq.heappop(waiting)[-1]
        drawn.add(id(branch))
        offer(branch)
    return drawn


def _from_the_top(branch: _Branch, drawn: set[int], depth: int = 0) -> Iterator[tuple[int, _Branch]]:
    """The branches to draw, with their depths, each operator before what it launched."""
    for inner in branch.largest_first():
        if id(inner) in drawn:
            yield depth, inner
            yield from _from_the_top(inner, drawn, depth + 1)


def _size(branch: _Branch) -> int:
    """Number of branches below this one, at any depth."""
    return sum(1 + _size(inner) for inner in branch.within.values())
