"""The unit of a time that does not say it, where a rate per second next to it shows it: their product is a count.

    update 3 | total steps 49152 | steps per sec 1536.1 | total time 32.0 | iteration time 10.6
    update 4 | total steps 65536 | steps per sec 1540.3 | total time 42.5 | iteration time 10.5

1540.3 times 42.5 is 65,536: the total time is in seconds since the start, and so is what it grows by.

    step 20 | loss 3.1 | 505ms | 8111 tok/s
    step 30 | loss 2.9 | 550ms | 7447 tok/s

Each time 8,111 tokens per second is 4,096 tokens: a power of two, as the tokens of a step mostly are.  So the time is
that of one step; that of all ten since the line before would give ten times a power of two.
"""

import itertools
import math
import statistics
from collections import Counter
from collections.abc import Sequence

from scalelens.parsing import lazy_re as re
from scalelens.tabular.column_names import read_name
from scalelens.tabular.unknown_logs.records import BY_CLOCK, LEFT, RUNNING, TIMES
from scalelens.tabular.unknown_logs.times import LineTimes

_PER_SECOND = re.compile(
    r"(?:per[_ ]?s(?:ec(?:ond)?)?|/s(?:ec(?:ond)?)?|(?<![a-z])(?:fps|sps))\Z", re.IGNORECASE
)  # steps_per_sec, FPS
_TIME = re.compile(r"time|elapsed|duration", re.IGNORECASE)
_LEAST_LINES = 5
_MOSTLY = 0.9
_NEAR = 0.02  # between a count and the rate times the time
_WORK = ("samples_per_s", "tokens_per_s")
_SAME = 0.002  # between what a step has of samples or tokens, over all lines, and a power of two
_LEAST_WORK = 3  # the power: eight samples
_LEAST_APART = 5  # steps between two lines
_FACTORS = 4  # the last count over the first: what is true of each of them is no accident


def told_by_rate(times: LineTimes) -> tuple[str, tuple[str, str]] | None:
    """The role, and the column with its unit: the time of a step, else the time since the start."""
    whole = _since_start(times)
    if whole is None:
        return _of_each_step(times) or _of_usual_work(times) or _in_the_unit_of_work(times)
    totals = times.values[whole]
    steps = times.values.get(times.step or "", [])
    grown = [later - total for total, later in itertools.pairwise(totals)]
    of_each = [
        name
        for name, values in times.values.items()
        if name != whole and _is_time(name) and len(values) == len(totals) and _are_alike(values[1:], grown)
    ]
    each = len(steps) == len(totals) and all(later - step == 1 for step, later in itertools.pairwise(steps))
    if len(of_each) == 1 and each:
        return ("epoch_time" if times.of_epochs else "batch_time"), (of_each[0], "s")
    return "elapsed", (whole, "s")


def _since_start(times: LineTimes) -> str | None:
    """The column without a unit that, multiplied by a rate per second, is a count in nearly each line."""
    columns = {name: values for name, values in times.values.items() if len(values) >= _LEAST_LINES}
    rates = [name for name in columns if _PER_SECOND.search(name)]
    wholes = [name for name in columns if _is_time(name) and _grows(columns[name])]
    counts = [
        name
        for name, values in columns.items()
        if name not in wholes and _grows(values) and all(map(float.is_integer, map(float, values)))
    ]
    hits = set()
    for whole, rate, count in itertools.product(wholes, rates, counts):
        seconds, per_second, counted = columns[whole], columns[rate], columns[count]
        if len(seconds) == len(per_second) == len(counted) and counted[-1] >= _FACTORS * max(counted[0], 1):
            product = [each * second for each, second in zip(per_second, seconds, strict=True)]
            hits |= {whole} if _are_alike(product, counted) else set()
    return hits.pop() if len(hits) == 1 else None


