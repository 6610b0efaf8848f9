"""The formats: files of `parsers/` and of the user's folders (`--formats DIR`, `SCALELENS_FORMATS`)."""

import functools
import hashlib
from pathlib import Path
from types import ModuleType

from scalelens.errors import UserError
from scalelens.folders import user_folders, user_module
from scalelens.ingestion.head_words import HeadWords
from scalelens.ingestion.known_formats import our_formats
from scalelens.parsing.format_file import is_of_lines, name_of


@functools.lru_cache(maxsize=2)
def _head_words_of(*formats: ModuleType) -> HeadWords:
    """Made once for what is ingested one after the other in a process."""
    return HeadWords(formats)


class Formats:
    """All formats: those that take lines of a file, and those that take whole files."""

    def __init__(self, of_lines: list[ModuleType], of_files: list[ModuleType]) -> None:
        self.of_lines = of_lines
        self.of_files = of_files

    # These are needed for each file, and computed once.

    @functools.cached_property
    def first(self) -> list[ModuleType]:
        """File formats that are tried before the lines of a file are read."""
        return [format for format in self.of_files if not vars(format).get("LAST")]

    def may_own(self, head: bytes) -> list[ModuleType]:
        """Of the formats that are tried first, those that may own a file which begins like this."""
        return self._head_words.may_own(head)

    @functools.cached_property
    def _head_words(self) -> HeadWords:
        return _head_words_of(*self.first)

    @functools.cached_property
    def last(self) -> list[ModuleType]:
        """File formats that are tried when no other format takes anything from a file."""
        return [format for format in self.of_files if vars(format).get("LAST")]

    @functools.cached_property
    def owning(self) -> list[ModuleType]:
        """Of those tried last, the ones that own a whole file."""
        return [format for format in self.last if not vars(format).get("SECOND_READ")]

    @functools.cached_property
    def second(self) -> list[ModuleType]:
        """Formats that read training lines which no other format took, in a second read; the one that guesses last."""
        formats = [format for format in self.last if vars(format).get("SECOND_READ")]
        return sorted(formats, key=lambda format: bool(vars(format).get("GUESSES")))

    @functools.cached_property
    def of_settings(self) -> set[str]:
        """Names of the formats that read nothing but settings: they alone do not make a text a known log."""
        return {name_of(format) for format in self.of_lines if vars(format).get("SETTINGS_ALONE")}

    def is_last(self, taken_by: list[str]) -> bool:
        """Whether no format took a file, or only one of those tried last: a new format may want such a file."""
        return not taken_by or any(name_of(format) == taken_by[0] for format in self.last)

    def version(self, taken_by: str | None = None) -> str:
        """Version of what reads a file: of the one file format that took it, else a digest of all formats."""
        version = self._versions.get(taken_by) if taken_by else None
        return f"lines {self._digest}" if version is None else f"{taken_by} {version}"

    @functools.cached_property
    def _versions(self) -> dict[str, int]:
        return {name_of(format): format.VERSION for format in self.first}

    @functools.cached_property
    def _digest(self) -> str:
        """Digest of the names and versions of all formats."""
        text = ",".join(f"{name_of(format)} {format.VERSION}" for format in (*self.of_lines, *self.of_files))
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def load(folders: tuple[Path, ...] = ()) -> Formats:
    """All formats of the package and of `folders`.  A user's format replaces ours of the same name.

    Raises UserError for a file that is not a format, with what it lacks.
    """
    by_name = our_formats()
    for folder in user_folders(folders, "SCALELENS_FORMATS", "give --formats a folder of format files"):
        by_name |= {path.stem: user_format(user_module(path, "format"), path) for path in sorted(folder.glob("*.py"))}
    ordered = [by_name[name] for name in sorted(by_name)]
    of_lines = [format for format in ordered if is_of_lines(format)]
    return Formats(of_lines, [format for format in ordered if not is_of_lines(format)])


def user_format(module: ModuleType, path: Path) -> ModuleType:
    """A user's format.  Raises UserError where it lacks what a format must have."""
    lacking = [name for name in ("VERSION", "__doc__") if not getattr(module, name, None)]
    if hasattr(module, "ANCHORS"):
        lacking += [] if hasattr(module, "Reader") else ["Reader"]
    elif hasattr(module, "recognise"):
        lacking += [] if hasattr(module, "read") else ["read"]
    else:
        lacking.append("ANCHORS and Reader, or recognise and read")
    words = getattr(module, "IN_HEAD", ())
    if not isinstance(words, tuple | list) or not all(isinstance(word, bytes) and word for word in words):
        lacking.append('IN_HEAD of bytes, as (b"Watts",)')
    if lacking:
        raise UserError(
            f"{path} is not a format: it has no {', '.join(lacking)}", "see CONTRIBUTING.md, 'Add a format'"
        )
    return module
