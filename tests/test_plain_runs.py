"""Statistics of plain runs, read in one pass, are those that every other run has."""

from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalelens.database import views
from scalelens.queries import load
from scalelens.statistics.steps import slowest_by_step
from scalelens.tables import documented, schema

Row = dict[str, Any]
PLAIN: Row = {
    "file_id": "f", "line": 1, "phase": "train", "attempt": 0, "value_kind": "instant", "averaged_steps": 1, "samples": 32.0,
}  # fmt: skip


@pytest.fixture(scope="module")
def connection() -> duckdb.DuckDBPyConnection:
    """Tables without a row, the view and the queries of a warehouse."""
    connection = duckdb.connect()
    for name, columns in documented().items():
        if name != "step_times":
            connection.register("arrow", schema(columns).empty_table())
            connection.execute(f"CREATE TABLE {name} AS FROM arrow")
    connection.execute(views.step_times())
    load.create_macros(connection, load.load())
    return connection


def filled(connection: duckdb.DuckDBPyConnection, rows: list[Row], facts: Row) -> None:
    """One run `a` with these records."""
    for name in ("runs", "members", "steps", "phases"):
        connection.execute(f"DELETE FROM {name}")
    insert(connection, "runs", {"run_id": "a"} | facts)
    insert(connection, "members", {"file_id": "f", "part": 0, "run_id": "a", "why": "file"})
    for line, row in enumerate(rows, 1):
        insert(connection, "steps", {"run_id": "a", "part": 0} | PLAIN | {"line": line} | row)


def insert(connection: duckdb.DuckDBPyConnection, table: str, row: Row) -> None:
    marks = ", ".join("?" for _ in row)
    connection.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", [*row.values()])


def answers(connection: duckdb.DuckDBPyConnection, call: str) -> list[Row]:
    return connection.sql(f"FROM {call}").to_arrow_table().to_pylist()


def not_plain(connection: duckdb.DuckDBPyConnection) -> None:
    """An evaluation after the last step: no record holds it, but the run is no longer plain."""
    insert(connection, "phases", {"run_id": "a", "file_id": "f", "line": 99, "phase": "evaluation", "step": 10**6})


records = st.lists(
    st.builds(
        lambda step, rank, step_s: {"step": step, "rank": rank, "step_s": step_s},
        st.integers(1, 30), st.sampled_from([0, 1, None]), st.floats(0.01, 10),
    ),
    min_size=1,
    max_size=40,
)  # fmt: skip
FACTS = [{}, {"global_batch_size": 64, "seq_length": 128}]


@settings(max_examples=40, deadline=None)
@given(
    records,
    st.sampled_from(FACTS),
    st.integers(0, 3),
    st.sampled_from(["rules", "none"]),
    st.sampled_from([32.0, None]),
)
def test_one_pass_says_what_the_rules_say(
    connection: duckdb.DuckDBPyConnection, rows: list[Row], facts: Row, warmup: int, exclude: str, samples: float | None
) -> None:
    """Several ranks, steps out of order, steps that come twice."""
    filled(connection, [row | {"samples": samples} for row in rows], facts)
    call = f"batch_stats(warmup := {warmup}, exclude := '{exclude}')"
    (plain,) = answers(connection, call)
    assert len(answers(connection, "plain_runs()")) == 1
    not_plain(connection)
    assert answers(connection, "plain_runs()") == []
    (by_rules,) = answers(connection, call)
    numbers = {name for name, value in by_rules.items() if isinstance(value, float)}
    assert {name: plain[name] for name in numbers} == pytest.approx(
        {name: by_rules[name] for name in numbers}, rel=1e-12
    )
    assert plain | dict.fromkeys(numbers) == by_rules | dict.fromkeys(numbers)


@pytest.mark.parametrize(
    "odd",
    [
        {"epoch": 1.0}, {"phase": "warmup"}, {"value_kind": "interval_mean"}, {"value_kind": None}, {"averaged_steps": 10},
        {"attempt": 1}, {"attempt": None}, {"samples": 64.0}, {"samples": None}, {"tokens": 4.0}, {"skipped_steps": 1},
        {"tflops_per_device": 50.0}, {"step_s": None}, {"step_s": float("inf")}, {"step": None}, {"file_id": "g"}, {"part": 1},
    ],
)  # fmt: skip
def test_a_run_with_an_odd_record_is_not_plain(connection: duckdb.DuckDBPyConnection, odd: Row) -> None:
    rows: list[Row] = [{"step": step, "step_s": 1.0} for step in range(1, 9)]
    filled(connection, rows, {})
    assert len(answers(connection, "plain_runs()")) == 1
    filled(connection, [*rows, {"step": 9, "step_s": 1.0} | odd], {})
    for other in ({"file_id": "g", "part": 0}, {"file_id": "f", "part": 1}):
        insert(connection, "members", {"run_id": "a", "why": "folder"} | other)
    assert answers(connection, "plain_runs()") == []
    assert len(answers(connection, "batch_stats()")) == 1


def test_a_twin_and_an_ambiguous_run_are_not_plain(connection: duckdb.DuckDBPyConnection) -> None:
    filled(connection, [{"step": 1, "step_s": 1.0}], {})
    connection.execute("UPDATE members SET why = 'twin'")
    assert answers(connection, "plain_runs()") == []
    connection.execute("UPDATE members SET why = 'file'")
    insert(connection, "params", {"run_id": "a", "key": "writers", "value": "ambiguous"})
    assert answers(connection, "plain_runs()") == []
    connection.execute("DELETE FROM params")
    assert len(answers(connection, "plain_runs()")) == 1


def test_conditions_reach_runs_of_both_kinds(connection: duckdb.DuckDBPyConnection) -> None:
    filled(connection, [{"step": step, "step_s": 1.0} for step in range(5)], {"devices": 8})
    for _ in range(2):
        assert len(answers(connection, "batch_stats(runs := 'devices = 8 OR devices = 9')")) == 1
        assert answers(connection, "batch_stats(runs := 'devices = 4')") == []
        not_plain(connection)
    with pytest.raises(duckdb.Error, match="exclude is 'rules', 'steady' or 'none'"):
        answers(connection, "batch_stats(exclude := 'nothing')")


def test_slowest_of_each_step_in_order() -> None:
    steps, times = np.array([3, 1, 3, 2]), np.array([0.3, 0.1, 0.4, 0.2])
    found = slowest_by_step(steps, times)
    assert found is not None and found.tolist() == [0.1, 0.2, 0.4]
    assert slowest_by_step(np.array([1.0, np.nan]), times[:2]) is None
    assert slowest_by_step(steps[:2], np.array([1.0, np.nan])) is None
