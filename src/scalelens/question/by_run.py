"""Asks a large warehouse some of its runs at a time, where the rows of a run depend only on that run.

DuckDB puts much of what memory cannot hold into files, but no lists: those of the step times of all runs of a large
warehouse are too many.  Some runs at a time take as long as all at once, or less, and hold as much as those.
"""

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from scalelens.database.connect import bound_memory, connect_to
from scalelens.database.execute import pieces_of, table_of
from scalelens.database.opening import opened
from scalelens.database.record_tables import RecordTables
from scalelens.queries.header import Query
from scalelens.question.once import SharedHelpers
from scalelens.question.question import Question, call
from scalelens.warehouse.log import Warehouse

if TYPE_CHECKING:
    import pyarrow as pa

    Executor = Callable[[Callable[[RecordTables], pa.Table], list[RecordTables]], Iterator[tuple[int, pa.Table]]]

GROUP_ROWS = 10_000_000  # of the files of some runs; a run with more is asked by itself
LIGHT_GROUP_ROWS = 100_000_000  # for a query of a light partition: a group costs half a second before it is read
_SORTING_GIB = 0.5  # held of an answer, while it is brought in order


def pieces_by_run(
    warehouse: Warehouse, question: Question, queries: Mapping[str, Query], executor: "Executor | None" = None
) -> "Iterator[pa.Table]":
    """The answer to a query in pieces and in the order of `run_id`, asked some runs at a time.

    The condition of its parameter `runs` may be about all runs: it is asked first, of the whole warehouse.  An
    `executor` asks the groups of runs on other machines, which see the warehouse below the same path.
    """
    assert question.query is not None
    others = {name: value for name, value in question.parameters.items() if name != "runs"}
    of_group = Question(question.query, parameters=others, unsafe=question.unsafe)
    condition = f"FROM {call('selected_runs', {'runs': question.parameters.get('runs', '')})}"
    records = opened(warehouse, warehouse.texts())
    whole = connect_to(warehouse, records, condition, queries, closed=not question.unsafe)
    runs = {*table_of(whole, condition, question.unsafe)["run_id"].to_pylist()}
    is_light = queries[question.query].is_light and not executor
    groups = groups_of(records, runs, LIGHT_GROUP_ROWS if is_light else GROUP_ROWS)
    if executor:
        ask = functools.partial(answer_of_group, warehouse.root.resolve(), of_group, queries)
        answers = (answer for _, answer in executor(ask, groups))
    else:
        answers = (piece for group in groups for piece in _pieces_of_group(warehouse, of_group, queries, group))
    yield from answers if len(groups) == 1 else _in_order(answers)


def answer_of_group(root: Path, question: Question, queries: Mapping[str, Query], group: RecordTables) -> "pa.Table":
    import pyarrow as pa

    return pa.concat_tables(_pieces_of_group(Warehouse(root), question, queries, group))


def _pieces_of_group(
    warehouse: Warehouse, question: Question, queries: Mapping[str, Query], group: RecordTables
) -> "Iterator[pa.Table]":
    statement = question.statement
    connection = connect_to(warehouse, group, statement, queries, closed=not question.unsafe, of_members=True)
    SharedHelpers(connection, queries).share(statement)
    yield from pieces_of(connection, statement, question.unsafe)


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
    return [_of_runs(records, group, set().union(*(contents[run] for run in group))) for group in groups]


def _of_runs(records: RecordTables, runs: set[str], contents: set[str]) -> RecordTables:
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


def _in_order(pieces: "Iterable[pa.Table]") -> "Iterator[pa.Table]":
    """Rows in the order of their runs, and those of a run as they come."""
    held = duckdb.connect()
    bound_memory(held, _SORTING_GIB)
    for number, piece in enumerate(pieces):
        rows = held.from_arrow(piece)
        rows.insert_into("answer") if number else rows.create("answer")
    yield from pieces_of(held, "FROM answer ORDER BY run_id, rowid")
