"""A batch of files becomes rows and one commit: hash, recognize, parse, write.

Reading never raises, regardless of what a file holds.  A line that its format cannot read is a problem, and a defect
of a format costs one line.
"""

import contextlib
import re
import tarfile
from collections.abc import Callable, Iterator, Sequence
from datetime import tzinfo
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from scalelens.collector import gc_paused
from scalelens.ingestion.formats import Formats
from scalelens.ingestion.recognize import read_rows
from scalelens.ingestion.walk import WalkedFile, is_sidecar, sidecar_text
from scalelens.parsing.archive_names import LOGS_IN_JSON, is_archive, is_document, is_notebook
from scalelens.parsing.archives import UnreadMembersError, open_members
from scalelens.parsing.arrow_rows import GatheredRows
from scalelens.parsing.logs_in_json import logs_in
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import OutOfTimeError, Source, open_source
from scalelens.runs.sidecar import sidecar_of
from scalelens.tabular.roles import mapped
from scalelens.version import __version__
from scalelens.warehouse.live import Live
from scalelens.warehouse.log import Warehouse
from scalelens.warehouse.records import Entry
from scalelens.warehouse.writer import BatchWriter

Progress = Callable[[int], None]  # called with the number of stored bytes just read
# Until a block of this size is freed, glibc returns each freed block of a text to the system and requests it again.
_KEPT_BY_MALLOC = 16 << 20  # bytes
_READINGS = 3  # of a file that is changed while it is read
_CHANGING = "it is changed each time it is read; ingest it again when nothing writes to it"


class IngestOptions(NamedTuple):
    """What a worker must know of the command line."""

    warehouse: Path
    format_folders: tuple[Path, ...] = ()
    documents: bool = False
    columns: tuple[str, ...] = ()  # --map
    reread: bool = False  # read everything, even what the warehouse holds


Contents = set[tuple[str, str | None]]  # file_id, and the zone in which its naive times were read


def known_contents(live: Live, formats: Formats, options: IngestOptions) -> Contents:
    """Contents whose rows the warehouse holds as today's formats would read them."""
    contents: Contents = set()
    if options.reread:
        return contents
    for file_id, entry in live.providers.items():
        if is_of_newer(entry):
            contents.add((file_id, _zone_in(entry.parser_version)))
            continue
        current, committed = reader_version(formats, entry.formats, options, None), entry.parser_version
        if f"{committed} ".startswith(f"{current} "):
            contents.add((file_id, committed.removeprefix(current).strip() or None))
    return contents


def is_of_newer(entry: Entry) -> bool:
    """Whether a newer version of ScaleLens has read a file: this one would know less of it."""
    return _version_numbers(entry.read_by) > _version_numbers(__version__)


def _version_numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d{1,9}", version)[:3])


def _zone_in(parser_version: str) -> str | None:
    """The zone that ends what `reader_version` gives."""
    last = parser_version.split(" ")[2:][-1:]
    return last[0] if last and "=" not in last[0] else None


def reader_version(formats: Formats, taken_by: list[str], options: IngestOptions, zone: str | None) -> str:
    """What a file's rows depend on besides its bytes, as text; the zone of its naive times comes last."""
    mapping = sorted(options.columns) if options.columns and formats.is_last(taken_by) else []
    return " ".join([formats.version(taken_by[0] if taken_by else None), *mapping, *([zone] if zone else [])])


def read_batch(
    batch: list[WalkedFile],
    options: IngestOptions,
    formats: Formats,
    contents: Contents,
    progress: Progress,
    store: Warehouse | None,
) -> list[Entry]:
    """Reads files into one segment per table and commits them to `store`; without a store nothing is written.

    Rows of `contents` are in the warehouse already.
    """
    writer = BatchWriter(store) if store else None
    gathered = GatheredRows(writer.write) if writer else None
    reader = _FileReader(options, formats, contents, writer, gathered, progress, set())
    entries: list[Entry] = []
    pool = pa.default_memory_pool()
    pa.set_memory_pool(pa.system_memory_pool())  # Arrow's own pool keeps 50 MB more of freed memory
    bytes(_KEPT_BY_MALLOC)  # is freed at once
    try:
        with gc_paused():  # the collector would take a tenth of the time
            for file in batch:
                for entry in reader.read(file):
                    entry.root = file.root
                    entries.append(entry)
            if writer and gathered:
                gathered.flush()
                writer.commit(entries, reader.void)
    except BaseException:
        if writer:
            writer.abandon()
        raise
    finally:
        pa.set_memory_pool(pool)
    return entries


