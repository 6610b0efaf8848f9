"""Nothing that a file holds acts on a terminal, a spreadsheet, a document or the process that draws."""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalelens.database.execute import table_of as rows_of_statement
from scalelens.inert import visible, visible_throughout
from scalelens.ingestion.ingest import ingest
from scalelens.report.text import csv_text as csv_writer
from scalelens.report.text.csv_text import csv_text
from test_warehouse import write_log

if TYPE_CHECKING:
    from command_line import Run

NAME = "a\x1b[31mred\x07\x9b1m\u202eb"
SEEN = r"a\x1b[31mred\x07\x9b1m\u202eb"


def rows_of(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    ingest([write_log(tmp_path / "logs" / f"{NAME}.log")], tmp_path / "w")
    return tmp_path / "w"


@pytest.mark.parametrize("format", ["table", "csv", "markdown", "latex"])
def test_control_characters_are_seen(home: Path, run: "Run", format: str) -> None:
    out = run("sql", "SELECT parse_filename(path) AS name, 1 AS n FROM files", "-w", home, "--format", format).out
    assert not any(character in out for character in "\x1b\x07\x9b\u202e")
    assert "x1b" in out and "u202e" in out


def test_json_and_parquet_keep_the_text(home: Path, run: "Run", tmp_path: Path) -> None:
    statement = "SELECT parse_filename(path) AS name FROM files"
    assert json.loads(run("sql", statement, "-w", home, "--format", "json").out) == [{"name": f"{NAME}.log"}]
    command = "from scalelens.cli import main; main()"
    arguments = ["sql", statement, "-w", str(home), "--format", "parquet"]
    content = subprocess.run([sys.executable, "-c", command, *arguments], capture_output=True, check=True).stdout
    assert pl.read_parquet(io.BytesIO(content))["name"].to_list() == [f"{NAME}.log"]


_NESTED = st.recursive(
    st.text() | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
)


@given(_NESTED)
def test_texts_in_lists_and_dicts_are_inert_one_by_one(value: object) -> None:
    def shown(value: object) -> object:
        if isinstance(value, dict):
            return {shown(key): shown(item) for key, item in value.items()}
        if isinstance(value, list):
            return [shown(item) for item in value]
        return visible(value, lines=True) if isinstance(value, str) else value

    assert visible_throughout(value) == shown(value)


def test_what_ingest_says_is_inert(tmp_path: Path, run: "Run") -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / f"{NAME}.bin").write_bytes(b"\0\1\2" * 100)
    err = run("ingest", tmp_path / "logs", "-w", tmp_path / "w").err
    assert SEEN in err and "\x1b" not in err
    assert "\x1b" not in run("forget", f"{NAME}.no", "-w", tmp_path / "w").err


@pytest.mark.parametrize("text", ["=1+1", "+cmd", "-x", "@SUM(A1)", "-1+1", "=", "--tp 2"])
def test_a_text_in_csv_is_no_formula(text: str) -> None:
    rows = pa.table({"a": [text, None, "x"], "n": [1, 2, 3]})
    assert rows_of(csv_text(rows)) == [["a", "n"], [f"'{text}", "1"], ["", "2"], ["x", "3"]]


def test_numbers_in_csv_stay_numbers() -> None:
    texts = ["-1", "+0.5", "-1e-5", "-inf", "-.5"]
    assert rows_of(csv_text(pa.table({"a": texts}))) == [["a"], *([text] for text in texts)]
    assert csv_text(pa.table({"a": [-1.5], "b": [-1]})) == "a,b\n-1.5,-1\n"


def test_names_of_columns_and_lists_are_inert_too() -> None:
    text = csv_text(pa.table({"=a": [["=1", "x\x1b"]], "b\x1b": [1]}))
    assert rows_of(text) == [["'=a", r"b\x1b"], [r"'=1 x\x1b", "1"]]


@pytest.mark.parametrize("repeats", [1, csv_writer.FEW_ROWS])
def test_numbers_in_csv_have_no_digits_that_only_arithmetic_left(repeats: int) -> None:
    """Few and many rows alike; numbers that have that many digits, very small and very large ones keep theirs."""
    noisy = [114.80000000000001, 45.56216299999994, 0.1 + 0.2, -2.5000000000000004]
    exact = [
        1e-30 * 3,
        0.1234567890123456,
        1767323045.123457,
        1.0,
        0.0,
        5e-324,
        1.7976931348623157e308,
        float("inf"),
        None,
    ]
    column = pa.chunked_array([noisy + exact] * repeats)
    lines = csv_text(pa.table({"x": column}), header=False).splitlines()
    assert lines[:4] == ["114.8", "45.562163", "0.3", "-2.5"]
    assert [float(line) if line else None for line in lines[4:13]] == exact
    assert lines[:13] == lines[-13:]


def test_lines_of_a_text_stay_in_csv_alone() -> None:
    assert rows_of(csv_text(pa.table({"a": ["x\ny\tz\r"]}))) == [["a"], ["x\ny\tz\\r"]]
    assert visible("x\ny\tz\r") == r"x\ny\tz\r"


