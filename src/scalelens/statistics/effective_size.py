"""How many uncorrelated values would say as much about a quantile as the values of an autocorrelated series.

Four estimates see different things; their smallest counts.  Lag 1 is steady in short series, the initial positive
sequence sees correlation at all lags, block means see what is slow and lies below much noise, and the spectrum sees
long memory (long_memory.py).  The second and the third look at the signs, -1 below the quantile and 1 above it: the
variance of their mean is what the interval of a quantile rests on.  Ranks, which the other two look at, show more of
what lies below noise.

Values are of one series, shape (n,), or of several, shape (rows, widest): of a thousand values numpy's calls take as
long as their work, so that many series are taken together.  `n` are the lengths of the rows, None where all are as wide
as the array; what stands behind the end of a row does not count.  Sums are of signs, ranks and their products: whole
numbers, which are exact in any order, so that a series has the same answer alone and beside others.
"""

from math import exp, sqrt

import numpy as np
import numpy.typing as npt

from scalelens.statistics.long_memory import share_around
from scalelens.statistics.significance import normal_quantile

_Values = npt.NDArray[np.float64]
_Lengths = npt.NDArray[np.int64]

# Number of blocks and what its estimate of a variance is worth: the square of 1.96 over Student's t for one block less.
# Few blocks are long, and see slow changes; but their variance is known badly, and they say as little.
_BLOCKS = ((10, 0.7507),)
_BLOCKS_WHERE_PERSISTENT = ((5, 0.4984), (4, 0.3793))
_PERSISTENT = 0.25  # n_eff / n below which few blocks are asked as well
_NORMAL_95 = 1.96
_FEWEST_OF_SPECTRUM = 32  # values: fewer show no spectrum
SHORT_LAGS = 32  # autocovariances up to here cost less one by one than by a Fourier transform
_MOST_IN_SINGLE_PRECISION = 1 << 24  # whole numbers up to here are exact in 32 bits
_NOTHING = 1e-13  # of the sum of squares: a variance below it is what rounding leaves of none


def _signs_of(values: _Values, levels: _Values) -> _Values:
    """-1 below the level, 1 above it and 0 at it, in half the memory as long as sums of them stay exact there."""
    signs = (values > levels).view(np.int8) - (values < levels).view(np.int8)
    return signs.astype(np.float32 if values.shape[-1] < _MOST_IN_SINGLE_PRECISION else np.float64)


def _products(first: _Values, second: _Values) -> _Values:
    """Sums of products, shapes (..., n) to (...)."""
    if hasattr(np, "vecdot"):  # from numpy 2 on: a third of the time of the other for one series
        found: _Values = np.vecdot(first, second)
    else:
        found = (first[..., None, :] @ second[..., :, None])[..., 0, 0]
    return found


def behind_end(values: _Values, n: _Lengths) -> npt.NDArray[np.bool_]:
    """Where the cells of an array lie behind the end of their row."""
    found: npt.NDArray[np.bool_] = np.arange(values.shape[-1]) >= n[:, None]
    return found


def at(values: _Values, indexes: _Lengths) -> _Values:
    """One value of each row, shape (rows, widest) to (rows,)."""
    found: _Values = values[np.arange(len(values)), indexes]
    return found


def rows_of(values: _Values, n: _Lengths | None) -> tuple[_Values, _Lengths]:
    """The series as rows, zero behind their ends, and their lengths."""
    rows = np.atleast_2d(values)
    if n is None:
        return rows, np.full(len(rows), rows.shape[1])
    return np.where(behind_end(rows, n), 0.0, rows), n


