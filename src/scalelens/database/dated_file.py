"""A warehouse as a DuckDB file, for programs that know nothing of ScaleLens: the tables of today, by their names."""

from datetime import UTC, datetime
from pathlib import Path

import duckdb

from scalelens.database.connect import create_tables, damaged_segment, needed_tables
from scalelens.database.opening import opened
from scalelens.errors import UserError
from scalelens.tables import STORED
from scalelens.version import __version__
from scalelens.warehouse.log import Warehouse

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
    needed = needed_tables(None, {})
    records = opened(warehouse, warehouse.texts(), needed)
    being_written = path.with_name(f".{path.name}.tmp")
    being_written.unlink(missing_ok=True)
    try:
        with duckdb.connect(being_written, config={"storage_compatibility_version": _READ_FROM}) as connection:
            create_tables(connection, warehouse, records, needed)
            connection.execute(
                "CREATE TABLE about AS SELECT ? AS warehouse, ? AS scalelens_version, ? AS made_at_utc",
                [str(warehouse.root), __version__, datetime.now(UTC).replace(tzinfo=None)],
            )
            if copy:
                _copy_rows(connection)
        being_written.rename(path)
    except (OSError, duckdb.IOException) as error:
        if copy and "parquet" in str(error).lower():
            raise damaged_segment(warehouse, duckdb.Error(str(error))) from None
        raise UserError(f"{path} cannot be written ({str(error).splitlines()[0]})", "name another place") from None
    finally:
        being_written.unlink(missing_ok=True)


def _copy_rows(connection: duckdb.DuckDBPyConnection) -> None:
    """Puts tables in the place of the views of stored tables.  Other views name them, and go on to read them."""
    for name in STORED:
        connection.execute(f"CREATE TABLE _copy AS FROM {name}; DROP VIEW {name}; ALTER TABLE _copy RENAME TO {name}")
