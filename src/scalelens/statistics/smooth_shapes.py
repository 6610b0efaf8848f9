"""Whether one smooth distribution explains the step times of a run as well as a body and a tail do.

A long right side is no tail: an exponential or lognormal distribution bends everywhere.  Two smooth families with a
threshold, a scale and two shapes are fitted to all times, and a body with another distribution beyond its end to the
same times.  The second must be more likely by far.  Where times get rare and then frequent again, nothing is
fitted.
"""

from collections.abc import Callable
from functools import partial
from math import log, pi
from typing import NamedTuple

import numpy as np

from scalelens.statistics.medians import Values
from scalelens.statistics.rounding import spread_over_steps
from scalelens.statistics.significance import binomial_tail

_GAIN = 7.0  # of the logarithm of the likelihood, that a body and a tail must have over one distribution
_POINTS = 80  # of the body, and as many of the tail, that stand for all records
_HEAVIEST = 2000  # records that a series counts for at most: no family is true to more
_CLEAR = 25.0  # of it, from which on no third beginning of a fit is tried
_BY_CHANCE = 0.001  # that a window beyond the body holds so many more times than the one before it
_OFFSETS = (1.0, 0.1, 10.0)  # interquartile ranges from the threshold to the first record, from which the fit begins
_WORST = 1e300
_NORMAL = 0.02  # shape below which a log-gamma distribution is taken for a normal one
_EFFORT = {"maxiter": 60, "ftol": 1e-6}


class _Weighted(NamedTuple):
    """Times in order, each of which stands for so many."""

    times: Values
    weights: Values
    nearest: float  # from the threshold to the first of them, at least: where the two meet, likelihoods have no bound


_Family = Callable[[Values, Values], tuple[Values, Values, tuple[Values, ...]]]


def is_explained(ordered: Values, end_s: float) -> bool:
    """Whether one smooth distribution explains times in order of size, shape (n,), of which a body ends at `end_s`.

    In units of the body's interquartile range, so that the answer does not depend on the unit of time.
    """
    ordered = spread_over_steps(ordered)
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
    limit = _cost_of_body_and_tail(parts[0], parts[1], (end_s - ordered[0]) / width) + _GAIN
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


def _least(family: _Family, data: _Weighted, offset: float) -> float:
    """The least cost of a family, found from a threshold that lies `offset` before the first time."""
    from scipy.optimize import minimize

    logs = np.log(data.times + offset)
    middle = float(np.average(logs, weights=data.weights))
    scale = float(np.sqrt(np.average((logs - middle) ** 2, weights=data.weights)))

    def cost(at: Values) -> tuple[float, Values]:
        beyond = np.exp(min(at[0], 50.0))
        from_threshold = data.times + data.nearest + beyond
        logs = np.log(from_threshold)
        density, by_log, by_others = family(logs, at[1:])
        gradient = [
            data.weights @ ((by_log - 1) * beyond / from_threshold),
            *(data.weights @ each for each in by_others),
        ]
        total = -float(data.weights @ (density - logs))
        if not np.isfinite(total) or not np.all(np.isfinite(gradient)):
            return _WORST, np.zeros(len(at))
        return total, -np.array(gradient)

    with np.errstate(all="ignore"):
        found = minimize(
            cost, [log(offset), middle, log(max(scale, 1e-9)), 0.0], jac=True, method="L-BFGS-B", options=_EFFORT
        )
    return float(found.fun)


def _generalized_gamma(logs: Values, at: Values) -> tuple[Values, Values, tuple[Values, ...]]:
    """The generalized gamma distribution: lognormal, Weibull, exponential, gamma, Fréchet; in limits Gumbel and normal.

    The logarithm of the time from the threshold has the log-gamma distribution of Prentice (Biometrika 61, 1974).
    Returned are the logarithm of its density and the derivatives, by the logarithms and by each parameter.
    """
    from scipy.special import digamma, gammaln

    scale, shape = np.exp(at[1]), at[2]
    place = (logs - at[0]) / scale
    if abs(shape) < _NORMAL:
        density, by_place = -0.5 * place**2 - 0.5 * log(2 * pi), -place
        by_shape = -(place**3) / 6
    else:
        k, power = shape**-2, np.exp(shape * place)
        density = np.log(abs(shape)) - gammaln(k) + k * (np.log(k) + shape * place - power)
        by_place = (1 - power) / shape
        by_k = np.log(k) + 1 - digamma(k) + shape * place - power
        by_shape = 1 / shape - 2 * k / shape * by_k + k * place * (1 - power)
    return density - at[1], by_place / scale, (-by_place / scale, -place * by_place - 1, by_shape)


def _burr(logs: Values, at: Values) -> tuple[Values, Values, tuple[Values, ...]]:
    """The same of the Burr distribution: log-logistic, Pareto; in limits logistic and what falls off more slowly."""
    slope, shape = 1.8 * np.exp(-at[1]), np.exp(at[2])
    place = slope * (logs - at[0])
    above = np.logaddexp(0, place)
    by_place = 1 - (shape + 1) * np.exp(place - above)
    density = np.log(slope * shape) + place - (shape + 1) * above
    return density, slope * by_place, (-slope * by_place, -1 - place * by_place, 1 - shape * above)


def _cost_of_body_and_tail(body: _Weighted, tail: _Weighted, end: float) -> float:
    """Cost of a body that is cut at its end and has another distribution beyond."""
    n_body, n_tail = float(body.weights.sum()), float(tail.weights.sum())
    n = n_body + n_tail
    shares = -n_body * log(n_body / n) - n_tail * log(n_tail / n)
    with_end = body._replace(times=np.append(body.times, end), weights=np.append(body.weights, 1.0))
    return shares + _least(partial(_cut_lognormal, n=n_body), with_end, 3.0) + _cost_of_tail(tail)


def _cut_lognormal(logs: Values, at: Values, n: float) -> tuple[Values, Values, tuple[Values, ...]]:
    """The same of the lognormal distribution of n times, cut at the last one, which is its end and costs nothing.

    The third parameter has no effect.
    """
    from scipy.special import log_ndtr

    scale = np.exp(at[1])
    place = (logs - at[0]) / scale
    inside = log_ndtr(place[-1])
    by_end = np.exp(-0.5 * place[-1] ** 2 - 0.5 * log(2 * pi) - inside)  # of the logarithm of what lies before the end
    density = -0.5 * place**2 - 0.5 * log(2 * pi) - at[1] - inside
    by_middle, by_scale = (place + by_end) / scale, place**2 - 1 + by_end * place[-1]
    by_log = -place / scale
    density[-1], by_log[-1], by_middle[-1], by_scale[-1] = logs[-1], 1 - n * by_end / scale, 0.0, 0.0
    return density, by_log, (by_middle, by_scale, np.zeros(len(logs)))


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
