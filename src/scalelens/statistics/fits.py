"""Laws of scaling fitted to sizes and times: Amdahl, Gustafson and the universal scalability law (USL).

A size is k = n / n0, devices over those of the smallest size.  The speed at it is X = W / t, work over time.  Each law
is linear in coefficients that are not negative:

    Amdahl       k / X = c (1 + s (k - 1))                      s, the share that does not get faster
    USL          k / X = c (1 + a (k - 1) + b k (k - 1))        a, contention; b, coherency
    Gustafson    X = c (s + (1 - s) k)                          s, the same share of the time at the largest size

G. Amdahl, AFIPS 30 (1967); J. Gustafson, CACM 31 (1988); N. Gunther, Guerrilla Capacity Planning (2007), chapter 4.
Least squares of relative residuals: each run weighs the same, a run of 1 GPU as one of 1,000.
"""

from collections.abc import Callable
from itertools import combinations
from typing import NamedTuple

import numpy as np

from scalelens.statistics.medians import Values
from scalelens.statistics.significance import student_t

FEWEST_SIZES = {"amdahl": 4, "gustafson": 4, "usl": 5}  # a size more than the law has parameters, and two at least
_BISECTIONS = 50


class Estimate(NamedTuple):
    """One parameter of a fitted law, with its 95 % interval.  Without a fit all is None but `law` and `reason`."""

    law: str | None
    parameter: str | None
    value: float | None
    low: float | None
    high: float | None
    base_speed: float | None  # fitted speed at the smallest size, 1 / s of the times given
    largest_residual: float | None  # measured over fitted speed, minus 1, of the run farthest from the law
    reason: str | None


def least_squares(columns: Values) -> tuple[Values, float]:
    """Coefficients >= 0 that bring the sum of columns, shape (n, p), nearest to 1, and the sum of squares that is left.

    Tries every set of columns: p is three at most.
    """
    n, p = columns.shape
    best, least = np.zeros(p), float(n)
    for size in range(1, p + 1):
        for kept in map(list, combinations(range(p), size)):
            found, *_ = np.linalg.lstsq(columns[:, kept], np.ones(n), rcond=None)
            left = float(np.sum((columns[:, kept] @ found - 1) ** 2))
            if np.all(found >= 0) and left < least:
                best, least = np.zeros(p), left
                best[kept] = found
    return best, least


def _profile_ends(
    squares: Callable[[float], float], value: float, least: float, bounds: tuple[float, float], freedom: int
) -> tuple[float, float]:
    """95 % interval of a parameter: where the sum of squares, the others fitted anew, is not much above the least.

    Not much: by t^2 / freedom of it, with t the 97.5 % quantile of Student's t.  Exact for a linear model with normal
    residuals (Bates and Watts, Nonlinear Regression Analysis, 1988, 6.1).  An end may be one of the bounds.
    """
    limit = least * (1 + float(student_t(np.array(freedom))) ** 2 / freedom) + 1e-24

    def end(bound: float) -> float:
        inside, outside = value, bound
        if squares(bound) <= limit:
            return bound
        for _ in range(_BISECTIONS):
            middle = (inside + outside) / 2
            inside, outside = (middle, outside) if squares(middle) <= limit else (inside, middle)
        return inside

    return end(bounds[0]), end(bounds[1])


def law_columns(law: str, k: Values, times: Values) -> Values:
    """Columns of a law whose sum is 1 at each run, up to residuals.  `times` are seconds per work, shape (n,)."""
    if law == "gustafson":
        return np.stack([np.ones_like(k), k], axis=1) * times[:, None]
    columns = np.stack([np.ones_like(k), k - 1, k * (k - 1)], axis=1) / (k * times)[:, None]
    return columns[:, : 2 if law == "amdahl" else 3]


