"""Rates as logs print them: which records count, what they add up to, whether they are of the job or of one device."""

import csv
import statistics
from typing import Any

import polars as pl
import pytest

from conftest import FIXTURES
from little_warehouse import Row, Warehouse
from scalelens.report.findings import printed_rates

RATES = "SELECT n_steps, samples_per_s, tokens_per_s, rate_scope FROM rates_logged({})"


def printed(warehouse: Warehouse, rates: list[float], **columns: Any) -> None:
    """A run `a` that prints these rates in samples per second and no times."""
    warehouse.run("a", devices=2)
    common: Row = {"run_id": "a", "file_id": "a", "attempt": 0, "phase": "train", "rate_scope": "global"}
    rows = [{"line": k, "step": k, "samples_per_s": rate} for k, rate in enumerate(rates)]
    warehouse.insert("steps", [common | row | columns for row in rows])


def test_rates_are_combined_as_total_work_over_total_time(warehouse: Warehouse) -> None:
    printed(warehouse, [1.0, 1.0, 100.0, 50.0])  # two steps are warm-up; a sample in 10 ms, and one in 20 ms
    (row,) = warehouse.ask(RATES.format(""))
    assert row == {"n_steps": 2, "samples_per_s": pytest.approx(2 / 0.03), "tokens_per_s": None, "rate_scope": "global"}
    (row,) = warehouse.ask("SELECT samples_per_s, printed_samples_per_s FROM throughput(warmup := 3)")
    assert row == {"samples_per_s": None, "printed_samples_per_s": 50}


@pytest.mark.parametrize(
    ("arguments", "rate"),
    [
        ("", None),
        ("epochs := '1'", 1862.9),
        ("epochs := '0'", 1113.0),
        ("exclude := 'none'", 2 / (1 / 1113 + 1 / 1862.9)),
    ],
)
def test_epochs_choose_among_rates_of_epochs(warehouse: Warehouse, arguments: str, rate: float | None) -> None:
    printed(warehouse, [1113.0, 1862.9], value_kind="epoch_mean")
    warehouse.ask("UPDATE steps SET epoch = step, step = NULL")
    (row,) = warehouse.ask(f"SELECT printed_samples_per_s AS rate, note FROM throughput({arguments})")
    assert row["rate"] == (rate and pytest.approx(rate))
    assert ("all records are left out (exclude=none includes them)" in (row["note"] or "")) == (rate is None)
    assert warehouse.column(f"SELECT printed_samples_per_s FROM runs_overview({arguments})") == [row["rate"]]


def test_a_rate_before_the_steady_state_does_not_count_where_that_is_asked_for(warehouse: Warehouse) -> None:
    warehouse.run("a", [4.0] * 60 + [1.0] * 240, devices=1)
    columns = "* EXCLUDE (ranks, is_implausible), 8 / step_s AS samples_per_s, 'global' AS rate_scope, 'train' AS phase"
    warehouse.ask(f"INSERT INTO steps BY NAME SELECT {columns} FROM step_times")
    rate = "SELECT samples_per_s FROM rates_logged({})"
    assert warehouse.column(rate.format(""))[0] < 6
    assert warehouse.column(rate.format("exclude := 'steady'")) == [8]


def test_the_mean_of_a_run_does_not_count_beside_its_steps(warehouse: Warehouse) -> None:
    printed(warehouse, [8.0] * 5)
    summary: Row = {"run_id": "a", "file_id": "a", "line": 9, "attempt": 0, "phase": "train", "samples_per_s": 4.0}
    warehouse.insert("steps", [summary | {"value_kind": "run_mean", "averaged_steps": 5, "rate_scope": "global"}])
    assert warehouse.column("SELECT samples_per_s FROM rates_logged()") == [8]
    assert warehouse.column("SELECT samples_per_s FROM rates_logged(exclude := 'none')")[0] < 8


def test_the_rate_of_the_job_goes_before_those_of_its_ranks(warehouse: Warehouse) -> None:
    printed(warehouse, [16.0] * 5)
    common: Row = {"run_id": "a", "file_id": "a", "attempt": 0, "phase": "train", "rate_scope": "rank"}
    ranks = [
        {"rank": rank, "line": 10 * rank + k, "step": k, "samples_per_s": 7.0 + 2 * rank}
        for rank in (0, 1)
        for k in range(5)
    ]
    warehouse.insert("steps", [common | row for row in ranks])
    assert warehouse.ask(RATES.format("")) == [
        {"n_steps": 3, "samples_per_s": 16, "tokens_per_s": None, "rate_scope": "global"}
    ]
    warehouse.ask("DELETE FROM steps WHERE rate_scope = 'global'")
    assert warehouse.ask(RATES.format("")) == [
        {"n_steps": 3, "samples_per_s": 8, "tokens_per_s": None, "rate_scope": "rank"}
    ]
    points = warehouse.column("SELECT count(*) FROM scaling_points(metric := 'throughput')")
    assert points == [0], "what the other ranks did is not known"


