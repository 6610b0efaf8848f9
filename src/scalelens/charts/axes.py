"""Axes of several charts: counts that were run, values from 0, values over several decades."""

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

import altair as alt

from scalelens.charts import words

HEADROOM = 1.06  # of a y axis above its last tick, whose label would stick out of the panel
_LOGARITHMIC_FROM = 10  # highest value over lowest
_FLAT_BELOW = 40  # highest value over lowest, from which an axis from 0 does not show the low ones apart
_MOST_LETTERS = 4  # of a label left of a panel
_FOUR_LETTERS_FROM = 0.01  # lowest value whose label has room left of a panel in full
_MOST_TICKS = 12  # of a logarithmic axis; else only powers of ten
THOUSANDS_FROM, BRIEF_FROM, BRIEF_TO = 10_000, 0.001, "1e15"  # labels such as 20k; others as 2e-4 or 2e+15
_OVERHANG = 12  # points beyond the first and the last tick, for markers and labels

_BYTES_LABEL_ROOM = 33  # points for `512 MiB` and a gap
_BYTES_LABEL = (
    "datum.value >= 1073741824 ? datum.value / 1073741824 + ' GiB' : datum.value >= 1048576 ? datum.value / 1048576 + "
    "' MiB' : datum.value >= 1024 ? datum.value / 1024 + ' KiB' : datum.value + ' B'"
)


def of_devices(rows: Sequence[Mapping[str, Any]], overhang: float = _OVERHANG) -> Any:
    """The x axis of numbers of devices, with the nodes below them where the rows know those."""
    x = of_counts("devices", f"{words.unit(rows)}s", {row["devices"] for row in rows}, overhang)
    if nodes := _nodes(rows):
        below = " : ".join(f"datum.value == {devices} ? '{count}'" for devices, count in nodes.items())
        x["axis"]["labelExpr"] = f"[datum.label, {below} : '']"
        x["title"] = [x["title"], "nodes"]
    return x


def _nodes(rows: Sequence[Mapping[str, Any]]) -> dict[int, str]:
    """The nodes of each number of devices; empty where they would say nothing more."""
    nodes: dict[int, set[int]] = {}
    for row in rows:
        if row.get("nodes"):
            nodes.setdefault(row["devices"], set()).add(row["nodes"])
    counts = {count for several in nodes.values() for count in several}
    if len(nodes) < 2 or counts == {1} or all(several == {devices} for devices, several in nodes.items()):
        return {}
    if any(devices % count for devices, several in nodes.items() for count in several):
        return {}  # the nodes of a job that trained on some of their devices
    return {devices: ", ".join(map(str, sorted(several))) for devices, several in sorted(nodes.items())}


def of_counts(field: str, title: str | None, counts: Iterable[int], overhang: float = _OVERHANG) -> Any:
    """A logarithmic x axis with a tick at each count that was run."""
    values = sorted(set(counts))
    domain = [values[0], values[-1]] if len(values) > 1 else [values[0] / 2, values[0] * 2]
    padding = max(overhang, words.text_width(f"{values[-1]}") / 2)
    return alt.X(
        f"{field}:Q",
        title=title,
        scale=alt.Scale(type="log", base=2, domain=domain, nice=False, padding=padding),
        axis=alt.Axis(values=values, tickCount=len(values), format="d", labelOverlap="parity", labelSeparation=1),
    )


def of_bytes(field: str, title: str, sizes: Iterable[int], width: float) -> Any:
    """A logarithmic x axis with labels at powers of two, as many as fit into a panel of `width` points."""
    exponents = [math.log2(size) for size in sizes]
    low, high = min(exponents), max(exponents)
    if math.ceil(low) >= math.floor(high):  # fewer than two powers of two in between
        low, high = math.floor(low), math.floor(high) + 1
    powers = range(math.ceil(low), math.floor(high) + 1)
    between = next(n for n in (1, 2, 5, 10, 20, 60) if len(powers) / n * _BYTES_LABEL_ROOM <= width)
    ticks = [2**power for power in powers if power % between == 0]
    return alt.X(
        f"{field}:Q",
        title=title,
        scale=alt.Scale(type="log", base=2, domain=[2**low, 2**high], nice=False, padding=_OVERHANG),
        axis=alt.Axis(values=ticks, tickCount=len(ticks), labelExpr=_BYTES_LABEL, labelOverlap="greedy"),
    )


