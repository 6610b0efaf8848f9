"""Opens a warehouse as a DuckDB connection: documented tables as views over the live segments, queries as macros."""

import atexit
import contextlib
import os
import tempfile
import uuid
import weakref
from collections.abc import Mapping
from pathlib import Path

import duckdb

from scalelens import catalog, ending
from scalelens.database import views
from scalelens.database.errors import SegmentError
from scalelens.database.inferred_params import StatedFact, inferred_params
from scalelens.database.macros import add_macros
from scalelens.database.opening import opened
from scalelens.database.record_tables import RecordTables, create_record_tables
from scalelens.database.texts import sql_text
from scalelens.errors import UserError
from scalelens.queries.header import Query, is_builtin, names_in
from scalelens.tables import STORED, documented
from scalelens.units import ratio
from scalelens.warehouse.log import Warehouse
from scalelens.warehouse.records import segment

_MEMORY_GIB = 2.5  # of DuckDB's own: with what else a question holds, less than 4 GB of a shared login node
_UNITS = {name: ratio(name, "GiB") for name in ("KiB", "MiB", "GiB")}
# An optimizer of DuckDB 2 that takes a fifth of the time of our larger queries, and none is faster by it.
_SLOW_TO_PLAN = ("projection_pullup",)
# Optimizers of DuckDB that pay where there are many rows.  Little rows are read in the time that these take to plan.
# Nor does an answer depend on them (tests/test_invariance.py): what is added up is added up in order.
_FOR_MANY_ROWS = (
    "aggregate_reuse", "column_lifetime", "common_subplan", "compressed_materialization", "cte_filter_pusher",
    "duplicate_groups", "join_filter_pushdown", "late_materialization", "outer_join_simplification",
    "partial_aggregate_pushdown", "partitioned_execution", "projection_placement", "self_join_aggregate",
    "statistics_propagation", "top_n_window_elimination", "window_self_join",
)  # fmt: skip
# Our own queries name their tables in an order in which little rows are joined at once.  SQL written by hand may not.
_FOR_SQL_BY_HAND = ("join_order",)

# Open connections, each with the folder that DuckDB makes for its temporary files if it needs one.
_open: "weakref.WeakKeyDictionary[duckdb.DuckDBPyConnection, str]" = weakref.WeakKeyDictionary()
KEPT: list[duckdb.DuckDBPyConnection] = []  # until the process ends


@atexit.register
def _close() -> None:
    """Closes what is open when the process ends, where DuckDB has temporary files, so that it removes them.

    Closing takes as long as opening, and the system takes back all the rest in any case.
    """
    for connection, folder in list(_open.items()):
        if os.path.exists(folder):
            connection.close()


def connect(
    root: Path,
    queries: Mapping[str, Query],
    about: str | None = None,
    closed: bool = False,
    by_hand: bool = True,
) -> duckdb.DuckDBPyConnection:
    """Opens a warehouse.  Tables: see `tables.py`; macros: the `queries`.

    With SQL that it is `about`, only what that needs is made.  A `closed` connection opens no file but the segments: a
    question that somebody else wrote cannot read another file.  Without `by_hand`, only our own queries are asked.

    Raises UserError where there is no warehouse at `root`, or one written by a newer version.
    """
    warehouse = Warehouse(root)
    reading = warehouse.files.reading()
    try:
        records = opened(warehouse, warehouse.texts())
        connection = connect_to(warehouse, records, about, queries, closed, by_hand=by_hand)
    except BaseException:
        reading.release()
        raise
    weakref.finalize(connection, reading.release)
    if ending.is_near:
        KEPT.append(connection)  # otherwise it is closed as soon as nothing refers to it
    return connection


def connect_to(
    warehouse: Warehouse,
    records: RecordTables,
    about: str | None,
    queries: Mapping[str, Query],
    closed: bool = False,
    of_members: bool = False,
    by_hand: bool = True,
) -> duckdb.DuckDBPyConnection:
    """The same from what its records say.  `of_members` leaves out rows of files that belong to none of their runs."""
    needed = needed_tables(about, queries)
    stored = needed.intersection(STORED)
    is_little = closed and all(views.is_small(table, warehouse, records.batches) for table in stored)
    # A thread for each core takes longer to start, and to wait for, than a little work takes.
    connection = duckdb.connect(":memory:", config={"threads": "1"} if is_little else {})
    connection.execute(
        "SET TimeZone = 'UTC'; SET autoinstall_known_extensions = false; SET autoload_known_extensions = false; "
        "SET parquet_metadata_cache = true; "  # segments never change
        "SET enable_progress_bar = false"  # it would stand in the answer, where DuckDB takes a worker for a terminal
    )
    plan_quickly(connection, is_little, by_hand)
    _open[connection] = bound_memory(connection)
    try:
        create_tables(connection, warehouse, records, needed, copies_small=True, of_members=of_members)
    except duckdb.IOException as error:
        raise damaged_segment(warehouse, error) from None
    called = None if about is None else names_in(about).union(*(names_in(query.sql) for query in queries.values()))
    add_macros(connection, queries, called)
    if closed:
        close_to_files(connection, warehouse)
    return connection


