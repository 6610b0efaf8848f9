"""dcgm-exporter: dumps of its metrics, in Prometheus's text format.

Tool: dcgm-exporter, whatever fetched its page (curl, a script)
Versions: 2.x to 4.x
Yields: power, energy
Source: dcgm-exporter internal/pkg/rendermetrics; etc/default-counters.csv

DCGM_FI_DEV_POWER_USAGE and its _INSTANT are watts of a GPU, DCGM_FI_DEV_CPU_POWER_UTIL_CURRENT of a Grace CPU,
DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION millijoules since the driver was loaded.  Where there is both, the instant power is
left out.  The time is the one after the number (milliseconds), else that of a line with nothing but a time before it;
a page by itself has none.  One reading of a counter is not an energy but a metric.  The label device is not the number of
the GPU, gpu is.

Samples:
    DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="GPU-1",device="nvidia0",modelName="NVIDIA H100",Hostname="n1"} 68.244000
    DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu="0",UUID="GPU-1",Hostname="n1"} 15152422938
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.sensors import Samples, Sensor, stamp_of
from scalelens.parsing.source import Source
from scalelens.tabular.cells import first_lines, head_lines, lines_of

VERSION = 4
IN_HEAD = (b"DCGM_FI_",)

_METRIC = re.compile(r'(DCGM_FI_\w+) *\{((?:[^"{}]|"(?:[^"\\]|\\.)*")*)\} +(\S+)(?: +(\d+))?')
_LABEL = re.compile(r'(?<!\w)(\w+)="((?:[^"\\]|\\.)*)"')
_POWERS = ("DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_POWER_USAGE_INSTANT")
_CPU = "DCGM_FI_DEV_CPU_POWER_UTIL_CURRENT"
_ENERGY = "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"
_NAMES = (*_POWERS, _CPU, _ENERGY)


def recognise(head: bytes, name: str) -> bool:
    if any("# Entity" in line for line in first_lines(head)[:1]):
        return False
    return any(line.startswith("DCGM_FI_") for line in head_lines(head))


def read(source: Source, rows: Rows) -> None:
    samples = Samples(rows)
    mean = any(text.startswith(_POWERS[0] + "{") for _, text, _ in lines_of(source))
    line_stamp = None
    timeless = 0
    for number, text, whole in lines_of(source):
        if not text.startswith(_NAMES):
            line_stamp = (stamp_of(text) if not text.startswith(("#", "DCGM_")) else None) or line_stamp
            continue
        match = _METRIC.fullmatch(text.strip())
        if not match or not whole:
            rows.problem(number, "the line is cut or damaged", text)
            continue
        name, labels, value, ms = match.groups()
        about = dict(_LABEL.findall(labels))
        stamp = stamp_of(ms) if ms else line_stamp
        node, device = about.get("Hostname") or about.get("hostname"), about.get("gpu") or about.get("cpu")
        if "GPU_I_ID" in about:
            device = f"{device}/{about['GPU_I_ID']}"
        sensor = Sensor(node, device, "cpu" if name == _CPU else "gpu")
        if name == _ENERGY:
            samples.counter(number, sensor, value, stamp, 1e-3)
        elif name in (_CPU, _POWERS[not mean]):
            samples.power(number, sensor, value, stamp)
            timeless = timeless or (0 if stamp else number)
    samples.finish(_ENERGY)
    if timeless:
        rows.problem(timeless, "the samples have no time: no energy follows from their powers")
