"""perun's results (HDF5).

Tool: perun monitor; its own file
Versions: 1.0
Yields: power, energy, params
Source: perun/io/hdf5.py

A tree of nodes: an application, its runs by the time of their start, rounds, hosts, groups of devices, sensors.  Each
round of a sensor has the energy that perun integrated (`trapezoid`), in joules; rounds follow each other, and `ts` counts
their seconds, without what lies between them.  Samples of power are read where there is one round, as each round
counts from its own start, whose time is not in the file (ts_origin `relative`).  `line` is the number of the sample, from 1.

A file that holds several runs of an application has them as parts.
"""

import io
from collections.abc import Iterator
from typing import Any

from scalelens.parsing.hdf5_file import MAGIC, Stored, own_member
from scalelens.parsing.perun_sensors import perun_sensor
from scalelens.parsing.rows import Rows
from scalelens.parsing.sensors import SECOND, Samples, Sensor
from scalelens.parsing.source import Source
from scalelens.parsing.values import amount

VERSION = 2
IN_HEAD = (b"last_execution_dt",)

_MOST_GROUPS = 10_000  # of a file
_FACTS = {"name": "device_model", "driver_version": "driver_version"}


def recognise(head: bytes, name: str) -> bool:
    return head.startswith(MAGIC) and all(word in head for word in (b"last_execution_dt", b"metrics", b"nodes"))


def read(source: Source, rows: Rows) -> None:
    import h5py  # 15 MB of memory that few folders need

    try:
        content = source.read()
        with h5py.File(io.BytesIO(content), "r") as file:
            reader = _Reader(rows, len(content))
            for _, application in reader.members(file):
                for k, (_, run) in enumerate(reader.children(application)):
                    if k:
                        rows.new_part()
                    reader.run(run)
    except Exception as error:  # whatever HDF5 says of a damaged file
        rows.problem(
            None, f"the HDF5 file is cut, damaged, or not as perun writes it ({type(error).__name__}: {error})"
        )


class _Reader:
    """The nodes of one file, as rows."""

    def __init__(self, rows: Rows, size_bytes: int) -> None:
        self.rows, self.size_bytes = rows, size_bytes
        self.left = _MOST_GROUPS

    def members(self, group: Any) -> Iterator[tuple[str, Any]]:
        """The groups within a group, in the order of their names; rounds by their number."""
        for name in sorted(group, key=lambda name: (len(name), name)):
            self.left -= 1
            if self.left < 0:
                raise ValueError(f"more than {_MOST_GROUPS} groups")
            yield name, own_member(group, name)

    def children(self, node: Any) -> Iterator[tuple[str, Any]]:
        yield from self.members(own_member(node, "nodes"))

    def run(self, run: Any) -> None:
        rounds = [*self.children(run)]
        begin_s = 0.0
        for _, each in rounds:
            for host, node in self.children(each):
                for group, devices in self.children(node):
                    for name, sensor in self.children(devices):
                        self.sensor(perun_sensor(host, group, name), sensor, begin_s, len(rounds) == 1)
            begin_s += _metric(each, "RUNTIME") or 0.0

    def sensor(self, named: Sensor, sensor: Any, begin_s: float, is_only: bool) -> None:
        for attribute, fact in _FACTS.items():
            if named.scope == "gpu" and (value := str(sensor.attrs.get(attribute, ""))):
                self.rows.param(fact, value, origin="environment")
        if "ENERGY" not in (metrics := own_member(sensor, "metrics")):
            return
        energy_j, span_s = _metric(sensor, "ENERGY"), _metric(sensor, "RUNTIME")
        if energy_j is None:
            why = f"the energy of {named.device} is not a finite number of joules"
            self.rows.problem(None, why, str(metrics["ENERGY"].attrs.get("value"))[:200])
        else:
            self.rows.add(
                "energy", None, node=named.node, device=named.device, scope=named.scope, energy_j=energy_j,
                span_s=span_s, ts=None if span_s is None else round((begin_s + span_s) * SECOND), ts_origin="relative",
            )  # fmt: skip
        if is_only:
            self.samples(named, own_member(sensor, "raw_data"))

    def samples(self, named: Sensor, raw: Any) -> None:
        stored = Stored(raw, self.size_bytes)
        if raw["values"].attrs.get("unit") != "W" or raw["timesteps"].attrs.get("unit") != "s":
            self.rows.problem(None, f"the samples of {named.device} are not in watts and seconds")
            return
        times, values = stored.numbers("timesteps"), stored.numbers("values")
        if times is None or values is None or times.shape != values.shape or times.ndim != 1:
            raise ValueError(f"the samples of {named.device} are not numbers")
        in_s, in_w = float(raw["timesteps"].attrs["mag"]), float(raw["values"].attrs["mag"])
        samples = Samples(self.rows)
        for line, (seconds, value) in enumerate(zip(times.tolist(), values.tolist(), strict=True), 1):
            samples.power(line, named, str(value), (round(seconds * in_s * SECOND), "relative"), in_w)


def _metric(node: Any, name: str) -> float | None:
    """A figure of a node, in its unit times its magnitude."""
    metrics = own_member(node, "metrics")
    if name not in metrics:
        return None
    metric = own_member(metrics, name)
    number = amount(str(metric.attrs.get("value")))
    return None if number is None else number * float(metric.attrs.get("mag", 1))
