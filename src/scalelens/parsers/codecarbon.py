"""CodeCarbon's emissions.csv.

Tool: codecarbon, EmissionsTracker and OfflineEmissionsTracker
Versions: 1.x (11 columns), 2.x (31), 3.x (39): read by the columns' names
Yields: energy, metrics, params
Source: codecarbon/output_methods/emissions_data.py; file.py

Kilowatt-hours become joules, and methods are `codecarbon`: what it could measure of each part, every 15 s, else an
assumption.  `total` (energy_consumed) holds cpu, gpu and ram; gpu is the sum over all GPUs, whose numbers `device`
lists.  An energy of 0 or none was not measured.  That of the memory is a constant of the tool times the time, and so is
that of a CPU whose mean power is just the power of its last moment: flag `estimated`.  With tracking_mode `machine`
all figures are of the whole machine, whatever else ran on it.  Emissions are metrics; the powers of the file are of its
last moment, no means, and left out.

A row is written at the end of a tracker, and at each flush: consecutive rows of one run_id whose duration grows
go on counting, and the last one that has an energy counts for it.  Rows with a task_name are windows of their own.  Each
tracker and each task is a part, and a window that ends at its timestamp.  The file does not name the machine: `node` is what it says of it, CPU, GPUs and memory, which tells
machines of one file apart.  Rows of several writers into one file damage each other: what has other columns than the
header is a problem.

Samples:
    timestamp,project_name,run_id,duration,emissions,cpu_power,gpu_power,cpu_energy,gpu_energy,ram_energy,energy_consumed,gpu_count
    2026-01-02T03:04:05,llm,6f1b,355.5,0.0035,42.5,198.2,0.0042,0.0196,0.0003,0.0241,4
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from scalelens.parsing.rows import Rows
from scalelens.parsing.sensors import SECOND, stamp_of
from scalelens.parsing.source import Source
from scalelens.parsing.values import amount, nanoseconds_since_1970
from scalelens.tabular.cells import MAY_BE_CUT, first_cells, rows_of
from scalelens.tabular.json_series import document_of, objects_with
from scalelens.units import ratio

VERSION = 4
IN_HEAD = (b"energy_consumed",)

_ALWAYS = {"timestamp", "project_name", "duration", "emissions", "energy_consumed"}
_JOULES = ratio("kWh", "J")
_PARTS = {"cpu_energy": "cpu", "gpu_energy": "gpu", "ram_energy": "memory", "energy_consumed": "total"}
_DEVICES = {"cpu_energy": "cpu", "gpu_energy": "gpu", "ram_energy": "ram", "energy_consumed": "total"}
_FACTS = (
    "project_name", "experiment_id", "os", "python_version", "codecarbon_version", "cpu_model", "gpu_model",
    "gpu_count", "tracking_mode", "country_iso_code", "region", "pue",
)  # fmt: skip
_SAME = 1e-3  # by which the mean of a constant power may differ from it
_MOST_GPUS = 1024  # of a machine: a row names each of them
_CLOCK_S = 2.0  # by which the beginning of a tracker may differ, by times in whole seconds
_MEASURED_S = 60.0  # of four measurements and more: a power that does not change is a constant
_EMISSIONS = {"emissions": "kg", "water_consumed": "L"}


class _Row(NamedTuple):
    line: int
    run_id: str | None
    duration: float
    values: dict[str, str]


def recognise(head: bytes, name: str) -> bool:
    if head.lstrip()[:1] in (b"{", b"["):
        return all(f'"{key}"'.encode() in head for key in _ALWAYS)
    return {*first_cells(head)} >= _ALWAYS


def read(source: Source, rows: Rows) -> None:
    tracker: list[_Row] = []
    count = 0
    read_as = _objects if source.text_head().lstrip()[:1] in (b"{", b"[") else _readable
    for row in [*_one_after_another(read_as(source, rows)), None]:
        if tracker and not (row and _goes_on(tracker[-1], row)):
            if count:
                rows.new_part()
            _tracker_rows(tracker, rows)
            count += 1
            tracker = []
        if row:
            tracker.append(row)


def _one_after_another(readable: list[_Row]) -> Iterator[_Row]:
    """Tasks of a tracker follow each other, though two may end within one of the whole seconds that are printed."""
    ends: dict[str | None, datetime] = {}
    for row in readable:
        stamp = stamp_of(row.values["timestamp"])
        if not row.values.get("task_name") or stamp is None or not isinstance(stamp[0], datetime):
            yield row
            continue
        before = ends.get(row.run_id)
        earliest = before + timedelta(seconds=row.duration) if before else stamp[0]
        late = stamp[0] < earliest <= stamp[0] + timedelta(seconds=_CLOCK_S)
        ends[row.run_id] = earliest if late else stamp[0]
        yield row._replace(values=row.values | {"timestamp": earliest.isoformat()}) if late else row


def _goes_on(before: _Row, row: _Row) -> bool:
    """Whether a row is of the tracker of the row before it, which writes again and again what it counted so far.

    A task is a window of its own.  The row that a tracker writes after its tasks has the duration of the last of them,
    and the energy of all.  CodeCarbon 1 has no run_id, and a lost one is None: then the row must have begun when the
    other one did.
    """
    if row.values.get("task_name") or row.run_id != before.run_id:
        return False
    if row.run_id is not None:
        earlier, later = (amount(values.get("energy_consumed", "")) for values in (before.values, row.values))
        return row.duration > before.duration or bool(earlier and later and later > earlier)
    if row.duration <= before.duration:
        return False
    began, begins = _began_s(before), _began_s(row)
    same = row.values.get("experiment_id") == before.values.get("experiment_id")
    return same and began is not None and begins is not None and abs(begins - began) <= _CLOCK_S


def _began_s(row: _Row) -> float | None:
    """When a tracker began, in seconds since 1970, by the clock of its rows."""
    stamp = stamp_of(row.values["timestamp"])
    ns = nanoseconds_since_1970(stamp[0]) if stamp else None
    return ns / SECOND - row.duration if ns is not None else None


def _readable(source: Source, rows: Rows) -> list[_Row]:
    """All rows that can be read."""
    readable_rows, header = [], []
    for number, row, whole in rows_of(source):
        if {*row} >= _ALWAYS:
            header = row
            continue
        values = dict(zip(header, row, strict=False))
        duration = amount(values.get("duration", ""))
        if not whole and len(row) == len(header) > 0:
            rows.problem(number, MAY_BE_CUT, ",".join(row))
            values[header[-1]] = ""
        if len(row) != len(header):
            rows.problem(
                number, f"the row has {len(row)} columns, the header {len(header)}, or it is cut", ",".join(row)
            )
        elif duration is None or stamp_of(values["timestamp"]) is None:
            rows.problem(number, "the row has no duration, or no time that can be read", ",".join(row))
        else:
            readable_rows.append(_Row(number, _run_id_of(values), duration, values))
    return readable_rows


def _objects(source: Source, rows: Rows) -> list[_Row]:
    """Rows of a JSON document, in which scripts keep what CodeCarbon gave them: objects with the names of its columns."""
    found = []
    for values in objects_with(document_of(source), _ALWAYS):
        duration = amount(values["duration"])
        if duration is None or stamp_of(values["timestamp"]) is None:
            rows.problem(1, "an object has no duration, or no time that can be read", str(values))
        else:
            found.append(_Row(1, _run_id_of(values), duration, values))
    return found


def _run_id_of(values: dict[str, str]) -> str | None:
    text = values.get("run_id", "")
    return None if text in ("", "None", "nan") else text


def _tracker_rows(tracker: list[_Row], rows: Rows) -> None:
    """Rows of one tracker: the last value that it wrote of each energy."""
    last = tracker[-1]
    rows.param("codecarbon_run_id", last.run_id, last.line, origin="environment")
    for fact in _FACTS:
        rows.param(fact, last.values.get(fact) or None, last.line, origin="environment")
    for column, scope in _PARTS.items():
        row = next((row for row in reversed(tracker) if row.values.get(column)), last)
        text = row.values.get(column, "")
        energy = amount(text)
        if energy is None and text:
            rows.problem(row.line, f"{column} is not a number of kilowatt-hours", text)
        elif energy:
            ts, origin = stamp_of(row.values["timestamp"]) or (None, None)
            rows.add(
                "energy", row.line, node=_machine(row), device=_device(column, row), scope=scope, energy_j=energy * _JOULES,
                span_s=max(each.duration for each in tracker), method="codecarbon", ts=ts, ts_origin=origin,
                flag="estimated" if _is_estimated(column, energy, row) else None,
            )  # fmt: skip
    for column, unit in _EMISSIONS.items():
        row = next((row for row in reversed(tracker) if row.values.get(column)), last)
        if (emitted := amount(row.values.get(column, ""))) is not None:
            rows.metric(row.line, None, None, None, column, emitted, unit)


def _machine(row: _Row) -> str | None:
    """What the row says of the machine, in place of its name."""
    memory = amount(row.values.get("ram_total_size", ""))
    said = [row.values.get("cpu_model"), row.values.get("gpu_model"), f"{memory:.4g} GB" if memory else None]
    return ", ".join(filter(None, said)) or None


def _device(column: str, row: _Row) -> str:
    """The devices that an energy is of; of several GPUs the number of each."""
    count = amount(row.values.get("gpu_count", ""))
    if column == "gpu_energy" and count and 1 < count <= _MOST_GPUS:
        return ",".join(map(str, range(int(count))))
    return _DEVICES[column]


def _is_estimated(column: str, energy_kwh: float, row: _Row) -> bool:
    """Whether an energy is a constant times the time: always that of memory, of a CPU where its mean power says so."""
    if column == "cpu_energy":
        power_w = amount(row.values.get("cpu_power", ""))
        mean_w = energy_kwh * _JOULES / row.duration if row.duration else 0.0
        return bool(power_w and row.duration >= _MEASURED_S and abs(mean_w / power_w - 1) < _SAME)
    return column == "ram_energy"
