"""Logs of loops that nobody wrote, drawn by a seed: a count, a time in some wording, a loss, a separator, a prefix.

What they print is known, so that whatever is read of them can be held against it.
"""

import datetime
import random
import statistics
from collections.abc import Sequence
from typing import NamedTuple

_EPOCHS, _BATCHES = 5, 100
_STEPS = (
    "Step {s}", "step {s}/{all}", "step: {s}", "step={s}", "Iter {s}", "iteration {s}/{all}", "global_step {s}",
    "update {s}", "Epoch [{e}/5] Step [{b}/100]", "Epoch {e} Batch {b}/100", "Epoch: [{e}][{b}/100]",
    "epoch {e} step {s}", "Epoch {e}/5 | Batch {b}/100", "[{e:03d}/005][{b:04d}/0100]", "ep {e} it {b}",
    "Training step {s}", "num_updates={s}", "batch {b} of 100 (epoch {e})", "[Epoch {e}, Batch {b}]", "[step {s}]",
    "Epoch:{e}/5 Iter:{b}/100", "Step[{s}/{all}]", "Step #{s}", "[iter {s}]", "minibatch {b}/100 epoch {e}",
)  # fmt: skip
_WHOLE = (
    "Epoch {e}", "Epoch {e}/40", "Epoch [{e}/40]", "epoch: {e}", "Epoch: {e:03d}", "[Epoch {e}]", "ep {e}",
    "EPOCH {e}", "epoch={e}", "Finished epoch {e}", "End of epoch {e}", "Epoch #{e}", "Epoch {e} done", "e={e}",
    "Epoch-{e}", "Epoch({e}/40)", "Training epoch {e}", "Epoch {e} finished", "train epoch {e}",
)  # fmt: skip
# By what they are of: a step, all steps so far, those since the line before, an epoch.
_TIMES = {
    "step": (
        "step_time: {t:.4f}s", "step time: {t:.4f} s", "batch_time={t:.4f}s", "time/step: {t:.4f}s", "{t:.4f}s/step",
        "{t:.4f} s/it", "{r:.4f} it/s", "{ms:.2f} ms/step", "sec/step: {t:.4f}", "s/iter: {t:.4f}",
        "steps/s: {r:.4f}", "steps_per_sec={r:.4f}", "step_ms: {ms:.2f}", "ms_per_step={ms:.2f}",
        "time_per_iter={t:.4f}s", "{t:.4f} sec/batch", "{t:.4f}s per iteration", "step_time(ms)={ms:.2f}",
        "Time/iter: {ms:.1f} ms", "dt={ms:.2f}ms", "{r:.4f} steps/sec", "Time per batch: {ms:.2f} ms",
    ),
    "so_far": (
        "total_time: {c:.3f}s", "elapsed {c:.3f}s", "time_elapsed={c:.3f}s", "Elapsed time: {c:.3f} s",
        "time since start: {c:.3f}s", "total elapsed: {c:.3f} sec", "train_time: {cms:.0f}ms",
    ),
    "several": ("{k} steps took {kt:.3f}s", "time for last {k} steps: {kt:.3f}s", "({k} iters in {kt:.3f} s)"),
    "epoch": (
        "time: {t:.2f}s", "Time: {t:.2f} sec", "epoch_time: {t:.2f}s", "took {t:.2f}s", "Time taken: {t:.2f}s",
        "in {t:.2f} seconds", "Time cost: {t:.2f}s", "time={m:.3f}min", "time/epoch: {t:.2f}s", "{t:.2f}s/epoch",
        "epoch time {t:.2f} s", "completed in {t:.2f}s", "(took {t:.2f} sec)", "Time(min): {m:.4f}",
        "Epoch duration: {t:.2f}s", "seconds: {t:.2f}", "cost: {t:.2f}s",
    ),
}  # fmt: skip
_ASSIGNED = (": ", "=", " ", " = ", ":")
_SEPARATORS = (", ", " | ", " ", "\t", "; ", " - ", "  ", ",")
_PREFIXES = (
    "", "", "{now:%Y-%m-%d %H:%M:%S},{milli:03d} - INFO - ", "[{now:%Y-%m-%d %H:%M:%S}] ", "INFO:root:", "[INFO] ",
    "I{now:%m%d %H:%M:%S}.{milli:03d}456 1234 train.py:42] ", "{now:%Y-%m-%dT%H:%M:%S}.{milli:03d}Z ", "[rank0]: ", ">> ",
)  # fmt: skip
_OTHERS = ("", "lr{is}0.00100", "grad_norm{is}1.523", "acc{is}0.8125")


class Drawn(NamedTuple):
    """A log, and what it prints."""

    text: str
    wording: str
    of_epochs: bool
    typical_s: float  # median of the steps' or epochs' times, as printed


def drawn(seed: int) -> Drawn:
    """A log drawn by a seed."""
    chance = random.Random(seed)
    kind = chance.choice(("step", "step", "so_far", "several", "epoch", "epoch"))
    time = chance.choice(_TIMES[kind])
    count = chance.choice(_WHOLE if kind == "epoch" else _STEPS)
    separator, prefix = chance.choice(_SEPARATORS), chance.choice(_PREFIXES)
    others = [f"loss{chance.choice(_ASSIGNED)}" + "{loss:.4f}", chance.choice(_OTHERS)]
    parts = [part for part in others if part]
    parts.insert(chance.randrange(len(parts) + 1), time)
    line = prefix + count + chance.choice((separator, ": ", " ")) + separator.join(parts)
    line = line.replace("{is}", chance.choice(_ASSIGNED))
    whole = kind == "epoch"
    lines, seconds = _lines(chance, line, 1 if whole else chance.choice((10, 20, 50)), whole)
    return Drawn("\n".join(lines) + "\n", f"{count} {time}", whole, statistics.median(seconds))


def _lines(chance: random.Random, line: str, every: int, whole: bool) -> tuple[list[str], Sequence[float]]:
    """The lines of a loop, one for each so many steps, or for each epoch; and the time of one in each."""
    now = datetime.datetime(2026, 3, 1, 12, 0, 0, chance.randrange(1_000_000))
    usual_s = 10 ** chance.uniform(1, 2.3) if whole else 10 ** chance.uniform(-0.7, 0.8)
    lines, seconds, passed_s = [], [], 0.0
    for step in range(1, 41 if whole else _EPOCHS * _BATCHES + 1):
        if (step - 1) % every == 0:
            span_s = 0.0
        time_s = usual_s * chance.lognormvariate(0, 0.03)
        span_s, passed_s = span_s + time_s, passed_s + time_s
        now += datetime.timedelta(seconds=time_s)
        if step % every:
            continue
        mean_s = span_s / every
        seconds.append(mean_s)
        lines.append(
            line.format(
                s=step, e=step if whole else (step - 1) // _BATCHES + 1, b=(step - 1) % _BATCHES + 1, all=500,
                t=mean_s, ms=mean_s * 1000, r=1 / mean_s, m=mean_s / 60, c=passed_s, cms=passed_s * 1000, k=every,
                kt=span_s, now=now, milli=now.microsecond // 1000, loss=2.5 / (1 + step / 100),
            )
        )  # fmt: skip
    return lines, seconds
