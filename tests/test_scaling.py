"""Scaling by each of its metrics: the three times, rates alone, what a metric must and must not change."""

import json
import math
import random
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import scalelens
from conftest import FIXTURES
from little_warehouse import Row, Warehouse
from scalelens.statistics.ratios import ratio_interval

STUDY: Row = {"model": "m", "device_model": "d", "precision": "bf16", "system": "s"}


@pytest.fixture
def warehouse() -> Warehouse:
    return Warehouse()


def epoch(
    warehouse: Warehouse, run: str, number: int, span_s: float, *, train_s: float | None = None,
    validation_s: float | None = None, samples: float | None = None, begun_s: float | None = None,
) -> None:  # fmt: skip
    """Phases of one epoch; with `begun_s` they have times, and a validation follows the epoch's own span."""
    line = 1000 + 10 * number
    common: Row = {"run_id": run, "file_id": run, "attempt": 0, "epoch": number, "origin": "logged", "samples": samples}
    rows = [{**common, "phase": "epoch", "span_s": span_s, "line": line}]
    if train_s is not None:
        rows.append({**common, "phase": "train", "span_s": train_s, "line": line + 1})
    if validation_s is not None:
        rows.append({**common, "phase": "validation", "span_s": validation_s, "line": line + 2, "samples": None})
    if begun_s is not None:
        ends = {"epoch": begun_s + span_s, "validation": begun_s + span_s + (validation_s or 0)}
        rows = [
            row | {"ts": round(1e6 * ends[row["phase"]]), "ts_origin": "utc"} for row in rows if row["phase"] in ends
        ]
    warehouse.insert("phases", rows)


