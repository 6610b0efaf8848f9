"""Rows of the traces that `nsys stats` prints as tables, as events: one for each kernel, copy, call or range."""

import json
import re
from decimal import Decimal, InvalidOperation
from typing import Any

from scalelens.parsing.values import integer
from scalelens.units import UNITS

# The columns that say which report a table is of, and the category of its rows.
_REPORTS = (
    ({"Strm", "CorrId"}, "kernel"),  # cuda_gpu_trace, gputrace
    ({"CorrID", "Result"}, "cuda_runtime"),  # cuda_api_trace, cudaapitrace
    ({"RangeId", "Lvl"}, "nvtx"),  # nvtx_pushpop_trace
)
_TIMED = re.compile(r"(Start|Duration|End) \((ns|us|µs|μs|ms|s)\)")
_DEVICE = re.compile(r"(.+?) \((\d+)\)")
_DIGITS = 18  # that a column holds
_LONGEST_NAME = 100  # letters of a column's name, which stands in the arguments of each row
_IN_COLUMNS = {"Strm", "Stream", "CorrId", "CorrID", "Device", "Name", "PID", "Pid", "TID", "Tid"}


def category_of(header: list[str]) -> str | None:
    """The category of the rows below a header; None where it is of another table."""
    timed = {match[1] for name in header if (match := _TIMED.fullmatch(name))}
    if not {"Start", "Duration"} <= timed or "Name" not in header or max(map(len, header)) > _LONGEST_NAME:
        return None
    return next((category for columns, category in _REPORTS if columns <= {*header}), None)


def event_of(category: str, cells: dict[str, str]) -> dict[str, Any] | None:
    """An event of a row; None where it has no time that can be."""
    times = {
        match[1]: _nanoseconds(cell, match[2]) for name, cell in cells.items() if (match := _TIMED.fullmatch(name))
    }
    start, duration = times["Start"], times["Duration"]
    if start is None or duration is None or duration < 0:
        return None
    name = cells["Name"]
    event: dict[str, Any] = {"ph": "X", "name": name, "start_ns": start, "duration_ns": duration}
    correlation = integer(cells.get("CorrId", cells.get("CorrID", "")), _DIGITS)
    event |= {"category": _exactly(category, name), "correlation": correlation}
    if category == "kernel":
        device = device_of(cells)
        event |= {"process": device[1] if device else cells.get("Device") or None}
        event |= {"thread": cells["Strm"] or None, "stream": integer(cells["Strm"], _DIGITS)}
    else:
        event |= {"process": cells.get("PID", cells.get("Pid")), "thread": cells.get("TID", cells.get("Tid"))}
    others = {key: cell for key, cell in cells.items() if cell and key not in _IN_COLUMNS and not _TIMED.fullmatch(key)}
    return event | {"args": json.dumps(others) if others else None}


def device_of(cells: dict[str, str]) -> tuple[str, str] | None:
    """Model and number of the device that a row names."""
    match = _DEVICE.fullmatch(cells.get("Device", ""))
    return (match[1], match[2]) if match else None


def _exactly(category: str, name: str) -> str:
    if category == "kernel" and (match := re.match(r"\[CUDA (memcpy|memset)|\[CUDA Unified Memory (memcpy)", name)):
        return f"gpu_{match[1] or match[2]}"
    return "cuda_driver" if category == "cuda_runtime" and re.match(r"cu[A-Z]", name) else category


def _nanoseconds(cell: str, unit: str) -> int | None:
    try:
        exact = Decimal(cell.replace(",", "")) * UNITS[unit].factor / UNITS["ns"].factor
        return round(exact) if abs(exact) < 1 << 62 else None
    except (InvalidOperation, ValueError, OverflowError):
        return None
