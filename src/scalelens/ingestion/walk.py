"""Finds the files to be read: walks over folders, and looks for sidecars in and above them."""

import contextlib
import os
import re
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from scalelens.errors import UserError
from scalelens.parsing.source import Source, open_source
from scalelens.runs.sidecar import SIDECAR_LIMIT_BYTES, SIDECAR_NAME
from scalelens.warehouse.records import Entry

_JUBE_WORK = re.compile(r"/\d{6,}_[^/]+(?:/work)?\Z")  # folder of a workpackage


class WalkedFile(NamedTuple):
    """A file that the walk found."""

    root: str
    path: str
    size_bytes: int
    modified_ns: int
    zone: str | None = None  # of its naive times
    changed_ns: int = 0  # when its bytes, its name or its owner changed last


def walk(paths: Iterable[Path], unreadable: list[str]) -> Iterator[WalkedFile]:
    """All files below `paths`, each once, in order.  Warehouses, and the folders of git and Python, are left out.

    `unreadable` takes a line for each file or folder that cannot be read.
    Raises UserError where one of `paths` itself does not exist or cannot be read.
    """
    seen: set[str] = set()
    for given in paths:
        try:
            needed = os.R_OK | os.X_OK if stat.S_ISDIR(given.stat().st_mode) else os.R_OK
        except (FileNotFoundError, NotADirectoryError):
            raise UserError(f"no such file or folder: {given}", "check the path") from None
        except OSError as error:
            raise UserError(f"{given} cannot be read ({error.strerror})", "check its permissions") from None
        if not os.access(given, needed):
            raise UserError(f"{given} cannot be read", "check its permissions")
        root = given.resolve()
        for path in [root] if root.is_file() else _below(root, unreadable):
            try:
                status = path.stat()
            except OSError as error:
                unreadable.append(f"{path}: {_reason(path, error)}")
                continue
            if not stat.S_ISREG(status.st_mode):
                unreadable.append(f"{path}: a pipe, socket or device, not a file")
                continue
            if not _encodable(str(path)):
                unreadable.append(f"{str(path)!a}: its name is not UTF-8, rename it")
            elif str(path) not in seen:
                seen.add(str(path))
                above = root if root.is_dir() else root.parent
                yield _walked(above, path, status)


def _reason(path: Path, error: OSError) -> str | None:
    """Why a file cannot be read; of a link, the error would name the link, which is there."""
    if isinstance(error, FileNotFoundError | NotADirectoryError) and path.is_symlink():
        return "a link to a file that is not there"
    return error.strerror


def _walked(root: Path, path: Path, status: os.stat_result) -> WalkedFile:
    return WalkedFile(str(root), str(path), status.st_size, status.st_mtime_ns, changed_ns=status.st_ctime_ns)


def _below(
    root: Path, unreadable: list[str], top: Path | None = None, followed: set[Path] | None = None
) -> Iterator[Path]:
    """Files below a folder in order of name.

    Links to folders are not followed, except those that JUBE makes to the folder of another step.  Such a link is
    followed once, and only to a folder outside `top`: what is in `top` is walked over anyway.
    """
    top, followed = top or root, set() if followed is None else followed

    def note(error: OSError) -> None:
        unreadable.append(f"{error.filename}: {error.strerror}")

    for folder, folders, names in os.walk(root, onerror=note):
        folders[:] = sorted(name for name in folders if name not in (".git", "__pycache__"))
        if "_log" in folders and "segments" in folders:
            folders.clear()
            continue
        yield from (Path(folder, name) for name in sorted(names))
        for name in folders:
            path = os.path.join(folder, name)
            target = Path(os.path.realpath(path)) if os.path.islink(path) else None
            if target and _JUBE_WORK.search(str(target)) and target not in followed and not target.is_relative_to(top):
                followed.add(target)
                yield from _below(target, unreadable, top, followed)


def sidecars_above(
    given: Iterable[Path], walked: set[str], remarks: list[str] | None = None, trusted: bool = False
) -> Iterator[WalkedFile]:
    """Sidecars in the folders above `given`, without those in `walked`: they apply to the files below, too.

    `remarks` takes a sentence on each.  One that somebody else may have put there is only read if it is `trusted`.
    """
    remarks = [] if remarks is None else remarks
    for folder in dict.fromkeys(folder for path in given for folder in path.resolve().parents):
        path = folder / SIDECAR_NAME
        with contextlib.suppress(OSError):
            status = path.stat()
            if not stat.S_ISREG(status.st_mode) or str(path) in walked:
                continue
            if not trusted and may_be_of_others(folder.stat(), status):
                remarks.append(f"{path} is not read: anybody may write into its folder; --sidecars reads it")
                continue
            remarks.append(f"{path} is read too: it is in a folder above")
            yield _walked(folder, path, status)


def may_be_of_others(folder: os.stat_result, file: os.stat_result) -> bool:
    """Whether a file lies in a folder into which anybody may write, and either belongs to somebody else."""
    return bool(folder.st_mode & stat.S_IWOTH) and {folder.st_uid, file.st_uid} != {os.getuid()}


def without_planted_sidecars(
    files: Iterable[WalkedFile], remarks: list[str], trusted: bool = False
) -> list[WalkedFile]:
    """Files without the sidecars that anybody may have put among them.

    `remarks` takes a sentence on each sidecar that belongs to somebody else than the folder that was named.  In a
    folder into which anybody may write, such a sidecar is only read if it is `trusted`.
    """
    kept = []
    for file in files:
        is_left_out = False
        if is_sidecar(file.path):
            with contextlib.suppress(OSError):
                if os.stat(file.path).st_uid != os.stat(file.root).st_uid:
                    is_left_out = not trusted and bool(os.stat(Path(file.path).parent).st_mode & stat.S_IWOTH)
                    why = ", and anybody may write into its folder: it is not read; --sidecars reads it"
                    remarks.append(f"{file.path} belongs to somebody else than {file.root}{why * is_left_out}")
        if not is_left_out:
            kept.append(file)
    return kept


def sidecar_texts(files: Iterable[WalkedFile]) -> dict[str, str]:
    """Texts of the sidecars among files, as they are now."""
    texts = {}
    for file in files:
        if is_sidecar(file.path):
            with contextlib.suppress(OSError), contextlib.closing(open_source(Path(file.path))) as source:
                texts[file.path] = sidecar_text(source)
    return texts


def gone_sidecars(seen: dict[str, Entry], given: Iterable[Path]) -> list[str]:
    """Sidecars that were ingested and are no longer in or above `given`.

    Where a whole folder is gone, its sidecar still counts, as its logs do.
    """
    roots = [str(path.resolve()) for path in given]
    gone = []
    for path in filter(is_sidecar, seen):
        folder = path.rpartition("/")[0]
        near = any(f"{root}/".startswith(f"{folder}/") or folder.startswith(f"{root}/") for root in roots)
        if near and os.access(folder, os.X_OK) and not os.path.isfile(path):
            gone.append(path)
    return gone


def is_sidecar(path: str) -> bool:
    return path.endswith(f"/{SIDECAR_NAME}")


def sidecar_text(source: Source) -> str:
    """Text of a sidecar.  Of a file that is too long to be one, just enough is read to see that."""
    text = b""
    for block in source.utf8():
        text += block
        if len(text) > SIDECAR_LIMIT_BYTES:
            break
    return text[: SIDECAR_LIMIT_BYTES + 1].decode("utf-8", "replace")


def _encodable(name: str) -> bool:
    """Whether a name can be written as UTF-8: file systems allow any bytes."""
    return name.encode("utf-8", "replace").decode() == name
