"""Looks at one file without a warehouse: which format takes which lines, and what no format understands."""

import contextlib
import os
import tarfile
from collections.abc import Iterable
from pathlib import Path

import polars as pl

from scalelens.errors import UserError
from scalelens.ingestion.counted_rows import CountedRows
from scalelens.ingestion.formats import Formats, load
from scalelens.ingestion.recognize import COLUMNS_NOTE, read_rows
from scalelens.ingestion.walk import is_sidecar, sidecar_text
from scalelens.parsing.archive_names import is_archive, is_document
from scalelens.parsing.archives import UnreadMembersError, open_members
from scalelens.parsing.logs_in_json import logs_in
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source, open_source
from scalelens.runs.sidecar import sidecar_of
from scalelens.tabular.cells import header_of
from scalelens.tabular.preset import preset_text
from scalelens.tabular.roles import listing, mapped
from scalelens.tabular.unknown_logs.log_preset import line_listing, line_preset_text
from scalelens.whole_files import write_file

_COUNTS_SCHEMA = pl.Schema(
    {
        "format": pl.String, "table": pl.String, "rows": pl.Int64,
        "first_line": pl.Int64, "last_line": pl.Int64, "example": pl.String,
    }
)  # fmt: skip


def identify(
    path: Path, format_folders: tuple[Path, ...] = (), mapping: tuple[str, ...] = (), preset: Path | None = None
) -> tuple[str, pl.DataFrame]:
    """A sentence about the file, and a row for each format and table: how many rows, from which line to which.

    `preset` is the path of a format file to be written for tables like this one.
    Raises UserError for a file that cannot be read, a mapping that does not fit, and a preset that cannot be written.
    """
    loaded = load(format_folders)
    rows = CountedRows(mapped(mapping))
    try:
        if is_archive(str(path)):
            return f"archive of {_members_of(open_members(path), loaded, rows)}", pl.DataFrame(schema=_COUNTS_SCHEMA)
        with contextlib.closing(open_source(path)) as source:
            if is_sidecar(str(path.resolve())):
                return _identified_sidecar(path, sidecar_text(source))
            status = read_rows(source, loaded, rows)
            if status[0] == "unknown" and is_document(str(path)) and (logs := logs_in(source)):
                return f"a document with logs: {_members_of(logs, loaded, rows)}", pl.DataFrame(schema=_COUNTS_SCHEMA)
            header = header_of(source)
            lines = [] if header or "generic_lines" not in rows.taken else line_listing(source)
            if preset:
                _write_preset(preset, path, _preset_for(preset.stem, source, header, rows))
    except (OSError, tarfile.TarError) as error:
        raise UserError(f"{path} cannot be read ({error})", "check its permissions, and that it is whole") from None
    for role, (column, _) in rows.mapping.items():
        if rows.assigned and all(assigned.column != column for assigned in rows.assigned):
            columns = ", ".join(reading.column for reading in rows.assigned)
            raise UserError(
                f"{path} has no column {column}", f"--map {role}=COLUMN takes one of {', '.join(header) or columns}"
            )
    counts = [
        (format, table, count.rows, count.first_line, count.last_line, count.example)
        for (format, table), count in rows.counts.items()
    ]
    note_without_columns = (status[1] or "").partition(COLUMNS_NOTE)[0].rstrip("; ") or None
    sentence = "\n".join(
        [f"{path.name}: {_status_of((status[0], note_without_columns))}", *lines, *listing(rows.assigned)]
    )
    return sentence, pl.DataFrame(counts, schema=_COUNTS_SCHEMA, orient="row")


def _members_of(members: Iterable[Source], loaded: Formats, rows: CountedRows) -> str:
    """What each file of an archive, or each log of a document, is."""
    names = []
    try:
        for member in members:
            with contextlib.closing(member):
                names.append(f"{member.name}: {_status_of(read_rows(member, loaded, rows))}")
    except UnreadMembersError as error:
        names.append(str(error))
    return "; ".join(names)


def _preset_for(name: str, source: Source, header: tuple[str, ...], rows: Rows) -> str:
    """A format file for a table or a log like this one, with what was guessed; empty where it needs none."""
    if header:
        return preset_text(name, header, rows.assigned) if rows.assigned else ""
    others = rows.taken.keys() - {"generic_lines"}
    needs_one = not others or "generic_lines" in rows.taken or rows.timed_steps is None
    return line_preset_text(name, source, rows.assigned) if needs_one else ""


def _write_preset(preset: Path, path: Path, text: str) -> None:
    """Writes a format file, for the user to edit."""
    if not text:
        raise UserError(
            f"{path} is not a table that needs a preset",
            "give a CSV, JSON lines, or a log with training lines, that no other format reads",
        )
    if preset.suffix != ".py" or not preset.stem.isidentifier():
        raise UserError(f"{preset} is not a name for a format file", "name one such as my_metrics.py")
    if os.path.lexists(preset):
        raise UserError(f"{preset} cannot be written (File exists)", "name a new file in a folder of yours")
    write_file(preset, text.encode())


def _identified_sidecar(path: Path, text: str) -> tuple[str, pl.DataFrame]:
    """A sentence about a scalelens.toml, and a row for each mistake in it."""
    _, faults = sidecar_of(str(path), text)
    mistakes = [("sidecar", "problems", 1, fault.line, fault.line, fault.reason) for fault in faults]
    status = f"{path.name}: a sidecar; to see what it says about each file: scalelens label {path.parent}"
    return status, pl.DataFrame(mistakes, schema=_COUNTS_SCHEMA, orient="row")


def _status_of(status: tuple[str, str | None]) -> str:
    return f"{status[0]} ({status[1]})" if status[1] else status[0]
