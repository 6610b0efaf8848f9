"""Tables of gc-monitor: power, clock and temperature of IPUs.

Tool: gc-monitor
Versions: Poplar SDK 1.4 to 3.3
Yields: power, metrics
Source: Graphcore's command line tools

The tables hold no time, so neither do the rows: `ts` is NULL, the line orders them.  Columns differ between versions:
each is known by the sign of its values, `W`, `C` and `MHz`.  Two IPUs of a card share the cell of its power: the second
is blank, the first counts as `board`.  Without GCDA_MONITOR=1 the sensors are N/A.

Samples:
    | 0  |         gc-poplar-02         |   1850MHz    |  24.2 C   |  21.1 C   |  92.3 W   |
    | 81816  | gc-hosttraffictest | 10s | justina | 14 | 1300MHz  | 33.7 C | 35.0 C |113.7 W |
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 1
ANCHORS = ("MHz  ", "MHz |", "MHz|")

_ROW = re.compile(r"^\s*\|(?:[^|]*\|){4,}\s*\Z")
_CLOCK = re.compile(r"(\d{1,5})\s?MHz")
_POWER = re.compile(r"(\d{1,4}(?:\.\d+)?)\s?W")
_CELSIUS = re.compile(r"(-?\d{1,3}(?:\.\d+)?)\s?C")


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def take(self, line: Line) -> bool:
        if not _ROW.match(line.text):
            return False
        cells = [cell.strip() for cell in line.text.strip().strip("|").split("|")]
        clock = next((match for cell in cells if (match := _CLOCK.fullmatch(cell))), None)
        power = next((match for cell in cells if (match := _POWER.fullmatch(cell))), None)
        celsius = [float(match[1]) for cell in cells if (match := _CELSIUS.fullmatch(cell))]
        if not clock or not cells[0].isdecimal():
            return False
        by_process = len(cells) > 6 and cells[4].isdecimal()  # process, command, age, user, device, sensors
        device = cells[4] if by_process else cells[0]
        node = None if by_process or not re.fullmatch(r"[A-Za-z][\w.-]*", cells[1]) else cells[1]
        if power:
            self.rows.add("power", line.number, node=node, device=device, scope="board", power_w=float(power[1]))
        where = f"ipu {device}"
        values: list[tuple[str, float, str | None]] = [("clock", float(clock[1]) * 1e6, "Hz")]
        values += [(f"temperature {k}", value, "°C") for k, value in enumerate(celsius)]
        self.rows.metrics(line.number, line.rank, where, None, values)
        return True
