"""Ablation, precision, batch curve, grid: only like is compared with like, and the interval carries both sides."""

import random
from typing import Any

import pytest

from little_warehouse import Row, Warehouse

BASE: Row = {
    "system": "s", "model": "m", "precision": "bf16", "devices": 4, "nodes": 1, "global_batch_size": 32, "micro_batch_size": 8,
}  # fmt: skip


def run(warehouse: Warehouse, name: str, step_s: float, settings: Row | None = None, **facts: Any) -> None:
    """A run of constant time with settings that `params` holds."""
    warehouse.run(name, [step_s] * 6, **BASE | facts)
    rows = [{"run_id": name, "key": key, "value": value, "origin": "log"} for key, value in (settings or {}).items()]
    warehouse.insert("params", rows)


def changes(warehouse: Warehouse, call: str = "ablation()") -> list[tuple[Any, ...]]:
    return [
        (row["setting"], row["from_value"], row["to_value"], row["speedup"]) for row in warehouse.ask(f"FROM {call}")
    ]


def test_one_changed_setting_is_an_ablation(warehouse: Warehouse) -> None:
    run(warehouse, "a", 2.0, {"num_workers": "2"})
    run(warehouse, "b", 1.0, {"num_workers": "16"})
    assert changes(warehouse) == [("data_workers", "2", "16", 2.0)]


def test_two_changed_settings_are_none(warehouse: Warehouse) -> None:
    run(warehouse, "a", 2.0, {"num_workers": "2"})
    run(warehouse, "b", 1.0, {"num_workers": "16", "optimizer": "lamb"})
    run(warehouse, "c", 1.0, {"num_workers": "2"}, dataset="imagenet", precision="fp16")
    assert changes(warehouse) == []


def test_what_is_switched_on_is_a_change_and_says_that_one_side_states_it(warehouse: Warehouse) -> None:
    run(warehouse, "a", 1.0)
    run(warehouse, "b", 1.5, {"recompute_granularity": "full"})
    assert changes(warehouse) == [("recompute", None, "full", pytest.approx(1 / 1.5))]
    assert "off, or not stated, on one side" in warehouse.ask("FROM ablation()")[0]["note"]


def test_devices_are_for_scaling_and_labels_keep_apart(warehouse: Warehouse) -> None:
    run(warehouse, "a", 1.0)
    run(warehouse, "b", 1.0, devices=8)
    run(warehouse, "c", 1.0, precision="fp16")
    label = {"run_id": "c", "key": "cooling", "value": "air", "origin": "sidecar"}
    warehouse.insert("params", [label])
    assert changes(warehouse) == []


def test_a_sample_that_is_other_work_has_no_speedup(warehouse: Warehouse) -> None:
    run(warehouse, "a", 1.0, seq_length=1024)
    run(warehouse, "b", 4.0, seq_length=4096)
    (row,) = warehouse.ask("FROM ablation()")
    assert row["speedup"] is None and "not the same work" in row["note"]


def test_another_micro_batch_at_one_global_batch_is_one_change(warehouse: Warehouse) -> None:
    """The accumulation follows from the batches."""
    run(warehouse, "a", 2.0, {"gradient_accumulation_steps": "2"}, micro_batch_size=4)
    run(warehouse, "b", 1.6, {"gradient_accumulation_steps": "1"}, micro_batch_size=8)
    assert changes(warehouse) == [("micro_batch_size", "4", "8", pytest.approx(1.25))]


def test_the_interval_needs_repeats_of_both_and_carries_both(warehouse: Warehouse) -> None:
    for name, step_s in (("a1", 2.0), ("a2", 2.1), ("b1", 1.0), ("b2", 1.02)):
        run(warehouse, name, step_s, precision="fp32" if name[0] == "a" else "bf16")
    (row,) = warehouse.ask("FROM precision_gain()")
    assert (row["from_precision"], row["to_precision"]) == ("fp32", "bf16")
    assert row["speedup"] == pytest.approx(2.05 / 1.01)
    assert row["speedup_low"] == pytest.approx(2.0 / 1.02)
    assert row["speedup_high"] == pytest.approx(2.1 / 1.0)
    assert row["interval_kind"] == "range" and row["note"] is None
    run(warehouse, "c", 0.5, precision="fp8")
    rows = warehouse.ask("FROM precision_gain() WHERE to_precision = 'fp8'")
    assert {row["speedup_low"] for row in rows} == {None}


