"""Power of whole nodes of Grid'5000, as the API of Kwollect gives it.

Tool: Kwollect, api.grid5000.fr/stable/sites/SITE/metrics?nodes=...&metrics=wattmetre_power_watt
Versions: a JSON array of objects, one for each reading
Yields: power
Source: kwollect, the view `metrics` of its database (timestamp, device_id, metric_id, value, labels); Grid'5000's wiki

A reading of `wattmetre_power_watt` is that of an outlet that feeds the node; `bmc_node_power_watt`, of the board's own
controller, is read where the file has no such reading of a wattmeter, as it is the same power again.  Other metrics are
not read, and counted in one row of `problems`.  Times have their zone.

Samples:
    [{"timestamp": "2026-01-02T13:28:00+01:00", "device_id": "gros-12", "metric_id": "wattmetre_power_watt", "value": 18.69, "labels": {}},
     {"timestamp": "2026-01-02T13:28:01+01:00", "device_id": "gros-12", "metric_id": "wattmetre_power_watt", "value": 19.31, "labels": {}}]
"""

from collections import Counter

from scalelens.parsing.rows import Rows
from scalelens.parsing.sensors import Samples, Sensor, stamp_of
from scalelens.parsing.source import Source
from scalelens.tabular.json_array import array_header, array_records

VERSION = 1
IN_HEAD = (b"metric_id",)

_KEYS = {"timestamp", "device_id", "metric_id", "value"}
_WATTMETER = "wattmetre_power_watt"
_CONTROLLER = "bmc_node_power_watt"


def recognise(head: bytes, name: str) -> bool:
    return _KEYS.issubset(array_header(head))


def read(source: Source, rows: Rows) -> None:
    metrics = Counter(str(record.cells.get("metric_id")) for record in array_records(source) if not record.damage)
    wanted = _WATTMETER if _WATTMETER in metrics else _CONTROLLER
    samples = Samples(rows)
    for record in array_records(source):
        if record.damage:
            rows.problem(record.line, record.damage, record.text)
        elif record.cells.get("metric_id") == wanted:
            sensor = Sensor(str(record.cells.get("device_id")), "node", "node_ac")
            stamp = stamp_of(str(record.cells.get("timestamp")))
            if stamp is None:
                rows.problem(record.line, "the reading has no time", record.text)
            else:
                samples.power(record.line, sensor, str(record.cells.get("value")), stamp)
    if others := metrics.total() - metrics[wanted]:
        names = ", ".join(sorted(name for name in metrics if name != wanted)[:5])
        rows.problem(1, f"readings of other metrics are not read ({others:,}): {names}")
