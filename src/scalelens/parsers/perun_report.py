"""perun's report, as text.

Tool: perun monitor -f text, perun export ... text
Versions: 0.6 to 1.0
Yields: energy
Source: perun/io/text_report.py

A row is a round of a host, or of all of them, which is left out where the hosts are there.  ENERGY is what perun found
sensors for: GPUs, CPUs, memory; its scope is `total`.  Rounds follow each other, and `ts` counts their seconds, without
what lies between them.  What a sensor took is in perun's HDF5.  A report of several runs of a program has them as parts.

Samples:
    | Round # | Host |  RUNTIME |    ENERGY |     POWER | GPU_POWER |
    |   Round # | Host   | RUNTIME   | ENERGY    | CPU_POWER   | GPU_POWER   |
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.sensors import SECOND
from scalelens.parsing.values import amount
from scalelens.units import ratio

VERSION = 1
ANCHORS = ("Round # | Host ",)

_CELL = re.compile(r"(\d[\d.]{0,20})(?:±[\d.]{1,20})? ?([mkMG]?[sJ])")
_INSIDE = re.compile(r"\s*\|")
_ALL = "All"


class Reader:
    claims: re.Pattern[str] | None = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.names: list[str] = []  # of the columns of the table that is open
        self.found: list[tuple[int, str, str, float, float]] = []  # line, round, host, joules, seconds

    def take(self, line: Line) -> bool:
        names = _cells(line.text)
        if names[:2] != ["Round #", "Host"] or not {"RUNTIME", "ENERGY"} <= {*names}:
            return False
        if self.names:  # of another run
            self.finish()
            self.rows.new_part()
        self.names, self.claims = names, _INSIDE
        return True

    def more(self, line: Line) -> None:
        cells = _cells(line.text)
        if set(line.text.strip()) <= set("|-:+ "):
            return
        row = dict(zip(self.names, cells, strict=False))
        energy_j, span_s = _amount(row.get("ENERGY", ""), "J"), _amount(row.get("RUNTIME", ""), "s")
        if len(cells) != len(self.names) or energy_j is None or span_s is None:
            self.rows.problem(line.number, "the row is cut, or its energy or runtime is not a number", line.text)
            return
        self.found.append((line.number, row["Round #"], row["Host"], energy_j, span_s))

    def finish(self) -> None:
        """The rows of the table that is open."""
        hosts = any(host != _ALL for _, _, host, _, _ in self.found)
        ends: dict[str, float] = {}
        for number, _, host, energy_j, span_s in self.found:
            if hosts and host == _ALL:
                continue
            ends[host] = ends.get(host, 0.0) + span_s
            self.rows.add(
                "energy", number, node=None if host == _ALL else host, scope="total", energy_j=energy_j, span_s=span_s,
                ts=round(ends[host] * SECOND), ts_origin="relative",
            )  # fmt: skip
        self.found = []


def _cells(text: str) -> list[str]:
    return [cell.strip() for cell in text.strip().strip("|").split("|")]


def _amount(cell: str, unit: str) -> float | None:
    """A cell of a number and its unit; of several rounds the mean before ±."""
    match = _CELL.fullmatch(cell)
    number = amount(match[1]) if match and match[2].endswith(unit) else None
    return None if number is None or match is None else number * ratio(match[2], unit)
