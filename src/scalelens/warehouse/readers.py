"""Readers say that they read, so that `compact` leaves them the segments that they began with.

A reader puts a file into `_readers` before it reads the log.  Whoever replaces segments commits first and looks into
that folder then: a reader that is not there yet will read the new record.  While a reader is there that began before,
the names of what is to be removed are kept there as well, and the last of these readers removes it.  A reader that was
killed counts for an hour, or until somebody on its machine sees that its process is gone.
"""

import contextlib
import os
import secrets
import socket
from collections.abc import Iterable
from pathlib import Path

FOLDER = "_readers"
_GRACE_S = 3600
_REPLACED = "replaced-"


class Reading:
    """A reader at work.  Where the folder cannot be written, nothing is said, and the reader may have to ask again."""

    def __init__(self, root: Path | None) -> None:
        self.path: Path | None = None
        self.process = os.getpid()
        with contextlib.suppress(OSError):
            if root and (root / "_log").is_dir():
                path = root / FOLDER / f"{socket.gethostname()}~{self.process}~{secrets.token_hex(8)}"
                path.parent.mkdir(exist_ok=True)
                path.touch(exist_ok=False)
                self.path = path

    def release(self) -> None:
        """The reader has ended; what waited for it is removed.  A copy of the process has not ended by that."""
        path, self.path = self.path, None
        if path and self.process == os.getpid():
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
                _remove_replaced(path.parents[1])

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        self.release()


def remove_segments(root: Path, names: Iterable[str]) -> None:
    """Removes segments that no record needs any more, once no reader is there that may have begun with them."""
    names = [*names]
    if not names:
        return
    waiting = root / FOLDER / f"{_REPLACED}{secrets.token_hex(8)}"
    if not _began(root):
        _remove(root, names)
        return
    temporary = waiting.with_name(f".{waiting.name}")
    temporary.write_text("\n".join(names), encoding="utf-8")
    temporary.rename(waiting)
    _remove_replaced(root)


def _remove_replaced(root: Path) -> None:
    """Removes what waited for readers that have ended."""
    waiting = _waiting(root)
    began = _began(root) if waiting else []
    for path in waiting:
        with contextlib.suppress(FileNotFoundError):
            if not any(start <= path.stat().st_mtime_ns for start in began):
                _remove(root, path.read_text(encoding="utf-8").split("\n"))
                path.unlink(missing_ok=True)


def held_back(root: Path) -> set[str]:
    """Names of segments that wait for readers."""
    names: set[str] = set()
    for path in _waiting(root):
        with contextlib.suppress(FileNotFoundError):
            names.update(path.read_text(encoding="utf-8").split("\n"))
    return names


def _waiting(root: Path) -> list[Path]:
    return [path for path in _in_folder(root) if path.name.startswith(_REPLACED)]


def _in_folder(root: Path) -> list[Path]:
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        return [*(root / FOLDER).iterdir()]
    return []


def _remove(root: Path, names: Iterable[str]) -> None:
    for name in names:
        (root / "segments" / Path(name).name).unlink(missing_ok=True)


def _began(root: Path) -> list[int]:
    """When each reader began, by the clock of the file system.  Those that were killed are removed."""
    paths = [path for path in _in_folder(root) if "~" in path.name]
    if not paths:
        return []
    now = root / FOLDER / f".{secrets.token_hex(8)}"
    now.touch()
    now_ns = now.stat().st_mtime_ns
    now.unlink(missing_ok=True)
    began = []
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            start = path.stat().st_mtime_ns
            if _is_gone(path.name) or now_ns - start > _GRACE_S * 10**9:
                path.unlink(missing_ok=True)
            else:
                began.append(start)
    return began


def _is_gone(name: str) -> bool:
    """Whether a reader is a process of this machine that is not there any more."""
    host, process, _ = name.split("~")
    if host != socket.gethostname():
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except (OSError, ValueError, OverflowError):
        return False
    return False
