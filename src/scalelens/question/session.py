"""The one way from a question to its answer: load the queries, check, connect, share helpers, carry out."""

import contextlib
import os
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import duckdb

from scalelens.database.connect import connect
from scalelens.database.errors import MissingNameError, SegmentError
from scalelens.database.execute import pieces_of, table_of
from scalelens.errors import UserError
from scalelens.queries.header import is_builtin
from scalelens.queries.load import load
from scalelens.question.answer import Answer, run_ids
from scalelens.question.checks import check
from scalelens.question.inputs import files_of_runs, inputs_of, members_of, names_of
from scalelens.question.once import SharedHelpers
from scalelens.question.question import EVERYTHING, Question
from scalelens.question.run_names import RUN_NAMES, names_by_id
from scalelens.warehouse.log import Warehouse

if TYPE_CHECKING:
    import pyarrow as pa

    from scalelens.question.by_run import Executor

# What lists the tables and macros of a connection: then all must be there.
_LISTS = re.compile(r"\b(?:SHOW|DESCRIBE|PRAGMA|duckdb_\w+|information_schema|pg_\w+|sqlite_\w+)\b", re.IGNORECASE)
_Result = TypeVar("_Result")
_ALWAYS = "selected_runs"  # by which the runs of a large warehouse are asked apart
KEPT_BYTES = 1 << 20  # of segments; fewer are read again in the time that a table for the next question takes
LARGE_BYTES = 1 << 26  # of segments; a question of fewer is mostly planned, and its answer can be held


def ask(
    root: Path,
    question: Question,
    folders: Iterable[Path] = (),
    also: str = "",
    executor: "Executor | None" = None,
) -> Answer:
    """The answer to a question; its first rows are there.

    `folders` hold queries of the user's.  `also` is SQL that the answer will be asked for beside its rows.  An
    `executor` asks some of the runs at a time, on other machines.
    Raises UserError for a query or parameter that does not exist, for SQL that DuckDB refuses, and where an executor is
    given to a question that is about all runs at once.
    """
    about = None if _LISTS.search(question.sql) else f"{question.statement}; {also}"
    try:
        return in_session(
            root, lambda session: session.ask(question, executor), folders, about, question.unsafe, bool(question.sql)
        )
    except MissingNameError:
        if about is None:
            raise
    # A statement can put a name together, so that it does not stand in it.
    return in_session(root, lambda session: session.ask(question, executor), folders, unsafe=question.unsafe)


def in_session(
    root: Path,
    work: "Callable[[Session], _Result]",
    folders: Iterable[Path] = (),
    about: str | None = None,
    unsafe: bool = False,
    by_hand: bool = True,
) -> "_Result":
    """What `work` makes of an open warehouse, opened again where `compact` replaced its segments meanwhile."""
    warehouse = Warehouse(root)
    while True:
        records = warehouse.names() if warehouse.exists() else []
        try:
            return work(Session(root, folders, about, unsafe, by_hand=by_hand))
        except SegmentError:
            if warehouse.names() == records:
                raise


