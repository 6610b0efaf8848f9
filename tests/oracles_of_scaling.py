"""What the queries of scaling must say of a random study, by numpy and scipy alone."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.optimize
import scipy.stats

from little_warehouse import Row
from oracles_of_steps import between, ratio_around, samples_per_s, within
from random_study import BATCHES, EPOCHS, N_KEPT, Run, Study, Values

TIMES: dict[str, Callable[[Run], float]] = {
    "t_b": lambda run: float(np.median(run.kept)),
    "mean_s": lambda run: float(np.mean(run.kept)),
    "t_ep": lambda run: float(np.mean(run.epoch_s[1:])),
    "t_tr": lambda run: float(np.mean(run.train_s[1:])),
    "throughput": lambda run: 1 / samples_per_s(run),
    "tflops": lambda run: 1 / (float(np.median(run.tflops[run.counts])) * run.devices),
}


def work(run: Run, metric: str) -> float:
    """What is done in the time of a metric: a batch, the samples of an epoch, or one sample or TFLOP."""
    return {"t_b": run.batch, "mean_s": run.batch, "throughput": 1, "tflops": 1}.get(metric, BATCHES * run.batch)


def times_of(runs: list[Run], metric: str = "t_b") -> Values:
    return np.array([TIMES[metric](run) for run in runs])


def runs_of(study: Study, row: Row) -> list[Run]:
    return [study[run_id] for run_id in row.get("run_ids") or [row["run_id"]]]


def of_series(study: Study, row: Row) -> list[Run]:
    """All runs of the series of a row: of equal batch per device, or of the global batch in its name."""
    weak = "weak" in row["series"]
    batch = None if weak else int(row["series"].split("global batch ")[1].rstrip(")"))
    return [run for run in study.values()
            if run.precision == "bf16" and (run.batch == 8 * run.devices if weak else run.batch == batch)]  # fmt: skip


def scaling(study: Study, row: Row) -> Row:
    metric, runs = row["metric"], runs_of(study, row)
    base = [run for run in of_series(study, row) if run.devices == 1]
    times, base_times = times_of(runs, metric), times_of(base, metric)
    speedup = work(runs[0], metric) / np.median(times) / (work(base[0], metric) / np.median(base_times))
    efficiency, ideal = speedup / runs[0].devices, work(runs[0], metric) / work(base[0], metric) / runs[0].devices
    low, high = ends(runs, metric)
    is_step, is_epoch = metric in ("t_b", "mean_s"), metric in ("t_ep", "t_tr")
    has_interval = len(runs) > 1 and len(base) > 1 and runs[0].devices > 1
    is_range = scatters(runs, metric) or scatters(base, metric)
    around = ratio_around(base_times, times, is_range) if has_interval else (None, None)
    tflops = np.median([np.median(run.tflops[run.counts]) for run in runs])
    return {
        "n_runs": len(runs), "n_steps": len(runs) * (EPOCHS - 1 if is_epoch else N_KEPT),
        "step_s": np.median(times) if is_step else None, "epoch_s": np.median(times) if is_epoch else None,
        "step_s_low": low if is_step else None, "step_s_high": high if is_step else None,
        "epoch_s_low": low if is_epoch else None, "epoch_s_high": high if is_epoch else None,
        "tokens_per_s": None,  # each record states its samples
        "samples_per_s": sum(run.batch * N_KEPT for run in runs) / sum(run.kept.sum() for run in runs),
        "tflops_per_device": tflops, "tflops_printed": tflops, "speedup": speedup, "efficiency": efficiency,
        "efficiency_low": ideal * around[0] if has_interval else None,
        "efficiency_high": ideal * around[1] if has_interval else None,
        "repeat_efficiencies": (efficiency * np.median(times) / np.sort(times)).tolist()
            if scatters(runs, metric) else None,
    }  # fmt: skip


def ends(runs: list[Run], metric: str) -> tuple[Any, Any]:
    """Ends of the interval of a time: between runs, or within the only one."""
    if len(runs) > 1:
        times = times_of(runs, metric)
        return (times.min(), times.max()) if scatters(runs, metric) else between(times)
    return within_of(runs[0], metric)


def within_of(run: Run, metric: str) -> tuple[Any, Any]:
    """Of epochs the range of the later ones; means and rates have no interval within a run."""
    if metric == "t_b":
        return within(run)
    if metric in ("t_ep", "t_tr"):
        later = (run.epoch_s if metric == "t_ep" else run.train_s)[1:]
        return later.min(), later.max()
    return None, None


def scatters(runs: list[Run], metric: str) -> bool:
    """Repeats that differ by a tenth, or by a twentieth and beyond what their own intervals explain."""
    times = times_of(runs, metric)
    intervals = [within_of(run, metric) for run in runs]
    low = max(time if end is None else end for time, (end, _) in zip(times, intervals, strict=True))
    high = min(time if end is None else end for time, (_, end) in zip(times, intervals, strict=True))
    return bool(times.max() / times.min() > (1.05 if low > high else 1.1))


# Fits


class Fit(NamedTuple):
    columns: Values
    found: Values
    limit: float  # sum of squares at the ends of an interval


def fit(law: str, study: Study, row: Row) -> Fit:
    """Least squares of relative residuals with coefficients that are not negative, by scipy's nnls."""
    runs = of_series(study, row)
    k, times = np.array([float(run.devices) for run in runs]), times_of(runs) / [run.batch for run in runs]
    if law == "gustafson":
        columns = np.stack([times, k * times], axis=1)
    else:
        columns = np.stack([1 / (k * times), (k - 1) / (k * times), (k - 1) / times], axis=1)
    columns = columns[:, : 3 if law == "usl" else 2]
    found, norm = scipy.optimize.nnls(columns, np.ones(len(k)))
    freedom = len(k) - columns.shape[1]
    return Fit(columns, found, norm**2 * (1 + scipy.stats.t.ppf(0.975, freedom) ** 2 / freedom))


