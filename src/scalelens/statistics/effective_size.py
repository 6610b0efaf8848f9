"""How many uncorrelated values would say as much about the median as the values of an autocorrelated series.

Three estimates see different things; their smallest counts.  Lag 1 is steady in short series, the initial positive
sequence sees correlation at all lags, block means see what is slow and lies below much noise.  The last two look at the
signs, -1 below the median and 1 above it: the variance of their mean is what the interval of a median rests on.

Values are of one series, shape (n,), or of several of one length, shape (..., n): of a thousand values numpy's calls
take as long as their work, so that many series are taken together.  A series has the same answer alone.
"""

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]

# Number of blocks and what its estimate of a variance is worth: the square of 1.96 over Student's t for one block less.
# Few blocks are long, and see slow changes; but their variance is known badly, and they say as little.
BLOCKS = ((10, 0.7507),)
BLOCKS_WHERE_PERSISTENT = ((5, 0.4984), (4, 0.3793))
PERSISTENT = 0.25  # n_eff / n below which few blocks are asked as well
SHORT_LAGS = 32  # autocovariances up to here cost less one by one than by a Fourier transform


def products(first: Values, second: Values) -> Values:
    """Sums of products, shapes (..., n) to (...), each with the same digits as `first @ second` of one series."""
    return np.asarray((first[..., None, :] @ second[..., :, None])[..., 0, 0])