def plan_quickly(connection: duckdb.DuckDBPyConnection, is_little: bool, by_hand: bool = False) -> None:
    """Leaves out what planning does not need, of little rows, and of SQL that is ours or was written `by_hand`."""
    spared = _SLOW_TO_PLAN + (_FOR_MANY_ROWS + (() if by_hand else _FOR_SQL_BY_HAND) if is_little else ())
    known = {name for (name,) in connection.execute("FROM duckdb_optimizers()").fetchall()}
    connection.execute(
        f"SET disabled_optimizers = '{','.join(sorted(known.intersection(spared)))}'; "
        "SET asof_loop_join_threshold = 0"  # DuckDB's guess of how few rows there are is often wrong: then it is slow
    )


def bound_memory(connection: duckdb.DuckDBPyConnection, most_gib: float = _MEMORY_GIB) -> str:
    """Lets DuckDB hold so much; what a question needs beyond that goes into files, for as long as it is asked.

    Returns the folder of these files, which DuckDB makes when it needs one.
    Raises UserError where the environment variable SCALELENS_MEMORY says another size that is none.
    """
    with contextlib.suppress(OSError):  # no folder for such files: DuckDB then makes one here, if it comes to that
        folder = os.path.join(tempfile.gettempdir(), f"scalelens-{uuid.uuid4().hex}")
        connection.execute(f"SET temp_directory = {sql_text(folder)}")
    limit = os.environ.get("SCALELENS_MEMORY")
    asked = "SELECT current_setting('memory_limit'), current_setting('temp_directory')"
    ((given, folder),) = connection.execute(asked).fetchall()
    size, unit = given.split()
    is_little = unit in _UNITS and float(size) * _UNITS[unit] <= most_gib  # a small machine, or a job's cgroup
    if limit or not is_little:
        try:
            connection.execute(f"SET memory_limit = {sql_text(limit or f'{most_gib}GiB')}")
        except duckdb.Error:
            raise UserError(f"SCALELENS_MEMORY={limit} is not a size", "write for example 16GB") from None
    return str(folder)


def create_tables(
    connection: duckdb.DuckDBPyConnection,
    warehouse: Warehouse,
    records: RecordTables,
    needed: set[str],
    copies_small: bool = False,
    of_members: bool = False,
) -> None:
    """Makes tables and views.  Stored tables are views, or with `copies_small` tables, where they are small."""
    create_record_tables(connection, records, needed)
    for name in catalog.CATALOGS:
        if name in needed:
            connection.from_arrow(catalog.table(name)).create(name)
    stored = [table for table in STORED if table in needed]
    names = (segment(table, batch.id) for batch in records.batches for table in stored if table in batch.tables)
    warehouse.files.fetch(warehouse.segments, names)
    for table in stored:
        of_table = views.stored(table, warehouse, records.batches, copies_small, of_members)
        _read_segments(connection, of_table, warehouse)
    if "params" in needed:
        stated = _read_segments(connection, views.stated_facts(), warehouse)
        if inferred := inferred_params([StatedFact(*row) for row in stated.fetchall()]):
            connection.from_arrow(inferred).create("_inferred_params")
            connection.execute(views.with_inferred_params(warehouse, records.batches, copies_small, of_members))
    if "runs" in needed:
        _read_segments(connection, views.runs(records.labels), warehouse)
    if "step_times" in needed:
        connection.execute(views.step_times())


def close_to_files(connection: duckdb.DuckDBPyConnection, warehouse: Warehouse) -> None:
    """Lets a connection open only the segments, permanently.  DuckDB would let it write there: `answer` does not."""
    folders = {str(warehouse.segments), os.path.abspath(warehouse.segments)}
    connection.execute(
        f"SET allowed_directories = [{', '.join(map(sql_text, sorted(folders)))}]; "
        "SET python_enable_replacements = false; SET enable_external_access = false; SET lock_configuration = true"
    )


def _read_segments(
    connection: duckdb.DuckDBPyConnection, statement: str, warehouse: Warehouse
) -> duckdb.DuckDBPyConnection:
    """Executes what opens segments: UserError where one is missing or damaged.  The connection holds the rows."""
    try:
        return connection.execute(statement)
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except duckdb.OutOfMemoryException as error:
        reason = str(error).strip().splitlines()[0]
        raise UserError(f"{warehouse.root}: {reason}", "run the query on a machine with more memory") from None
    except duckdb.Error as error:
        raise damaged_segment(warehouse, error) from None


def damaged_segment(warehouse: Warehouse, error: duckdb.Error) -> SegmentError:
    reason = str(error).strip().splitlines()[0]
    return SegmentError(
        f"a segment of {warehouse.root} is missing or damaged ({reason})",
        f"see how to repair it: scalelens check -w {warehouse.root}",
    )


def needed_tables(about: str | None, queries: Mapping[str, Query]) -> set[str]:
    """Tables that a statement needs, with those that they are made of; all tables where there is no statement."""
    if about is None:
        return {*documented()}
    all_builtin = all(is_builtin(query.path) for query in queries.values())  # a user's query may give ours a text
    reads = (query.reads(about if all_builtin else None) for query in queries.values())
    named = names_in(about).union(["members"], *reads)
    return named | {made_of for name, made_of in (("runs", "params"), ("step_times", "steps")) if name in named}