@pytest.mark.parametrize(("devices", "scope"), [(None, None), (1, "global"), (2, None)])
def test_a_rate_is_of_the_job_only_where_something_says_so(
    warehouse: Warehouse, devices: int | None, scope: str | None
) -> None:
    printed(warehouse, [16.0] * 5, rate_scope=None)
    warehouse.ask(f"UPDATE runs SET devices = {devices or 'NULL'}")
    row: Row = {"n_steps": 3, "samples_per_s": 16, "tokens_per_s": None}
    assert warehouse.ask(RATES.format("")) == [row | {"rate_scope": scope}]
    (note,) = warehouse.column("SELECT note FROM throughput()")
    assert ("nothing says whether the printed rate is of the job" in (note or "")) == (scope is None)
    if devices == 2:
        reasons = warehouse.column("SELECT reason FROM not_compared(metric := 'throughput')")
        assert reasons == ["nothing says that the printed rate is of the job"]


@pytest.mark.parametrize(("scope", "told"), [("global", "a job does 4 samples/s"), (None, "a run prints 4 samples/s")])
def test_a_report_says_what_a_printed_rate_is_of(warehouse: Warehouse, scope: str | None, told: str) -> None:
    for run, rate in (("a", 4.0), ("b", 16.0)):
        warehouse.run(run)
        common: Row = {"run_id": run, "file_id": run, "attempt": 0, "phase": "train", "rate_scope": scope}
        warehouse.insert("steps", [common | {"line": k, "step": k, "samples_per_s": rate} for k in range(5)])
    (sentence,) = printed_rates.sentences(pl.DataFrame(warehouse.ask(printed_rates.SQL)), {"a": "slow", "b": "fast"})
    assert sentence.text.startswith(f"2 runs: {told} in slow to 16")


@pytest.mark.parametrize(("unit", "scope"), [("tokens/s", "global"), ("tokens/s/device", "rank")])
def test_rates_of_tokens_say_by_their_unit_what_they_are_of(warehouse: Warehouse, unit: str, scope: str) -> None:
    warehouse.run("a", devices=2)
    common: Row = {"run_id": "a", "file_id": "a", "attempt": 0, "name": "tps", "unit": unit, "stat": "value"}
    warehouse.insert("metrics", [common | {"line": k, "step": k, "value": 1000.0 + 100 * k} for k in range(4)])
    warehouse.insert("metrics", [common | {"name": "eval/tps", "line": k, "step": k, "value": 1.0} for k in range(9)])
    rate = 2 / (1 / 1200 + 1 / 1300)
    assert warehouse.ask(RATES.format("")) == [
        {"n_steps": 2, "samples_per_s": None, "tokens_per_s": pytest.approx(rate), "rate_scope": scope}
    ]
    (row,) = warehouse.ask("SELECT printed_tokens_per_s, rate_scope FROM runs_overview()")
    assert row == {"printed_tokens_per_s": pytest.approx(rate), "rate_scope": scope}


def test_the_total_of_a_run_does_not_follow_from_its_median(warehouse: Warehouse) -> None:
    warehouse.run("a", devices=2, global_batch_size=64)
    common: Row = {"run_id": "a", "file_id": "a", "attempt": 0, "samples": 64.0}
    median = common | {"line": 2, "step_s": 0.0943, "averaged_steps": 2642, "value_kind": "run_median"}
    mean = common | {"line": 1, "step_s": 0.1015, "averaged_steps": 2642, "value_kind": "run_mean"}
    warehouse.insert("step_times", [median, mean])
    asked = "SELECT step_s, mean_s, samples_per_s, timed_s FROM batch_stats()"
    total = {
        "mean_s": pytest.approx(0.1015),
        "samples_per_s": pytest.approx(64 / 0.1015),
        "timed_s": pytest.approx(0.1015 * 2642),
    }
    assert warehouse.ask(asked) == [{"step_s": 0.0943} | total]
    assert warehouse.column("SELECT device_samples_per_s FROM throughput()") == [pytest.approx(32 / 0.1015)]
    warehouse.ask("DELETE FROM step_times WHERE value_kind = 'run_mean'")
    assert warehouse.ask(asked) == [{"step_s": 0.0943, "mean_s": None, "samples_per_s": None, "timed_s": None}]
    assert "its mean and its rates are not known" in warehouse.column("SELECT note FROM batch_stats()")[0]


