"""The file system under a warehouse: names given once, folders that survive a crash, errors in words."""

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

from scalelens.errors import UserError

# What file systems say that have no hard links, or none between these two names.
NO_LINKS = (
    errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV, errno.EACCES, errno.EINVAL,
    errno.EIO,
)  # fmt: skip


def write_once(content: bytes, temporary: Path, final: Path) -> None:
    """Writes a file whose name tells its content.  It is there as a whole or not at all, even after a crash."""
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):  # another process has written the same bytes
            link_once(temporary, final)
    finally:
        temporary.unlink(missing_ok=True)
    sync_folder(final.parent)


def link_once(temporary: Path, final: Path) -> None:
    """Gives a finished file its name, by link(), or by rename() where the file system has no links."""
    try:
        os.link(temporary, final)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        os.rename(temporary, final)


def sync_folder(folder: Path) -> None:
    """Makes new names in a folder survive a crash, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextlib.contextmanager
def io_errors_explained(root: Path) -> Iterator[None]:
    """Turns errors of the file system into a UserError with the remedy."""
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
