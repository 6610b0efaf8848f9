"""Eco2AI's emission.csv.

Tool: eco2ai, Tracker and @track
Versions: 0.3 to 2.x: read by the columns' names
Yields: energy, metrics, params
Source: eco2ai/emission_track.py, _construct_attributes_dict()

power_consumption(kWh) is an energy, of CPU, GPUs and memory together, from start_time on for duration(s); some forks
write its parts, too.  GPUs are measured by NVML every 10 s; a CPU is its use times its TDP, and memory a constant per
GiB: flag `estimated` where no GPU is named.  Without TDP the tool takes 100 W.  start_time is local (--tz).  A tracker
that prints epoch after epoch writes its row anew: of rows of one id and start the last counts.  Rows of other ids
follow each other.  An energy that would be more than 20 kW is of a version that mistook its unit: a problem, and not
an energy.

Samples:
    id,project_name,experiment_description,epoch,start_time,duration(s),power_consumption(kWh),CO2_emissions(kg),CPU_name,GPU_name,OS,region/country,cost
    4e49,llm,training,N/A,2026-01-02 03:04:05,483.5,0.00319,0.002,"CPU @ 2.30GHz/1 device(s), TDP:45.0",T1000 1 device(s),Linux,DE,0
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from scalelens.parsing.rows import Rows
from scalelens.parsing.sensors import stamp_of
from scalelens.parsing.source import Source
from scalelens.parsing.values import amount
from scalelens.tabular.cells import MAY_BE_CUT, first_cells, rows_of
from scalelens.units import ratio

VERSION = 1
IN_HEAD = (b"duration(s)",)

_ENERGY = "power_consumption(kWh)"
_ALWAYS = {"id", "project_name", "start_time", "duration(s)", _ENERGY}
_PARTS = {
    "cpu_power_consumption(kWh)": "cpu",
    "gpu_power_consumption(kWh)": "gpu",
    "ram_power_consumption(kWh)": "memory",
    _ENERGY: "total",
}
_FACTS = {"project_name": "project_name", "OS": "os", "CPU_name": "cpu_model", "region/country": "region"}
_JOULES = ratio("kWh", "J")
_MOST_W = 20_000.0  # of one machine


class _Row(NamedTuple):
    line: int
    began: datetime
    duration_s: float
    values: dict[str, str]


def recognise(head: bytes, name: str) -> bool:
    return {*first_cells(head)} >= _ALWAYS


def read(source: Source, rows: Rows) -> None:
    trackers: dict[tuple[str, datetime], _Row] = {}
    for row in _readable(source, rows):
        trackers[row.values["id"], row.began] = row
    for count, row in enumerate(_in_sequence([*trackers.values()])):
        if count:
            rows.new_part()
        _tracker(row, rows)


def _in_sequence(trackers: list[_Row]) -> Iterator[_Row]:
    """Rows as they began, or where the row before ended within that second: begins are of whole seconds."""
    ended: dict[str | None, datetime] = {}
    for row in trackers:
        node = row.values.get("CPU_name")
        before = ended.get(node)
        if before and timedelta() < before - row.began < timedelta(seconds=1):
            row = row._replace(began=before)
        ended[node] = row.began + timedelta(seconds=row.duration_s)
        yield row


def _readable(source: Source, rows: Rows) -> list[_Row]:
    """All rows that can be read."""
    readable, header = list[_Row](), list[str]()
    for line, cells, whole in rows_of(source):
        if {*cells} >= _ALWAYS:
            header = cells
            continue
        values = dict(zip(header, cells, strict=False))
        stamp, duration = stamp_of(values.get("start_time", "")), amount(values.get("duration(s)", ""))
        if not whole or len(cells) != len(header):
            fits = "the row is cut, or has other columns than the header" if whole else MAY_BE_CUT
            rows.problem(line, fits, ",".join(cells))
        elif stamp is None or not isinstance(stamp[0], datetime) or duration is None:
            rows.problem(line, "the row has no duration, or no time that can be read", ",".join(cells))
        else:
            readable.append(_Row(line, stamp[0], duration, values))
    return readable


def _tracker(row: _Row, rows: Rows) -> None:
    """Rows of one tracker: its energies, which end where it ended."""
    for column, fact in _FACTS.items():
        rows.param(fact, row.values.get(column) or None, row.line, origin="environment")
    gpus = row.values.get("GPU_name", "")
    has_gpu = bool(gpus) and not gpus.startswith("0 device")
    power_w = (amount(row.values[_ENERGY]) or 0.0) * _JOULES / row.duration_s if row.duration_s > 0 else 0.0
    if power_w > _MOST_W:
        rows.problem(row.line, f"its energy would be {power_w:,.0f} W of one machine: it is not in kilowatt-hours")
        return
    for column, scope in _PARTS.items():
        energy = amount(row.values.get(column, ""))
        if not energy:
            continue
        joules = energy * _JOULES
        measured = scope == "gpu" or (scope == "total" and has_gpu)
        rows.add(
            "energy", row.line, node=row.values.get("CPU_name") or None, device=scope, scope=scope, energy_j=joules,
            span_s=row.duration_s, method="eco2ai", ts=row.began + timedelta(seconds=row.duration_s),
            ts_origin="naive", flag=None if measured else "estimated",
        )  # fmt: skip
    if (emitted := amount(row.values.get("CO2_emissions(kg)", ""))) is not None:
        rows.metric(row.line, None, None, None, "emissions", emitted, "kg")
