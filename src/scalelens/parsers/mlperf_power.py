"""MLPerf's power readings, `:::MLLOG` lines of power/RESULT/node_K.txt and sw_K.txt.

Tool: MLPerf Training, power measurements (mlperf_logging.mllog.examples.power, submitters' own)
Versions: v4.0 on
Yields: power, metrics, energy
Source: mlcommons/logging mlperf_logging/mllog/examples/power; result_summarizer, _compute_power_node()

`power_reading` is the watts of a node.  The node is the metadata's host, else the name of the file.  Whether they are
of the wall socket (node_ac) or behind the power supply (node_dc) is told by measurement_type next to conversion_eff,
else by a folder such as submitter-dc-power; else the scope is NULL.  `interconnect_power_est` is an estimate for a
switch, constant for the run: its stamp is the estimate's own, years before the run in files that were seen, so that
`ts` is NULL.  Conversion efficiency and the times of start and stop (seconds since 1970) are metrics of the node:
MLPerf's energy is efficiency times the right Riemann sum since that start, over stop minus start, times the time to
train.  A stop that has the time of the start is a problem.  `Total Power Usage` in kWh is an energy, of all nodes.

Samples:
    :::MLLOG {"namespace": "", "time_ms": 1767323047000, "event_type": "POINT_IN_TIME", "key": "power_reading", "value": 2090, "metadata": ""}
    :::MLLOG {"namespace": "", "time_ms": 1640995200000, "event_type": "POINT_IN_TIME", "key": "interconnect_power_est", "value": 15000, "metadata": {"switch_id": "sw_01"}}
    :::MLLOG {"namespace":"","time_ms":1767323045000,"event_type":"INTERVAL_START","key":"power_measurement_start","value":"null","metadata":""}
    Total Power Usage: 120.50 kWh
"""

import json
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.sensors import Moment, Samples, Sensor, epoch
from scalelens.units import factors

VERSION = 1
ANCHORS = ("power_reading", "interconnect_power_est", "power_measurement_st", "conversion_eff", "Total Power Usage: ")

_TAG = re.compile(r":::MLLOG\s*(?=\{)")
_KEYS = (
    "power_reading",
    "interconnect_power_est",
    "power_measurement_start",
    "power_measurement_stop",
    "conversion_eff",
)
_TOTAL = re.compile(r"\s*Total Power Usage: (\d{1,15}(?:\.\d{1,9})?) ([kM]?Wh)\s*")
_NODE = re.compile(r"(?:^|/)((?:node|sw)_\d+)\.\w+(?:\.\w+)?$")
_FOLDER = re.compile(r"(?:^|[-_/])(ac|dc)[-_]power(?=/)")
_JOULES = factors("Wh", "kWh", "MWh")
_decode = json.JSONDecoder().raw_decode


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.samples = Samples(rows)
        node = _NODE.search(rows.path.rpartition("!")[2])
        folder = _FOLDER.search(rows.path)
        self.node = node[1] if node else None
        self.scope = f"node_{folder[1]}" if folder else None
        self.began: dict[str | None, Any] = {}

    def take(self, line: Line) -> bool:
        if match := _TOTAL.fullmatch(line.text):
            self.rows.add("energy", line.number, energy_j=float(match[1]) * _JOULES[match[2]], method="mlperf")
            return True
        taken = False
        for tag in _TAG.finditer(line.text):
            try:
                record, _ = _decode(line.text, tag.end())
            except (ValueError, RecursionError):
                if any(f'"{key}"' in line.text[tag.end() :] for key in _KEYS):
                    self.rows.problem(line.number, "the record is cut, or its JSON is damaged", line.text)
                    taken = True
                continue
            if record.get("key") in _KEYS:
                self.record(record, line)
                taken = True
        return taken

    def record(self, record: dict[str, Any], line: Line) -> None:
        key, value, about = record["key"], record.get("value"), record.get("metadata")
        about = about if isinstance(about, dict) else {}
        node = str(about["host"]) if about.get("host") else self.node
        ns, unit = epoch(str(record.get("time_ms")))
        stamp: tuple[Moment, str] | None = (ns, "utc") if ns is not None and unit == "ms" else None
        if key == "interconnect_power_est":
            switch = str(about.get("switch_id") or node or "")
            self.samples.power(line.number, Sensor(node, switch or None, "switch"), str(value), None)
        elif stamp is None:
            self.rows.problem(line.number, "the time is not a number of milliseconds since 1970", line.text)
        elif key == "power_reading":
            self.samples.power(line.number, Sensor(node, "node", self.scope), str(value), stamp)
        elif key == "conversion_eff":
            if str(about.get("measurement_type")).lower() in ("ac", "dc"):
                self.scope = f"node_{about['measurement_type'].lower()}"
            if isinstance(value, int | float) and 0 < value <= 1:
                self.rows.metric(line.number, None, node, None, key, float(value))
            else:
                self.rows.problem(line.number, "the conversion efficiency is not a number from 0 to 1", line.text)
        else:
            self.rows.metric(line.number, None, node, None, key, record["time_ms"] / 1000, "s")
            if key == "power_measurement_start":
                self.began[node] = record["time_ms"]
            elif self.began.get(node) == record["time_ms"]:
                self.rows.problem(line.number, "power_measurement_stop has the time of the start", line.text)
