"""Logs in which each line is an object of JSON that holds the printed line: they give the rows of what was printed."""

import io
import json
from collections.abc import Callable

import pytest

from conftest import FIXTURES
from scalelens.ingestion import formats
from scalelens.ingestion.recognize import read_rows
from scalelens.parsing.format_file import name_of
from scalelens.parsing.json_logs import unwrapping
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source

LOADED = formats.load()
_Row = tuple[str, str]


def rows_of(content: bytes) -> tuple[str, list[_Row]]:
    """Status and rows of a text, as texts that sort."""
    found: list[_Row] = []
    rows = Rows("f", lambda table, batch: found.extend((table, repr(row)) for row in batch.to_pylist()))
    status, _ = read_rows(Source("train.log", io.BytesIO(content), len(content), 0), LOADED, rows)
    rows.flush()
    return status, sorted(found)


WRAPPED: dict[str, Callable[[str], dict[str, object]]] = {
    "docker": lambda line: {"log": f"{line}\n", "stream": "stdout"},
    "journald": lambda line: {"MESSAGE": line, "_PID": "4242", "PRIORITY": "6", "level": "info"},
    "python": lambda line: {"levelname": "INFO", "lineno": 42, "process": 4242, "message": line},
}


@pytest.mark.parametrize(
    ("name", "wrapper"),
    [(name_of(module), "docker") for module in LOADED.of_lines]
    + [(name, wrapper) for wrapper in ("journald", "python") for name in ("mllog", "nanogpt", "hf_trainer")],
)
def test_a_printed_line_is_read_out_of_its_object(name: str, wrapper: str) -> None:
    logs = (path for path in sorted((FIXTURES / name).glob("*")) if path.suffix in (".log", ".txt", ".out"))
    for path in logs:
        lines = path.read_bytes().decode("utf-8", "replace").removesuffix("\n").split("\n")
        if len(lines) >= 3 and "\0" not in "".join(lines) and not lines[0].startswith("{"):
            break
    else:
        pytest.skip("has no log of three lines")
    plain = "\n".join(lines) + "\n"
    objects = "\n".join(json.dumps(WRAPPED[wrapper](line)) for line in lines) + "\n"
    assert rows_of(objects.encode()) == rows_of(plain.encode())


@pytest.mark.parametrize(
    ("time", "stamp"),
    [
        ("2026-01-02T03:04:05.678901234Z", "2026-01-02T03:04:05.678901234Z "),
        ("2026-01-02 03:04:05,678", "2026-01-02 03:04:05,678 "),
        (1767323045678, "2026-01-02T03:04:05.678000Z "),
        ("1767323045678901", "2026-01-02T03:04:05.678901Z "),
        ("yesterday", ""),
        pytest.param(10**400, "", id="no float holds it"),
    ],
)
def test_the_time_of_the_object_stands_before_the_line(time: object, stamp: str) -> None:
    line = json.dumps({"time": time, "message": "step 1 loss 2.5"}).encode()
    unwrap = unwrapping(b"\n".join([line] * 4) + b"\n")
    assert unwrap and unwrap(line) == f"{stamp}step 1 loss 2.5".encode()


@pytest.mark.parametrize(
    "record",
    [
        {"time": "2026-01-02T03:04:05Z", "message": "step", "loss": 2.5},
        {"message": "step 1 loss 2.5"},
        {"time": "2026-01-02T03:04:05Z", "message": {"loss": 2.5}},
        {"time": "2026-01-02T03:04:05Z", "loss": "2.5"},
    ],
)
def test_records_of_json_are_not_printed_lines(record: dict[str, object]) -> None:
    assert unwrapping((json.dumps(record) + "\n").encode() * 5) is None
