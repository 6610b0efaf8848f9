"""Power rails of a Jetson, as tegrastats prints them.

Tool: tegrastats, NVIDIA JetPack
Versions: JetPack 4 (TX2, Xavier, Nano) to 6 (Orin); fields come and go with the board
Yields: power, metrics
Source: closed; rbonghi/jetson_stats jtop/core/tegra_parse.py reads it; a real file of a TX2

Rails are `now/mean` milliwatts, with or without the unit; the first counts, the second is tegrastats' own mean.  VDD_IN
and POM_5V_IN feed the whole module: scope board.  Boards without such a rail have no total, and their rails are parts of
one: no sum is made.  A rail of both CPU and GPU is neither: sysio.  `device` is the name of the rail.  A script may have
put a number since 1970 before each line.  Without one in the line `ts` is NULL.

Samples:
    RAM 2633/7850MB (lfb 3x4MB) CPU [0%@2035,off,7%@2035] GPU@41C thermal@33.8C VDD_IN 3625/3625 VDD_CPU 700/700 VDD_GPU 375/375
    11-30-2025 09:08:07 RAM 1250/7620MB (lfb 4x4MB) SWAP 0/3810MB (cached 0MB) CPU [4%@1510,0%@1510] GR3D_FREQ 12% gpu@45.5C VDD_IN 4712mW/4700mW VDD_CPU_GPU_CV 812mW/800mW
    1767323045.518---RAM 2633/7850MB (lfb 3x4MB) CPU [0%@2035,off,7%@2035] VDD_IN 3625/3625 VDD_CPU 700/700
"""

from datetime import datetime

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.jetson_rails import scope_of_rail
from scalelens.parsing.rows import Rows
from scalelens.parsing.sensors import Moment, Samples, Sensor, stamp_of

VERSION = 2
ANCHORS = ("MB (lfb ",)

_HEAD = re.compile(
    r"(?:(\d\d-\d\d-\d{4} \d\d:\d\d:\d\d) "
    r"|\[?(\d{10}[\d.]{0,11})\]?[ \t,;:|-]{1,5})?"
    r"RAM \d+/\d+MB \(lfb \d+x\d+[kM]B\) "
)
_RAIL = re.compile(r" ([A-Z][A-Z0-9_]{1,30}) (\d{1,7})(?:mW)?/\d{1,7}(?:mW)?(?:/\d{1,7})?(?= |\Z)")
_CELSIUS = re.compile(r" (\w{1,20})@(-?\d{1,3}(?:\.\d+)?)C(?= |\Z)")


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.samples = Samples(rows)
        self.undated: int | None = None  # the first line with power that has no date

    def take(self, line: Line) -> bool:
        text = line.text.rstrip()
        head = _HEAD.match(text)
        if not head:
            return False
        stamp: tuple[Moment, str] | None = None
        if head[1]:
            try:
                stamp = datetime.strptime(head[1], "%m-%d-%Y %H:%M:%S"), "naive"
            except ValueError:
                self.rows.problem(line.number, "the line begins with no date", text)
        elif head[2]:
            stamp = stamp_of(head[2])
        if stamp is None and self.undated is None and _RAIL.search(text, head.end() - 1):
            self.undated = line.number
        for rail in _RAIL.finditer(text, head.end() - 1):
            sensor = Sensor(None, rail[1], scope_of_rail(rail[1]))
            self.samples.power(line.number, sensor, rail[2], stamp, scale=1e-3)
        celsius = [(f"temperature {found[1]}", float(found[2]), "°C") for found in _CELSIUS.finditer(text)]
        self.rows.metrics(line.number, line.rank, line.location, None, celsius)
        return True

    def finish(self) -> None:
        if self.undated:
            self.rows.problem(
                self.undated,
                "lines without a date: power without the times of its samples gives no energy",
            )