def ordered_with_ranks(values: Values) -> tuple[Values, Values]:
    """The values sorted, and the rank of each value from 1; values that tie share the mean of their ranks."""
    if not values.size:
        return values, values
    n = values.shape[-1]
    order = np.argsort(values)
    order += np.arange(values.size // n).reshape(*values.shape[:-1], 1) * n
    ordered = values.ravel()[order]
    rank = np.empty(values.size)
    is_new = ordered[..., 1:] != ordered[..., :-1]
    if is_new.all():
        rank[order.ravel()] = np.tile(np.arange(1.0, n + 1), values.size // n)
        return ordered, rank.reshape(values.shape)
    is_first = np.concatenate([np.ones((*values.shape[:-1], 1), bool), is_new], axis=-1)
    first = np.append(np.flatnonzero(is_first), values.size)  # of each value, and behind the last
    mean = (first[:-1] % n + (first[1:] - 1) % n) / 2 + 1
    rank[order.ravel()] = np.repeat(mean, np.diff(first))
    return ordered, rank.reshape(values.shape)


def ranks(values: Values) -> Values:
    """Rank of each value from 1, shape (..., n) to (..., n); values that tie share the mean of their ranks."""
    return ordered_with_ranks(values)[1]


def rank_autocorrelation(rank: Values) -> Values:
    """Lag-1 autocorrelation of ranks, shape (..., n) to (...): Pearson's r of each with the one before it, -1 to 1.

    By ranks, so that a single stall of a minute does not hide the correlation of all other steps.  A constant series
    has none: 0.
    """
    n = rank.shape[-1]
    if n < 3:
        return np.zeros(rank.shape[:-1])
    total = n * (n + 1) / 2  # of all ranks, also of those that tie
    before = rank[..., :-1] - (total - rank[..., -1:]) / (n - 1)
    after = rank[..., 1:] - (total - rank[..., :1]) / (n - 1)
    scale = products(before, before) * products(after, after)
    return np.where(scale > 0, products(before, after) / np.sqrt(np.where(scale > 0, scale, 1)), 0.0)


def autocovariances(centred: Values) -> Values:
    """Autocovariances of a series of mean 0 at lags 0 to n - 1, shape (n,), each divided by n."""
    n = len(centred)
    size = 1 << (2 * n - 1).bit_length()  # so long that the ends do not meet
    spectrum = np.fft.rfft(centred, size)
    return np.fft.irfft(spectrum.real**2 + spectrum.imag**2, size)[:n] / n


def correlation_time(centred: Values) -> Values:
    """n / n_eff by the initial monotone positive sequence, of series of mean 0, shape (..., n) to (...); at least 1.

    Sums of two neighbouring autocovariances are positive and fall for a reversible Markov chain.  They are added up to
    the first that is not positive, which is noise (Geyer, Statistical Science 7, 1992, section 3.3).  Autocovariances
    around the series' own mean add up to 0: what is missing at each lag, 1 / n of the sum, is given back.
    """
    n = centred.shape[-1]
    rows = centred.reshape(-1, n)
    total, n_pairs = sums_of_pairs(rows)
    variance = products(rows, rows)
    time = 2 * total / np.where(variance > 0, variance, 1) - 1
    time = np.maximum(time / np.maximum(1 - (2 * n_pairs - 1) / n, 0.05), 1.0)
    return np.asarray(time.reshape(centred.shape[:-1]))


def sums_of_pairs(centred: Values) -> tuple[Values, Values]:
    """Sum and number of the pairs of `correlation_time`, of series of shape (rows, n)."""
    n = centred.shape[1]
    total, n_pairs, least = np.zeros(len(centred)), np.zeros(len(centred)), np.full(len(centred), np.inf)
    left, rows = np.arange(len(centred)), centred  # the series that are still positive
    for lag in range(0, min(SHORT_LAGS, n // 2 * 2), 2):
        pair = products(rows[:, : n - lag], rows[:, lag:]) + products(rows[:, : n - lag - 1], rows[:, lag + 1 :])
        if not (pair > 0).all():
            left, rows, pair = left[pair > 0], rows[pair > 0], pair[pair > 0]
            if not len(left):
                break
        least[left] = np.minimum(least[left], pair)
        total[left] += least[left]
        n_pairs[left] += 1
    for row in left[n_pairs[left] < n // 2]:
        total[row], n_pairs[row] = sum_of_all_pairs(centred[row])
    return total, n_pairs


def sum_of_all_pairs(centred: Values) -> tuple[float, int]:
    """The same of one series, shape (n,), by a Fourier transform over all lags."""
    n = len(centred)
    covariances = n * autocovariances(centred)
    pairs = covariances[: n // 2 * 2 : 2] + covariances[1::2][: n // 2]
    n_positive = int(np.argmax(pairs <= 0)) if np.any(pairs <= 0) else len(pairs)
    return float(np.cumsum(np.minimum.accumulate(pairs[:n_positive]))[-1]), n_positive


def block_effective_share(centred: Values, blocks: int, worth: float) -> Values:
    """n_eff / n by the variance of the means of equal blocks, shape (..., n) to (...), at most 1.

    What is left over at the end is in no block.
    """
    *shape, n = centred.shape
    length = n // blocks
    if not length:
        return np.ones(shape)
    sums = np.add.reduce(centred[..., : blocks * length].reshape(*shape, blocks, length), axis=-1)
    sums -= np.add.reduce(sums, axis=-1, keepdims=True) / blocks
    variance_of_sums = products(sums, sums) / (blocks - 1)
    of_blocks = worth * length * (products(centred, centred) / n) / np.where(variance_of_sums > 0, variance_of_sums, 1)
    return np.where(variance_of_sums > 0, np.minimum(of_blocks, 1.0), 1.0)


def effective_size(values: Values, median: Values | float, likeness: Values | float) -> Values:
    """Number of uncorrelated values that say as much about the median as `values`, shape (..., n), do; at most n.

    `likeness` is the lag-1 autocorrelation.  An autoregressive series of first order is worth n (1 - r) / (1 + r)
    values (Bayley and Hammersley, J. R. Stat. Soc. 8, 1946).
    """
    n = values.shape[-1]
    alike = np.maximum(likeness, 0.0)
    share = (1 - alike) / (1 + alike)
    signs = values - np.asarray(median)[..., None]
    np.sign(signs, out=signs)
    signs -= np.add.reduce(signs, axis=-1, keepdims=True) / n
    share = np.minimum(share, 1 / correlation_time(signs))
    for blocks, worth in BLOCKS:
        share = np.minimum(share, block_effective_share(signs, blocks, worth))
    share = np.asarray(share)
    is_persistent = share < PERSISTENT
    if is_persistent.any():
        for blocks, worth in BLOCKS_WHERE_PERSISTENT:
            of_blocks = block_effective_share(signs[is_persistent], blocks, worth)
            share[is_persistent] = np.minimum(share[is_persistent], of_blocks)
    return np.asarray(n * share)