def new_entry(source: Source) -> Entry:
    """The entry of a file before it is read."""
    return Entry(
        source.path, size_bytes=source.size_bytes, modified_ns=source.modified_ns, changed_ns=source.changed_ns,
        read_by=__version__,
    )  # fmt: skip


class _FileReader(NamedTuple):
    """Reads files, one after the other, and makes the entry of each."""

    options: IngestOptions
    formats: Formats
    contents: Contents  # grows with each file
    writer: BatchWriter | None  # takes the rows, except in a dry run
    gathered: GatheredRows | None  # of small files, on their way to the writer
    progress: Progress
    void: set[str]  # contents under which rows were written of a file that another process changed meanwhile

    def read(self, file: WalkedFile) -> Iterator[Entry]:
        """The entry of a file; where it is an archive, those of its members too.

        A file that is changed while it is read is read again, so that no rows stand under the digest of other bytes.
        """
        for _ in range(_READINGS):
            try:
                source = open_source(file.path)
            except OSError as error:
                yield Entry(file.path, status="unknown", note=f"cannot be read: {error.strerror}", size_bytes=-1)
                return
            with contextlib.closing(source):
                if is_sidecar(file.path):
                    yield self.read_sidecar(source)
                    self.progress(file.size_bytes)
                    return
                if is_archive(file.path):
                    yield from self.read_archive(source, file)
                    return
                if self.options.documents and is_notebook(file.path) and (logs := logs_in(source)):
                    yield from self.read_archive(source, file, logs)
                    return
                entry = self.read_source(source, file.zone, self.progress)
                if entry.status == "unknown" and is_document(file.path) and (logs := logs_in(source)):
                    self.contents.discard((entry.file_id, file.zone))
                    yield from self.read_archive(source, file, logs)
                    return
                if entry.status == "duplicate" or not entry.file_id or source.still_has(entry.file_id):
                    yield entry
                    return
            self.void.add(entry.file_id)
            self.contents.discard((entry.file_id, file.zone))
        yield Entry(file.path, status="unknown", note=_CHANGING, size_bytes=-1)

    def read_archive(self, source: Source, file: WalkedFile, logs: Sequence[Source] = ()) -> Iterator[Entry]:
        """The entries of an archive's members, or of the `logs` in a document, then that of the file itself.

        After a fault of the disk or the folder of temporary files the next ingest tries the archive again.
        """
        entry = new_entry(source)
        entry.parser_version = self.version([], file.zone)
        count, note = 0, ""
        unread: list[tuple[str, str]] = []
        try:
            for member in logs or open_members(Path(file.path)):
                with contextlib.closing(member):
                    member_entry = self.read_source(member, file.zone, lambda _: self.progress(0))
                    if not member_entry.parser_version:
                        entry.parser_version, note = "", f", not all whole: {member_entry.note}"
                    yield member_entry
                count += 1
            entry.file_id = source.digest()
        except OSError as error:
            entry.parser_version, note = "", f", then cannot be read: {error.strerror or error}"
        except UnreadMembersError as error:
            note = f", not all whole: {error}"
            unread = [(name, f"this member {fault} and is not read") for name, fault in error.unread]
        except (tarfile.TarError, EOFError, ValueError, ArithmeticError, LookupError) as error:
            note, unread = f", then damaged: {error}", [("", f"this archive is damaged: {error}")]
        if not entry.file_id:
            with contextlib.suppress(OSError):
                entry.file_id = source.digest()
        self.progress(file.size_bytes)
        self.write_unread(entry, unread, file.zone)
        entry.status = "partial" if note else "ok"
        entry.note = f"a document with {count} logs{note}" if logs else f"archive of {count} files{note}"
        entry.formats = [LOGS_IN_JSON] if logs else []
        yield entry

    def write_unread(self, entry: Entry, unread: list[tuple[str, str]], zone: str | None) -> None:
        """Writes a problem for each member of an archive that was not read.  The text of the problem is its name."""
        if not unread or not entry.file_id or (entry.file_id, zone) in self.contents:
            return
        rows = Rows(entry.file_id, self.writer.write if self.writer else None)
        for name, reason in unread:
            rows.problem(None, reason, name)
        rows.flush()
        _take_over(entry, rows)
        if self.writer:
            entry.batch = self.writer.id
            self.contents.add((entry.file_id, zone))

    def read_source(self, source: Source, zone: str | None, progress: Progress) -> Entry:
        """Hashes a file or a member of an archive, finds out what it is, and writes its rows."""
        entry = new_entry(source)
        try:
            entry.file_id = source.digest()
        except OSError as error:
            entry.status, entry.note = "unknown", f"cannot be read: {error.strerror or error}"
            return entry
        if entry.file_id in self.void:
            return Entry(source.path, status="unknown", note=_CHANGING, size_bytes=-1)
        if (entry.file_id, zone) in self.contents:
            entry.status, entry.note = "duplicate", "the same content was read already"
            entry.parser_version = self.version([], zone)
            progress(source.size_bytes)
            return entry
        write, mapping = self.writer.write if self.writer else None, mapped(self.options.columns)
        rows = Rows(entry.file_id, write, _zone_of(zone) if zone else None, mapping, self.gathered)
        source.progress = progress
        whole = True
        try:
            entry.status, entry.note = read_rows(source, self.formats, rows, self.options.documents)
        except OutOfTimeError as error:  # the rows so far count, and another try would not be faster
            entry.status, entry.note = "partial", f"not read to its end: {error}"
        except (OSError, MemoryError) as error:  # the rows so far count, and the next ingest tries again
            whole = False
            entry.status, entry.note = "partial", f"cannot be read to its end: {error or 'it does not fit into memory'}"
        rows.flush()
        _take_over(entry, rows)
        entry.parser_version = self.version(entry.formats, zone) if whole else ""
        if self.writer and entry.status != "document":  # the same content under another name may be read as a log
            entry.batch = self.writer.id
            if whole:
                self.contents.add((entry.file_id, zone))
        return entry

    def read_sidecar(self, source: Source) -> Entry:
        """Stores the text of a sidecar.  What it means for each file is decided when the warehouse is opened."""
        entry = new_entry(source)
        try:
            entry.file_id, entry.sidecar = source.digest(), sidecar_text(source)
        except OSError as error:
            entry.status, entry.note = "unknown", f"cannot be read: {error.strerror or error}"
            return entry
        sidecar, faults = sidecar_of(source.path, entry.sidecar)
        entry.parser_version = self.version(["sidecar"], None)
        entry.formats, entry.rows, entry.problems = ["sidecar"], sidecar.statement_count, len(faults)
        entry.rows_by_format, entry.problems_by_format = {"sidecar": entry.rows}, {"sidecar": entry.problems}
        entry.status = "partial" if faults else "ok" if entry.rows else "empty"
        return entry

    def version(self, taken_by: list[str], zone: str | None) -> str:
        return reader_version(self.formats, taken_by, self.options, zone)


def _zone_of(name: str) -> tzinfo:
    from zoneinfo import ZoneInfo  # with what finds the system's zones, which few ingests need

    return ZoneInfo(name)


def _take_over(entry: Entry, rows: Rows) -> None:
    """Copies into an entry what its rows show about the file."""
    entry.formats = sorted(rows.taken)
    entry.parts = rows.parts
    entry.rows, entry.problems = sum(rows.rows_by_format.values()), sum(rows.problems_by_format.values())
    entry.rows_by_format = {name or "": count for name, count in rows.rows_by_format.items()}
    entry.problems_by_format = {name or "": count for name, count in rows.problems_by_format.items()}
