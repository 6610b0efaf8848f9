"""Rows of small files become Arrow together, and say the same as those that become Arrow file by file."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from scalelens import arrow_compute
from scalelens.parsing.arrow_rows import COLUMN_TYPES, FEW, MANY, GatheredRows, batch_of, column_fits, columns_of
from scalelens.parsing.rows import Rows

NAIVE = datetime(2026, 1, 2, 3, 4, 5, 678901)
FIT = {
    "step": [0, None, 2**63 - 1, -5],
    "rank": [None, 2**31 - 1],
    "step_s": [1.5, None, float("nan"), 3, float("inf")],
    "place": ["node1", None, "große", "\0"],
    "ts": [NAIVE, None],
}
UNFIT = {
    "step": [[2**63], [1.0], ["1"], [True]],
    "rank": [[2**31], [0, -(2**31) - 1]],
    "step_s": [[2**53 + 1], ["1.5"], [False], [NAIVE]],
    "place": [["half \ud800"], [1], [b"bytes"]],
    "ts": [[NAIVE.replace(tzinfo=UTC)], ["2026-01-02"], [NAIVE, 5]],
}


@pytest.mark.parametrize("name", FIT)
def test_what_a_column_holds_for_sure_arrow_takes(name: str) -> None:
    field = COLUMN_TYPES["steps"][name]
    assert column_fits(field, FIT[name])
    pa.array(FIT[name], field.kind)


@pytest.mark.parametrize(("name", "values"), [(name, values) for name, many in UNFIT.items() for values in many])
def test_other_values_are_left_to_their_file(name: str, values: list[Any]) -> None:
    assert not column_fits(COLUMN_TYPES["steps"][name], [None, *values])


def files() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Rows of files: one with times, one without, one with few columns, one with different ones from row to row."""
    yield "a", [{"line": k, "part": 0, "step": k, "step_s": 0.1 * k, "ts": NAIVE, "phase": "train"} for k in range(9)]
    yield "b", [{"line": k, "part": 0, "step": k, "step_s": 2, "phase": "train"} for k in range(3)]
    yield "c", [{"line": 1, "part": 0}]
    yield "d", [{"line": 1, "part": 0, "loss": 2.5}, {"line": 2, "part": 1, "rank": 3}]


def test_gathered_rows_are_those_of_each_file() -> None:
    batches: list[pa.RecordBatch] = []
    gathered = GatheredRows(lambda table, batch: batches.append(batch))
    alone = []
    for file_id, rows in files():
        columns = columns_of(rows)
        assert gathered.take("steps", file_id, columns, len(rows))
        alone.append(batch_of("steps", {**columns, "file_id": [file_id] * len(rows)}, len(rows)))
    assert not batches
    gathered.flush()
    assert pa.Table.from_batches(batches).to_pylist() == pa.Table.from_batches(alone).to_pylist()


def test_gathering_is_bounded() -> None:
    counts: list[int] = []
    gathered = GatheredRows(lambda table, batch: counts.append(batch.num_rows))
    few = {"line": [*range(FEW)], "part": [0] * FEW}
    for k in range(MANY // FEW + 1):
        assert gathered.take("steps", str(k), few, FEW)
    assert counts == [MANY]
    assert not gathered.take("steps", "x", {"line": [1] * (FEW + 1)}, FEW + 1)
    gathered.flush()
    assert sum(counts) == MANY + FEW


def test_a_value_that_does_not_fit_is_told_with_its_file() -> None:
    written: dict[str, list[dict[str, Any]]] = {}

    def write(table: str, batch: pa.RecordBatch) -> None:
        written.setdefault(table, []).extend(batch.to_pylist())

    gathered = GatheredRows(write)
    found = {}
    for file_id, step, name in (("good", 1, "text "), ("bad", 2**70, "text \ud800")):
        rows = found[file_id] = Rows(file_id, write, gathered=gathered)
        rows.add("steps", 7, step=step, step_s=1.0)
        rows.metric(7, None, None, 1, name, 1.0)
        rows.flush()
    gathered.flush()
    assert not found["good"].problems_by_format
    assert sum(found["bad"].problems_by_format.values()) == 1
    assert [(row["file_id"], row["line"]) for row in written["problems"]] == [("bad", 7)]
    assert sorted((row["file_id"], row["step"]) for row in written["steps"] if row["step"]) == [("good", 1)]
    assert {row["file_id"]: row["name"] for row in written["metrics"]} == {"good": "text ", "bad": "text ?"}


@pytest.mark.parametrize(
    ("values", "ends"),
    [
        ([], (None, None)),
        ([None], (None, None)),
        ([2.0, 1.0, 3.0], (1.0, 3.0)),
        ([None, 4.0, 2.0], (2.0, 4.0)),
        ([1.0, float("nan"), 0.5], (0.5, 1.0)),
    ],
)
def test_ends_of_a_column_are_those_of_arrow(
    values: list[float | None], ends: tuple[float | None, float | None]
) -> None:
    column = pa.array(values, pa.float64())
    for each in (column, pa.chunked_array([column])):
        assert arrow_compute.ends(each) == ends == tuple(arrow_compute.min_max(each).as_py().values())
