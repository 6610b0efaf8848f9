"""rocm-smi: the table of devices, and their names (--showproductname).

Tool: rocm-smi
Versions: ROCm 2 to 7
Yields: params, power
Source: rocm_smi_lib/python_smi_tools/rocm_smi.py, showAllConcise() and showProductName()

A row is what the driver shows as a device: of MI250 and MI250X a GCD, two to a module, of others the whole GPU.
Devices are those of the node that printed it: `devices_per_node`, origin `environment`.  Clocks and use of the
moment are not read; the power cap is, where it is one (0 and N/A stand for the second GCD of a module).

Where a loop printed the table, ten times or more and with little else between, its power is read, at the time that
`date` printed above each table (a zone other than UTC is taken as local, --tz).  Of MI250 and MI250X it is of the
module, which the first of its GCDs shows.

Samples:
    ======================= ROCm System Management Interface =======================
    ========================ROCm System Management Interface========================
    GPU[0]		: Card series: 		AMD INSTINCT MI250X
    GPU[0]		: Card Series: 		AMD Instinct MI300X
    GPU[0]		: VRAM Total Memory (B): 68702699520
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.console_tables import DAYS, LoopedTables
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 2
ANCHORS = ("ROCm System Management Interface", ": Card series:", ": Card Series:", "VRAM Total Memory (B): ", *DAYS)

_HEADER = re.compile(r"\s*=+ *ROCm System Management Interface *=+\s*\Z")
_INSIDE = re.compile(r"\s*(?:=|\Z|GPU\b|Device\b|\(|Name\b|\d{1,3}\s)")
_END = re.compile(r"\s*=+ *End of ROCm SMI Log *=+")
_ROW = re.compile(r"\s*(\d{1,3})\s+\S.*?(?:(?<!\d)\d[\d.]*%|N/A)\s+(?:\d[\d.]*%|N/A)\s*\Z")
_CAP = re.compile(r"\s(?:auto|manual|high|low|profile_\w+|perf_\w+)\s+(\d+(?:\.\d*)?)W\s", re.IGNORECASE)
_POWER = re.compile(r"\s(\d{1,4}(?:\.\d{1,3})?W)\s.*\s(?:auto|manual|high|low|profile_\w+|perf_\w+)\s", re.IGNORECASE)
_NAME = re.compile(r"\s*GPU\[(\d{1,3})\]\s*: Card [sS]eries:\s*(\S.{0,80}?)\s*\Z")
_MEMORY = re.compile(r"\s*GPU\[\d{1,3}\]\s*: VRAM Total Memory \(B\): (\d{1,15})\s*\Z")


class Reader:
    claims: re.Pattern[str] | None = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.looped = LoopedTables(rows)
        self.table: dict[int, int] = {}  # line of each device of the table that is open
        self.named: dict[tuple[int | None, str | None], dict[int, int]] = {}  # the same of the names, by node

    def take(self, line: Line) -> bool:
        if self.looped.is_date(line):
            self.claims = None
            return False  # other tools print it too
        if _HEADER.match(line.text):
            self.table = {}
            self.looped.open(line.number, 3)
            self.claims = _INSIDE
            return True
        self.claims = None
        return self.device(line)

    def more(self, line: Line) -> None:
        self.looped.lines += 1
        if _END.match(line.text):  # a table into which another node printed its own has none
            self.count(self.table)
            self.table = {}
        elif not self.device(line) and (row := _ROW.match(line.text)):
            self.table[int(row[1])] = line.number
            power = _POWER.search(line.text)
            self.looped.power(line.number, row[1], power[1] if power else None)
            if (cap := _CAP.search(line.text)) and float(cap[1]) > 0:
                self.rows.param("device_power_cap", float(cap[1]), line.number, "W", "environment")

    def device(self, line: Line) -> bool:
        """A line that says something of one device."""
        if match := _NAME.match(line.text):
            self.named.setdefault((line.rank, line.location), {})[int(match[1])] = line.number
            self.rows.param("device_model", match[2], line.number, origin="environment")
            unit = "gcd" if re.search(r"\bMI250X?\b", match[2]) else "gpu"
            self.rows.param("device_unit", unit, line.number, origin="inferred")
        elif match := _MEMORY.match(line.text):
            self.rows.param("device_memory", match[1], line.number, "bytes", "environment")
        return bool(match)

    def count(self, devices: dict[int, int]) -> None:
        if devices:
            first = min(devices.values())
            self.rows.param("devices_per_node", len(devices), first, origin="environment")

    def finish(self) -> None:
        for devices in self.named.values():
            self.count(devices)
        self.looped.finish()
