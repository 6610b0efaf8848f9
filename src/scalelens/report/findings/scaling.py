"""How well does the training scale?"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from scalelens.charts.naming import plain
from scalelens.question import split_series
from scalelens.report.text.sentences import MOST, FindingSentence, KeyNumber, amount, few, few_of, percent, plural

if TYPE_CHECKING:
    import polars as pl

PLACE = 10
# Sizes with times of steps that are in no series: a reader of the figure would miss them.
SQL = """
WITH series AS MATERIALIZED (FROM scaling())
SELECT *, (SELECT list(DISTINCT r.devices ORDER BY r.devices) FROM runs AS r
    WHERE r.devices NOT IN (SELECT devices FROM series WHERE devices IS NOT NULL)
    AND r.run_id IN (SELECT run_id FROM steps WHERE phase = 'train' AND step_s > 0)) AS other_sizes
FROM series"""
GLANCE = ("series", "devices", "nodes", "n_runs", "n_steps", "step_s", "speedup", "efficiency%", "samples_per_s",
          "tflops_per_device", "note")  # fmt: skip
CHARTS = ("scaling", "throughput")
QUERY = "scaling"  # that says why there is no answer
NUMBER_PLACE = 10
_MOST_SIZES = 4


def sentences(rows: "pl.DataFrame", names: Mapping[str, str]) -> list[FindingSentence]:
    """One sentence per series, of its largest size."""
    result = []
    for (series,), group in rows.group_by("series", maintain_order=True):
        largest = group.sort("devices").row(-1, named=True)
        if largest["devices"] != largest["baseline_devices"]:
            text = _text_of(plain(str(series)), largest, _base_rate(group))
            result.append((largest["efficiency"], FindingSentence(text, _doubt_of(largest))))
    result.sort(key=lambda pair: (pair[0] is None, pair[0] or 0.0))
    known = [efficiency for efficiency, _ in result if efficiency is not None]
    told = [sentence for _, sentence in result]
    if len(known) > 1:
        text = f"{percent(known[0])} to {percent(known[-1])} of ideal at the largest size, over {len(known)} series."
        told.insert(0, FindingSentence(text))
    if told and (others := _other_sizes(rows)):
        text = f"No series has the runs on {_listed(others)} devices."
        told = [
            *told[: MOST - 1],
            FindingSentence(text, "Why, run by run: scalelens query not_compared"),
            *told[MOST - 1 :],
        ]
    if told and (split := split_series.remark(rows["series"].to_list(), rows["devices"].to_list())):
        told.append(FindingSentence(f"{split[:1].upper()}{split[1:]}.".replace("\n", ". ")))
    return few(told)


def charts(rows: "pl.DataFrame") -> tuple[str, ...]:
    """Where the series have fewer sizes than were run without one, the figure of all sizes comes first."""
    return CHARTS if len(_other_sizes(rows)) <= rows["devices"].n_unique() else CHARTS[::-1]


def _other_sizes(rows: "pl.DataFrame") -> list[int]:
    return (rows["other_sizes"].to_list()[0] or []) if rows.height and "other_sizes" in rows.columns else []


def _listed(sizes: Sequence[int]) -> str:
    """`512`, `512 and 2,496`, `8, 16, 32 and 5 more numbers of`."""
    shown = [f"{size:,}" for size in sizes]
    if len(shown) > _MOST_SIZES:
        return f"{few_of(shown, _MOST_SIZES)} numbers of"
    return " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))


def _rate_of(row: Mapping[str, Any]) -> tuple[float, str] | None:
    """Samples per second and their unit, tokens where no samples are known."""
    units = {"samples_per_s": "samples/s", "tokens_per_s": "tokens/s"}
    return next(((row[name], unit) for name, unit in units.items() if row.get(name)), None)


def _base_rate(group: "pl.DataFrame") -> float | None:
    """The rate of the smallest size, where one configuration was run there."""
    base = group.filter(group["devices"] == group["baseline_devices"])
    rate = _rate_of(base.row(0, named=True)) if base.height == 1 else None
    return rate and rate[0]


def _text_of(series: str, row: Mapping[str, Any], base_rate: float | None) -> str:
    sizes = f"{row['devices']} devices against {row['baseline_devices']}"
    if row["efficiency"] is None:
        gain = f": {row['speedup']:.3g} times the throughput" if row["speedup"] else ""
        if not gain and base_rate and (rate := _rate_of(row)) and row["scaling"] != "mixed":
            gain = f": {amount(rate[0])} {rate[1]} against {amount(base_rate)}"
        per_device = f", {row['tflops_per_device']:.3g} TFLOP/s per device" if row["tflops_per_device"] else ""
        return f"{series}: {sizes}{gain}{per_device}; it has no efficiency."
    return f"{series}: {sizes}: {percent(row['efficiency'])} of ideal."


def _doubt_of(row: Mapping[str, Any]) -> str:
    counted = f"{plural(row['n_runs'], 'run')}, {plural(row['n_steps'] or 0, 'step record')}"
    if row["efficiency_low"] is not None:
        kind = "95 % interval" if row["efficiency_kind"] == "ci95" else "Range of the repeats"
        sure = f"{kind} {percent(row['efficiency_low'])} to {percent(row['efficiency_high'])}; {counted}"
    elif row["efficiency"] is None:
        sure = counted
    elif row["n_runs"] == 1:
        sure = f"One run, of {plural(row['n_steps'] or 0, 'step record')}, so no interval"
    else:
        sure = f"One run at one of the sizes, so no interval; {counted}"
    note = f" {row['note'][:1].upper()}{row['note'][1:]}." if row["note"] else ""
    return f"{sure}.{note}"


def number(rows: "pl.DataFrame", names: Mapping[str, str]) -> KeyNumber | None:
    """The best efficiency at the largest size; where no model is known, the gain in throughput."""
    grown = rows.filter(rows["devices"] > rows["baseline_devices"])
    known = grown.filter(grown["efficiency"].is_not_null())
    if known.is_empty():
        known = grown.filter(grown["speedup"].is_not_null())
    if known.is_empty():
        return _of_growing(grown) or _of_unknown(rows)
    best = known.sort("devices", "speedup", descending=True).row(0, named=True)
    against = f"against {best['baseline_devices']}: {plain(best['series'])}"
    if best["efficiency"] is None:
        return KeyNumber(f"{best['speedup']:.3g} ×", f"the throughput, on {best['devices']} devices", against)
    return KeyNumber(percent(best["efficiency"]), f"efficiency on {best['devices']} devices", against)


def _of_growing(grown: "pl.DataFrame") -> KeyNumber | None:
    """Where the model grows with the devices: what a device does at the largest size."""
    known = grown.filter(grown["tflops_per_device"].is_not_null())
    if known.is_empty():
        return None
    best = known.sort("devices", "tflops_per_device", descending=True).row(0, named=True)
    value, size = f"{best['tflops_per_device']:.3g} TFLOP/s", f"per device on {best['devices']} devices"
    return KeyNumber(value, size, f"the model grows: {plain(best['series'])}")


def _of_unknown(rows: "pl.DataFrame") -> KeyNumber | None:
    """Where no model is known: the highest rate of the largest size, and that of the smallest of its series."""
    rates = [name for name in ("samples_per_s", "tokens_per_s") if name in rows.columns]
    fastest_first = rows.sort("devices", *rates, descending=True, nulls_last=True)
    for (series,), group in fastest_first.group_by("series", maintain_order=True):
        largest, base = group.row(0, named=True), _base_rate(group)
        if base and (rate := _rate_of(largest)) and largest["scaling"] != "mixed":
            against = f"{amount(base)} on {largest['baseline_devices']}: {plain(str(series))}"
            return KeyNumber(f"{amount(rate[0])} {rate[1]}", f"throughput on {largest['devices']} devices", against)
    return None


def nothing(rows: "pl.DataFrame") -> str:
    return "No two runs differ only in size. Why each run is left out: scalelens query not_compared"
