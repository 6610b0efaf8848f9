"""Bandwidths of all_reduce_bench.py, which measures a collective through PyTorch.

Tool: all_reduce_bench.py of ml-engineering
Versions: with one payload (2022 to 2024), with a table of payloads (since 2024)
Yields: collective_benchmarks, params
Source: stas00/ml-engineering, network/benchmarks/all_reduce_bench.py

Bandwidths are 10^9 bytes per second, and means over ranks and trials.  The one payload is in 10^9 bytes; those of the
table are powers of 1,024, `32KiB` as well as `32KB`.  Another number of ranks is another run.

Samples:
    The average bandwidth of all_reduce with a 4.0GB payload (20 trials, 512 ranks):
    The average bandwidth of all_reduce over 8 ranks (5 warmups / 20 trials):
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 1
ANCHORS = ("The average bandwidth of ",)

_ONE = re.compile(
    r"The average bandwidth of ([a-z_]{1,40}) with a (\d{1,9}(?:\.\d{1,18})?)GB payload \(\d{1,9} trials, (\d{1,7}) ranks\):"
)
_TABLE = re.compile(r"The average bandwidth of ([a-z_]{1,40}) over (\d{1,7}) ranks \(")
_BANDWIDTH = re.compile(r"\s{0,8}(algbw|busbw): (\d{1,9}(?:\.\d{1,9})?) GBps ")
_ROW = re.compile(
    r"\|\s{0,8}(\d{1,9})([KMGT]?)(?:i?B)\s{0,4}\|\s{0,8}(\d{1,9}\.\d\d)GBps\s{0,4}\|\s{0,8}(\d{1,9}\.\d\d)GBps\s{0,4}\|"
)
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}
_GIGA = 1e9


class Reader:
    claims: re.Pattern[str] | None = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.test, self.ranks = "", ""
        self.payload: int | None = None  # of a measurement whose bandwidths follow
        self.found: dict[str, float] = {}  # its bandwidths
        self.headed: Line | None = None  # its heading, until both are known

    def take(self, line: Line) -> bool:
        one, table = _ONE.search(line.text), _TABLE.search(line.text)
        if not one and not table:
            return False
        self.finish()
        test, ranks = (one[1], one[3]) if one else (table[1], table[2])  # type: ignore[index]
        if self.ranks and ranks != self.ranks:
            self.rows.new_part()
        if ranks != self.ranks:
            self.rows.param("devices", int(ranks), line.number)
        self.test, self.ranks, self.found = test, ranks, {}
        self.payload, self.headed = (round(float(one[2]) * _GIGA), line) if one else (None, None)
        self.claims = _BANDWIDTH if one else re.compile(r"\s*\Z|\|")
        return True

    def more(self, line: Line) -> None:
        if self.payload is None:
            if row := _ROW.match(line.text):
                self.add(line, int(row[1]) * 1024 ** _POWERS[row[2]], float(row[4]), float(row[3]))
            return
        if bandwidth := _BANDWIDTH.match(line.text):
            self.found[bandwidth[1]] = float(bandwidth[2])
        if len(self.found) > 1:
            self.add(line, self.payload, self.found["algbw"], self.found["busbw"])
            self.claims = self.headed = None

    def finish(self) -> None:
        if self.headed:
            self.rows.problem(self.headed.number, "the two bandwidths do not follow it", self.headed.text)
        self.headed = None

    def add(self, line: Line, message_bytes: int, algbw: float, busbw: float) -> None:
        self.rows.add(
            "collective_benchmarks", line.number, test=self.test, message_bytes=message_bytes, dtype="float",
            redop="sum", place="in", algbw_bytes_per_s=algbw * _GIGA, busbw_bytes_per_s=busbw * _GIGA,
        )  # fmt: skip
