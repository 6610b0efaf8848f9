"""What cannot be true is kept, marked and counted nowhere: planted numbers, in every format."""

import io
import math
import random
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from conftest import as_dicts
from logs import megatron_line
from scalelens.ingestion import formats
from scalelens.ingestion.ingest import ingest
from scalelens.ingestion.recognize import read_rows
from scalelens.parsing.implausible import Doubts
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source, open_source
from spread import spread
from test_formats import CASES
from test_warehouse import ask

LOADED = formats.load()
POSITIVE = ("step_s", "samples_per_s", "energy_j", "power_w")
NUMBER = re.compile(rb"(?<![\w.:+-])\d+\.\d+(?![\w:])|(?<![\w.:+-])\d+\.\d+(?=(?:ms|s|it/s|img/s)\b)")
PLANTED = 12  # numbers of a fixture


def read(text: bytes, name: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The steps of a file and its problems."""
    tables: dict[str, list[dict[str, Any]]] = {"steps": [], "problems": []}
    rows = Rows("f", lambda table, batch: tables.setdefault(table, []).extend(as_dicts(batch)))
    read_rows(Source(name, io.BytesIO(text), len(text), 0), LOADED, rows)
    rows.flush()
    return tables["steps"], tables["problems"]


def texts() -> list[Path]:
    """Fixtures that are texts and give steps with a time, a rate or an energy."""
    found = []
    for path in CASES:
        text = b"".join(open_source(path).utf8()) if path.suffix not in (".gz", ".h5", ".xz", ".zst") else b""
        golden = path.with_name(f"{path.name.split('.')[0]}.steps.csv")
        header = golden.read_text().split("\n", 1)[0].split(",") if golden.exists() else []
        if NUMBER.search(text) and b"\0" not in text and not {*POSITIVE}.isdisjoint(header):
            found.append(path)
    return found


TEXTS = texts()


def negative(steps: list[dict[str, Any]]) -> list[tuple[dict[str, Any], str]]:
    return [(row, name) for row in steps for name in POSITIVE if row[name] is not None and row[name] < 0]


@pytest.mark.parametrize("path", spread(TEXTS, lambda path: f"{path.parent.name}/{path.name}", "negative", share=4))
def test_a_negative_number_that_a_format_reads_is_marked(path: Path) -> None:
    text = b"".join(open_source(path).utf8())
    lines = {row["line"] for row in read(text, path.name)[0] if any(row[name] for name in POSITIVE)}
    starts = [0, *(match.end() for match in re.finditer(rb"\n", text))]
    spans = [
        match.span()
        for line in lines
        if line and line <= len(starts)
        for match in NUMBER.finditer(text, starts[line - 1], starts[line] if line < len(starts) else len(text))
    ]
    for begin, _ in random.Random(path.name).sample(spans, min(len(spans), PLANTED)):
        steps, problems = read(text[:begin] + b"-" + text[begin:], path.name)
        for row, name in negative(steps):
            assert name in (row["implausible"] or "").split(), (row, name)
            assert any(problem["reason"].startswith(f"{name} of ") for problem in problems), problems


def test_most_formats_read_a_negative_number() -> None:
    """Otherwise the test above would test nothing."""
    reading = set[str]()
    for path in TEXTS:
        text = b"".join(open_source(path).utf8())
        planted = NUMBER.sub(lambda match: b"-" + match[0], text)
        if path.parent.name not in reading and negative(read(planted, path.name)[0]):
            reading.add(path.parent.name)
    assert len(reading) >= 20, sorted(reading)


@pytest.mark.parametrize("records", [60, 400])  # line by line, and by columns
def test_negative_times_are_kept_and_counted_nowhere(tmp_path: Path, records: int) -> None:
    """6 of 60 records at -500 ms, the others at 500 ms with four samples: 8 samples a second."""
    lines = [megatron_line(k, -500.0 if k % 10 == 7 else 500.0) for k in range(1, records + 1)]
    (tmp_path / "train.log").write_text("".join(lines))
    ingest([tmp_path / "train.log"], tmp_path / "w")
    bad = records // 10
    assert ask(tmp_path / "w", "SELECT count(*), count(implausible) FROM steps WHERE step_s <> 0") == [(records, bad)]
    assert ask(tmp_path / "w", "SELECT count(*) FROM exclusions() WHERE rule = 'implausible'") == [(bad,)]
    ((mean_s, samples_per_s),) = ask(tmp_path / "w", "SELECT mean_s, samples_per_s FROM batch_stats()")
    assert mean_s == pytest.approx(0.5) and samples_per_s == pytest.approx(8)
    ((line, reason),) = ask(tmp_path / "w", "SELECT line, reason FROM problems")
    assert line == 7 and reason.startswith(f"step_s of {bad} records is not above zero")
    assert ask(tmp_path / "w", "SELECT relation, n_records FROM implausible()") == [("step_s is not above zero", bad)]


def stamped(step: int, step_ms: float) -> str:
    return f" [2026-01-02 03:{step // 60:02}:{step % 60:02}.000000]{megatron_line(step, step_ms)}"


def test_a_time_longer_than_its_file_is_marked(tmp_path: Path) -> None:
    """The first one may hold what came before the first stamp."""
    times = {1: 300_000.0, 30: 2_000_000.0, 90: 40_000.0}
    text = "".join(stamped(k, times.get(k, 1000.0)) for k in range(1, 101))
    steps, problems = read(text.encode(), "train.log")
    assert len(steps) == 100
    assert [row["step"] for row in steps if row["implausible"]] == [30]
    assert [problem["line"] for problem in problems] == [30]
    (tmp_path / "train.log").write_text(text)
    ingest([tmp_path / "train.log"], tmp_path / "w")
    found = ask(tmp_path / "w", "SELECT line, printed_value, relation FROM implausible()")
    assert found == [(30, 2000, "step_s is longer than the time between the stamps of its log")]


@pytest.mark.parametrize("records", [40, 400])
def test_an_infinite_time_is_kept_and_counted_nowhere(records: int) -> None:
    """A time beyond any float raised where the others are rounded so that a short one may be zero."""
    line = (
        "2024-05-06 07:{:02}:{:02},000   INFO  Train:    3/20 ( 15%) [{:4}/1250 ( 20%)]  Loss: 1.625 (2.13)  "
        "LR: 1.250e-03  Time cost: 04:10/16:40 [45:50/6:15:00]  Acc_iter {}        Data time: 0.02(0.03)  "
        "Forward time: 0.98(1.01)  Batch time: {}(1.04)\n"
    )
    times = {3: "0", 7: "1e9999"}
    text = "".join(line.format(k // 60, k % 60, k, k, times.get(k, "1.00")) for k in range(1, records + 1))
    steps, problems = read(text.encode(), "train.log")
    assert len(steps) == records
    assert [(row["step"], row["implausible"]) for row in steps if row["implausible"]] == [(7, "step_s")]
    assert [problem["reason"] for problem in problems] == [
        "step_s of this record is infinite, which cannot be true: it is kept, and counted nowhere"
    ]
    columns = pa.table({"step_s": [1.0, math.inf, 1.0]})
    assert [row.get("step_s") for row in Doubts().look_at_columns(columns, 0)[1]] == [1.0, math.inf, 1.0]


@pytest.mark.parametrize(
    ("times", "implausible"),
    [
        ([0.5, 0.5, 0.0], 1), ([1.0, 0.0, 2.0, 1.0], 0), ([0.001, 0.0, 0.002], 0), ([0.0, 0.0], 2), ([0.25, -0.25], 1),
        ([1.0, 0.0, -1.0], 1), ([0.31, 0.29, 0.0], 1),
    ],
)  # fmt: skip
def test_a_zero_among_rounded_times_is_a_short_step(times: list[float], implausible: int) -> None:
    rows: list[dict[str, Any]] = [{"part": 0, "line": k, "step_s": time} for k, time in enumerate(times)]
    Doubts().look(rows, {"step_s": times})
    assert sum("implausible" in row for row in rows) == implausible


def test_a_loss_that_no_rank_without_it_can_have_is_no_measurement() -> None:
    """torchtitan prints -1.0 on the ranks of a pipeline that do not hold the last stage."""
    record = "[rank{}]:[titan] 2026-05-03 01:27:{:02},868 - root - INFO - step: {:2}  loss: {:8.5f}  grad_norm:  0.3290  memory:  5.52GiB(17.60%)  tps: 1,201  tflops: 1.22  mfu: 0.39%\n"
    text = "".join(record.format(rank, k, k, -1.0 if rank == 0 else 5 - k) for k in range(1, 9) for rank in (0, 1))
    steps, problems = read(text.encode(), "train.log")
    assert {row["loss"] for row in steps if row["rank"] == 0} == {None}
    assert [row["loss"] for row in steps if row["rank"] == 1] == [5 - k for k in range(1, 9)]
    assert problems == []
