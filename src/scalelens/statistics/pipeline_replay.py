"""The time of a step if some operations took as long as they usually do: replay of a table of pipeline operations.

Definitions of arXiv 2505.05713: S, M_W and M_S are its slowdown and the shares of it that go if the slowest workers or
the last stage are healed.
"""

from collections import deque
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from scalelens.statistics.pipeline_schedule import OF_REPLICAS, TRANSFERS, Operation, Schedule, schedule_of
from scalelens.statistics.plain_median import median

_Times = npt.NDArray[np.float64]
_Names = npt.NDArray[np.str_]
_Integers = npt.NDArray[np.int64]
_Mask = npt.NDArray[np.bool_]

_MEDIAN_OF = {*TRANSFERS, *OF_REPLICAS, "layernorm-grads-all-reduce", "embedding-grads-all-reduce"}
_CLOCKS_S = 0.01  # an end so much before the last start of its group is an error of clocks
_SLOWEST_PERCENT = 3  # of the workers, rounded up


class Question(NamedTuple):
    """Mean over steps, in seconds."""

    question: str
    healed: str | None
    measured_s: float
    replayed_s: float
    what_if_s: float


class _Table(NamedTuple):
    """Operations of all steps and replicas; times in s since the start of the step, (operations, steps, replicas)."""

    schedule: Schedule
    starts: _Times
    ends: _Times


def table_of(
    stage: _Integers, replica: _Integers, step: _Integers, name: _Names, start_ns: _Integers, duration_ns: _Integers
) -> _Table:
    """The table of flat columns, shape (n,).  Raises ValueError where steps and replicas hold different operations."""
    steps, step = np.unique(step, return_inverse=True)
    names, kind = np.unique(name, return_inverse=True)
    replicas = len(np.unique(replica))
    order = np.lexsort((start_ns, kind, stage, replica, step))
    blocks = len(steps) * replicas
    if len(order) % blocks:
        raise ValueError("steps or replicas differ in their operations")
    grid = order.reshape(blocks, -1)
    if (np.diff(stage[grid], axis=0) != 0).any() or (np.diff(kind[grid], axis=0) != 0).any():
        raise ValueError("steps or replicas differ in their operations")
    begins = np.full(len(steps), np.iinfo(np.int64).max)
    np.minimum.at(begins, step, start_ns)
    starts = (start_ns - begins[step])[grid].T / 1e9
    shape = (grid.shape[1], len(steps), replicas)
    starts = starts.reshape(shape)
    ends = starts + (duration_ns[grid].T / 1e9).reshape(shape)
    counted: dict[tuple[int, int], int] = {}
    operations = []
    for row, n in enumerate(grid[0]):
        index = counted[stage[n], kind[n]] = counted.get((stage[n], kind[n]), -1) + 1
        operations.append(Operation(str(names[kind[n]]), index, int(stage[n]), *_first(starts, ends, row)))
    return _Table(schedule_of(operations), starts, ends)


def _first(starts: _Times, ends: _Times, row: int) -> tuple[float, float]:
    return float(starts[row, 0, 0]), float(ends[row, 0, 0])


def _works_of(table: _Table) -> _Times:
    """How long each operation works, waiting apart: of a group from its last start; shape of the table's times."""
    works = table.ends - table.starts
    for number, group in enumerate(table.schedule.groups):
        last = table.starts[group].max(axis=0)
        if table.schedule.is_of_replicas(number):
            last = np.broadcast_to(last.max(axis=1, keepdims=True), last.shape)
        works[group] = table.ends[group] - last
    return np.where(works <= -_CLOCKS_S, 0, works)


def _replay(schedule: Schedule, works: _Times) -> _Times:
    """Time of each step, shape (steps,): every operation starts when all that it waits for has ended."""
    waiting = [len(before) for before in schedule.before]
    after: list[list[int]] = [[] for _ in waiting]
    for number, before in enumerate(schedule.before):
        for earlier in before:
            after[earlier].append(number)
    ready = deque(number for number, count in enumerate(waiting) if count == 0)
    ends: dict[int, _Times] = {}
    started: dict[int, dict[int, _Times]] = {}
    while ready:
        number = ready.popleft()
        start = np.maximum.reduce([np.zeros(works.shape[1:]), *(ends[earlier] for earlier in schedule.before[number])])
        group = schedule.group_of.get(number)
        done = [number]
        if group is not None:
            starts = started.setdefault(group, {})
            starts[number] = start
            done = schedule.groups[group] if len(starts) == len(schedule.groups[group]) else []
            start = np.maximum.reduce(list(starts.values()))
            if schedule.is_of_replicas(group):
                start = np.broadcast_to(start.max(axis=1, keepdims=True), start.shape)
        for one in done:
            ends[one] = start + works[one]
            for later in after[one]:
                waiting[later] -= 1
                if waiting[later] == 0:
                    ready.append(later)
    if len(ends) < len(works):
        raise ValueError("operations wait for each other in a circle")
    return np.asarray(np.maximum.reduce(list(ends.values())).max(axis=1))


def _usual_works(schedule: Schedule, works: _Times) -> _Times:
    """Each operation as long as those of its name are: the mean of computes, the median of communication."""
    usual = np.empty_like(works)
    names = np.array([one.name for one in schedule.operations])
    for name in np.unique(names):
        of_name = names == name
        usual[of_name] = median(works[of_name].ravel()) if name in _MEDIAN_OF else works[of_name].mean()
    return usual


def _slowest_workers(schedule: Schedule, works: _Times, usual: _Times) -> _Mask:
    """The slowest 3 %, as mask of shape (stages, replicas).

    A worker is as slow as the smaller of two: the step with its stage, or its replica, as measured and all else usual.
    """
    stage = np.array([one.stage for one in schedule.operations])
    replicas = works.shape[2]
    of_stage = [
        _replay(schedule, np.where((stage == k)[:, None, None], works, usual)).mean() for k in range(stage.max() + 1)
    ]
    of_replica = [_replay(schedule, np.where(np.arange(replicas) == k, works, usual)).mean() for k in range(replicas)]
    scores = np.minimum.outer(np.array(of_stage), np.array(of_replica))
    count = -(-scores.size * _SLOWEST_PERCENT // 100)
    slowest = np.zeros(scores.size, bool)
    slowest[np.lexsort((np.arange(scores.size), -scores.ravel()))[:count]] = True
    return slowest.reshape(scores.shape)


def what_if(table: _Table) -> list[Question]:
    """The time of a step as it would be, for each question."""
    schedule, works = table.schedule, _works_of(table)
    usual = _usual_works(schedule, works)
    stage = np.array([one.stage for one in schedule.operations])
    measured, replayed = float(table.ends.max(axis=(0, 2)).mean()), float(_replay(schedule, works).mean())
    slowest = _slowest_workers(schedule, works, usual)
    workers = ", ".join(f"stage {k} replica {n}" for k, n in np.argwhere(slowest))
    communicates = np.array([n in schedule.group_of for n in range(len(stage))])[:, None, None]
    asked = [
        ("all as usual", None, usual),
        ("slowest workers", workers, np.where(slowest[stage][:, None, :], usual, works)),
        *(("stage", f"stage {k}", np.where((stage == k)[:, None, None], usual, works)) for k in range(stage.max() + 1)),
        ("free communication", None, np.where(communicates, 0, works)),
    ]
    return [
        Question(question, healed, measured, replayed, float(_replay(schedule, instead).mean()))
        for question, healed, instead in asked
    ]
