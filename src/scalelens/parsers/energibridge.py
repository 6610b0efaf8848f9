"""The last line of EnergiBridge: the energy of the command that it ran.

Tool: EnergiBridge, energibridge [--summary] COMMAND
Versions: 0.0.4 to 0.0.7
Yields: energy
Source: tdurieux/EnergiBridge src/main.rs

Joules of the processors, or of the whole machine where it has no counter of them (Apple), from the start of the command
to its end.  Which of the two is not printed: the scope is NULL.  Its CSV of samples is read as power_csv.

Samples:
    Energy consumption in joules: 0.4832979941368103 for 0.24022904 sec of execution.
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 1
ANCHORS = ("Energy consumption in joules: ",)

_ENERGY = re.compile(
    r"Energy consumption in joules: (\d{1,15}(?:\.\d{1,20})?) for (\d{1,12}(?:\.\d{1,20})?) sec of execution"
)


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def take(self, line: Line) -> bool:
        match = _ENERGY.search(line.text)
        if not match:
            return False
        self.rows.add(
            "energy", line.number, energy_j=float(match[1]), span_s=float(match[2]) or None, method="energibridge"
        )
        return True
