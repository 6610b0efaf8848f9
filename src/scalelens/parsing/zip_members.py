"""The files inside a `.zip`, each unpacked by itself.  Nothing that the archive claims is trusted.

Members are stored or deflated: what zipfile unpacks by other methods is not bounded.  A member that is damaged gives
nothing, because its checksum stands for all of it.
"""

import contextlib
import io
import shutil
import stat
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from scalelens.parsing.source import CHUNK

IN_MEMORY = 32 << 20  # members up to this size are not written to disk
MOST_MEMBER = 32 << 30  # a larger member is not unpacked to the folder of temporary files
MOST_DIRECTORY = 16 << 20  # the list of members, some 150,000; zipfile takes it into memory
_ENCRYPTED = 1  # bit of a member's flags
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_DAMAGES = (  # what zipfile raises where the bytes are wrong
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError, ValueError, ArithmeticError, LookupError,
)  # fmt: skip


class NotReadError(Exception):
    """What is wrong with an archive or a member of it, as the end of a sentence that begins with its name."""


class _ZipBytes(io.BufferedReader):
    """The bytes of an archive for zipfile, which would take a directory of any length into memory."""

    def read(self, size: int | None = -1) -> bytes:
        if size and size > MOST_DIRECTORY:
            raise NotReadError(f"has a list of members of more than {MOST_DIRECTORY >> 20} MB")
        return super().read(size)

    def seek(self, offset: int, whence: int = 0) -> int:
        if whence == 0 and offset < 0:  # an OSError of the system would look like a fault of the disk
            raise zipfile.BadZipFile("a position before its start")
        return super().seek(offset, whence)


def zip_members(path: Path) -> Iterator[tuple[str, BinaryIO | NotReadError]]:
    """Name and content of each file of an archive, or why it is not read; the caller closes the content.

    Raises NotReadError where the archive has no list of members.
    """
    with contextlib.ExitStack() as files:
        stored = files.enter_context(_ZipBytes(io.FileIO(path)))
        left_bytes = path.stat().st_size  # packed bytes that no member took yet
        try:
            archive = files.enter_context(zipfile.ZipFile(stored))
        except _DAMAGES as error:
            raise NotReadError(f"is cut, or not a zip file ({error})") from None
        for info in archive.infolist():
            if info.filename.endswith("/") or stat.S_ISLNK(info.external_attr >> 16):
                continue
            left_bytes -= info.compress_size
            try:
                yield info.filename, unpacked(archive, info, left_bytes)
            except NotReadError as error:
                yield info.filename, error


def unpacked(archive: zipfile.ZipFile, info: zipfile.ZipInfo, left_bytes: int) -> BinaryIO:
    """The content of a member, in a temporary file where it is large.

    Raises NotReadError where it is damaged, or is not to be unpacked.  Members that share their bytes are the way to a
    ratio above that of deflate: `left_bytes` is below 0 then.
    """
    if info.flag_bits & _ENCRYPTED:
        raise NotReadError("is encrypted (unpack the archive with its password)")
    if info.compress_type not in _METHODS:
        raise NotReadError(f"is compressed by method {info.compress_type} (unpack the archive)")
    if info.file_size > MOST_MEMBER:
        raise NotReadError(f"is larger than {MOST_MEMBER >> 30} GB")
    if left_bytes < 0:
        raise NotReadError("has bytes that overlap those of another member")
    with contextlib.ExitStack() as on_error:
        content = on_error.enter_context(tempfile.SpooledTemporaryFile(max_size=IN_MEMORY))
        try:
            with archive.open(info) as packed:
                shutil.copyfileobj(packed, content, CHUNK)
        except _DAMAGES as error:
            raise NotReadError(f"is damaged ({error})") from None
        if content.tell() != info.file_size:
            raise NotReadError(f"is damaged ({content.tell():,} of {info.file_size:,} bytes)")
        on_error.pop_all()
    return content  # type: ignore[return-value]
