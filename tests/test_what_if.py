"""Replay of pipeline operations: a step worked out by hand, and the stored answers of StragglerAnalysis."""

import json
from pathlib import Path

import numpy as np
import pytest

import scalelens
from conftest import CORPUS
from little_warehouse import FIXTURES, Row, Warehouse
from scalelens.ingestion.ingest import ingest

HAND = FIXTURES / "what_if_operations.csv"
STRAGGLERS = CORPUS / "traces" / "ByteDance-Seed__StragglerAnalysis" / "data"


def asked(warehouse: Warehouse, table: str) -> dict[tuple[str, str | None], Row]:
    rows = warehouse.ask(f"FROM what_if(operations := '{table}')")
    return {(row["question"], row["healed"] if row["question"] == "stage" else None): row for row in rows}


@pytest.fixture
def hand(warehouse: Warehouse) -> Warehouse:
    """Two stages, two replicas: on the last stage of the second, backward takes 6 s, on that of the first 2 s.

    All other backward computes take 4 s, forward 2 s, transfers and the embedding's all-reduce 1 s, the rest 4 s.
    """
    warehouse.connection.execute(f"CREATE OR REPLACE TEMP TABLE hand AS FROM read_csv('{HAND}')")
    return warehouse


def test_a_step_worked_out_by_hand(hand: Warehouse) -> None:
    rows = asked(hand, "hand")
    usual, slowest = rows["all as usual", None], rows["slowest workers", None]
    assert (usual["measured_s"], usual["replayed_s"], usual["what_if_s"]) == (22, 22, 20)
    assert usual["replay_error"] == 0
    assert (usual["slowdown"], usual["healed_share"]) == (pytest.approx(1.1), 1)
    assert (slowest["healed"], slowest["what_if_s"], slowest["healed_share"]) == ("stage 1 replica 1", 20, 1)
    assert [rows["stage", f"stage {k}"]["what_if_s"] for k in (0, 1)] == [22, 20]
    # 2 forward, 2 forward, 6 backward, 4 backward
    assert rows["free communication", None]["what_if_s"] == pytest.approx(14 + 1)  # and the optimizer's second


def test_times_k_scale_all_times(hand: Warehouse) -> None:
    hand.connection.execute("CREATE OR REPLACE TEMP TABLE scaled AS FROM hand")
    hand.connection.execute("UPDATE scaled SET start_ns = 3 * start_ns, duration_ns = 3 * duration_ns")
    before, after = asked(hand, "hand"), asked(hand, "scaled")
    for question, row in before.items():
        assert after[question]["what_if_s"] == pytest.approx(3 * row["what_if_s"], rel=1e-12)
        assert after[question]["slowdown"] == pytest.approx(row["slowdown"], rel=1e-12)


def test_order_of_rows_changes_nothing(hand: Warehouse) -> None:
    hand.connection.execute("CREATE OR REPLACE TEMP TABLE mixed AS FROM hand ORDER BY hash(name || stage || replica)")
    assert asked(hand, "mixed") == asked(hand, "hand")


def test_a_host_that_launches_late_is_replay_error(hand: Warehouse) -> None:
    hand.connection.execute("CREATE OR REPLACE TEMP TABLE late AS FROM hand")
    hand.connection.execute("UPDATE late SET start_ns = start_ns + 2000000000 WHERE name = 'optimizer'")
    row = asked(hand, "late")["all as usual", None]
    assert (row["measured_s"], row["replayed_s"]) == (24, 22)
    assert row["replay_error"] == pytest.approx(22 / 24 - 1)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("UPDATE bad SET name = 'teleport' WHERE name = 'gc'", "operations of an unknown kind: teleport"),
        ("DELETE FROM bad WHERE replica = 1 AND stage = 0 AND name = 'gc'", "steps or replicas differ in"),
        ("DELETE FROM bad WHERE name = 'forward-recv'", "1 sends of stage 0, but 0 receives (forward)"),
        ("DELETE FROM bad WHERE name = 'backward-compute'", "a stage has no forward or no backward compute"),
        (
            "INSERT INTO bad FROM hand WHERE name = 'forward-compute'",
            "a stage computes each micro-batch more than once",
        ),
    ],
)
def test_tables_that_cannot_be_replayed_say_why(hand: Warehouse, change: str, reason: str) -> None:
    hand.connection.execute("CREATE OR REPLACE TEMP TABLE bad AS FROM hand")
    hand.connection.execute(change)
    (row,) = hand.ask("FROM what_if(operations := 'bad')")
    assert row["question"] is None
    assert row["reason"].startswith(reason)


@pytest.mark.skipif(not CORPUS.is_dir(), reason="no corpus of real files beside the project")
@pytest.mark.parametrize("name", ["AR", "SE", "ST"])
def test_stored_answers_of_the_paper_come_out(tmp_path: Path, name: str) -> None:
    workers, stage = (json.loads((STRAGGLERS / f"{kind}-{name}.json").read_text()) for kind in ("mw", "ms"))
    ingest([STRAGGLERS / f"trace-{name}.parquet"], tmp_path / "w", jobs=1)
    rows = scalelens.query("what_if", tmp_path / "w").rows(named=True)
    of = {row["question"]: row for row in rows}  # of the stages the last
    assert of["all as usual"]["slowdown"] == pytest.approx(workers["tori"] / workers["tideal"], abs=5e-5)
    assert of["slowest workers"]["healed_share"] == pytest.approx(workers["Mw"], abs=5e-5)
    assert of["stage"]["healed_share"] == pytest.approx(stage["Ms"], abs=5e-5)
    assert abs(of["all as usual"]["replay_error"]) < 0.02
    assert np.isfinite([row["what_if_s"] for row in rows]).all()
