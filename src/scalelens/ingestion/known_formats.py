"""Our formats before their files are loaded: what the search for the formats of a file asks of them is kept.

To load all of them takes a fifth of the processor time of reading one small log, which needs a tenth of them.  What
is kept lies in the user's folder of caches, under a name that changes with each file that formats are made of.  Where
it cannot be kept, all formats are loaded.
"""

import contextlib
import hashlib
import importlib
import os
import secrets
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

import scalelens.parsers
from scalelens.folders import modules_of, own_cache_folder
from scalelens.parsing.format_file import CONSTANTS, METHODS, methods_of
from scalelens.version import __version__

PACKAGE = Path(scalelens.parsers.__file__).parents[1]
_MADE_OF = ("parsers", "parsing", "tabular")  # folders whose files the constants of formats come from


class KnownFormat(ModuleType):
    """A format of which some constants are known; its file is loaded when anything else is asked of it."""

    def __init__(self, name: str, constants: dict[str, Any]) -> None:
        vars(self).update(constants, __name__=name)

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]
        return self._module.__doc__

    @property
    def _module(self) -> ModuleType:
        return importlib.import_module(self.__name__)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


def our_formats() -> dict[str, ModuleType]:
    """The formats of the package by name: loaded where nothing is kept of them, else `KnownFormat`."""
    folder = own_cache_folder()
    file = folder and folder / f"formats-{_digest()}.msgpack"
    if file is None:
        return modules_of(scalelens.parsers)
    try:
        kept = msgspec.msgpack.decode(file.read_bytes(), type=dict[str, dict[str, Any]])
    except (OSError, msgspec.MsgspecError):
        modules = modules_of(scalelens.parsers)
        _keep(file, modules)
        return modules
    return {name: KnownFormat(f"{scalelens.parsers.__name__}.{name}", known) for name, known in kept.items()}


def _digest() -> str:
    """Digest of the names, sizes and times of the files that our formats are made of."""
    found = [f"{__version__} {PACKAGE}"]
    for folder in _MADE_OF:
        for top, folders, names in os.walk(PACKAGE / folder):
            folders.sort()
            for path in (os.path.join(top, name) for name in sorted(names) if name.endswith(".py")):
                of_file = os.stat(path)
                found.append(f"{path} {of_file.st_size} {of_file.st_mtime_ns}")
    return hashlib.blake2b("\n".join(found).encode(), digest_size=8).hexdigest()


def _keep(file: Path, modules: dict[str, ModuleType]) -> None:
    """Writes what is known of formats, whole or not at all, and removes what was kept of older ones."""
    known = {
        name: {key: value for key, value in vars(module).items() if key in CONSTANTS} | {METHODS: methods_of(module)}
        for name, module in modules.items()
    }
    part = file.with_name(f".{file.name}.{secrets.token_hex(4)}.part")
    with contextlib.suppress(OSError):
        part.write_bytes(msgspec.msgpack.encode(known))
        part.replace(file)
        for old in file.parent.glob("formats-*.msgpack"):
            if old != file:
                old.unlink(missing_ok=True)
