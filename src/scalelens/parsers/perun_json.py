"""perun's results (JSON).

Tool: perun monitor -f json, perun export ... json
Versions: 1.0
Yields: power, energy
Source: perun/io/json.py; perun/data_model/data.py

The tree of perun's HDF5 as one document: an application (type 1), its runs (2), rounds (3), hosts (4), groups of devices
(5), sensors (6), each in `nodes` of the one above.  A figure is its `value` times the `mag` of its unit.  Each round of
a sensor has the energy that perun integrated, in joules; rounds follow each other, and `ts` counts their seconds,
without what lies between them.  Samples of power are read where there is one round (ts_origin `relative`); `line` is
the number of the sample, from 1.  Several runs are parts.  A document that is cut holds nothing that can be read.

Samples:
    {"id": "train", "type": 1, "metadata": {}, "metrics": {}, "regions": null, "deviceType": null, "processed": true, "nodes": [{}]}
"""

from collections.abc import Iterator
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.perun_sensors import perun_sensor
from scalelens.parsing.rows import Rows
from scalelens.parsing.sensors import SECOND, Samples, Sensor
from scalelens.parsing.source import Source
from scalelens.parsing.values import json_number
from scalelens.tabular.json_series import document_of

VERSION = 1

_APPLICATION = re.compile(rb'\s*\{\s*"id"\s*:\s*"[^"]{0,300}"\s*,\s*"type"\s*:\s*1\s*,\s*"metadata"\s*:')
_LONGEST_S = 1e9


def recognise(head: bytes, name: str) -> bool:
    return _APPLICATION.match(head) is not None


def read(source: Source, rows: Rows) -> None:
    document = document_of(source)
    if not isinstance(document, dict):
        rows.problem(1, "the document is cut, damaged or too large")
        return
    for count, (_, run) in enumerate(_children(document)):
        if count:
            rows.new_part()
        _run(run, rows)


def _children(node: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """What is within a node, by its name; rounds by their number."""
    nodes: Any = node.get("nodes")
    within = nodes[0] if isinstance(nodes, list) and nodes else nodes
    names = sorted(within, key=lambda name: (len(name), name)) if isinstance(within, dict) else []
    yield from ((name, within[name]) for name in names if isinstance(within[name], dict))


def _run(run: dict[str, Any], rows: Rows) -> None:
    rounds = [*_children(run)]
    begin_s = 0.0
    for _, each in rounds:
        for host, node in _children(each):
            for group, devices in _children(node):
                for name, sensor in _children(devices):
                    _sensor(perun_sensor(host, group, name), sensor, begin_s, len(rounds) == 1, rows)
        begin_s += _figure(each, "runtime", "s") or 0.0


def _sensor(named: Sensor, sensor: dict[str, Any], begin_s: float, is_only: bool, rows: Rows) -> None:
    metrics = sensor.get("metrics")
    if not isinstance(metrics, dict) or "energy" not in metrics:
        return
    energy_j, span_s = _figure(sensor, "energy", "J"), _figure(sensor, "runtime", "s")
    if energy_j is None:
        why = f"the energy of {named.device} is not a finite number of joules"
        rows.problem(None, why, str(metrics["energy"])[:200])
    else:
        rows.add(
            "energy", None, node=named.node, device=named.device, scope=named.scope, energy_j=energy_j, span_s=span_s,
            ts=None if span_s is None else _moment(begin_s + span_s), ts_origin="relative",
        )  # fmt: skip
    raw = sensor.get("raw_data")
    if not is_only or not isinstance(raw, dict):
        return
    in_s, in_w = _size(raw.get("t_md"), "s"), _size(raw.get("v_md"), "W")
    times, values = raw.get("timesteps"), raw.get("values")
    if in_s is None or in_w is None or not (isinstance(times, list) and isinstance(values, list)):
        rows.problem(None, f"the samples of {named.device} are not in watts and seconds")
        return
    if len(times) != len(values):
        rows.problem(None, f"the samples of {named.device} have {len(times)} times and {len(values)} powers")
        return
    samples = Samples(rows)
    for line, (time, value) in enumerate(zip(times, values, strict=True), 1):
        seconds = json_number(time)
        moment = _moment(seconds * in_s) if seconds is not None else None
        if moment is None:
            rows.problem(line, f"the time of a sample of {named.device} is none since the round began", str(time)[:100])
        else:
            samples.power(line, named, str(json_number(value)), (moment, "relative"), in_w)


def _moment(seconds: float) -> int | None:
    """Nanoseconds since a round began; None for what no run lasts."""
    return round(seconds * SECOND) if 0 <= seconds < _LONGEST_S else None


def _figure(node: dict[str, Any], name: str, unit: str) -> float | None:
    """A figure of a node in its unit, which perun keeps apart from its magnitude."""
    metrics = node.get("metrics")
    metric = metrics.get(name) if isinstance(metrics, dict) else None
    value = json_number(metric.get("value")) if isinstance(metric, dict) else None
    size = _size(metric.get("metric_md"), unit) if isinstance(metric, dict) else None
    return value * size if value is not None and value >= 0 and size is not None else None


def _size(described: Any, unit: str) -> float | None:
    """How large the numbers of a description are in a unit."""
    if not isinstance(described, dict) or described.get("unit") != unit:
        return None
    return json_number(described.get("mag"))
