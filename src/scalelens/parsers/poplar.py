"""Compilation, launch and end of programs for IPUs: Poplar, poprun and Graphcore's examples.

Tool: Poplar, PopTorch, poprun; graphcore/examples
Versions: Poplar SDK 1.2 to 3.3
Yields: phases, params
Source: graphcore/examples (compile and training times); poprun; Poplar's log with POPLAR_LOG_LEVEL

The bar of the compilation has whole seconds: where `Compiled/Loaded model` follows, its time takes that one's place.
Poplar's and PopART's own lines are in UTC: the first and the last one of a file are a row of phases `run`.
poprun runs `POPDIST_NUM_TOTAL_REPLICAS` replicas of so many IPUs each, in as many instances as its `-np` add up to: one
for each host, or one for each instance.  Its topology (`--print-topology=yes`) numbers both.

Samples:
    Graph compilation: 100%|##########| 100/100 [01:32<00:00]
    Compiled/Loaded model in 83.51170425001 secs
    INFO:logging_callback:Compilation Time 351.2 s
    Compilation time: 351.2s.
    2026-02-03 04:05:06 INFO Compiled. Duration 214.75 seconds
    [INFO] 2026-02-03 04:05:07:    Total compile time: 312.5 seconds
    [INFO] 2026-02-03 04:05:06: Total runtime: 1024.5 seconds
    Data loaded in 9.856430063955486 secs
    Training time: 3.297 secs
    Finished training. Time: 2022-04-01 11:25:37.500125. It took: 0:04:17.250375
    2026-08-22T23:47:31.250125Z PO:ENGINE   4711077.4711077 I: Profiler disabled
    23:46:18.250 4711020 POPRUN [I] mpirun (PID 4711042) terminated with exit code 0
    10:10:50.203 1 POPRUN [I] Running command: mpirun '-np' '1' '-x' 'POPDIST_NUM_TOTAL_REPLICAS=16' '-x' 'POPDIST_NUM_IPUS_PER_REPLICA=4'
    | instances |       0       |       1       |
    | replicas  | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 |
"""

from datetime import datetime
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.stamps import line_time

VERSION = 4
LATER = ("span_s",)  # known after the last line of Poplar, or after the exact time
ANCHORS = (
    "Graph compilation: ", "Compiled/Loaded model in ", "Compilation Time ", "Compilation time: ", "Compiled. Duration ",
    "Total compile time: ", "Total runtime: ", "Data loaded in ",
    "Training time: ", "It took: ", " PO:", " PL:", "Z popart:", " POPRUN [",
    "| instances |", "| replicas  |",
)  # fmt: skip

_N = r"(\d+(?:\.\d*)?)"
_SPANS = (
    ("compile", re.compile(rf"Compiled/Loaded model in {_N} secs")),
    ("compile", re.compile(rf"logging_callback:Compilation Time {_N} s\b")),
    ("compile", re.compile(rf"^\s*Compilation time: {_N}s\.")),
    ("compile", re.compile(rf"\bCompiled\. Duration {_N} seconds")),
    ("compile", re.compile(rf"\[INFO\] .{{19}}: +Total compile time: {_N} seconds")),
    ("run", re.compile(rf"\[INFO\] .{{19}}: Total runtime: {_N} seconds")),
    ("startup", re.compile(rf"^\s*Data loaded in {_N} secs")),
    ("train", re.compile(rf"^\s*Training time: {_N} secs")),
)
_BAR = re.compile(r"Graph compilation: 100%\|[^|]*\| 100/100 \[(?:(\d{1,4}):)?(\d\d):(\d\d)<")
_TOOK = re.compile(r"Finished training\. Time: .{0,40}It took: (\d{1,4}):(\d\d):(\d\d(?:\.\d*)?)")
_ENGINE = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?)Z (?:P[LO]|popart):\w+\s+\d+\.\d+ \w: ")
_EXIT = re.compile(r" POPRUN \[\w\] mpirun \(PID \d+\) terminated with exit code (\d{1,9})")
_COMMAND = re.compile(r" POPRUN \[\w\] (?:Running|Executing) command: ")
_TOPOLOGY = re.compile(r"\s*\| (instances|replicas ) \|((?: *\d{1,6} *\|)+)\s*\Z")
_PROCESSES = re.compile(r"(?<!\S)'?-np'?\s+'?(\d{1,6})\b")
_REPLICAS = re.compile(r"POPDIST_NUM_TOTAL_REPLICAS=(\d{1,6})\b")
_IPUS = re.compile(r"POPDIST_NUM_IPUS_PER_REPLICA=(\d{1,6})\b")


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.bar: dict[str, Any] | None = None  # the row of the last bar
        self.engine: dict[int, tuple[dict[str, Any], datetime]] = {}  # row of Poplar's own lines, by part

    def take(self, line: Line) -> bool:
        for phase, pattern in _SPANS:
            if match := pattern.search(line.text):
                if phase == "compile" and self.bar is not None:
                    self.bar["span_s"], self.bar = float(match[1]), None
                else:
                    self.span(phase, line, float(match[1]))
                return True
        if match := _BAR.search(line.text):
            self.bar = self.span("compile", line, _seconds(match[1], match[2], match[3]))
        elif match := _TOOK.search(line.text):
            self.span("train", line, _seconds(*match.groups()))
        elif match := _ENGINE.search(line.text):
            self.engine_line(match, line)
        elif match := _EXIT.search(line.text):
            self.rows.param("outcome", "error" if int(match[1]) else "completed", line.number)
        elif _COMMAND.search(line.text):
            self.command(line)
        elif match := _TOPOLOGY.match(line.text):
            key = {"instances": "instances", "replicas": "dp"}[match[1].strip()]
            self.rows.param(key, match[2].count("|"), line.number)
            self.rows.param("device_unit", "ipu", line.number)
        else:
            return False
        return True

    def command(self, line: Line) -> None:
        """The replicas and instances of a command of poprun."""
        replicas, ipus = _REPLICAS.search(line.text), _IPUS.search(line.text)
        if replicas:
            self.rows.param("dp", int(replicas[1]), line.number)
            self.rows.param("device_unit", "ipu", line.number)
        if replicas and ipus:
            self.rows.param("devices", int(replicas[1]) * int(ipus[1]), line.number)
        if instances := sum(int(count) for count in _PROCESSES.findall(line.text)):
            self.rows.param("instances", instances, line.number)

    def span(self, phase: str, line: Line, span_s: float) -> dict[str, Any]:
        row = {
            "attempt": self.rows.attempt, "rank": line.rank, "place": line.location, "phase": phase, "span_s": span_s,
            "origin": "logged",
        }  # fmt: skip
        self.rows.put("phases", line.number, row)
        return row

    def engine_line(self, match: re.Match[str], line: Line) -> None:
        ts = line_time(match[1], line, self.rows)
        if ts is None:
            return
        if self.rows.part in self.engine:
            row, begun = self.engine[self.rows.part]
            row["span_s"] = max((ts - begun).total_seconds(), row["span_s"])
        else:
            row = {
                "rank": line.rank, "place": line.location, "phase": "run", "span_s": 0.0, "origin": "derived", "ts": ts,
                "ts_origin": "utc",
            }  # fmt: skip
            self.rows.put("phases", line.number, row)
            self.engine[self.rows.part] = row, ts


def _seconds(hours: str | None, minutes: str, rest: str) -> float:
    return int(hours or 0) * 3600 + int(minutes) * 60 + float(rest)
