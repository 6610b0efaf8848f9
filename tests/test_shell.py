"""`scalelens shell`, at a prompt and behind a pipe, and `scalelens connect`, whose file other programs open."""

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import polars as pl
import pytest

import scalelens
from command_line import Run, one_line, runner
from logs import megatron_line
from scalelens.ingestion.ingest import ingest
from scalelens.tables import documented

SHELL = [sys.executable, "-m", "scalelens", "shell"]


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shell")
    (folder / "run.out").write_text("".join(megatron_line(step) for step in range(1, 6)))
    ingest([folder], folder / "w", jobs=1)
    return folder / "w"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    return runner(capsys, monkeypatch)


def piped(warehouse: Path, text: str, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*SHELL, "-w", str(warehouse), *options], input=text, capture_output=True, text=True)


def test_a_statement_ends_with_a_semicolon_and_the_last_with_the_input(warehouse: Path) -> None:
    done = piped(warehouse, "SELECT count(*) AS n\nFROM steps;\n\nSELECT n_steps FROM batch_stats(exclude := 'none')")
    assert (done.returncode, done.stdout, done.stderr) == (0, "n\n5\nn_steps\n5\n", "")


def test_commands_of_the_shell(warehouse: Path) -> None:
    words = piped(warehouse, ".tables\n.queries\n.what\n.quit\nSELECT 1 AS one_after_the_end;\n").stdout
    assert words.count("A statement ends with a semicolon") == 1
    tables, queries = words.partition("A statement ends")[0].split(), words.split()
    assert "step_times" in tables and "scaling" in queries
    assert "one_after_the_end" not in queries


def test_behind_a_pipe_the_first_failure_ends_it(warehouse: Path) -> None:
    done = piped(warehouse, "FROM nowhere;\nSELECT 1 AS one;\n")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("scalelens: ") and "nowhere" in done.stderr


def test_it_reads_the_warehouse_alone(warehouse: Path, tmp_path: Path) -> None:
    for statement in ("CREATE TABLE a AS SELECT 1;", f"COPY (SELECT 1) TO '{tmp_path / 'x.csv'}';"):
        assert "may write" in piped(warehouse, statement).stderr
    (tmp_path / "x.csv").write_text("a\n1\n")
    assert piped(warehouse, f"FROM '{tmp_path / 'x.csv'}';").returncode == 2
    assert piped(warehouse, f"FROM '{tmp_path / 'x.csv'}';", "--unsafe").stdout == "a\n1\n"


def test_at_a_prompt_it_goes_on_after_a_mistake_and_remembers(warehouse: Path, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path), "TERM": "dumb", "COLUMNS": "80"}
    process = subprocess.Popen(
        [*SHELL, "-w", str(warehouse)], stdin=theirs, stdout=theirs, stderr=theirs, env=environment, close_fds=True
    )
    os.close(theirs)
    seen = ""

    def until(text: str) -> None:
        nonlocal seen
        limit = time.monotonic() + 60
        while text not in seen and time.monotonic() < limit:
            if select.select([ours], [], [], 1)[0]:
                seen += os.read(ours, 4096).decode(errors="replace")
        assert text in seen, seen
        seen = seen.partition(text)[2]

    until("scalelens> ")
    os.write(ours, b"FROM nowhere;\n")
    until("nowhere does not exist")
    until("scalelens> ")
    os.write(ours, b"SELECT 40\n")
    until("...> ")
    os.write(ours, b"+ 2 AS sum;\n")
    until("42")
    until("scalelens> ")
    os.write(ours, b"\x04")
    assert process.wait(timeout=60) == 0
    os.close(ours)
    assert "FROM nowhere;" in (tmp_path / "scalelens/history").read_text()


@pytest.mark.parametrize("copy", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_file_of_connect_has_every_table(warehouse: Path, tmp_path: Path, run: Run, copy: bool) -> None:
    file = tmp_path / "study.duckdb"
    assert run("connect", "-o", file, "-w", warehouse, *(["--copy"] if copy else [])).code == 0
    with duckdb.connect(file, read_only=True) as connection:
        opened = scalelens.connect(warehouse)
        for table in documented():
            expected = opened.sql(f"FROM {table}").columns
            assert connection.sql(f"FROM {table}").columns == expected, table
        assert connection.execute("SELECT count(*) FROM step_times").fetchall() == [(5,)]
        assert pl.from_arrow(connection.sql("SELECT step FROM steps ORDER BY step").to_arrow_table())[
            "step"
        ].to_list() == [1, 2, 3, 4, 5]
        ((stored_for,),) = connection.execute(
            "SELECT tags['storage_version'] FROM duckdb_databases() WHERE database_name = 'study'"
        ).fetchall()
        assert stored_for == "v1.4.0+", "the shell of another release must open the file"
        views = connection.execute("SELECT sql FROM duckdb_views() WHERE NOT internal").fetchall()
        assert not re.search(r"\bif\(", f"{views}"), "DuckDB 1.4 has no function of this name in a stored view"
        ((home, version),) = connection.execute("SELECT warehouse, scalelens_version FROM about").fetchall()
        assert (home, version) == (str(warehouse.resolve()), scalelens.__version__)


def test_a_copy_needs_no_warehouse(warehouse: Path, tmp_path: Path, run: Run) -> None:
    home = tmp_path / "w"
    shutil.copytree(warehouse, home)
    file = tmp_path / "study.duckdb"
    assert run("connect", "-o", file, "--copy", "-w", home).code == 0
    shutil.rmtree(home)
    with duckdb.connect(file, read_only=True) as connection:
        assert connection.execute("SELECT name, outcome FROM runs").fetchall() == [(warehouse.parent.name, "unknown")]
        assert connection.execute("SELECT count(*) FROM step_times").fetchall() == [(5,)]


def test_a_file_that_is_there_is_kept(warehouse: Path, tmp_path: Path, run: Run) -> None:
    file = tmp_path / "study.duckdb"
    file.write_text("mine")
    one_line(run("connect", "-o", file, "-w", warehouse), "already exists")
    assert file.read_text() == "mine"
    one_line(run("connect", "-o", tmp_path / "no/x.duckdb", "-w", warehouse), "cannot be written")
    one_line(run("connect", "-o", tmp_path / "y.duckdb", "-w", tmp_path / "none"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["study.duckdb"]
