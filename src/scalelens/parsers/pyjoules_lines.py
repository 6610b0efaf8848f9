"""Energies of sections of a program, as pyJoules prints them.

Tool: pyJoules PrintHandler, the handler of measure_energy and EnergyContext where no other is given
Versions: 0.4 to 0.5
Yields: energy
Source: powerapi-ng/pyJoules pyJoules/handler/print_handler.py

A line is a section; what its numbers are is said in `pyjoules`.

Samples:
    begin timestamp : 1700000000.25; tag : train; duration : 12.5; package_0 : 812500000.0; dram_0 : 62500000.0; nvidia_gpu_0 : 3125000
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.pyjoules_sections import DOMAIN, put_section
from scalelens.parsing.rows import Rows
from scalelens.parsing.sensors import epoch
from scalelens.parsing.values import amount

VERSION = 1
ANCHORS = ("begin timestamp : ",)

_SECTION = re.compile(
    rf"begin timestamp : ([\d.]{{1,30}}); tag : (.{{0,200}}?); duration : ([\d.eE+-]{{1,30}})((?:; ?{DOMAIN} : [^;]{{1,40}})+)\Z"
)
_ENERGY = re.compile(rf"({DOMAIN}) : ([^;]{{1,40}})")


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def take(self, line: Line) -> bool:
        section = _SECTION.search(line.text.rstrip())
        began, span_s = (epoch(section[1])[0], amount(section[3])) if section else (None, None)
        if section is None or began is None or span_s is None:
            if "; duration : " in line.text or "; tag : " in line.text:
                self.rows.problem(line.number, "the section of pyJoules is cut, or damaged", line.text)
                return True
            return False
        put_section(self.rows, line.number, began, span_s, dict(_ENERGY.findall(section[4])))
        return True