# The scope of a rate of tokens, over all fixtures that let it be computed


def token_rates() -> dict[str, list[float]]:
    """Tokens per second as printed, over the same from tokens and time of the step; of a device, times the devices."""
    found: dict[str, list[float]] = {}
    for path in sorted(FIXTURES.glob("*/*.metrics.csv")):
        steps = path.with_name(path.name.replace(".metrics.", ".steps."))
        params = path.with_name(path.name.replace(".metrics.", ".params."))
        if not steps.exists() or not params.exists():
            continue
        facts = {(row["part"], row["key"]): row["value"] for row in csv.DictReader(params.open())}
        work = {}
        for row in csv.DictReader(steps.open()):
            length = facts.get((row["part"], "seq_length"))
            tokens = row.get("tokens") or (length and row.get("samples") and int(length) * float(row["samples"]))
            if tokens and row.get("step_s") and row["phase"] == "train":
                work[row["part"], row["line"]] = float(tokens) / float(row["step_s"])
        for row in csv.DictReader(path.open()):
            of_device = row.get("unit") == "tokens/s/device"
            devices = facts.get((row["part"], "devices")) if of_device else "1"
            if (row["part"], row["line"]) in work and devices and (of_device or row.get("unit") == "tokens/s"):
                ratio = float(row["value"]) * int(devices) / work[row["part"], row["line"]]
                found.setdefault(path.parent.name, []).append(ratio)
    return found


TOKEN_RATES = token_rates()


@pytest.mark.parametrize("name", TOKEN_RATES)
def test_a_rate_of_tokens_is_of_what_its_unit_says(name: str) -> None:
    """The median, since some fixtures hold records that contradict themselves."""
    assert statistics.median(TOKEN_RATES[name]) == pytest.approx(1, rel=0.1)


def test_enough_formats_print_a_rate_of_tokens() -> None:
    assert len(TOKEN_RATES) >= 6, sorted(TOKEN_RATES)


# Where a fact comes from


def test_what_no_log_states_is_said_beside_the_values(warehouse: Warehouse) -> None:
    warehouse.run("a", [1.0] * 9, devices=8, nodes=2, global_batch_size=64, system="alps")
    origins = {
        "devices": ["inferred"],
        "nodes": ["path", "inferred"],
        "global_batch_size": ["log", "inferred"],
        "system": ["sidecar"],
    }
    facts = [{"run_id": "a", "key": key, "value": "1", "origin": origin} for key in origins for origin in origins[key]]
    warehouse.insert("params", facts)
    for query in ("runs_overview", "throughput"):
        note = warehouse.column(f"SELECT note FROM {query}()")[0]
        assert note.endswith("devices inferred; nodes from the path")


def test_running_means_of_an_epoch_are_counted_once(warehouse: Warehouse) -> None:
    warehouse.run("a", devices=1, global_batch_size=4)
    common: Row = {"run_id": "a", "file_id": "a", "attempt": 0, "value_kind": "running_mean"}
    rows = [
        {
            "line": 9 * epoch + k,
            "epoch": float(epoch),
            "step": 30 * epoch + 10 * k,
            "averaged_steps": 10 * k,
            "step_s": 0.5 + epoch,
        }
        for epoch in range(2)
        for k in (1, 2, 3)
    ]
    warehouse.insert("step_times", [common | row for row in rows])
    (row,) = warehouse.ask("SELECT timed_steps, timed_s, mean_s, samples_per_s FROM batch_stats(warmup := 0)")
    assert row == {"timed_steps": 60, "timed_s": 60, "mean_s": 1, "samples_per_s": 4}
    # Keras gives the mean of an epoch that ended, and a running mean of the last one.
    ended = {"line": 99, "epoch": 5.0, "step": 200, "averaged_steps": 40, "step_s": 2.0, "value_kind": "epoch_mean"}
    warehouse.insert("step_times", [common | ended])
    (row,) = warehouse.ask("SELECT timed_steps, timed_s FROM batch_stats(warmup := 0)")
    assert row == {"timed_steps": 100, "timed_s": 140}
