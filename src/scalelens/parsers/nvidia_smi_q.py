"""nvidia-smi -q: the report of each device, alone or again and again.

Tool: nvidia-smi -q [-d POWER,...] [-l S]
Versions: drivers 352 to 590
Yields: power, params
Source: NVIDIA driver; closed, by its output

Power Draw, else Average, else Instantaneous Power Draw, of the readings of the GPU and of the module that holds it;
limits, samples since the driver's start and the memory's share are not read.  Times are local (--tz), of whole seconds.

Samples:
    ==============NVSMI LOG==============
"""

from datetime import datetime

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.sensors import Samples, Sensor, watts
from scalelens.parsing.stamps import line_time

VERSION = 3
ANCHORS = ("NVSMI LOG=",)

_HEADER = re.compile(r"\s*=+NVSMI LOG=+\s*\Z")
_REPORT = re.compile(r"\s*\Z|\s+\S|(?:Timestamp|Driver Version|CUDA Version|Attached GPUs) +:|GPU [0-9A-Fa-f]{4,8}:")
_FIELD = re.compile(r"(\s*)(\S[^:]{0,60}?) +: (\S.{0,80}?)\s*\Z")
_DEVICE = re.compile(r"GPU ([0-9A-Fa-f]{4,8}:[\w:.]+)\s*\Z")
_SECTION = re.compile(r" {4}(\S[^:]{0,60}?)\s*\Z")
_SCOPES = {"Power Readings": "gpu", "GPU Power Readings": "gpu", "Module Power Readings": "module"}
_DRAWS = ("Power Draw", "Average Power Draw", "Instantaneous Power Draw")
_FACTS = {"Driver Version": "driver_version", "CUDA Version": "cuda_driver_version", "Product Name": "device_model"}


class Reader:
    claims: re.Pattern[str] | None = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.samples = Samples(rows)
        self.stamp: datetime | None = None
        self.device, self.scope = "", ""

    def take(self, line: Line) -> bool:
        self.claims = _REPORT if _HEADER.match(line.text) else None
        self.stamp, self.device, self.scope = None, "", ""
        return self.claims is not None

    def more(self, line: Line) -> None:
        if match := _FIELD.match(line.text):
            name, value = match[2], match[3]
            if name == "Timestamp":
                self.stamp = line_time(value, line, self.rows, "%a %b %d %H:%M:%S %Y") or self.stamp
            elif name in _FACTS:
                self.rows.param(_FACTS[name], value, line.number, origin="environment")
            elif name == "Attached GPUs" and re.fullmatch(r"\d{1,3}", value):
                self.rows.param("devices_per_node", int(value), line.number, origin="environment")
            elif name in _DRAWS and self.scope and (watts(value) or 0) >= 0:
                stamp = (self.stamp, "naive") if self.stamp else None
                self.samples.power(line.number, Sensor(None, self.device, self.scope), value, stamp)
                self.scope = ""  # the first one counts
        elif match := _DEVICE.match(line.text):
            self.device, self.scope = match[1], ""
        elif match := _SECTION.match(line.text):
            self.scope = _SCOPES.get(match[1], "")
