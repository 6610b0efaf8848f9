"""Every answer in every format: all queries, and all types that DuckDB has."""

import csv
import functools
import io
import json
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from conftest import FIXTURES
from scalelens.cli import main
from scalelens.cli.output import Format
from scalelens.ingestion.ingest import ingest
from scalelens.queries.load import load
from scalelens.question import session
from scalelens.question.answer import Answer
from scalelens.question.question import Question

FORMATS = [*map(str, Format)]
# Formats whose fixtures give most queries a row, beside the logs of the demo.
READ = ("kineto", "jpwr", "jpwr_energy", "nccl_tests", "flight_recorder", "nvrx_straggler", "megatron_straggler",
        "nccl_inspector", "nvidia_smi_query", "nccl_ras", "mllog", "zeus_log")  # fmt: skip
TWO_SIDES = (
    "compare", "compare_evidence", "compared_runs", "compared_traces", "differences", "independent_values", "next_runs",
    "two_sides",
)  # fmt: skip
QUERIES = sorted(load())


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small warehouse that has something of everything."""
    home = tmp_path_factory.mktemp("written") / "w"
    ingest([Path(str(files("scalelens") / "demo" / "logs")), *(FIXTURES / name for name in READ)], home, jobs=1)
    return home


@pytest.fixture(scope="module")
def sides(home: Path) -> tuple[str, str]:
    """Two runs that can be compared."""
    runs = session.ask(home, Question(sql="SELECT DISTINCT run_id FROM step_times ORDER BY run_id LIMIT 2"))
    one, other = runs.table["run_id"].to_pylist()
    return one, other


def written(monkeypatch: pytest.MonkeyPatch, *arguments: str | Path) -> bytes:
    """What a command writes to stdout; it must end well."""
    content = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(content, "utf-8", write_through=True))
    monkeypatch.setattr(sys, "argv", ["scalelens", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0, arguments
    return content.getvalue()


def rows_of(text: bytes, shape: str) -> list[Any] | None:
    """The rows that a program reads; None of what is for people."""
    if shape == Format.json:
        return list(json.loads(text))
    if shape == Format.envelope:
        envelope = json.loads(text)
        names = [column.get("untrusted_name", column["name"]) for column in envelope["columns"]]
        return [dict(zip(names, row, strict=True)) for row in envelope["rows"]]
    if shape == Format.csv:
        return [*csv.DictReader(io.StringIO(text.decode()))]
    return pl.read_parquet(io.BytesIO(text)).to_dicts() if shape == Format.parquet else None


@functools.cache
def session_of(root: Path) -> session.Session:
    """One connection for all questions: to open one takes longer than most answers."""
    return session.Session(root)


@pytest.fixture
def asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers are kept for the other formats: asking takes far longer than writing."""
    kept: dict[str, Answer] = {}
    ask_anew = session.ask

    def ask(root: Path, question: Question, folders: Any = (), also: str = "", executor: Any = None) -> Answer:
        if folders or question.unsafe:
            return ask_anew(root, question, folders, also, executor)
        if question.statement not in kept:
            answer = session_of(root).ask(question)
            answer._first, answer._rest = answer.table, iter(())  # which could be read once
            kept[question.statement] = answer
        return kept[question.statement]

    monkeypatch.setattr(session, "ask", ask)


@functools.cache
def of_each_type() -> set[str]:
    """Queries that have a column of each type among them; all others are written nightly."""
    chosen: dict[str, str] = {}
    for name, query in sorted(load().items()):
        for column in query.columns:
            chosen.setdefault(column.type, name)
    return {*chosen.values(), "compare", "runs_overview"}


