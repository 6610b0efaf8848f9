"""A file as bytes: what is stored, its hash, and what comes out of `.gz .zst .xz .bz2` and `.tar.*`.

Exactly the bytes up to the size at opening are hashed and read.  So a log that is still being written gives the same
rows as a copy of it.  A damaged or cut compressed stream gives all bytes before the damage; `damage` says what it is.
"""

import bz2
import codecs
import contextlib
import hashlib
import lzma
import os
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import zstandard
from isal import isal_zlib

HEAD = 1 << 16
CHUNK = 1 << 20
FED = 1 << 14  # compressed bytes given to a decompressor at once: zstandard has no limit on what it returns
IN_MEMORY = 32 << 20  # members of archives up to this size are not written to disk
GZIP, ZSTD, XZ, BZIP2 = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\x00", b"BZh"
INFLATE_ERROR: Any = isal_zlib.error
COMPRESSED = (".gz", ".zst", ".xz", ".bz2")


class Source:
    """One file, or one member of an archive (`logs.tar.gz!run/rank0.log`)."""

    def __init__(self, path: str, stored: BinaryIO, size_bytes: int, modified_ns: int) -> None:
        self.path = path
        self.size_bytes = size_bytes
        self.modified_ns = modified_ns
        self.damage: str | None = None
        self.progress: Callable[[int], None] | None = None  # called with the number of stored bytes just read
        self._stored = stored
        self._reported = 0  # bytes that `progress` knows of

    @property
    def name(self) -> str:
        """Last part of the path, without the suffix of the compression."""
        name = self.path.rpartition("!")[2].rpartition("/")[2]
        stem, suffix = os.path.splitext(name)
        return stem if suffix in COMPRESSED else name

    def digest(self) -> str:
        """sha256 of the stored bytes, in hexadecimal."""
        sha = hashlib.sha256()
        for block in self._blocks(CHUNK):
            sha.update(block)
        return sha.hexdigest()

    def head(self) -> bytes:
        """First 64 KB of the content."""
        head = b""
        for block in self.chunks(HEAD):
            head += block
            if len(head) >= HEAD:
                break
        return head[:HEAD]

    def read(self) -> bytes:
        """All of the content."""
        return b"".join(self.chunks())

    def chunks(self, size: int = CHUNK) -> Iterator[bytes]:
        """The content in blocks of about `size` bytes, decompressed."""
        self.damage = None
        first = next(self._blocks(8), b"")
        if first.startswith(GZIP):
            yield from self._inflate(lambda: isal_zlib.decompressobj(31), GZIP, size)
        elif first.startswith(ZSTD):
            yield from self._inflate(lambda: zstandard.ZstdDecompressor().decompressobj(), ZSTD, size)
        elif first.startswith(XZ):
            yield from self._inflate(lzma.LZMADecompressor, XZ, size)
        elif first.startswith(BZIP2):
            yield from self._inflate(bz2.BZ2Decompressor, BZIP2, size)
        else:
            yield from self._blocks(size)

    def utf8(self, size: int = CHUNK) -> Iterator[bytes]:
        """The content as UTF-8 text without byte order mark; UTF-16 is converted, other bytes stay as they are."""
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

    def _inflate(self, new: Callable[[], Any], magic: bytes, size: int) -> Iterator[bytes]:
        engine, ended = new(), False
        out: list[bytes] = []
        out_bytes = 0
        try:
            for block in self._blocks(FED):
                while block:
                    if ended:  # more streams may follow, or zeros that fill a tape's block
                        if not block.startswith(magic[: len(block)][:2]):
                            if block.strip(b"\0"):
                                raise ValueError("other bytes follow its end")
                            break
                        engine, ended = new(), False
                    out.append(engine.decompress(block))
                    out_bytes += len(out[-1])
                    ended = engine.eof
                    block = engine.unused_data if ended else b""
                    if out_bytes >= size:
                        yield b"".join(out)
                        out, out_bytes = [], 0
        except (OSError, EOFError, ValueError, lzma.LZMAError, zstandard.ZstdError, INFLATE_ERROR) as error:
            self.damage = f"the compressed stream is damaged ({error})"
        if not ended and self.damage is None:
            self.damage = "the compressed stream is cut"
        if out_bytes:
            yield b"".join(out)


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


def is_archive(path: str) -> bool:
    return path.endswith((".tar", ".tar.gz", ".tgz", ".tar.zst", ".tar.xz", ".tar.bz2"))


def open_source(path: Path) -> Source:
    """Opens a file as it is now."""
    stored = path.open("rb")
    status = os.fstat(stored.fileno())
    return Source(str(path), stored, status.st_size, status.st_mtime_ns)


def open_members(path: Path) -> Iterator[Source]:
    """The files of an archive, one after the other.  A cut archive gives those before the cut.

    Raises tarfile.TarError at the damage, or at once where the bytes are not an archive.
    """
    with (
        contextlib.closing(open_source(path)) as archive,
        tempfile.SpooledTemporaryFile(max_size=IN_MEMORY) as unpacked,
    ):
        for block in archive.chunks():
            unpacked.write(block)
        unpacked.seek(0)
        with tarfile.open(fileobj=unpacked, mode="r:") as tar:
            for member in tar:
                if not member.isfile() or member.sparse is not None:
                    continue
                content = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115 (the Source closes it)
                stored = tar.extractfile(member)
                assert stored is not None
                while block := stored.read(CHUNK):
                    content.write(block)
                name = member.name.encode("utf-8", "replace").decode()
                yield Source(f"{path}!{name}", content, content.tell(), archive.modified_ns)  # type: ignore[arg-type]
        if archive.damage:
            raise tarfile.ReadError(archive.damage)
