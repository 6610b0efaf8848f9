"""One long text may stand for all rows of a file: in a dictionary, in a header, in the metadata of a trace.

Each of these files has a few hundred kilobytes and gave gigabytes, took a stack without an end, or did not end.
"""

import json
import pickle
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scalelens.parsing import text_bounds
from scalelens.parsing.plain_pickle import filled_dicts
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import open_source
from scalelens.tables import SCHEMAS
from test_robustness import Result, read, read_source

SNAPSHOT = b"\x80\x04}(\x8c\x08segments]\x8c\x0ddevice_traces]"  # a dict that is not filled yet
NESTED_KEY = SNAPSHOT + b")" + b"\x85" * 100_000 + b"Nu."  # a tuple in a tuple in a tuple
DOUBLED_KEY = SNAPSHOT + b")\x94" + b"".join(b"h%c\x86\x94" % place for place in range(60)) + b"Nu."  # 2**60 tuples


@pytest.mark.parametrize("content", [NESTED_KEY, DOUBLED_KEY], ids=["nested", "doubled"])
def test_keys_of_a_pickle_are_texts_and_numbers(content: bytes) -> None:
    """To hash the first one ended the process with a segmentation fault; to hash the second one never ended."""
    with pytest.raises(ValueError, match="keys are neither texts nor numbers"):
        list(filled_dicts(content))
    found = read(content, "memory.pickle")
    assert found.status == "partial"
    assert "keys are neither" in found.problems[0]


def test_plain_keys_of_a_pickle_stay() -> None:
    wanted = {"text": 1, 2: "number", None: [True], 0.5: {"inner": ()}}
    assert [*filled_dicts(pickle.dumps(wanted, protocol=4))][-1] == wanted


def number(value: int) -> bytes:
    """A varint."""
    return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + number(value >> 7)


def field(place: int, content: bytes | int) -> bytes:
    if isinstance(content, int):
        return number(place << 3) + number(content)
    return number(place << 3 | 2) + number(len(content)) + content


def profile(name: bytes, statistic: bytes, events: int) -> bytes:
    """XLA's profile: events that share a name, and a statistic whose text stands in the metadata of statistics."""
    statistics = [
        field(5, field(1, k) + field(2, field(1, k) + field(2, text))) for k, text in ((1, b"op"), (2, statistic))
    ]
    shared = field(1, 1) + field(2, name) + field(5, field(1, 1) + field(7, 2))
    line = field(2, b"Stream #7") + field(4, field(1, 1) + field(2, 1000) + field(3, 1000)) * events
    plane = (
        field(2, b"/device:GPU:0") + b"".join(statistics) + field(4, field(1, 1) + field(2, shared)) + field(3, line)
    )
    return field(1, plane)


