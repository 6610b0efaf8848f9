"""Readings of a power analyzer, as SPEC PTDaemon logs them (spl.txt of MLPerf Inference).

Tool: SPEC PTDaemon, by way of mlcommons/power-dev's server
Versions: 1.9 to 1.11
Yields: power
Source: mlcommons/power-dev compliance/check.py, get_avg_power()

Watts of the whole analyzer come first; those of its channels, which may follow, are parts of them and not read.  A
negative number is a reading that failed.  What is plugged into the analyzer is not said: the scope is NULL.  Times are
local (--tz), with the month first.

Samples:
    Time,03-04-2026 10:00:00.716,Watts,322.950000,Volts,228.570000,Amps,1.486430,PF,0.950000,Mark,2026-03-04_09-58-46_testing
"""

from datetime import datetime

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.sensors import Samples, Sensor
from scalelens.parsing.source import Source
from scalelens.tabular.cells import MAY_BE_CUT, first_lines, lines_of

VERSION = 1
IN_HEAD = (b",Watts,",)

_READING = re.compile(r"Time,(\d\d-\d\d-\d{4} \d\d:\d\d:\d\d\.\d{1,6}),Watts,(-?\d{1,9}(?:\.\d{1,9})?),Volts,.*")
_TIME = "%m-%d-%Y %H:%M:%S.%f"


def recognise(head: bytes, name: str) -> bool:
    return any(map(_READING.fullmatch, first_lines(head)[:2]))


def read(source: Source, rows: Rows) -> None:
    samples = Samples(rows)
    for number, text, whole in lines_of(source):
        match = _READING.fullmatch(text)
        if match is None:
            if text.startswith("Time,"):
                rows.problem(number, "not a reading as the lines above it" if whole else MAY_BE_CUT, text)
            continue
        try:
            time = datetime.strptime(match[1], _TIME)
        except ValueError:
            rows.problem(number, "unreadable timestamp", text)
            continue
        samples.power(number, Sensor(None, None, None), "nan" if match[2][0] == "-" else match[2], (time, "naive"))