@pytest.mark.usefixtures("asked_once")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in of_each_type() else pytest.mark.slow) for name in QUERIES]
)
def test_each_query_is_written_in_each_format(
    monkeypatch: pytest.MonkeyPatch, home: Path, sides: tuple[str, str], name: str
) -> None:
    parameters = [f"{side}={run}" for side, run in zip("ab", sides, strict=True)] if name in TWO_SIDES else []
    counts = set()
    for shape in FORMATS:
        rows = rows_of(written(monkeypatch, "query", name, *parameters, "-w", home, "--format", shape), shape)
        counts |= set() if rows is None else {len(rows)}
    assert len(counts) == 1


def test_most_queries_have_rows_there(home: Path) -> None:
    """A table without rows is written in another way."""
    names = ("scaling", "runs_overview", "kernel_summary", "power_readings", "collective_benchmarks", "lost_time")
    assert all(session.ask(home, Question(name)).table.num_rows for name in names)


def test_a_glance_of_columns_that_the_answer_lacks_is_the_whole_answer(
    monkeypatch: pytest.MonkeyPatch, home: Path, tmp_path: Path
) -> None:
    """A user's query whose header was not brought up to date."""
    (tmp_path / "renamed.sql").write_text(
        "-- Renamed.\n--\n-- Answers: Which runs are there?\n--\n-- Glance: run_id devices\n--\n-- Sources: runs\n--\n"
        "-- Columns:\n--   run       VARCHAR     run\nSELECT run_id AS run FROM runs\n"
    )
    for shape in FORMATS:
        assert written(monkeypatch, "query", "renamed", "--queries", tmp_path, "-w", home, "--format", shape), shape


# Types.  What is behind a comma is the text of a value that not each format could write as what it is.

VALUES = {
    "BOOLEAN": "true", "TINYINT": "-1::TINYINT", "SMALLINT": "1::SMALLINT", "INTEGER": "1", "BIGINT": "1::BIGINT",
    "HUGEINT": "12345678901234567890123456789012345678::HUGEINT", "UTINYINT": "255::UTINYINT",
    "USMALLINT": "1::USMALLINT", "UINTEGER": "1::UINTEGER", "UBIGINT": "18446744073709551615::UBIGINT",
    "UHUGEINT": "340282366920938463463374607431768211455::UHUGEINT", "BIGNUM": "1234567890123456::BIGNUM",
    "FLOAT": "'nan'::FLOAT", "DOUBLE": "'-inf'::DOUBLE", "DECIMAL": "1.5::DECIMAL(38, 10)",
    "VARCHAR": "'=a\n\"b|&_\"'", "BLOB": "'\\xAA\\x00b'::BLOB", "BIT": "'0101'::BIT",
    "UUID": "'ac227128-7d55-4ee0-a765-5025cc52e55a'::UUID", "ENUM": "'b'::ENUM('a', 'bit', 'b')",
    "DATE": "DATE '2026-01-02'", "TIME": "TIME '01:02:03.000004'", "TIMETZ": "TIMETZ '01:02:03+02:30'",
    "TIME_NS": "TIME_NS '01:02:03.123456789'", "TIMESTAMP": "TIMESTAMP '2026-01-02 03:04:05.000006'",
    "TIMESTAMP_S": "'2026-01-02 03:04:05'::TIMESTAMP_S", "TIMESTAMP_MS": "'2026-01-02 03:04:05.006'::TIMESTAMP_MS",
    "TIMESTAMP_NS": "'2026-01-02 03:04:05.123456789'::TIMESTAMP_NS",
    "TIMESTAMPTZ": "TIMESTAMPTZ '2026-01-02 03:04:05+02'",
    "TIMESTAMPTZ_NS": "'2026-01-02 03:04:05.123456789+02'::TIMESTAMPTZ_NS", "INTERVAL": "INTERVAL 3 DAY",
    "VARIANT": "{'k': [42]}::VARIANT", "GEOMETRY": "'POINT (1 2)'::GEOMETRY", "JSON": "'{\"a\": 1}'::JSON",
    "UNION": "union_value(n := 3)::UNION(n INTEGER, s VARCHAR)", "LIST": "[1, NULL]", "ARRAY": "[1, 2]::INTEGER[2]",
    "STRUCT": "{'interval': 1, 'bit': 'x'}", "MAP": "MAP {1: 2}",
}  # fmt: skip
TEXTS = {
    "UHUGEINT": "340282366920938463463374607431768211455", "BIGNUM": "1234567890123456", "BIT": "0101",
    "TIMETZ": "01:02:03+02:30", "INTERVAL": "3 days", "VARIANT": "{'k': [42]}", "GEOMETRY": "POINT (1 2)",
    "UNION": "3",
}  # fmt: skip
SHAPES = {
    "itself": "{}", "in a list": "[{}, NULL]", "in lists": "[[{}]]", "in an array": "array_value({}, {})",
    "in a struct": "{{'k': {}, 'z': 1}}", "in structs": "[{{'k': {}}}]", "in a map": "MAP {{'k': {}}}",
    "in maps": "MAP {{'k': [{}]}}", "as a key": "MAP {{{}: 1}}", "in a union": "union_value(u := {})",
}  # fmt: skip


