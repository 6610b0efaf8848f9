"""A warehouse as a DuckDB file, for programs that know nothing of ScaleLens: the tables of today, by their names."""

from datetime import UTC, datetime
from pathlib import Path

import duckdb

from scalelens.database.connect import create_tables, damaged_segment, needed_tables
from scalelens.database.opening import opened
from scalelens.database.record_tables import RecordTables
from scalelens.errors import UserError
from scalelens.tables import STORED
from scalelens.version import __version__
from scalelens.warehouse.log import Warehouse
from scalelens.whole_files import whole_file

_READ_FROM = "v1.4.0"  # the oldest DuckDB that opens the file: its own shell is often older than the library


def write_dated_file(root: Path, path: Path, copy: bool = False) -> None:
    """Writes the tables of a warehouse, and a table `about` that says of which one and of when.

    The stored tables are views over the segments of today, so that the file is small and made at once; `compact` may
    replace these segments.  With `copy` their rows are copied, and the file can be sent.  Queries are not in it: they
    call functions of ScaleLens.

    Raises UserError where there is no warehouse, or where the file is there already or cannot be written.
    """
    if path.exists():
        raise UserError(f"{path} already exists", "name another file, or remove it")
    warehouse = Warehouse(root.resolve())
    try:
        with warehouse.files.reading(), whole_file(path) as part:
            records = opened(warehouse, warehouse.texts())
            _write(part, warehouse, records, copy)
    except (OSError, duckdb.Error) as error:
        if copy and "parquet" in str(error).lower():
            raise damaged_segment(warehouse, duckdb.Error(str(error))) from None
        reason = next(iter(str(error).splitlines()), "no reason is given")
        raise UserError(f"{path} cannot be written ({reason})", "name another place") from None


def _write(part: Path, warehouse: Warehouse, records: RecordTables, copy: bool) -> None:
    try:
        with duckdb.connect(part, config={"storage_compatibility_version": _READ_FROM}) as connection:
            create_tables(connection, warehouse, records, needed_tables(None, {}))
            connection.execute(
                "CREATE TABLE about AS SELECT ? AS warehouse, ? AS scalelens_version, ? AS made_at_utc",
                [str(warehouse.root), __version__, datetime.now(UTC).replace(tzinfo=None)],
            )
            if copy:
                _copy_rows(connection)
            connection.execute("CHECKPOINT")  # to close is silent where the disk is full
        with duckdb.connect(part, read_only=True) as connection:
            connection.execute("FROM about").fetchall()
    finally:
        part.with_name(f"{part.name}.wal").unlink(missing_ok=True)  # where the disk was full


def _copy_rows(connection: duckdb.DuckDBPyConnection) -> None:
    """Puts tables in the place of the views of stored tables.  Other views name them, and go on to read them."""
    for name in STORED:
        connection.execute(f"CREATE TABLE _copy AS FROM {name}; DROP VIEW {name}; ALTER TABLE _copy RENAME TO {name}")
