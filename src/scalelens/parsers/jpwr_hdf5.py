"""jpwr power samples and energies (HDF5).

Tool: jpwr, by itself; its default file type
Versions: 0.0.8 to 0.0.10
Yields: power, energy, params
Source: jpwr/clitool.py, which calls pandas' to_hdf with the key jpwr in its fixed layout

A frame with `timestamps` holds samples, a series the energies that the tool added up (`riemann_right`), a frame
without times those of the cards' own counters (`counter`); all in the units and with the pitfalls of the CSV.
`line` is the number of the row, from 1.  Text in a frame is pickled and not read.
"""

import io
import math
from collections.abc import Sequence
from typing import Any

from scalelens.parsing.hdf5_file import MAGIC, Stored, own_member
from scalelens.parsing.jpwr_names import jpwr_host, jpwr_rank, jpwr_scopes
from scalelens.parsing.rows import Rows
from scalelens.parsing.sensors import doubt, epoch
from scalelens.parsing.source import Source
from scalelens.units import ratio

VERSION = 2
IN_HEAD = (b"pandas_type",)

_JOULES = ratio("Wh", "J")
_MOST_BLOCKS = 64  # pandas has one for each type of column


def recognise(head: bytes, name: str) -> bool:
    return head.startswith(MAGIC) and b"jpwr" in head and b"pandas_type" in head


def read(source: Source, rows: Rows) -> None:
    import h5py  # 15 MB of memory that few folders need

    try:
        content = source.read()
        with h5py.File(io.BytesIO(content), "r") as file:
            kind, columns = _table(own_member(file, "jpwr"), len(content))
    except Exception as error:  # whatever HDF5 says of a damaged file
        rows.problem(None, f"the HDF5 file is cut, damaged, or not as jpwr writes it ({type(error).__name__}: {error})")
        return
    labels = [label for label in columns if ":" in label]
    powered = {label for label in labels if any(number > 0 for number in columns[label])}
    scopes = jpwr_scopes(labels, powered)
    host = jpwr_host(source.name)
    rows.param("measured_by_rank", jpwr_rank(source.name), origin="path")
    if "timestamps" not in columns:
        for label in labels:
            for line, energy in enumerate(columns[label], 1):
                whole = math.isfinite(energy) and energy >= 0
                if not whole:
                    rows.problem(line, f"the energy of {label} is not a number of watt-hours", str(energy))
                    continue
                rows.add(
                    "energy", line, node=host, device=label, scope=scopes[label], energy_j=energy * _JOULES or None,
                    method="riemann_right" if kind == "series" else "counter",
                )  # fmt: skip
        return
    for line, seconds in enumerate(columns["timestamps"], 1):
        stamp, unit = epoch(repr(seconds))
        if unit != "s":
            rows.problem(line, "the time is not a number of seconds since 1970", str(seconds))
            continue
        for label in labels:
            power = columns[label][line - 1]
            if math.isinf(power) or power < 0:
                rows.problem(line, f"the power of {label} is not a number", str(power))
                continue
            forced = label.startswith("rocm:") and label not in powered
            flag = "forced_zero" if forced and power == power else doubt(power, scopes[label])
            rows.add(
                "power", line, node=host, device=label, scope=scopes[label], ts=stamp, ts_origin="utc", flag=flag,
                power_w=None if flag in ("na", "forced_zero") else power,
            )  # fmt: skip


def _table(group: Any, size_bytes: int) -> tuple[str, dict[str, Sequence[float]]]:
    """Whether pandas wrote a frame or a series, and its numbers by the name of their column.

    Raises whatever h5py does, and KeyError or ValueError for another layout.
    """
    stored = Stored(group, size_bytes)
    kind = group.attrs["pandas_type"].decode()
    if kind == "series":
        numbers = [[number] for number in stored.array("values").tolist()]
        return kind, dict(zip(stored.names("index"), numbers, strict=True))
    columns: dict[str, Sequence[float]] = {}
    blocks = int(group.attrs["nblocks"])
    if blocks > _MOST_BLOCKS:
        raise ValueError(f"a frame of {blocks} tables")
    for k in range(blocks):
        if (values := stored.numbers(f"block{k}_values")) is not None:
            columns |= zip(stored.names(f"block{k}_items"), values.T.tolist(), strict=True)
    if len({len(column) for column in columns.values()}) > 1:
        raise ValueError("columns of several lengths")
    return kind, columns