@functools.cache
def known_types() -> dict[str, str]:
    """Values of the types that this DuckDB has without an extension."""
    known = {}
    with duckdb.connect() as connection:
        for name, value in VALUES.items():
            try:
                connection.execute(f"SELECT {value}").fetchall()
                known[name] = value
            except duckdb.CatalogException:
                assert name in ("GEOMETRY", "TIMESTAMPTZ_NS")
    return known


def statement_of(shape: str) -> str:
    columns = {name: SHAPES[shape].format(value, value) for name, value in known_types().items()}
    values = ", ".join(f'{value} AS "{name}"' for name, value in columns.items())
    return f"SELECT {values} UNION ALL SELECT {', '.join(['NULL'] * len(columns))}"


@pytest.mark.usefixtures("asked_once")
@pytest.mark.parametrize(("shape", "format"), [
    # by day each type itself in each format, and each shape in two of them
    pytest.param(shape, format, marks=() if k == 0 or (k - n) % len(FORMATS) in (0, 3) else pytest.mark.slow)
    for k, shape in enumerate(SHAPES) for n, format in enumerate(FORMATS)
])  # fmt: skip
def test_each_type_is_written_in_each_format(
    monkeypatch: pytest.MonkeyPatch, home: Path, format: str, shape: str
) -> None:
    statement = statement_of(shape)
    text = written(monkeypatch, "sql", statement, "-w", home, "--format", format)
    rows = rows_of(text, format)
    assert rows is None or [[*row] for row in rows] == [[*known_types()]] * 2
    if rows and shape == "itself":
        assert {name: rows[0][name] for name in TEXTS if name in rows[0]} == {
            name: said for name, said in TEXTS.items() if name in known_types()
        }
    if rows:
        assert not any(rows[1].values())
    empty = written(monkeypatch, "sql", f"FROM ({statement}) LIMIT 0", "-w", home, "--format", format)
    assert rows_of(empty, format) in (None, [])


def test_numbers_and_names_stay_what_they_are(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Sums are of HUGEINT, and a field may be called like a type."""
    statement = "SELECT sum(i) AS n, {'interval': 1} AS s, histogram(i / 2) AS h FROM range(3) t(i)"
    (row,) = json.loads(written(monkeypatch, "sql", statement, "-w", home, "--format", "json"))
    assert row == {"n": 3, "s": {"interval": 1}, "h": {"0.0": 1, "0.5": 1, "1.0": 1}}


def test_a_statement_that_writes_is_carried_out_once(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Its rows have types that are asked for as text."""
    statement = "CREATE TEMP TABLE once AS SELECT '01'::BIT AS b; FROM once"
    for format in ("json", "envelope"):
        text = written(monkeypatch, "sql", statement, "-w", home, "--unsafe", "--format", format)
        assert rows_of(text, format) == [{"b": "01"}]
