"""Events of a PopVision trace, exported where Graphcore's SDK is.

Tool: the script of docs/popvision.md, by libpva
Versions: libpva of Poplar SDK 2.3 to 3.3
Yields: events
Source: libpva: trace.processes[].threads[].events[], each with label, timestamp, duration, channel, children()

One JSON object a line.  Times are in microseconds of the trace's own clock; a depth above 0 is a call within a call.
An event without a duration is an instant.

Samples:
    {"pid": 4532, "tid": 4540, "depth": 0, "label": "Engine::run", "channel": "poplar", "ts_us": 1201.5, "dur_us": 88.25}
"""

import json
import math
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.values import UNREADABLE_TIME

VERSION = 1
IN_HEAD = (b'{"pid"',)

_HEAD = re.compile(rb'\s*\{"pid": ?-?\d+, ?"tid": ?-?\d+, ?"depth": ?\d+, ?"label":')
_FAR = 9e15  # microseconds that nanoseconds of 64 bits can hold


def recognise(head: bytes, name: str) -> bool:
    return bool(_HEAD.match(head))


def read(source: Source, rows: Rows) -> None:
    number, rest = 0, b""
    for block in source.utf8():
        *lines, rest = (rest + block).split(b"\n")
        for line in lines:
            number += 1
            if line.strip():
                _event(line, number, rows)
    if rest.strip():
        _event(rest, number + 1, rows)


def _event(line: bytes, number: int, rows: Rows) -> None:
    try:
        record = json.loads(line)
        start, duration = _nanoseconds(record["ts_us"]), _nanoseconds(record.get("dur_us"))
        label, channel = record["label"], record.get("channel")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        rows.problem(number, "the line is cut, or lacks a label or a time", line.decode("utf-8", "replace"))
        return
    if start is None or (duration is not None and duration < 0):
        rows.problem(number, UNREADABLE_TIME, line.decode("utf-8", "replace"))
        return
    rows.add(
        "events", number, ph="X" if duration is not None else "i", name=str(label), start_ns=start,
        duration_ns=duration, category=str(channel).lower() if channel else None, process=_text(record.get("pid")),
        thread=_text(record.get("tid")), args=json.dumps({"depth": record["depth"]}) if record.get("depth") else None,
    )  # fmt: skip


def _nanoseconds(microseconds: Any) -> int | None:
    if isinstance(microseconds, bool) or not isinstance(microseconds, int | float):
        return None
    return round(microseconds * 1000) if math.isfinite(microseconds) and abs(microseconds) < _FAR else None


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
