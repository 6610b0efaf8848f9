"""The file system below a warehouse: names that are given once, folders that survive a crash, readable errors."""

import contextlib
import errno
import os
import secrets
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from scalelens.errors import UserError
from scalelens.warehouse.readers import Reading, held_back, remove_segments
from scalelens.whole_files import sync_folder

ABANDONED_S = 24 * 3600  # age from which a file that no record names is taken for the remains of a killed process

# Errors of file systems without hard links, or without links between two such names.
_NO_LINKS = (
    errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV, errno.EACCES, errno.EINVAL,
    errno.EIO,
)  # fmt: skip


class FileStatus(NamedTuple):
    """Size and time of a file."""

    size_bytes: int
    modified_ns: int  # by the clock of the file system


class LocalFiles:
    """The files of a warehouse in a folder.  `Bucket` has the same methods for one in S3."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder  # all files that are read and written here are below it

    def create(self, folders: Iterable[Path]) -> None:
        for folder in folders:
            folder.mkdir(parents=True, exist_ok=True)

    def exists(self, folder: Path) -> bool:
        return os.path.isdir(folder)

    def names(self, folder: Path) -> list[str]:
        """Names in a folder; none if it does not exist."""
        with contextlib.suppress(FileNotFoundError):
            return os.listdir(folder)
        return []

    def listed(self, folder: Path) -> dict[str, FileStatus]:
        """The files in a folder by name; none if it does not exist."""
        files_by_name = {}
        with contextlib.suppress(FileNotFoundError), os.scandir(folder) as files:
            for file in files:
                with contextlib.suppress(FileNotFoundError):
                    status = file.stat()
                    files_by_name[file.name] = FileStatus(status.st_size, status.st_mtime_ns)
        return files_by_name

    def clock_ns(self, folder: Path) -> int:
        """The modification time that the file system gives to a file that is written now."""
        path = temporary_in(folder)
        try:
            path.touch()
            return os.stat(path).st_mtime_ns
        finally:
            path.unlink(missing_ok=True)

    def write_once(self, content: bytes, final: Path) -> None:
        """Writes a file whose name identifies its content.  It is complete or does not exist, even after a crash."""
        temporary = temporary_in(final.parent)
        try:
            with temporary.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            with contextlib.suppress(FileExistsError):  # another process has written the same bytes
                _link_once(temporary, final)
        finally:
            temporary.unlink(missing_ok=True)
        sync_folder(final.parent)

    def check_commits(self, folder: Path) -> None:
        """Raises UserError where no file can be given a name in one step, which a commit is."""
        first, second = temporary_in(folder), temporary_in(folder)
        try:
            first.touch()
            _link_once(first, second)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            raise UserError(
                f"the file system of {folder.parent} neither links nor renames a file ({error.strerror}), so that "
                "nothing can be committed there",
                "give -w a folder on another file system",
            ) from None
        finally:
            first.unlink(missing_ok=True)
            second.unlink(missing_ok=True)

    def publish(self, temporary: Path, final: Path) -> None:
        """Gives a finished file its final name, which no other file has."""
        temporary.rename(final)

    def remove(self, folder: Path, names: Iterable[str]) -> None:
        for name in names:
            (folder / name).unlink(missing_ok=True)

    def reading(self) -> Reading:
        """Says that somebody reads from now on; call it before the log is read."""
        return Reading(self.folder)

    def remove_segments(self, names: Iterable[str]) -> None:
        """Removes segments that were replaced; those that a reader may have begun with, when it has ended."""
        remove_segments(self.folder, names)

    def held_back(self) -> set[str]:
        """Names of segments that were replaced and wait for readers to end."""
        return held_back(self.folder)

    def keep_young(self, paths: Iterable[Path]) -> None:
        """Makes files look new."""
        for path in paths:
            os.utime(path)

    def fetch(self, folder: Path, names: Iterable[str]) -> None:
        """Makes files readable here.  A missing file is not an error: reading it will fail."""

    def drop_copies(self, folder: Path) -> None:
        """Removes what was fetched, so that it is fetched again."""

    def fault_of(self, path: Path, fault_in: Callable[[Path], str | None]) -> str | None:
        """What `fault_in` finds in the stored file rather than in a copy that was fetched before."""
        return fault_in(path)


def temporary_in(folder: Path) -> Path:
    return folder / f".{secrets.token_hex(8)}.tmp"


def _link_once(temporary: Path, final: Path) -> None:
    """Gives a finished file its final name by link(), or by rename() if the file system has no links.

    A rename replaces a file of that name, which has the same bytes: the name holds their digest.
    """
    try:
        os.link(temporary, final)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        os.rename(temporary, final)


@contextlib.contextmanager
def io_errors_explained(root: Path) -> Iterator[None]:
    """Turns errors of the file system into a UserError with a remedy."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise UserError(
                f"no space is left for {root}",
                "free some space and run the same command again: what was committed is kept",
            ) from None
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise UserError(
                f"{error.filename or root} cannot be written or read",
                "check its permissions, or give -w another folder",
            ) from None
        if isinstance(error, (NotADirectoryError, FileExistsError)):
            raise UserError(f"{root} is not a folder", "give -w a folder") from None
        raise UserError(
            f"{root} cannot be written or read ({error.strerror or error})",
            "run the same command again: what was committed is kept",
        ) from None
