"""The files inside `.tar`, `.tar.*` and `.zip`, and the logs inside a document of JSON, each as a source.

Nothing that an archive claims is trusted.
"""

import contextlib
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

from scalelens.parsing.archive_names import is_document
from scalelens.parsing.logs_in_json import logs_in
from scalelens.parsing.source import CHUNK, Source, open_source
from scalelens.parsing.zip_members import IN_MEMORY, MOST_MEMBER, NotReadError, zip_members

_TAR_BUFFER = 1 << 16
MOST_HEADER = 16 << 20  # of a member; Python's tarfile takes it into memory


class UnreadMembersError(tarfile.ReadError):
    """Members of an archive were not read; all others were."""

    def __init__(self, unread: list[tuple[str, str]]) -> None:
        self.unread = unread  # name of each, and what is wrong with it
        (name, reason), *others = unread
        super().__init__(f"{name} {reason} and is not read" + (f", nor are {len(others)} others" if others else ""))


class _UnpackedArchive:
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
    """The files of an archive, one after the other.  A cut tar gives those before the cut, a cut zip gives none.

    One member at a time is unpacked, to a temporary file where it is large.  Raises UnreadMembersError at the end where
    members were not read; another tarfile.TarError at the damage, or at once where the bytes are not an archive.
    """
    unread: list[tuple[str, str]] = []
    if is_document(path.name):
        yield from _logs_of_document(path)
    else:
        is_zip = path.name.lower().endswith(".zip")
        yield from _members_of_zip(path, unread) if is_zip else _members_of_tar(path, unread)
    if unread:
        raise UnreadMembersError(unread)


def _logs_of_document(path: Path) -> Iterator[Source]:
    """The logs that stand in a document of JSON."""
    with contextlib.closing(open_source(path)) as document:
        yield from logs_in(document)


def _members_of_zip(path: Path, unread: list[tuple[str, str]]) -> Iterator[Source]:
    """The files of a `.zip`; `unread` takes the name of each that is not read, and its fault."""
    modified_ns = path.stat().st_mtime_ns
    try:
        for stored_name, content in zip_members(path):
            name = _in_utf8(stored_name)
            if isinstance(content, NotReadError):
                unread.append((name, str(content)))
            else:
                yield Source(f"{path}!{name}", content, content.tell(), modified_ns)
    except NotReadError as error:
        raise tarfile.ReadError(f"it {error}") from None


def _members_of_tar(path: Path, unread: list[tuple[str, str]]) -> Iterator[Source]:
    """The files of a `.tar` or `.tar.*`; `unread` takes the name of each that is not read, and its fault."""
    with contextlib.closing(open_source(path)) as archive:
        stream = _UnpackedArchive(archive.chunks())
        with tarfile.open(fileobj=stream, mode="r|", bufsize=_TAR_BUFFER) as tar:  # type: ignore[call-overload]
            for member in tar:
                stream.allowed = MOST_HEADER + member.size
                tar.members = []  # tarfile would keep those of a million files
                if not member.isfile() or member.sparse is not None:
                    continue
                name = _in_utf8(member.name)
                if member.size > MOST_MEMBER:
                    unread.append((name, f"is larger than {MOST_MEMBER >> 30} GB"))
                    continue
                with contextlib.ExitStack() as on_error:
                    content = on_error.enter_context(tempfile.SpooledTemporaryFile(max_size=IN_MEMORY))
                    shutil.copyfileobj(tar.extractfile(member), content, CHUNK)
                    on_error.pop_all()  # the Source closes it
                yield Source(f"{path}!{name}", content, content.tell(), archive.modified_ns)  # type: ignore[arg-type]
        for _ in stream.blocks:  # to see damage after the last member
            pass
        if archive.damage:
            raise tarfile.ReadError(archive.damage)


def _in_utf8(name: str) -> str:
    """A member's name as text that can be stored."""
    return name.encode("utf-8", "replace").decode()
