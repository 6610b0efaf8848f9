"""Every statistic of a random study is that of numpy and scipy, to 1e-12.

An oracle takes the study and a row, which says of what it is, and gives the numbers of the row anew, without the code
under test.  A number that no oracle gives is named in GIVEN or ELSEWHERE.
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

import oracles_of_comparisons as comparisons
import oracles_of_scaling as scaling
import oracles_of_steps as steps
from little_warehouse import QUERIES, Row
from random_study import Study, fill, random_study

GIVEN = {  # what a row is of, and facts of its run
    "run_number", "attempt", "epoch", "step", "line", "nodes", "devices", "baseline_devices", "largest_devices",
    "global_batch_size", "averaged_steps", "gain_wanted",
}  # fmt: skip
ELSEWHERE = {  # tests of the function itself: test_statistics, test_elbows, test_fits, test_noise
    "batch_stats": {"n_eff"},
    "batch_cdf": {"elbow_number", "elbow_share_low", "elbow_share_high"},
    "slow_steps": {"fast_s", "limit_s", "period_steps"},
    "diminishing_returns": {"devices_low", "devices_high"},
    "compare": {"precedent", "runs_needed", "least_1", "least_3", "least_5", "least_10"},
}
ROOTS = {"fitted_low": 1e-9, "fitted_high": 1e-9}  # two searches for a root of a flat function
DIFFERENCES = {  # of like numbers: their last digits are gone
    "first_batch_s", "tail_s", "rest_s", "extra_s", "difference", "largest_difference", "autocorrelation",
    "largest_residual",
}  # fmt: skip


class Oracle(NamedTuple):
    expected: Callable[[Study, Row], Row]
    rows: int | None  # of the answer, None where the study decides


ORACLES = {
    "batch_stats()": Oracle(steps.batch_stats, 30),
    "batch_cdf()": Oracle(steps.batch_cdf, 30 * 113),
    "slow_steps()": Oracle(steps.slow_steps, None),
    "epoch_times()": Oracle(steps.epoch_times, 90),
    "epoch_stats()": Oracle(steps.epoch_stats, 30),
    **{f"scaling(metric := '{metric}')": Oracle(scaling.scaling, 11) for metric in scaling.TIMES},
    "scaling_fit()": Oracle(scaling.scaling_fit, 7),
    "diminishing_returns()": Oracle(scaling.diminishing_returns, 4),
    "sensitivity()": Oracle(scaling.sensitivity, 11 * 16),
    "throughput()": Oracle(comparisons.throughput, 30),
    "mfu(formula := '6N')": Oracle(comparisons.mfu, 30),
    f"cost_of_work(price_per_device_hour := {comparisons.PRICE})": Oracle(comparisons.cost_of_work, 120),
    "ablation()": Oracle(comparisons.ablation, 7),
    "precision_gain()": Oracle(comparisons.ablation, 1),
    "batch_size_curve()": Oracle(comparisons.batch_size_curve, 4),
    "batch_device_grid()": Oracle(comparisons.batch_device_grid, 8),
    f"compare({comparisons.COMPARED})": Oracle(comparisons.compare, 1),
    "history()": Oracle(comparisons.history, 30),
    "accuracy_curve()": Oracle(comparisons.accuracy_curve, 3600),
    "accuracy_curve(score_name := 'loss')": Oracle(comparisons.accuracy_curve, 90),
    "time_to_accuracy()": Oracle(comparisons.time_to_accuracy, 30),
    f"time_to_accuracy(score_name := 'loss', target := {comparisons.LOSS_TARGET})": Oracle(
        comparisons.time_to_loss, 30
    ),
}


@cache
def answers(seed: int) -> tuple[Study, dict[str, list[Row]]]:
    study = random_study(seed)
    warehouse = fill(study)
    found = {call: warehouse.ask(f"FROM {call}") for call in (*ORACLES, "elbow()")}
    for row in found["batch_stats()"]:
        study[row["run_id"]].n_eff = row["n_eff"]
    return study, found


@pytest.mark.parametrize("call", ORACLES)
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_every_number_is_that_of_numpy_and_scipy(seed: int, call: str) -> None:
    study, found = answers(seed)
    oracle, name = ORACLES[call], call.partition("(")[0]
    numbers = {
        column.name for column in QUERIES[name].columns if column.type.startswith(("DOUBLE", "BIGINT", "INTEGER"))
    }
    assert len(found[call]) == (oracle.rows or len(found[call])) > 0
    for row in found[call]:
        expected = oracle.expected(study, row)
        assert numbers - GIVEN - ELSEWHERE.get(name, set()) <= set(expected)
        for column, value in expected.items():
            close = ROOTS.get(column, 1e-12)
            near = None if value is None else pytest.approx(value, rel=close, abs=1e-13 if column in DIFFERENCES else 0)
            assert row[column] == near, (column, row)


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_every_slow_step_is_told_and_no_other(seed: int) -> None:
    """Of the records that count and the first batches of epochs, those beyond the departure of the elbow or 1.05."""
    study, found = answers(seed)
    told: dict[str, set[int]] = {}
    for row in found["slow_steps()"]:
        told.setdefault(row["run_id"], set()).add(row["step"])
    limits = {row["run_id"]: max(row["departure_s"], 1.05 * row["fast_s"]) for row in found["elbow()"]}
    for run_id, run in study.items():
        slow = steps.looked_at(run) & (run.steps > limits[run_id])
        assert told[run_id] == set((np.flatnonzero(slow) + 1).tolist())
