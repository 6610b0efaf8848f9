"""The unit of a time that does not say it, where the time stamps or what the log states of the whole show it.

    2026-01-02 03:04:05,123 iter 20, loss 2.1, time 6.2      Epoch 12, loss 0.31, time 1.1995
    2026-01-02 03:04:11,325 iter 40, loss 2.0, time 12.4     Median time per epoch: 1.2003s

    2026-01-02 03:04:05,123 epoch 3, loss 0.31, epoch time 52.1, which is followed by
    2026-01-02 03:05:12,325 epoch 4, loss 0.30, epoch time 51.8

One unit has to fit, and no other.
"""

import itertools
import statistics
from collections.abc import Collection

from scalelens.tabular.column_names import read_name
from scalelens.tabular.unknown_logs.records import TIMES
from scalelens.tabular.unknown_logs.times import LineTimes, fits

_UNITS = ("s", "ms", "min", "h")
_FINE = 10  # last digits, of the stamps and of the time, that pass between two lines
_FEWEST = 10  # such pairs of lines
_NEAR = 0.02  # between what a time grows by and what passed by the stamps, apart from their digits
_MOSTLY = 0.9
_SELDOM = 10  # lines, of which at most one follows a time that goes back
_AS_TOTAL = (0.75, 1.02)  # the sum of all times over the total that is stated: something lies between them
_AS_MEAN = 0.05
_OF_EPOCH, _OF_EPOCH_S = (0.7, 1.05), (0.25, 1.05)  # its time over what passes by the stamps, with the validation
_LEAST_LINES = 5
_SPREAD = 4  # the largest count over the least
_AS_COUNTED = 0.15  # between a time and its count times the usual one


def grown_as_clock(times: LineTimes) -> tuple[str, str] | None:
    """The column, and its unit, that grows as the clock does: the time since the start, or since the epoch began.

    Line by line, what it grows by is what passed by the time stamps, within their resolution.
    """
    hits = []
    for name, grown in times.grown.items():
        role, unit = read_name(name)
        if role not in ("time", "elapsed"):
            continue
        goes_back = times.gone_back[name]
        for candidate in _UNITS if unit is None else (unit,):
            factor = TIMES[candidate]
            open_s = times.resolution_s + 2 * factor * 10.0 ** -times.decimals(name)
            long = [(more * factor, span) for more, span in grown if span >= _FINE * open_s]
            near = sum(abs(more - span) <= open_s + _NEAR * span for more, span in long)
            many = len(long) >= max(_FEWEST, len(grown) / 2) and _SELDOM * goes_back <= len(grown)
            hits += [(name, candidate)] if many and near >= _MOSTLY * len(long) else []
    return hits[0] if len(hits) == 1 else None


def within_epochs(times: LineTimes) -> tuple[str, str] | None:
    """The column without a unit, and its unit, that is named as the time of an epoch and fits between the time stamps.

    In one unit only it is most of what passes from one epoch to the next, of seconds a fourth at least, and never more.
    """
    spans, clock_s = [span for span, _ in times.by_clock], times.clock_s
    if not times.of_epochs or not clock_s or len(spans) < _LEAST_LINES:
        return None
    hits = []
    for name, values in times.values.items():
        if read_name(name) != ("epoch_time", None) or len(values) != len(spans) + 1:
            continue
        for candidate in times.units:
            factor = TIMES[candidate]
            open_s = times.resolution_s + factor * 10.0 ** -times.decimals(name)
            within = sum(
                value * factor <= span + open_s + _NEAR * span for value, span in zip(values[1:], spans, strict=True)
            )
            part = fits(statistics.median(values) * factor, clock_s, _OF_EPOCH_S if candidate == "s" else _OF_EPOCH)
            hits += [(name, candidate)] if part and within >= _MOSTLY * len(spans) else []
    return hits[0] if len(hits) == 1 else None


def grown_with_count(times: LineTimes) -> tuple[str, str] | None:
    """The column, with its unit, that is as many times its count in each line: since the epoch, or the start, began.

    `Batch[1/5] loss 2.1 (14s)`, then `Batch[2/5] loss 2.0 (28s)`: no step takes twice as long as the one before.
    """
    steps = times.values.get(times.step or "", [])
    if times.of_epochs or len(steps) < _FEWEST:
        return None
    counts = steps if min(steps) else [step + 1 for step in steps]
    if min(counts) < 1 or max(counts) < _SPREAD * min(counts):
        return None
    hits = []
    for name, values in times.values.items():
        role, unit = read_name(name)
        if role != "time" or unit is None or len(values) != len(counts):
            continue
        within = list(itertools.pairwise(zip(counts, values, strict=True)))
        rises = all(now > before for (at, before), (count, now) in within if count > at)
        usual = statistics.median(value / count for count, value in zip(counts, values, strict=True))
        open_s = 10.0 ** -times.decimals(name)
        near = sum(
            abs(value - count * usual) <= open_s + _AS_COUNTED * count * usual
            for count, value in zip(counts, values, strict=True)
        )
        far = max(values) - min(values) >= _FINE * open_s
        hits += [(name, unit)] if rises and far and near >= _MOSTLY * len(counts) else []
    return hits[0] if len(hits) == 1 else None


def launches_in(times: LineTimes) -> int:
    """How often the count of the records begins, where it goes back to its first value each time that it falls."""
    steps = times.values.get(times.step or "", [])
    anew = [later for step, later in itertools.pairwise(steps) if later < step]
    return 1 + len(anew) if set(anew) <= set(steps[:1]) else 1


def as_stated_of_all(times: LineTimes, total_s: float | None, epoch_means: Collection[float]) -> tuple[str, str] | None:
    """The column without a unit, and its unit, that adds up to the total that lines state, or has their mean.

    Of epochs, or of steps of which each has a line.  Only what goes up and down is summed.
    """
    steps = times.values.get(times.step or "", [])
    follow = sum(later - step == 1 for step, later in itertools.pairwise(steps))
    if len(steps) < _LEAST_LINES or 2 * follow < len(steps):
        return None
    hits = []
    for name, values in times.values.items():
        role, unit = read_name(name)
        falls = sum(later < value for value, later in itertools.pairwise(values))
        if unit is not None or role not in ("time", "epoch_time", "batch_time") or falls < 2:
            continue
        for candidate in times.units:
            factor = TIMES[candidate]
            typical = statistics.median(values) * factor, statistics.fmean(values) * factor
            near = [abs(one / mean - 1) <= _AS_MEAN for mean in epoch_means for one in typical]
            adds_up = fits(sum(values) * factor, total_s, _AS_TOTAL)
            hits += [(name, candidate)] if adds_up or (times.of_epochs and any(near)) else []
    return hits[0] if len(hits) == 1 else None
