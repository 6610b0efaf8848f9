"""Writes the tables of a warehouse for other engines: a folder of Parquet files, or Delta tables.

Each table is as SQL sees it, with the run of each row, so that nothing of ScaleLens is needed to read it.
"""

import os
import secrets
import shutil
from pathlib import Path

import duckdb

from scalelens.database.connect import connect
from scalelens.database.texts import sql_text
from scalelens.errors import UserError
from scalelens.tables import documented
from scalelens.warehouse.files import io_errors_explained

FILE_BYTES = 256 << 20


def export_parquet(root: Path, folder: Path) -> dict[str, int]:
    """Writes each table as `TABLE/*.parquet`.  Returns the number of rows by table.

    The folder is there as a whole or not at all.  Raises UserError where it holds anything already.
    """
    folder = folder.resolve()
    with io_errors_explained(folder):
        if folder.exists() and any(folder.iterdir()):
            raise UserError(f"{folder} contains other files", "name a new or empty folder")
        connection = connect(root, {})
        unfinished = folder.with_name(f".{folder.name}-{secrets.token_hex(4)}.tmp")
        unfinished.mkdir(parents=True)
        try:
            rows = {name: _copy(connection, name, unfinished / name) for name in documented()}
            if folder.exists():
                folder.rmdir()
            os.rename(unfinished, folder)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    return rows


def _copy(connection: duckdb.DuckDBPyConnection, table: str, folder: Path) -> int:
    """Writes a table into a folder.  Returns the number of its rows."""
    try:
        statement = f"COPY (FROM {table}) TO {sql_text(str(folder))} (FORMAT parquet, COMPRESSION zstd, "
        result = connection.execute(f"{statement} FILE_SIZE_BYTES {FILE_BYTES})").fetchall()
    except duckdb.Error as error:
        raise _failed(table, error) from None
    return int(result[0][0])


def export_delta(root: Path, uri: str) -> dict[str, int]:
    """Writes each table as a Delta table `URI/TABLE`, as a new version where it is there.  Returns rows by table.

    Raises UserError where deltalake is not installed or cannot write there.
    """
    try:
        import deltalake
    except ImportError:
        raise UserError("deltalake is not installed here", "pip install 'scalelens[delta]'") from None
    connection = connect(root, {})
    rows = {}
    for name in documented():
        try:
            place = f"{uri.rstrip('/')}/{name}"
            deltalake.write_deltalake(place, _as_delta(connection, name), mode="overwrite", schema_mode="overwrite")
            rows[name] = int(connection.execute(f"SELECT count(*) FROM {name}").fetchall()[0][0])
        except (OSError, ValueError, duckdb.Error, deltalake.exceptions.DeltaError) as error:
            raise _failed(name, error) from None
    return rows


def _as_delta(connection: duckdb.DuckDBPyConnection, table: str) -> duckdb.DuckDBPyRelation:
    """A table with times to the microsecond: Delta knows none finer."""
    relation = connection.sql(f"FROM {table}")
    columns = [
        f"CAST({name} AS TIMESTAMP) AS {name}" if str(kind) == "TIMESTAMP_NS" else name
        for name, kind in zip(relation.columns, relation.types, strict=True)
    ]
    return relation.project(", ".join(columns))


def _failed(table: str, error: Exception) -> UserError:
    reason = str(error).strip().splitlines()[0]
    return UserError(f"cannot write the table {table} ({reason})", "fix this and export again")
