"""A file as bytes: what is stored, its hash, and what comes out of `.gz .zst .xz .bz2`.

Exactly the bytes up to the size at opening are hashed and read.  So a log that is still being written gives the same
rows as a copy of it.  A damaged or cut compressed stream gives all bytes before the damage; `damage` says what it is.
"""

import bz2
import codecs
import contextlib
import functools
import hashlib
import io
import lzma
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import zstandard
from isal import isal_zlib

HEAD = 1 << 16
CHUNK = 1 << 20
FED = 1 << 14  # compressed bytes given to a decompressor at once
_FED_ZSTD = 1 << 10  # it has no limit on what it returns, at most 128 KB for four bytes
_PIECE = 8 << 20  # unpacked bytes taken from a decompressor at once
_XZ_MEMORY = 256 << 20  # for its dictionary; `xz -9` needs 65 MB
MOST_RATIO = 2000  # what unpacks to more times its size is not a log: gzip cannot pass 1,032
RATIO_FROM = 64 << 20  # unpacked bytes below which the ratio is not looked at
MOST_RATIO_HELD = 50  # the same of a format that needs all of the content at once
_MOST_UNPACKED = 1 << 40
_LONGEST_WRAPPED = 1 << 20  # bytes of a line of JSON with a printed line in it
_RACY_NS = 2 * 10**9  # a file that was written so short a time ago may be written again without another time
SPARE_S, SLOWEST_BYTES_PER_S = 60, 50_000  # processor time of a content; Megatron's records take 1/200 of it
_GZIP, _ZSTD, _XZ, _BZIP2 = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\x00", b"BZh"
_PACKED = (_GZIP, _ZSTD, _XZ, _BZIP2)
_INFLATE_ERROR: Any = isal_zlib.error
COMPRESSED = (".gz", ".zst", ".xz", ".bz2")


class OutOfTimeError(OSError):
    """A content takes far longer than its size allows: it was made for that, or a format has a defect."""


