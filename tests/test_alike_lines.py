"""Records of a short log that are taken together: the same rows, in the same order, as one after the other."""

import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from scalelens.ingestion import formats
from scalelens.ingestion.recognize import read_rows
from scalelens.parsers import megatron
from scalelens.parsing import dispatch
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import open_source
from test_record_forms import megatron_records

LOADED = formats.load()
RECORD = (
    " iteration {step:8d}/ {of:7d} | consumed samples: {step:12d} | elapsed time per iteration (ms): {ms:.1f} | "
    "global batch size: {batch:5d} | lm loss: {loss} | number of skipped iterations:   0 |"
)


def record(step: int, loss: str = "2.5E+00", ms: float = 900.0, batch: int = 64, of: int = 100) -> str:
    return RECORD.format(step=step, loss=loss, ms=ms + step, batch=batch, of=of)


def read(path: Path) -> list[Any]:
    """All rows of a file in their order, and what is known of it beside them."""
    batches = defaultdict(list)
    rows = Rows("f", lambda table, batch: batches[table].append(pa.Table.from_batches([batch])))
    status = read_rows(open_source(path), LOADED, rows)
    rows.flush()
    tables = {table: repr(pa.concat_tables(of_table).to_pylist()) for table, of_table in batches.items()}
    return [status, tables, repr(rows.parts), rows.taken, rows.timed_steps, rows.rows_by_format]


def one_by_one(path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    with monkeypatch.context() as patch:
        patch.setattr(megatron.Reader, "take_alike", lambda reader, lines: 0)
        return read(path)


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many records were taken together, each time that some were offered."""
    counts: list[int] = []
    take_alike = megatron.Reader.take_alike

    def counted(reader: megatron.Reader, lines: Any) -> int:
        counts.append(take_alike(reader, lines))
        return counts[-1]

    monkeypatch.setattr(megatron.Reader, "take_alike", counted)
    return counts


@pytest.mark.parametrize("cases", [60, pytest.param(600, marks=pytest.mark.slow)])
def test_together_as_one_by_one(cases: int, taken: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "MANY_RECORDS", 1 << 30)
    chance, path = random.Random(11), tmp_path / "job.out"
    for case in range(cases):
        lines = [*megatron_records(chance)][: chance.choice((8, 40, 200))]
        before = chance.choice(([], ["  seq_length ...................................... 2048"]))
        path.write_text(chance.choice(("\n", "\n", "\n", "\r\n")).join(before + lines) + chance.choice(("", "\n")))
        assert read(path) == one_by_one(path, monkeypatch), case
    assert sum(taken) > 8 * cases  # else nothing was compared


@pytest.mark.parametrize(
    "odd",
    [
        record(9), record(8), record(31), record(11, "nan"), record(11, "1,234.5"), record(11, "-1"), record(11, ms=-999),
        record(11, of=11), record(11).replace("|", "", 1), record(11)[:90], "3: " + record(11), "\r" + record(11),
        record(11) + "\r" + record(12), "{" + record(11), record(11) + record(12), record(11, batch=0),
        "[before the start of training step] datetime: 2026-03-04 05:00:00", "=> creating model 'iteration '",
        "[1,3]<stdout>:" + record(11), "srun: error: node3: task 0: Out Of Memory", record(11, "9" * 30),
    ],
)  # fmt: skip
def test_what_differs_from_the_others(odd: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "job.out"
    path.write_text("\n".join([*map(record, range(1, 11)), odd, *map(record, range(11, 30)), ""]))
    assert read(path) == one_by_one(path, monkeypatch)


def test_most_records_of_a_small_log_are_taken_together(taken: list[int], tmp_path: Path) -> None:
    path = tmp_path / "job.out"
    path.write_text("".join(f"{record(step)}\na line of another program\n" for step in range(1, 41)))
    read(path)
    read(path)  # the layout is known from the first time
    assert max(taken) == 38