def test_repeats_that_differ_by_half_have_no_speedup(warehouse: Warehouse) -> None:
    run(warehouse, "a1", 2.0, precision="fp32")
    run(warehouse, "a2", 4.0, precision="fp32")
    run(warehouse, "b", 1.0)
    (row,) = warehouse.ask("FROM precision_gain()")
    assert row["speedup"] is None and "differ by a factor of 2.00" in row["note"]


@pytest.mark.parametrize(
    ("other", "settings", "expected"),
    [
        ("fp16", {}, ("fp16", "bf16")),
        ("amp", {}, ("amp", "bf16")),
        ("fp32", {}, ("fp32", "bf16")),
        ("fp8", {}, ("bf16", "fp8")),
        ("bf16", {"fp8": "hybrid"}, ("bf16", "bf16+fp8")),
    ],
)
def test_precisions_are_ordered_from_wide_to_narrow(
    warehouse: Warehouse, other: str, settings: Row, expected: tuple[str, str]
) -> None:
    run(warehouse, "a", 2.0)
    run(warehouse, "b", 1.0, settings, precision=other)
    rows = warehouse.ask("FROM precision_gain()")
    assert [(row["from_precision"], row["to_precision"]) for row in rows] == [expected]


def test_a_recipe_of_fp8_that_is_off_is_no_precision(warehouse: Warehouse) -> None:
    run(warehouse, "a", 1.0, {"fp8": "None", "fp8_recipe": "delayed"}, precision="bf16")
    (row,) = warehouse.ask("FROM configurations()")
    assert "precision bf16" in row["all_settings"]


def test_rows_and_their_order_do_not_matter(warehouse: Warehouse) -> None:
    names = [f"r{k}" for k in range(6)]
    random.Random(7).shuffle(names)
    for name in names:
        run(warehouse, name, 1.0 + int(name[1]) / 100, {"num_workers": "8" if int(name[1]) % 2 else "4"})
    (row,) = warehouse.ask("FROM ablation()")
    assert (row["from_run_ids"], row["to_run_ids"]) == (["r0", "r2", "r4"], ["r1", "r3", "r5"])
    assert row["speedup"] == pytest.approx(1.02 / 1.03)


def test_times_k_change_no_speedup(warehouse: Warehouse) -> None:
    run(warehouse, "a", 2.0, precision="fp32")
    run(warehouse, "b", 1.0)
    before = changes(warehouse)
    warehouse.connection.execute("UPDATE step_times SET step_s = 7 * step_s")
    assert changes(warehouse) == before


# Batches


def curve(warehouse: Warehouse, batches: list[int], fixed_s: float, per_sample_s: float) -> list[Row]:
    """Steps that take a fixed time and a time for each sample of a device: the gain of a doubling from b to 2 b is
    fixed / (fixed + 2 b per sample)."""
    for batch in batches:
        run(
            warehouse,
            f"b{batch:04}",
            fixed_s + batch * per_sample_s,
            global_batch_size=4 * batch,
            micro_batch_size=batch,
        )
    return warehouse.ask("FROM batch_size_curve()")


def test_the_knee_is_where_doubling_gains_little(warehouse: Warehouse) -> None:
    """With 1 s and 0.1 s a sample, doubling gains 1 / (1 + 0.2 b): 0.385 from 8, 0.238 from 16, 0.135 from 32, 0.072 from 64."""
    rows = curve(warehouse, [8, 16, 32, 64, 128, 256], 1.0, 0.1)
    gains = [row["gain_of_doubling"] for row in rows]
    assert gains[0] is None
    assert gains[1:] == pytest.approx([1 / (1 + 0.2 * b) for b in (8, 16, 32, 64, 128)])
    assert {row["knee"] for row in rows} == {64}
    assert [row["batch_per_device"] for row in rows if row["is_knee"]] == [64]
    assert {row["knee"] for row in warehouse.ask("FROM batch_size_curve(least_gain := 0.3)")} == {16}


