"""Units: what each measures, and how many of its base unit it is.  All other tables of units are made from this one.

A unit may have several names here, such as µs and us.  Which names a format, a heading or a figure takes, and how else
it spells them, is up to that module.
"""

from decimal import Decimal
from functools import cache
from typing import NamedTuple


class Unit(NamedTuple):
    quantity: str
    base: str
    factor: Decimal  # how many of the base unit it is


_FACTORS: dict[tuple[str, str], dict[str, int | str]] = {  # by quantity and base unit
    ("time", "s"): {
        "ns": "1e-9", "µs": "1e-6", "μs": "1e-6", "us": "1e-6", "ms": "1e-3", "s": 1, "min": 60, "h": 3600, "d": 86400,
    },
    ("power", "W"): {"uW": "1e-6", "mW": "1e-3", "W": 1, "kW": 1000, "MW": "1e6"},
    ("energy", "J"): {
        "uJ": "1e-6", "mJ": "1e-3", "J": 1, "kJ": 1000, "MJ": "1e6", "GJ": "1e9",
        "Wh": 3600, "kWh": "3.6e6", "MWh": "3.6e9",
    },
    ("bytes", "B"): {
        "B": 1, "bytes": 1, "kB": 1000, "KB": 1000, "MB": "1e6", "GB": "1e9", "TB": "1e12", "Gbit": "0.125e9",
        "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "PiB": 2**50, "EiB": 2**60,
    },
    ("operations", "FLOP"): {"FLOP": 1, "GFLOP": "1e9", "TFLOP": "1e12", "PFLOP": "1e15", "EFLOP": "1e18"},
    ("frequency", "Hz"): {"Hz": 1, "MHz": "1e6", "GHz": "1e9"},
    ("share", ""): {"%": "0.01"},
}  # fmt: skip
UNITS = {
    name: Unit(quantity, base, Decimal(factor))
    for (quantity, base), factors in _FACTORS.items()
    for name, factor in factors.items()
}


@cache
def base(unit: str) -> tuple[str, Decimal]:
    """The base unit, and how many of it one `unit` is: `images/min` is (`images/s`, 1/60), "" is ("", 1)."""
    parts = unit.split("/") if unit else []
    size = Decimal(1)
    names = []
    for position, part in enumerate(parts):
        name, factor = UNITS[part][1:] if part in UNITS else (part, Decimal(1))
        size = size * factor if position == 0 else size / factor
        names.append(name)
    return "/".join(names), size


def ratio(unit: str, other: str) -> float:
    """How many of the other unit one unit is: 60 seconds are a minute."""
    (name, size), (other_name, other_size) = base(unit), base(other)
    if name != other_name:
        raise ValueError(f"{unit} and {other} are units of different quantities")
    return float(size / other_size)


def factors(*names: str) -> dict[str, float]:
    """How many of its base unit each of these units is."""
    return {name: float(UNITS[name].factor) for name in names}
