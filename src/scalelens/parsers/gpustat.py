"""gpustat: a line for each GPU below a line with the host and the time.

Tool: gpustat
Versions: 0.4 to 1.1
Yields: params, power
Source: gpustat/core.py, GPUStat.print_to() and GPUStatCollection.print_formatted()

The power is there with --show-power or -a, in whole watts.  It is read where a loop or --interval printed ten times or
more with little else between, at the local time (--tz) of the line above.  `gpustat --json` is read as a table of powers.
GPUs are those of the host: `devices_per_node`, origin `environment`.  Use of the moment and processes are not read.

Samples:
    [0] NVIDIA H200 | 51°C, 100 %,  238 / 700 W |  1534 / 143771 MB | user:python3/780(1002M)
    [1] GeForce GTX TITAN X | 77'C,  96 % | 11848 / 12287 MB | python/52046(11821M)
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.console_tables import DATE, DAYS, LoopedTables
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.values import integer

VERSION = 1
ANCHORS = ("\u00b0C, ", "'C, ", *DAYS)

_HEADER = re.compile(rf"([\w.-]{{1,64}}) +{DATE}(?: +\d[\d.]{{2,20}})?\s*\Z")
_GPU = re.compile(
    r"(?:\[(\d{1,3})\] +)?([^\s|][^|]{0,80}?) *\| *(?:\d{1,3}|\?\?)(?:\u00b0C|'C), ([^|]{1,80})\| *[\d?]{1,9} / *[\d?]{1,9} MB"
)
_MEMORY = re.compile(r"/ *(\d{1,9}) MB")
_POWER = re.compile(r", +(\d{1,4}) (?:/ *[\d?]{1,4} )?W *\Z")


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.looped = LoopedTables(rows)
        self.header: tuple[int, str] | None = None  # line and host of the table that is about to begin
        self.host: str | None = None  # of the table that is open
        self.devices: dict[int, int] = {}  # its devices, with their lines

    def take(self, line: Line) -> bool:
        if header := _HEADER.match(line.text):
            host, *date = header.groups()
            self.header = line.number, host
            self.looped.dated(line.number, *date)
            return False  # other tools begin lines like this
        match = _GPU.match(line.text)
        number = _number_of(match, line) if match else None
        if match is None or number is None:
            return False
        if self.header or number in self.devices:
            self.close()
            self.looped.open(line.number - 1, 0)
            self.host = self.header[1] if self.header else None
            self.header = None
        self.looped.lines += 1
        self.devices[number] = line.number
        self.rows.param("device_model", match[2], line.number, origin="environment")
        if memory := _MEMORY.search(line.text):
            self.rows.param("device_memory", memory[1], line.number, "MiB", "environment")
        power = _POWER.search(match[3])
        self.looped.power(line.number, str(number), f"{power[1]} W" if power else None, self.host)
        return True

    def close(self) -> None:
        if self.devices:
            self.rows.param("devices_per_node", len(self.devices), min(self.devices.values()), origin="environment")
        self.devices = {}

    def finish(self) -> None:
        self.close()
        self.looped.finish()


def _number_of(match: re.Match[str], line: Line) -> int | None:
    """The number of a GPU; [0] looks like a rank, too, also below another prefix."""
    if match[1] or line.rank is not None:
        return int(match[1] or line.rank or 0)
    return integer((line.location or "").rpartition("/")[2])
