"""Tables that follow from the commit records alone: files, members, and facts about runs and in names.

Here is what they are.  What makes them (record_rows.py) is slow to load, and a question mostly finds them made before.
"""

from typing import NamedTuple

import duckdb
import msgspec
import pyarrow as pa

from scalelens import arrow_compute as pc
from scalelens.tables import FILES, INT, MEMBERS, RUN_ID, SMALL, STORED, TEXT, TIME, Column

_RUN_BASICS = (
    Column("run_id", TEXT, ""), Column("name", TEXT, ""), Column("name_of_place", TEXT, ""), Column("path", TEXT, ""),
    Column("started_at", TIME, ""), Column("ended_at", TIME, ""), Column("attempts", SMALL, ""),
    Column("outcome", TEXT, ""), Column("outcome_line", INT, ""),
)  # fmt: skip

# Columns of each table, and the table of `tables.py` that it is a part of.
TABLES: dict[str, tuple[tuple[Column, ...], str]] = {
    "members": (MEMBERS, "members"),
    "files": (FILES, "files"),
    "_run_basics": (_RUN_BASICS, "runs"),
    "_path_params": (STORED["params"], "params"),
    "_sidecar_params": ((RUN_ID, *STORED["params"]), "params"),
    "_sidecar_problems": (STORED["problems"], "problems"),
    "_copy_problems": (STORED["problems"], "problems"),
}
# Columns by which the rows of each table are sorted, so that their order does not depend on how they came there.
ORDERS = {
    "members": ("run_id", "file_id", "part"),
    "files": ("path", "file_id"),
    "_run_basics": ("path", "run_id"),
    "_path_params": ("file_id", "part", "key"),
    "_sidecar_params": ("run_id", "key"),
    "_sidecar_problems": ("file_id", "line", "reason"),
    "_copy_problems": ("file_id", "part"),
}


class LiveBatch(msgspec.Struct, frozen=True):
    """Segments with rows that count, and which of the contents in them do and do not count."""

    id: str
    tables: list[str]
    schema: int
    stale: list[str]
    contents: list[str]


class RecordTables(NamedTuple):
    """All that a connection needs from the records."""

    tables: dict[str, pa.Table]
    label_values: pa.Table  # by run, the labels in sidecars, and whether each is an integer
    batches: list[LiveBatch]

    @property
    def labels(self) -> dict[str, str]:
        """Labels and the SQL type of each: BIGINT if every sidecar gives an integer."""
        types: dict[str, str] = {}
        for name, is_int in zip(*(self.label_values[column].to_pylist() for column in ("key", "is_int")), strict=True):
            types[name] = "BIGINT" if is_int and types.get(name, "BIGINT") == "BIGINT" else "VARCHAR"
        return types


class UpdateContext(msgspec.Struct):
    """What an update needs in addition to the tables."""

    newest_order: int  # of all commits
    described_folders: dict[str, str]  # folders that files describe, and for each the folder that stands for its run
    needed: list[str]  # paths of sidecars and system files, which any run may belong to
    shared: list[str]  # paths and contents that may change many runs when they change
    records: list[str]  # names of all records, in the order in which `entry_records` counts them


class State(msgspec.Struct):
    """The record tables, the ties between contents, and the records that hold the entries of each content."""

    tables: RecordTables
    context: UpdateContext
    ties: pa.Table
    entry_records: pa.Table


def in_order(name: str, table: pa.Table) -> pa.Table:
    """A table sorted by its columns in ORDERS."""
    return pc.sorted_by(table, ORDERS[name])


def create_record_tables(connection: duckdb.DuckDBPyConnection, records: RecordTables, needed: set[str]) -> None:
    """Creates the tables in DuckDB, as far as they are needed."""
    for name, (_, part_of) in TABLES.items():
        if part_of in needed:
            connection.from_arrow(records.tables[name]).create(name)