def fit_law(law: str, devices: Values, times: Values) -> list[Estimate]:
    """Parameters of a law fitted to runs on `devices`, shape (n,), that took `times`, in seconds per work.

    Every run counts, repeats too.  Refused, with the reason, on fewer sizes than FEWEST_SIZES.
    """
    sizes, needed = len({*devices.tolist()}), FEWEST_SIZES[law]
    if sizes < needed:
        return [Estimate(law, None, None, None, None, None, None, f"{sizes} sizes: a fit needs {needed}")]
    k = devices / devices.min()
    columns = law_columns(law, k, times)
    found, least = least_squares(columns)
    freedom = len(k) - columns.shape[1]
    fitted = columns @ found  # of Gustafson's law fitted over measured speed, of the others measured over fitted
    residuals = 1 / fitted - 1 if law == "gustafson" else fitted - 1
    farthest = float(residuals[np.argmax(np.abs(residuals))])
    speed = float(found.sum() if law == "gustafson" else 1 / found[0]) if found[0] > 0 or law == "gustafson" else np.inf

    def estimate(name: str, value: float, fixed: Callable[[float], Values]) -> Estimate:
        bounds = (0.0, 1.0 if value <= 1 else 10 * value)  # above 1 more devices are slower
        low, high = _profile_ends(lambda x: least_squares(fixed(x))[1], value, least, bounds, freedom)
        return Estimate(law, name, value, low, high, speed, farthest, None)

    if law == "gustafson":
        share = float(found[0] / found.sum())
        return [estimate("serial_fraction", share, lambda x: columns @ np.array([[x], [1 - x]]))]
    ratios = found[1:] / found[0] if found[0] > 0 else np.full(len(found) - 1, np.inf)
    if not np.all(np.isfinite(ratios)):
        return [
            Estimate(law, None, None, None, None, None, farthest, "more devices gave nothing: the law has no share")
        ]
    if law == "amdahl":
        return [estimate("serial_fraction", float(ratios[0]), lambda x: columns @ np.array([[1], [x]]))]
    first, second, third = columns.T
    return [
        estimate("contention", float(ratios[0]), lambda x: np.stack([first + x * second, third], axis=1)),
        estimate("coherency", float(ratios[1]), lambda x: np.stack([first + x * third, second], axis=1)),
    ]


def fit_laws(devices: Values, times: Values) -> list[Estimate]:
    """The parameters of every law, of runs as in `fit_law`; on fewer than four sizes one entry that says so."""
    sizes, needed = len({*devices.tolist()}), min(FEWEST_SIZES.values())
    if sizes < needed:
        reason = f"{sizes} size{'s' if sizes > 1 else ''}: a fit needs {needed}"
        return [Estimate(None, None, None, None, None, None, None, reason)]
    return [found for law in FEWEST_SIZES for found in fit_law(law, devices, times)]


def gain_of_doubling(devices: Values, times: Values, gain: float) -> Estimate:
    """Devices beyond which twice as many give less than (1 + gain) times the speed, by USL, on four sizes by Amdahl.

    X(2k) / X(k) = 1 + gain is linear in the coefficients of k / X, so its profile is one as of any other parameter.
    """
    law = "usl" if len({*devices.tolist()}) >= FEWEST_SIZES["usl"] else "amdahl"
    fit = fit_law(law, devices, times)[0]
    if fit.value is None:
        return fit
    base = float(devices.min())
    columns = law_columns(law, devices / base, times)
    found, least = least_squares(columns)

    def balance(log_k: float) -> Values:
        k = np.exp2(log_k)
        terms = np.array([[1.0, k - 1, k * (k - 1)], [1.0, 2 * k - 1, 2 * k * (2 * k - 1)]])[:, : columns.shape[1]]
        return np.asarray(2 * terms[0] - (1 + gain) * terms[1])

    def squares(log_k: float) -> float:
        weights = balance(log_k)  # the first is above 0, the others below: two edges span what fulfils it
        edges = columns[:, [0]] * -weights[1:] + columns[:, 1:] * weights[0]
        return least_squares(edges / np.abs(weights).max())[1]

    bounds = (-1.0 + 1e-9, float(np.log2(devices.max() / base)) + 10)  # from half the smallest size on
    low, high = bounds
    if balance(high) @ found > 0:  # the gain is larger even there
        value = high
    else:
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            low, high = (middle, high) if balance(middle) @ found > 0 else (low, middle)
        value = low
    ends = _profile_ends(squares, value, least, bounds, len(devices) - columns.shape[1])
    low, value, high = (
        base * float(np.exp2(end)) if end < bounds[1] else float("inf") for end in (ends[0], value, ends[1])
    )
    return Estimate(law, "devices", value, low, high, fit.base_speed, fit.largest_residual, None)