class Session:
    """An open warehouse.  All its questions see the same records, and share what they compute.

    `about` is SQL that names what will be asked: only that is made.  Without it all tables and queries are there.
    `known` is a session whose helpers serve this one, too, if it sees the same files of the same runs.
    Without `by_hand` only our own queries are asked: of the SQL that somebody writes, conditions at most.
    """

    def __init__(
        self, root: Path, folders: Iterable[Path] = (), about: str | None = None, unsafe: bool = False,
        known: "Session | None" = None, by_hand: bool = True,
    ) -> None:  # fmt: skip
        self.root, self.folders, self.unsafe = root, tuple(folders), unsafe
        self.about = None if about is None else f"{about} {_ALWAYS}"
        self.warehouse = Warehouse(root)
        self.queries = load(self.folders, self.about)
        self._known = known
        self._by_hand = by_hand or not all(is_builtin(query.path) for query in self.queries.values())

    def open(self) -> None:
        """Opens the warehouse now, and not with the first question.  Raises UserError where there is none."""
        self.connection.execute("SELECT 1")

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Lets go of the connection."""
        if "connection" in self.__dict__:
            self.connection.close()

    @cached_property
    def connection(self) -> duckdb.DuckDBPyConnection:
        return connect(self.root, self.queries, self.about, closed=not self.unsafe, by_hand=self._by_hand)

    @cached_property
    def helpers(self) -> SharedHelpers:
        known: SharedHelpers | None = self._known.__dict__.get("helpers") if self._known else None
        if known and members_of(known.connection) != members_of(self.connection):
            known = None  # something was added meanwhile
        return SharedHelpers(self.connection, self.queries, known)

    def share(self, *questions: Question) -> None:
        """Computes once what several questions that will be asked have in common."""
        for question in questions:
            check(question, self.queries, self.folders)
        self.helpers.share(*(question.statement for question in questions))

    def ask(self, question: Question, executor: "Executor | None" = None) -> Answer:
        """The answer to a question; raises UserError as `ask` does."""
        if question.unsafe and not self.unsafe:
            raise ValueError("a session that is closed to other files cannot ask what reads them")
        check(question, self.queries, self.folders)
        pieces = self._pieces(question, executor)
        return Answer(question, self.queries, next(pieces), pieces, self)

    def inputs(self, answer: Answer) -> dict[str, str]:
        """Names of the files that an answer rests on, by id.

        SQL of the user's may rest on all files.  A row that is chosen rests on others that are not: an efficiency on
        its base.
        """
        if answer.question.query is None:
            return inputs_of(self.connection, self.warehouse, ())
        rows = answer.table if answer.question.has_all_rows else self.ask(answer.question.all_rows).table
        return inputs_of(self.connection, self.warehouse, run_ids(rows))

    def files_of(self, runs: Iterable[str]) -> dict[str, list[str]]:
        """Ids of the files of each of some runs."""
        return files_of_runs(self.connection, runs)

    @cached_property
    def file_names(self) -> dict[str, str]:
        """Names of files by id: their paths below the folder that was given to `ingest`."""
        return names_of(self.warehouse.live())

    @cached_property
    def run_names(self) -> dict[str, str]:
        """What to call the runs, by id."""
        return names_by_id(table_of(self.connection, RUN_NAMES))

    def _pieces(self, question: Question, executor: "Executor | None") -> "Iterator[pa.Table]":
        """Tables of the answer, at least one."""
        by_run = self._is_asked_by_run(question)
        if executor and not by_run:
            raise UserError(
                f"{question.query} with these options needs all runs at once, so a cluster cannot divide it",
                "leave --dask out; it is for queries that say Partition: run_id, without --where, --sort or --limit",
            )
        is_large = self.is_large
        if executor or (by_run and is_large):
            from scalelens.question.by_run import pieces_by_run

            with self.warehouse.files.reading():
                yield from pieces_by_run(self.warehouse, question, self.queries, executor)
            return
        may_explain = question.query is not None and self.queries[question.query].when_empty is not None
        self.helpers.share(question.statement, keeps_light=may_explain and self._has_more_than(KEPT_BYTES))
        if is_large:
            yield from pieces_of(self.connection, question.statement, self.unsafe)
        else:
            yield table_of(self.connection, question.statement, self.unsafe)

    def _is_asked_by_run(self, question: Question) -> bool:
        """Whether the runs can be asked apart.  A user's query may rest on all of them."""
        if question.query is None or question.select != EVERYTHING:
            return False
        all_builtin = all(is_builtin(query.path) for query in self.queries.values())
        return all_builtin and self.queries[question.query].is_asked_by_run(question.parameters)

    @property
    def is_large(self) -> bool:
        """Whether there are many bytes of segments."""
        return self._has_more_than(LARGE_BYTES)

    def _has_more_than(self, left: int) -> bool:
        """Whether the segments have more bytes."""
        with contextlib.suppress(FileNotFoundError, NotADirectoryError), os.scandir(self.warehouse.segments) as files:
            return any((left := left - file.stat().st_size) < 0 for file in files)
        return False