@pytest.fixture
def small_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds as for large files, at a size that tests can afford."""
    monkeypatch.setattr(text_bounds, "BASE", 1 << 20)
    monkeypatch.setattr(text_bounds, "AT_ONCE", 1 << 20)


def letters_of(found: Result) -> int:
    texts = (value for table in SCHEMAS for row in found.tables.get(table, ()) for value in row.values())
    return sum(len(value) for value in texts if isinstance(value, str))


def test_a_long_name_of_all_events(small_budget: None) -> None:
    content = profile(b"k" * 50_000, b"short", 2000)
    found = read(content, "host.xplane.pb")
    assert (found.status, len(found.problems)) == ("partial", 1)
    assert "far more text than the size of the file allows" in found.problems[0]
    assert 0 < len(found.tables["events"]) < 2000
    assert letters_of(found) < (1 << 20) + 101 * len(content)


def test_a_long_statistic_of_all_events() -> None:
    found = read(profile(b"kernel", b"s" * 50_000, 50), "host.xplane.pb")
    assert (found.status, len(found.tables["events"])) == ("ok", 50)
    assert {row["args"] for row in found.tables["events"]} == {"{}"}
    short = read(profile(b"kernel", b"s" * 5_000, 2), "host.xplane.pb")
    assert json.loads(short.tables["events"][0]["args"]) == {"op": "s" * 5_000}


def test_a_text_of_a_dictionary_in_parquet(tmp_path: Path) -> None:
    """600 KB gave 10 GB: each of 100,000 names is one of 100,000 letters."""
    names = pa.DictionaryArray.from_arrays(pa.array([0] * 20_000, pa.int32()), pa.array(["k" * 100_000]))
    pq.write_table(pa.table({"id": range(20_000), "value": names}), tmp_path / "StringIds.parquet")
    kernels = {key: [0] for key in ("deviceId", "streamId", "correlationId", "demangledName", "shortName")}
    kernels |= {"start": [1], "end": [2], "contextId": [1], "globalPid": [1 << 24]}
    path = tmp_path / "CUPTI_ACTIVITY_KIND_KERNEL.parquet"
    pq.write_table(pa.table(kernels), path)
    found = read_file(path)
    assert found.status == "partial"
    assert any("far more text than its size allows" in reason for reason in found.problems)


def read_file(path: Path) -> Result:
    source = open_source(str(path))
    try:
        return read_source(source)
    finally:
        source.close()


def test_rows_that_a_parquet_file_only_states(tmp_path: Path) -> None:
    """Half a million equal rows in a few kilobytes."""
    whole, count = pa.table({"dp_rank": pa.array([0], pa.int32())}), 500_000
    path = tmp_path / "operations.parquet"
    columns = {name: pa.array([0], pa.int32()) for name in ("stage", "rank", "mb_id")} | {
        "step": pa.array([1]), "optype": pa.array(["forward-compute"]), "start_ts": pa.array([0.0]), "duration": pa.array([1.0]),
    }  # fmt: skip
    for name, values in columns.items():
        whole = whole.append_column(name, values)
    pq.write_table(whole.take(pa.array([0] * count, pa.int32())), path)
    assert path.stat().st_size < 1 << 16
    assert read_file(path).problems == ["the table cannot be read: it states far more rows than its size allows"]


def test_a_long_word_of_a_header_stands_in_few_rows(small_budget: None) -> None:
    """A column's heading of jpwr is a device of each of its samples."""
    heading = "timestamps,gpu" + "9" * 20_000
    samples = "\n".join(
        f"2026-01-01 00:00:{second % 60:02}.{second:06},{100 + second % 50}.0" for second in range(3000)
    )
    content = f"{heading}\n{samples}\n".encode()
    found = read(content, "power.0.csv")
    assert letters_of(found) < (1 << 20) + 101 * len(content)


def test_what_a_problem_names_is_short() -> None:
    unit = "W" * 5_000
    content = f"#Date Time gpu pwr\n#YYYYMMDD HH:MM:SS Idx {unit}\n" + " 20260102 03:04:05 0 37\n" * 100
    found = read(content.encode(), "dmon.log")
    assert found.problems
    assert all(len(reason) <= 1000 for reason in found.problems)


def test_texts_of_a_usual_size_are_all_there() -> None:
    rows: list[int] = []
    several = Rows("f", lambda _, batch: rows.append(batch.num_rows))
    several.text.of_file(1000, packed=False)
    for line in range(1, 30_001):
        several.add("events", line, name="kernel" * 100, ph="X", start_ns=line)
    several.flush()
    assert sum(rows) == 30_000
    assert not several.problems_by_format


@pytest.mark.parametrize("averaged", [10**400, -(10**400)])
def test_a_number_that_no_float_holds_costs_its_value_alone(averaged: int) -> None:
    """It ended an ingest with an OverflowError, because times were looked at before what fits into no column."""
    tables: dict[str, list[dict[str, object]]] = {}
    rows = Rows("f", lambda table, batch: tables.setdefault(table, []).extend(batch.to_pylist()))
    for line in range(1, 4):
        rows.add(
            "steps", line, phase="train", step=line, step_s=1.0, averaged_steps=averaged if line == 2 else 1,
            value_kind="instant", ts=datetime(2026, 1, 1, 0, 0, line), samples_per_s=averaged if line == 3 else 8.0,
        )  # fmt: skip
    rows.flush()
    assert [(row["averaged_steps"], row["samples_per_s"]) for row in tables["steps"]] == [
        (1, 8.0),
        (None, 8.0),
        (1, None),
    ]
    assert len(tables["problems"]) >= 2
