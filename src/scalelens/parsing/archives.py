"""The files inside `.tar` and `.tar.*`, each as a source of its own, whatever the archive says of itself."""

import contextlib
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

from scalelens.parsing.source import CHUNK, Source, open_source

TAR_BUFFER = 1 << 16
IN_MEMORY = 32 << 20  # members up to this size are not written to disk
MOST_MEMBER = 32 << 30  # a member above is not unpacked to the folder of temporary files
MOST_HEADER = 16 << 20  # of a member; Python's tarfile takes it into memory


class UnpackedArchive:
    """The bytes of an archive for tarfile, which would take a header of any length into memory."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self.blocks = blocks
        self.block = b""
        self.allowed = MOST_HEADER  # bytes that may be read until the next member

    def read(self, size: int) -> bytes:
        if not self.block:
            self.block = next(self.blocks, b"")
        taken, self.block = self.block[:size], self.block[size:]
        self.allowed -= len(taken)
        if self.allowed < 0:
            raise tarfile.ReadError(f"a header is longer than {MOST_HEADER >> 20} MB")
        return taken


def open_members(path: Path) -> Iterator[Source]:
    """The files of an archive, one after the other.  A cut archive gives those before the cut.

    One member at a time is unpacked, to a temporary file where it is large.  Raises tarfile.TarError at the damage, or
    at once where the bytes are not an archive.
    """
    too_large: list[str] = []
    with contextlib.closing(open_source(path)) as archive:
        stream = UnpackedArchive(archive.chunks())
        with tarfile.open(fileobj=stream, mode="r|", bufsize=TAR_BUFFER) as tar:  # type: ignore[call-overload]
            for member in tar:
                stream.allowed = MOST_HEADER + member.size
                tar.members = []  # tarfile would keep those of a million files
                if not member.isfile() or member.sparse is not None:
                    continue
                name = member.name.encode("utf-8", "replace").decode()
                if member.size > MOST_MEMBER:
                    too_large.append(name)
                    continue
                with contextlib.ExitStack() as on_error:
                    content = on_error.enter_context(tempfile.SpooledTemporaryFile(max_size=IN_MEMORY))
                    shutil.copyfileobj(tar.extractfile(member), content, CHUNK)
                    on_error.pop_all()  # the Source closes it
                yield Source(f"{path}!{name}", content, content.tell(), archive.modified_ns)  # type: ignore[arg-type]
        for _ in stream.blocks:  # to see damage behind the last member
            pass
        if archive.damage:
            raise tarfile.ReadError(archive.damage)
    if too_large:
        raise tarfile.ReadError(f"{too_large[0]} is larger than {MOST_MEMBER >> 30} GB and is not read")
