"""The wire format of protobuf messages, read without their definitions: a field is a number and its content.

A varint is an integer, content of a length or of a fixed size is bytes.  Raises ValueError for a message that is none.
"""

from collections.abc import Iterator
from typing import Any

_SIZES = {1: 8, 5: 4}  # bytes of the types of a fixed size


def fields(message: Any) -> Iterator[tuple[int, Any]]:
    """Number and content of each field: an integer for a varint, else bytes."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        kind, size = key & 7, _SIZES.get(key & 7)
        if kind == 0:
            value, at = _varint(message, at)
            yield key >> 3, value
            continue
        if kind == 2:
            size, at = _varint(message, at)
        if size is None or at + size > len(message):
            raise ValueError("no such field")
        yield key >> 3, message[at : at + size]
        at += size


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """An integer that begins at a byte, and the byte after it."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(message):
            break
        byte = message[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
    raise ValueError("no number")


def signed(value: int) -> int:
    """A varint of a signed type."""
    return value - (1 << 64) if value >= 1 << 63 else value