def _of_each_step(times: LineTimes) -> tuple[str, tuple[str, str]] | None:
    """The time of each step that times a rate per second is what a count has grown by: `fps 640, time 3.2`."""
    steps = times.values.get(times.step or "", [])
    if len(steps) < _LEAST_LINES or any(later - step != 1 for step, later in itertools.pairwise(steps)):
        return None
    columns = {name: values for name, values in times.values.items() if len(values) == len(steps)}
    rates = [name for name in columns if _PER_SECOND.search(name)]
    plain = ("time", "batch_time", "epoch_time")  # no part of the step, as that of a rollout
    spans = [name for name in columns if read_name(name) in [(role, None) for role in plain]]
    spans = [name for name in spans if len(set(columns[name])) > 1]
    counts = [
        name
        for name in columns
        if name != times.step and name not in spans and name != BY_CLOCK and _grows(columns[name])
    ]
    hits = set()
    for span, rate, count in itertools.product(spans, rates, counts):
        product = [each * second for each, second in zip(columns[rate], columns[span], strict=True)][1:]
        grown = [later - value for value, later in itertools.pairwise(columns[count])]
        hits |= {span} if all(grown) and _are_alike(product, grown) else set()
    role = "epoch_time" if times.of_epochs else "batch_time"
    return (role, (hits.pop(), "s")) if len(hits) == 1 else None


def _of_usual_work(times: LineTimes) -> tuple[str, tuple[str, str]] | None:
    """The time that, times a rate of samples or tokens, is a power of two: of a step, or of as many as lie between."""
    steps = times.values.get(times.step or "", [])
    gaps = Counter(later - step for step, later in itertools.pairwise(steps))
    usual, lines = next(iter(gaps.most_common(1)), (0.0, 0))
    if times.of_epochs or len(steps) < _LEAST_LINES or usual < _LEAST_APART or math.log2(usual).is_integer():
        return None
    columns = {name: values for name, values in times.values.items() if len(values) == len(steps)}
    spans = [name for name in columns if read_name(name).role == "time"]
    rates = [name for name in columns if read_name(name).role in _WORK]
    if len(spans) != 1 or lines < _MOSTLY * (len(steps) - 1):
        return None
    hits = set()
    for rate, (role, apart) in itertools.product(rates, (("interval_time", 1.0), ("span_time", usual))):
        done = [each * second for each, second in zip(columns[rate], columns[spans[0]], strict=True)]
        typical = statistics.median(done)
        if typical <= 0 or not _are_alike(done, [typical] * len(done)):
            continue
        unit = read_name(spans[0]).unit
        for candidate in (unit,) if unit else times.units:
            power = math.log2(typical * TIMES[candidate] / apart)
            even = abs(2.0 ** (power - round(power)) - 1) <= _SAME
            hits |= {(role, (spans[0], candidate))} if even and power > _LEAST_WORK - 0.5 else set()
    return hits.pop() if len(hits) == 1 else None


def _in_the_unit_of_work(times: LineTimes) -> tuple[str, tuple[str, str]] | None:
    """The time that is called that of a step, in the unit in which it is a power of two, times a rate of its work.

    `dt: 221.5 | tokens/sec: 2367007.9` are 524,288 tokens in milliseconds; a thousand times that is no power of two.
    """
    lines = len(times.values.get(times.step or "", []))
    columns = {name: values for name, values in times.values.items() if len(values) == lines >= _LEAST_LINES}
    spans = [name for name in columns if read_name(name) == ("batch_time", None)]
    rates = [name for name in columns if read_name(name).role in _WORK]
    if times.of_epochs or len(spans) != 1:
        return None
    hits = set()
    for rate in rates:
        done = [each * second for each, second in zip(columns[rate], columns[spans[0]], strict=True)]
        typical = statistics.median(done)
        if typical <= 0 or not _are_alike(done, [typical] * len(done)):
            continue
        for candidate in times.units:
            power = math.log2(typical * TIMES[candidate])
            even = abs(2.0 ** (power - round(power)) - 1) <= _SAME
            hits |= {("batch_time", (spans[0], candidate))} if even and power > _LEAST_WORK - 0.5 else set()
    return hits.pop() if len(hits) == 1 else None


def _is_time(name: str) -> bool:
    """Whether a name is that of a time, and does not say its unit."""
    return bool(_TIME.search(name)) and read_name(name).unit is None and name not in (BY_CLOCK, LEFT, RUNNING)


def _grows(values: Sequence[float]) -> bool:
    """Whether numbers never fall, and do not stay."""
    return all(later >= value for value, later in itertools.pairwise(values)) and values[-1] > values[0]


def _are_alike(values: Sequence[float], others: Sequence[float]) -> bool:
    """Whether nearly all numbers are as large as those beside them."""
    near = sum(abs(value - other) <= _NEAR * abs(other) for value, other in zip(values, others, strict=True))
    return near >= _MOSTLY * len(others)
