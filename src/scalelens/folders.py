"""A file in a folder is a feature.  This finds such files, ours and the user's, and loads them.

An option (`--queries DIR`) or an environment variable (`SCALELENS_QUERIES`, several folders separated as in PATH)
names the user's folders.  A user's file replaces ours of the same name.
"""

import importlib
import importlib.util
import os
import pkgutil
import stat
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from types import ModuleType

from scalelens.errors import UserError
from scalelens.old_names import keep_old_names


def user_folders(given: Iterable[Path], variable: str, remedy: str) -> list[Path]:
    """Folders that were given, then those in a variable.  Raises UserError for one that is not a folder."""
    named = os.environ.get(variable, "").split(os.pathsep)
    folders = [*given, *(Path(name) for name in named if name)]
    for folder in folders:
        if not folder.is_dir():
            raise UserError(f"{folder} is not a folder", remedy)
    return folders


def cache_folder() -> Path:
    """Where what can be made again is kept: `$XDG_CACHE_HOME/scalelens`, or `~/.cache/scalelens`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "scalelens"


def own_cache_folder() -> Path | None:
    """That folder, made where there is none; None where it cannot be made, or others can write to it."""
    try:
        folder = cache_folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder if is_ours_alone(folder) else None
    except (OSError, RuntimeError):  # the latter where there is no home
        return None


def is_ours_alone(path: Path) -> bool:
    """Whether the user owns a file or folder, and nobody else can write to it."""
    found = path.lstat()
    return found.st_uid == os.getuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def files_of(folder: Path, suffix: str) -> dict[str, Path]:
    """Files of a folder and of the folders in it, by name without the suffix.

    Raises UserError where two files have the same name, because nothing says which of them counts.
    """
    files: dict[str, Path] = {}
    for top, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            stem, ending = os.path.splitext(name)
            if ending != suffix:
                continue
            path = Path(top, name)
            if other := files.get(stem):
                raise UserError(f"{path} and {other} have the same name", "rename one of them")
            files[stem] = path
    return files


def modules_of(package: ModuleType) -> dict[str, ModuleType]:
    """Modules of a package of ScaleLens by name."""
    return {name: importlib.import_module(f"{package.__name__}.{name}") for name in _names_in(*package.__path__)}


@cache
def _names_in(*folders: str) -> tuple[str, ...]:
    """Names of the modules of our own folders, which do not change while a process runs."""
    return tuple(module.name for module in pkgutil.iter_modules(folders) if not module.ispkg)


def user_module(path: Path, kind: str) -> ModuleType:
    """A user's file as a module.  Whatever its code raises becomes a UserError."""
    spec = importlib.util.spec_from_file_location(f"scalelens_user_{kind}.{path.stem}", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    keep_old_names(kind)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise UserError(
            f"{path} cannot be loaded ({type(error).__name__}: {error})", "correct it or move it away"
        ) from None
    return module
