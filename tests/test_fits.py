"""Laws of scaling: what was planted is found, intervals cover it, and what cannot be known is refused."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq, nnls

from little_warehouse import Row, Warehouse
from scalelens.statistics.fits import FEWEST_SIZES, fit_law, fit_laws, gain_of_doubling, law_columns, least_squares

SIZES = np.array([1, 2, 4, 8, 16, 32], dtype=float)
STUDY: Row = {"model": "m", "device_model": "d", "precision": "bf16", "system": "s", "global_batch_size": 64}


def usl(k: Any, contention: float = 0.02, coherency: float = 0.0005) -> Any:
    """Speed at k times the devices."""
    return k / (1 + contention * (k - 1) + coherency * k * (k - 1))


@pytest.mark.parametrize("unit", [1.0, 1e-9, 3e7])
@pytest.mark.parametrize("base", [1, 8, 128])
def test_what_was_planted_is_found(base: int, unit: float) -> None:
    devices = base * SIZES
    (amdahl,) = fit_law("amdahl", devices, unit * (0.03 + 0.97 / SIZES))
    assert (amdahl.parameter, amdahl.value) == ("serial_fraction", pytest.approx(0.03, rel=1e-9))
    (gustafson,) = fit_law("gustafson", devices, unit / (0.2 + 0.8 * SIZES))
    assert gustafson.value == pytest.approx(0.2, rel=1e-9)
    contention, coherency = fit_law("usl", devices, unit / usl(SIZES))
    assert (contention.value, coherency.value) == (pytest.approx(0.02, rel=1e-6), pytest.approx(0.0005, rel=1e-6))
    for found in (amdahl, gustafson, contention, coherency):
        assert found.low is not None and found.high is not None and found.value is not None
        assert found.low <= found.value <= found.high and found.high - found.low < 1e-9
        assert found.largest_residual == pytest.approx(0, abs=1e-12)
        assert found.base_speed == pytest.approx(1 / unit)


def test_perfect_scaling_has_no_serial_share() -> None:
    for found in fit_laws(SIZES, 1 / SIZES):
        assert found.value == pytest.approx(0, abs=1e-12), found


def test_least_squares_are_scipys() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        columns = rng.standard_normal((6, 3))
        found, least = least_squares(columns)
        expected, norm = nnls(columns, np.ones(6))
        assert found == pytest.approx(expected, abs=1e-9) and least == pytest.approx(norm**2, abs=1e-9)


@pytest.mark.parametrize(
    ("law", "planted"),
    [("amdahl", (0.1,)), ("gustafson", (0.3,)), pytest.param("usl", (0.05, 0.004), marks=pytest.mark.slow)],
)
def test_intervals_cover_what_was_planted(law: str, planted: tuple[float, ...]) -> None:
    """Two runs a size that scatter by 2 %: 95 % of 400 series, within the chance of the simulation."""
    rng = np.random.default_rng(20261122)
    devices = np.repeat(SIZES, 2)
    speed = {
        "amdahl": devices / (1 + 0.1 * (devices - 1)), "gustafson": 0.3 + 0.7 * devices, "usl": usl(devices, 0.05, 0.004),
    }[law]  # fmt: skip
    covered = np.zeros(len(planted))
    for _ in range(400):
        times = np.exp(0.02 * rng.standard_normal(12)) / speed
        covered += [
            found.low <= true <= found.high for found, true in zip(fit_law(law, devices, times), planted, strict=True)
        ]  # type: ignore[operator]
    assert np.all(covered / 400 >= 0.92) and np.all(covered / 400 <= 0.98)


def test_the_size_from_which_doubling_gains_less() -> None:
    true = brentq(lambda k: usl(2 * k) / usl(k) - 1.5, 1, 1000)
    found = gain_of_doubling(4 * SIZES, 1 / usl(SIZES), 0.5)
    assert (found.law, found.value) == ("usl", pytest.approx(4 * true, rel=1e-6))


@pytest.mark.slow
def test_the_interval_of_that_size_covers_it() -> None:
    true = brentq(lambda k: usl(2 * k) / usl(k) - 1.5, 1, 1000)
    rng = np.random.default_rng(7)
    covered = 0
    for _ in range(200):
        interval = gain_of_doubling(SIZES, np.exp(0.02 * rng.standard_normal(6)) / usl(SIZES), 0.5)
        assert interval.low is not None and interval.high is not None and interval.value is not None
        assert interval.low <= interval.value <= interval.high
        covered += interval.low <= true <= interval.high
    assert covered / 200 >= 0.92


def test_perfect_scaling_never_gains_less() -> None:
    found = gain_of_doubling(SIZES, 1 / SIZES, 0.5)
    assert (found.value, found.high) == (float("inf"), float("inf"))


@pytest.mark.parametrize(("law", "needed"), FEWEST_SIZES.items())
def test_too_few_sizes_are_refused(law: str, needed: int) -> None:
    devices = np.repeat(SIZES[: needed - 1], 5)  # repeats are no sizes
    (refused,) = fit_law(law, devices, 1 / devices)
    assert (refused.value, refused.reason) == (None, f"{needed - 1} sizes: a fit needs {needed}")


def test_columns_of_a_law_add_up_to_1_where_it_holds() -> None:
    assert law_columns("usl", SIZES, 1 / usl(SIZES)) @ [1, 0.02, 0.0005] == pytest.approx(np.ones(6))


# In SQL


def study(warehouse: Warehouse, sizes: list[int], scatter: tuple[float, ...] = (1.0,)) -> None:
    for devices in sizes:
        for k, factor in enumerate(scatter):
            time_s = float(factor / usl(devices))
            warehouse.run(f"n{devices}-{k}", [time_s] * 5, devices=devices, **STUDY)


def test_fits_of_a_series(warehouse: Warehouse) -> None:
    study(warehouse, [1, 2, 4, 8, 16])
    rows = {(row["law"], row["parameter"]): row for row in warehouse.ask("FROM scaling_fit()")}
    assert set(rows) == {
        ("amdahl", "serial_fraction"),
        ("usl", "contention"),
        ("usl", "coherency"),
    }  # strong: no Gustafson
    usl_row = rows["usl", "coherency"]
    assert (usl_row["fitted"], usl_row["n_sizes"], usl_row["n_runs"]) == (pytest.approx(0.0005, rel=1e-6), 5, 5)
    points = warehouse.ask("FROM scaling_fit_points() WHERE law = 'usl'")
    assert [(row["devices"], row["mark"]) for row in points] == [
        (1, None), (2, None), (4, None), (8, None), (16, None), (32, "extrapolated"),
    ]  # fmt: skip
    for row in points:
        assert row["fitted_speedup"] == pytest.approx(usl(row["devices"]), rel=1e-9)
        assert row["residual"] is None if row["mark"] else row["residual"] == pytest.approx(0, abs=1e-9)
    speedup = usl(8)
    assert points[3]["karp_flatt"] == pytest.approx((1 / speedup - 1 / 8) / (1 - 1 / 8))
    assert points[0]["karp_flatt"] is None and points[3]["karp_flatt_low"] is None


def test_lines_beyond_twice_the_largest_size_are_marked(warehouse: Warehouse) -> None:
    study(warehouse, [1, 2, 4, 8, 16])
    rows = warehouse.ask("FROM scaling_fit_points(up_to := 100) WHERE law = 'usl' AND devices > 16")
    assert [(row["devices"], row["mark"]) for row in rows] == [
        (32, "extrapolated"), (64, "beyond twice the largest size"), (128, "beyond twice the largest size"),
    ]  # fmt: skip


def test_repeats_give_karp_and_flatts_fraction_an_interval(warehouse: Warehouse) -> None:
    study(warehouse, [1, 2, 4, 8], scatter=(0.99, 1.0, 1.02))
    rows = warehouse.ask("FROM scaling_fit_points() WHERE law = 'amdahl' AND devices BETWEEN 2 AND 8")
    assert len(rows) == 3
    for row in rows:
        assert row["karp_flatt_low"] < row["karp_flatt"] < row["karp_flatt_high"]
        for end, of_speedup in (("karp_flatt_low", "speedup_high"), ("karp_flatt_high", "speedup_low")):
            part = 1 / row["devices"]
            assert row[end] == pytest.approx((1 / row[of_speedup] - part) / (1 - part))
    assert {row["n_runs"] for row in warehouse.ask("FROM scaling_fit()")} == {12}


def test_below_four_sizes_there_is_a_reason_and_no_fit(warehouse: Warehouse) -> None:
    study(warehouse, [1, 2, 4])
    (fit,) = warehouse.ask("FROM scaling_fit()")
    assert (fit["law"], fit["fitted"], fit["note"]) == (None, None, "3 sizes: a fit needs 4")
    (answer,) = warehouse.ask("FROM diminishing_returns()")
    assert (answer["devices_worth"], answer["note"]) == (None, "3 sizes: a fit needs 4")
    assert {row["mark"] for row in warehouse.ask("FROM scaling_fit_points()")} == {None}


def test_diminishing_returns(warehouse: Warehouse) -> None:
    study(warehouse, [1, 2, 4, 8, 16, 32])
    (half,) = warehouse.ask("FROM diminishing_returns()")
    assert usl(2 * half["devices_worth"]) / usl(half["devices_worth"]) == pytest.approx(1.5, rel=1e-6)
    assert half["devices_low"] <= half["devices_worth"] <= half["devices_high"]
    assert half["last_doubling"] == pytest.approx(usl(32) / usl(16) - 1)
    (little,) = warehouse.ask("FROM diminishing_returns(gain := 0.01)")
    assert usl(2 * little["devices_worth"]) / usl(little["devices_worth"]) == pytest.approx(1.01, rel=1e-6)
    (much,) = warehouse.ask("FROM diminishing_returns(gain := 0.99)")
    assert (much["devices_worth"], much["note"]) == (None, "no doubling that was run gains as much")


def test_a_size_beyond_twice_the_largest_is_not_named(warehouse: Warehouse) -> None:
    study(warehouse, [1, 2, 3, 4, 8])
    (row,) = warehouse.ask("FROM diminishing_returns(gain := 0.01)")
    assert row["devices_worth"] is None and row["note"] == "every doubling up to twice the largest size gains more"


def test_growing_models_and_unlike_runs_are_not_fitted(warehouse: Warehouse) -> None:
    study(warehouse, [1, 2, 4, 8])
    warehouse.run("slow", [8.0] * 5, devices=4, **STUDY)
    assert warehouse.ask("FROM fit_points()") == []
