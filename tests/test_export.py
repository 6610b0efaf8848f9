"""`scalelens export`: other engines read what SQL sees."""

from pathlib import Path
from typing import TYPE_CHECKING, cast

import polars as pl
import pytest

from asking import ask_sql
from scalelens.database import export as exporting
from scalelens.ingestion.ingest import ingest
from scalelens.tables import documented
from test_shards import study

if TYPE_CHECKING:
    from command_line import Run


@pytest.fixture
def home(tmp_path: Path) -> Path:
    ingest([study(tmp_path / "logs")], tmp_path / "w", jobs=1)
    return tmp_path / "w"


def in_order(frame: pl.DataFrame) -> list[str]:
    return sorted(map(str, frame.rows()))


def test_polars_reads_back_all_tables(home: Path, tmp_path: Path, run: "Run") -> None:
    ran = run("export", tmp_path / "out", "-w", home)
    assert ran.code == 0 and ran.out == ""
    assert {path.name for path in (tmp_path / "out").iterdir()} == {*documented()}
    for table in documented():
        frame, there = pl.read_parquet(tmp_path / "out" / table / "*.parquet"), ask_sql(home, f"FROM {table}")
        assert frame.schema == there.schema and in_order(frame) == in_order(there), table


def test_a_folder_with_files_is_left_alone(home: Path, tmp_path: Path, run: "Run") -> None:
    ran = run("export", tmp_path, "-w", home)
    assert ran.code == 2 and "contains other files" in ran.err
    for arguments in ((), (tmp_path / "new", "--delta", str(tmp_path / "d"))):
        assert "exactly one destination" in run("export", *arguments, "-w", home).err


def test_a_failure_leaves_nothing(home: Path, tmp_path: Path, run: "Run", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporting, "FILE_BYTES", "no number")
    before = {*tmp_path.iterdir()}
    assert "cannot write the table" in run("export", tmp_path / "out", "-w", home).err
    assert {*tmp_path.iterdir()} == before


def test_delta_tables_are_read_back(home: Path, tmp_path: Path, run: "Run") -> None:
    deltalake = pytest.importorskip("deltalake", reason="the extra 'delta' is not installed")
    for version in range(2):
        assert run("export", "--delta", tmp_path / "delta", "-w", home).code == 0
        assert deltalake.DeltaTable(str(tmp_path / "delta" / "steps")).version() == version
    for table in documented():
        written = deltalake.DeltaTable(
            str(tmp_path / "delta" / table)
        ).to_pyarrow_table()  # polars 1.30 knows no deltalake 1
        frame = cast("pl.DataFrame", pl.from_arrow(written))
        there = ask_sql(home, f"FROM {table}")
        assert (frame.columns, frame.height) == (there.columns, there.height), table
        exact = [name for name, kind in there.schema.items() if not isinstance(kind, pl.Datetime)]
        assert in_order(frame.select(exact)) == in_order(there.select(exact)), table
