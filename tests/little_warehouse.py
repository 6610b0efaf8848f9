"""A warehouse filled by hand, for tests of queries."""

import atexit
from collections.abc import Collection, Sequence
from functools import cache
from typing import Any

import duckdb
import pyarrow as pa

from asking import QUERIES, carried_out
from conftest import FIXTURES as ALL_FIXTURES
from scalelens import catalog
from scalelens.database.connect import plan_quickly
from scalelens.database.macros import add_macros
from scalelens.parsing.kernel_classes import kernel_class
from scalelens.tables import documented, schema

FIXTURES = ALL_FIXTURES / "queries"
TABLES = documented()

MEMBERS_OF_RUNS = """
INSERT INTO members BY NAME SELECT run_id AS file_id, 0 AS part, run_id, 'file' AS why FROM runs ANTI JOIN members USING (run_id)
"""
MEMBERS_OF_STEPS = """
UPDATE steps SET part = 0;
INSERT INTO members BY NAME SELECT DISTINCT file_id, part, run_id, 'file' AS why FROM steps
"""

# database/step_times.sql, of the table that the tests fill.
STEP_TIMES_OF_RUNS = """
CREATE MACRO _step_times_of(runs := '', of_epochs := false) AS TABLE
FROM step_times WHERE (NOT of_epochs OR epoch IS NOT NULL)
    AND (trim(runs) = '' OR run_id IN (FROM query('SELECT run_id FROM runs WHERE true' || and_selected(runs))))
"""

FILLED_TABLES = """
SELECT table_name FROM duckdb_tables() WHERE estimated_size > 0 AND database_name = current_database()
"""

CATALOGS = (
    "settings_catalog", "noise_catalog", "formulas_catalog", "published", "published_documents", "published_identities",
)  # fmt: skip

Row = dict[str, Any]


def insert(connection: duckdb.DuckDBPyConnection, table: str, rows: pa.Table) -> None:
    connection.register("arrow", rows)
    connection.execute(f"INSERT INTO {table} BY NAME FROM arrow")
    connection.unregister("arrow")


def fill_catalogs(connection: duckdb.DuckDBPyConnection) -> None:
    """They stay from test to test."""
    for name in CATALOGS:
        connection.execute(f"DELETE FROM {name}")
        insert(connection, name, catalog.table(name))


def empty_warehouse() -> duckdb.DuckDBPyConnection:
    """The documented tables without a row, and the queries."""
    connection = duckdb.connect(config={"threads": 1})
    plan_quickly(connection, is_little=True)
    for name, columns in TABLES.items():
        connection.register("arrow", schema(columns).empty_table())
        connection.execute(f"CREATE TABLE {name} AS FROM arrow")
        connection.unregister("arrow")
    fill_catalogs(connection)
    add_macros(connection, QUERIES, None)
    connection.execute(STEP_TIMES_OF_RUNS)
    return connection


@cache
def shared_warehouse() -> duckdb.DuckDBPyConnection:
    return empty_warehouse()


atexit.register(shared_warehouse.cache_clear)  # DuckDB complains of a connection that Python leaves open at its end


class Warehouse:
    """A warehouse filled by hand."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection | None = None, to_be_replaced: Collection[str] = ()
    ) -> None:
        """With an `empty_warehouse` of its own it stays as it is when another is made."""
        self.columns: list[tuple[str, str]] = []  # names and types of the last answer
        self.connection = connection or shared_warehouse()
        filled = self.connection.execute(FILLED_TABLES).fetchall()
        for name in {name for (name,) in filled} - {*CATALOGS, *to_be_replaced}:
            # A table keeps the size of what was deleted from it, by which questions are planned.
            self.connection.execute(f"CREATE OR REPLACE TABLE {name} AS FROM {name} LIMIT 0")

    def insert(self, table: str, rows: Sequence[Row]) -> None:
        if table == "events":
            rows = [{"class": kernel_class(row.get("name"), row.get("category")), **row} for row in rows]
        if rows:
            fields = [column for column in TABLES[table] if any(column.name in row for row in rows)]
            insert(self.connection, table, pa.Table.from_pylist(list(rows), schema=schema(tuple(fields))))
        if table == "runs":
            self.connection.execute(MEMBERS_OF_RUNS)

    def run(
        self, run_id: str, times: Sequence[float] = (), *, steps: Row | None = None, first: int = 1, **facts: Any
    ) -> None:
        """A run with its facts and one record per time; `steps` are further columns of the records."""
        common: Row = {"averaged_steps": 1, "value_kind": "instant", "attempt": 0} | (steps or {})
        self.insert("runs", [{"run_id": run_id, **facts}])
        self.insert(
            "step_times",
            [
                {"run_id": run_id, "file_id": run_id, "line": line, "step_s": step_s, **common}
                | {"step": first + line * common["averaged_steps"]}
                for line, step_s in enumerate(times)
            ],
        )

    def ask(self, query: str) -> list[Row]:
        """Rows of a statement."""
        self.columns, rows = carried_out(self.connection, query)
        return [dict(zip([name for name, _ in self.columns], row, strict=True)) for row in rows]

    def column(self, query: str) -> list[Any]:
        """The first column of a statement."""
        return [row[0] for row in carried_out(self.connection, query)[1]]


@cache
def rows_of_the_goldens() -> dict[str, pa.Table]:
    """Their CSV files, read once: most tests of queries begin with all of them."""
    with duckdb.connect() as connection:
        read = "FROM read_csv('{}', nullstr = '')".format
        return {path.stem: connection.sql(read(path)).to_arrow_table() for path in (FIXTURES / "tables").glob("*.csv")}


def little_warehouse(connection: duckdb.DuckDBPyConnection | None = None) -> Warehouse:
    """The warehouse of the goldens; a connection keeps their rows for the next time."""
    tables = ("members", *rows_of_the_goldens())
    execute = (connection or shared_warehouse()).execute
    if execute("FROM duckdb_databases() WHERE database_name = 'goldens'").fetchall():
        little = Warehouse(connection, to_be_replaced=tables)
        execute("; ".join(f"CREATE OR REPLACE TABLE {table} AS FROM goldens.{table}" for table in tables))
        return little
    little = Warehouse(connection)
    for table, rows in rows_of_the_goldens().items():
        insert(little.connection, table, rows)
    execute(MEMBERS_OF_STEPS)
    execute(MEMBERS_OF_RUNS)
    kept = (f"CREATE TABLE goldens.{table} AS FROM {table}" for table in tables)
    execute("; ".join(["ATTACH ':memory:' AS goldens", *kept]))
    return little
