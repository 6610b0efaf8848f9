"""Sensors as perun names them: CUDA:0_POWER, cpu_0_package-0, ram_0_dram."""

from scalelens.parsing.sensor_words import scope_of_words
from scalelens.parsing.sensors import Sensor

_GROUPS = {"gpu": "gpu", "cpu": "cpu", "ram": "memory"}


def perun_sensor(host: str, group: str, name: str) -> Sensor:
    """A sensor of power by its host, its group of devices and its name."""
    device = name.removesuffix("_POWER")
    return Sensor(host, device, scope_of_words(device) or _GROUPS.get(group))
