"""Tables of nccl-tests and rccl-tests.

Tool: nccl-tests, rccl-tests (all_reduce_perf, alltoall_perf, sendrecv_perf, ...)
Versions: nccl-tests 2.9 to 2.19, rccl-tests of 2025; the columns are those that the heading of the table names
Yields: collective_benchmarks, params
Source: NVIDIA/nccl-tests and ROCm/rccl-tests, src/common.cu and src/util.cu: writeBenchmarkLineBody(), TESTCHECK

A side of the table is a row: times are microseconds and bandwidths 10^9 bytes per second.  `N/A` is NULL.  The mean bus
bandwidth below the table is over all sizes and sides, and is not kept.  The test is named since 2.16.7; before, it is the one that
a script prints shortly above, as a heading or as the command: a line with the name of one test.  Else `test` is NULL.  Before 2.13 there is a largest error in place of wrong values: `wrong` is NULL.  Each further
test of a file is another run.  A test that fails keeps its rows, and its run ends with an error.  Where a job tests the
network and then trains in the same output, the run is the training: a test that went well says nothing of its end.

With NCCL_DEBUG=INFO, lines of NCCL come within the rows: a row is put together where it is broken between two printf()
of the writer (before a side of the table), and where only one row is open at a time.  Any other broken row is a problem.

Samples:
    # nccl-tests version 2.18.2 nccl-headers=22901 nccl-library=22901
    # Collective test starting: all_gather_perf
    # nThread 1 nGpus 2 minBytes 1024 maxBytes 4096 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
    #  Rank  1 Group  0 Pid   5012 on     nid001 device  1 [0000:3b:00] NVIDIA A100-SXM4-40GB
    #   Rank  1 Pid   5012 on     nid001 device  1 [0x3b] NVIDIA A100-SXM4-40GB
    #                                                              out-of-place                       in-place
    #       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
    # Avg bus bandwidth    : 12.25
    # Out of bounds values : 0 OK
    # Collective test concluded: all_gather_perf
    nid001: Test NCCL failure all_gather.cu:88 'unhandled cuda error / '
     .. nid001 pid 5012: Test failure common.cu:484
    nid001: Test CUDA failure common.cu:301 'out of memory'
"""

from itertools import chain
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.broken_rows import BETWEEN, Piece, is_interrupted, pieces_of, whole_pieces
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 6
_DTYPES = ("float", "double", "half", "bfloat16", "int8", "uint8", "int32", "uint32", "int64", "uint64",
          "f8e4m3", "f8e5m2", "fp8_e4m3", "fp8_e5m2")  # fmt: skip
ANCHORS = (
    "# nccl-tests version ", "rccl-tests: Version ", "# Collective test ", "# nThread ", "#  Rank ", "#   Rank ", "in-place",
    "   count  ", "# Avg bus bandwidth", "# Out of bounds values", "Test NCCL failure ", "Test CUDA failure ",
    ": Test failure ", "Test timeout", "_perf", *(f"{dtype:>8}  " for dtype in _DTYPES),
)  # fmt: skip

_VERSIONS = re.compile(r"#? *(nccl-tests version|rccl-tests: Version) (\S+)")
_NAMED = re.compile(r"# Collective test (starting|concluded): (\w+?)(?:_perf)?\s*\Z")
_HEADS = re.compile(
    r"(?<![\w-])(all_reduce|all_gather|reduce_scatter|sendrecv|broadcast|reduce|alltoallv?|gather|scatter|hypercube)_perf\b"
)
_SHORTLY = 40  # lines
_BEGIN = re.compile(r"# nThread \d+ nGpus \d+ minBytes \d+ maxBytes \d+ ")
_DEVICE = re.compile(r"# {2,3}Rank +(\d+) (?:Group +\d+ )?Pid +\d+ on +(\S+) device +\d+ \[[0-9a-fx:.]+\] (.*\S)\s*+\Z")
_PLACES = re.compile(r"#\s++(?:out-of-place\s++)?in-place\s*+\Z")
_HEADING = re.compile(r"#\s++size\s++count\s++type\s.*\btime\s++algbw\s++busbw\s++\S")
_ROW = re.compile(rf"\s*+\d++\s++\d++\s++(?:{'|'.join(_DTYPES)})\s++[\w.+-]")
_END = re.compile(r"# Avg bus bandwidth\s*: ")
_CHECKED = re.compile(r"# Out of bounds values : (\d+) (OK|FAILED)")
_FAILURE = re.compile(
    r"(?:\S+: )?Test (?:NCCL|CUDA) failure \S+:\d+|\s*\.\. \S+ pid \d+: Test failure \S+:\d+|.*Test timeout"
)
_ROOT = re.compile(r"-?\d{1,9}")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?\Z")


