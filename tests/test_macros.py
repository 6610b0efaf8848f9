"""The file of macros in the user's cache folder: made once, done without where it cannot be, and the same answers."""

import shutil
from pathlib import Path

import duckdb
import polars as pl
import pytest

import scalelens
from asking import ask, connect
from scalelens.database import macros
from scalelens.ingestion.ingest import ingest
from scalelens.queries.load import load

LOGS = Path(scalelens.__file__).parent / "demo" / "logs"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home") / "w"
    ingest([LOGS], home)
    return home


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "scalelens"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file, made once."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        file = macros.macro_file(load())
    assert file
    return file


@pytest.fixture
def filled(cache: Path, made: Path) -> Path:
    """The cache folder with the file in it."""
    cache.mkdir(mode=0o700, parents=True)
    shutil.copy(made, cache)
    return cache


@pytest.fixture(scope="module")
def expected(home: Path) -> pl.DataFrame:
    return ask(home, "batch_stats")


def catalogs(connection: duckdb.DuckDBPyConnection) -> set[str]:
    return {name for (name,) in connection.execute("SELECT database_name FROM duckdb_databases()").fetchall()}


def test_the_file_is_made_once_and_attached(home: Path, cache: Path) -> None:
    assert "queries" in catalogs(connect(home))
    (file,) = cache.glob("*")
    assert duckdb.__version__ in file.name and not file.stat().st_mode & 0o022
    before = file.stat().st_mtime_ns
    assert "queries" in catalogs(connect(home))
    assert [path.stat().st_mtime_ns for path in cache.glob("*")] == [before]


def test_a_question_has_a_file_of_what_it_needs_alone(home: Path, cache: Path) -> None:
    for _ in range(2):
        connection = connect(home, "FROM scaling()")
        found = "SELECT DISTINCT function_name FROM duckdb_functions() WHERE database_name = 'queries'"
        macros_there = {name for (name,) in connection.execute(found).fetchall()}
        assert "scaling" in macros_there and "waterfall" not in macros_there
    (file,) = cache.glob("*")
    assert file.stat().st_size < 1 << 19


def test_few_short_queries_are_made_without_the_file(home: Path, cache: Path) -> None:
    assert "queries" not in catalogs(connect(home, "FROM kernel_summary()"))
    assert not cache.exists()


def test_other_queries_are_another_file() -> None:
    queries = load(about="FROM scaling()")
    digest = macros.digest_of(queries.values())
    assert macros.digest_of(reversed(queries.values())) == digest
    scaling = queries["scaling"]
    changed = queries | {"scaling": scaling._replace(text=f"{scaling.text}-- changed\n")}
    assert macros.digest_of(changed.values()) != digest


def test_older_files_are_removed(home: Path, cache: Path) -> None:
    cache.mkdir(parents=True)
    for k in range(macros.KEPT_FILES + 2):
        (cache / f"queries-{k}-1.4.0.duckdb").touch()
    assert macros.macro_file(load(about="FROM scaling()"))
    assert len(list(cache.glob("queries-*"))) == macros.KEPT_FILES


@pytest.mark.parametrize(
    "obstacle", ["a file in its place", "others may write there", "no home", "damaged", "no rights"]
)
def test_it_is_done_without(
    home: Path, filled: Path, expected: pl.DataFrame, monkeypatch: pytest.MonkeyPatch, obstacle: str
) -> None:
    if obstacle == "a file in its place":
        filled.rename(filled.with_name("away"))
        filled.touch()
    elif obstacle == "others may write there":
        filled.chmod(0o777)
    elif obstacle == "no home":
        monkeypatch.setenv("XDG_CACHE_HOME", "/nowhere/at/all")
        monkeypatch.setattr(Path, "mkdir", no_rights)
    elif obstacle == "damaged":
        connect(home, "FROM batch_stats()").close()  # makes the file of this question
        for file in filled.glob("*.duckdb"):
            file.write_bytes(b"nothing that DuckDB knows")
    else:
        next(filled.glob("*.duckdb")).unlink()
        monkeypatch.setattr(macros, "make", no_rights)
    connection = connect(home, "FROM batch_stats()")
    assert "queries" not in catalogs(connection)
    assert connection.execute("SELECT count(*) FROM batch_stats()").fetchall() == [(expected.height,)]
    assert ask(home, "batch_stats").equals(expected)


def no_rights(*_: object, **__: object) -> None:
    raise PermissionError("no rights")


def test_a_damaged_file_is_made_again(home: Path, filled: Path) -> None:
    (file,) = filled.glob("*")
    file.write_bytes(b"nothing that DuckDB knows")
    assert "queries" not in catalogs(connect(home))
    assert "queries" in catalogs(connect(home))


def test_a_query_of_the_users_takes_the_place_of_ours(home: Path, filled: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "labels.sql").write_text(
        "-- Labels.\n--\n-- Answers: Which?\n--\n-- Sources: members\n--\n"
        "-- Columns:\n--   run_id    VARCHAR    run\n--   labels    VARCHAR    labels\n"
        "SELECT DISTINCT run_id, 'mine' AS labels FROM members"
    )
    series = ask(home, "scaling", folders=(tmp_path / "mine",))["series"]
    assert series.str.contains("mine").all() and not ask(home, "scaling")["series"].str.contains("mine").any()


def test_a_closed_connection_reads_the_macros_and_no_other_file(home: Path, filled: Path, tmp_path: Path) -> None:
    connection = connect(home)
    assert connection.execute("SELECT count(*) FROM queries.batch_stats()").fetchall()
    (file,) = filled.glob("*")
    with pytest.raises(duckdb.PermissionException):
        connection.execute(f"ATTACH '{file.with_name('other.duckdb')}' AS other")
    with pytest.raises(duckdb.Error):
        connection.execute("CREATE TABLE queries.x AS SELECT 1")
