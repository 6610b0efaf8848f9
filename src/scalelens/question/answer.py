"""What a question gave: rows, what their columns are, what to doubt, and where all of it comes from."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from scalelens.database.execute import as_frame
from scalelens.question.question import Question

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

    from scalelens.queries.header import Query, QueryColumn

DOUBTS = ("warning", "note", "reason", "abstention")  # columns that hold sentences
# Columns that say what a row is about, in the order of a key.
_IDENTITY = (
    "series", "run_id", "run", "name", "system", "model", "node", "place", "device", "rank", "scope", "attempt",
    "phase", "epoch", "step", "train_step", "devices", "global_batch_size", "class", "collective", "kernel", "operator",
    "setting", "key", "rule", "metric", "measure", "side", "file_id", "line",
)  # fmt: skip


class _Doubt(NamedTuple):
    """A sentence that a row holds against itself."""

    key: str  # of the row
    column: str
    text: str


class _Asked(Protocol):
    """The session that a question was asked in."""

    def inputs(self, answer: "Answer") -> dict[str, str]: ...

    @property
    def run_names(self) -> Mapping[str, str]: ...


class Answer:
    """The rows of a question, all at once (`table`, `frame`) or piece by piece (`pieces`, which can be read once)."""

    def __init__(
        self,
        question: Question,
        queries: "Mapping[str, Query]",
        first: "pa.Table",
        rest: "Iterator[pa.Table]",
        session: _Asked,
    ) -> None:
        """`queries` has those that the question needs, and perhaps others."""
        self.question, self.queries, self.session = question, queries, session
        self._first, self._rest = first, rest

    @property
    def pieces(self) -> "Iterator[pa.Table]":
        yield self._first
        yield from self._rest

    @cached_property
    def table(self) -> "pa.Table":
        import pyarrow as pa

        return pa.concat_tables(self.pieces)

    @cached_property
    def frame(self) -> "pl.DataFrame":
        return as_frame(self.table)

    @property
    def sql(self) -> str:
        return self.question.statement

    @property
    def query(self) -> "Query | None":
        """The query that was asked; None for SQL of the user's."""
        return self.queries.get(self.question.query or "")

    @property
    def columns(self) -> "dict[str, QueryColumn]":
        """The unit and meaning of each column that the query documents; of the user's own SQL nothing is known."""
        known = {column.name: column for column in self.query.columns} if self.query else {}
        return {name: known[name] for name in self._first.column_names if name in known}

    @cached_property
    def keys(self) -> list[str]:
        """A name for each row, which stays the same as long as what the row is about does."""
        if not self.key_columns:
            return _row_keys([{}] * self.frame.height)
        return _row_keys(self.frame.select(self.key_columns).iter_rows(named=True))

    @property
    def key_columns(self) -> list[str]:
        return [name for name in _IDENTITY if name in self._first.column_names]

    @property
    def doubts(self) -> list[_Doubt]:
        """What the rows say against themselves, row by row."""
        rows = zip(self.keys, self.frame.iter_rows(named=True), strict=True)
        return [_Doubt(key, column, row[column]) for key, row in rows for column in DOUBTS if row.get(column)]

    @cached_property
    def inputs(self) -> dict[str, str]:
        """Names of the files that the answer rests on, by id (sha256 of the contents)."""
        return self.session.inputs(self)

    @property
    def run_names(self) -> Mapping[str, str]:
        """What to call the runs of the warehouse, by id."""
        return self.session.run_names

    def provenance(self, made: Mapping[str, Any]) -> dict[str, Any]:
        """What is needed to make a file of these rows again.  `made` says what was made of them."""
        from scalelens.queries.load import needed_by
        from scalelens.question.provenance import make_provenance

        return make_provenance(made, self.sql, self.inputs, self.frame, needed_by(self.sql, self.queries))


def _row_keys(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """A name for each row; a second one of a name ends in #2."""
    return numbered("/".join(f"{name}={value}" for name, value in row.items() if value is not None) for row in rows)


def numbered(keys: Iterable[str]) -> list[str]:
    """Keys of rows, none of them twice and none empty."""
    seen: Counter[str] = Counter()
    found = []
    for key in keys:
        seen[key] += 1
        found.append(f"{key}#{seen[key]}" if seen[key] > 1 or not key else key)
    return found


def run_ids(rows: "pa.Table") -> list[str]:
    """Runs that rows are about: their `run_id`, and the repeated runs that `run_ids` names."""
    found: set[str | None] = set()
    if "run_id" in rows.column_names:
        found |= set(rows["run_id"].to_pylist())
    if "run_ids" in rows.column_names:
        found |= {run for runs in rows["run_ids"].to_pylist() for run in runs or ()}
    return sorted(run for run in found if run is not None)
