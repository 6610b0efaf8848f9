"""Records of a file in LevelDB's log format: blocks of 32 KiB, in which a record is one fragment or several.

A fragment is a checksum, a length, a type (full, first, middle or last) and its bytes.  After damage, reading goes on
with the next block: its first whole record is the next one.  A record that is larger than `MOST_BYTES` is passed over,
and none is ever held that is.
"""

import struct
import zlib
from collections.abc import Callable, Iterator

from scalelens.parsing.source import Source

_BLOCK = 1 << 15
MOST_BYTES = 64 << 20  # of a record
_FULL, _FIRST, _LAST = 1, 2, 4  # 3 is a fragment in the middle
_FRAGMENT = struct.Struct("<IHB")  # checksum of what follows the length, length, type
_MOST_DAMAGE = 20  # places that are named one by one
_CUT = "the file is cut within this record: it is not read"

_Damaged = Callable[[int, str], None]  # takes the number of a record and a sentence


def records(source: Source, header: int, damaged: _Damaged) -> Iterator[tuple[int, bytes]]:
    """Number and bytes of each record, from 1.  `header` is how many bytes stand before the first one."""
    joined = _Fragments(damaged)
    for start, block in _blocks(source):
        at, size = header if start == 0 else 0, len(block)
        while size - at >= _FRAGMENT.size:
            crc, length, kind = _FRAGMENT.unpack_from(block, at)
            end = at + _FRAGMENT.size + length
            if end > size and size < _BLOCK:
                break  # the file ends here
            if end > size or not _FULL <= kind <= _LAST or zlib.crc32(block[at + 6 : end]) != crc:
                zeros = block.count(0, at) == size - at
                joined.drop(
                    f"zeros instead of a record, from byte {start + at:,} on"
                    if zeros
                    else f"the record at byte {start + at:,} is damaged: what follows it in its block is not read"
                )
                at = size
                break
            content, at = block[at + _FRAGMENT.size : end], end
            if kind == _FULL and not joined.is_open:  # as almost all are
                yield joined.number, content
                joined.number += 1
                continue
            record = joined.take(kind, content)
            if record is not None:
                yield joined.number, record
                joined.number += 1
        if size < _BLOCK and at < size:
            damaged(joined.number, _CUT)
            return
    if joined.is_open:
        damaged(joined.number, _CUT)


class _Fragments:
    """The fragments of the record that is being read."""

    def __init__(self, damaged: _Damaged) -> None:
        self.number = 1  # of the record
        self.is_open = False
        self._damaged = damaged
        self._places = 0
        self._parts: list[bytes] = []
        self._bytes = 0

    def take(self, kind: int, content: bytes) -> bytes | None:
        """Takes the next fragment.  Returns the record that it ends."""
        if kind <= _FIRST:
            if self.is_open:
                self.drop("the record has no end")
            if kind == _FULL:
                return content
            self.is_open, self._parts, self._bytes = True, [content], len(content)
        elif self.is_open:  # else its beginning was damaged
            self._bytes += len(content)
            if self._bytes <= MOST_BYTES:
                self._parts.append(content)
            else:
                self._parts = []
            if kind == _LAST and self._bytes <= MOST_BYTES:
                self.is_open = False
                return b"".join(self._parts)
            if kind == _LAST:
                self.drop(f"the record has {self._bytes:,} bytes: it is passed over")
        return None

    def drop(self, reason: str) -> None:
        """Passes a record over."""
        self._places += 1
        if self._places <= _MOST_DAMAGE:
            self._damaged(self.number, reason)
        elif self._places == _MOST_DAMAGE + 1:
            self._damaged(self.number, "more records are damaged: they are not named one by one")
        self.number += 1
        self.is_open, self._parts = False, []


def _blocks(source: Source) -> Iterator[tuple[int, bytes]]:
    """Blocks of a file with the place of each; the last one may be shorter."""
    start, rest = 0, b""
    for chunk in source.chunks():
        rest = rest + chunk if rest else chunk
        whole = len(rest) - len(rest) % _BLOCK
        for at in range(0, whole, _BLOCK):
            yield start + at, rest[at : at + _BLOCK]
        start, rest = start + whole, rest[whole:]
    if rest:
        yield start, rest
