"""Asks a large warehouse some of its runs at a time, where the rows of a run rest on that run alone.

DuckDB puts much of what memory cannot hold into files, but no lists: those of the step times of all runs of a large
warehouse are too many.  Some runs at a time take as long as all at once, or less, and hold as much as those.
"""

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from scalelens.database.answering import arrow_answer, arrow_pieces
from scalelens.database.connect import bound_memory, connect_to, needed_tables
from scalelens.database.opening import opened
from scalelens.database.record_tables import RecordTables
from scalelens.database.views import sql_text
from scalelens.queries.header import Query
from scalelens.queries.load import load
from scalelens.warehouse.log import Warehouse

if TYPE_CHECKING:
    import pyarrow as pa

    Elsewhere = Callable[[Callable[[RecordTables], pa.Table], list[RecordTables]], Iterator[tuple[int, pa.Table]]]

GROUP_ROWS = 10_000_000  # of the files of some runs; a run with more is asked by itself
LIGHT_GROUP_ROWS = 100_000_000  # for a query of a light partition: a group costs half a second before it is read
SORTING_GIB = 0.5  # held of an answer, while it is brought in order


def answer_by_run(
    root: Path,
    statement: str,
    runs: str,
    queries: Mapping[str, Query],
    closed: bool,
    is_light: bool,
    elsewhere: "Elsewhere | None" = None,
) -> "Iterator[pa.Table]":
    """The answer to a statement about the runs that a condition selects, in pieces and in the order of `run_id`.

    The statement says nothing of the condition, which may be about all runs: it is asked first.  `elsewhere` asks the
    groups of runs on other machines, which see the warehouse below the same path.
    """
    warehouse = Warehouse(root)
    condition = f"FROM selected_runs(runs := {sql_text(runs)})"
    of_condition = load((), condition)
    needed = needed_tables(statement, queries) | needed_tables(condition, of_condition)
    records = opened(warehouse, warehouse.texts(), needed | {"files"})
    selected = arrow_answer(connect_to(warehouse, records, condition, of_condition, closed), condition, not closed)
    rows_of_a_group = LIGHT_GROUP_ROWS if is_light and not elsewhere else GROUP_ROWS
    groups = groups_of(records, {*selected["run_id"].to_pylist()}, rows_of_a_group)
    if elsewhere:
        ask_of = functools.partial(answer_of_group, root.resolve(), statement, queries, closed)
        answers = (answer for _, answer in elsewhere(ask_of, groups))
    else:
        connections = (connect_to(warehouse, part, statement, queries, closed, of_members=True) for part in groups)
        answers = (piece for connection in connections for piece in arrow_pieces(connection, statement, not closed))
    yield from answers if len(groups) == 1 else in_order(answers)


def answer_of_group(
    root: Path, statement: str, queries: Mapping[str, Query], closed: bool, part: RecordTables
) -> "pa.Table":
    connection = connect_to(Warehouse(root), part, statement, queries, closed, of_members=True)
    return arrow_answer(connection, statement, not closed)


def groups_of(records: RecordTables, runs: set[str], rows_of_a_group: int) -> list[RecordTables]:
    """The records of some runs at a time.  Runs whose rows were written together are together, as far as may be.

    There is at least one group, which may be of no run.
    """
    batch_of = {content: number for number, batch in enumerate(records.batches) for content in batch.contents}
    files = records.tables["files"]
    rows_of = dict(zip(files["file_id"].to_pylist(), files["rows"].to_pylist(), strict=True))
    members = records.tables["members"]
    contents: dict[str, set[str]] = {run: set() for run in runs}
    for run, content in zip(members["run_id"].to_pylist(), members["file_id"].to_pylist(), strict=True):
        if run in contents:
            contents[run].add(content)
    groups: list[set[str]] = [set()]
    left = rows_of_a_group
    first_batch = {run: min((batch_of.get(content, -1) for content in contents[run]), default=-1) for run in runs}
    for run in sorted(runs, key=lambda run: (first_batch[run], run)):
        rows = sum(rows_of.get(content) or 0 for content in contents[run])
        if rows > left and groups[-1]:
            groups.append(set())
            left = rows_of_a_group
        groups[-1].add(run)
        left -= rows
    return [of_runs(records, group, set().union(*(contents[run] for run in group))) for group in groups]


def of_runs(records: RecordTables, runs: set[str], contents: set[str]) -> RecordTables:
    """What the records say of some runs, whose files have these contents."""
    import pyarrow as pa
    import pyarrow.compute as pc

    wanted = {"run_id": pa.array(sorted(runs), pa.string()), "file_id": pa.array(sorted(contents), pa.string())}

    def part(table: pa.Table) -> pa.Table:
        column = "run_id" if "run_id" in table.column_names else "file_id"
        return table.filter(pc.is_in(table[column], value_set=wanted[column]))

    batches = [batch for batch in records.batches if not contents.isdisjoint(batch.contents)]
    tables = {name: part(table) for name, table in records.tables.items()}
    return records._replace(tables=tables, batches=batches)


def in_order(pieces: "Iterable[pa.Table]") -> "Iterator[pa.Table]":
    """Rows in the order of their runs, and those of a run as they come."""
    held = duckdb.connect()
    bound_memory(held, SORTING_GIB)
    for number, piece in enumerate(pieces):
        rows = held.from_arrow(piece)
        rows.insert_into("answer") if number else rows.create("answer")
    yield from arrow_pieces(held, "FROM answer ORDER BY run_id, rowid")
