"""Loads of ranks in all-to-alls, against sums over a matrix of what each sends to each."""

import json

import numpy as np
import numpy.typing as npt
import pytest

from little_warehouse import Row, Warehouse

ROW_BYTES = 128  # 64 elements of two bytes
Sent = npt.NDArray[np.int64]  # rows, by exchange, sender and receiver


def traces(sent: Sent, traced: range, splits: bool = True) -> list[Row]:
    """Kernels of the ranks 4, 5, ... that were traced; each comes 10 ns after the one before."""
    count = sent.shape[1]
    members = list(range(4, 4 + count))
    rows = []
    for exchange, matrix in enumerate(sent):
        for place in traced:
            start = 10_000 * exchange + 10 * place
            args = {
                "In msg nelems": int(matrix[place].sum()) * 64, "Out msg nelems": int(matrix[:, place].sum()) * 64,
                "In split size": str(matrix[place].tolist() if splits else []), "Process Group Ranks": str(members),
            }  # fmt: skip
            rows.append({
                "run_id": "r", "file_id": f"f{place}", "rank": members[place], "line": exchange, "ph": "X", "stream": 7,
                "category": "kernel", "name": "ncclDevKernel_SendRecv", "start_ns": start, "process_group": "3",
                "duration_ns": 10_000 * exchange + 500 - start, "collective": "all_to_allv", "group_size": count,
                "dtype": "BFloat16", "message_bytes": int(matrix[place].sum()) * ROW_BYTES, "args": json.dumps(args),
            })  # fmt: skip
    return rows


def balance(warehouse: Warehouse, rows: list[Row]) -> list[Row]:
    warehouse.insert("runs", [{"run_id": "r"}])
    warehouse.insert("events", rows)
    return warehouse.ask("FROM expert_balance()")


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("traced", [5, 3, 1])
def test_loads_are_sums_over_the_matrix(warehouse: Warehouse, seed: int, traced: int) -> None:
    sent = np.random.default_rng(seed).integers(0, 90, (4, 5, 5))
    rows = balance(warehouse, traces(sent, range(traced)))
    received = sent[:, :traced].sum(axis=1)  # by exchange and receiver
    total = received.sum(axis=0)
    assert [row["rank"] for row in rows] == [4, 5, 6, 7, 8]
    assert [row["received_bytes"] for row in rows] == (total * ROW_BYTES).tolist()
    assert [row["load"] for row in rows] == pytest.approx(total / total.mean())
    worst = (received / received.mean(axis=1, keepdims=True)).max(axis=0)
    assert [row["worst_load"] for row in rows] == pytest.approx(worst)
    imbalance = received.max(axis=1).sum() / received.mean(axis=1).sum()
    assert {round(row["imbalance"], 9) for row in rows} == {round(imbalance, 9)}
    assert {row["origin"] for row in rows} == {"received" if traced == 5 else "sent"}
    assert {row["note"] for row in rows} == {None if traced == 5 else f"what {traced} of 5 ranks send"}


def test_waiting_is_for_the_last_to_arrive(warehouse: Warehouse) -> None:
    rows = balance(warehouse, traces(np.ones((3, 4, 4), dtype=np.int64), range(4)))
    assert [row["wait_ns"] for row in rows] == [90, 60, 30, 0]
    assert [row["duration_ns"] for row in rows] == [1500, 1470, 1440, 1410]
    assert {row["imbalance"] for row in rows} == {1.0}


def test_an_exchange_without_splits_is_even(warehouse: Warehouse) -> None:
    sent = np.random.default_rng(9).integers(1, 90, (2, 3, 3))
    rows = balance(warehouse, traces(sent, range(1), splits=False))
    assert [row["load"] for row in rows] == pytest.approx([1, 1, 1])


def test_kernels_that_state_no_sizes_have_times_alone(warehouse: Warehouse) -> None:
    common = {"run_id": "r", "ph": "X", "category": "kernel", "stream": 1, "start_ns": 0}
    rows = balance(warehouse, [
        {**common, "file_id": f"f{rank}", "rank": rank, "line": 1, "duration_ns": 100 + rank,
         "name": "void deep_ep::intranode::dispatch<8, 768>(int4*)"}
        for rank in range(2)
    ])  # fmt: skip
    assert [(row["kind"], row["received_bytes"], row["load"], row["duration_ns"]) for row in rows] == [
        ("expert_dispatch", None, None, 100), ("expert_dispatch", None, None, 101),
    ]  # fmt: skip
    assert {row["note"] for row in rows} == {"the trace does not say how many bytes each rank gets"}
