"""Spans of time within and beside each other: calls on a thread, work of a device.  Times are in nanoseconds."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

_Places = npt.NDArray[np.int64]
BLOCK = 100_000  # spans that are Python's numbers at a time
_OUTSIDE = (0, -1, -1)  # end, place and path of what is around the outermost span


def innermost(starts: Sequence[int], ends: Sequence[int], times: Sequence[int]) -> list[int | None]:
    """Place, from 1, of the innermost span around each time; None where there is none.  One result for each time.

    Spans of one thread lie within each other or apart; of two that cross, the later start is the inner one.
    """
    spans = sorted(range(len(starts)), key=lambda n: (starts[n], -ends[n]))
    indexes: list[int | None] = [None] * len(times)
    opened: list[int] = []
    waiting = iter(spans)
    following = next(waiting, None)
    for index in sorted(range(len(times)), key=times.__getitem__):
        while following is not None and starts[following] <= times[index]:
            while opened and ends[opened[-1]] < starts[following]:
                opened.pop()
            opened.append(following)
            following = next(waiting, None)
        while opened and ends[opened[-1]] < times[index]:
            opened.pop()
        indexes[index] = opened[-1] + 1 if opened else None
    return indexes


def launch_paths(
    lines: _Places, starts: _Places, ends: _Places, names: _Places, times: _Places
) -> tuple[_Places, list[tuple[int, int]]]:
    """The spans around each time, from the outermost to the innermost, as a path: of each time the place of its path.

    One line, start, end and name for each span, shape (n,), in any order; one result for each of `times`, -1 where
    there is no span around.  A path is the place of the path that it goes on, or -1, and a name.  Of two spans that
    cross, the later start is the inner one, but not within the other; of two that are alike the first line is the outer
    one.  Spans may be tens of millions: the loop holds those that are open and the paths met so far.
    """
    order = np.lexsort((lines, -ends, starts))
    starts, ends = starts[order], ends[order]
    parents, paths = np.full(len(starts), -1), np.full(len(starts), -1)
    known: dict[tuple[int, int], int] = {}
    opened: list[tuple[int, int, int]] = []  # end, place and path
    for first in range(0, len(starts), BLOCK):
        block = slice(first, first + BLOCK)
        found = []
        spans = zip(starts[block].tolist(), ends[block].tolist(), names[order[block]].tolist(), strict=True)
        for index, (start, end, name) in enumerate(spans, first):
            while opened and opened[-1][0] < start:
                opened.pop()
            around = next((span for span in reversed(opened) if span[0] >= end), _OUTSIDE)
            path = known.setdefault((around[2], name), len(known))
            opened.append((end, index, path))
            found.append((around[1], path))
        parents[block], paths[block] = np.array(found).T
    owner = np.searchsorted(starts, times, "right") - 1
    while len(over := np.flatnonzero((owner >= 0) & (ends[owner] < times))):
        owner[over] = parents[owner[over]]
    return np.where(owner >= 0, paths[owner], -1), [*known]


def nested(
    lines: _Places, starts: _Places, durations: _Places, kernels: _Places, kernel_ns: _Places
) -> dict[str, npt.NDArray[np.int64]]:
    """How the calls on a thread lie within each other, and the work that they launch; -1 where there is no parent.

    The arrays have shape (n,), n entries of one thread in any order; those of the result have one place for each call.
    An entry with a duration is a call, one of -1 a launch of `kernels` pieces of work.  At one instant calls end before
    others begin, the outer begins first and ends last, and so does what lasts no time; of two that cross, the later
    start is the inner one.
    """
    is_call = durations >= 0
    line, start, lasted, launched = lines[is_call], starts[is_call], durations[is_call], starts[~is_call]
    calls, nothing = len(line), np.zeros(len(launched), np.int64)
    # Edges: calls begin, calls end, work is launched.
    kind = np.concatenate((np.full(calls, 1), np.where(lasted == 0, 3, 0), nothing + 2))
    outer_first, line_first = np.concatenate((-lasted, lasted, nothing)), np.concatenate((line, -line, nothing))
    order = np.lexsort((line_first, outer_first, kind, np.concatenate((start, start + lasted, launched))))
    at = np.argsort(order)
    begins, ends, launches = at[:calls], at[calls : 2 * calls], at[2 * calls :]
    depths = np.cumsum(np.concatenate((np.full(calls, 1), np.full(calls, -1), nothing))[order])
    # The innermost call around an edge is the last that began at its depth.
    by_depth = np.argsort(depths, kind="stable")
    call = np.concatenate((np.arange(calls), np.full(len(order) - calls, -1)))[order][by_depth]
    last = np.maximum.accumulate(np.where(call >= 0, np.arange(len(order)), 0))
    owner = np.empty_like(call)
    owner[by_depth] = np.where(depths[by_depth[last]] == depths[by_depth], call[last], -1)

    depth, parent, within = depths[begins] - 1, owner[ends], np.zeros(calls, np.int64)
    parent = np.where(depth > 0, parent, -1)
    np.add.at(within, parent[parent >= 0], lasted[parent >= 0])
    around = np.where(depths[launches] > 0, owner[launches], -1)
    parent_line = np.where(parent >= 0, line[parent], -1)
    columns = {"line": line, "depth": depth, "parent_line": parent_line, "self_ns": lasted - within}
    for name, work in (("kernels", kernels[~is_call]), ("kernel_ns", kernel_ns[~is_call])):
        columns[name], so_far = np.zeros(calls, np.int64), np.zeros(len(order), np.int64)
        np.add.at(columns[name], around[around >= 0], work[around >= 0])
        so_far[launches] = work
        so_far = np.cumsum(so_far)
        columns[f"subtree_{name}"] = so_far[ends] - so_far[begins]
    return columns


def class_spans(
    starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64], classes: npt.NDArray[np.int64]
) -> list[int]:
    """How long each combination of classes runs, from the first start to the last end; place n is that of bits n.

    One start, end and class for each piece of work, shape (n,); the result has eight places.
    Classes are 1, 2 and 4: place 3 is the time in which work of 1 and of 2 runs and none of 4, place 0 that of no work.
    """
    times = np.concatenate((starts, ends))
    order = np.argsort(times, kind="stable")
    edges = classes.astype(np.int8)  # an eighth of the memory to go through for each class
    edges = np.concatenate((edges, -edges))[order][:-1]
    running = np.zeros(len(edges), np.int8)
    for bit in (1, 2, 4):
        change = (edges == bit).view(np.int8) - (edges == -bit).view(np.int8)
        running |= (np.cumsum(change, dtype=np.int64) > 0).view(np.int8) * np.int8(bit)
    lasted = np.diff(times[order])
    return [int(lasted @ (running == bits)) for bits in range(8)]


def time_beside(starts: _Places, ends: _Places, others: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """How long any of the others runs during each span: one result for each span, the others' own included.

    One start, end and flag for each span, shape (n,), in any order; of the others those that touch are one.
    """
    if not others.any():
        return np.zeros(len(starts), np.int64)
    order = np.argsort(starts[others], kind="stable")
    begins, latest = starts[others][order], np.maximum.accumulate(ends[others][order])
    first = np.concatenate(([True], begins[1:] > latest[:-1]))
    begins, finishes = begins[first], latest[np.concatenate((np.flatnonzero(first)[1:] - 1, [len(latest) - 1]))]
    before = np.concatenate(([0], np.cumsum(finishes - begins)))

    def run_until(times: _Places) -> npt.NDArray[np.int64]:
        index = np.searchsorted(begins, times, "right")
        return before[index] - np.where(index > 0, np.maximum(finishes[index - 1] - times, 0), 0)

    return run_until(ends) - run_until(starts)
