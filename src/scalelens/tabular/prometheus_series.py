"""Powers and counters of energy among Prometheus's series, by the names that exporters give them and their labels."""

from collections.abc import Mapping
from typing import NamedTuple

from scalelens.parsing import lazy_re as re
from scalelens.parsing.sensor_words import scope_of_words
from scalelens.parsing.sensors import Sensor
from scalelens.units import factors

_J = factors("J", "mJ", "uJ", "kWh", "Wh")
_W = factors("W", "mW", "uW", "kW")


class Quantity(NamedTuple):
    """What a series counts: joules since some time, or watts of a moment."""

    is_counter: bool
    scale: float  # to joules or watts
    scope: str | None
    word: str | None = None  # of the sensor, where labels do not tell it from others


_KNOWN = {  # names without a unit, or with words that mislead
    "DCGM_FI_DEV_POWER_USAGE": Quantity(False, _W["W"], "gpu"),
    "DCGM_FI_DEV_POWER_USAGE_INSTANT": Quantity(False, _W["W"], "gpu"),
    "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": Quantity(True, _J["mJ"], "gpu"),
    "DCGM_FI_DEV_CPU_POWER_UTIL_CURRENT": Quantity(False, _W["W"], "cpu", "cpu"),
    "ipmi_dcmi_power_consumption_watts": Quantity(False, _W["W"], "node_ac", "node"),
    "nvidia_smi_power_draw_watts": Quantity(False, _W["W"], "gpu"),
    "nvidia_gpu_power_usage_milliwatts": Quantity(False, _W["mW"], "gpu"),
    "nvml_power_usage_milliwatts": Quantity(False, _W["mW"], "gpu"),
    "habanalabs_power_mW": Quantity(False, _W["mW"], "gpu"),
    "gpu_package_power": Quantity(False, _W["W"], "gpu"),  # of AMD's device-metrics-exporter
    "gpu_average_package_power": Quantity(False, _W["W"], "gpu"),
    "rocm_average_socket_power_watts": Quantity(False, _W["W"], "gpu"),
    "node_hwmon_power_average_watt": Quantity(False, _W["W"], None, "hwmon"),
    "npu_chip_info_power": Quantity(False, _W["W"], "gpu"),
    "scaph_host_power_microwatts": Quantity(False, _W["uW"], "total", "power"),
    "scaph_host_energy_microjoules": Quantity(True, _J["uJ"], "total", "energy"),
    "scaph_socket_power_microwatts": Quantity(False, _W["uW"], "cpu", "socket"),
    "scaph_domain_power_microwatts": Quantity(False, _W["uW"], None, "domain"),
}
_SAME_SENSOR = {  # where both are there, the first is read
    "DCGM_FI_DEV_POWER_USAGE_INSTANT": "DCGM_FI_DEV_POWER_USAGE",
    "nvidia_smi_power_draw_instant_watts": "nvidia_smi_power_draw_watts",
    "nvidia_smi_power_draw_average_watts": "nvidia_smi_power_draw_watts",
    "gpu_average_package_power": "gpu_package_power",
}
_COUNTER = re.compile(r"(?:kepler|node)_(?:node_|rapl_)?(\w+?)_(micro|milli)?joules(?:_total)?")
_POWER = re.compile(r"(?:kepler_)?(?:node_)?(\w+?)_(micro|milli|kilo)?watts?")
_DOMAINS = {
    "package": "cpu", "pkg": "cpu", "cpu": "cpu", "core": "cpu_part", "uncore": "cpu_part", "dram": "memory",
    "gpu": "gpu", "platform": "platform", "psys": "platform",
}  # fmt: skip
# Shares of programs; figures of a part of the time; limits and the like.
_NO_SENSOR = re.compile(
    r"(?:^|_)(?:containers?|process(?:es)?|pods?|vms?|cgroups?|namespaces?|jobs?|units?|tasks?|apps?|idle|active|dynamic"
    r"|other|limits?|caps?|max|min|average|avg|mean|default|enforced|management|requested|threshold|capacity|budget"
    r"|rated|tdp|crit|interval|supply|other_host|stat)(?:_|$)"
)
_SPELT = re.compile(r'\s*(?:(\w[\w:]*)\s*)?(?:\{((?:[^"{}]|"(?:[^"\\]|\\.)*")*)\})?\s*')
_LABEL = re.compile(r'(?<![\w.])([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"')
_OF_NODE = ("__name__", "instance", "job", "Hostname", "hostname", "node", "node_name", "nodename", "host")
_PLACES = ("Hostname", "hostname", "instance", "node", "node_name", "nodename", "host")
_DEVICES = ("gpu", "gpu_id", "minor_number", "minor", "index", "device_id", "uuid", "UUID", "id")
_ZONES = ("zone", "domain", "sensor", "name", "domain_name", "rail")


