"""What the queries of steps and epochs must say of a random study, by numpy and scipy alone."""

from math import comb, exp, hypot, log, sqrt

import numpy as np
import numpy.typing as npt
import scipy.stats

from little_warehouse import Row
from random_study import BATCHES, EPOCHS, N_KEPT, SEQ_LENGTH, Run, Study, Values

# Intervals


def within(run: Run) -> tuple[float, float]:
    """Order statistics of the median for n_eff records that are uncorrelated (Hoefler and Belli, SC'15, 3.1)."""
    rank = int(np.floor(N_KEPT * (0.5 - 0.98 / sqrt(run.n_eff)) + 0.5))
    ordered = np.sort(run.kept)
    return ordered[rank - 1], ordered[-rank]


def between(values: Values) -> tuple[float, float]:
    """Of runs: the narrowest pair of order statistics that covers 95 %, of five and fewer the range."""
    n = len(values)
    rank = max([r for r in range(1, n // 2 + 1) if 2 * scipy.stats.binom.cdf(r - 1, n, 0.5) <= 0.05], default=1)
    return np.sort(values)[rank - 1], np.sort(values)[-rank]


def interpolated(values: Values) -> tuple[float, float]:
    """Hettmansperger and Sheather's interval of a median: 95 % between two pairs of order statistics."""
    n, ordered = len(values), np.sort(values)
    pairs = [(k, 1 - 2 * scipy.stats.binom.cdf(k - 1, n, 0.5)) for k in range(1, n // 2 + 1)]
    k, wide = [pair for pair in pairs if pair[1] >= 0.95][-1]
    narrow = wide - 2 * comb(n, k) / 2**n
    share = (wide - 0.95) / (wide - narrow)
    weight = (n - k) * share / (k + (n - 2 * k) * share)
    return (1 - weight) * ordered[k - 1] + weight * ordered[k], (1 - weight) * ordered[-k] + weight * ordered[-k - 1]


def ratio_around(first: Values, second: Values, is_range: bool) -> tuple[float, float]:
    """Interval of median(first) / median(second) over runs, by MOVER on logarithms; the range below six runs."""
    if is_range or min(len(first), len(second)) < 6:
        return first.min() / second.max(), first.max() / second.min()
    a, b = np.median(first), np.median(second)
    (a_low, a_high), (b_low, b_high) = interpolated(first), interpolated(second)
    ratio = log(a / b)
    return exp(ratio - hypot(log(a / a_low), log(b_high / b))), exp(ratio + hypot(log(a_high / a), log(b / b_low)))


def samples_per_s(run: Run) -> float:
    return float(run.batch * N_KEPT / run.kept.sum())


# Answers


def batch_stats(study: Study, row: Row) -> Row:
    run = study[row["run_id"]]
    ranks = scipy.stats.rankdata(run.kept)
    p5, p25, p50, p75, p95, p99 = np.quantile(run.kept, [0.05, 0.25, 0.5, 0.75, 0.95, 0.99])
    low, high = within(run)
    return {
        "n_steps": N_KEPT, "timed_steps": N_KEPT, "n_excluded": EPOCHS * BATCHES - N_KEPT, "step_s": p50,
        "step_s_low": low, "step_s_high": high, "mean_s": run.kept.mean(), "timed_s": run.kept.sum(),
        "p5_s": p5, "p25_s": p25, "p75_s": p75, "p95_s": p95, "p99_s": p99,
        "autocorrelation": scipy.stats.pearsonr(ranks[:-1], ranks[1:])[0],
        "samples_per_s": samples_per_s(run), "tokens_per_s": SEQ_LENGTH * samples_per_s(run),
        "tflops_per_device": np.median(run.tflops[run.counts]),
    }  # fmt: skip


def batch_cdf(study: Study, row: Row) -> Row:
    ecdf = scipy.stats.ecdf(study[row["run_id"]].kept).cdf
    return {"n_steps": N_KEPT, "cdf": ecdf.evaluate(row["step_s"]), "step_s": row["step_s"]}


def looked_at(run: Run) -> npt.NDArray[np.bool_]:
    """Among the slow steps may be the records that count, and the first batches of the epochs after the first."""
    seen = run.counts.copy()
    seen[1:, 0] = True
    return seen


def slow_steps(study: Study, row: Row) -> Row:
    run = study[row["run_id"]]
    step_s = run.steps.ravel()[row["step"] - 1]
    cost_s = step_s - row["fast_s"]
    return {"step_s": step_s, "cost_s": cost_s, "cost_percent": 100 * cost_s / run.steps[looked_at(run)].sum()}


def epoch_times(study: Study, row: Row) -> Row:
    run, epoch = study[row["run_id"]], int(row["epoch"])
    times = run.steps[epoch]
    median = np.median(times[run.counts[epoch]])
    return {
        "epoch_s": run.epoch_s[epoch], "train_s": run.train_s[epoch], "n_steps": BATCHES, "median_batch_s": median,
        "batches_s": BATCHES * median, "first_batch_s": times[0] - median,
        "tail_s": (times[1:] - median).sum(), "validation_s": run.validations[epoch], "startup_s": None,
        "rest_s": run.pauses[epoch], "samples": BATCHES * run.batch,
        "samples_per_s": BATCHES * run.batch / run.train_s[epoch], "samples_per_s_low": None, "samples_per_s_high": None,
    }  # fmt: skip


def epoch_stats(study: Study, row: Row) -> Row:
    run = study[row["run_id"]]
    first, later = run.epoch_s[0], run.epoch_s[1:]
    return {
        "n_epochs": EPOCHS, "first_epoch_s": first, "later_epoch_s": np.median(later), "later_epoch_s_low": later.min(),
        "later_epoch_s_high": later.max(), "first_over_later": first / np.median(later),
        "extra_s": first - np.median(later), "first_batch_s": run.steps[0, 0] - np.median(run.steps[0][run.counts[0]]),
    }  # fmt: skip
