"""Power in the answer of Prometheus to a range query: of GPUs, processors and nodes, as known exporters count it.

Tool: Prometheus, /api/v1/query_range, of series of dcgm-exporter, ipmi_exporter, Kepler, Scaphandre, node_exporter
Versions: the HTTP API v1; a matrix
Yields: power, energy
Source: Prometheus, HTTP API, range queries; dcgm-exporter etc/default-counters.csv; ipmi_exporter docs/metrics.md;
    kepler docs/metrics; scaphandre docs_src/references/metrics.md; node_exporter collector/rapl_linux.go

DCGM_FI_DEV_POWER_USAGE is watts of a GPU, and so is its _INSTANT, which is left out beside it;
ipmi_dcmi_power_consumption_watts is of a node.  Kepler and node_exporter count joules, Scaphandre's powers are
microwatts; their shares of containers and processes are not read.  The node is the label Hostname, else instance without its port.  A
series without `__name__` is that of an expression, such as a sum or a rate, and is not read.  Times are seconds since
1970; one between two scrapes repeats the reading before it.

Samples:
    {"status": "success", "data": {"resultType": "matrix", "result": [{"metric": {"__name__": "DCGM_FI_DEV_POWER_USAGE", "gpu": "0", "Hostname": "n1"}, "values": [[1767323045, "250.1"], [1767323060, "260.2"]]}]}}
"""

import json
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.sensors import Samples, Sensor, stamp_of
from scalelens.parsing.source import Source

VERSION = 1

_MATRIX = re.compile(rb'\s*\{.{0,400}?"resultType"\s*:\s*"matrix"', re.DOTALL)
_POWERS = ("DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_POWER_USAGE_INSTANT")
_NODE = "ipmi_dcmi_power_consumption_watts"
_OTHERS = {  # what another series covers, and its unit in watts
    "scaph_host_power_microwatts": ("total", 1e-6),
    "scaph_socket_power_microwatts": ("cpu", 1e-6),
    "nvidia_smi_power_draw_watts": ("gpu", 1.0),
    "habanalabs_power_mW": ("gpu", 1e-3),
}
_COUNTERS = {  # of joules
    "kepler_node_platform_joules_total": "platform",
    "kepler_node_package_joules_total": "cpu",
    "kepler_node_core_joules_total": "cpu_part",
    "kepler_node_uncore_joules_total": "cpu_part",
    "kepler_node_dram_joules_total": "memory",
    "kepler_node_gpu_joules_total": "gpu",
    "node_rapl_package_joules_total": "cpu",
    "node_rapl_core_joules_total": "cpu_part",
    "node_rapl_uncore_joules_total": "cpu_part",
    "node_rapl_dram_joules_total": "memory",
    "node_rapl_psys_joules_total": "platform",
}
_OF_NODE = ("__name__", "instance", "job", "Hostname", "hostname", "node")  # labels that name no device


def recognise(head: bytes, name: str) -> bool:
    return _MATRIX.match(head) is not None


def read(source: Source, rows: Rows) -> str | None:
    try:
        answer = json.loads(source.text().decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError) as error:
        rows.problem(getattr(error, "lineno", None), "the answer is cut, or its JSON is damaged")
        return None
    found = _series_of(answer)
    names = {metric.get("__name__") for metric, _ in found}
    wanted = {_POWERS[0] if _POWERS[0] in names else _POWERS[1], _NODE, *_OTHERS, *_COUNTERS}
    if not names & wanted:
        return "an answer of Prometheus without a series of a power that is known by its name"
    samples = Samples(rows)
    for metric, values in found:
        if metric.get("__name__") in wanted:
            _add(samples, str(metric["__name__"]), _sensor_of(metric), values, rows)
    samples.finish("energy")
    if others := sum(metric.get("__name__") not in (*wanted, *_POWERS) for metric, _ in found):
        rows.problem(1, f"series that are not known as powers, or are of an expression, are not read ({others:,})")
    return None


def _series_of(answer: Any) -> list[tuple[dict[str, Any], list[Any]]]:
    """Labels and values of each series."""
    data = answer.get("data") if isinstance(answer, dict) else None
    result = data.get("result") if isinstance(data, dict) else None
    return [
        (series["metric"], series["values"])
        for series in (result if isinstance(result, list) else [])
        if isinstance(series, dict)
        and isinstance(series.get("metric"), dict)
        and isinstance(series.get("values"), list)
    ]


def _sensor_of(metric: dict[str, Any]) -> Sensor:
    labels = {name: str(value) for name, value in metric.items()}
    instance = re.sub(r":\d{1,5}\Z", "", labels.get("instance", "")) or None
    node = labels.get("Hostname") or labels.get("hostname") or instance
    if labels["__name__"] == _NODE:
        return Sensor(node, "node", "node_ac")
    if scope := _COUNTERS.get(labels["__name__"]) or _OTHERS.get(labels["__name__"], (None,))[0]:
        word = labels["__name__"].split("_")[2]
        own = " ".join(labels[name] for name in sorted(labels) if name not in _OF_NODE)
        return Sensor(node or labels.get("node"), f"{word} {own}".strip(), scope)
    device = labels.get("gpu")
    return Sensor(node, f"{device}/{labels['GPU_I_ID']}" if "GPU_I_ID" in labels else device, "gpu")


def _add(samples: Samples, name: str, sensor: Sensor, values: list[Any], rows: Rows) -> None:
    for value in values:
        stamp = stamp_of(str(value[0])) if isinstance(value, list) and len(value) == 2 else None
        if stamp is None:
            rows.problem(1, "not a time and a number", str(value)[:200])
        elif name in _COUNTERS:
            samples.counter(1, sensor, str(value[1]), stamp, 1.0)
        else:
            samples.power(1, sensor, str(value[1]), stamp, _OTHERS.get(name, (None, 1.0))[1])