def quantity_of(labels: Mapping[str, str]) -> Quantity | None:
    """What the series of these labels counts; None of one that is not known, of shares of programs, and of limits."""
    name = labels.get("__name__", "")
    zone = next((labels[label] for label in _ZONES if labels.get(label)), "")
    if known := _KNOWN.get(name):
        return known._replace(scope=known.scope or scope_of_words(zone))
    if _NO_SENSOR.search(name) or "_per_" in name:
        return None
    if match := _COUNTER.fullmatch(name):
        scope = _DOMAINS.get(_core(zone)) or _DOMAINS.get(match[1])
        scale = _J[{"micro": "uJ", "milli": "mJ"}.get(match[2] or "", "J")]
        return Quantity(True, scale, scope, match[1]) if scope else None
    if match := _POWER.fullmatch(name):
        scale = _W[{"micro": "uW", "milli": "mW", "kilo": "kW"}.get(match[2] or "", "W")]
        scope = (_DOMAINS.get(_core(zone)) if name.startswith("kepler_") else None) or scope_of_words(match[1])
        return Quantity(False, scale, scope or scope_of_words(zone), match[1])
    return None


def _core(zone: str) -> str:
    """`package` of `package-0`."""
    return re.sub(r"[-_ ]?\d+\Z", "", zone.lower())


def repeated(names: set[str]) -> set[str]:
    """Those of the names that measure what another of them does."""
    return {name for name, same in _SAME_SENSOR.items() if name in names and same in names}


def sensor_of(labels: Mapping[str, str], quantity: Quantity) -> Sensor:
    """The device by its number or, with all labels that are not of the node, by what tells it from others."""
    node = next((labels[label] for label in _PLACES if labels.get(label)), None)
    node = re.sub(r":\d{1,5}\Z", "", node) if node else None
    if quantity.word == "node":
        return Sensor(node, "node", quantity.scope)
    if quantity.word is None:
        device = next((labels[label] for label in _DEVICES if labels.get(label)), None)
        return Sensor(node, f"{device}/{labels['GPU_I_ID']}" if "GPU_I_ID" in labels else device, quantity.scope)
    own = " ".join(labels[name] for name in sorted(labels) if name not in _OF_NODE)
    return Sensor(node, f"{quantity.word} {own}".strip(), quantity.scope)


def labels_of(text: str) -> dict[str, str] | None:
    """The labels of a series as `name{label="value"}` writes it; None for other text, such as an expression."""
    match = _SPELT.fullmatch(text)
    if not match or not (match[1] or match[2]):
        return None
    labels = {name: re.sub(r"\\(.)", r"\1", value) for name, value in _LABEL.findall(match[2] or "")}
    return {**labels, "__name__": match[1]} if match[1] else labels if "__name__" in labels else None


def series_column(name: str) -> tuple[Quantity, str | None] | None:
    """The quantity of a column that a series names, as in Grafana's CSV, and its device with the node."""
    labels = labels_of(name) if "{" in name or name in _KNOWN else None
    quantity = quantity_of(labels) if labels else None
    if labels is None or quantity is None:
        return None
    sensor = sensor_of(labels, quantity)
    return quantity, "/".join(filter(None, sensor[:2])) or None


def is_series(name: str) -> bool:
    """Whether a column is named after a series with labels, or an expression over one."""
    return "{" in name and _LABEL.search(name) is not None