def labels(highest: float) -> dict[str, Any]:
    """Options of an axis up to `highest` for labels as people write numbers: 0.5, 1200, 2e-4.

    An axis that reaches 10 000 has 2k and 20k.  Vega's own prefixes below 1, as in 500m, are misread, and its commas,
    as in 1,200, are decimal marks in many countries.
    """
    thousands = 1000 if highest >= THOUSANDS_FROM else THOUSANDS_FROM
    small = BRIEF_FROM if highest >= 10 * BRIEF_FROM else 10 * BRIEF_FROM
    size = "abs(datum.value)"
    is_brief = f"{size} >= {BRIEF_TO} || {size} > 0 && {size} < {small}"
    kind = f"{is_brief} ? '~e' : {size} >= {thousands} ? '~s' : '~f'"
    return {"labelExpr": f"format(datum.value, {kind})"}


def even_labels(highest: float) -> dict[str, Any]:
    """`labels` for a linear axis that needs them; else Vega's own, which all have equally many decimals: 0.5, 1.0."""
    return labels(highest) if highest >= 1000 or highest < BRIEF_FROM else {}


def exact_labels(ticks: Sequence[float], highest: float) -> dict[str, Any]:
    """`even_labels` with no more decimals than the ticks have: 0.06 and 0.07, not 0.060."""
    decimals = next((n for n in range(_MOST_LETTERS) if all(math.isclose(round(t, n), t) for t in ticks)), None)
    return even_labels(highest) or ({} if decimals is None else {"format": f".{decimals}f"})


def from_zero(field: str, title: str | None, highest: float, **options: Any) -> Any:
    """A y axis from 0 to above `highest`.  `options` are those of `alt.Axis`."""
    values = ticks(highest)
    # There is room for labels of four letters: 0.01, 5e-3.
    if values[1] < _FOUR_LETTERS_FROM <= highest:
        values = [n * _FOUR_LETTERS_FROM for n in range(math.ceil(highest / _FOUR_LETTERS_FROM) + 1)]
    options = (labels(values[1]) if values[1] < _FOUR_LETTERS_FROM else even_labels(values[-1])) | options
    return alt.Y(
        f"{field}:Q",
        title=title,
        scale=alt.Scale(domain=[0, HEADROOM * values[-1]], nice=False),
        axis=alt.Axis(values=values, tickCount=len(values), **options),
    )


def ticks(highest: float) -> list[float]:
    """Round values from 0 to the first that is not below `highest`, at most seven."""
    step = next(s for e in range(-12, 308) for s in (10.0**e, 2 * 10.0**e, 5 * 10.0**e) if highest <= 6 * s)
    return [n * step for n in range(math.ceil(highest / step) + 1)]


def ticks_between(low: float, high: float) -> list[float]:
    """Round values from `low` to `high`, at most seven, whose labels have room left of a panel; two at least."""
    steps = [(e, s * 10.0**e) for e in range(-12, 308) for s in (1, 2, 5)]
    for exponent, step in (each for each in steps if high - low <= 6 * each[1]):
        values = [n * step for n in range(math.ceil(low / step), math.floor(high / step) + 1)]
        if len(f"{high:.{max(0, -exponent)}f}") <= _MOST_LETTERS or len(values) <= 2:
            return values
    return [low, high]


