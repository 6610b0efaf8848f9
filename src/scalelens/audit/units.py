"""One spelling for each unit that papers print."""

import re

_NAMES = (
    "ns", "µs", "ms", "s", "min", "h", "d", "mW", "W", "kW", "MW", "J", "kJ", "MJ", "GJ", "Wh", "kWh", "MWh",
    "B", "kB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB", "FLOP", "GFLOP", "TFLOP", "PFLOP", "EFLOP", "%",
)  # fmt: skip
ITEMS = (
    "samples",
    "images",
    "tokens",
    "sequences",
    "items",
    "steps",
    "batches",
    "epochs",
    "frames",
    "queries",
    "requests",
)
DEVICES = ("GPU", "GCD", "IPU", "HPU", "device")
COUNTED = (*ITEMS, *DEVICES, "nodes", "runs", "cores")
_SPELLINGS = {
    "s": "sec second seconds secs", "ms": "msec millisecond milliseconds", "µs": "us μs microsecond microseconds",
    "ns": "nanosecond nanoseconds", "min": "mins minute minutes", "h": "hr hrs hour hours", "d": "day days",
    "W": "watt watts", "kW": "kilowatt kilowatts", "MW": "megawatt megawatts", "J": "joule joules",
    "kJ": "kilojoule kilojoules", "MJ": "megajoule megajoules", "Wh": "watthour watthours watt-hour watt-hours",
    "kWh": "kilowatt-hour kilowatt-hours kwh", "%": "percent pct", "B": "byte bytes",
    "FLOP": "flop flops flops", "GFLOP": "gflop gflops", "TFLOP": "tflop tflops teraflop teraflops",
    "PFLOP": "pflop pflops petaflop petaflops", "EFLOP": "eflop eflops exaflop exaflops",
    "samples": "sample smp", "images": "image img imgs", "tokens": "token tok toks", "sequences": "sequence seq seqs",
    "items": "item", "frames": "frame", "queries": "query", "requests": "request req reqs",
    "steps": "step iteration iterations iter iters", "batches": "batch", "epochs": "epoch",
    "GPU": "gpus", "GCD": "gcds", "IPU": "ipus", "HPU": "hpus", "device": "devices accelerator accelerators",
    "nodes": "node", "runs": "run", "cores": "core",
}  # fmt: skip
_ONE_SPELLING = {word.lower(): unit for unit, words in _SPELLINGS.items() for word in (unit, *words.split())}
_RATES = {
    "GBps": "GB/s",
    "MBps": "MB/s",
    "TBps": "TB/s",
    "t/s": "tokens/s",
    "tps": "tokens/s",
    "it/s": "steps/s",
    "fps": "frames/s",
    "qps": "queries/s",
}
# "mw" and "mj" stay open: they may be milli or mega.
_ONE_SPELLING = {word: unit for word, unit in _ONE_SPELLING.items() if word not in ("mw", "mj", "b", "d")}
PER = re.compile(r"\s*/\s*|\s+per\s+")


def canonical(text: str) -> str:
    """The one spelling of a unit: `img/sec` is `images/s`, `TFLOPS/GPU` is `TFLOP/s/GPU`; "" if it is not a unit."""
    plain = text.strip(" .()[]{}$\\")
    if plain in _RATES or plain.lower() in ("fps", "qps"):
        return _RATES[plain if plain in _RATES else plain.lower()]
    parts = [_part_of(part) for part in PER.split(plain)]
    if not all(parts):
        return ""
    if parts[0].endswith("FLOP") and "s" not in parts[1:] and re.search(r"flops", text, re.IGNORECASE):
        parts.insert(1, "s")
    return "/".join(parts)


def _part_of(text: str) -> str:
    """The one spelling of a unit without a slash.  Case matters where it makes a difference: MW is not mW."""
    text = text.strip(" .\\{}$")
    if text in _NAMES or text == "1":
        return text
    if text == "KB":
        return "kB"
    return _ONE_SPELLING.get(text.lower(), "")