def ordered_with_ranks(values: _Values, n: _Lengths | None = None) -> tuple[_Values, _Values]:
    """The values sorted, and the rank of each value from 1; values that tie share the mean of their ranks.

    Behind the ends of rows stands infinity.
    """
    if not values.size:
        return values, values
    widest = values.shape[-1]
    order = np.argsort(values)
    order += np.arange(values.size // widest).reshape(*values.shape[:-1], 1) * widest
    ordered = values.ravel()[order]
    rank = np.empty(values.size)
    is_new = ordered[..., 1:] != ordered[..., :-1]
    if n is not None:
        is_new |= behind_end(ordered, n)[:, 1:]
    if is_new.all():
        rank[order] = np.arange(1.0, widest + 1)
        return ordered, rank.reshape(values.shape)
    is_first = np.concatenate([np.ones((*values.shape[:-1], 1), bool), is_new], axis=-1)
    first = np.append(np.flatnonzero(is_first), values.size)  # of each value, and behind the last
    mean = (first[:-1] % widest + (first[1:] - 1) % widest) / 2 + 1
    rank[order.ravel()] = np.repeat(mean, np.diff(first))
    return ordered, rank.reshape(values.shape)


def ranks(values: _Values) -> _Values:
    """Rank of each value from 1, shape (n,) to (n,); values that tie share the mean of their ranks."""
    return ordered_with_ranks(values)[1]


def rank_autocorrelation(rank: _Values, n: _Lengths | None = None) -> _Values:
    """Lag-1 autocorrelation of ranks, (...) of shape (..., n): Pearson's r of each with the one before it, -1 to 1.

    By ranks, so that a single stall of a minute does not hide the correlation of all other steps.  A constant series
    has none: 0.
    """
    twice, lengths = rows_of(2 * rank, n)
    pairs = np.maximum(lengths - 1, 1)
    first, last, total = twice[:, 0], at(twice, lengths - 1), lengths * (lengths + 1.0)  # also of ranks that tie
    before, after, squares = total - last, total - first, _products(twice, twice)
    squares_before, squares_after = squares - last * last, squares - first * first
    spread_before, spread_after = squares_before - before * before / pairs, squares_after - after * after / pairs
    varies = (spread_before > _NOTHING * squares_before) & (spread_after > _NOTHING * squares_after) & (lengths > 2)
    together = _products(twice[:, :-1], twice[:, 1:]) - before * after / pairs
    scale = np.sqrt(np.where(varies, spread_before * spread_after, 1.0))
    return np.where(varies, together / scale, 0.0).reshape(rank.shape[:-1])


def autocovariances(centred: _Values) -> _Values:
    """Autocovariances of a series of mean 0 at lags 0 to n - 1, shape (n,), each divided by n."""
    n = len(centred)
    size = 1 << (2 * n - 1).bit_length()  # so long that the ends do not meet
    spectrum = np.fft.rfft(centred, size)
    return np.fft.irfft(spectrum.real**2 + spectrum.imag**2, size)[:n] / n


def correlation_times(rows: _Values, n: _Lengths) -> _Values:
    """n / n_eff by the initial monotone positive sequence, (rows,) of shape (rows, widest); at least 1.

    The rows are zero after their ends.  Sums of two neighboring autocovariances are positive and fall for a reversible
    Markov chain.  They are added up to the first that is not positive, which is noise (Geyer, Statistical Science 7,
    1992, section 3.3).  Autocovariances around the series' own mean add up to 0: what is missing at each lag, 1 / n of
    the sum, is given back.
    """
    total, n_pairs = _sums_of_pairs(rows, n)
    variance = _sums_of_squares(rows, n)
    time = np.divide(2 * total, variance, out=np.zeros(len(rows)), where=variance > 0) - 1
    return np.asarray(np.maximum(time / np.maximum(1 - (2 * n_pairs - 1) / n, 0.05), 1.0))


def _sums_of_squares(rows: _Values, n: _Lengths) -> _Values:
    """Sums of squares around the mean, (rows,) of shape (rows, widest)."""
    total = np.add.reduce(rows, axis=1).astype(np.float64)
    return np.asarray(_products(rows, rows) - total * total / n)


def _sums_of_pairs(rows: _Values, n: _Lengths) -> tuple[_Values, _Values]:
    """Sum and number of the pairs of `correlation_times`."""
    totals, last_pair = np.add.reduce(rows, axis=1).astype(np.float64), n // 2 * 2
    mean = totals / n
    cut = np.zeros(len(rows))  # sum of the first values and of the last ones, as many as the lag

    def autocovariance(lag: int) -> _Values:
        both = _products(rows[:, : rows.shape[1] - lag], rows[:, lag:])
        return np.asarray(both - mean * (2 * totals - cut) + (n - lag) * mean * mean)

    total, n_pairs, least = np.zeros(len(rows)), np.zeros(len(rows)), np.full(len(rows), np.inf)
    is_positive = np.ones(len(rows), bool)
    for lag in range(0, min(SHORT_LAGS, int(last_pair.max(initial=0))), 2):
        pair = autocovariance(lag)
        cut += rows[:, lag] + at(rows, np.maximum(n - 1 - lag, 0))
        pair += autocovariance(lag + 1)
        cut += rows[:, lag + 1] + at(rows, np.maximum(n - 2 - lag, 0))
        is_positive &= (pair > 0) & (lag < last_pair)
        if not is_positive.any():
            return total, n_pairs
        least = np.minimum(least, pair)
        total += least * is_positive
        n_pairs += is_positive
    for row in np.flatnonzero(is_positive & (n_pairs < n // 2)):
        total[row], n_pairs[row] = _sum_of_all_pairs(rows[row, : n[row]].astype(np.float64) - mean[row])
    return total, n_pairs


def _sum_of_all_pairs(centred: _Values) -> tuple[float, int]:
    """The same of one series, shape (n,), by a Fourier transform over all lags."""
    n = len(centred)
    covariances = n * autocovariances(centred)
    pairs = covariances[: n // 2 * 2 : 2] + covariances[1::2][: n // 2]
    n_positive = int(np.argmax(pairs <= 0)) if np.any(pairs <= 0) else len(pairs)
    return float(np.cumsum(np.minimum.accumulate(pairs[:n_positive]))[-1]), n_positive


def block_effective_shares(rows: _Values, n: _Lengths, blocks: int, worth: float) -> _Values:
    """n_eff / n by the variance of the means of equal blocks, (rows,) of shape (rows, widest); at most 1.

    The rows are zero after their ends.  What is left over at the end of a row is in no block.
    """
    length = n // blocks
    behind = np.zeros((len(rows), 1), rows.dtype)  # what is left over begins before the end of a row
    ended = np.concatenate([rows, behind], axis=1)
    starts = np.arange(len(rows))[:, None] * ended.shape[1] + length[:, None] * np.arange(blocks + 1)
    sums = np.add.reduceat(ended.ravel(), starts.ravel()).reshape(starts.shape)[:, :blocks].astype(np.float64)
    sums -= np.add.reduce(sums, axis=1, keepdims=True) / blocks
    variance_of_sums = _products(sums, sums) / (blocks - 1)
    of_independent = worth * length * (_sums_of_squares(rows, n) / n)
    share = np.divide(of_independent, variance_of_sums, out=np.ones(len(rows)), where=variance_of_sums > 0)
    return np.where(length > 0, np.minimum(share, 1.0), 1.0)


def half_width(quantile: float) -> float:
    """How far the interval of a quantile, 0 to 1 without, reaches to each side, times the square root of n_eff.

    As the share of a normal distribution that lies as far from its median.  For the median that is the share of the
    values themselves.  Of n_eff values the share below the quantile has the variance p (1 - p) / n_eff.
    """
    z = normal_quantile(quantile)
    return _NORMAL_95 * sqrt(quantile * (1 - quantile)) * exp(z * z / 2)


def effective_size(
    values: _Values,
    level: _Values | float,
    likeness: _Values | float,
    rank: _Values,
    n: _Lengths | None = None,
    quantile: float = 0.5,
) -> _Values:
    """Number of uncorrelated values that say as much about a quantile as `values`, (...) of shape (..., n); at most n.

    `level` is the quantile, and `likeness` the lag-1 autocorrelation of `rank`, the ranks of the values.  An
    autoregressive series of first order is worth n (1 - r) / (1 + r) values (Bayley and Hammersley, J. R. Stat. Soc. 8,
    1946).
    """
    alike = np.maximum(likeness, 0.0)
    signs, lengths = rows_of(_signs_of(values, np.asarray(level)[..., None]), n)
    share = np.atleast_1d((1 - alike) / (1 + alike))
    share = np.minimum(share, 1 / correlation_times(signs, lengths))
    for blocks, worth in _BLOCKS:
        share = np.minimum(share, block_effective_shares(signs, lengths, blocks, worth))
    rows = np.flatnonzero(share < _PERSISTENT)
    if len(rows):
        for blocks, worth in _BLOCKS_WHERE_PERSISTENT:
            of_blocks = block_effective_shares(signs[rows], lengths[rows], blocks, worth)
            share[rows] = np.minimum(share[rows], of_blocks)
    ranks_of_rows, width = np.atleast_2d(rank), half_width(quantile)
    for row in np.flatnonzero(lengths >= _FEWEST_OF_SPECTRUM):
        to_each_side = share_around(ranks_of_rows[row, : lengths[row]], quantile)
        if to_each_side > 0:
            share[row] = min(share[row], (width / to_each_side) ** 2 / lengths[row])
    return np.asarray((lengths * share).reshape(values.shape[:-1]))
