"""The answers of a warehouse, as single values to compare a printed number with.

They come from the queries whose values papers print, with their defaults.  Queries with a row for each step, kernel or
sample are left out: among ten thousand values, any printed number has a match.
"""

import math
from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from scalelens.audit.warehouse.measures import SHARE, Measure, measure_of
from scalelens.errors import UserError
from scalelens.queries.header import Query
from scalelens.question.question import Question, call, literal, select_of
from scalelens.question.session import Session

_QUERIES = (
    "batch_stats", "scaling", "throughput", "epoch_stats", "energy_efficiency", "energy_integrated", "mfu",
    "mlperf_scores", "time_to_accuracy", "precision_gain", "goodput", "temporal_breakdown", "elbow",
)  # fmt: skip
# Other ways to compute the same quantities: a number may come from one of them without saying so.
_OTHERWISE: tuple[tuple[str, dict[str, Any]], ...] = (
    ("batch_stats", {"exclude": "none"}),
    ("throughput", {"exclude": "none"}),
    ("scaling", {"exclude": "none"}),
    ("scaling", {"metric": "mean_s"}),
    ("epoch_stats", {"exclude": "none"}),
)
_MOST_ROWS = 2_000  # of a query: nobody copies numbers from longer answers by hand
_FACTS_OF_RUNS = (
    "run_id", "name", "system", "model", "precision", "device_model", "job_id", "nodes", "devices", "micro_batch_size",
    "global_batch_size", "seq_length",
)  # fmt: skip

# Facts that a selector uses first.
_KEYS = ("devices", "benchmark", "run", "system", "nodes", "global_batch_size", "model", "precision", "run_id")

Facts = dict[str, frozenset[Any]]


class AnswerRow:
    """A row of an answer: what it is about, and its values."""

    def __init__(
        self, query: str, parameters: Mapping[str, Any], own: dict[str, Any], runs: Mapping[str, dict[str, Any]]
    ) -> None:
        self.query, self.parameters, self.own = query, parameters, own
        self.run = runs.get(own.get("run_id") or "", {})

    @cached_property
    def facts(self) -> Facts:
        """All that is known about the row, by name.  A batch may be that of all devices or of one."""
        both = self.run | {key: value for key, value in self.own.items() if value is not None}
        facts = {key: frozenset([value]) for key, value in both.items() if isinstance(value, str | int | float)}
        batches = {both.get(key) for key in ("global_batch_size", "micro_batch_size", "batch_per_device")}
        if both.get("global_batch_size") and both.get("devices"):
            batches.add(both["global_batch_size"] / both["devices"])
        return facts | {"batch": frozenset(batches - {None})}

    @cached_property
    def selectable(self) -> dict[str, str | int]:
        """What a selector can use: texts and integers of the row, and the name of its run."""
        both = {"run": self.run.get("name")} | self.own
        return {key: value for key, value in both.items() if isinstance(value, str | int)}


class KnownValue(NamedTuple):
    """A value of an answer."""

    row: AnswerRow
    column: str
    value: float  # in the base unit of its measure
    measure: Measure

    @property
    def where(self) -> str:
        """The column with its query: `scaling(exclude := 'none').efficiency`."""
        query = call(self.row.query, self.row.parameters) if self.row.parameters else self.row.query
        return f"{query}.{self.column}"


class KnownValues:
    """All values of a warehouse, queried once.  `remarks` are sentences about what was not compared."""

    def __init__(self, root: Path, query_folders: tuple[Path, ...] = ()) -> None:
        self.remarks: list[str] = []
        self._session = Session(root, query_folders)
        facts = self._session.ask(Question(sql=f"SELECT {', '.join(_FACTS_OF_RUNS)} FROM runs")).table
        self.runs = {run["run_id"]: run for run in facts.to_pylist()}

    @property
    def is_one_study(self) -> bool:
        """Whether all runs train one model on one system."""
        return len({(run["model"], run["system"]) for run in self.runs.values()}) == 1

    @cached_property
    def values(self) -> list[KnownValue]:
        """Values with the default parameters of the queries."""
        return [known for name in _QUERIES for known in self._values(name, {})]

    @cached_property
    def other_values(self) -> list[KnownValue]:
        """Values under other exclusions and statistics."""
        return [known for name, parameters in _OTHERWISE for known in self._values(name, parameters)]

    def _values(self, name: str, parameters: Mapping[str, Any]) -> Iterable[KnownValue]:
        query = self._session.queries[name]
        try:
            rows = self._session.ask(
                Question(name, parameters=parameters, select=select_of(limit=_MOST_ROWS + 1))
            ).frame
        except UserError as error:
            self.remarks.append(f"{name} has no answer here ({error})")
            return []
        if rows.height > _MOST_ROWS:
            self.remarks.append(f"{name} has more than {_MOST_ROWS:,} rows, so no number was compared with it")
            return []
        return [
            known
            for row in rows.iter_rows(named=True)
            for known in _values_of(AnswerRow(name, parameters, row, self.runs), query)
        ]


def _values_of(row: AnswerRow, query: Query) -> list[KnownValue]:
    """Values of a row with a measure: times, rates, energies, shares.  Counts describe the row instead."""
    values: list[KnownValue] = []
    for column in query.columns:
        measure, value = measure_of(column), row.own[column.name]
        if measure and isinstance(value, int | float) and math.isfinite(value) and not _is_trivial(value, measure):
            values.append(KnownValue(row, column.name, value * measure.factor, measure))
    return values


def _is_trivial(value: float, measure: Measure) -> bool:
    """Whether a value matches without meaning: a base has an efficiency of 1 by definition, and 0 has no digits."""
    return value == 0 or (measure.name == SHARE and value == 1)


def selector_of(known: KnownValue, values: Iterable[KnownValue]) -> str | None:
    """The shortest selector that matches only this row of the query, by at most two facts; None if there is none."""
    rows = [other.row for other in values if (other.row.query, other.column) == (known.row.query, known.column)]
    own = known.row.selectable
    ordered = sorted(own, key=lambda key: _KEYS.index(key) if key in _KEYS else len(_KEYS))
    for count in range(3):
        for keys in combinations(ordered, count):
            if sum(all(row.selectable.get(key) == own[key] for key in keys) for row in rows) == 1:
                where = ", ".join(f"{key}={_quoted(own[key])}" for key in keys)
                return f"{known.row.query}.{known.column}" + (f"[{where}]" if where else "")
    return None


def _quoted(value: str | int) -> str:
    """A value in a selector.  A text of digits remains a text."""
    text = literal(value)
    return f"'{value}'" if isinstance(value, str) and not text.startswith("'") else text