class Source:
    """One file, or one member of an archive (`logs.tar.gz!run/rank0.log`)."""

    def __init__(
        self, path: str, stored: BinaryIO, size_bytes: int, modified_ns: int, opened_as: os.stat_result | None = None
    ) -> None:
        self.path = path
        self.size_bytes = size_bytes
        self.modified_ns = modified_ns
        self.changed_ns = opened_as.st_ctime_ns if opened_as else 0  # of the file's name, owner or bytes
        self._opened_as = opened_as
        self._opened_ns = time.time_ns()
        self.damage: str | None = None
        self.progress: Callable[[int], None] | None = None  # called with the number of stored bytes just read
        self.unwrap: Callable[[bytes], bytes] | None = None  # takes the printed line out of a line; see json_logs.py
        self._stored = stored
        self._head: bytes | None = None
        self._began_s: float | None = None  # processor time of this thread at the first block of the content
        self._reported = 0  # bytes that `progress` knows of

    @functools.cached_property  # each format asks for it
    def name(self) -> str:
        """Last part of the path, without the suffix of the compression."""
        name = self.path.rpartition("!")[2].rpartition("/")[2]
        stem, suffix = os.path.splitext(name)
        return stem if suffix.lower() in COMPRESSED else name

    def digest(self) -> str:
        """sha256 of the stored bytes, in hexadecimal.  From then on a small file is read from memory."""
        sha, block = hashlib.sha256(), b""
        for block in self._blocks(CHUNK):
            sha.update(block)
        if self.is_held:
            self._stored.close()
            self._stored = io.BytesIO(block)
            if not block.startswith(_PACKED):
                self._head = block[:HEAD]
        return sha.hexdigest()

    @property
    def is_held(self) -> bool:
        """Whether the file is read from memory, once it was hashed."""
        return self.size_bytes <= CHUNK

    def still_has(self, digest: str) -> bool:
        """Whether the bytes that were read have the digest that they had before: a larger file is read twice.

        What was not written to meanwhile is not hashed again; what only grew has the same bytes where it was read.
        """
        was, now = self._opened_as, None
        if self.is_held or was is None:
            return True
        with contextlib.suppress(OSError):
            now = os.stat(self.path)
        if now and now.st_ino != was.st_ino:
            return False
        if now and _written(now) == _written(was) and self._opened_ns - was.st_mtime_ns > _RACY_NS:
            return True
        only_grew = now is None or now.st_size > was.st_size or now.st_mtime_ns == was.st_mtime_ns
        return only_grew and self.digest() == digest

    def head(self) -> bytes:
        """First 64 KB of the content."""
        if self._head is None:
            head = b""
            for block in self.chunks(HEAD):
                head += block
                if len(head) >= HEAD:
                    break
            self._head = head[:HEAD]
        return self._head

    def text_head(self) -> bytes:
        """The same as `utf8` gives it."""
        head = self.head()
        codec, mark = encoding_of(head)
        text = head[mark:].decode(codec, "replace").encode() if codec else head[mark:]
        return b"\n".join(map(self.unwrap, text.split(b"\n"))) if self.unwrap else text

    def read(self) -> bytes:
        """All of the content; of a compressed stream no more than memory is to hold of a file of its size."""
        return self._held(self.chunks())

    def text(self) -> bytes:
        """All of the content as `utf8` gives it, as far as `read` does."""
        return self._held(self.utf8())

    def _held(self, blocks: Iterator[bytes]) -> bytes:
        held: list[bytes] = []
        left = max(RATIO_FROM, MOST_RATIO_HELD * self.size_bytes)
        for block in blocks:
            held.append(block[:left])
            if len(block) > left:
                self.damage = f"it unpacks to more than {MOST_RATIO_HELD} times its size, too much to keep in memory"
                break
            left -= len(block)
        return b"".join(held)

    def chunks(self, size: int = CHUNK) -> Iterator[bytes]:
        """The content in blocks of about `size` bytes, decompressed.

        Raises OutOfTimeError where the work on earlier blocks took too long.
        """
        if self._began_s is None:
            self._began_s = time.thread_time()
        content_bytes = 0
        for block in self._content(size):
            content_bytes += len(block)
            yield block
            if time.thread_time() - self._began_s > SPARE_S + content_bytes / SLOWEST_BYTES_PER_S:
                raise OutOfTimeError(f"reading the first {content_bytes:,} bytes takes far too long")

    def _content(self, size: int) -> Iterator[bytes]:
        self.damage = None
        first = next(self._blocks(8), b"")
        if first.startswith(_GZIP):
            yield from self._inflate(lambda: isal_zlib.decompressobj(31), _GZIP, size)
        elif first.startswith(_ZSTD):
            yield from self._inflate(lambda: zstandard.ZstdDecompressor().decompressobj(), _ZSTD, size, _FED_ZSTD)
        elif first.startswith(_XZ):
            yield from self._inflate(lambda: lzma.LZMADecompressor(memlimit=_XZ_MEMORY), _XZ, size)
        elif first.startswith(_BZIP2):
            yield from self._inflate(bz2.BZ2Decompressor, _BZIP2, size)
        else:
            yield from self._blocks(size)

    def utf8(self, size: int = CHUNK) -> Iterator[bytes]:
        """The content as UTF-8 text without byte order mark; UTF-16 is converted, other bytes stay as they are.

        With `unwrap`, each line is what that takes out of it.
        """
        blocks = self._utf8(size)
        if not self.unwrap:
            yield from blocks
            return
        rest = b""
        for block in blocks:
            *lines, rest = (rest + block).split(b"\n")
            yield b"".join(self.unwrap(line) + b"\n" for line in lines)
            if len(rest) > _LONGEST_WRAPPED:
                yield rest
                rest = b""
        yield self.unwrap(rest)

    def _utf8(self, size: int) -> Iterator[bytes]:
        codec, mark = encoding_of(self.head())
        decode = codecs.getincrementaldecoder(codec)(errors="replace").decode if codec else None
        for block in self.chunks(size):
            block, mark = block[mark:], 0
            yield decode(block).encode("utf-8", "replace") if decode else block

    def close(self) -> None:
        self._stored.close()

    def _blocks(self, size: int) -> Iterator[bytes]:
        at = 0
        while at < self.size_bytes:
            self._stored.seek(at)  # a format may have two readers of its file at once
            block = self._stored.read(min(size, self.size_bytes - at))
            if not block:
                break
            at += len(block)
            if self.progress and at > self._reported:
                self.progress(at - self._reported)
                self._reported = at
            yield block

    def _inflate(self, new: Callable[[], Any], magic: bytes, size: int, fed: int = FED) -> Iterator[bytes]:
        """The content of a compressed stream, up to its end, to damage, or to a size that no log unpacks to."""
        out: list[bytes] = []
        out_bytes = all_bytes = 0
        try:
            for piece, read_bytes in self._pieces(new, magic, fed):
                out.append(piece)
                out_bytes += len(piece)
                all_bytes += len(piece)
                if all_bytes > max(RATIO_FROM, MOST_RATIO * read_bytes):
                    raise ValueError(f"it unpacks to more than {MOST_RATIO:,} times its size")
                if all_bytes > _MOST_UNPACKED:
                    raise ValueError(f"it unpacks to more than {_MOST_UNPACKED >> 30:,} GB")
                if out_bytes >= size:
                    yield b"".join(out)
                    out, out_bytes = [], 0
        except (OSError, EOFError, ValueError, lzma.LZMAError, zstandard.ZstdError, _INFLATE_ERROR) as error:
            if isinstance(error, OSError) and error.errno is not None:  # of the disk, not of the stream
                raise
            self.damage = f"the compressed stream is damaged ({error})"
        if out_bytes:
            yield b"".join(out)

    def _pieces(self, new: Callable[[], Any], magic: bytes, fed: int) -> Iterator[tuple[bytes, int]]:
        """What comes out of decompressors in bounded pieces, and how many stored bytes went in so far."""
        engine, ended, read_bytes = new(), False, 0
        for block in self._blocks(FED):
            while block:
                if ended:  # more streams may follow, or zeros that fill a tape's block
                    if not block.startswith(magic[: len(block)][:2]):
                        if block.strip(b"\0"):
                            raise ValueError("other bytes follow its end")
                        break
                    engine, ended = new(), False
                taken, block = block[:fed], block[fed:]
                read_bytes += len(taken)
                if hasattr(engine, "needs_input"):  # xz and bzip2 unpack to any size, and can return a piece at a time
                    yield engine.decompress(taken, _PIECE), read_bytes
                    while not (engine.eof or engine.needs_input):
                        yield engine.decompress(b"", _PIECE), read_bytes
                else:
                    yield engine.decompress(taken), read_bytes
                ended = engine.eof
                if ended:
                    read_bytes -= len(engine.unused_data)
                    block = engine.unused_data + block
        if not ended:
            self.damage = "the compressed stream is cut"


def _written(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns


def encoding_of(head: bytes) -> tuple[str | None, int]:
    """Codec to convert from (None for UTF-8 and other byte text) and the length of the byte order mark."""
    if head.startswith(codecs.BOM_UTF8):
        return None, 3
    if head.startswith(codecs.BOM_UTF16_LE):
        return "utf-16-le", 2
    if head.startswith(codecs.BOM_UTF16_BE):
        return "utf-16-be", 2
    sample = head[: len(head) & ~1]
    if len(sample) >= 8 and b"\0" in sample:  # Latin text in UTF-16 without a mark: every other byte is zero
        if sample[1::2].count(0) > len(sample) * 0.4 and sample[0::2].count(0) == 0:
            return "utf-16-le", 0
        if sample[0::2].count(0) > len(sample) * 0.4 and sample[1::2].count(0) == 0:
            return "utf-16-be", 0
    return None, 0


def open_source(path: Path | str) -> Source:
    """Opens a file as it is now."""
    stored = open(path, "rb")  # noqa: SIM115
    status = os.fstat(stored.fileno())
    return Source(str(path), stored, status.st_size, status.st_mtime_ns, status)
