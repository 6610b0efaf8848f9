"""Whether one smooth distribution explains the step times of a run as well as a body and a tail do.

A long right side is no tail: an exponential or lognormal distribution bends everywhere.  Two smooth families with a
threshold, a scale and two shapes are fitted to all times, and a body with another distribution beyond its end to the
same times.  The second must be more likely by far.  Where times get rare and then frequent again, nothing need be fitted.
"""

from collections.abc import Callable
from math import log, pi
from typing import NamedTuple

import numpy as np

from scalelens.statistics.medians import Values
from scalelens.statistics.significance import binomial_tail

_GAIN = 7.0  # of the logarithm of the likelihood, that a body and a tail must have over one distribution
_POINTS = 80  # of the body, and as many of the tail, that stand for all records
_HEAVIEST = 2000  # records that a series counts for at most: no family is true to more
_CLEAR = 25.0  # of it, from which on no third beginning of a fit is tried
_BY_CHANCE = 0.001  # that a window beyond the body holds so many more times than the one before it
_OFFSETS = (1.0, 0.1, 10.0)  # interquartile ranges from the threshold to the first record, from which the fit begins
_WORST = 1e300
_EFFORT = {"maxiter": 200, "xatol": 1e-2, "fatol": 1e-2}


class _Weighted(NamedTuple):
    """Times in order, each of which stands for so many."""

    times: Values
    weights: Values
    nearest: float  # from the threshold to the first of them, at least: where the two meet, likelihoods have no bound


Cost = Callable[[Values, _Weighted], float]


def is_explained(ordered: Values, end_s: float) -> bool:
    """Whether one smooth distribution explains times in order of size, shape (n,), of which a body ends at `end_s`.

    In units of the body's interquartile range, so that the answer does not depend on the unit of time.
    """
    count = int(np.searchsorted(ordered, end_s, "right"))
    body, tail = ordered[:count], ordered[count:]
    width = float(np.subtract(*np.quantile(body, [0.75, 0.25])))
    if width <= 0 or len(tail) < 2:
        return False
    if _is_valley(tail, end_s, width):
        return False
    lightness = min(1.0, _HEAVIEST / len(ordered))
    parts = [_thinned((part - ordered[0]) / width, lightness, 1 / len(ordered)) for part in (body, tail)]
    times, weights = (np.concatenate([part[column] for part in parts]) for column in (0, 1))
    both = _Weighted(times, weights, 1 / len(ordered))
    limit = _cost_of_body_and_tail(*parts, (end_s - ordered[0]) / width) + _GAIN
    nearest = np.inf
    for offset in _OFFSETS:
        for family in (_generalized_gamma, _burr):
            nearest = min(nearest, _least(family, both, offset) - limit)
            if nearest < 0:
                return True
        if offset == _OFFSETS[1] and nearest > _CLEAR:
            return False
    return False


def _is_valley(tail: Values, end: float, width: float) -> bool:
    """Whether times beyond the body get more frequent again: of equal windows the second holds far more."""
    for window in width * np.array([0.75, 1.5, 3.0, 6.0]):
        first, second = np.diff(np.searchsorted(tail, end + window * np.arange(3), "right"))
        if second > first and binomial_tail(*np.array([[second], [first + second], [0.5]]))[0] < _BY_CHANCE:
            return True
    return False


def _thinned(times: Values, lightness: float, nearest: float) -> _Weighted:
    """Quantiles of times in order that stand for all of them."""
    if len(times) > _POINTS:
        shown = np.quantile(times, (np.arange(_POINTS) + 0.5) / _POINTS)
        return _Weighted(shown, np.full(_POINTS, lightness * len(times) / _POINTS), nearest)
    return _Weighted(times, np.full(len(times), lightness), nearest)


