"""The formats: files of `parsers/` and of the user's own folders (`--formats DIR`, `SCALELENS_FORMATS`)."""

import functools
import hashlib
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import scalelens.parsers
from scalelens.errors import UserError
from scalelens.folders import modules_of, users_folders, users_module
from scalelens.parsing.format_file import name_of


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
    """All formats of the package and of `folders`.  A user's format of the same name replaces ours.

    Raises UserError for a file that is not a format, with what it lacks.
    """
    by_name = modules_of(scalelens.parsers)
    for folder in users_folders(folders, "SCALELENS_FORMATS", "give --formats a folder of format files"):
        by_name |= {path.stem: checked(users_module(path, "format"), path) for path in sorted(folder.glob("*.py"))}
    ordered = [by_name[name] for name in sorted(by_name)]
    return Formats([f for f in ordered if hasattr(f, "ANCHORS")], [f for f in ordered if hasattr(f, "recognise")])


def checked(module: ModuleType, path: Path) -> ModuleType:
    """A user's format, where it has what a format must have."""
    lacking = [what for what in ("VERSION", "__doc__") if not getattr(module, what, None)]
    if hasattr(module, "ANCHORS"):
        lacking += [] if hasattr(module, "Reader") else ["Reader"]
    elif hasattr(module, "recognise"):
        lacking += [] if hasattr(module, "read") else ["read"]
    else:
        lacking.append("ANCHORS and Reader, or recognise and read")
    if lacking:
        raise UserError(
            f"{path} is not a format: it has no {', '.join(lacking)}", "see CONTRIBUTING.md, 'Add a format'"
        )
    return module
