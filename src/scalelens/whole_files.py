"""Files that are there as a whole or not at all: the old one stays until the new one is complete and on the disk."""

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

from scalelens.errors import UserError

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)


def write_file(path: Path, content: bytes) -> None:
    """Raises UserError if the file cannot be written."""
    with whole_file(path) as part, open(os.open(part, _NEW, 0o666), "wb") as file:
        file.write(content)


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Another name in the same folder, to write to; what is there in the end gets the name `path`.

    A symbolic link of that name is replaced, not followed: it may point to what somebody else wants overwritten.
    Raises UserError for a device or a pipe, which would be replaced, too, and if the file cannot be written.
    """
    part = path.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        mode = _mode_of(path)
        yield part
        with open(part, "rb") as file:
            os.fsync(file.fileno())
        if mode is not None:
            part.chmod(mode)
        part.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror or error}", "choose another place with -o") from None
    finally:
        with contextlib.suppress(OSError):
            part.unlink()


def _mode_of(path: Path) -> int | None:
    """Who may read and write a file that is replaced; None where there is none, or a link."""
    try:
        if not stat.S_ISREG(path.stat().st_mode) and not path.is_dir():
            raise UserError(f"{path} is not a file", "choose another place with -o")
        return None if path.is_symlink() else stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return None


def sync_folder(folder: Path) -> None:
    """Makes new names in a folder survive a crash, if the system can do that."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