class Reader:
    claims: re.Pattern[str] | None = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.test: str | None = None
        self.printed: tuple[str, int] | None = None  # a test that a script prints, and its line
        self.places: tuple[str, ...] = ()
        self.columns: list[str] = []
        self.sides: list[int] = []  # the columns with which a side begins
        self.pieces: list[Piece] = []
        self.broken: tuple[Line, list[list[str]]] | None = None  # a row that lacks pieces, and those that it has
        self.mixed = False  # rows of several processes are interleaved
        self.hosts: dict[int, tuple[str, str]] = {}  # host and device by rank
        self.open = False  # a test has begun and not ended
        self.failed = False
        self.headed: int | None = None  # line of the first heading of the table
        self.ended: int | None = None  # line in which the test says that it ended well

    def take(self, line: Line) -> bool:
        text = line.text
        if _ROW.match(text):
            if self.columns:
                self.begin_row(line)
            return bool(self.columns)
        if (version := _VERSIONS.match(text)) or _BEGIN.match(text):
            self.begin(line, version)
        elif named := _NAMED.match(text):
            self.named(named[1], named[2], line)
        elif device := _DEVICE.match(text):
            self.hosts[int(device[1])] = device[2], device[3]
        elif _PLACES.match(text):
            self.places = ("out", "in") if "out-of-place" in text else ("in",)
        elif _HEADING.match(text):
            self.heading(text, line)
        elif _END.match(text):
            self.concluded(line)
        elif checked := _CHECKED.match(text):
            if checked[2] == "FAILED":
                self.fail("error", line)
        elif _FAILURE.match(text):
            self.fail("collective_timeout" if "Test timeout" in text else "error", line)
        else:
            if "_perf" in text:
                tests = {match[1] for match in _HEADS.finditer(text)}
                self.printed = (tests.pop(), line.number) if len(tests) == 1 else None
            return False
        return True

    def begin(self, line: Line, version: re.Match[str] | None) -> None:
        """A header of a test: its version, or its settings where the version prints nothing before."""
        if self.columns:  # of the test before
            self.close(line)
            self.test, self.columns, self.hosts, self.failed, self.headed, self.ended = None, [], {}, False, None, None
            self.mixed = False
            self.rows.new_part()
        self.open = True
        if self.printed and not self.test and line.number - self.printed[1] <= _SHORTLY:
            self.test = self.printed[0]
        self.printed = None
        if version:
            tool = version[1].partition("-")[0]
            self.rows.param(f"{tool}_tests_version", version[2], line.number)

    def named(self, what: str, test: str, line: Line) -> None:
        if what == "concluded":
            self.concluded(line)
            return
        if self.columns:
            self.begin(line, None)
        self.test, self.open = test, True

    def heading(self, text: str, line: Line) -> None:
        """The columns, and what the ranks said of themselves before."""
        self.drop_broken()
        self.columns = text.lstrip("#").split()
        self.sides = [place for place, name in enumerate(self.columns) if name in ("time", "cputime")]
        self.pieces = pieces_of(text, [0, *self.sides])
        self.open = True
        self.headed = self.headed or line.number
        if self.hosts:
            hosts = [host for host, _ in self.hosts.values()]
            models = dict.fromkeys(model for _, model in self.hosts.values())
            for key, value in (("devices", len(hosts)), ("nodes", len({*hosts})), ("device_model", ", ".join(models))):
                self.rows.param(key, value, line.number, origin="nccl")

    def begin_row(self, line: Line) -> None:
        found, rest = whole_pieces(line.text, self.pieces)
        self.mixed |= self.broken is not None
        self.drop_broken()
        if not found or self.mixed or not is_interrupted(rest):
            self.row(line.text.split(), line)
        elif len(found) == len(self.pieces):
            self.row([*chain.from_iterable(found)], line)
        else:
            self.broken, self.claims = (line, found), BETWEEN

    def more(self, line: Line) -> None:
        """A line after the beginning of a broken row: the next pieces of it, or a line of NCCL."""
        if not self.broken:
            return
        row, found = self.broken
        pieces, rest = whole_pieces(line.text, self.pieces[len(found) :])
        if not pieces or not is_interrupted(rest):
            return
        found += pieces
        if len(found) == len(self.pieces):
            self.broken = self.claims = None
            self.row([*chain.from_iterable(found)], row)

    def drop_broken(self) -> None:
        """A row whose pieces did not all come is a problem."""
        if self.broken:
            row, _ = self.broken
            self.broken = self.claims = None
            self.row(row.text.split(), row)

    def row(self, cells: list[str], line: Line) -> None:
        first, sides = self.columns.index("type") + 1, self.sides
        places = self.places if len(self.places) == len(sides) else ("out", "in")
        if len(cells) == len(self.columns) - 1 and "redop" in self.columns:
            at = self.columns.index("redop")
            if _ROOT.fullmatch(cells[at]):  # hypercube_perf leaves the operation out
                cells = [*cells[:at], "none", *cells[at:]]
        if len(cells) < len(self.columns) or len(sides) > len(places):
            self.rows.problem(line.number, "the row does not have the columns of the table's heading", line.text)
            return
        if not all(cell == "N/A" or _NUMBER.match(cell) for at in sides for cell in cells[at : at + 3]):
            self.rows.problem(line.number, "other output interrupts the row: its measurements are not read", line.text)
            return
        named = dict(zip(self.columns[first : sides[0]], cells[first : sides[0]], strict=True))
        root = named.get("root", "")
        message: dict[str, Any] = {"rank": line.rank, "test": self.test, "dtype": cells[2]}
        message |= {"message_bytes": int(cells[0]), "count": int(cells[1])}
        message |= {"redop": None if named.get("redop") == "none" else named.get("redop")}
        message |= {"root": int(root) if root.isdecimal() else None}
        for place, at in zip(places, sides, strict=False):
            time, algbw, busbw = map(_number, cells[at : at + 3])
            if time is None:
                continue
            wrong = _number(cells[at + 3]) if self.columns[at + 3] == "#wrong" else None
            self.rows.add(
                "collective_benchmarks", line.number, **message, place=place, time_s=time / 1e6,
                algbw_bytes_per_s=None if algbw is None else algbw * 1e9,
                busbw_bytes_per_s=None if busbw is None else busbw * 1e9, wrong=None if wrong is None else int(wrong),
            )  # fmt: skip

    def fail(self, outcome: str, line: Line) -> None:
        self.failed, self.open = True, False
        self.rows.param("outcome", outcome, line.number)

    def concluded(self, line: Line) -> None:
        self.open = False
        if not self.failed:
            self.ended = self.ended or line.number

    def close(self, line: Line | None = None) -> None:
        """The end of a test, by the line in which the next one begins, or by the end of the file."""
        self.drop_broken()
        if self.open and self.columns:
            which = "before this one" if line else "at the end of the file"
            reason = f"the test {which} has no end: it was killed, or the file is cut"
            self.rows.problem(line.number if line else None, reason)
        trained = "model" in self.rows.params or self.rows.part in self.rows.last_steps
        if self.headed and not trained:
            self.rows.param("framework", "nccl-tests", self.headed, origin="inferred")
        if self.ended and not trained:
            self.rows.param("outcome", "completed", self.ended, origin="inferred")

    def conclude(self) -> None:
        self.close()


def _number(cell: str) -> float | None:
    return float(cell) if _NUMBER.match(cell) else None