def steps(warehouse: Warehouse, run: str, times: list[float], per_epoch: int, **facts: Any) -> None:
    """A run whose every batch is logged, `per_epoch` of them in an epoch."""
    warehouse.run(run, **facts)
    common: Row = {"run_id": run, "file_id": run, "attempt": 0, "value_kind": "instant", "averaged_steps": 1}
    warehouse.insert("step_times", [
        {**common, "line": step, "step": step, "epoch": (step - 1) // per_epoch, "step_s": time}
        for step, time in enumerate(times, 1)
    ])  # fmt: skip


PARTS = ("batches_s", "first_batch_s", "tail_s", "validation_s", "startup_s", "rest_s")


def test_parts_of_an_epoch_add_up_to_it(warehouse: Warehouse) -> None:
    """A known epoch: ten batches of 1 s, the first 2 s longer, one 0.5 s longer, 1 s between them, 3 s of validation."""
    times = [9.0] * 10 + [3.0, 1.0, 1.0, 1.5, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0] + [1.0] * 10
    steps(warehouse, "a", times, 10, devices=1, global_batch_size=8)
    for number in range(3):
        span_s = sum(times[10 * number : 10 * number + 10]) + 1 + 3
        epoch(warehouse, "a", number, span_s, train_s=span_s - 3, validation_s=3.0)
    rows = warehouse.ask("FROM epoch_times()")
    for row in rows:
        assert sum(row[part] or 0 for part in PARTS) == pytest.approx(row["epoch_s"], rel=1e-12)
    assert {name: rows[1][name] for name in ("epoch_s", "train_s", "n_steps", "median_batch_s", *PARTS)} == {
        "epoch_s": 16.5, "train_s": 13.5, "n_steps": 10, "median_batch_s": 1, "batches_s": 10, "first_batch_s": 2,
        "tail_s": 0.5, "validation_s": 3, "startup_s": None, "rest_s": 1,
    }  # fmt: skip


@pytest.mark.parametrize("seed", range(5))
def test_parts_add_up_whatever_is_logged(warehouse: Warehouse, seed: int) -> None:
    draw = random.Random(seed)
    steps(warehouse, "a", [draw.lognormvariate(0, 0.5) for _ in range(60)], 12, devices=1, global_batch_size=8)
    for number in range(5):
        train_s = draw.choice([None, 30.0])
        validation_s, samples = draw.choice([None, draw.random()]), draw.choice([None, 96])
        epoch(
            warehouse, "a", number, 40 * draw.random() + 20, train_s=train_s, validation_s=validation_s, samples=samples
        )
    rows = warehouse.ask("FROM epoch_times()")
    assert len(rows) == 5
    for row in rows:
        assert sum(row[part] or 0 for part in PARTS) == pytest.approx(row["epoch_s"], rel=1e-12)


def test_a_validation_after_the_span_of_an_epoch_belongs_to_it(warehouse: Warehouse) -> None:
    """By the clock: 10 s of training, 2 s of validation, 1 s until the next epoch begins; nothing follows the last."""
    warehouse.run("a", devices=1, global_batch_size=8)
    for number in range(3):
        epoch(warehouse, "a", number, 10.0, validation_s=2.0, begun_s=1e9 + 13 * number)
    rows = warehouse.ask("SELECT epoch_s, train_s, validation_s FROM epoch_times()")
    assert [tuple(round(value, 6) for value in row.values()) for row in rows] == [(13, 10, 2), (13, 10, 2), (12, 10, 2)]


def test_a_validation_of_another_clock_is_placed_by_its_line(warehouse: Warehouse) -> None:
    warehouse.run("a", devices=1, global_batch_size=8)
    for number in range(2):
        epoch(warehouse, "a", number, 10.0)
    evaluation: Row = {"run_id": "a", "file_id": "a", "attempt": 0, "phase": "evaluation", "origin": "derived"}
    warehouse.insert(
        "phases", [{**evaluation, "line": 1005, "span_s": 2.5, "ts": 10**15, "ts_origin": "utc", "epoch": 7}]
    )
    rows = warehouse.ask("SELECT epoch_s, train_s FROM epoch_times()")
    assert [tuple(row.values()) for row in rows] == [(12.5, 10.0), (10.0, 10.0)]


def test_an_epoch_that_broke_off_is_marked_and_not_compared(warehouse: Warehouse) -> None:
    for devices, span_s in ((1, 100.0), (2, 60.0)):
        warehouse.run(f"n{devices}", devices=devices, global_batch_size=8, **STUDY)
        for number, share in enumerate((1.5, 1, 1, 0.2)):
            epoch(warehouse, f"n{devices}", number, share * span_s)
    assert warehouse.column("SELECT is_cut FROM epoch_times(runs := 'devices = 1')") == [False, False, False, True]
    rows = warehouse.ask("FROM scaling(metric := 't_ep')")
    assert [(row["epoch_s"], row["n_steps"], row["efficiency"]) for row in rows] == [
        (100, 2, 1), (60, 2, pytest.approx(100 / 120)),
    ]  # fmt: skip
    (first,) = warehouse.ask("FROM epoch_stats(runs := 'devices = 1')")
    assert (first["n_epochs"], first["first_epoch_s"], first["later_epoch_s"], first["first_over_later"]) == (
        3,
        150,
        100,
        1.5,
    )


def weak_study(warehouse: Warehouse, factor: float = 1.0) -> None:
    """Weak scaling over one data set of 480 samples: batches of 8 per device, steps of 1, 1.1 and 1.25 s."""
    for devices, step_s in ((1, 1.0), (2, 1.1), (4, 1.25)):
        per_epoch = 60 // devices
        steps(
            warehouse, f"n{devices}", [factor * step_s] * (2 * per_epoch), per_epoch,
            devices=devices, global_batch_size=8 * devices, **STUDY,
        )  # fmt: skip
        for number in range(2):
            train_s = factor * (step_s * per_epoch + 2)
            epoch(warehouse, f"n{devices}", number, train_s + factor * 4, train_s=train_s, validation_s=factor * 4.0)


@pytest.mark.parametrize(
    ("metric", "times"),
    [
        ("t_b", (1.0, 1.1, 1.25)),
        ("mean_s", (1.0, 1.1, 1.25)),
        ("t_tr", (62.0, 35.0, 20.75)),
        ("t_ep", (66.0, 39.0, 24.75)),
        ("throughput", (8 / 8, 16 / 17.6, 32 / 40)),
    ],
)
def test_the_three_times_of_one_study(warehouse: Warehouse, metric: str, times: tuple[float, ...]) -> None:
    """E = t(1) / t(n) for a step at a fixed batch per device, t(1) / (n t(n)) for an epoch over a fixed data set."""
    weak_study(warehouse)
    rows = warehouse.ask(f"FROM scaling(metric := '{metric}') WHERE scaling = 'weak'")
    assert {row["metric"] for row in rows} == {metric}
    if metric in ("t_b", "mean_s"):
        assert [row["step_s"] for row in rows] == pytest.approx(times) and rows[0]["epoch_s"] is None
        expected = [times[0] / time for time in times]
    elif metric == "throughput":
        expected = [1, 1 / 1.1, 1 / 1.25]
        assert [row["samples_per_s"] for row in rows] == pytest.approx([8, 16 / 1.1, 32 / 1.25])
    else:
        assert [row["epoch_s"] for row in rows] == pytest.approx(times) and rows[0]["step_s"] is None
        expected = [times[0] / (devices * time) for devices, time in zip((1, 2, 4), times, strict=True)]
    assert [row["efficiency"] for row in rows] == pytest.approx(expected, rel=1e-12)


METRICS = ("t_b", "mean_s", "t_tr", "t_ep", "throughput")
# By day one of the times of steps, one of those of epochs, and the rate.
BY_DAY = [pytest.param(metric, marks=pytest.mark.slow if metric in ("mean_s", "t_tr") else ()) for metric in METRICS]


@pytest.mark.parametrize("factor", [7.0, pytest.param(1e-3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("metric", BY_DAY)
def test_times_k_scale_as_they_must(metric: str, factor: float) -> None:
    def answer(of: float) -> list[Row]:
        warehouse = Warehouse()
        weak_study(warehouse, of * math.pi)  # not rounded to decimals, which 7 would not keep
        return warehouse.ask(f"FROM scaling(metric := '{metric}')")

    for before, after in zip(answer(1.0), answer(factor), strict=True):
        for name in ("step_s", "step_s_low", "step_s_high", "epoch_s", "epoch_s_low", "epoch_s_high"):
            assert after[name] == (None if before[name] is None else pytest.approx(factor * before[name], rel=1e-12))
        assert after["samples_per_s"] == pytest.approx(before["samples_per_s"] / factor, rel=1e-12)
        assert after["efficiency"] == pytest.approx(before["efficiency"], rel=1e-12)
        assert (after["series"], after["note"]) == (before["series"], before["note"])


@pytest.mark.parametrize("metric", [*BY_DAY, "tflops"])
def test_perfect_scaling_is_efficiency_1_exactly(warehouse: Warehouse, metric: str) -> None:
    for devices in (1, 2, 4, 8, 16):
        facts = {"devices": devices, "global_batch_size": 8, **STUDY}
        warehouse.run(f"n{devices}", [1.0 / devices] * 45, steps={"tflops_per_device": 77.7, "samples": 8.0}, **facts)
        for number in range(3):
            epoch(warehouse, f"n{devices}", number, 96 / devices, train_s=64 / devices, samples=480)
    rows = warehouse.ask(f"FROM scaling(metric := '{metric}')")
    assert [row["efficiency"] for row in rows] == [1.0] * 5
    assert [row["speedup"] for row in rows] == [1, 2, 4, 8, 16]


@pytest.mark.parametrize("metric", BY_DAY)
def test_permuted_rows_change_nothing(metric: str) -> None:
    answers = []
    for seed in (None, 1):
        warehouse = Warehouse()
        weak_study(warehouse)
        for table in ("runs", "step_times", "phases"):
            rows = warehouse.ask(f"FROM {table}")
            if seed:
                random.Random(seed).shuffle(rows)
            warehouse.connection.execute(f"DELETE FROM {table}")
            warehouse.insert(table, rows)
        answers.append(warehouse.ask(f"FROM scaling(metric := '{metric}')"))
    assert answers[0] and answers[0] == answers[1]


def rates(warehouse: Warehouse, run: str, values: list[float], column: str = "samples_per_s", **facts: Any) -> None:
    """A run that logs a rate a step and no time."""
    warehouse.run(run, **facts)
    common: Row = {"run_id": run, "file_id": run, "attempt": 0, "phase": "train", "rate_scope": "global"}
    warehouse.insert("steps", [{**common, "line": k, "step": k, column: value} for k, value in enumerate(values, 1)])


@pytest.mark.parametrize("batch", [None, 8])
def test_rates_alone_are_a_series(warehouse: Warehouse, batch: int | None) -> None:
    """The harmonic mean, without the two first records: 3 / (1/100 + 1/100 + 1/50) is 75."""
    for devices, values in ((1, [1.0, 2.0, 100.0, 100.0, 50.0]), (2, [1.0, 2.0, 120.0, 120.0, 120.0])):
        rates(warehouse, f"n{devices}", values, devices=devices, global_batch_size=batch, **STUDY)
    assert warehouse.ask("FROM scaling()") == []
    assert {row["remedy"] for row in warehouse.ask("FROM not_compared()")} == {
        "scalelens query scaling metric=throughput"
    }
    rows = warehouse.ask("FROM scaling(metric := 'throughput')")
    assert [(row["scaling"], row["samples_per_s"], row["n_steps"], row["efficiency"]) for row in rows] == [
        ("strong" if batch else "throughput", 75, 3, 1), ("strong" if batch else "throughput", 120, 3, pytest.approx(0.8)),
    ]  # fmt: skip
    assert all((row["note"] or "").startswith("no log states the batch") == (not batch) for row in rows)


@pytest.mark.parametrize(
    ("table", "tokens", "efficiency"),
    [
        ("study_of_tokens", [41200, 81900, 160300], None),
        ("study_of_tokens_per_device", [10300 * 8, 9950 * 32, 9120 * 128], [1, 9950 / 10300, 9120 / 10300]),
        ("study_of_unclear_tokens", [], None),
    ],
)
def test_rates_of_tokens_in_a_table_are_a_series(
    table: str, tokens: list[float], efficiency: list[float] | None, tmp_path: Path
) -> None:
    """Those of a device count for all devices of their row; where it is unclear of what they are, nothing is compared."""
    with scalelens.open(tmp_path / "w") as study:
        study.ingest(FIXTURES / "generic_csv" / f"{table}.csv")
        rows = study.query("scaling", metric="throughput")
        assert rows["tokens_per_s"].to_list() == tokens
        assert rows["samples_per_s"].null_count() == rows.height == len(tokens)
        assert rows["efficiency"].to_list() == pytest.approx(efficiency or [None] * len(tokens))
        reasons = {(row["reason"], row["remedy"]) for row in study.query("not_compared").iter_rows(named=True)}
        compared = {("the log prints a rate but no step time", "scalelens query scaling metric=throughput")}
        assert reasons == compared or not tokens


@pytest.mark.parametrize("model", ["", "m"])
def test_rates_of_samples_and_of_tokens_are_drawn_apart(model: str, tmp_path: Path) -> None:
    """They are no one series; where no model is known, the axis has one unit, and the caption says what is left out."""
    for name, unit in (("images", "images/s"), ("words", "tokens/s")):
        rows = "".join(f"{n},{1000 * n},{name}{model}\n" for n in (1, 2, 4))
        (tmp_path / f"{name}.csv").write_text(f"gpus,{unit},{'model' if model else 'note'}\n{rows}")
    with scalelens.open(tmp_path / "w") as study:
        study.ingest(tmp_path)
        study.plot("scaling", tmp_path / "a.json")
    caption = json.loads((tmp_path / "a.json").read_text())["description"]
    if model:
        assert "1000 samples/s" in caption and "1000 tokens/s" in caption
        assert "total samples over total time, or total tokens over total time" in caption
    else:
        assert "Smallest size: 1000 samples/s" in caption and "Not drawn: 3 points with rates of tokens." in caption


def test_a_table_of_nodes_and_their_devices_is_a_study(tmp_path: Path) -> None:
    with scalelens.open(tmp_path / "w") as study:
        study.ingest(FIXTURES / "generic_csv" / "nodes_of_devices.csv")
        rows = study.query("scaling")
        assert rows["devices"].to_list() == [4, 8, 16]
        assert rows["efficiency"].to_list() == pytest.approx([1, 610.5 / 318.0 / 2, 610.5 / 171.2 / 4])
        assert all("devices inferred" in note for note in rows["note"])


def test_printed_tflops_are_compared_per_device(warehouse: Warehouse) -> None:
    """As EPICURE's guide has it: the median of the TFLOP/s per device that Megatron prints, over that of the base."""
    for devices, values in ((128, [1.0, 2.0, 60.0, 61.0, 50.0]), (256, [1.0, 2.0, 57.0, 55.0, 58.0])):
        rates(warehouse, f"n{devices}", values, "tflops_per_device", devices=devices, global_batch_size=1536, **STUDY)
    rows = warehouse.ask("FROM scaling(metric := 'tflops')")
    assert [(row["tflops_per_device"], row["efficiency"]) for row in rows] == [(60, 1), (57, pytest.approx(57 / 60))]


def test_an_unknown_metric_names_those_that_there_are(warehouse: Warehouse) -> None:
    weak_study(warehouse)
    with pytest.raises(
        duckdb.Error, match="metric is 't_b' .the median step., 'mean_s', 't_ep', 't_tr', 'throughput' or 'tflops'"
    ):
        warehouse.ask("FROM scaling(metric := 'step_s')")


# Intervals of the efficiency


@pytest.mark.parametrize(("n_runs", "kind"), [(1, None), (3, "range"), (8, "ci95")])
def test_interval_of_an_efficiency_is_that_of_the_ratio_of_its_repeats(
    warehouse: Warehouse, n_runs: int, kind: str | None
) -> None:
    draw = random.Random(3)
    times = {
        devices: [time_s * draw.uniform(0.99, 1.01) for _ in range(n_runs)] for devices, time_s in ((1, 1.0), (2, 0.6))
    }
    for devices, values in times.items():
        for k, value in enumerate(values):
            warehouse.run(f"n{devices}-{k}", [value] * 45, devices=devices, global_batch_size=8, **STUDY)
    base, two = warehouse.ask("FROM scaling()")
    assert (base["efficiency_low"], base["efficiency_kind"], two["efficiency_kind"]) == (None, None, kind)
    if kind:
        interval = ratio_interval(np.array(times[1]), np.array(times[2]))
        assert interval.low is not None and interval.high is not None
        assert (two["efficiency_low"], two["efficiency_high"]) == (
            pytest.approx(interval.low / 2, rel=1e-12), pytest.approx(interval.high / 2, rel=1e-12),
        )  # fmt: skip
        assert two["efficiency_low"] <= two["efficiency"] <= two["efficiency_high"]


def test_repeats_that_scatter_have_an_efficiency_each(warehouse: Warehouse) -> None:
    for devices, values in ((1, [1.0]), (2, [0.5, 0.55, 0.625])):
        for k, value in enumerate(values):
            warehouse.run(f"n{devices}-{k}", [value] * 45, devices=devices, global_batch_size=8, **STUDY)
    base, two = warehouse.ask("FROM scaling()")
    assert base["repeat_efficiencies"] is None
    assert two["run_ids"] == ["n2-0", "n2-1", "n2-2"]
    assert two["repeat_efficiencies"] == pytest.approx([1.0, 0.5 / 0.55, 0.5 / 0.625])
    assert (two["efficiency"], two["efficiency_kind"]) == (pytest.approx(0.5 / 0.55), None)


# Costs


def test_cost_of_work(warehouse: Warehouse) -> None:
    """Four devices held for half an hour: 2 device hours, for 100 steps of 50,000 samples and two epochs."""
    warehouse.run("a", [1.0] * 100, steps={"samples": 5e4}, devices=4, outcome="completed")
    spans: Row = {"run_id": "a", "attempt": 0, "origin": "logged"}
    warehouse.insert("phases", [{**spans, "phase": "run", "span_s": 1800.0, "rank": rank} for rank in (0, 1)])
    warehouse.insert("phases", [{**spans, "phase": "epoch", "span_s": 50.0, "epoch": number} for number in (0, 1)])
    warehouse.insert("energy", [
        {"run_id": "a", "node": "n", "device": str(device), "scope": "gpu", "energy_j": 3.6e5, "span_s": 1800.0}
        for device in range(2)
    ])  # fmt: skip
    rows = {row["work_unit"]: row for row in warehouse.ask("FROM cost_of_work(price_per_device_hour := 3)")}
    got = {unit: (row["work_units"], row["device_hours"], row["energy_wh"], row["money"]) for unit, row in rows.items()}
    assert got == {
        "run": (1, 2, 400, 6), "epoch": (2, 1, 200, 3), "million samples": (5, pytest.approx(0.4), 80, pytest.approx(1.2)),
    }  # fmt: skip
    assert {(row["run_origin"], row["note"]) for row in rows.values()} == {("run", "50 % of the devices were measured")}
    assert set(warehouse.column("SELECT money FROM cost_of_work()")) == {None}


def test_a_job_counts_for_its_only_run_and_for_no_other(warehouse: Warehouse) -> None:
    for run, job in (("a", "1"), ("b", "2"), ("c", "2")):
        warehouse.run(run, [1.0] * 10, devices=1, job_id=job)
        warehouse.insert("jobs", [{"run_id": run, "job_id": job, "elapsed_s": 3600.0}])
    rows = warehouse.ask("FROM cost_of_work() WHERE work_unit = 'run'")
    assert [(row["run_origin"], row["device_hours"]) for row in sorted(rows, key=lambda row: row["run_id"])] == [
        ("job", 1), ("steps", 10 / 3600), ("steps", 10 / 3600),
    ]  # fmt: skip


# Sensitivity


def test_sensitivity_is_scaling_under_each_choice(warehouse: Warehouse) -> None:
    """Two repeats of each size; the first epoch of the larger one is slower, and its warm-up slower still."""
    for devices, times in ((1, [9.0, 9.0] + [1.0] * 18), (2, [40.0, 40.0] + [0.8] * 8 + [0.6] * 10)):
        for repeat in ("a", "b"):
            steps(warehouse, f"n{devices}{repeat}", times, 10, devices=devices, global_batch_size=8, **STUDY)
    rows = {
        (row["devices"], row["rules_applied"], row["statistic"], row["epochs_taken"]): row
        for row in warehouse.ask("FROM sensitivity()")
    }
    for applied, exclude in (("all", "rules"), ("none", "none")):
        for statistic, metric in (("median", "t_b"), ("mean", "mean_s")):
            for asked in warehouse.ask(f"FROM scaling(metric := '{metric}', exclude := '{exclude}')"):
                row = rows[asked["devices"], applied, statistic, "all"]
                assert {name: row[name] for name in ("n_steps", "step_s")} == {
                    name: asked[name] for name in ("n_steps", "step_s")
                }
                assert row["efficiency"] == pytest.approx(asked["efficiency"], rel=1e-12)
    for epochs in ("0", "1"):
        _, two = warehouse.ask(f"FROM scaling(epochs := '{epochs}')")
        assert rows[2, "all", "median", epochs]["efficiency"] == pytest.approx(two["efficiency"], rel=1e-12)
    assert rows[2, "all", "median", "0"]["efficiency"] == pytest.approx(1 / 1.6)
    assert rows[2, "all but warmup", "median", "all"]["n_steps"] == 2 * (
        20 - 4
    )  # the ends of epochs are still left out
    of_two = [row for row in rows.values() if row["devices"] == 2]
    farthest = max((row["difference"] for row in of_two), key=abs)
    assert {row["largest_difference"] for row in of_two} == {farthest} and farthest < -0.3
    assert rows[2, "all", "median", "all"]["difference"] == 0


# Epochs of which only some batches are in the log


def logged_batches(warehouse: Warehouse, numbers: list[list[int]], seconds: float | None = None) -> None:
    """A run of batches of 1 s; the records of each epoch have these steps, and epochs begin so many seconds apart."""
    warehouse.run("a", devices=1, global_batch_size=8)
    common: Row = {"run_id": "a", "file_id": "a", "attempt": 0, "value_kind": "instant", "averaged_steps": 1}
    records = [(number, step, place) for number, batches in enumerate(numbers) for place, step in enumerate(batches)]
    rows = [
        {**common, "line": line, "step": step, "epoch": number, "step_s": 1.0}
        | ({"ts": round(1e6 * (1e9 + seconds * number + place))} if seconds else {})
        for line, (number, step, place) in enumerate(records, 1)
    ]
    warehouse.insert("step_times", rows)


ANEW = [[*range(1, 11)]] * 3


@pytest.mark.parametrize(
    ("numbers", "seconds", "stated", "trained"),
    [
        pytest.param(ANEW, None, None, [10, 10], id="steps_counted_anew"),
        pytest.param(ANEW, None, 10, [10, 10, 10], id="as_many_as_stated"),
        pytest.param(ANEW, None, 500, [], id="fewer_than_stated"),
        pytest.param(ANEW, 500.0, None, [10], id="the_next_epoch_begins_late"),
        pytest.param([[*range(1, 11)], [*range(1, 13)]], None, None, [], id="no_two_alike"),
        pytest.param([[*range(491, 501)], [*range(501, 551)]], None, None, [], id="longer_than_the_rest_of_another"),
        pytest.param([[*range(1, 11)], [*range(501, 511)], [*range(1001, 1011)]], None, None, [], id="gaps"),
        pytest.param([[*range(1, 11)], [*range(11, 21)], [*range(21, 26)]], None, None, [10, 10], id="cut"),
    ],
)
def test_first_batches_are_not_a_whole_epoch(
    warehouse: Warehouse, numbers: list[list[int]], seconds: float | None, stated: int | None, trained: list[float]
) -> None:
    logged_batches(warehouse, numbers, seconds)
    if stated:
        warehouse.insert("params", [{"run_id": "a", "key": "iterations_per_epoch", "value": str(stated)}])
    assert warehouse.column("SELECT train_s FROM epoch_times()") == trained


@pytest.mark.parametrize(("span_s", "samples"), [(12.0, 4000.0), (500.0, None)])
def test_first_batches_are_not_a_whole_epoch_of_more_samples_or_time(
    warehouse: Warehouse, span_s: float, samples: float | None
) -> None:
    logged_batches(warehouse, [[*range(1, 11)], [*range(11, 21)], [*range(21, 31)]])
    for number in range(3):
        epoch(warehouse, "a", number, span_s, samples=samples)
    assert warehouse.column("SELECT train_s FROM epoch_times()") == [None] * 3


def test_epochs_whose_later_batches_are_missing_are_not_counted(warehouse: Warehouse) -> None:
    logged_batches(warehouse, [[*range(1, 11)], [*range(501, 511)], [*range(1001, 1011)]])
    assert warehouse.column("SELECT n_epochs FROM work_done()") == [None]


def test_a_series_is_named_by_its_device_where_versions_change_with_it(tmp_path: Path) -> None:
    """And by the versions where these alone tell series apart; a printed median is not a mean with the warm-up."""
    machines = [("v100", "12.6", 2.0), ("a100", "13.0", 1.0)]

    def measure(folder: Path, machines: list[tuple[str, str, float]]) -> list[str]:
        folder.mkdir()
        for device, version, factor in machines:
            for size in (1, 2):
                text = json.dumps({
                    "world_size": size, "nodes": 1, "model": "resnet50", "batch_size_per_gpu": 64,
                    "global_batch_size": 64 * size, "precision": "fp16", "warmup_steps": 20, "bench_steps": 200,
                    "mean_step_sec": factor * 0.11, "p50_step_sec": factor * 0.1,
                    "images_per_sec_global": 64 * size / (factor * 0.11), "torch_version": f"2.12.0+cu{version}",
                    "cuda_version": version, "device_name": f"NVIDIA {device.upper()}",
                }, indent=2)  # fmt: skip
                (folder / f"{device}_{version}_{size}.json").write_text(text)
        scalelens.ingest(folder, warehouse=folder / "w")
        rows = scalelens.query("scaling", warehouse=folder / "w")
        assert not any("mean" in (note or "") for note in rows["note"])
        return sorted({series.partition(" · weak")[0] for series in rows["series"]})

    assert measure(tmp_path / "devices", machines) == [
        "resnet50 · fp16 · device_model nvidia a100", "resnet50 · fp16 · device_model nvidia v100",
    ]  # fmt: skip
    of_versions = measure(tmp_path / "versions", [("a100", "12.6", 2.0), ("a100", "13.0", 1.0)])
    assert len(of_versions) == 2 and all("cuda_version" in series for series in of_versions)
