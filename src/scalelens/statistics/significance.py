"""Whether a difference may be an accident: tails of distributions, and many tests at once.  On numpy arrays."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

_Values = npt.NDArray[np.float64]


class _CountInterval(NamedTuple):
    """Expected counts under which the observed one is not extreme."""

    low: float
    high: float


def poisson_interval(count: int) -> _CountInterval:
    """The exact 95 % interval of the expected number of events, of which so many happened (Garwood, 1936)."""
    from scipy.special import chdtri

    low = chdtri(2 * count, 0.975) / 2 if count else 0.0
    return _CountInterval(float(low), float(chdtri(2 * count + 2, 0.025) / 2))


def binomial_tail(successes: _Values, trials: _Values, rate: _Values) -> _Values:
    """Probability of at least that many successes in that many trials, each of shape (n,); NaN for no trial."""
    from scipy.special import betainc

    least = np.maximum(successes, 1)  # one success or more: the regularised incomplete beta function
    tail = np.where(successes <= 0, 1.0, betainc(least, np.maximum(trials - least + 1, 1), rate))
    return np.where(trials > 0, tail, np.nan)


def benjamini_hochberg(p_values: _Values) -> _Values:
    """Adjusted p-values, shape (n,) to (n,): the false discovery rate at which each test would just be significant.

    The k-th smallest of n becomes the least of p_j n / j over j from k to n (Benjamini and Hochberg, J. R. Stat. Soc. B
    57, 1995, section 3.1).  NaN is no test: it does not count in n, and stays NaN.
    """
    adjusted = np.full(len(p_values), np.nan)
    tested = np.flatnonzero(~np.isnan(p_values))
    largest_first = tested[np.argsort(-p_values[tested])]
    ranks = np.arange(len(tested), 0, -1)
    adjusted[largest_first] = np.minimum.accumulate(p_values[largest_first] * len(tested) / ranks)
    return adjusted


def holm(p_values: _Values) -> _Values:
    """Adjusted p-values, shape (n,) to (n,): with those below a only, at most a share a of families has a false one.

    The k-th smallest of n becomes the largest of p_j (n - j + 1) over j up to k, at most 1 (Holm, Scand. J. Stat. 6,
    1979).  Other than with the false discovery rate, one that is significant beyond doubt makes it hardly easier for
    the next.  NaN is no test: it does not count in n, and stays NaN.
    """
    adjusted = np.full(len(p_values), np.nan)
    tested = np.flatnonzero(~np.isnan(p_values))
    smallest_first = tested[np.argsort(p_values[tested])]
    left = np.arange(len(tested), 0, -1)
    adjusted[smallest_first] = np.minimum(np.maximum.accumulate(p_values[smallest_first] * left), 1.0)
    return adjusted


def normal_quantile(share: float) -> float:
    """The standard deviations from the mean below which this share of a normal distribution lies; 0 to 1, without."""
    if share == 0.5:
        return 0.0
    from scipy.special import ndtri

    return float(ndtri(share))


def student_t(freedom: _Values) -> _Values:
    """Half-width of a 95 % interval in standard errors, by Student's t, shape (n,); NaN without a degree of freedom."""
    from scipy.special import stdtrit

    return np.asarray(stdtrit(freedom, 0.975))
