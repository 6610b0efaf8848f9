"""How many uncorrelated values would say as much about the median as the values of an autocorrelated series.

Three estimates see different things; their smallest counts.  Lag 1 is steady in short series, the initial positive
sequence sees correlation at all lags, block means see what is slow and lies below much noise.  The last two look at the
signs, -1 below the median and 1 above it: the variance of their mean is what the interval of a median rests on.
"""

from itertools import accumulate

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]

# Number of blocks and what its estimate of a variance is worth: the square of 1.96 over Student's t for one block less.
# Few blocks are long, and see slow changes; but their variance is known badly, and they say as little.
BLOCKS = ((10, 0.7507),)
BLOCKS_WHERE_PERSISTENT = ((5, 0.4984), (4, 0.3793))
PERSISTENT = 0.25  # n_eff / n below which few blocks are asked as well
SHORT_LAGS = 32  # autocovariances up to here cost less one by one than by a Fourier transform


def ordered_with_ranks(values: Values) -> tuple[Values, Values]:
    """The values sorted, and the rank of each value from 1; values that tie share the mean of their ranks."""
    order = np.argsort(values)
    ordered = values[order]
    rank = np.empty(len(values))
    is_new = ordered[1:] != ordered[:-1]
    if is_new.all():
        rank[order] = np.arange(1.0, len(values) + 1)
        return ordered, rank
    first = np.concatenate([[0], np.flatnonzero(is_new) + 1, [len(values)]])  # of each value, and behind the last
    rank[order] = np.repeat((first[:-1] + first[1:] + 1) / 2, np.diff(first))
    return ordered, rank


def ranks(values: Values) -> Values:
    """Rank of each value from 1, shape (n,) to (n,); values that tie share the mean of their ranks."""
    return ordered_with_ranks(values)[1]


def rank_autocorrelation(rank: Values) -> float:
    """Lag-1 autocorrelation of ranks, shape (n,): Pearson's r of each with the one before it, -1 to 1.

    By ranks, so that a single stall of a minute does not hide the correlation of all other steps.  A constant series
    has none: 0.
    """
    n = len(rank)
    if n < 3:
        return 0.0
    total = n * (n + 1) / 2  # of all ranks, also of those that tie
    before, after = rank[:-1] - (total - rank[-1]) / (n - 1), rank[1:] - (total - rank[0]) / (n - 1)
    scale = float(before @ before) * float(after @ after)
    return float(before @ after) / scale**0.5 if scale > 0 else 0.0


def autocovariances(centred: Values) -> Values:
    """Autocovariances of a series of mean 0 at lags 0 to n - 1, shape (n,), each divided by n."""
    n = len(centred)
    size = 1 << (2 * n - 1).bit_length()  # so long that the ends do not meet
    spectrum = np.fft.rfft(centred, size)
    return np.fft.irfft(spectrum.real**2 + spectrum.imag**2, size)[:n] / n


def correlation_time(centred: Values) -> float:
    """n / n_eff by the initial monotone positive sequence, of a series of mean 0 and a variance above 0.

    Sums of two neighbouring autocovariances are positive and fall for a reversible Markov chain.  They are added up to
    the first that is not positive, which is noise (Geyer, Statistical Science 7, 1992, section 3.3).  Autocovariances
    around the series' own mean add up to 0: what is missing at each lag, 1 / n of the sum, is given back.
    """
    n = len(centred)
    pairs: list[float] = []
    for lag in range(0, min(SHORT_LAGS, n // 2 * 2), 2):
        pairs.append(float(centred[: n - lag] @ centred[lag:] + centred[: n - lag - 1] @ centred[lag + 1 :]))
        if pairs[-1] <= 0:
            break
    if pairs[-1] > 0 and len(pairs) < n // 2:
        covariances = n * autocovariances(centred)
        of_all = covariances[: n // 2 * 2 : 2] + covariances[1::2][: n // 2]
        pairs = of_all[: int(np.argmax(of_all <= 0)) + 1 if np.any(of_all <= 0) else None].tolist()
    if pairs[-1] <= 0:
        pairs.pop()
    time = 2 * sum(accumulate(pairs, min)) / float(centred @ centred) - 1
    return max(time / max(1 - (2 * len(pairs) - 1) / n, 0.05), 1.0)


def block_effective_share(centred: Values, blocks: int, worth: float) -> float:
    """n_eff / n by the variance of the means of equal blocks; what is left over at the end is in none."""
    length = len(centred) // blocks
    if not length:
        return 1.0
    sums = np.add.reduce(centred[: blocks * length].reshape(blocks, length), axis=1)
    sums -= np.add.reduce(sums) / blocks
    variance_of_sums = float(sums @ sums) / (blocks - 1)
    variance = float(centred @ centred) / len(centred)
    return min(worth * length * variance / variance_of_sums, 1.0) if variance_of_sums > 0 else 1.0


def effective_size(values: Values, median: float, likeness: float) -> float:
    """Number of uncorrelated values that say as much about the median as `values`, shape (n,), do; at most n.

    `likeness` is the lag-1 autocorrelation.  An autoregressive series of first order is worth n (1 - r) / (1 + r)
    values (Bayley and Hammersley, J. R. Stat. Soc. 8, 1946).
    """
    n = len(values)
    share = (1 - max(likeness, 0.0)) / (1 + max(likeness, 0.0))
    signs = np.sign(values - median)
    signs -= np.add.reduce(signs) / n
    if not signs.any():
        return n * share
    share = min(share, 1 / correlation_time(signs))
    for blocks, worth in BLOCKS:
        share = min(share, block_effective_share(signs, blocks, worth))
    if share < PERSISTENT:
        for blocks, worth in BLOCKS_WHERE_PERSISTENT:
            share = min(share, block_effective_share(signs, blocks, worth))
    return n * share
