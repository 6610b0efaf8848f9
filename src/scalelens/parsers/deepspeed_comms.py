"""DeepSpeed's communication logger: each collective, and its table of all of them.

Tool: DeepSpeed, comms_logger
Versions: 0.7 and later
Yields: metrics
Source: deepspeed/utils/comms_logging.py, CommsLogger.append() and log_all()

A time holds the wait for the other ranks.  Bandwidths are as printed: Gbps of the tool's own formula.  No line
says its step.  In the table the means leave out a tenth at either end.  A second table (show_straggler) repeats the
operations with their time less the wait for the slowest rank, and that wait: it is as wide, and has other columns.

Samples:
    [2026-01-02 03:04:05,180] [INFO] [logging.py:75:log_dist] [Rank 0] rank=0 | comm op: all_gather | time (ms): 86.79 | msg size: 14.0 MB | algbw (Gbps): 173.21  | busbw (Gbps): 171.86
    [Rank 0] rank=0 | comm op: all_reduce | time (ms): 0.52 | msg size: 16.0 B | algbw (Gbps): 0.01  | busbw (Gbps): 0.01
    Comm. Op            Message Size        Count               Total Latency(ms)   Avg Latency(ms)     tput_avg (Gbps)     busbw_avg (Gbps)
    Comm. Op            Message Size        Count               Total comm lat(ms)  Total straggler(ms) Avg comm lat(ms)    Avg straggler(ms)
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.values import number
from scalelens.units import factors

VERSION = 2
ANCHORS = ("| comm op: ", "Comm. Op   ")

_NUMBER = r"(-?\d+\.\d+)"
_OPERATION = re.compile(
    rf"rank=(\d+) \| comm op: ([a-z]\w{{0,99}}(?: \| \[Caller Func: [^]|]{{1,99}}\])?)"
    rf" \| time \(ms\): {_NUMBER} \| msg size: ([\d.]+) ?([KMGTPE]?B)"
    rf" \| algbw \(Gbps\): {_NUMBER} +\| busbw \(Gbps\): {_NUMBER}\s*$"
)
_TABLE = re.compile(r"[a-z]\w{0,99}(?: \| \[Caller Func: [^]|]{1,99}\])?\s*$|\s{9,40}\d[\d.]* ?[KMGTPE]?B\s+\d")
_ROW = re.compile(rf"\s+(\d[\d.]* ?[KMGTPE]?B)\s+(\d+)\s+{_NUMBER}\s+{_NUMBER}\s+{_NUMBER}\s+{_NUMBER}")
_SCALE = {name.replace("i", ""): size for name, size in factors("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB").items()}


class Reader:
    claims: re.Pattern[str] | None = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.operation = ""
        self.straggler = False  # the table is the second one

    def take(self, line: Line) -> bool:
        self.claims = None
        if line.text.startswith("Comm. Op   "):
            self.claims, self.operation = _TABLE, ""
            self.straggler = "straggler" in line.text
            return True
        if "| comm op: " not in line.text:
            return False
        match = _OPERATION.search(line.text)
        size = number(match[4]) if match else None
        if not match or size is None:
            self.rows.problem(line.number, "the operation is cut, or something else was printed into it", line.text)
            return True
        name = match[2]
        self.rows.metrics(
            line.number, int(match[1]), line.location, None,
            [
                (f"comm {name} time", float(match[3]), "ms"), (f"comm {name} size", size * _SCALE[match[5]], "bytes"),
                (f"comm {name} algbw", float(match[6]), "Gbps"), (f"comm {name} busbw", float(match[7]), "Gbps"),
            ],
        )  # fmt: skip
        return True

    def more(self, line: Line) -> None:
        """A line of the table: the name of an operation, or the sums of one message size."""
        row = _ROW.match(line.text)
        if not row:
            if line.text[:1].isspace():
                self.rows.problem(line.number, "a row of the table of operations is cut", line.text)
            else:
                self.operation = line.text.strip()
            return
        name = f"comm {self.operation} {row[1]}"
        place = (line.number, line.rank, line.location, None)
        if self.straggler:
            totals = [(f"{name} total transfer time", float(row[3]), "ms"), (f"{name} total wait", float(row[4]), "ms")]
            self.rows.metrics(*place, totals)
            means = [(f"{name} transfer time", float(row[5]), "ms"), (f"{name} wait", float(row[6]), "ms")]
            self.rows.metrics(*place, means, "mean")
            return
        self.rows.metrics(*place, [(f"{name} count", float(row[2]), None), (f"{name} total time", float(row[3]), "ms")])
        means = [(f"{name} time", float(row[4]), "ms"), (f"{name} algbw", float(row[5]), "Gbps")]
        self.rows.metrics(*place, [*means, (f"{name} busbw", float(row[6]), "Gbps")], "mean")
