"""What trackers measure of the machine by themselves: power of its devices, and metrics with their device.

A name holds the device and the quantity: `gpu.0.powerWatts` of W&B, `system/gpu_0_power_usage_watts` of MLflow,
`gpu/0/power` of trackio.  Power over all devices, or of one process, would count devices twice: it stays a metric.
"""

import functools
from typing import NamedTuple

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.sensors import Moment, Samples, Sensor
from scalelens.parsing.values import number

_NAME = re.compile(r"(?:system/)?(?:([\w.-]+)/)?(gpu|tpu|trn|gcd|npu)[./_](\d{1,4})[./_](.+?)(?:/l:(.+))?")
_POWERS = {"powerwatts", "power_usage_watts", "power"}
_SPELT = (
    (re.compile(r"watts\Z|\Apower(?:_limit)?\Z|\Apowerlimit\Z", re.IGNORECASE), "W"),
    (re.compile(r"percent(?:age)?\Z", re.IGNORECASE), "%"),
    (re.compile(r"bytes\Z", re.IGNORECASE), "bytes"),
    (re.compile(r"megabytes\Z|MB\Z"), "MB"),
)
_UNITS = {
    "gpu": "%", "memory": "%", "memoryAllocated": "%", "utilization": "%", "temp": "°C", "temperature": "°C",
    "smClock": "MHz", "memoryClock": "MHz", "graphicsClock": "MHz", "allocated_memory": "GiB", "total_memory": "GiB",
    "fanSpeed": "%", "encoderUtilization": "%",
}  # fmt: skip


class _Reading(NamedTuple):
    """What a name says."""

    place: str | None  # node and device
    sensor: Sensor | None  # if it is the power of a device
    unit: str | None


@functools.lru_cache(maxsize=4096)
def _reading_of(name: str) -> _Reading:
    match = _NAME.fullmatch(name)
    if not match:
        return _Reading(None, None, None)
    node, kind, device, quantity, label = match.groups()
    node = node or label
    unit = _UNITS.get(quantity) or next((unit for end, unit in _SPELT if end.search(quantity)), None)
    place = "/".join(filter(None, (node, device)))
    is_power = quantity.lower() in _POWERS and kind in ("gpu", "gcd")
    return _Reading(place, Sensor(node, device, kind) if is_power else None, unit)


def is_of_system(name: str) -> bool:
    """Whether a name is one that a tracker gives by itself."""
    return name.startswith("system/") or _NAME.fullmatch(name) is not None


class SystemMetrics:
    """The samples of one part of a file."""

    def __init__(self, rows: Rows, node: str | None = None) -> None:
        self._rows, self.node = rows, node
        self._samples = Samples(rows)

    def take(
        self, line: int, name: str, value: float, stamp: tuple[Moment, str] | None, step: int | None = None
    ) -> None:
        """A value, measured at a time."""
        place, sensor, unit = _reading_of(name)
        if sensor is not None and number(value) is not None:
            sensor = sensor._replace(node=sensor.node or self.node)
            self._samples.power(line, sensor, repr(float(value)), stamp)
        else:
            self._rows.metric(line, None, place, step, name, value, unit)
