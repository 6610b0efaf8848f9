"""What the columns of a history mean, and which clock tells the time of its steps."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from scalelens.tabular.column_names import read_name
from scalelens.tabular.history.columns import Block, History
from scalelens.tabular.roles import ColumnReading, assign
from scalelens.tabular.table import BY_STAMPS_UNLESS, EVALUATED, FINE, MEASURED, MOST_RECORDS, Stamps

_ROLES = {
    "step", "epoch", "batch_time", "interval_time", "averaged_steps", "running_time", "elapsed", "epoch_time",
    "tokens_per_s", *MEASURED,
}  # fmt: skip

_TIMES = {"batch_time", "interval_time", "running_time"}  # roles of columns that are times of steps


class Own(NamedTuple):
    """The columns that a tracker adds by itself."""

    step: str  # what it counts is the script's affair: the calls of log(), where the script says nothing else
    clock: str  # seconds since 1970
    others: tuple[str, ...] = ()  # of no role
    leaps_tell: bool = True  # whether all records are there: else its step leaps where some are missing


class Meanings(NamedTuple):
    """What is read as what."""

    readings: list[ColumnReading]  # of the script's columns
    by_role: dict[str, ColumnReading]
    step: str  # the column
    counts_steps: bool  # whether that is known of it, and it does not go back
    evaluated: tuple[str, ...]  # columns of a validation
    clock: str | None = None  # the column that tells the time of steps by its differences
    resolution_s: float = 0.0  # of that clock
    by_stamps: bool = False

    @property
    def lacks_times(self) -> bool:
        """Whether no step has a time because nothing shows what a step counts."""
        return not self.counts_steps and _TIMES.isdisjoint(self.by_role)

    @property
    def metrics(self) -> dict[str, ColumnReading]:
        """Columns that stay metrics."""
        return {one.column: one for one in self.readings if one.role in (None, "tokens_per_s")}


def meanings_of(
    history: History, own: Own, mapping: Mapping[str, tuple[str, str | None]], counts_steps: bool
) -> Meanings:
    """Reads the names and values of all columns.  `counts_steps` says that the tracker's own step is known to be one.

    A tracker's step is taken for a step where the script gave it, which shows where it leaps, or where --map says so.
    """
    looks = history.columns
    of_script = {name: look for name, look in looks.items() if name not in (own.step, own.clock, *own.others)}
    steps = [name for name in of_script if read_name(name).role == "step" or mapping.get("step", ("",))[0] == name]
    given = {**of_script, **({own.step: looks[own.step]} if not steps and own.step in looks else {})}
    readings = [one if one.role in _ROLES else one._replace(role=None) for one in assign(given, mapping)]
    by_role = {one.role: one for one in readings if one.role}
    step = by_role["step"].column if "step" in by_role else own.step
    look = looks.get(step)
    leaps = look is not None and own.leaps_tell and 2 * look.leaps >= look.numbers
    counts_steps |= step != own.step or "step" in mapping or leaps
    goes_back = look is not None and look.falls > history.restarts  # as where several counts are mixed
    found = Meanings(
        [one for one in readings if one.column != own.step], by_role, step, counts_steps and not goes_back,
        tuple(name for name in of_script if EVALUATED.search(name)),
    )  # fmt: skip
    return _with_clock(found, history, own)


def _with_clock(found: Meanings, history: History, own: Own) -> Meanings:
    undecided = any(choice.startswith("batch_time=") for one in found.readings for choice in one.choices)
    if not found.counts_steps or not _TIMES.isdisjoint(found.by_role):
        return found
    if elapsed := found.by_role.get("elapsed"):
        resolution_s = elapsed.factor * history.columns[elapsed.column].resolution
        return found._replace(clock=elapsed.column, resolution_s=resolution_s)
    if undecided or not BY_STAMPS_UNLESS.isdisjoint(found.by_role) or own.clock not in history.columns:
        return found
    stamps, again, records = Stamps(), 0, 0
    for block in history.blocks():
        if records >= MOST_RECORDS:
            break
        (clock, _), (step, _), seen = block.dense(own.clock), block.dense(found.step), is_evaluated(block, found)
        counted = np.isfinite(step)
        for seconds in clock[counted & ~seen & np.isfinite(clock)].tolist():
            stamps.take((), seconds)
        again += int((np.diff(step[counted]) == 0).sum())
        records += len(step)
    if not stamps.tell or 2 * again > records:
        return found
    return found._replace(clock=own.clock, resolution_s=stamps.resolution_s, by_stamps=True)


def is_evaluated(block: Block, found: Meanings) -> np.ndarray:
    """Which records of a block hold results of a validation: it lies before them or after them."""
    seen = np.zeros(len(block.lines), bool)
    for name in found.evaluated:
        if name in block.columns:
            seen[block.columns[name][0]] = True
    return seen


def is_fine(spans_s: np.ndarray, resolution_s: float) -> np.ndarray:
    """Which differences of a clock are times."""
    return spans_s >= FINE * resolution_s
