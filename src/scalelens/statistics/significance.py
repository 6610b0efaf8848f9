"""Tails of distributions, on arrays."""

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, stdtrit

Values = npt.NDArray[np.float64]


def binomial_tail(successes: Values, trials: Values, rate: Values) -> Values:
    """Probability of at least that many successes in that many trials, each of shape (n,); NaN for no trial."""
    least = np.maximum(successes, 1)  # one success or more: the regularised incomplete beta function
    tail = np.where(successes <= 0, 1.0, betainc(least, np.maximum(trials - least + 1, 1), rate))
    return np.where(trials > 0, tail, np.nan)


def student_t(freedom: Values) -> Values:
    """Half-width of a 95 % interval in standard errors, by Student's t; NaN without a degree of freedom."""
    return np.asarray(stdtrit(freedom, 0.975))
