"""The formats: files of `parsers/` and of the user's own folders (`--formats DIR`, `SCALELENS_FORMATS`)."""

import functools
import hashlib
import importlib
import importlib.util
import os
import pkgutil
import re
import sys
import textwrap
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import scalelens.parsers
from scalelens.errors import UserError
from scalelens.lines import name_of

HEADINGS = ("Tool", "Versions", "Yields", "Source", "Samples")


class Formats(NamedTuple):
    """All formats by kind, and what says which of them read a file."""

    of_lines: list[ModuleType]
    of_files: list[ModuleType]

    @property
    def last(self) -> list[ModuleType]:
        """File formats that are asked when no other format takes anything of a file."""
        return [format for format in self.of_files if vars(format).get("LAST")]  # asked for each file: getattr is slow

    def is_last(self, taken: list[str]) -> bool:
        """Whether a file, by the formats that took it, is one that any other format comes before."""
        return not taken or any(name_of(format) == taken[0] for format in self.last)

    def version(self, taken_by: str | None = None) -> str:
        """Version of what would read a file: that of its file format, else a digest of all line formats."""
        for format in self.of_files if taken_by else ():  # what the last ones took, a new format may want
            if name_of(format) == taken_by and not getattr(format, "LAST", False):
                return f"{taken_by} {format.VERSION}"
        every = (*self.of_lines, *self.of_files)
        return f"lines {digest_of(every, tuple([format.VERSION for format in every]))}"


@functools.lru_cache(maxsize=8)
def digest_of(formats: tuple[ModuleType, ...], versions: tuple[int, ...]) -> str:
    """Digest of the names and versions of formats."""
    text = ",".join(f"{name_of(format)} {version}" for format, version in zip(formats, versions, strict=True))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def load(folders: tuple[Path, ...] = ()) -> Formats:
    """All formats of the package and of `folders`.  A user's format of the same name takes the place of ours.

    Raises UserError for a file that is no format, with what it lacks.
    """
    found = {
        module.name: importlib.import_module(f"scalelens.parsers.{module.name}")
        for module in pkgutil.iter_modules(scalelens.parsers.__path__)
    }
    for folder in (*folders, *environment("SCALELENS_FORMATS")):
        if not folder.is_dir():
            raise UserError(f"{folder} is not a folder", "give --formats a folder of format files")
        for path in sorted(folder.glob("*.py")):
            found[path.stem] = user_module(path)
    ordered = [found[name] for name in sorted(found)]
    return Formats([f for f in ordered if hasattr(f, "ANCHORS")], [f for f in ordered if hasattr(f, "recognise")])


def environment(variable: str) -> tuple[Path, ...]:
    """Folders named in an environment variable, separated as in PATH."""
    return tuple(Path(folder) for folder in os.environ.get(variable, "").split(os.pathsep) if folder)


def user_module(path: Path) -> ModuleType:
    """A user's format file as a module."""
    spec = importlib.util.spec_from_file_location(f"scalelens_user.{path.stem}", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise UserError(
            f"{path} cannot be loaded ({type(error).__name__}: {error})", "mend it or move it away"
        ) from None
    lacking = [what for what in ("VERSION", "__doc__") if not getattr(module, what, None)]
    if hasattr(module, "ANCHORS"):
        lacking += [] if hasattr(module, "Reader") else ["Reader"]
    elif hasattr(module, "recognise"):
        lacking += [] if hasattr(module, "read") else ["read"]
    else:
        lacking.append("ANCHORS and Reader, or recognise and read")
    if lacking:
        raise UserError(f"{path} is no format: it has no {', '.join(lacking)}", "see CONTRIBUTING.md, 'Add a format'")
    return module


def heading(format: ModuleType, name: str) -> str:
    """Text behind a heading of the format's docstring: the rest of its line and what is indented below."""
    match = re.search(rf"^{name}:(.*(?:\n(?:[ \t].*|)$)*)", textwrap.dedent(format.__doc__ or ""), re.MULTILINE)
    return match[1].strip("\n").strip(" ") if match else ""


def title(format: ModuleType) -> str:
    """First line of the docstring."""
    return (format.__doc__ or "").strip().split("\n")[0]


def samples(format: ModuleType) -> list[str]:
    """Sample lines of the docstring, as the tool prints them: indented by four blanks below `Samples:`."""
    match = re.search(r"^Samples:\n((?:(?: {4}.*)?\n?)*)", format.__doc__ or "", re.MULTILINE)
    return [line[4:] for line in match[1].split("\n") if line.strip()] if match else []
