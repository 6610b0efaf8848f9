"""A batch of files becomes rows and one commit: hash, recognise, parse, write.

Nothing that a file can hold raises: what is ours and not understood is a problem, and a defect of a format costs its
line.
"""

import contextlib
import errno
import gc
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo

import pyarrow as pa

from scalelens.errors import UserError
from scalelens.ingestion.formats import Formats
from scalelens.ingestion.recognise import read_rows
from scalelens.ingestion.walk import WalkedFile, is_sidecar, sidecar_text
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source, is_archive, open_members, open_source
from scalelens.runs.sidecar import sidecar_of
from scalelens.tabular.roles import mapped
from scalelens.warehouse.log import Entry, Live, Warehouse
from scalelens.warehouse.writer import BatchWriter

FULL = (errno.ENOSPC, errno.EDQUOT)

Progress = Callable[[int], None]  # told of stored bytes that were read


class IngestOptions(NamedTuple):
    """What a worker must know."""

    warehouse: Path
    format_folders: tuple[Path, ...] = ()
    documents: bool = False
    mapping: tuple[str, ...] = ()  # --map


Contents = set[tuple[str, str | None]]  # file_id, and the zone that its naive times are taken to be of


def known_contents(live: Live, formats: Formats, options: IngestOptions) -> Contents:
    """Contents whose rows are held as the formats of now would read them."""
    contents: Contents = set()
    for file_id, entry in live.providers.items():
        current, said = version(formats, entry.formats, options, None), entry.parser_version
        if f"{said} ".startswith(f"{current} "):
            contents.add((file_id, said.removeprefix(current).strip() or None))
    return contents


def version(formats: Formats, taken: list[str], options: IngestOptions, zone: str | None) -> str:
    """What a file's rows depend on besides its bytes; the zone of its naive times at the end."""
    mapping = sorted(options.mapping) if formats.is_last(taken) else []
    return " ".join([formats.version(taken[0] if taken else None), *mapping, *([zone] if zone else [])])


def read_batch(
    batch: list[WalkedFile],
    options: IngestOptions,
    formats: Formats,
    contents: Contents,
    progress: Progress,
    dry_run: bool = False,
) -> list[Entry]:
    """Reads files into one segment per table and commits them.  `contents` are those whose rows are held already."""
    writer = BatchWriter(Warehouse(options.warehouse))
    gc.disable()  # rows are many and hold no cycles: looking for some costs a tenth of the time
    pool = pa.default_memory_pool()
    pa.set_memory_pool(pa.system_memory_pool())  # Arrow's own keeps 50 MB more of what was freed
    try:
        for file in batch:
            for entry in read_file(file, options, formats, contents, None if dry_run else writer, progress):
                entry.root = file.root
                writer.entries.append(entry)
        if not dry_run:
            writer.commit()
    except BaseException:
        writer.abandon()
        raise
    finally:
        gc.enable()
        pa.set_memory_pool(pool)
    return writer.entries


def read_file(
    file: WalkedFile,
    options: IngestOptions,
    formats: Formats,
    contents: Contents,
    writer: BatchWriter | None,
    progress: Progress,
) -> Iterator[Entry]:
    """The entry of a file, and those of its members where it is an archive."""
    try:
        source = open_source(Path(file.path))
    except OSError as error:
        yield Entry(file.path, status="unknown", note=f"cannot be read: {error.strerror}", size_bytes=-1)
        return
    with contextlib.closing(source):
        if is_sidecar(file.path):
            yield read_sidecar(source, formats, options)
            progress(file.size_bytes)
            return
        if not is_archive(file.path):
            yield read_source(source, file.zone, options, formats, contents, writer, progress)
            return
        count, note = 0, ""
        try:
            for member in open_members(Path(file.path)):
                with contextlib.closing(member):
                    yield read_source(member, file.zone, options, formats, contents, writer, lambda _: progress(0))
                count += 1
        except (tarfile.TarError, OSError, EOFError, ValueError, ArithmeticError, LookupError) as error:
            if isinstance(error, OSError) and error.errno in FULL:
                raise UserError(
                    f"no space is left for unpacking {file.path}", "free some, or name another folder in TMPDIR"
                ) from None
            note = f", then damaged: {error}"
        progress(file.size_bytes)
        yield Entry(
            file.path, file_id=source.digest(), size_bytes=source.size_bytes, modified_ns=source.modified_ns,
            parser_version=version(formats, [], options, file.zone), note=f"archive of {count} files{note}",
            status="partial" if note else "ok",
        )  # fmt: skip


def read_source(
    source: Source,
    zone: str | None,
    options: IngestOptions,
    formats: Formats,
    contents: Contents,
    writer: BatchWriter | None,
    progress: Progress,
) -> Entry:
    """Hashes a file, finds out what it is, and writes its rows."""
    entry = Entry(source.path, size_bytes=source.size_bytes, modified_ns=source.modified_ns)
    entry.parser_version = version(formats, [], options, zone)
    try:
        entry.file_id = source.digest()
    except OSError as error:
        entry.status, entry.note, entry.parser_version = "unknown", f"cannot be read: {error.strerror or error}", ""
        return entry
    if (entry.file_id, zone) in contents:
        entry.status, entry.note = "duplicate", "the same content is held already"
        progress(source.size_bytes)
        return entry
    rows = Rows(
        entry.file_id, writer.write if writer else None, ZoneInfo(zone) if zone else None, mapped(options.mapping)
    )
    source.progress = progress
    whole = True
    try:
        entry.status, entry.note = read_rows(source, formats, rows, options.documents)
    except (OSError, MemoryError) as error:  # the rows before it count, and the next ingest tries again
        whole = False
        entry.status, entry.note = "partial", f"cannot be read to its end: {error or 'it does not fit into memory'}"
    rows.flush()
    entry.formats = sorted(rows.taken)
    entry.rows, entry.problems = sum(rows.rows_of.values()), sum(rows.problems_of.values())
    entry.parts = rows.parts
    entry.parser_version = version(formats, entry.formats, options, zone) if whole else ""
    entry.rows_of = {name or "": count for name, count in rows.rows_of.items()}
    entry.problems_of = {name or "": count for name, count in rows.problems_of.items()}
    if writer and entry.status != "document":  # under another name the same content may be a log
        entry.batch = writer.id
        if whole:
            contents.add((entry.file_id, zone))
    return entry


def read_sidecar(source: Source, formats: Formats, options: IngestOptions) -> Entry:
    """Takes over a sidecar as it stands: what it says of which file is decided when the warehouse is opened."""
    entry = Entry(source.path, size_bytes=source.size_bytes, modified_ns=source.modified_ns)
    try:
        entry.file_id, entry.sidecar = source.digest(), sidecar_text(source)
    except OSError as error:
        entry.status, entry.note = "unknown", f"cannot be read: {error.strerror or error}"
        return entry
    sidecar, faults = sidecar_of(source.path, entry.sidecar)
    entry.parser_version = version(formats, ["sidecar"], options, None)
    entry.formats, entry.rows, entry.problems = ["sidecar"], sidecar.statements, len(faults)
    entry.rows_of, entry.problems_of = {"sidecar": entry.rows}, {"sidecar": entry.problems}
    entry.status = "partial" if faults else "ok" if entry.rows else "empty"
    return entry
