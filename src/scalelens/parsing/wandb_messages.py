"""The messages that W&B's record of a run is made of: which one a record holds, and its values, which are JSON."""

import json
from datetime import UTC, datetime
from typing import Any

from scalelens.parsing.protobuf import fields, signed
from scalelens.parsing.values import YEARS_2000_TO_2100

HISTORY, SUMMARY, CONFIG, STATS, OUTPUT, RUN, EXIT, HEADER, ENVIRONMENT = 2, 3, 5, 7, 13, 17, 18, 21, 26
LONGEST = 500  # characters of a fact
_LONGEST_JSON = 1 << 20
_LONGEST_NUMBER = 64


def only_field(record: bytes) -> tuple[int, int]:
    """The field of a record that has nothing but it and its number, and where its content begins; else 0."""
    at = 0
    if record[0] == 8:
        at = 1
        while record[at] > 127:
            at += 1
        at += 1
    kind, size, at = record[at], record[at + 1], at + 2
    if size > 127:
        size, at = size + ((record[at] - 1) << 7), at + 1
    return (kind >> 3, at) if kind & 7 == 2 and at + size == len(record) else (0, 0)


def read_item(item: bytes) -> tuple[str, float | None]:
    """Name and number of an item of a history, a summary or statistics; no number where it is something else."""
    names, value = [], None
    for field, content in fields(item):
        if field in (1, 2):
            names.append(text_of(content))
        elif field == 16 and len(content) < _LONGEST_NUMBER:
            value = _number(content)
        elif field == 5:
            value = float(signed(content)) if isinstance(content, int) else None
    return ".".join(filter(None, names)), value


def text_of(content: bytes) -> str:
    return content.decode("utf-8", "replace")


def json_of(text: bytes) -> Any:
    """The value of a setting; None where it is damaged or very long."""
    if len(text) > _LONGEST_JSON:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def stamp_of(message: bytes) -> datetime | None:
    """A protobuf Timestamp."""
    values = dict(fields(message))
    seconds = signed(values.get(1, 0))
    if not YEARS_2000_TO_2100[0] < seconds < YEARS_2000_TO_2100[1]:
        return None
    return datetime.fromtimestamp(seconds + values.get(2, 0) / 1e9, UTC).replace(tzinfo=None)


def _number(text: bytes) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
