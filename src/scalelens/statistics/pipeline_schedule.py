"""What waits for what in a step of pipeline parallel training, from a table of its operations.

The model is that of "Understanding Stragglers in Large Model Training Using What-if Analysis" (arXiv 2505.05713), as
its artifact ByteDance-Seed/StragglerAnalysis applies it.  On a stage, computes follow one another, and so do the sends
and receives of each kind.  A receive comes before its compute and after the one before that; a send comes after its
compute.  Operations of a group start when the last of them may.
"""

from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

_Times = npt.NDArray[np.float64]

_KINDS = ("forward", "backward")
_COMPUTES = ("forward-compute", "backward-compute")
TRANSFERS = ("forward-send", "forward-recv", "backward-send", "backward-recv")
# What follows the last compute of a stage, in this order; those of replicas wait for each other.
_CLOSING = (
    "gc", "layernorm-grads-all-reduce", "embedding-grads-all-reduce", "grads-reduce-scatter",
    "optimizer-clip-main-grad", "optimizer",
)  # fmt: skip
OF_REPLICAS = ("params-all-gather", "grads-reduce-scatter", "optimizer-clip-main-grad")
_KNOWN = {*_COMPUTES, *TRANSFERS, *_CLOSING, "params-all-gather"}


class Operation(NamedTuple):
    """One operation of a stage: the same in all steps and replicas."""

    name: str
    number: int  # among those of its name, by start
    stage: int
    start: float  # in the first step of the first replica
    end: float


class Schedule(NamedTuple):
    """Numbers are places in `operations`."""

    operations: list[Operation]
    before: list[set[int]]  # what each waits for
    groups: list[list[int]]  # operations that start together, of one stage or several
    group_of: dict[int, int]  # communication only

    def is_of_replicas(self, group: int) -> bool:
        """Whether the replicas wait for each other."""
        return self.operations[self.groups[group][0]].name in OF_REPLICAS


def schedule_of(operations: list[Operation]) -> Schedule:
    """What waits for what.  Raises ValueError for operations that it does not know, or sends without receives."""
    if unknown := {one.name for one in operations} - _KNOWN:
        raise ValueError(f"operations of an unknown kind: {', '.join(sorted(unknown))}")
    schedule = Schedule(operations, [set() for _ in operations], [], {})
    stages = 1 + max(one.stage for one in operations)
    if {(one.stage, one.name) for one in operations if one.name in _COMPUTES} != {
        (stage, name) for stage in range(stages) for name in _COMPUTES
    }:
        raise ValueError("a stage has no forward or no backward compute")
    valid: dict[tuple[str, int], list[int]] = {}  # transfers that carry something
    for stage in range(stages):
        _order_stage(schedule, stage, stages, valid)
    _group_transfers(schedule, stages, valid)
    groups = [[n] for n, one in enumerate(operations) if one.name in OF_REPLICAS[:2]]
    groups.append([n for n, one in enumerate(operations) if one.name == "optimizer-clip-main-grad"])
    groups.append([n for n, one in enumerate(operations) if one.name == "embedding-grads-all-reduce"])
    _add_groups(schedule, groups)
    return schedule


def _add_groups(schedule: Schedule, groups: Iterable[list[int]]) -> None:
    for group in groups:
        if group:
            schedule.group_of.update(dict.fromkeys(group, len(schedule.groups)))
            schedule.groups.append(group)


def _order_stage(schedule: Schedule, stage: int, stages: int, valid: dict[tuple[str, int], list[int]]) -> None:
    """Order within a stage, and its transfers that carry something."""
    operations = schedule.operations
    here = sorted(
        (n for n, one in enumerate(operations) if one.stage == stage),
        key=lambda n: (operations[n].start, operations[n].number, operations[n].name),
    )
    computes = [n for n in here if operations[n].name in _COMPUTES]
    _chain(schedule, computes)
    for name in TRANSFERS:
        _chain(schedule, [n for n in here if operations[n].name == name])
    for kind in _KINDS:
        for way in ("send", "recv"):
            matched = _matched(schedule, here, kind, way)
            is_end = stage == (stages - 1 if (kind == "forward") == (way == "send") else 0)
            valid[f"{kind}-{way}", stage] = [] if is_end else matched
    gathers = [n for n in here if operations[n].name == "params-all-gather"]
    _chain(schedule, [n for n in here if operations[n].name in OF_REPLICAS[:2]])
    forward = [n for n in computes if operations[n].name == "forward-compute"]
    if gathers and forward:
        schedule.before[forward[0]].add(gathers[0])
    closing = [n for name in _CLOSING for n in here if operations[n].name == name]
    _chain(schedule, [max(computes, key=lambda n: operations[n].end), *closing])
    _free_first_backward(schedule, computes, here)


def _chain(schedule: Schedule, numbers: list[int]) -> None:
    for earlier, later in pairwise(numbers):
        schedule.before[later].add(earlier)


def _matched(schedule: Schedule, here: list[int], kind: str, way: str, slack: float = 5e-5) -> list[int]:
    """Transfers of a stage that belong to a compute, in order, which then wait for each other.

    The profiler also records some at the begin or end of a step that carry nothing; clocks differ by the slack (s).
    """
    operations = schedule.operations
    computes = [n for n in here if operations[n].name == f"{kind}-compute"]
    transfers = [n for n in here if operations[n].name == f"{kind}-{way}"]
    if way == "recv":
        latest = max(operations[n].start for n in computes)
        transfers = [n for n in transfers if operations[n].start <= latest + slack]
    else:
        earliest = min(operations[n].end for n in computes)
        transfers = [n for n in transfers if operations[n].end >= earliest - slack]
    skipped = len(computes) - len(transfers) if way == "recv" and transfers else 0
    for index, transfer in enumerate(transfers, skipped):
        if index >= len(computes):
            raise ValueError(f"more transfers of kind {kind}-{way} than computes")
        if way == "send":
            schedule.before[transfer].add(computes[index])
        else:
            schedule.before[computes[index]].add(transfer)
            if index > 0:
                schedule.before[transfer].add(computes[index - 1])
    return transfers


def _free_first_backward(schedule: Schedule, computes: list[int], here: list[int]) -> None:
    """The first backward transfers wait for the last but one forward compute before the first backward compute."""
    first = next(k for k, n in enumerate(computes) if schedule.operations[n].name == "backward-compute")
    for n in here:
        if first >= 2 and schedule.operations[n].name in TRANSFERS[2:] and schedule.operations[n].number == 0:
            schedule.before[n].add(computes[first - 2])


def _group_transfers(schedule: Schedule, stages: int, valid: dict[tuple[str, int], list[int]]) -> None:
    """Sends with their receives; those that carry nothing alone."""
    for kind, step in (("forward", 1), ("backward", -1)):
        for stage in range(stages):
            sends, receives = valid[f"{kind}-send", stage], valid.get((f"{kind}-recv", stage + step), [])
            if len(sends) != len(receives):
                raise ValueError(f"{len(sends)} sends of stage {stage}, but {len(receives)} receives ({kind})")
            _add_groups(schedule, ([*pair] for pair in zip(sends, receives, strict=True)))
    alone = [n for n, one in enumerate(schedule.operations) if one.name in TRANSFERS and n not in schedule.group_of]
    _add_groups(schedule, ([n] for n in alone))
