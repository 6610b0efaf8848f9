"""What Nsight Compute prints of each kernel: tables of metrics, section by section.

Tool: NVIDIA Nsight Compute, ncu without --csv
Versions: 2020 to 2026
Yields: metrics
Source: ncu [--set ...]: a line for each launch of a kernel, below it a table for each section, in columns

A metric is named `METRIC of KERNEL`, and each launch has its own, in the unit of its line.  As in `ncu_details`, nothing
becomes a time of a step or an event, since ncu runs a kernel several times at its own clocks, and all numbers of the file
decide whether `.` or `,` is the decimal mark.  The advice between the tables is left out.

Samples:
      gemm(const float *, int) (1056, 1, 1)x(256, 1, 1), Context 1, Stream 7, Device 0, CC 9.0
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.decimal_marks import LOCALE_NUMBER, UNCLEAR, decimal_mark, plain_number
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.values import number

VERSION = 1
ANCHORS = (", Context ",)

_KERNEL = re.compile(
    r" {2}(\S.*?)(?: \(\d+, \d+, \d+\)x\(\d+, \d+, \d+\))?(?:, \d{4}-[A-Z][a-z]{2}-\d\d \d\d:\d\d:\d\d)?, Context \d+, Stream \d+"
    r"(?:, Device (\d+), CC [\d.]+)?\s*\Z"
)
_INSIDE = re.compile(r" {4}|\s*\Z")
_RULE = re.compile(r" {4}-{3,} -{3,} -{3,}\s*\Z")
_DASHES = re.compile(r"-+")
_MOST_VALUES = 1_000_000


class Reader:
    claims: re.Pattern[str] | None = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.kernel = ""
        self.place: str | None = None
        self.spans: list[tuple[int, int]] = []  # of the columns of the table that is open
        self.values: list[tuple[int, str | None, str, str, str]] = []  # line, device, name, number, unit

    def take(self, line: Line) -> bool:
        match = _KERNEL.match(line.text)
        if not match:
            return False
        self.kernel, self.place, self.spans = match[1], f"device {match[2]}" if match[2] else None, []
        self.claims = _INSIDE
        return True

    def more(self, line: Line) -> None:
        if _RULE.match(line.text):
            self.spans = [match.span() for match in _DASHES.finditer(line.text)]
        elif not line.text.strip():
            self.spans = []
        elif self.spans:
            name, unit, value = (line.text[begin:end].strip() for begin, end in self.spans)
            if name and LOCALE_NUMBER.fullmatch(value) and len(self.values) < _MOST_VALUES:
                self.values.append((line.number, self.place, f"{name} of {self.kernel}", value, unit))

    def finish(self) -> None:
        """The numbers, once all of them have said what the decimal mark is."""
        mark = decimal_mark(text for *_, text, _ in self.values)
        unclear = 0
        for line, place, name, text, unit in self.values:
            plain = plain_number(text, mark)
            value = number(plain) if plain else None
            if value is not None:
                self.rows.metric(line, None, place, None, name, value, unit or None)
            elif plain is None:
                unclear = unclear or line
        if unclear:
            self.rows.problem(unclear, UNCLEAR)
