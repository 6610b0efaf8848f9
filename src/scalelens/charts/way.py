"""The axis along which a training is followed: epochs, steps, tokens, time or energy."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import altair as alt
import polars as pl

from scalelens.charts import axes
from scalelens.errors import UserError
from scalelens.units import factors

_SIZES = {"": 1.0, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_JOULES = factors("J", "kJ", "Wh", "kWh", "MWh")
_TIMES = factors("s", "min", "h")
_SHORTEST_COURSE = 0.1  # of the time since the run began
_TICKS = 5


class Way(NamedTuple):
    """A column of `accuracy_course` as an axis, in a unit that suits its largest value."""

    field: str  # that is drawn
    column: str
    what: str
    unit: str = ""
    size: float = 1.0

    @property
    def title(self) -> str:
        return f"{self.what} [{self.unit}]" if self.unit else self.what

    def values(self) -> pl.Expr:
        """The column in the unit, under the name that is drawn."""
        return (pl.col(self.column) / self.size if self.size != 1 else pl.col(self.column)).alias(self.field)

    def is_at_once(self) -> pl.Expr:
        """Whether the scores of a run, several, have no course along the axis: their line would be upright.

        Checkpoints that are evaluated after the training have almost one time; a log that counts no epochs says 0.
        """
        first, last = pl.col(self.field).min().over("run_id"), pl.col(self.field).max().over("run_id")
        least = _SHORTEST_COURSE * last if self.column == _TIME.column else pl.lit(0)
        return (pl.col(self.field).count().over("run_id") > 1) & (last - first <= least)

    def axis(self, rows: pl.DataFrame) -> Any:
        """The axis for all rows, from 0."""
        known = rows[self.field].drop_nulls()
        largest = float(known.max())  # type: ignore[arg-type]
        of_few = largest <= _TICKS and (known == known.round()).all()  # a tick at half an epoch would mean nothing
        ticks = {"tickCount": _TICKS} | ({"tickMinStep": 1} if of_few else {})
        return alt.X(
            f"{self.field}:Q",
            title=self.title,
            scale=alt.Scale(domain=[min(0.0, float(known.min())), largest or 1], nice=False, padding=4),  # type: ignore[arg-type]
            axis=alt.Axis(**ticks, labelFlush=True, labelOverlap="greedy", **axes.labels(largest)),
        )


def _in_unit(way: Way, rows: pl.DataFrame, units: Mapping[str, float], least: float) -> Way:
    """The way in the largest of the units in which its end is `least` or more."""
    largest = float(rows[way.column].max() or 0)  # type: ignore[arg-type]
    fitting = [unit for unit, size in units.items() if largest >= least * size]
    unit = fitting[-1] if fitting else next(iter(units))
    return way._replace(unit=unit, size=units[unit])


_EPOCHS, _STEPS = Way("epochs_done", "epochs_done", "epochs"), Way("step", "step", "step")
_TOKENS, _ENERGY = Way("tokens_done", "tokens", "tokens"), Way("energy", "energy_j", "energy of the steps")
_TIME = Way("elapsed", "elapsed_s", "time")
_MISSING = {
    "epochs": "the logs contain fewer than two epochs",
    "steps": "the logs do not number their steps",
    "tokens": "the logs state neither tokens nor a global batch and a sequence length",
    "hours": "the logs have neither times of steps nor time stamps",
    "energy": "no run has power readings or printed energies for all of its steps, on the clock of its log",
}


def ways(rows: pl.DataFrame, asked: str) -> list[Way]:
    """The axis that was asked for; else epochs or steps, and the time.  Raises UserError where no row has it."""
    if not asked:
        places = [_EPOCHS, _STEPS] if not rows["epochs_done"].has_nulls() else [_STEPS, _EPOCHS]
        place = next((way for way in places if rows[way.column].count()), None)
        time = [_in_unit(_TIME, rows, _TIMES, 2)] if rows[_TIME.column].count() else []
        found = [*([place] if place else []), *time]
        if not found:
            raise UserError("the scores have neither a step nor a time", "see: scalelens query accuracy_curve")
        return found
    way = {"epochs": _EPOCHS, "steps": _STEPS, "tokens": _TOKENS, "hours": _TIME, "energy": _ENERGY}[asked]
    if not rows[way.column].count():
        raise UserError(f"no score can be drawn over {asked}: {_MISSING[asked]}", "leave --x out")
    if asked == "tokens":
        return [_in_unit(way, rows, _SIZES, 2)]
    if asked == "energy":
        return [_in_unit(way, rows, _JOULES, 2)]
    return [way._replace(unit="h", size=3600.0) if asked == "hours" else way]