def test_a_gain_between_sizes_that_are_no_doubling_is_that_of_one(warehouse: Warehouse) -> None:
    rows = curve(warehouse, [10, 40, 160], 1.0, 0.0)
    assert [row["gain_of_doubling"] for row in rows][1:] == pytest.approx([1.0, 1.0])


def test_a_curve_that_still_grows_has_no_knee(warehouse: Warehouse) -> None:
    rows = curve(warehouse, [1, 2, 4, 8], 1.0, 0.01)
    assert {row["knee"] for row in rows} == {None}
    assert {row["reason"] for row in rows} == {"throughput still grows by 93 % per doubling at the largest batch"}


def test_two_sizes_show_no_bend(warehouse: Warehouse) -> None:
    rows = curve(warehouse, [64, 128], 0.0, 0.1)
    assert {row["reason"] for row in rows} == {"2 sizes are too few: a bend needs three"}


def test_other_settings_make_another_curve(warehouse: Warehouse) -> None:
    curve(warehouse, [8, 16, 32], 0.01, 0.1)
    for batch in (8, 16, 32):
        size: Row = {"global_batch_size": 8 * batch, "micro_batch_size": batch, "devices": 8}
        run(warehouse, f"wide{batch}", 1.0, **size)
    assert len({row["series"] for row in warehouse.ask("FROM batch_size_curve()")}) == 2


def test_the_grid_is_relative_to_its_best_cell(warehouse: Warehouse) -> None:
    for devices, batch, step_s in ((1, 8, 1.0), (1, 16, 1.6), (2, 8, 1.25), (2, 16, 1.6)):
        size: Row = {"devices": devices, "global_batch_size": devices * batch, "micro_batch_size": batch}
        run(warehouse, f"n{devices}b{batch}", step_s, **size)
    rows = warehouse.ask("FROM batch_device_grid()")
    cells = {(row["devices"], row["batch_per_device"]): row["relative"] for row in rows}
    assert cells == {(1, 8): pytest.approx(0.8), (1, 16): 1.0, (2, 8): pytest.approx(0.64), (2, 16): 1.0}
    rows = warehouse.ask("FROM batch_device_grid(per := 'job')")
    cells = {(row["devices"], row["batch_per_device"]): row["relative"] for row in rows}
    assert cells == {(1, 8): pytest.approx(0.4), (1, 16): 0.5, (2, 8): pytest.approx(0.64), (2, 16): 1.0}
    run(warehouse, "again", 16.0, devices=1, global_batch_size=16, micro_batch_size=16)
    (cell,) = warehouse.ask("FROM batch_device_grid() WHERE devices = 1 AND batch_per_device = 16")
    assert cell["relative"] is None and "factor of 10" in cell["note"]


def test_the_hosts_of_the_job_are_a_neutral_difference(warehouse: Warehouse) -> None:
    """Machines differ: two runs on other nodes are repeats all the same."""
    for run, first in (("a", 1), ("b", 1), ("c", 2)):
        warehouse.run(run, [1.0] * 20, devices=8)
        hosts = ",".join(f"n{k}" for k in reversed(range(first, first + 8)))
        warehouse.insert("jobs", [{"run_id": run, "job_id": run, "node_list": hosts}])
    asked = "SELECT setting, class, a_value, b_value, verdict FROM differences(a := 'a', b := '{}')"
    assert [row for row in warehouse.ask(asked.format("b")) if row["setting"] == "node_list"] == []
    (row,) = (row for row in warehouse.ask(asked.format("c")) if row["setting"] == "node_list")
    assert (row["class"], row["verdict"]) == ("neutral", "differs")
    assert row["a_value"].startswith("n1 ... n8 (8 nodes, ")
    assert warehouse.column("SELECT DISTINCT held FROM held_settings()") == warehouse.column(
        "SELECT min(held) FROM held_settings()"
    )
