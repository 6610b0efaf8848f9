"""Dumps of gc-info: an IPU's attributes, and the list of IPUs.

Tool: gc-info --device-info, gc-info -l
Versions: Poplar SDK 1.4 to 3.3
Yields: params, metrics
Source: Graphcore's command line tools

Attributes are params `gc_info.*`, as printed.  Power, clock and temperature are of the moment of the dump, which is not
said: metrics, of the device whose id the dump says.  `-l` lists each IPU, and then groups of them under ids of their own, which are not devices.

Samples:
    -+- Id:  [0], target: [Fabric], IPU-M host:  [10.1.5.1], IPU#: [3]
    Device Info:
    total board power: 99.5 W
    ipu power: N/A
    ipu utilisation: 99.96%
    board ipu index: 2
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.units import ratio

VERSION = 2
# The heading opens the dump, or an attribute that only this tool prints; common names count only within the dump.
ANCHORS = (
    "total board power: ", "ipu power: ", "ipu utilisation: ", "ipu utilisation (session): ", "board ipu index: ",
    "process start time: ", "Device Info:", "Device info:", "-+- Id:", "|--- Id:",
)  # fmt: skip

_HEADING = re.compile(r"^\s*Device [Ii]nfo:\s*\Z")
_ATTRIBUTE = re.compile(r"^\s*([a-z][\w ().#/-]{1,60}): +(\S.{0,199}?)\s*\Z")
_LISTED = re.compile(r"^\s*-\+- Id: +\[(\d+)\], target: +\[(\w+)\](.*)")
_MEMBER = re.compile(r"^\s*\|--- Id: +\[\d+\]")
_AMOUNT = re.compile(r"(-?\d+(?:\.\d+)?) ?(W|MHz|C|%)\Z")
_UNITS = {"W": ("W", 1.0), "MHz": ("Hz", ratio("MHz", "Hz")), "C": ("°C", 1.0), "%": (None, ratio("%", ""))}


class Reader:
    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.claims: re.Pattern[str] | None = None
        self.device: str | None = None  # of the dump that is open
        self.single: dict[str, int] = {}

    def take(self, line: Line) -> bool:
        self.claims = None
        if match := _LISTED.match(line.text):
            if "IPU#" in match[3] or match[2] == "PCIe":
                self.single.setdefault(match[1], line.number)
            return True
        if _MEMBER.match(line.text):
            return True
        if _HEADING.match(line.text):
            self.device, self.claims = None, _ATTRIBUTE
            return True
        if not (match := _ATTRIBUTE.match(line.text)):
            return False
        self.more(line)
        self.claims = _ATTRIBUTE
        return True

    def more(self, line: Line) -> None:
        match = _ATTRIBUTE.match(line.text)
        if match is None or match[2] in ("N/A", "n/a"):
            return
        if match[1] == "id" and match[2].isdecimal():
            self.device = f"ipu {match[2]}"
            return
        amount = _AMOUNT.match(match[2])
        if amount:
            unit, factor = _UNITS[amount[2]]
            self.rows.metric(
                line.number, line.rank, self.device or line.location, None, match[1], float(amount[1]) * factor, unit
            )
        else:
            self.rows.param(f"gc_info.{match[1]}", match[2], line.number)

    def finish(self) -> None:
        if self.single:
            line = min(self.single.values())
            self.rows.param("devices_listed", len(self.single), line)
            self.rows.param("device_unit", "ipu", line)
