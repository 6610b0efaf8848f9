"""Logs in which each line is an object of JSON with the printed line as a text, as containers and loggers write them.

    {"log": "step 10 loss 2.3\\n", "stream": "stdout", "time": "2026-01-02T03:04:05.678901234Z"}      Docker
    {"asctime": "2026-01-02 03:04:05,678", "levelname": "INFO", "message": "step 10 loss 2.3"}        Python
    {"MESSAGE": "step 10 loss 2.3", "__REALTIME_TIMESTAMP": "1767323045678901", "_PID": "4242"}       journald

What was printed is read as the line, after its time.  An object with numbers of its own is a record, not a line.
"""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

_TEXTS = ("log", "message", "msg", "MESSAGE", "textPayload", "event", "line")
_TIMES = (
    "time", "timestamp", "asctime", "ts", "@timestamp", "__REALTIME_TIMESTAMP", "eventTime", "created", "datetime",
)  # fmt: skip
# Numbers that tell where a line comes from, and nothing of what it says.
_ABOUT = {
    "level", "levelno", "lineno", "lineNumber", "process", "processid", "pid", "thread", "v", "msecs",
    "relativeCreated", "ingestionTime", "seq", "priority", "_PID", *_TIMES,
}  # fmt: skip
# One of these stands beside a printed line.
_BESIDE = {"stream", "severity", "level", "levelname", "logger", "name", *_TIMES}
_LEAST = 3  # whole lines in the head of a file
_LOOKED_AT = 50
_FIRST, _LAST = 946_684_800, 4_102_444_800  # seconds: the years 2000 to 2100


def unwrapping(head: bytes) -> Callable[[bytes], bytes] | None:
    """What takes the printed line out of a line of such a log; None for any other text."""
    if not head.lstrip().startswith(b"{"):
        return None
    lines = [line for line in head.splitlines()[:_LOOKED_AT] if line.strip()]
    if not head.endswith(b"\n") or len(lines) == _LOOKED_AT:
        lines = lines[:-1]  # it may be cut
    if len(lines) < _LEAST:
        return None
    records = [_record(line) for line in lines]
    for text in _TEXTS:
        if all(record is not None and _is_line(record, text) for record in records):
            return lambda line: _printed(line, text)
    return None


def _record(line: bytes) -> dict[str, Any] | None:
    if not line.lstrip().startswith(b"{"):
        return None
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _is_line(record: dict[str, Any], text: str) -> bool:
    """Whether an object holds a printed line under a name, and no number beside it that may be of a record."""
    others = record.keys() - {text}
    return (
        isinstance(record.get(text), str)
        and not others.isdisjoint(_BESIDE)
        and not any(isinstance(record[name], int | float) and name not in _ABOUT for name in others)
    )


def _printed(line: bytes, text: str) -> bytes:
    """The printed line with its time before it; what is not such an object stays as it is."""
    record = _record(line)
    if record is None or not _is_line(record, text):
        return line
    printed = record[text].rstrip("\n").replace("\n", "\r")  # more lines of one object are pieces of one line
    time = next((stamp for name in _TIMES if name in record and (stamp := _stamp(record[name]))), "")
    return f"{time}{printed}".encode("utf-8", "replace")


def _stamp(value: Any) -> str:
    """A time as it stands before lines of a log, with a blank after it."""
    if isinstance(value, str) and not value.isdecimal():
        return f"{value} " if value[:4].isdecimal() and "\n" not in value else ""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):  # no number, or one that no float holds
        return ""
    for per_s in (1, 1e3, 1e6, 1e9):
        if _FIRST <= number / per_s < _LAST:
            moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=number / per_s)
            return f"{moment:%Y-%m-%dT%H:%M:%S.%f}Z "
    return ""
