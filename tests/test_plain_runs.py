"""Statistics of plain runs, read in one pass, are those that every other run has; so are steps that come in order."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import little_warehouse
from scalelens.database import views
from scalelens.database.connect import plan_quickly
from scalelens.database.macros import add_macros
from scalelens.errors import UserError
from scalelens.queries import load
from scalelens.queries.header import QUERIES_FOLDER, read_query
from scalelens.question.once import SharedHelpers
from scalelens.statistics.epoch_ends import epoch_ends
from scalelens.statistics.steps import kept_records
from scalelens.tables import documented, schema

Row = dict[str, Any]
Log = tuple[Sequence[Row], Row, Sequence[Row]]  # records, facts and phases of a run
PLAIN: Row = {
    "file_id": "f", "line": 1, "phase": "train", "attempt": 0, "value_kind": "instant", "averaged_steps": 1, "samples": 32.0,
}  # fmt: skip


@pytest.fixture(scope="module")
def connection() -> duckdb.DuckDBPyConnection:
    """Tables without a row, the view and the queries of a warehouse."""
    return of_no_rows()


@pytest.fixture(scope="module")
def by_rules() -> duckdb.DuckDBPyConnection:
    """The same, but no run is plain, in order or of single records: `selected_steps` gathers and sorts all records."""
    connection = of_no_rows()
    parameters = {
        "plain_runs": "runs := '', epochs := '', warmup := 2, exclude := 'rules'",
        "runs_in_order": "runs := ''",
        "runs_of_single_records": "runs := ''",
    }
    for name, taken in parameters.items():
        (nothing,) = answers(connection, f"(SELECT count(*) AS n FROM {name}())")
        assert nothing == {"n": 0}
        connection.execute(f"CREATE TABLE no_{name} AS FROM {name}()")
        connection.execute(f"CREATE OR REPLACE MACRO {name}({taken}) AS TABLE FROM no_{name}")
    return connection


def of_no_rows() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(config={"threads": 1})
    plan_quickly(connection, is_little=True)
    for name, columns in documented().items():
        if name != "step_times":
            connection.register("arrow", schema(columns).empty_table())
            connection.execute(f"CREATE TABLE {name} AS FROM arrow")
    connection.execute(views.step_times())
    add_macros(connection, load.load(), None)
    return connection


def filled(connection: duckdb.DuckDBPyConnection, rows: list[Row], facts: Row, phases: Sequence[Row] = ()) -> None:
    """One run `a` with these records and phases."""
    filled_with(connection, [(rows, facts, phases)])


def file_of(run: str) -> str:
    return "f" if run == "a" else f"f-{run}"


def filled_with(connection: duckdb.DuckDBPyConnection, logs: Sequence[Log]) -> None:
    """Runs `a`, `b` and so on, each with its records, facts and phases in a file of its own."""
    for name in ("runs", "members", "steps", "phases"):
        connection.execute(f"DELETE FROM {name}")
    for run, (rows, facts, phases) in zip(ascii_lowercase, logs, strict=False):
        file = file_of(run)
        insert(connection, "runs", {"run_id": run} | facts)
        insert(connection, "members", {"file_id": file, "part": 0, "run_id": run, "why": "file"})
        common = {"run_id": run, "part": 0} | PLAIN | {"file_id": file}
        insert(connection, "steps", *(common | {"line": line} | row for line, row in enumerate(rows, 1)))
        insert(connection, "phases", *({"run_id": run, "file_id": file, "line": 99} | phase for phase in phases))


def insert(connection: duckdb.DuckDBPyConnection, table: str, *rows: Row) -> None:
    if rows:
        fields = tuple(column for column in documented()[table] if any(column.name in row for row in rows))
        little_warehouse.insert(connection, table, pa.Table.from_pylist(list(rows), schema=schema(fields)))


def answers(connection: duckdb.DuckDBPyConnection, call: str) -> list[Row]:
    return connection.sql(f"FROM {call}").to_arrow_table().to_pylist()


@st.composite
def logs(draw: st.DrawFn) -> tuple[list[Row], Row, list[Row]]:
    """Records, facts and phases of a run: ranks, steps out of order and twice, epochs, TFLOP/s, skipped iterations."""
    records = st.tuples(st.integers(1, 30), st.sampled_from([0, 1, None]), st.floats(0.01, 10))
    first, apart = draw(st.integers(0, 2)), draw(st.sampled_from([1, 1, 3]))
    complete = st.lists(st.floats(0.01, 10), min_size=1, max_size=30).map(
        lambda times: [(first + k * apart, 0, time) for k, time in enumerate(times)]
    )
    drawn = draw(complete | st.lists(records, min_size=1, max_size=40))
    rows: list[Row] = [{"step": step, "rank": rank, "step_s": step_s} for step, rank, step_s in drawn]
    common: Row = {
        "samples": draw(st.sampled_from([32.0, None])),
        "ts": draw(st.sampled_from([None, datetime(2026, 1, 2)])),
    }
    length, skipped = draw(st.sampled_from([None, 3, 5, -5, 2.5])), draw(st.sets(st.integers(0, 30), max_size=3))
    has_tflops = draw(st.booleans())
    for row in rows:
        row |= common | {"skipped_steps": int(row["step"] in skipped)}
        row |= {"epoch": None if length is None else row["step"] / length if length == 2.5 else row["step"] // length}
        row |= {"tflops_per_device": 7 / row["step_s"] if has_tflops else None}
    facts = draw(st.sampled_from([{}, {"global_batch_size": 64, "seq_length": 128}, {"framework": "Megatron-LM"}]))
    phase = {
        "phase": st.sampled_from(["evaluation", "checkpoint", "validation"]),
        "attempt": st.sampled_from([0, 1, None]),
    }
    phases = draw(st.lists(st.fixed_dictionaries({"step": st.none() | st.integers(0, 30), **phase}), max_size=4))
    return rows, facts, phases


FOUR_LOGS = st.tuples(
    logs(), logs(), logs(), logs()
)  # asked together: to plan a question takes longer than to answer it


@settings(max_examples=6, deadline=None)
@given(FOUR_LOGS, st.integers(0, 3), st.sampled_from(["rules", "none"]))
def test_one_pass_says_what_the_rules_say(
    connection: duckdb.DuckDBPyConnection,
    by_rules: duckdb.DuckDBPyConnection,
    logs: Sequence[Log],
    warmup: int,
    exclude: str,
) -> None:
    said: list[list[Row]] = []
    for each in (connection, by_rules):
        filled_with(each, logs)
        rows = answers(each, f"batch_stats(warmup := {warmup}, exclude := '{exclude}')")
        said.append(sorted(rows, key=lambda row: row["run_id"]))
    assert [row["run_id"] for row in said[0]] == ["a", "b", "c", "d"]
    for plain, expected in zip(*said, strict=True):
        numbers = {name for name, value in expected.items() if isinstance(value, float)}
        assert {name: plain[name] for name in numbers} == pytest.approx(
            {name: expected[name] for name in numbers}, rel=1e-12
        )
        assert plain | dict.fromkeys(numbers) == expected | dict.fromkeys(numbers)


@settings(max_examples=7, deadline=None)
@given(FOUR_LOGS, st.integers(0, 3), st.sampled_from(["rules", "none", "steady"]))
def test_steps_in_order_are_what_gathering_and_sorting_gives(
    connection: duckdb.DuckDBPyConnection,
    by_rules: duckdb.DuckDBPyConnection,
    logs: Sequence[Log],
    warmup: int,
    exclude: str,
) -> None:
    for each in (connection, by_rules):
        filled_with(each, logs)
    for call in (
        f"selected_steps(warmup := {warmup}, exclude := '{exclude}') ORDER BY run_id, position_in_run",
        "epochs_logged() ORDER BY ALL",
        "steady_state() ORDER BY ALL",
    ):
        assert answers(connection, call) == answers(by_rules, call)


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([1, 2, 3], [(1, 1)]), ([10, 20, 30], [(10, 10)]), ([5], [(5, 1)]),
        ([3, 2, 1], [(1, 1)]), ([3, 4, 5, 9, 1, 2, 6, 7, 8], [(1, 1)]), ([1, 3, 4], []), ([1, 2, 5, 6], []), ([1, 1, 2], []), ([1, None, 3], []), ([1, 2**31], []),
        ([-(2**63), 2**63 - 1], []),
    ],
)  # fmt: skip
def test_runs_in_order(
    connection: duckdb.DuckDBPyConnection, steps: list[int | None], expected: list[tuple[int, int]]
) -> None:
    filled(connection, [{"step": step, "step_s": 1.0, "epoch": 1.0} for step in steps], {})
    found = answers(connection, "runs_in_order()")
    assert [(row["first_step"], row["apart"]) for row in found] == expected


@pytest.mark.parametrize(
    "odd",
    [
        {"epoch": 0.5}, {"epoch": None}, {"phase": "warmup"}, {"value_kind": "interval_mean"}, {"value_kind": None},
        {"averaged_steps": 10}, {"attempt": 1}, {"attempt": None}, {"step_s": None}, {"step_s": float("inf")},
        {"file_id": "g"}, {"part": 1},
    ],
)  # fmt: skip
def test_an_odd_record_is_in_no_order(connection: duckdb.DuckDBPyConnection, odd: Row) -> None:
    rows: list[Row] = [{"step": step, "step_s": 1.0, "epoch": 1.0} for step in range(1, 10)]
    filled(connection, rows, {})
    assert len(answers(connection, "runs_in_order()")) == 1
    filled(connection, [*rows[:-1], rows[-1] | odd], {})
    for other in ({"file_id": "g", "part": 0}, {"file_id": "f", "part": 1}):
        insert(connection, "members", {"run_id": "a", "why": "folder"} | other)
    assert answers(connection, "runs_in_order()") == []


@pytest.mark.parametrize(
    ("facts", "n_excluded"), [({}, 6), ({"framework": "Megatron-LM"}, 8)], ids=["timer stops", "timer runs on"]
)
def test_a_usual_log_is_plain(
    connection: duckdb.DuckDBPyConnection, by_rules: duckdb.DuckDBPyConnection, facts: Row, n_excluded: int
) -> None:
    """Three epochs, TFLOP/s, a skipped iteration.  Left out: 1, 2; 10, 11, 20, 21; timed with more: 14 and 18."""
    rows = [
        {"step": k, "step_s": 1 + k % 7 / 8, "epoch": (k - 1) // 10, "tflops_per_device": 5.0 + k} for k in range(1, 26)
    ]
    rows[9] |= {"skipped_steps": 1}
    phases = [
        {"phase": "evaluation", "step": 13}, {"phase": "checkpoint", "step": 17},
        {"phase": "evaluation", "attempt": 1, "step": 6},
    ]  # fmt: skip
    said: list[list[Row]] = []
    for each in (connection, by_rules):
        filled(each, rows, facts, phases)
        said.append(answers(each, "batch_stats()"))
    assert said[0] == said[1]
    assert (said[0][0]["n_steps"], said[0][0]["n_excluded"]) == (25 - n_excluded, n_excluded)
    assert len(answers(connection, "plain_runs()")) == 1 and not answers(by_rules, "plain_runs()")


def test_a_step_without_a_time_keeps_its_line(connection: duckdb.DuckDBPyConnection) -> None:
    rows: list[Row] = [{"step": 1}, {"step": 2, "rank": 0, "averaged_steps": 5}, {"step": 2, "rank": 1, "step_s": 1.0}]
    filled(connection, rows, {})
    found = answers(connection, "(SELECT line, step, step_s, averaged_steps FROM step_times ORDER BY step)")
    assert [tuple(row.values()) for row in found] == [(1, 1, None, 1), (3, 2, 1.0, 1)]


ODD: tuple[Row, ...] = (
    {"epoch": 1.0}, {"phase": "warmup"}, {"value_kind": "interval_mean"}, {"value_kind": None}, {"averaged_steps": 10},
    {"attempt": 1}, {"attempt": None}, {"samples": 64.0}, {"samples": None}, {"tokens": 4.0}, {"tflops_per_device": 50.0},
    {"step_s": None}, {"step_s": float("inf")}, {"step": None}, {"step": 2**31}, {"file_id": "g"}, {"part": 1},
)  # fmt: skip


def test_a_run_with_an_odd_record_is_not_plain(connection: duckdb.DuckDBPyConnection) -> None:
    rows: list[Row] = [{"step": step, "step_s": 1.0} for step in range(1, 9)]
    odd_runs = {run: [*rows, {"step": 9, "step_s": 1.0} | odd] for run, odd in zip(ascii_lowercase, ODD, strict=False)}
    filled_with(connection, [(of_run, {}, ()) for of_run in (*odd_runs.values(), rows)])
    for run, odd in zip(odd_runs, ODD, strict=True):
        if "file_id" in odd or "part" in odd:
            insert(connection, "members", {"run_id": run, "why": "folder", "file_id": file_of(run), "part": 0} | odd)
    usual = ascii_lowercase[len(ODD)]
    assert [row["run_id"] for row in answers(connection, "plain_runs()")] == [usual]
    assert {row["run_id"] for row in answers(connection, "batch_stats()")} == {*odd_runs, usual}


def test_a_twin_and_an_ambiguous_run_are_not_plain(connection: duckdb.DuckDBPyConnection) -> None:
    filled(connection, [{"step": 1, "step_s": 1.0}], {})
    connection.execute("UPDATE members SET why = 'twin'")
    assert answers(connection, "plain_runs()") == [] and answers(connection, "runs_in_order()") == []
    connection.execute("UPDATE members SET why = 'file'")
    insert(connection, "params", {"run_id": "a", "key": "writers", "value": "ambiguous"})
    assert answers(connection, "plain_runs()") == []
    connection.execute("DELETE FROM params")
    assert len(answers(connection, "plain_runs()")) == 1


def test_a_twin_leaves_out_its_own_part_alone(connection: duckdb.DuckDBPyConnection) -> None:
    """A file may hold two runs, of which one stands in another log as well."""
    later = [{"run_id": "b", "part": 1, "step": step, "step_s": 1.0} for step in (1, 2, 3)]
    for odd in ({}, {"averaged_steps": 2}):  # read by the numbers of their steps, and gathered
        filled(connection, [{"step": 1, "step_s": 1.0}, *(row | odd for row in later)], {})
        connection.execute("UPDATE members SET why = 'twin'")
        insert(connection, "members", {"file_id": "f", "part": 1, "run_id": "b", "why": "file"})
        insert(connection, "runs", {"run_id": "b"})
        for table in ("step_times", "selected_steps()", "batch_stats()"):
            assert {row["run_id"] for row in answers(connection, f"(FROM {table})")} == {"b"}, table


def test_conditions_reach_runs_of_both_kinds(
    connection: duckdb.DuckDBPyConnection, by_rules: duckdb.DuckDBPyConnection
) -> None:
    for each in (connection, by_rules):
        filled(each, [{"step": step, "step_s": 1.0, "epoch": 1} for step in range(5)], {"devices": 8})
        assert len(answers(each, "batch_stats(runs := 'devices = 8 OR devices = 9')")) == 1
        assert answers(each, "batch_stats(runs := 'devices = 4')") == []
    with pytest.raises(duckdb.Error, match="exclude is 'rules', 'steady' or 'none'"):
        answers(connection, "batch_stats(exclude := 'nothing')")


def test_kept_records() -> None:
    """The slowest of each step, in order; nothing where the numbers of the steps do not decide."""
    steps, times = np.array([3, 1, 3, 2]), np.array([0.3, 0.1, 0.4, 0.2])
    rising, missing = np.array([2.0, 1, 2, 1]), np.array([1.0, np.nan, 1, 1])
    found = kept_records(steps, times, rising, None, np.array([2, 9]), 1)
    assert found is not None and (found.times_s.tolist(), found.n_excluded) == ([0.4], 2)
    found = kept_records(steps[1:], times[1:], None, rising[1:], None, 0)
    assert found is not None and found.tflops is not None
    assert (found.times_s.tolist(), found.tflops.tolist()) == ([0.1, 0.2, 0.4], [1, 1, 2])
    found = kept_records(steps[1:], times[1:], None, rising[1:], None, 9)
    assert found is not None and (len(found.times_s), found.n_excluded) == (0, 3)
    for odd in (
        (missing, times, None, None), (steps, missing, None, None), (steps, times, missing, None),
        (steps, times, rising[1:], None), (steps, times, -rising, None), (steps, times, None, rising),
    ):  # fmt: skip
        assert kept_records(*odd, None, 0) is None


def test_runs_asked_together_are_judged_one_by_one(connection: duckdb.DuckDBPyConnection) -> None:
    """Steps out of order, times and steps that are missing; the numbers of one run fall to those of the next."""
    times = "[0.1, 0.2, 0.4]"
    lists = [
        ("[7, 8, 9]", times), ("[1, 2, 3]", times), ("[3, 1, 2]", times), ("[1, 1, 2]", times), ("[1, 2, 3]", "[1, NULL, 1]"),
        ("[1, 2, 3]", "[1, 'inf'::DOUBLE, 1]"), ("[1, NULL, 3]", times), ("[NULL]", "[0.1]"), ("[4]", "[0.1]"), ("[5, 6, 7]", times),
    ]  # fmt: skip
    rows = ", ".join(
        f"({place}, {steps}::INTEGER[], {seconds}::DOUBLE[])" for place, (steps, seconds) in enumerate(lists)
    )
    asked = "SELECT step_statistics(steps, times, NULL, NULL, NULL, 0, false) AS said FROM (VALUES {}) t(place, steps, times)"
    together = connection.sql(f"{asked.format(rows)} ORDER BY place").fetchall()
    found = [
        said and (said["n_steps"], said["first_step"], said["last_step"], said["percentiles"][2])
        for (said,) in together
    ]
    assert found == [
        (3, 7, 9, 0.2), (3, 1, 3, 0.2), (3, 1, 3, 0.2), (2, 1, 2, pytest.approx(0.3)), None, None, None, None,
        (1, 4, 4, 0.1), (3, 5, 7, 0.2),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("steps", "epochs", "places"),
    [
        (range(1, 10), [0, 0, 0, 0, 1, 1, 1, 1, 2], [0, 3, 4, 7]),  # the last epoch is cut
        (range(1, 9), [0, 0, 0, 0, 1, 1, 1, 1], [0, 3, 4, 7]),  # the last is as long as the one before it
        (range(5, 13), [0, 0, 0, 0, 1, 1, 1, 1], [3, 4]),  # the log begins within an epoch: none shows how long one is
        ([1, 2, 4, 5, 6, 7], [0, 0, 0, 1, 1, 1], [3, 5]),  # a step of the first is not logged
        (
            [1, 7, 8, 9],
            [0, 1, 1, 1],
            [3],
        ),  # steps before the second may be of it: it may not begin where the log has it
        (range(1, 5), [0, 0, 1, 1], []),  # too short
        (range(1, 7), [0.2, 0.4, 0.6, 0.8, 1.0, 1.2], []),
        (range(1, 4), [0.5, 0.5, 0.5], []),
    ],
)
def test_ends_of_epochs(steps: Sequence[int], epochs: list[float], places: list[int]) -> None:
    assert sorted(epoch_ends(np.array(steps), np.array(epochs, float)).tolist()) == places


def test_few_records_are_read_without_a_faster_way(connection: duckdb.DuckDBPyConnection) -> None:
    """Planning it takes longer than it saves.  Who asks for it has it all the same, and so do many records."""
    queries = load.load()
    filled(connection, [{"step": step, "step_s": 0.5} for step in range(40)], {})
    helpers, planned = SharedHelpers(connection, queries), answers(connection, "batch_stats()")
    helpers.share("FROM batch_stats()")
    spared = {"plain_runs", "runs_in_order", "runs_of_single_records"}
    assert helpers.spared == spared and answers(connection, "plain_runs()") == []
    assert answers(connection, "batch_stats()") == planned
    helpers.share("FROM plain_runs()")
    assert helpers.spared == spared - {"plain_runs"} and len(answers(connection, "plain_runs()")) == 1
    helpers.forget()
    many = "SELECT one.* FROM (FROM steps LIMIT 1) AS one, range(10000)"
    connection.execute(f"INSERT INTO steps {many}")
    helpers.share("FROM batch_stats()")
    assert helpers.spared == set()
    helpers.forget()
    connection.execute("UPDATE steps SET averaged_steps = 2 WHERE step = 39")  # no step of the run is then a single one
    helpers.share("FROM batch_stats()")
    assert helpers.spared == {"plain_runs", "runs_in_order"}


def test_what_a_helper_pays_from_is_rows_of_a_table(tmp_path: Path) -> None:
    text = (QUERIES_FOLDER / "steps" / "runs_in_order.sql").read_text(encoding="utf-8")
    (tmp_path / "mine.sql").write_text(text.replace("10000 steps", "many steps"), encoding="utf-8")
    with pytest.raises(UserError, match="'Pays from: many steps' is not a number of rows"):
        read_query(tmp_path / "mine.sql")
    assert {query.pays_from[1] for query in load.load().values() if query.pays_from} <= {*documented()}
