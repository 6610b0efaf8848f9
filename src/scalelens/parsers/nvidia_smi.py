"""nvidia-smi: the table of devices, the list (-L), and the links between them (topo -m); the same table of nvitop -1.

Tool: nvidia-smi, nvitop
Versions: drivers 384 to 590; nvitop 1.7
Yields: params, power
Source: NVIDIA driver; closed, by its output

The table cuts a long name, which is kept as far as it goes.  Devices are those of the node that printed it, all of
them or those that the job was given: `devices_per_node`, origin `environment`.  Use of the moment is not read.

Where a loop printed the table, ten times or more and with little else between, its power is read, in whole watts, at
the local time (--tz) above each table.  Fewer tables are moments of a log, as before and after a training: between them
anything may have happened.

Samples:
    | NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |
    | NVITOP 1.7.2      Driver Version: 580.159.04      CUDA Driver Version: 13.0 |
    GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-00000000-0000-0000-0000-000000000000)
        GPU0	GPU1	CPU Affinity	NUMA Affinity
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.console_tables import DAYS, LoopedTables
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 2
ANCHORS = ("| NVIDIA-SMI ", "| NVITOP ", "\u2502 NVITOP ", "(UUID: GPU-", "GPU0\tGPU1", *DAYS)

_HEADER = re.compile(
    r"\s*\| (?:NVIDIA-SMI|NVITOP) (\d[\d.]*) +(?:.{0,20} )?Driver Version: (\d[\d.]*)"
    r"(?: +CUDA (?:Driver )?Version: (\d[\d.]*))?"
)
_DEVICE = re.compile(r"\s*\| +(\d{1,3}) +(\S.{0,40}?) +(?:On|Off|N/A|WDDM|TCC|MCDM) +\| *[0-9A-F]{4,8}:")
_MEMORY = re.compile(r"\s*\|.{0,60}\| *[\d.]{1,9}(?:[MG]i)?B / *([\d.]{1,9})([MG]iB) *\|")
_USAGE = re.compile(r"\s*\|.{0,40}? (\d{1,4}W) */ *(?:\d{1,4}W|N/A) *\|")
_TABLE = re.compile(r"\s*(?:[|+\u2500-\u257f]|\[ (?:CPU|MEM): |\Z)")
_BOX = str.maketrans("\u2502", "|")  # of nvitop, where the terminal has it
_LISTED = re.compile(r"\s*GPU (\d{1,3}): (\S.{0,80}?) \(UUID: GPU-")
_TOPOLOGY = re.compile(r"\s*GPU0\tGPU1(?=\t|\s*\Z)")
_LINKS = re.compile(r"\s*GPU(\d{1,3})\s+\S+\s")


class Reader:
    claims: re.Pattern[str] | None = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.devices: set[int] = set()
        self.first = 0  # line of the first device
        self.looped = LoopedTables(rows)
        self.now = ""  # device of the rows that follow

    def take(self, line: Line) -> bool:
        self.claims = None
        if self.looped.is_date(line):
            return False  # other tools print it too
        if match := _LISTED.match(line.text):
            self.device(int(match[1]), match[2], line.number)
            self.claims = _LISTED
            return True
        if match := _HEADER.match(line.text.translate(_BOX)):
            self.close()
            self.looped.open(line.number, 2)
            self.now = ""
            for fact, value in (("driver_version", match[2]), ("cuda_driver_version", match[3])):
                self.rows.param(fact, value, line.number, origin="environment")
            self.claims = _TABLE
            return True
        if _TOPOLOGY.match(line.text):
            self.claims = _LINKS
            return True
        return False

    def more(self, line: Line) -> None:
        self.looped.lines += 1
        text = line.text.translate(_BOX)
        if self.now and (usage := _USAGE.match(text)):
            self.looped.power(line.number, self.now, usage[1])
        if match := _LISTED.match(text) or _DEVICE.match(text):
            self.device(int(match[1]), match[2].removesuffix("...").rstrip(), line.number)
        elif match := _MEMORY.match(text):
            self.rows.param("device_memory", match[1], line.number, match[2], "environment")
        elif line.text.lstrip().startswith("GPU0\t"):
            links = [link.strip() for link in line.text.strip().split("\t")]
            if len(links) > 2 and re.fullmatch(r"[A-Z]+\d*", links[2]):
                self.rows.param("device_link", links[2], line.number, origin="environment")

    def device(self, number: int, name: str, line: int) -> None:
        if number == 0 or number in self.devices:  # another table, or another node's
            self.close()
        self.first = self.first if self.devices else line
        self.devices.add(number)
        self.now = str(number)
        self.rows.param("device_model", name, line, origin="environment")

    def close(self) -> None:
        if self.devices:
            self.rows.param("devices_per_node", len(self.devices), self.first, origin="environment")
        self.devices = set()

    def finish(self) -> None:
        self.close()
        self.looped.finish()
