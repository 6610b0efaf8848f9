"""What the queries of throughput, cost, comparison and accuracy must say of a random study, by numpy and scipy alone."""

from math import log, sqrt

import numpy as np
import scipy.stats

from little_warehouse import Row
from oracles_of_scaling import ends, runs_of, times_of
from oracles_of_steps import samples_per_s, within
from random_study import (
    BATCHES,
    EPOCHS,
    N_KEPT,
    PARAMETERS,
    PARTS,
    PEAK_TFLOPS,
    POWER_LIMIT_W,
    SEQ_LENGTH,
    SLOWER_FROM,
    Run,
    Study,
    Values,
)

PRICE = 2.5
TARGET, WINDOW = 0.75, 10
LOSS_TARGET = 0.5
COMPARED = "a := 'precision = ''bf16'' AND global_batch_size = 8', b := 'precision = ''fp32'''"


def throughput(study: Study, row: Row) -> Row:
    run = study[row["run_id"]]
    low, high = within(run)
    rate = samples_per_s(run)
    return {
        "batch_per_device": run.batch / run.devices, "n_steps": N_KEPT, "step_s": np.median(run.kept),
        "step_s_low": low, "step_s_high": high, "samples_per_s": rate,
        "node_samples_per_s": rate / max(run.devices // 4, 1), "device_samples_per_s": rate / run.devices,
        "tokens_per_s": SEQ_LENGTH * rate, "device_tokens_per_s": SEQ_LENGTH * rate / run.devices,
        "printed_samples_per_s": scipy.stats.hmean(run.rates.ravel()[2:]), "printed_tokens_per_s": None,  # without warm-up
    }  # fmt: skip


def mfu(study: Study, row: Row) -> Row:
    """6 N operations a token, nothing computed twice."""
    run = study[row["run_id"]]
    peak = PEAK_TFLOPS if run.precision == "bf16" else PEAK_TFLOPS / 4
    tflop = 6 * PARAMETERS * run.batch * SEQ_LENGTH / run.devices / 1e12
    low, high = within(run)
    rate = tflop / np.median(run.kept)
    return {
        "mfu": rate / peak, "mfu_low": tflop / high / peak, "mfu_high": tflop / low / peak, "hfu": rate / peak,
        "n_steps": N_KEPT, "step_s": np.median(run.kept), "model_tflops": rate, "hardware_tflops": rate,
        "printed_tflops": np.median(run.tflops[run.counts]), "total_tflops": rate * run.devices, "peak_tflops": peak,
        "gflops_per_tdp_watt": 1000 * rate / POWER_LIMIT_W,
    }  # fmt: skip


def cost_of_work(study: Study, row: Row) -> Row:
    run = study[row["run_id"]]
    samples = EPOCHS * BATCHES * run.batch
    units = {"run": 1, "epoch": EPOCHS, "million samples": samples / 1e6, "billion tokens": SEQ_LENGTH * samples / 1e9}
    hours = run.devices * run.steps.sum() / 3600 / units[row["work_unit"]]
    return {"run_s": run.steps.sum(), "work_units": units[row["work_unit"]], "device_hours": hours,
        "energy_wh": None, "money": PRICE * hours}  # fmt: skip


# Settings


def ablation(study: Study, row: Row) -> Row:
    before, after = ([study[run_id] for run_id in row[side]] for side in ("from_run_ids", "to_run_ids"))
    before_s, after_s = np.median(times_of(before)), np.median(times_of(after))
    speedup = after[0].batch / after_s / (before[0].batch / before_s)
    has_interval = len(before) > 1 and len(after) > 1
    (before_low, before_high), (after_low, after_high) = ends(before, "t_b"), ends(after, "t_b")
    return {
        "speedup": speedup, "from_step_s": before_s, "to_step_s": after_s,
        "speedup_low": speedup * after_s / after_high * before_low / before_s if has_interval else None,
        "speedup_high": speedup * after_s / after_low * before_high / before_s if has_interval else None,
    }  # fmt: skip


def rate_of(runs: list[Run]) -> float:
    return float(runs[0].batch / np.median(times_of(runs)))


def cell(study: Study, row: Row) -> Row:
    runs = runs_of(study, row)
    return {
        "n_runs": len(runs), "step_s": np.median(times_of(runs)), "samples_per_s": rate_of(runs),
        "device_samples_per_s": rate_of(runs) / runs[0].devices, "batch_per_device": runs[0].batch / runs[0].devices,
    }  # fmt: skip


def cells(study: Study) -> dict[tuple[int, int], list[Run]]:
    """Runs in bf16 by devices and batch."""
    found: dict[tuple[int, int], list[Run]] = {}
    for run in study.values():
        if run.precision == "bf16":
            found.setdefault((run.devices, run.batch), []).append(run)
    return found


def batch_device_grid(study: Study, row: Row) -> Row:
    best = max(rate_of(runs) / devices for (devices, _), runs in cells(study).items())
    own = cell(study, row)
    return own | {"relative": own["device_samples_per_s"] / best}


def batch_size_curve(study: Study, row: Row) -> Row:
    """The exponent of the rate in the batch, from the size before; the knee is where it stays below 10 % a doubling."""
    rates = {batch: rate_of(runs) for (devices, batch), runs in sorted(cells(study).items()) if devices == 1}
    batches = np.array(list(rates))
    slopes = np.diff(np.log2(list(rates.values()))) / np.diff(np.log2(batches))
    gains = dict(zip(batches[1:], 2**slopes - 1, strict=True))
    knees = [batch for batch in batches[:-1] if max(gains[b] for b in batches if b > batch) < 0.1]
    own = cell(study, row)
    return own | {"gain_of_doubling": gains.get(own["batch_per_device"]), "knee": min(knees)}


# Groups of runs


def compare(study: Study, row: Row) -> Row:
    a, b = cells(study)[1, 8], [run for run in study.values() if run.precision == "fp32"]
    logs = [np.log(times_of(side)) for side in (a, b)]
    freedom = [len(side) - 1 for side in logs]
    within_sides = [[log(within(run)[1] / within(run)[0]) / (2 * 1.96) for run in side] for side in (a, b)]
    # A side is no steadier than its runs are within, and two or three runs no steadier than both sides together.
    variances = [max(np.var(side, ddof=1), np.mean(np.square(of))) for side, of in zip(logs, within_sides, strict=True)]
    pooled = np.average(variances, weights=freedom)
    squares = [
        max(variance, pooled if len(side) <= 3 else 0) / len(side)
        for variance, side in zip(variances, logs, strict=True)
    ]
    shares = [square**2 / degrees for square, degrees in zip(squares, freedom, strict=True)]
    half = scipy.stats.t.ppf(0.975, sum(squares) ** 2 / sum(shares)) * sqrt(sum(squares))
    low, high = np.exp(np.mean(logs[1]) - np.mean(logs[0]) + np.array([-half, half]))
    ratio = scipy.stats.gmean(times_of(b)) / scipy.stats.gmean(times_of(a))
    errors = [error for side in within_sides for error in side]
    return {
        "a_runs": len(a), "b_runs": len(b), "a_steps": len(a) * N_KEPT, "b_steps": len(b) * N_KEPT,
        "a_mean": scipy.stats.gmean(times_of(a)), "b_mean": scipy.stats.gmean(times_of(b)),
        "ratio": ratio, "ratio_low": low, "ratio_high": high, "slowdown": ratio - 1, "slowdown_low": low - 1,
        "slowdown_high": high - 1, "within_runs": sqrt(np.mean(np.square(errors))),
        "between_runs": sqrt(pooled),
    }  # fmt: skip


def history(study: Study, row: Row) -> Row:
    run = study[row["run_id"]]
    low, high = within(run)
    alike = [other for other in study.values()
             if (other.devices, other.batch, other.precision) == (run.devices, run.batch, run.precision)]  # fmt: skip
    change = SLOWER_FROM if run.precision == "fp32" else len(alike)
    levels = [times_of(alike[:change]), times_of(alike[change:])]
    place = alike.index(run)
    expected: Row = {"run_value": np.median(run.kept), "low": low, "high": high, "slowdown": None, "p_value": None,
        "level": scipy.stats.gmean(levels[place >= change])}  # fmt: skip
    if place == change:
        expected["slowdown"] = scipy.stats.gmean(levels[1]) / scipy.stats.gmean(levels[0]) - 1
        n, clipped = len(alike), clipped_far(np.log(np.concatenate(levels)))
        test = scipy.stats.ttest_ind(clipped[:change], clipped[change:])
        rests = [level - level.mean() for level in map(clipped_far, map(np.log, levels))]
        likeness = sum(rest[1:] @ rest[:-1] for rest in rests) / sum(rest @ rest for rest in rests)
        phi = np.clip((n * likeness + 2) / max(n - 8, n / 2) - 0.5 / np.sqrt(n), 0, 0.95)
        t = abs(test.statistic) * np.sqrt((1 - phi) / (1 + phi))
        expected["p_value"] = (n - 1) * 2 * scipy.stats.t.sf(t, test.df)
    return expected


def clipped_far(logs: Values) -> Values:
    """Logarithms, none farther than four robust sigma from their median."""
    far = 4 * scipy.stats.median_abs_deviation(logs, scale=1 / 1.4826)
    return np.asarray(np.clip(logs, np.median(logs) - far, np.median(logs) + far))


# Accuracy


def accuracy_curve(study: Study, row: Row) -> Row:
    run, step = study[row["run_id"]], row["step"]
    elapsed_s = np.cumsum(run.steps)
    if row["phase"] == "train":
        return {"score": run.scores.ravel()[step - 1], "n_records": 1, "elapsed_s": elapsed_s[step - 1]}
    epoch = int(row["epoch"])
    return {"score": loss(run)[epoch], "n_records": PARTS, "elapsed_s": elapsed_s[(epoch + 1) * BATCHES - 1]}


def loss(run: Run) -> Values:
    return np.average(run.losses, axis=1, weights=np.arange(1, PARTS + 1))


def time_to_accuracy(study: Study, row: Row) -> Row:
    """Training: the mean of the last ten records."""
    run = study[row["run_id"]]
    means = np.convolve(run.scores.ravel(), np.full(WINDOW, 1 / WINDOW), "valid")
    return reached(run, means, int(np.argmax(means >= TARGET)) + WINDOW - 1, means.max(), WINDOW - 1)


def time_to_loss(study: Study, row: Row) -> Row:
    """Validation: its records weigh by their batches."""
    run = study[row["run_id"]]
    epoch = int(np.argmax(loss(run) <= LOSS_TARGET))
    return reached(run, loss(run), epoch, loss(run).min(), 0, BATCHES)


def reached(run: Run, values: Values, place: int, best: float, skipped: int, batches: int = 1) -> Row:
    time_s = np.cumsum(run.steps)[(place + 1) * batches - 1]
    return {"time_to_target_s": time_s, "score": values[place - skipped], "best_score": best,
        "device_hours": run.devices * time_s / 3600, "n_values": len(values)}  # fmt: skip
