"""What a question gave: rows, what their columns are, what to doubt, and where all of it comes from."""

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
    """A sentence that some rows hold against themselves."""

    column: str
    text: str
    rows: list[int]  # their places, from 0


class _Asked(Protocol):
    """The session that a question was asked in."""

    def inputs(self, answer: "Answer") -> dict[str, str]: ...

    @property
    def run_names(self) -> Mapping[str, str]: ...
    @property
    def file_names(self) -> Mapping[str, str]: ...

    def files_of(self, runs: Iterable[str]) -> dict[str, list[str]]: ...


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

    @property
    def key_columns(self) -> list[str]:
        return [name for name in _IDENTITY if name in self._first.column_names]

    @property
    def doubt_columns(self) -> list[str]:
        """Columns of a query that hold what its rows say against themselves; of the user's own SQL nothing is known."""
        return [name for name in DOUBTS if self.query and name in self._first.column_names]

    def part(self, first: int, most: int) -> "tuple[Answer, int]":
        """The same answer with at most so many rows from a place on, and how many rows there are in all.

        Pieces that are not wanted are not held.
        """
        import pyarrow as pa

        parts, seen = [self._first.slice(0, 0)], 0
        for piece in self.pieces:
            start, end = max(first - seen, 0), first + most - seen
            if end > 0 and start < piece.num_rows:
                parts.append(piece.slice(start, end - start))
            seen += piece.num_rows
        return Answer(self.question, self.queries, pa.concat_tables(parts), iter(()), self.session), seen

    @cached_property
    def inputs(self) -> dict[str, str]:
        """Names of the files that the answer rests on, by id (sha256 of the contents)."""
        return self.session.inputs(self)

    @property
    def file_names(self) -> Mapping[str, str]:
        """Names of the files of the warehouse, by id."""
        return self.session.file_names

    def files_of(self, runs: Iterable[str]) -> dict[str, list[str]]:
        """Ids of the files of each of some runs."""
        return self.session.files_of(runs)

    @property
    def run_names(self) -> Mapping[str, str]:
        """What to call the runs of the warehouse, by id."""
        return self.session.run_names

    def provenance(self, made: Mapping[str, Any]) -> dict[str, Any]:
        """What is needed to make a file of these rows again.  `made` says what was made of them."""
        from scalelens.queries.load import needed_by
        from scalelens.question.provenance import make_provenance

        return make_provenance(made, self.sql, self.inputs, self.frame, needed_by(self.sql, self.queries))


def doubts_in(rows: Iterable[Mapping[str, Any]], columns: Iterable[str]) -> list[_Doubt]:
    """What rows say against themselves, each sentence once, in the order in which they come."""
    found: dict[tuple[str, str], list[int]] = {}
    for place, row in enumerate(rows):
        for column in columns:
            if row.get(column):
                found.setdefault((column, row[column]), []).append(place)
    return [_Doubt(column, text, places) for (column, text), places in found.items()]


def run_ids(rows: "pa.Table") -> list[str]:
    """Runs that rows are about: their `run_id`, and the repeated runs that `run_ids` names."""
    found: set[str | None] = set()
    if "run_id" in rows.column_names:
        found |= set(rows["run_id"].to_pylist())
    if "run_ids" in rows.column_names:
        found |= {run for runs in rows["run_ids"].to_pylist() for run in runs or ()}
    return sorted(run for run in found if run is not None)
