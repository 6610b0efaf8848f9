"""Speed at numbers of devices that were not run: a power law with the errors that such forecasts had elsewhere.

What is forecast is the speed at n devices, from those at smaller sizes: log X = c + b log n with b at most 1.  How far
off that is cannot be told from the points themselves: they say how well the line fits where it was measured.  So the
interval comes from forecasts whose result is known: each series of the catalog, and the series itself, is cut after
its third size or a later one, and each larger size is forecast from the rest.  Split conformal prediction (Vovk,
Gammerman, Shafer, Algorithmic Learning in a Random World, 2005; Lei and others, J. American Statistical Association
113, 2018): the quantile of the known errors, each over a scale, times the scale of the forecast.  The scale grows with
the doublings beyond the largest size and with how much the points scatter about their line.  It ends where a device
would do more than at any measured size: that no known forecast exceeded, and the line cannot.
"""

import csv
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from scalelens.statistics.medians import Values

FEWEST_SIZES = 4
SHARE = 0.9  # of forecasts that the interval is to hold
_FEWEST_BEFORE = 3  # sizes from which the known forecasts start
_LEAST_SCATTER = 0.02  # of any series about its line, as a share
_AT_ONCE = 0.5  # doublings that a forecast next to the largest size counts for
_CATALOG = Path(__file__).parent.parent / "catalog" / "scaling_series.csv"


class Forecast(NamedTuple):
    """Speed at a size, over that of the smallest size; None with a reason where it is refused."""

    devices: float
    speedup: float | None
    low: float | None
    high: float | None
    n_residuals: int | None
    reason: str | None


class Series(NamedTuple):
    """A published series: who submitted it, devices and samples per second, in the order of devices."""

    submitter: str
    name: str
    devices: Values
    speeds: Values


@cache
def published_series() -> list[Series]:
    """The catalog's series of three sizes or more, of results of MLPerf's training benchmarks."""
    rows: dict[tuple[str, ...], list[tuple[float, float]]] = {}
    with _CATALOG.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            key = row["submitter"], row["source"], row["device"], row["benchmark"]
            rows.setdefault(key, []).append((float(row["devices"]), float(row["samples_per_s"])))
    return [Series(key[0], ", ".join(key[1:]), *np.array(sorted(points)).T) for key, points in rows.items()]


def expected_speed(devices: Values, speeds: Values, size: float) -> float:
    """Speed at a size by the power law through speeds, both of shape (n,)."""
    slope = _slope(devices, speeds)
    return float(np.exp(np.mean(np.log(speeds) - slope * np.log(devices)) + slope * np.log(size)))


def _slope(devices: Values, speeds: Values) -> float:
    """By least squares of the logarithms; at most 1, as twice the devices are at most twice as fast."""
    at, values = (np.log(side) - np.mean(np.log(side)) for side in (devices, speeds))
    return min(float(at @ values / (at @ at)), 1.0)


def scale_of(devices: Values, speeds: Values, size: float) -> float:
    """How far off a forecast may be, up to a factor that all forecasts share."""
    left = np.log(speeds) - _slope(devices, speeds) * np.log(devices)
    scatter = float(np.sqrt(np.sum((left - np.mean(left)) ** 2) / (len(devices) - 1)))
    return (_LEAST_SCATTER + scatter) * (_AT_ONCE + float(np.log2(size / devices[-1])))


def residuals(devices: Values, speeds: Values) -> list[float]:
    """Of a series, shapes (n,), each forecast of a larger size from smaller ones: its error over its scale."""
    found = []
    for cut in range(_FEWEST_BEFORE, len(devices)):
        known = devices[:cut], speeds[:cut]
        for size, speed in zip(devices[cut:], speeds[cut:], strict=True):
            found.append(abs(float(np.log(speed / expected_speed(*known, size)))) / scale_of(*known, size))
    return found


def limit_of(known: Sequence[float]) -> float:
    """What the next error over its scale does not exceed in SHARE of cases; inf where too few are known."""
    place = int(np.ceil((len(known) + 1) * SHARE))
    return sorted(known)[place - 1] if place <= len(known) else float("inf")


def forecast_speeds(devices: Values, times: Values, sizes: Sequence[float]) -> list[Forecast]:
    """Forecasts for sizes beyond the largest, of a series with one time per work for each of `devices`, shape (n,).

    Refused, with the reason, for fewer than four sizes, and where more devices gave nothing.
    """
    order = np.argsort(devices)
    devices, speeds = devices[order], 1 / times[order]
    reason = None
    if len(devices) < FEWEST_SIZES:
        reason = f"{len(devices)} size{'s' if len(devices) > 1 else ''}: a forecast needs {FEWEST_SIZES}"
    elif _slope(devices, speeds) <= 0:
        reason = "more devices were no faster: nothing to forecast"
    if reason:
        return [Forecast(size, None, None, None, None, reason) for size in sizes]
    known = residuals(devices, speeds)
    for series in published_series():
        known += residuals(series.devices, series.speeds)
    limit = limit_of(known)
    most = float(np.max(speeds / devices))  # of a device
    found = []
    for size in sizes:
        speedup = expected_speed(devices, speeds, size) / float(speeds[0])
        factor = float(np.exp(limit * scale_of(devices, speeds, size)))
        high = min(speedup * factor, most * size / float(speeds[0]))
        found.append(Forecast(size, speedup, speedup / factor, high, len(known), None))
    return found
