"""jpwr energy (CSV).

Tool: jpwr, by itself or inside CARAML
Versions: jpwr to 0.0.10; CARAML adds nodename and rank, and combined_energy.csv with a row for each rank
Yields: energy, params
Source: jpwr/clitool.py; jpwr/ctxmgr.py, energy(); CARAML llm_training/aux/combine_energy.py

Watt-hours become joules.  The tool adds up power times the time since the sample before (`riemann_right`), from the
first to the last sample only: the span is not told, so it is NULL.  The table energy_from_counter (rocm) holds the
difference of the cards' own counters (`counter`).  An energy of 0 says that nothing was measured: NULL.

Every rank measures every device of its node, so that N ranks of a node give N copies of nearly the same numbers.
The node is nodename, else the host of the file name: energy.HOST.PID.csv, energy.SUFFIX.HOST.PID.csv.  Devices and
scopes are named as in the power samples: a rocm device is a GCD, or where only even ones have energy (MI250X) a whole OAM.

Samples:
    ,0
    pynvml:0,0.13924342696070668
    gh:Module Power Socket 0,0.08786359025597572
"""

import math

from scalelens.parsing import lazy_re as re
from scalelens.parsing.jpwr_names import jpwr_host, jpwr_rank, jpwr_scopes
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.units import ratio

VERSION = 2

_DEVICE = r"(?:pynvml|rocm|gc|gh):"
_COLUMN = re.compile(rb"(?:\xef\xbb\xbf)?,0\r?\n" + _DEVICE.encode())
_TABLE = re.compile(rb"(?:\xef\xbb\xbf)?,(?:nodename,|rank,)*" + _DEVICE.encode() + rb"[^\n]*\n")
_COUNTER = re.compile(r"energy[-_]from[-_]counter")
_JOULES = ratio("Wh", "J")


def recognise(head: bytes, name: str) -> bool:
    return bool(_COLUMN.match(head) or _TABLE.match(head))


def read(source: Source, rows: Rows) -> None:
    text = source.text().decode("utf-8", "replace")
    whole, _, cut = text.rpartition("\n")
    lines = [line.rstrip("\r").split(",") for line in whole.split("\n")]
    header = lines[0]
    by_device = header == ["", "0"]
    # jpwr writes a table with a column for each device; CARAML transposes it under the same name.
    counter = _COUNTER.search(source.name) or (not by_device and "nodename" not in header)
    method = "counter" if counter else "riemann_right"
    records: list[list[tuple[int, list[str]]]] = []
    if by_device:
        starts = [k for k, fields in enumerate(lines, 1) if fields == header]  # more than one: files glued together
        for start, end in zip(starts, [*starts[1:], len(lines) + 1], strict=True):
            records.append([(k, lines[k - 1]) for k in range(start + 1, end) if lines[k - 1] != [""]])
    for k, fields in enumerate([] if by_device else lines[1:], 2):
        if len(fields) == len(header):
            records.append([(k, list(pair)) for pair in zip(header, fields, strict=True) if pair[0]])
        elif fields != [""]:
            rows.problem(k, f"the line has {len(fields)} fields, the header {len(header)}", ",".join(fields))
    host = jpwr_host(source.name)
    rows.param("measured_by_rank", jpwr_rank(source.name), origin="path")
    for record in records:
        _one_rank(record, host, method, rows)
    if cut.strip():
        rows.problem(len(lines) + 1, "the last line is cut", cut)


def _one_rank(record: list[tuple[int, list[str]]], node: str | None, method: str, rows: Rows) -> None:
    """Rows of what one rank measured: pairs of a label and a value, with their lines."""
    energies: dict[str, tuple[int, float]] = {}
    for line, fields in record:
        label, value = fields[0], fields[1] if len(fields) == 2 else ""
        if label == "nodename":
            node = value
        elif re.match(_DEVICE, label):
            energy = _watt_hours(value)
            if energy is None:
                rows.problem(line, f"the energy of {label} is not a number of watt-hours", ",".join(fields))
            else:
                energies[label] = line, energy
        elif label == "rank":
            if re.fullmatch(r"\d{1,9}", value):
                rows.param("measured_by_rank", int(value), line)
        else:
            rows.problem(line, "the row names neither a device nor a node", ",".join(fields))
    scopes = jpwr_scopes(energies, {label for label, (_, energy) in energies.items() if energy})
    for label, (line, energy) in energies.items():
        rows.add(
            "energy", line, node=node, device=label, scope=scopes[label], energy_j=energy * _JOULES or None,
            method=method,
        )  # fmt: skip


def _watt_hours(text: str) -> float | None:
    try:
        energy = float(text)
    except ValueError:
        return None
    return energy if math.isfinite(energy) and energy >= 0 else None
