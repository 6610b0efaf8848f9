"""Power in the answer of Prometheus to a range query: of GPUs, processors and nodes, as known exporters count it.

Tool: Prometheus, /api/v1/query_range, of series of dcgm-exporter, ipmi_exporter, Kepler, Scaphandre, node_exporter
Versions: the HTTP API v1; a matrix
Yields: power, energy
Source: Prometheus, HTTP API, range queries; dcgm-exporter etc/default-counters.csv; ipmi_exporter docs/metrics.md;
    kepler docs/metrics; scaphandre docs_src/references/metrics.md; node_exporter collector/rapl_linux.go

DCGM_FI_DEV_POWER_USAGE is watts of a GPU, and so is its _INSTANT, which is left out where both are there;
ipmi_dcmi_power_consumption_watts is of a node.  Kepler and node_exporter count joules, dcgm-exporter millijoules,
Scaphandre's powers are microwatts; other series whose names end in _watts are powers of what their words say.  Shares of
containers and processes, limits and means are not read.  The node is the label Hostname, else instance without its port.
A series without `__name__` is that of an expression, such as a sum or a rate, and is not read.  Times are seconds since
1970; one between two scrapes repeats the reading before it.  A script may have kept the list of series alone.

Samples:
    {"status": "success", "data": {"resultType": "matrix", "result": [{"metric": {"__name__": "DCGM_FI_DEV_POWER_USAGE", "gpu": "0", "Hostname": "n1"}, "values": [[1767323045, "250.1"], [1767323060, "260.2"]]}]}}
"""

import json
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.sensors import Samples, Sensor, stamp_of
from scalelens.parsing.source import Source
from scalelens.tabular.prometheus_series import Quantity, quantity_of, repeated, sensor_of

VERSION = 1
IN_HEAD = (b'"resultType"', b'"values"')

_MATRIX = re.compile(rb'\s*\{.{0,400}?"resultType"\s*:\s*"matrix"', re.DOTALL)
_SERIES = re.compile(rb'\s*\[\s*\{\s*"metric"\s*:\s*\{[^{}]{0,2000}\}\s*,\s*"values"\s*:\s*\[\s*\[')


def recognise(head: bytes, name: str) -> bool:
    return (_MATRIX.match(head) or _SERIES.match(head)) is not None


def read(source: Source, rows: Rows) -> str | None:
    try:
        answer = json.loads(source.text().decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError) as error:
        rows.problem(getattr(error, "lineno", None), "the answer is cut, or its JSON is damaged")
        return None
    found = [(quantity_of(labels), labels, values) for labels, values in _series_of(answer)]
    same = repeated({labels.get("__name__", "") for _, labels, _ in found})
    if not any(quantity for quantity, _, _ in found):
        return "an answer of Prometheus without a series of a power that is known by its name"
    samples = Samples(rows)
    for quantity, labels, values in found:
        if quantity and labels["__name__"] not in same:
            _add(samples, quantity, sensor_of(labels, quantity), values, rows)
    samples.finish("energy")
    if others := sum(quantity is None for quantity, _, _ in found):
        rows.problem(1, f"series that are not known as powers, or are of an expression, are not read ({others:,})")
    return None


def _series_of(answer: Any) -> list[tuple[dict[str, str], list[Any]]]:
    """Labels and values of each series."""
    data = answer.get("data", answer) if isinstance(answer, dict) else answer
    result = data.get("result") if isinstance(data, dict) else data
    return [
        ({name: str(value) for name, value in series["metric"].items()}, series["values"])
        for series in (result if isinstance(result, list) else [])
        if isinstance(series, dict)
        and isinstance(series.get("metric"), dict)
        and isinstance(series.get("values"), list)
    ]


def _add(samples: Samples, quantity: Quantity, sensor: Sensor, values: list[Any], rows: Rows) -> None:
    for value in values:
        stamp = stamp_of(str(value[0])) if isinstance(value, list) and len(value) == 2 else None
        if stamp is None:
            rows.problem(1, "not a time and a number", str(value)[:200])
        elif quantity.is_counter:
            samples.counter(1, sensor, str(value[1]), stamp, quantity.scale)
        else:
            samples.power(1, sensor, str(value[1]), stamp, quantity.scale)
