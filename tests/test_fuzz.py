"""Random input to parsers, sidecars, commit records and the command line: nothing but a sentence ever comes out of it.

The suite tries a few hundred inputs.  `SCALELENS_FUZZ=250000 pytest tests/test_fuzz.py` tries as many for each test.
"""

import json
import os
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from command_line import Run
from logs import megatron_line
from scalelens.database import connect as database
from scalelens.errors import UserError
from scalelens.ingestion.ingest import ingest
from scalelens.runs.sidecar import KEYS, sidecar_of
from scalelens.warehouse.check import check
from scalelens.warehouse.records import record_name
from test_robustness import ANCHORS, CONTENTS, DEFECT, read

ASKED = int(os.environ.get("SCALELENS_FUZZ", "0"))
LIMIT_S = 10  # of processor time for one input
LIMIT_KB = 400_000  # that one input may add to the most memory held


def fuzzed(in_suite: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Settings of a test that tries so many inputs in the suite; those of the suite are always the same."""
    return settings(
        max_examples=ASKED or in_suite,
        derandomize=not ASKED,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),  # the folder that all inputs share stays as it was
    )


class Bounded:
    """Fails when what it encloses takes too much processor time or memory."""

    def __enter__(self) -> None:
        self.began_s, self.held_kb = time.process_time(), peak_kb()

    def __exit__(self, *_: object) -> None:
        assert time.process_time() - self.began_s < LIMIT_S
        assert peak_kb() - self.held_kb < LIMIT_KB


def peak_kb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


WORDS = st.text(max_size=12) | st.sampled_from(
    ["", "\0", "\x1b[1m", "{", "}", "{job}", "{nodes}", "*", "**", "9" * 400]
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)


# Parsers


@st.composite
def spliced(draw: st.DrawFn) -> bytes:
    """The head of one fixture and the tail of another."""
    one, other = (CONTENTS[draw(st.sampled_from(sorted(CONTENTS)))] for _ in range(2))
    return one[: draw(st.integers(0, len(one)))] + other[draw(st.integers(0, len(other))) :]


TOKENS = st.sampled_from(ANCHORS) | st.sampled_from([b"\n", b" ", b": ", b" | ", b"1", b"nan", b"=", b"{", b"[", b'"'])
SOUP = st.lists(TOKENS | st.binary(max_size=6), max_size=60).map(b"".join)


@fuzzed(in_suite=200)
@given(spliced() | SOUP | st.binary(max_size=400))
def test_parsers(content: bytes) -> None:
    with Bounded():
        result = read(content, looked_at=("problems",))
    assert not [reason for reason in result.problems if DEFECT.match(reason)]


# Sidecars


def toml(values: dict[str, Any]) -> str:
    """JSON of a value is mostly TOML; what is not is a fault to be named."""
    return "\n".join(
        f"{key if key in KEYS else json.dumps(key)} = {json.dumps(value)}" for key, value in values.items()
    )


TEMPLATES = st.lists(st.sampled_from(["{", "}", "{job}", "{nodes}", "{a b}", "*", "/", "..", "x"]), max_size=8)
SIDECARS = st.dictionaries(
    st.sampled_from(KEYS) | WORDS, VALUES | st.lists(TEMPLATES.map("".join), max_size=3), max_size=5
)


@fuzzed(in_suite=500)
@given(SIDECARS.map(toml) | st.text(max_size=80))
def test_sidecars(text: str) -> None:
    with Bounded():
        sidecar, _ = sidecar_of("study/scalelens.toml", text)
        sidecar.statements_on("study/n8/job.log")
        sidecar.run_of("study/n8/job.log")


# Records


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse of one log."""
    folder = tmp_path_factory.mktemp("fuzzed")
    (folder / "job.log").write_text("".join(megatron_line(step) for step in range(1, 6)))
    ingest([folder / "job.log"], folder / "warehouse")
    return folder / "warehouse"


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every container of a JSON value with each of its keys."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    return [(value, key) for key in keys] + [place for key in keys for place in places(value[key])]


@fuzzed(in_suite=60)
@given(at=st.integers(0, 10_000), value=VALUES)
def test_records(home: Path, at: int, value: Any) -> None:
    (record,) = (home / "_log").iterdir()
    original = record.read_bytes()
    content = json.loads(original)
    container, key = places(content)[at % len(places(content))]
    container[key] = value
    altered = json.dumps(content).encode()
    other = record.with_name(record_name(1, altered))  # so that the digest says nothing
    record.unlink()
    other.write_bytes(altered)
    try:
        with Bounded():
            check(home)
            database.connect(home, asked="SELECT * FROM runs").execute("SELECT * FROM runs").fetchall()
    except UserError:
        pass  # one sentence, as for any record that cannot be used
    finally:
        other.unlink()
        record.write_bytes(original)


# Command lines

COMMANDS = ["check", "identify", "query", "tables", "sql", "label", "forget", "explain", "formats", "compare", "ingest"]
OPTIONS = ["--map", "-w", "--format", "-o", "--quick", "--by", "--no-such-option", "-", "--", "step=step", "runs=*"]


@fuzzed(in_suite=100)
@given(st.sampled_from(COMMANDS), st.lists(st.sampled_from(OPTIONS) | WORDS, max_size=5))
def test_command_lines(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, arguments: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = [text.replace("/", "").replace("\0", "") for text in arguments]  # stay in this folder
    with Bounded():
        ran = run(command, *(text for text in arguments if text != ".."))
    assert ran.code in (0, 1, 2)
    assert "Traceback" not in ran.err
