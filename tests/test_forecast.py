"""Forecasts of speeds at sizes that were not run: held against sizes that were, never with residuals of the submitter."""

import re
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
import scipy.optimize
import scipy.stats

from conftest import ROOT
from little_warehouse import Warehouse
from scalelens.statistics.forecasts import (
    FEWEST_SIZES,
    SHARE,
    Series,
    expected_speed,
    forecast_speeds,
    limit_of,
    published_series,
    residuals,
    scale_of,
)

PAGE = ROOT / "docs" / "statistics.md"
LONG = [series for series in published_series() if len(series.devices) >= FEWEST_SIZES]


class HeldOut(NamedTuple):
    """The largest size of a series, forecast from the others.  Logarithms of ratios; ends are half-widths."""

    series: Series
    error: float
    end: float
    power_error: float
    power_end: float


def held_out(series: Series) -> HeldOut:
    devices, speeds, size, speed = series.devices[:-1], series.speeds[:-1], series.devices[-1], series.speeds[-1]
    mine = set(series.submitter.split("+"))
    known = [
        residual
        for other in published_series()
        if not mine & set(other.submitter.split("+"))
        for residual in residuals(other.devices, other.speeds)
    ]
    end = limit_of(known) * scale_of(devices, speeds, size)
    return HeldOut(series, float(np.log(speed / expected_speed(devices, speeds, size))), end, *power_law(series))


def power_law(series: Series) -> tuple[float, float]:
    """Error and half of the 90 % interval of an ordinary power law, by Student's t."""
    at, values = np.log(series.devices), np.log(series.speeds)
    fit = scipy.stats.linregress(at[:-1], values[:-1])
    left, freedom = values[:-1] - fit.intercept - fit.slope * at[:-1], len(at) - 3
    around = (at[:-1] - at[:-1].mean()) ** 2
    spread = 1 + 1 / len(around) + (at[-1] - at[:-1].mean()) ** 2 / around.sum()
    end = scipy.stats.t.ppf(0.95, freedom) * np.sqrt(np.sum(left**2) / freedom * spread)
    return float(values[-1] - fit.intercept - fit.slope * at[-1]), float(end)


HELD_OUT = [held_out(series) for series in LONG]


def test_largest_sizes_of_public_results_lie_inside() -> None:
    assert sum(abs(one.error) <= one.end for one in HELD_OUT) >= SHARE * len(HELD_OUT)
    assert len(HELD_OUT) >= 9


def test_no_known_result_lies_above_the_best_efficiency_of_smaller_sizes() -> None:
    """Why an interval may end there."""
    known = 0
    for series in published_series():
        per_device = series.speeds / series.devices
        for cut in range(3, len(per_device)):
            known += len(per_device[cut:])
            assert max(per_device[cut:]) <= max(per_device[:cut]), series
    assert known >= 28


def test_a_device_is_not_forecast_to_do_more_than_at_any_size() -> None:
    devices = np.array([1.0, 2.0, 4.0, 8.0])
    for one in forecast_speeds(devices, 1 / (devices * np.array([0.8, 1.0, 0.7, 0.75])), [16.0, 64.0]):
        assert one.speedup is not None and one.high is not None
        assert one.speedup < one.high <= one.devices / 0.8 * (1 + 1e-12)


def test_an_ordinary_power_law_promises_too_much() -> None:
    """Why the interval is not half as wide as its: it misses more than it says."""
    assert sum(abs(one.power_error) <= one.power_end for one in HELD_OUT) < 0.8 * len(HELD_OUT)


Values = npt.NDArray[np.float64]
Law = Callable[[Values, Values, float], float]


def rational_law(contention_only: bool) -> Law:
    """Speed at a size by Gunther's universal scalability law, or by Amdahl's, which has no term of coherency.

    n / X = (1 + a (n - 1) + b n (n - 1)) / X(1) is linear in its coefficients, none of which is below 0.
    """

    def law(devices: Values, speeds: Values, size: float) -> float:
        def terms(n: Values) -> Values:
            return np.stack([n**0, n - 1] + ([] if contention_only else [n * (n - 1)]), axis=-1)

        at = devices / devices[0]
        coefficients, _ = scipy.optimize.nnls(terms(at) * (speeds / at)[:, None], np.ones(len(at)))
        n = size / devices[0]
        return n / float(terms(np.array(n)) @ coefficients)

    return law


def mean_law(laws: list[Law]) -> Law:
    return lambda *known: float(np.exp(np.mean([np.log(law(*known)) for law in laws])))


LAWS: dict[str, Law] = {
    "power law, which is used": expected_speed,
    "Amdahl": rational_law(contention_only=True),
    "universal scalability law": rational_law(contention_only=False),
}
LAWS["mean of the three"] = mean_law(list(LAWS.values()))


def errors_of(law: Law, series: Series) -> list[tuple[float, float]]:
    """Each larger size forecast from smaller ones: the error of its logarithm, and the scale it is held against."""
    found = []
    for cut in range(3, len(series.devices)):
        known = series.devices[:cut], series.speeds[:cut]
        for size, speed in zip(series.devices[cut:], series.speeds[cut:], strict=True):
            found.append((abs(float(np.log(speed / law(*known, size)))), scale_of(*known, size)))
    return found


