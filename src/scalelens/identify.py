"""What a file is: which format takes which lines, and what none of them understands; and the test of format files."""

import contextlib
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from scalelens import formats as known
from scalelens.columns import listing, mapped
from scalelens.errors import UserError
from scalelens.formats import Formats
from scalelens.lines import Line, defect, name_of
from scalelens.reading import COLUMNS, is_sidecar, parse, sidecar_text
from scalelens.records import header_of
from scalelens.rows import Rows
from scalelens.sidecar import parse as parse_sidecar
from scalelens.source import is_archive, open_members, open_source
from scalelens.tabular import preset as preset_of

SHOWN = pl.Schema(
    {
        "format": pl.String, "table": pl.String, "rows": pl.Int64,
        "first_line": pl.Int64, "last_line": pl.Int64, "example": pl.String,
    }
)  # fmt: skip


class Watched(Rows):
    """Rows that are counted by format and table, not kept."""

    def __init__(self, mapping: Mapping[str, tuple[str, str | None]] | None = None) -> None:
        super().__init__(mapping=mapping)
        self.found: dict[tuple[str, str], list[Any]] = {}  # how many, from which line, to which, an example

    def put(self, table: str, line: int | None, row: dict[str, Any]) -> None:
        self.note(table, line, 1)
        super().put(table, line, row)

    def metric(self, line: int | None, *facts: Any, **named: Any) -> None:
        self.note("metrics", line, 1)
        super().metric(line, *facts, **named)

    def metrics(self, line: int | None, *facts: Any, **named: Any) -> None:
        before = self.rows_of.get(self.format, 0)
        super().metrics(line, *facts, **named)
        self.note("metrics", line, self.rows_of.get(self.format, 0) - before)

    def problem(self, line: int | None, reason: str, text: str = "") -> None:
        self.note("problems", line, 1, reason)
        super().problem(line, reason, text)

    def note(self, table: str, line: int | None, count: int, example: str = "") -> None:
        entry = self.found.setdefault((self.format or "", table), [0, line, line, example])
        entry[0] += count
        if line is not None:
            entry[1], entry[2] = min(entry[1] or line, line), max(entry[2] or line, line)


def identify(
    path: Path, format_folders: tuple[Path, ...] = (), mapping: tuple[str, ...] = (), preset: Path | None = None
) -> tuple[str, pl.DataFrame]:
    """A sentence on the file, and a row for each format and table: how many rows, from which line to which.

    `preset` is a format file to be written for tables like this one.
    Raises UserError for a file that cannot be read, a mapping that does not fit, and a preset that cannot be written.
    """
    loaded = known.load(format_folders)
    rows = Watched(mapped(mapping))
    try:
        if is_archive(str(path)):
            names = [f"{member.name}: {status_of(parse(member, loaded, rows))}" for member in open_members(path)]
            return "archive of " + "; ".join(names), pl.DataFrame(schema=SHOWN)
        with contextlib.closing(open_source(path)) as source:
            if is_sidecar(str(path.resolve())):
                return of_sidecar(path, sidecar_text(source))
            status = parse(source, loaded, rows)
            header = header_of(source)
    except (OSError, tarfile.TarError) as error:
        raise UserError(f"{path} cannot be read ({error})", "check its permissions, and that it is whole") from None
    for role, (column, _) in rows.mapping.items():
        if rows.assigned and all(one.column != column for one in rows.assigned):
            raise UserError(f"{path} has no column {column}", f"--map {role}=COLUMN takes one of {', '.join(header)}")
    if preset:
        write_preset(preset, path, header, rows)
    found = [(*of, *what) for of, what in rows.found.items()]
    said = status_of((status[0], (status[1] or "").partition(COLUMNS)[0].rstrip("; ") or None))
    return "\n".join([f"{path.name}: {said}", *listing(rows.assigned)]), pl.DataFrame(found, schema=SHOWN, orient="row")


def write_preset(preset: Path, path: Path, header: tuple[str, ...], rows: Rows) -> None:
    """A format file for tables like this one, with what was guessed, to be edited."""
    if not rows.assigned or not header:
        raise UserError(
            f"{path} is no table that a preset could be for", "give a CSV or JSON lines that nothing else reads"
        )
    if preset.suffix != ".py" or not preset.stem.isidentifier():
        raise UserError(f"{preset} is no name for a format file", "name one such as my_metrics.py")
    try:
        with preset.open("x", encoding="utf-8") as file:
            file.write(preset_of(preset.stem, header, rows.assigned))
    except OSError as error:
        raise UserError(
            f"{preset} cannot be written ({error.strerror})", "name a new file in a folder of yours"
        ) from None


def of_sidecar(path: Path, text: str) -> tuple[str, pl.DataFrame]:
    """The same of a scalelens.toml: a row for each mistake."""
    _, faults = parse_sidecar(str(path), text)
    found = [("sidecar", "problems", 1, fault.line, fault.line, fault.reason) for fault in faults]
    status = f"{path.name}: a sidecar; what it says of which file: scalelens label {path.parent}"
    return status, pl.DataFrame(found, schema=SHOWN, orient="row")


def status_of(status: tuple[str, str | None]) -> str:
    return f"{status[0]} ({status[1]})" if status[1] else status[0]


def takers(sample: str, loaded: Formats) -> list[str]:
    """Names of the line formats that take a line."""
    names = []
    for format in loaded.of_lines:
        if any(anchor in sample for anchor in format.ANCHORS) and format.Reader(Rows()).take(Line(sample, 1)):
            names.append(name_of(format))
    return names


def recognisers(head: str, loaded: Formats) -> list[str]:
    """Names of the file formats that say a file of this beginning is their own; those asked last if no other does."""
    found = [format for format in loaded.of_files if format.recognise(head.encode(), "")]
    first = [format for format in found if format not in loaded.last]
    return [name_of(format) for format in first or found]


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
            complaints.append(
                f"{name}: the docstring has no lines below 'Samples:', and without one nothing shows that it works"
            )
        samples = known.samples(format)
        by_line = hasattr(format, "ANCHORS")
        for sample in samples if by_line else ["\n".join(samples) + "\n"] if samples else []:
            try:
                got = takers(sample, loaded) if by_line else recognisers(sample, loaded)
            except Exception as error:
                complaints.append(f"{defect(name, error)}: {sample.strip()[:80]}")
                continue
            if got != [name] and not (format in loaded.last and name in got):  # those asked last are asked in turn
                by = " and ".join(got) if got else "no format"
                complaints.append(f"{name}: the sample is taken by {by}, not by {name} alone: {sample.strip()[:80]}")
        for fixture in sorted((folder / "fixtures" / name).glob("*")):
            rows = Watched()
            with contextlib.closing(open_source(fixture)) as source:
                parse(source, loaded, rows)
            if name not in rows.taken:
                complaints.append(f"{name}: takes nothing of {fixture}")
            for _, _, _, example in rows.found.values():
                if example.startswith("the format "):
                    complaints.append(f"{name}: {fixture}: {example}")
    if not own:
        complaints.append(f"{folder} holds no format files (*.py)")
    return complaints
