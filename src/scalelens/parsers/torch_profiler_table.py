"""The table of operators that PyTorch's profiler prints.

Tool: torch.profiler, prof.key_averages().table(); torch.autograd.profiler
Versions: PyTorch 1.7 to 2.13
Yields: metrics
Source: torch/autograd/profiler_util.py, _build_table()

Each row becomes metrics named `WHAT of operator NAME`, in seconds and bytes: how often it ran, its own time and its
time with all that it called, on the host and on the device, and the memory.  `device` stands for CUDA, XPU, HPU, MTIA and the
like.  Shapes of inputs, where the rows were grouped by them, stand after the name.  Percentages and means are left out,
as they follow.  Zeros are left out.  A name that the table cut ends in `...`; two rows may have one name.  The totals
below the table are metrics, too.  A sum over all traced steps is not the time of a step.

Samples:
    Self CPU time total: 282.021ms
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.values import number
from scalelens.units import factors

VERSION = 1
ANCHORS = ("Self CPU %", "Self CPU time total: ", *(
    f"Self {device} time total: " for device in ("CUDA", "XPU", "HPU", "MTIA", "PrivateUse1")
))  # fmt: skip

_DEVICE = "CUDA|XPU|HPU|MTIA|PrivateUse1|NPU"
_TOTAL = re.compile(rf"\s*Self (CPU|{_DEVICE}) time total: (\d[\d.]{{0,20}})(us|ms|s)\s*\Z")
_RULE = re.compile(r"\s*-{3,}(?:\s+-{3,}){3,}\s*\Z")
_GAP = re.compile(r"\s{2,}")
_INSIDE = re.compile(r"(?s).*")
_TIME = re.compile(r"(\d[\d.]{0,20})(us|ms|s)")
_SIZE = re.compile(r"(-?\d[\d.]{0,20}) ?([KMGT]?)[Bb]")
_SECONDS = factors("us", "ms", "s")
_BYTES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_MOST_ROWS = 4_000
_KEPT = {f"{own}{where} {what}" for own in ("", "self ") for where in ("CPU", "device") for what in ("time", "memory")}


class Reader:
    claims: re.Pattern[str] | None = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.columns: list[str] = []  # of the table whose header came last
        self.is_open = False  # whether its rows have begun
        self.left = 0  # rows that may follow

    def take(self, line: Line) -> bool:
        self.claims = None
        if total := _TOTAL.match(line.text):
            what = "self CPU time" if total[1] == "CPU" else "self device time"
            value = number(total[2])
            if value is not None:
                self.rows.metric(line.number, line.rank, line.location, None, what, value * _SECONDS[total[3]], "s")
            return True
        if not re.match(r"\s*Name  .*\bSelf CPU %", line.text) or "# of Calls" not in line.text:
            return False
        self.columns = [_named(name) for name in _GAP.split(line.text.strip())]
        self.is_open, self.left, self.claims = False, _MOST_ROWS, _INSIDE
        return True

    def more(self, line: Line) -> None:
        self.left -= 1
        if _RULE.match(line.text):
            self.is_open = not self.is_open
        if not self.is_open or self.left < 0:
            self.claims = None
        elif not _RULE.match(line.text):
            self.row(line)

    def row(self, line: Line) -> None:
        texts = _GAP.split(line.text.strip())
        cells = dict(zip(self.columns, texts, strict=False))
        calls = number(cells.get("# of Calls", ""))
        if calls is None or len(texts) != len(self.columns):
            self.rows.problem(line.number, "the row is cut, or something else was printed into it", line.text)
            return
        shapes = cells.get("Input Shapes", "")
        name = f"{cells['Name']} {shapes}".strip()
        values: list[tuple[str, float, str | None]] = [(f"calls of operator {name}", calls, None)]
        for what, cell in cells.items():
            if time := _TIME.fullmatch(cell):
                value, unit = number(time[1]), "s"
                value = None if value is None else value * _SECONDS[time[2]]
            elif size := _SIZE.fullmatch(cell):
                value, unit = number(size[1]), "bytes"
                value = None if value is None else value * _BYTES[size[2]]
            else:
                continue
            if value and what in _KEPT:
                values.append((f"{what} of operator {name}", value, unit))
        self.rows.metrics(line.number, line.rank, line.location, None, values)


def _named(column: str) -> str:
    """A column by what it holds; `device` for CUDA and its like."""
    own = re.sub(rf"\b(?:{_DEVICE})\b", "device", column)
    return {
        "Self CPU": "self CPU time", "CPU total": "CPU time", "CPU Mem": "CPU memory", "Self CPU Mem": "self CPU memory",
        "Self device": "self device time", "device total": "device time", "device Mem": "device memory",
        "Self device Mem": "self device memory",
    }.get(own, own)  # fmt: skip