@pytest.mark.parametrize("suffix", ["svg", "pdf", "png", "html"])
def test_a_name_with_an_escape_does_not_end_the_process_that_draws(tmp_path: Path, suffix: str) -> None:
    """In a process of its own: the renderer ends the one that it is in."""
    script = (
        "import sys; import altair as alt\n"
        "from pathlib import Path\n"
        "from scalelens.report.rendering import save\n"
        f"chart = alt.Chart(alt.InlineData([{{'a': {NAME!r}, 'b': 1}}])).mark_bar().encode(y='a:N', x='b:Q')\n"
        "save(chart.properties(title=['\\x1b', '\\x00 \\ud800']), Path(sys.argv[1]), {})\n"
    )
    path = tmp_path / f"figure.{suffix}"
    drawn = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True)
    assert drawn.returncode == 0, drawn.stderr[-500:]
    assert not {0x1B, 0x07} & {*path.read_bytes()} or suffix in ("pdf", "png")
    if suffix == "svg":
        assert SEEN in path.read_text()


TEXTS = st.none() | st.text(st.characters(codec="utf-8")) | st.sampled_from(["", NAME, "=1+1", "-1", 'a,"b"\r\n'])
SMALL_NUMBERS = st.builds(lambda digits, power: digits * 10.0**power, st.floats(-10, 10), st.integers(-300, 0))
ODD_NUMBERS = st.sampled_from([0.0, -0.0, 0.1, 1e15, 1e-5, -9.9e-6, float("nan"), float("inf"), float("-inf")])
NUMBERS = st.none() | st.floats(-9e15, 9e15) | SMALL_NUMBERS | ODD_NUMBERS
VALUES = st.tuples(
    TEXTS,
    NUMBERS,
    st.none() | st.integers(-(2**63), 2**63 - 1),
    st.none() | st.booleans(),
    st.none()
    | st.datetimes()
    | st.datetimes().map(lambda time: time.replace(microsecond=time.microsecond // 1000 * 1000)),
    st.none() | st.lists(TEXTS),
    st.none() | st.lists(NUMBERS),
)
TYPES = (
    pa.string(), pa.float64(), pa.int64(), pa.bool_(), pa.timestamp("us"), pa.list_(pa.string()), pa.list_(pa.float64()),
)  # fmt: skip


def many_rows(answer: pa.Table) -> str:
    """The CSV of an answer as if it had many rows."""
    with patch.object(csv_writer, "FEW_ROWS", -1):
        return csv_text(answer)


@given(st.lists(VALUES, max_size=5))
def test_few_and_many_rows_are_written_alike(rows: list[tuple[object, ...]]) -> None:
    columns = list(zip(*rows, strict=True)) or [()] * len(TYPES)
    arrays = [pa.array(column, kind) for column, kind in zip(columns, TYPES, strict=True)]
    answer = pa.table(arrays, names=["a,b", "=x", "n", "is_it", "at", "texts", "numbers"])
    assert csv_text(answer) == many_rows(answer)


@given(st.floats(width=32))
def test_a_float_of_32_bits_can_be_read_back(value: float) -> None:
    text = csv_text(pa.table({"a": pa.array([value], pa.float32())}), header=False)
    assert np.float32(text) == np.float32(value) or value != value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("true", "true"), ("1::UTINYINT", "1"), ("(1::HUGEINT << 100)", "1267650600228229401496703205376"),
        ("0.1::FLOAT", "0.1"), ("1e20::FLOAT", "1e+20"), ("1.5::DOUBLE", "1.5"), ("-0.00001::DOUBLE", "-0.00001"),
        ("1e16", "1e+16"), ("'nan'::DOUBLE", "NaN"), ("'-inf'::DOUBLE", "-inf"), ("1.50::DECIMAL(5,2)", "1.50"),
        ("0.000000001::DECIMAL(18,9)", "0.000000001"), ("DATE '0020-01-02'", "0020-01-02"),
        ("TIME '12:34:56.5'", "12:34:56.500000000"), ("TIMESTAMP '2020-01-02 03:04:05.120'", "2020-01-02 03:04:05.120"),
        ("TIMESTAMP_S '2020-01-02 03:04:05'", "2020-01-02 03:04:05"),
        ("TIMESTAMP_NS '2020-01-02 03:04:05.123456789'", "2020-01-02 03:04:05.123456789"),
        ("TIMESTAMP_NS '2020-01-02 03:04:05'", "2020-01-02 03:04:05"),
        ("TIMESTAMPTZ '2020-01-02 03:04:05.25+00'", "2020-01-02 03:04:05.250"), ("INTERVAL 1 DAY", "1 day"),
        ("'=a'::ENUM('=a', 'b')", "'=a"), ("'abc'::BLOB", "b'abc'"), ("[1, 2]", "1 2"), ("[]", '""'),
        ("[1.50::DECIMAL(5,2), NULL]", "1.50 "), ("[true, false]", "yes no"), ("['a'::ENUM('a', 'b')]", "a"),
        ("[TIMESTAMP '2020-01-02 03:04:05']", "2020-01-02 03:04:05"), ("[1, 2]::INT[2]", "1 2"),
        ("{'a': 1, 'b': 'x'}", "\"{'a': 1, 'b': 'x'}\""), ("MAP {'a': 1}", "{'a': 1}"), ("union_value(k := 1)", "1"),
        ("""'{"a": 1}'::JSON""", '"{""a"": 1}"'), ("NULL", ""),
    ],
)  # fmt: skip
def test_every_type_of_duckdb_has_its_text(value: str, text: str) -> None:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    answer = rows_of_statement(connection, f"SELECT {value} AS a, 1 AS b UNION ALL SELECT NULL, 2")
    assert csv_text(answer) == many_rows(answer) == f"a,b\n{text},1\n,2\n"


def test_an_answer_without_columns_is_an_empty_line() -> None:
    assert csv_text(pa.table({})) == many_rows(pa.table({})) == "\n"
