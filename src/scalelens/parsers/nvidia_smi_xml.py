"""nvidia-smi -q -x: the report of each device as XML, alone or again and again.

Tool: nvidia-smi -q -x [-l S]
Versions: drivers 352 to 590
Yields: power, params
Source: NVIDIA driver; closed, by its output and nvsmi_device_v12.dtd

power_draw, else the first of average_power_draw and instant_power_draw, of the readings of the GPU and of the module
that holds it; limits and the memory's share are not read.  Times are local (--tz), of whole seconds.  Each element has
a line of its own, as nvidia-smi writes it.

Samples:
    <nvidia_smi_log>
"""

from datetime import datetime

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.sensors import Samples, Sensor, watts
from scalelens.parsing.stamps import line_time

VERSION = 3
ANCHORS = (
    "nvidia_smi_log>", "<timestamp>", "<driver_version>", "<cuda_version>", "<attached_gpus>", "<gpu id=\"",
    "<product_name>", "power_readings>", "power_draw>",
)  # fmt: skip

_FIELD = re.compile(r"\s*<(\w+)>([^<>]{1,80})</\1>\s*\Z")
_DEVICE = re.compile(r"\s*<gpu id=\"([0-9A-Fa-f]{4,8}:[\w:.]+)\">\s*\Z")
_SECTION = re.compile(r"\s*<(/?)(\w*power_readings)>\s*\Z")
_SCOPES = {"power_readings": "gpu", "gpu_power_readings": "gpu", "module_power_readings": "module"}
_DRAWS = ("power_draw", "average_power_draw", "instant_power_draw")
_FACTS = {"driver_version": "driver_version", "cuda_version": "cuda_driver_version", "product_name": "device_model"}


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.samples = Samples(rows)
        self.inside = False
        self.stamp: datetime | None = None
        self.device, self.scope = "", ""

    def take(self, line: Line) -> bool:
        text = line.text.strip()
        if text in ("<nvidia_smi_log>", "</nvidia_smi_log>"):
            self.inside, self.stamp, self.device, self.scope = text[1] != "/", None, "", ""
        elif not self.inside:
            return False
        elif device := _DEVICE.match(text):
            self.device, self.scope = device[1], ""
        elif section := _SECTION.match(text):
            self.scope = "" if section[1] else _SCOPES.get(section[2], "")
        elif field := _FIELD.match(text):
            self.field(field[1], field[2], line)
        else:
            self.rows.problem(line.number, "the line is cut, or something else was printed into it", line.text)
        return True

    def field(self, name: str, value: str, line: Line) -> None:
        if name == "timestamp":
            self.stamp = line_time(value, line, self.rows, "%a %b %d %H:%M:%S %Y") or self.stamp
        elif name in _FACTS:
            self.rows.param(_FACTS[name], value, line.number, origin="environment")
        elif name == "attached_gpus" and re.fullmatch(r"\d{1,3}", value):
            self.rows.param("devices_per_node", int(value), line.number, origin="environment")
        elif name in _DRAWS and self.scope and (watts(value) or 0) >= 0:
            stamp = (self.stamp, "naive") if self.stamp else None
            self.samples.power(line.number, Sensor(None, self.device, self.scope), value, stamp)
            self.scope = ""  # the first one counts
