"""One spelling for each unit that papers print, and its size in base units."""

import re
from decimal import Decimal

# Unit: base unit, size of one in it.  Bases: s, W, J, B (bytes), FLOP, share.
SIZES: dict[str, tuple[str, Decimal]] = {
    "ns": ("s", Decimal("1e-9")), "µs": ("s", Decimal("1e-6")), "ms": ("s", Decimal("1e-3")), "s": ("s", Decimal(1)),
    "min": ("s", Decimal(60)), "h": ("s", Decimal(3600)), "d": ("s", Decimal(86400)),
    "mW": ("W", Decimal("1e-3")), "W": ("W", Decimal(1)), "kW": ("W", Decimal(1000)), "MW": ("W", Decimal("1e6")),
    "J": ("J", Decimal(1)), "kJ": ("J", Decimal(1000)), "MJ": ("J", Decimal("1e6")), "GJ": ("J", Decimal("1e9")),
    "Wh": ("J", Decimal(3600)), "kWh": ("J", Decimal("3.6e6")), "MWh": ("J", Decimal("3.6e9")),
    "B": ("B", Decimal(1)), "kB": ("B", Decimal(1000)), "MB": ("B", Decimal("1e6")), "GB": ("B", Decimal("1e9")),
    "TB": ("B", Decimal("1e12")), "KiB": ("B", Decimal(2**10)), "MiB": ("B", Decimal(2**20)),
    "GiB": ("B", Decimal(2**30)), "TiB": ("B", Decimal(2**40)),
    "FLOP": ("FLOP", Decimal(1)), "GFLOP": ("FLOP", Decimal("1e9")), "TFLOP": ("FLOP", Decimal("1e12")),
    "PFLOP": ("FLOP", Decimal("1e15")), "EFLOP": ("FLOP", Decimal("1e18")),
    "%": ("share", Decimal("0.01")),
}  # fmt: skip
ITEMS = ("samples", "images", "tokens", "sequences", "items", "steps", "batches", "epochs")
DEVICES = ("GPU", "GCD", "IPU", "HPU", "device")
COUNTED = (*ITEMS, *DEVICES, "nodes", "runs", "cores")
SPELLINGS = {
    "s": "sec second seconds secs", "ms": "msec millisecond milliseconds", "µs": "us μs microsecond microseconds",
    "ns": "nanosecond nanoseconds", "min": "mins minute minutes", "h": "hr hrs hour hours", "d": "day days",
    "W": "watt watts", "kW": "kilowatt kilowatts", "MW": "megawatt megawatts", "J": "joule joules",
    "kJ": "kilojoule kilojoules", "MJ": "megajoule megajoules", "Wh": "watthour watthours watt-hour watt-hours",
    "kWh": "kilowatt-hour kilowatt-hours kwh", "%": "percent pct", "B": "byte bytes",
    "FLOP": "flop flops flops", "GFLOP": "gflop gflops", "TFLOP": "tflop tflops teraflop teraflops",
    "PFLOP": "pflop pflops petaflop petaflops", "EFLOP": "eflop eflops exaflop exaflops",
    "samples": "sample smp", "images": "image img imgs", "tokens": "token tok toks", "sequences": "sequence seq seqs",
    "items": "item", "steps": "step iteration iterations iter iters", "batches": "batch", "epochs": "epoch",
    "GPU": "gpus", "GCD": "gcds", "IPU": "ipus", "HPU": "hpus", "device": "devices accelerator accelerators",
    "nodes": "node", "runs": "run", "cores": "core",
}  # fmt: skip
ONE_SPELLING = {word.lower(): unit for unit, words in SPELLINGS.items() for word in (unit, *words.split())}
# "mw" and "mj" stay open: milli or mega.
ONE_SPELLING = {word: unit for word, unit in ONE_SPELLING.items() if word not in ("mw", "mj", "b", "d")}
PER = re.compile(r"\s*/\s*|\s+per\s+")


def canonical(text: str) -> str:
    """The one spelling of a unit: `img/sec` is `images/s`, `TFLOPS/GPU` is `TFLOP/s/GPU`; "" for what is no unit."""
    parts = [part_of(part) for part in PER.split(text.strip(" .()[]{}$\\"))]
    if not all(parts):
        return ""
    if parts[0].endswith("FLOP") and "s" not in parts[1:] and re.search(r"flops", text, re.IGNORECASE):
        parts.insert(1, "s")
    return "/".join(parts)


def part_of(text: str) -> str:
    """One spelling of a unit without a slash.  The case counts where the unit has it: MW is not mW."""
    text = text.strip(" .\\{}$")
    if text in SIZES or text == "1":
        return text
    return ONE_SPELLING.get(text.lower(), "")


def base(unit: str) -> tuple[str, Decimal]:
    """Base unit and the size of one `unit` in it: `images/min` is (`images/s`, 1/60), "" is ("", 1)."""
    parts = unit.split("/") if unit else []
    size = Decimal(1)
    names = []
    for place, part in enumerate(parts):
        name, factor = SIZES.get(part, (part, Decimal(1)))
        size = size * factor if place == 0 else size / factor
        names.append(name)
    return "/".join(names).replace("share", "") if parts[:1] == ["%"] else "/".join(names), size
