"""Rows of a history: one of `steps` for each record, and one of `metrics` for each number without a role."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from scalelens import arrow_compute as pc
from scalelens.parsing.rows import Rows
from scalelens.tabular.column_names import metric_unit
from scalelens.tabular.column_values import stamp_scales
from scalelens.tabular.history.columns import Block, History
from scalelens.tabular.history.meanings import Meanings, Own, is_evaluated, is_fine, meanings_of
from scalelens.tabular.table import MEASURED

_TIMES = {"batch_time": "instant", "interval_time": "interval_mean", "running_time": "running_mean"}
_TIME, _LARGEST_STEP = pa.timestamp("us"), float(1 << 53)

_Column = tuple[str, np.ndarray, np.ndarray]  # of `steps`, its values, and where there is one


def write_history(
    history: History, own: Own, rows: Rows, counts_steps: bool = False, units: Mapping[str, str] | None = None
) -> Meanings:
    """Writes all records.  `units` are those of columns whose names do not have them."""
    found = meanings_of(history, own, rows.mapping, counts_steps)
    known = {one.column for one in rows.assigned}
    rows.assigned += [one for one in found.readings if one.role and one.column not in known]
    for refusal in dict.fromkeys(one.refusal for one in found.readings if one.refusal):
        rows.problem(None, f"{refusal}; until then its numbers are metrics")
    if history.left_out:
        rows.problem(None, f"{history.left_out:,} values are in columns beyond the number that is kept")
    if found.by_stamps:
        rows.param("step_s_origin", "derived", origin="inferred")
    writer = _Writer(rows, found, own, units or {})
    for block in history.blocks():
        writer.take(block)
    return found


class _Writer:
    """Writes records block by block."""

    def __init__(self, rows: Rows, found: Meanings, own: Own, units: Mapping[str, str]) -> None:
        self.rows, self.found, self.own = rows, found, own
        self.units = {name: metric_unit(name, one.unit) for name, one in found.metrics.items()}
        self.units |= {name: unit for name, unit in units.items() if name not in found.by_role}
        self.before = (np.nan, np.nan, -1)  # step, clock and attempt of the last record that counts a step

    def take(self, block: Block) -> None:
        steps, counted = block.dense(self.found.step)
        counted &= (steps == np.floor(steps)) & (np.abs(steps) < _LARGEST_STEP)
        step = pa.array(np.where(counted, steps, 0).astype(np.int64), mask=~counted)
        self.write_steps(block, np.where(counted, steps, np.nan), step)
        self.write_epochs(block, step)
        self.write_metrics(block, step)

    def write_steps(self, block: Block, steps: np.ndarray, step: pa.Array) -> None:
        columns: dict[str, Any] = {"line": block.lines, "attempt": block.attempts, "step": step}
        stamps, _ = block.dense(self.own.clock)
        scales, timed = stamp_scales(stamps)
        measured = np.zeros(len(steps), bool)
        columns["ts"] = pc.cast(
            pa.array(np.where(timed, stamps / scales * 1e6, 0).round().astype(np.int64), mask=~timed), _TIME
        )
        for role, column in MEASURED.items():
            if (reading := self.found.by_role.get(role)) and reading.column in block.columns:
                values, present = block.dense(reading.column)
                columns[column] = pa.array(values * reading.factor, mask=~present)
                measured |= present & (role != "global_batch_size")
                if role == "samples_per_s":
                    columns["rate_scope"] = reading.unit or "global"
        for column, values, present in self.times(block, steps, stamps / scales):
            columns[column] = pa.array(values, mask=~present)
            measured |= present
        if "step_s" in columns:
            columns["value_kind"] = pc.if_else(pc.is_valid(columns["step_s"]), self.kind, pa.scalar(None, pa.string()))
        if epoch := self.found.by_role.get("epoch"):
            values, present = block.dense(epoch.column)
            columns["epoch"] = pa.array(values, mask=~present)
        validation = pa.array(is_evaluated(block, self.found) & ~measured)
        columns["phase"] = pc.if_else(validation, "validation", "train")
        wanted = measured | (timed & np.isfinite(steps))
        if wanted.any():
            kept = {name: _filtered(values, pa.array(wanted)) for name, values in columns.items()}
            self.rows.put_columns("steps", kept | {"ts_origin": "utc" if timed.any() else None})

    @property
    def kind(self) -> str:
        return next((kind for role, kind in _TIMES.items() if role in self.found.by_role), "interval_mean")

    def times(self, block: Block, steps: np.ndarray, stamps: np.ndarray) -> list[_Column]:
        """Time of each step and how many steps it is a mean of, each with where it is known."""
        roles = self.found.by_role
        if role := next((role for role in _TIMES if role in roles), None):
            values, present = block.dense(roles[role].column)
            number = np.ones(len(values))
            counted = present if role == "batch_time" else np.zeros(len(values), bool)
            if role == "interval_time" and "averaged_steps" in roles:
                number, counted = block.dense(roles["averaged_steps"].column)
            present &= np.isfinite(values)
            named = [("step_s", values * roles[role].factor, present)]
            return [*named, ("averaged_steps", np.nan_to_num(number), counted & present)]
        if self.found.clock is None:
            return []
        clock = stamps
        if elapsed := roles.get("elapsed"):
            clock = block.dense(elapsed.column)[0] * elapsed.factor
        clock = np.where(is_evaluated(block, self.found), np.nan, clock)
        return self.differences(block, steps, clock)

    def differences(
        self, block: Block, steps: np.ndarray, clock: np.ndarray
    ) -> list[tuple[str, np.ndarray, np.ndarray]]:
        """Times since the record before, of records that count a step.  Those between may hold anything else."""
        counted = np.flatnonzero(np.isfinite(steps))
        own = np.column_stack((steps[counted], clock[counted], block.attempts[counted])).astype(float)
        if not len(own):
            return []
        series = np.vstack((self.before, own))
        self.before = tuple(series[-1])
        since, spans, launches = np.diff(series, axis=0).T
        held = (since > 0) & (launches == 0) & (spans >= 0) & is_fine(spans, self.found.resolution_s)
        times, number = np.zeros(len(steps)), np.zeros(len(steps))
        present = np.zeros(len(steps), bool)
        present[counted] = held
        times[counted[held]], number[counted[held]] = spans[held] / since[held], since[held]
        return [("step_s", times, present), ("averaged_steps", number, present)]

    def write_epochs(self, block: Block, step: pa.Array) -> None:
        reading = self.found.by_role.get("epoch_time")
        if reading and reading.column in block.columns:
            epoch = self.found.by_role.get("epoch")
            epochs, known = block.dense(epoch.column) if epoch else (np.zeros(len(block.lines)), None)
            for row, value in zip(*block.columns[reading.column], strict=True):
                if np.isfinite(value) and value:
                    self.rows.add(
                        "phases", int(block.lines[row]), attempt=int(block.attempts[row]), step=step[row].as_py(),
                        epoch=float(epochs[row]) if known is not None and known[row] else None, phase="epoch",
                        span_s=float(value) * reading.factor, origin="logged",
                    )  # fmt: skip

    def write_metrics(self, block: Block, step: pa.Array) -> None:
        names = [name for name in self.units if name in block.columns]
        if not names:
            return
        rows = np.concatenate([block.columns[name][0] for name in names])
        values = np.concatenate([block.columns[name][1] for name in names])
        which = np.repeat(np.arange(len(names)), [len(block.columns[name][0]) for name in names])
        order = np.argsort(rows, kind="stable")
        rows, which = rows[order], pa.array(which[order])
        self.rows.put_columns("metrics", {
            "line": block.lines[rows], "attempt": block.attempts[rows], "step": pc.take(step, pa.array(rows)),
            "name": pc.take(pa.array(names), which), "value": values[order], "stat": "value",
            "unit": pc.take(pa.array([self.units[name] for name in names], pa.string()), which),
        })  # fmt: skip


def _filtered(values: Any, chosen: pa.Array) -> Any:
    if isinstance(values, np.ndarray):
        return values[chosen.to_numpy(zero_copy_only=False)]
    return pc.filter(values, chosen) if isinstance(values, pa.Array) else values