def _least(cost: Cost, data: _Weighted, offset: float) -> float:
    """The least cost of a family, found from a threshold that lies `offset` before the first time."""
    from scipy.optimize import minimize

    logs = np.log(data.times + offset)
    middle = float(np.average(logs, weights=data.weights))
    scale = float(np.sqrt(np.average((logs - middle) ** 2, weights=data.weights)))
    with np.errstate(all="ignore"):
        found = minimize(cost, [log(offset), middle, log(scale), 0.0], (data,), "Nelder-Mead", options=_EFFORT)
    return float(found.fun)


def _generalized_gamma(at: Values, data: _Weighted) -> float:
    """Cost of the generalized gamma distribution: lognormal, Weibull, exponential, gamma, Fréchet; in limits Gumbel, normal.

    The logarithm of the time from the threshold has the log-gamma distribution of Prentice (Biometrika 61, 1974).
    """
    from scipy.special import gammaln

    logs = np.log(data.times + data.nearest + np.exp(at[0]))
    place, shape = (logs - at[1]) / np.exp(at[2]), at[3]
    if abs(shape) < 1e-3:
        density = -0.5 * place**2 - 0.5 * log(2 * pi)
    else:
        k = shape**-2
        density = log(abs(shape)) - gammaln(k) + k * (log(k) + shape * place - np.exp(shape * place))
    return _cost(data.weights, density - at[2] - logs)


def _burr(at: Values, data: _Weighted) -> float:
    """Cost of the Burr distribution: log-logistic, Pareto; in limits logistic and what falls off more slowly."""
    logs = np.log(data.times + data.nearest + np.exp(at[0]))
    slope, shape = 1.8 * np.exp(-at[2]), np.exp(at[3])
    place = slope * (logs - at[1])
    return _cost(data.weights, np.log(slope * shape) + place - (shape + 1) * np.logaddexp(0, place) - logs)


def _cost(weights: Values, density: Values) -> float:
    """Minus the logarithm of the likelihood; large where the parameters are beyond what can be computed."""
    cost = -float(weights @ density)
    return cost if np.isfinite(cost) else _WORST


def _cost_of_body_and_tail(body: _Weighted, tail: _Weighted, end: float) -> float:
    """Cost of a body that is cut at its end and has another distribution beyond."""
    n_body, n_tail = float(body.weights.sum()), float(tail.weights.sum())
    n = n_body + n_tail
    shares = -n_body * log(n_body / n) - n_tail * log(n_tail / n)

    def cost(at: Values, data: _Weighted) -> float:
        from scipy.special import log_ndtr

        offset = data.nearest + np.exp(at[0])
        logs = np.log(data.times + offset)
        place = (logs - at[1]) / np.exp(at[2])
        inside = log_ndtr((np.log(end + offset) - at[1]) / np.exp(at[2]))
        return _cost(data.weights, -0.5 * place**2 - 0.5 * log(2 * pi) - at[2] - logs - inside)

    return shares + _least(cost, body, 3.0) + _cost_of_tail(tail)


def _cost_of_tail(tail: _Weighted) -> float:
    """The least cost of what lies beyond: a mode, a uniform distribution, an exponential one or a Pareto.

    None of them is narrower than the body, the unit: three times that happen to be near are no mode.
    """
    n = float(tail.weights.sum())
    beyond = tail.times - tail.times[0]
    mean = max(float(np.average(beyond, weights=tail.weights)), 1.0)
    scatter = max(float(np.sqrt(np.cov(tail.times, aweights=tail.weights, ddof=0))), 0.74)
    squares = float(tail.weights @ (tail.times - np.average(tail.times, weights=tail.weights)) ** 2)
    of_mode = n * (log(scatter) + 0.5 * log(2 * pi)) + squares / (2 * scatter**2)
    exponential = n * log(mean) + float(tail.weights @ beyond) / mean
    scales = np.geomspace(0.05, 20, 25) * mean
    logs = np.log1p(beyond[None, :] / scales[:, None]) @ tail.weights
    shapes = n / logs
    pareto = -(n * np.log(shapes / scales) - (shapes + 1) * logs)
    uniform = n * log(max(float(beyond[-1]), 1.0))
    return float(min(of_mode, exponential, uniform, np.min(pareto[scales / shapes > 0.05], initial=np.inf)))
