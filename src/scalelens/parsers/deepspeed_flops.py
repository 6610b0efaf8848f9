"""DeepSpeed's flops profiler: the summary of the profiled step.

Tool: DeepSpeed, flops_profiler
Versions: 0.3 and later; labels and the width of their column changed between versions
Yields: metrics, params
Source: deepspeed/profiling/flops_profiler/profiler.py, print_model_profile()

Values are of rank 0 and of one step, and become metrics in base units: parameters, flops, MACs, seconds.  The profile
of each module below the summary is not read.

Samples:
    Profile Summary at step 10:
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 2
ANCHORS = ("Profile Summary at step ",)

_HEAD = re.compile(r"Profile Summary at step (\d+):\s*$")
# The summary ends at a line of dashes.  Notations and an empty line come before the values.
_BLOCK = re.compile(r"(?!-{9}).{0,200}$")
_VALUE = re.compile(r"([A-Za-z][^:]{2,119}):\s+(-?\d+(?:\.\d+)?)(?: +([KMGTPkmun]?)([A-Za-z]*))?\s*$")
_PREFIXES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "m": 1e-3, "u": 1e-6, "n": 1e-9}
_UNITS = {"s": "s", "FLOPS": "flops/s", "MACs": "MACs", "": None}
_BILLION = "B"  # of parameters, since 0.10
# Settings, not measurements.
_FACTS = {
    "world size": "devices", "data parallel size": "dp", "model parallel size": "tp",
    "batch size per GPU": "micro_batch_size",
}  # fmt: skip


class Reader:
    claims: re.Pattern[str] | None = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.step: int | None = None

    def take(self, line: Line) -> bool:
        head = _HEAD.match(line.text)
        if not head:
            return False
        self.step, self.claims = int(head[1]), _BLOCK
        return True

    def more(self, line: Line) -> None:
        match = _VALUE.match(line.text)
        if not match:
            return  # notations, empty lines
        label, value, prefix, unit = match[1].strip(), float(match[2]), match[3] or "", match[4] or ""
        if unit == _BILLION and not prefix:
            value, unit = value * 1e9, ""
        if label in _FACTS and not prefix and not unit and value.is_integer():
            self.rows.param(_FACTS[label], int(value), line.number)
            return
        if unit not in _UNITS or (unit != "s" and prefix in ("m", "u", "n")):
            self.rows.problem(line.number, f"the unit of '{label}' is not known", line.text)
            return
        scaled = value * _PREFIXES[prefix]
        named = _UNITS[unit] or ("flops" if "flops" in label else "samples/s" if label == "samples/second" else None)
        self.rows.metric(line.number, line.rank, line.location, self.step, label.split(" = ")[0], scaled, named)
