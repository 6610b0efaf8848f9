"""The stored tables and their version: a changed table has a higher SCHEMA_VERSION, so that older segments are read as such.

Goldens: tests/fixtures/schema/<version>.csv, written once for each version by `pytest --update` and never changed.
"""

import csv
import io
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest

from conftest import FIXTURES
from scalelens.tables import FLOAT, OLDEST_SCHEMA, SCHEMA_VERSION, STORED, TEXT, Column, documented, sql_type

SCHEMAS = FIXTURES / "schema"

Tables = Mapping[str, tuple[Column, ...]]


def as_csv(tables: Tables) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("table", "column", "type"))
    writer.writerows((table, column.name, column.type) for table, columns in tables.items() for column in columns)
    return text.getvalue()


def hold_to_version(tables: Tables, version: int, folder: Path, update: bool) -> None:
    """Fails where tables are not what their version was; a golden is written for a version that has none."""
    golden = folder / f"{version}.csv"
    if update and not golden.exists():
        golden.write_text(as_csv(tables))
    assert golden.exists(), f"SCHEMA_VERSION {version} is new: pytest --update, and commit {golden.name}"
    assert golden.read_text() == as_csv(tables), "a stored table has changed: raise SCHEMA_VERSION in tables.py"


def test_the_version_rises_with_a_change(request: pytest.FixtureRequest) -> None:
    hold_to_version(STORED, SCHEMA_VERSION, SCHEMAS, request.config.getoption("--update"))


@pytest.mark.parametrize("update", [False, True])
def test_a_change_needs_a_version_and_is_not_updated_away(tmp_path: Path, update: bool) -> None:
    before, after = {"t": (Column("a_s", FLOAT, ""),)}, {"t": (Column("a_s", TEXT, ""),)}
    with pytest.raises(AssertionError, match="SCHEMA_VERSION 1 is new: pytest --update"):
        hold_to_version(before, 1, tmp_path, update=False)
    hold_to_version(before, 1, tmp_path, update=True)
    with pytest.raises(AssertionError, match=r"raise SCHEMA_VERSION in tables\.py"):
        hold_to_version(after, 1, tmp_path, update)
    hold_to_version(after, 2, tmp_path, update=True)
    assert (tmp_path / "1.csv").read_text() == "table,column,type\nt,a_s,double\n"


def test_a_column_keeps_its_type_as_long_as_old_segments_are_read() -> None:
    types: dict[tuple[str, str], set[str]] = {}
    for version in range(OLDEST_SCHEMA, SCHEMA_VERSION + 1):
        for row in csv.DictReader((SCHEMAS / f"{version}.csv").open()):
            types.setdefault((row["table"], row["column"]), set()).add(row["type"])
    assert {name: several for name, several in types.items() if len(several) > 1} == {}, "raise OLDEST_SCHEMA too"


def test_every_type_is_known_to_sql() -> None:
    assert {sql_type(column) for columns in documented().values() for column in columns} >= {"VARCHAR", "DOUBLE"}
    with pytest.raises(KeyError):
        sql_type(Column("finished", pa.date32(), "a type that SQL_TYPES does not know"))
