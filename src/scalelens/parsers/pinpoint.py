"""Power of all counters of a machine, as pinpoint prints it continuously.

Tool: pinpoint -c, HPI's operating systems group
Versions: those that name each counter by its source
Yields: power
Source: osmhpi/pinpoint, README and its help

Milliwatts of each counter, sampled at an interval that the output does not say (500 ms unless chosen): `ts` is NULL, and
there is no energy.  `device` is the name of the counter; what its words do not say has no scope.  The cores of RAPL are
part of the package, so its `pkg` alone is the CPU.  With several runs `### Run 1` begins another part.

Samples:
    nvml:nvidia_geforce_gtx_970_0,rapl:ram,rapl:cores,rapl:pkg
    17608,834,4048,16888
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.sensor_words import scope_of_words
from scalelens.parsing.sensors import Samples, Sensor
from scalelens.parsing.source import Source
from scalelens.tabular.cells import MAY_BE_CUT, head_lines, lines_of

VERSION = 1
IN_HEAD = (b"nvml:", b"rapl:", b"jetson:", b"mcp:")

_COUNTER = r"(?:nvml|rapl|jetson|mcp):[\w.+-]{1,80}"
_HEADER = re.compile(rf"{_COUNTER}(?:,{_COUNTER}){{0,63}}")
_LEVELS = re.compile(r"\d{1,9}(?:,\d{1,9}){0,63}")
_RUN = re.compile(r"### Run (\d{1,6})")
_SCOPES = {"rapl:pkg": "cpu", "rapl:ram": "memory", "rapl:psys": "board"}


def recognise(head: bytes, name: str) -> bool:
    lines = [line.strip() for line in head_lines(head)][:3]
    first = lines[1:] if lines and _RUN.fullmatch(lines[0]) else lines
    return bool(first and _HEADER.fullmatch(first[0])) and all(map(_LEVELS.fullmatch, first[1:2]))


def read(source: Source, rows: Rows) -> None:
    samples, sensors, undated = Samples(rows), list[Sensor](), 0
    for number, line, whole in lines_of(source):
        text = line.strip()
        if run := _RUN.fullmatch(text):
            if run[1] != "0":
                rows.new_part()
        elif _HEADER.fullmatch(text):
            sensors = [_sensor(counter) for counter in text.split(",")]
        elif whole and _LEVELS.fullmatch(text) and text.count(",") + 1 == len(sensors):
            undated = undated or number
            for sensor, level in zip(sensors, text.split(","), strict=True):
                samples.power(number, sensor, level, None, scale=1e-3)
        else:
            rows.problem(number, "not a level for each counter of the header" if whole else MAY_BE_CUT, text)
    if undated:
        rows.problem(undated, "lines without a date: power without the times of its samples gives no energy")


def _sensor(counter: str) -> Sensor:
    kind, _, name = counter.partition(":")
    scope = "gpu" if kind == "nvml" else _SCOPES.get(counter) or (scope_of_words(name) if kind == "jetson" else None)
    return Sensor(None, name, scope)
