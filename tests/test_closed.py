"""A question reads the warehouse and nothing else: `sql`, `query` and the conditions that go into them."""

import gc
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from asking import connect
from command_line import one_line
from scalelens.ingestion.ingest import ingest
from scalelens.warehouse.readers import FOLDER
from test_warehouse import write_logs

if TYPE_CHECKING:
    from command_line import Run


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse that no test changes."""
    return beside_a_secret(tmp_path_factory.mktemp("closed"))


def beside_a_secret(folder: Path) -> Path:
    ingest([write_logs(folder / "logs", 2)], folder / "w")
    (folder / "secret.csv").write_text("a\n1\n")
    return folder / "w"


def statements(home: Path) -> list[str]:
    inside, outside = home / "segments" / "new", home.parent / "new"
    return [
        f"FROM read_csv('{home.parent}/secret.csv')",
        f"FROM '{home.parent}/secret.csv'",
        f"FROM read_text('{home}/segments/../../secret.csv')",
        f"FROM glob('{home.parent}/*')",
        *(
            statement
            for place in (inside, outside)
            for statement in (
                f"COPY (SELECT 1) TO '{place}'",
                f"COPY (PIVOT (FROM steps) ON phase USING count(*)) TO '{place}'",
                f"EXPLAIN ANALYZE COPY (SELECT 1) TO '{place}'",
                f"EXPLAIN /* */ ANALYZE COPY (SELECT 1) TO '{place}'",
                f"EXPORT DATABASE '{place}'",
                f"ATTACH '{place}'",
                f"SELECT 1; ATTACH '{place}'",
            )
        ),
        "INSTALL httpfs", "LOAD httpfs", "SET enable_external_access = true", "CREATE TABLE t AS SELECT 1",
        "DROP VIEW steps", "PRAGMA enable_profiling", "PREPARE p AS SELECT 1",
    ]  # fmt: skip


def test_a_statement_reads_the_warehouse_alone(tmp_path: Path, run: "Run") -> None:
    home = beside_a_secret(tmp_path)
    run("sql", "SELECT 1", "-w", home)  # the first question leaves a cache
    before = [path for path in sorted(home.parent.rglob("*")) if path.name != FOLDER]
    for statement in statements(home):
        one_line(run("sql", statement, "-w", home), "--unsafe")
    gc.collect()  # readers end with their connections, which errors still hold
    assert [*(home / FOLDER).iterdir()] == []
    (home / FOLDER).rmdir()
    assert sorted(home.parent.rglob("*")) == before


@pytest.mark.parametrize("statement", [
    "FROM runs", "SELECT count(*) FROM steps", "WITH s AS (FROM steps) SELECT * FROM s", "DESCRIBE steps",
    "SUMMARIZE steps", "EXPLAIN FROM steps", "EXPLAIN ANALYZE SELECT count(*) FROM steps", "SHOW TABLES",
    "PIVOT (SELECT run_id, phase FROM steps) ON phase USING count(*)", "VALUES (1)", "FROM batch_stats()",
])  # fmt: skip
def test_what_reads_is_answered(home: Path, run: "Run", statement: str) -> None:
    ran = run("sql", statement, "-w", home, "--format", "csv")
    assert ran.code == 0 and ran.out, ran.err


def test_a_statement_may_put_the_name_of_a_query_together(home: Path, run: "Run") -> None:
    ran = run("sql", "FROM query('SELECT count(*) AS n FROM batch' || '_stats()')", "-w", home, "--format", "csv")
    assert (ran.code, ran.out) == (0, "n\n2\n")


def test_a_condition_reads_the_warehouse_alone(home: Path, run: "Run", tmp_path: Path) -> None:
    condition = f"runs=(SELECT count(*) FROM read_csv('{home.parent}/secret.csv')) = 1"
    for command in (("query", "batch_stats"), ("plot", "batch_cdf", "-o", tmp_path / "x.svg")):
        ran = run(*command, condition, "-w", home)
        assert ran.code == 2 and "secret.csv" in ran.err
    assert run("query", "batch_stats", condition, "-w", home, "--unsafe").code == 0


def test_unsafe_lets_duckdb_do_what_it_can(home: Path, run: "Run", tmp_path: Path) -> None:
    place = tmp_path / "out.csv"
    assert run("sql", f"COPY (SELECT 1 AS a) TO '{place}'", "-w", home, "--unsafe").code == 0
    assert place.read_text() == "a\n1\n"


def test_a_warehouse_named_from_here_is_read(home: Path, run: "Run", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home.parent)
    assert run("sql", "SELECT count(*) AS n FROM steps", "-w", "w", "--format", "csv").out == "n\n10\n"
    monkeypatch.chdir(home)
    assert run("sql", "SELECT count(*) AS n FROM steps", "-w", ".", "--format", "csv").out == "n\n10\n"
    assert run("sql", "SELECT count(*) AS n FROM steps", "-w", "../w", "--format", "csv").out == "n\n10\n"


def test_a_question_holds_so_much_memory(home: Path, run: "Run", monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ("sql", "SELECT current_setting('memory_limit')", "-w", home)
    assert float(run(*asked).out.split()[-2]) <= 2.5
    monkeypatch.setenv("SCALELENS_MEMORY", "512MiB")
    assert "512.0 MiB" in run(*asked).out
    monkeypatch.setenv("SCALELENS_MEMORY", "much")
    assert "SCALELENS_MEMORY=much is not a size; write for example 16GB" in run(*asked).err


def test_what_is_too_much_goes_into_files_that_are_gone(
    home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    files = tmp_path / "files"
    files.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(files))
    monkeypatch.setenv("SCALELENS_MEMORY", "60MB")
    connection = connect(home)
    connection.execute(
        "CREATE TABLE much AS SELECT i * 7919 % 10000019 AS a, i AS b FROM range(4000000) AS t(i) ORDER BY a"
    )
    assert [path.name[:10] for path in files.iterdir()] == ["scalelens-"]
    assert connection.execute("SELECT sum(b) FROM much").fetchall() == [(sum(range(4000000)),)]
    connection.close()
    assert not list(files.iterdir())


def test_little_tables_are_joined_well_in_whichever_order_they_are_written(home: Path, run: "Run") -> None:
    statement = "FROM steps AS s, params AS p, members AS m WHERE s.run_id = m.run_id AND p.file_id = m.file_id"
    plan = run("sql", f"EXPLAIN SELECT count(*) {statement}", "-w", home).out.lower().replace("_", " ")
    assert "hash join" in plan
    assert "cross product" not in plan  # of all steps with all params
