"""The test of format files, ours and a user's: headings, samples, and fixtures that are read without a failure."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from scalelens.ingestion.counted_rows import CountedRows
from scalelens.ingestion.formats import Formats, load
from scalelens.ingestion.recognize import read_rows
from scalelens.parsing.dispatch import Line
from scalelens.parsing.format_file import FORMAT_HEADINGS, defect, heading, name_of, samples
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import open_source


def takers(sample: str, loaded: Formats) -> list[str]:
    """Names of the line formats that take a line."""
    names = []
    for format in loaded.of_lines:
        if any(anchor in sample for anchor in format.ANCHORS) and format.Reader(Rows()).take(Line(sample, 1)):
            names.append(name_of(format))
    return names


def recognizers(head: str, loaded: Formats) -> list[str]:
    """Names of the file formats that take a file by its beginning, those with `LAST` where no other takes it."""
    owning = [*loaded.may_own(head.encode()), *loaded.owning]
    matching = [format for format in owning if format.recognise(head.encode(), "")]
    asked_first = [format for format in matching if format not in loaded.last]
    return [name_of(format) for format in asked_first or matching]


def check_formats(folder: Path) -> list[str]:
    """What is wrong with the format files of a folder: headings, samples, and files that raise.

    Each sample must be taken by its format alone; files of `folder/fixtures/<format>/` must be read without a failure.
    """
    loaded = load((folder,))
    own = {path.stem for path in folder.glob("*.py")}
    if not own:
        return [f"{folder} contains no format files (*.py)"]
    complaints: list[str] = []
    for format in (*loaded.of_lines, *loaded.of_files):
        if name_of(format) in own:
            complaints += _wrong_headings(format)
            complaints += _wrong_samples(format, loaded)
            complaints += _wrong_fixtures(format, folder / "fixtures" / name_of(format), loaded)
    return complaints


def _wrong_headings(format: ModuleType) -> Iterator[str]:
    """Complaints about missing headings of a docstring."""
    for name in FORMAT_HEADINGS[:4]:
        if not heading(format, name):
            yield f"{name_of(format)}: the docstring has no '{name}:' line"
    if hasattr(format, "ANCHORS") and not samples(format):
        yield f"{name_of(format)}: the docstring has no lines below 'Samples:'; add one that the format takes"


def _wrong_samples(format: ModuleType, loaded: Formats) -> Iterator[str]:
    """Complaints about samples that are not taken by their format, or not by it alone."""
    name, lines, by_line = name_of(format), samples(format), hasattr(format, "ANCHORS")
    for sample in lines if by_line else ["\n".join(lines) + "\n"] if lines else []:
        try:
            takes = takers(sample, loaded) if by_line else recognizers(sample, loaded)
        except Exception as error:
            yield f"{defect(name, error)}: {sample.strip()[:80]}"
            continue
        if takes != [name] and not (format in loaded.last and name in takes):  # with LAST, the first takes it
            by = " and ".join(takes) if takes else "no format"
            yield f"{name}: the sample is taken by {by}, not by {name} alone: {sample.strip()[:80]}"


def _wrong_fixtures(format: ModuleType, folder: Path, loaded: Formats) -> Iterator[str]:
    """Complaints about files from which the format takes nothing, or at which it fails."""
    for fixture in sorted(folder.glob("*")):
        rows = CountedRows()
        with contextlib.closing(open_source(fixture)) as source:
            read_rows(source, loaded, rows)
        if name_of(format) not in rows.taken:
            yield f"{name_of(format)}: takes nothing of {fixture}"
        for count in rows.counts.values():
            if count.example.startswith("the format "):
                yield f"{name_of(format)}: {fixture}: {count.example}"