def scaling_fit(study: Study, row: Row) -> Row:
    runs = of_series(study, row)
    counts = {"n_sizes": len({run.devices for run in runs}), "n_runs": len(runs)}
    if row["law"] is None:
        nothing = ("fitted", "fitted_low", "fitted_high", "largest_residual", "base_over_fitted")
        return counts | dict.fromkeys(nothing)
    columns, found, limit = fit(row["law"], study, row)
    share = columns @ found
    place = 2 if row["parameter"] == "coherency" else 1
    is_gustafson = row["law"] == "gustafson"
    value = found[0] / found.sum() if is_gustafson else found[place] / found[0]
    residuals = 1 / share - 1 if is_gustafson else share - 1
    base_s = np.median([TIMES["t_b"](run) / run.batch for run in runs if run.devices == 1])

    def above(fixed: float) -> float:
        """Sum of squares with the parameter fixed, all else fitted anew, less the limit."""
        if is_gustafson:
            left = columns @ [[fixed], [1 - fixed]]
        else:
            left = np.delete(columns, place, axis=1)
            left[:, 0] += fixed * columns[:, place]
        return float(scipy.optimize.nnls(left, np.ones(len(left)))[1] ** 2 - limit)

    low = 0.0 if above(0) <= 0 else scipy.optimize.brentq(above, 0, value, xtol=1e-16)
    high = scipy.optimize.brentq(above, value, 1, xtol=1e-16)
    return counts | {
        "fitted": value, "fitted_low": low, "fitted_high": high,
        "largest_residual": residuals[np.argmax(np.abs(residuals))],
        "base_over_fitted": 1 / base_s / (found.sum() if is_gustafson else 1 / found[0]),
    }  # fmt: skip


def diminishing_returns(study: Study, row: Row) -> Row:
    """The size k with X(2k) / X(k) = 1.5 is a root of a polynomial."""
    runs = of_series(study, row)
    sizes = sorted({run.devices for run in runs})
    speed = {
        size: 1 / np.median([TIMES["t_b"](run) / run.batch for run in runs if run.devices == size]) for size in sizes
    }
    half = speed.get(sizes[-1] // 2)
    expected = {
        "n_sizes": len(sizes),
        "n_runs": len(runs),
        "last_doubling": speed[sizes[-1]] / half - 1 if half else None,
    }
    if len(sizes) < 5:
        return expected | {"devices_worth": None}
    a, b, c = fit("usl", study, row).found
    cost = np.polynomial.Polynomial([a - b, b - c, c])  # k / X
    balance = 2 * cost - 1.5 * cost(np.polynomial.Polynomial([0, 2]))
    (worth,) = (root.real for root in balance.roots() if abs(root.imag) < 1e-9 and root.real > 0)
    return expected | {"devices_worth": worth}


# Choices


def sensitivity(study: Study, row: Row) -> Row:
    runs = [run for run in of_series(study, row) if run.devices == row["devices"]]
    base = [run for run in of_series(study, row) if run.devices == 1]

    def efficiency(rules: str, epoch: str, statistic: str) -> float:
        times = [np.median([chosen(run, rules, epoch, statistic) for run in side]) for side in (runs, base)]
        return float(runs[0].batch / times[0] / (base[0].batch / times[1]) / runs[0].devices)

    choices = [(rules, "all", statistic) for rules in CHOICES for statistic in ("median", "mean")]
    choices += [("all", str(epoch), statistic) for epoch in range(EPOCHS) for statistic in ("median", "mean")]
    reference = efficiency("all", "all", "median")
    differences = [efficiency(*choice) - reference for choice in choices]
    own = (row["rules_applied"], row["epochs_taken"], row["statistic"])
    return {
        "n_steps": sum(taken(run, *own[:2]).size for run in runs),
        "step_s": np.median([chosen(run, *own) for run in runs]), "efficiency": efficiency(*own),
        "difference": efficiency(*own) - reference, "largest_difference": max(differences, key=abs),
    }  # fmt: skip


CHOICES = ("all", "none", "all but warmup", "all but first_of_epoch", "all but last_of_epoch")


def taken(run: Run, rules: str, epoch: str) -> Values:
    """Steps that a choice of rules and epochs takes; the first one is left out by two rules."""
    mask = run.counts.copy()
    if rules == "none":
        mask[:] = True
    elif rules == "all but warmup":
        mask[0, 1] = True
    elif rules == "all but first_of_epoch":
        mask[1:, 0] = True
    elif rules == "all but last_of_epoch":
        mask[:, -1] = True
    return run.steps[mask] if epoch == "all" else run.steps[int(epoch)][mask[int(epoch)]]


def chosen(run: Run, rules: str, epoch: str, statistic: str) -> float:
    return float((np.median if statistic == "median" else np.mean)(taken(run, rules, epoch)))
