"""Measures: what a unit measures, and what a column of an answer measures.

Numbers of one measure can be compared, whatever the unit that each is printed in.
"""

import re
from functools import cache
from typing import NamedTuple

from scalelens.queries.header import QueryColumn

PREFIXES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
SMALL_PREFIXES = {"m": 1e-3, "µ": 1e-6, "μ": 1e-6, "u": 1e-6, "n": 1e-9}
TIMES = {"s": 1.0, "sec": 1.0, "min": 60.0, "h": 3600.0, "hr": 3600.0, "d": 86_400.0}
PREFIXED = {"J": ("energy", 1.0), "Wh": ("energy", 3600.0), "W": ("power", 1.0), "FLOP/s": ("FLOP/s", 1.0),
            "FLOPS": ("FLOP/s", 1.0), "B": ("bytes", 1.0), "bytes": ("bytes", 1.0), "B/s": ("bytes/s", 1.0),
            "bytes/s": ("bytes/s", 1.0)}  # fmt: skip
WORK = {"images": "samples", "image": "samples", "sequences": "samples", "sequence": "samples", "sample": "samples",
        "token": "tokens"}  # fmt: skip
PER_ENERGY = {"Wh": 1 / 3600, "kWh": 1 / 3.6e6, "J": 1.0}
SHARE = "share"  # of something, or a ratio; 0.77 and 77 % are one
PER_DEVICE = re.compile(r"/(?:device|GPU|GCD|IPU|HPU|node|chip|accelerator)\b", re.IGNORECASE)


class Measure(NamedTuple):
    name: str
    factor: float  # how many base units (s, J, W, samples/s, FLOP/s, ...) one is


@cache
def measure_of_unit(unit: str) -> Measure | None:
    """What a printed unit measures, with its size.  None for one that no column has."""
    unit = PER_DEVICE.sub("", unit)
    if unit in ("", "%", "x", "×"):
        return Measure(SHARE, 0.01 if unit == "%" else 1.0)
    if unit in TIMES:
        return Measure("time", TIMES[unit])
    if unit[1:] == "s" and unit[0] in SMALL_PREFIXES:
        return Measure("time", SMALL_PREFIXES[unit[0]])
    for size, (name, factor) in PREFIXED.items():
        if unit.endswith(size) and unit.removesuffix(size) in PREFIXES:
            return Measure(name, factor * PREFIXES[unit.removesuffix(size)])
    if unit == "mW":
        return Measure("power", 1e-3)
    work, slash, per = unit.partition("/")
    prefix, work = (work[0], work[1:]) if work[:1] in PREFIXES and work[1:] in (*WORK, *WORK.values()) else ("", work)
    work = WORK.get(work, work)
    if slash and work in ("samples", "tokens"):
        if per in ("s", "min", "h"):
            return Measure(f"{work}/s", PREFIXES[prefix] / TIMES[per])
        if per in PER_ENERGY:
            return Measure(f"{work}/J", PREFIXES[prefix] * PER_ENERGY[per])
    return None


def measure_of(column: QueryColumn) -> Measure | None:
    """What a column measures; None for counts, names and what has a unit that no paper prints."""
    if column.type not in ("DOUBLE", "BIGINT") or column.name.startswith("n_"):
        return None
    if column.name == "minutes":
        return Measure("time", 60.0)
    if column.name.endswith("percent"):
        return Measure(SHARE, 0.01)
    if column.unit is None and column.type == "BIGINT":
        return None
    return measure_of_unit(column.unit or "")