def outcomes(law: Law) -> tuple[int, list[float], list[float]]:
    """Of the held-out largest sizes: how many lie inside, and errors and half-widths, as shares."""
    errors, ends = [], []
    for series in LONG:
        mine = set(series.submitter.split("+"))
        others = [other for other in published_series() if not mine & set(other.submitter.split("+"))]
        limit = limit_of([error / scale for other in others for error, scale in errors_of(law, other)])
        known = series.devices[:-1], series.speeds[:-1]
        errors.append(abs(float(np.log(series.speeds[-1] / law(*known, series.devices[-1])))))
        ends.append(limit * scale_of(*known, series.devices[-1]))
    inside = sum(error <= end for error, end in zip(errors, ends, strict=True))
    return inside, np.expm1(errors).tolist(), np.expm1(ends).tolist()


def test_no_other_law_is_better(golden) -> None:
    """On the held-out sizes: the others miss more of them, by more, though most of their errors are smaller."""
    lines, found = [], {}
    for name, law in LAWS.items():
        inside, errors, ends = found[name] = outcomes(law)
        lines.append(
            f"| {name} | {inside} of {len(errors)} | {100 * np.median(errors):.1f} | {100 * np.mean(errors):.1f} "
            f"| {100 * max(errors):.0f} | {100 * np.median(ends):.0f} |\n"
        )
    inside, errors, _ = found.pop("power law, which is used")
    assert all(one[0] <= inside and np.mean(one[1]) > np.mean(errors) for one in found.values())
    table = (
        "<!-- laws -->\n| law | inside | median error [%] | mean [%] | largest [%] | half of the interval, median [%] |\n"
        f"|---|---:|---:|---:|---:|---:|\n{''.join(lines)}<!-- end of laws -->"
    )
    text = re.sub(r"<!-- laws -->.*?<!-- end of laws -->", lambda _: table, PAGE.read_text(), flags=re.DOTALL)
    assert table in text
    golden(text, PAGE)


def test_page(golden) -> None:
    rows = []
    for one in sorted(HELD_OUT, key=lambda one: (one.series.submitter, one.series.name)):
        source, device, benchmark = one.series.name.split(", ")
        rows.append(
            f"| {one.series.submitter}, {device}, {benchmark} ({source.rpartition('_')[2]}) "
            f"| {' '.join(f'{size:.0f}' for size in one.series.devices[:-1])} → {one.series.devices[-1]:.0f} "
            f"| {100 * np.expm1(one.error):+.1f} | {100 * np.expm1(-one.end):.0f} to {100 * np.expm1(one.end):+.0f} "
            f"| {100 * np.expm1(one.power_error):+.1f} | {100 * np.expm1(-one.power_end):.0f} to {100 * np.expm1(one.power_end):+.0f} |\n"
        )
    table = (
        "<!-- forecasts -->\n| series | sizes | measured over forecast [%] | interval [%] | over power law [%] | its interval [%] |\n"
        f"|---|---|---:|---:|---:|---:|\n{''.join(rows)}<!-- end of forecasts -->"
    )
    text = re.sub(r"<!-- forecasts -->.*?<!-- end of forecasts -->", lambda _: table, PAGE.read_text(), flags=re.DOTALL)
    assert table in text
    golden(text, PAGE)


def test_an_exact_power_law_is_continued() -> None:
    devices = np.array([4.0, 8.0, 16.0, 32.0])
    [twice, far] = forecast_speeds(devices, devices**-0.9, [64.0, 256.0])
    assert twice.speedup == pytest.approx(16**0.9) and far.speedup == pytest.approx(64**0.9)
    assert twice.low < twice.speedup < twice.high
    assert np.log(far.high / far.low) > np.log(twice.high / twice.low)
    assert np.log(twice.high / twice.speedup) == pytest.approx(np.log(twice.speedup / twice.low))


def test_order_of_sizes_changes_nothing() -> None:
    devices, times = np.array([4.0, 8, 16, 32]), np.array([1.0, 0.52, 0.27, 0.15])
    order = [2, 0, 3, 1]
    assert forecast_speeds(devices, times, [64.0]) == forecast_speeds(devices[order], times[order], [64.0])


@pytest.mark.parametrize(
    ("devices", "times", "reason"),
    [([1], [1], "1 size: a forecast needs 4"), ([1, 2, 4], [1, 0.5, 0.25], "3 sizes: a forecast needs 4"),
     ([1, 2, 4, 8], [1, 1.1, 1.2, 1.3], "more devices were no faster: nothing to forecast")],
)  # fmt: skip
def test_refused(devices: list[float], times: list[float], reason: str) -> None:
    [found] = forecast_speeds(np.array(devices, float), np.array(times, float), [64.0])
    assert (found.speedup, found.low, found.high, found.reason) == (None, None, None, reason)


def test_too_few_known_forecasts_give_no_end() -> None:
    assert limit_of([1.0] * 8) == float("inf")
    assert limit_of([float(n) for n in range(1, 10)]) == 9
    assert limit_of([float(n) for n in range(1, 20)]) == 18


def test_times_of_the_largest_size(warehouse: Warehouse) -> None:
    for doubling, time in enumerate((1.0, 1.03, 1.05, 1.09)):
        devices = 4 * 2**doubling
        facts = {"devices": devices, "global_batch_size": 8 * devices, "micro_batch_size": 8, "model": "m"}
        warehouse.run(f"r{devices}", [time] * 12, steps={"samples": 8 * devices}, **facts)
    rows = warehouse.ask("FROM forecast(times_devices := 4)")
    assert [(row["devices"], row["doublings"]) for row in rows] == [(4, 0), (8, 0), (16, 0), (32, 0), (64, 1), (128, 2)]
    assert rows[3]["efficiency"] == pytest.approx(1 / 1.09) and rows[4]["efficiency"] < rows[3]["efficiency"]
