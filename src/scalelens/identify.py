"""What a file is: which format takes which lines, and what none of them understands; and the test of format files."""

from pathlib import Path

import polars as pl
import pyarrow as pa

from scalelens import formats as known
from scalelens.formats import Formats
from scalelens.ingestion import parse
from scalelens.lines import Line, name_of
from scalelens.rows import Rows
from scalelens.source import is_archive, open_members, open_source

SHOWN = ("format", "table", "rows", "first_line", "last_line", "example")


def identify(path: Path, format_folders: tuple[Path, ...] = ()) -> tuple[str, pl.DataFrame]:
    """A sentence on the file, and a row for each format and table: how many rows, from which line to which."""
    loaded = known.load(format_folders)
    if is_archive(str(path)):
        names = [f"{member.name}: {status_of(parse(member, loaded, Rows()))}" for member in open_members(path)]
        return "archive of " + "; ".join(names), pl.DataFrame(schema=dict.fromkeys(SHOWN, pl.String))
    found: list[tuple[str, str, int, int | None, int | None, str]] = []
    rows = Rows(write=None)
    gathered: dict[tuple[str, str], list[int]] = {}
    examples: dict[tuple[str, str], str] = {}

    class Watched(Rows):
        def add(self, table: str, line: int | None, **values: object) -> None:
            gathered.setdefault((self.format or "", table), []).append(line or 0)
            super().add(table, line, **values)

        def problem(self, line: int | None, reason: str, text: str = "") -> None:
            key = (self.format or "", "problems")
            gathered.setdefault(key, []).append(line or 0)
            examples.setdefault(key, reason)
            super().problem(line, reason, text)

    rows = Watched(write=lambda table, batch: keep(examples, table, batch))
    source = open_source(path)
    status = parse(source, loaded, rows)
    rows.flush()
    for (format, table), lines in gathered.items():
        found.append((format, table, len(lines), min(lines) or None, max(lines) or None, examples.get((format, table), "")))
    frame = pl.DataFrame(found, schema=dict(zip(SHOWN, (pl.String, pl.String, pl.Int64, pl.Int64, pl.Int64, pl.String), strict=True)), orient="row")
    return f"{path.name}: {status_of(status)}", frame


def keep(examples: dict[tuple[str, str], str], table: str, batch: pa.RecordBatch) -> None:
    """Nothing: rows of `identify` are counted, not kept."""


def status_of(status: tuple[str, str | None]) -> str:
    return f"{status[0]} ({status[1]})" if status[1] else status[0]


def takers(sample: str, loaded: Formats) -> list[str]:
    """Names of the line formats that take a line."""
    names = []
    for format in loaded.of_lines:
        if any(anchor in sample for anchor in format.ANCHORS) and format.Reader(Rows()).take(Line(sample, 1)):
            names.append(name_of(format))
    return names


def check_formats(folder: Path) -> list[str]:
    """What is wrong with the format files of a folder: headings, samples, and files that raise.

    Each sample must be taken by its format alone; files of `folder/fixtures/<format>/` must be read without a failure.
    """
    loaded = known.load((folder,))
    own = {path.stem for path in folder.glob("*.py")}
    complaints = []
    for format in (*loaded.of_lines, *loaded.of_files):
        name = name_of(format)
        if name not in own:
            continue
        for heading in known.HEADINGS[:4]:
            if not known.heading(format, heading):
                complaints.append(f"{name}: the docstring has no '{heading}:' line")
        if hasattr(format, "ANCHORS") and not known.samples(format):
            complaints.append(f"{name}: the docstring has no lines below 'Samples:', and without one nothing shows that it works")
        for sample in known.samples(format):
            if (got := takers(sample, loaded)) != [name]:
                by = " and ".join(got) if got else "no format"
                complaints.append(f"{name}: the sample is taken by {by}, not by {name} alone: {sample.strip()[:80]}")
        for fixture in sorted((folder / "fixtures" / name).glob("*")):
            rows = Rows()
            parse(open_source(fixture), loaded, rows)
            if name not in rows.taken:
                complaints.append(f"{name}: takes nothing of {fixture}")
    if not own:
        complaints.append(f"{folder} holds no format files (*.py)")
    return complaints