def around(low: float, high: float) -> tuple[list[float], list[float]]:
    """The ends of an axis that holds the values, and its ticks: the ends are ticks where too few are between."""
    for exponent, step in ((e, s * 10.0**e) for e in range(-12, 308) for s in (1, 2, 5)):
        if high - low > 6 * step:
            continue
        ticks = [n * step for n in range(math.ceil(low / step), math.floor(high / step) + 1)]
        is_within = len(ticks) > 1 or low == high
        if not is_within:
            ticks = [n * step for n in range(math.floor(low / step), math.ceil(high / step) + 1)]
        decimals = max(0, -exponent)
        letters = max((_letters(tick, decimals, is_brief=abs(high) < BRIEF_FROM) for tick in ticks), default=0)
        if ticks and (letters <= _MOST_LETTERS or step >= 1):
            return ([low, high] if is_within else [ticks[0], ticks[-1]]), ticks
    return [low, high], [low, high]


def _letters(value: float, decimals: int, is_brief: bool) -> int:
    """How long a label is: 0.25, or 5e-4."""
    if not is_brief or not value:
        return len(f"{value:.{decimals}f}")
    digits, power = f"{value:.6e}".split("e")
    return len(f"{digits.rstrip('0').rstrip('.')}e{int(power)}")


def is_logarithmic(low: float, high: float) -> bool:
    """Whether the values differ too much for a linear axis to show the low ones apart."""
    return high >= _LOGARITHMIC_FROM * low > 0


def from_zero_or_logarithmic(field: str, title: str, values: Iterable[float]) -> Any:
    """A y axis from 0, or a logarithmic one where values of other runs would lie flat on the ground."""
    known = list(values)
    low, high = min(known), max(known)
    if not _is_flat(low, high):
        return from_zero(field, title, high)
    return alt.Y(f"{field}:Q", **_of_decades(title, low, high))


def along(field: str, title: str, values: Iterable[float], middles: Iterable[float]) -> Any:
    """An x axis from 0, or a logarithmic one where that would press half of the values flat, or a whole group.

    `middles` are those of the groups of the values.
    """
    known, of_groups = list(values), list(middles)
    low, high = min(known), max(known)
    if low > 0 and (_is_flat(min(of_groups), max(of_groups)) or _is_flat(median(known), high)):
        return alt.X(f"{field}:Q", **_of_decades(title, low, high))
    axis = alt.Axis(tickCount=5, **even_labels(high))
    return alt.X(f"{field}:Q", title=title, scale=alt.Scale(domainMin=0, nice=False), axis=axis)


def _is_flat(low: float, high: float) -> bool:
    """Whether an axis from 0 to the highest value shows nothing of the lowest."""
    return 0 < low * _FLAT_BELOW <= high


def _of_decades(title: str, low: float, high: float) -> dict[str, Any]:
    """Title, scale and axis of a logarithmic axis."""
    ends, ticks = logarithmic(low, high)
    axis = alt.Axis(
        values=ticks, tickCount=len(ticks), labelOverlap="greedy",
        **labels(high if low >= _FOUR_LETTERS_FROM else BRIEF_FROM),
    )  # fmt: skip
    return {"title": f"{title}, log.", "scale": alt.Scale(type="log", domain=ends, nice=False), "axis": axis}


def logarithmic(low: float, high: float) -> tuple[list[float], list[float]]:
    """The ends of a logarithmic axis, and its ticks: 1, 2 and 5 of each decade, or powers of ten."""
    ends = [low / 1.2, high * 1.2]
    ticks = [tick for tick in ticks_of_decades(*ends) if ends[0] <= tick <= ends[1]]
    if len(ticks) > _MOST_TICKS:
        ticks = [tick for tick in ticks if math.log10(tick) == round(math.log10(tick))]
    return ends, ticks


def ticks_of_decades(low: float, high: float) -> list[float]:
    """1, 2 and 5 of each decade from that of `low` to that above `high`."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [float(f"{n}e{decade}") for decade in decades for n in (1, 2, 5)]


def round_ticks(low: float, high: float) -> list[float]:
    """Round values between two ends: 1, 2 and 5 of each decade, or more if these are fewer than three."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    finer = [float(f"{n}e{decade}") for decade in decades for n in (1, 1.5, 2, 3, 5, 7)]
    usual, more = ([tick for tick in ticks if low <= tick <= high] for ticks in (ticks_of_decades(low, high), finer))
    return usual if len(usual) >= 3 else more
