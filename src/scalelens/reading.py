"""A batch of files becomes rows and one commit: hash, recognise, parse, write.

Nothing that a file can hold raises: what is ours and not understood is a problem, and a defect of a format costs its
line.
"""

import contextlib
import errno
import gc
import re
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import pyarrow as pa

from scalelens.columns import in_words, mapped
from scalelens.errors import UserError
from scalelens.formats import Formats
from scalelens.lines import Offer, defect, name_of
from scalelens.rows import Rows
from scalelens.sidecar import LIMIT, NAME
from scalelens.sidecar import parse as parse_sidecar
from scalelens.source import HEAD, Source, encoding_of, is_archive, open_members, open_source
from scalelens.warehouse import BatchWriter, Entry, Live, Warehouse

DOCUMENT_SUFFIXES = (
    ".md", ".rst", ".html", ".htm", ".pdf", ".tex", ".py", ".ipynb", ".sh", ".c", ".cc", ".cpp", ".cu", ".h", ".js",
    ".patch", ".diff",
)  # fmt: skip
MLFLOW_VALUE = re.compile(r"/[0-9a-f]{32}/(?:params|tags)/")
CONTROLS = bytes({*range(32)} - {*b"\t\n\v\f\r\b\x1b"})  # bytes that no log prints
UNREAD = (
    (
        b"SQLite format 3\0",
        "an SQLite database, which is not read; export what it holds (MLflow: to a folder of files)",
    ),
    (b":W&B", "W&B's own record of a run, which is not read; export its history as CSV or JSON lines"),
    (b"\0\5\x16\7", "what macOS keeps beside a file of another name, without the file itself"),
)
EXECUTION_TRACE = re.compile(rb'\s*\{\s*"schema"\s*:\s*"[\w.-]+"\s*,\s*"pid"\s*:.*?"nodes"\s*:\s*\[', re.DOTALL)
LFS_POINTER = re.compile(rb"version https://git-lfs\.github\.com/spec/v1\n(?:.*\n)*?size (\d{1,18})\s*\Z")
LINK = re.compile(rb"(?:\.\./)+[\w./+-]{1,1000}")
COLUMNS = "columns: "  # begins the part of a note that says what the columns of a table are read as
FULL = (errno.ENOSPC, errno.EDQUOT)

Progress = Callable[[int], None]


class Found(NamedTuple):
    """A file of the walk."""

    root: str
    path: str
    size_bytes: int
    modified_ns: int
    zone: str | None = None  # of its naive times


class Options(NamedTuple):
    """What a worker must know."""

    warehouse: Path
    format_folders: tuple[Path, ...] = ()
    documents: bool = False
    mapping: tuple[str, ...] = ()  # --map


Contents = set[tuple[str, str | None]]  # file_id, and the zone that its naive times are taken to be of


def held(live: Live, formats: Formats, options: Options) -> Contents:
    """Contents whose rows are held as the formats of now would read them."""
    contents: Contents = set()
    for file_id, entry in live.providers.items():
        current, said = version(formats, entry.formats, options, None), entry.parser_version
        if f"{said} ".startswith(f"{current} "):
            contents.add((file_id, said.removeprefix(current).strip() or None))
    return contents


def version(formats: Formats, taken: list[str], options: Options, zone: str | None) -> str:
    """What a file's rows depend on besides its bytes; the zone of its naive times at the end."""
    mapping = sorted(options.mapping) if formats.is_last(taken) else []
    return " ".join([formats.version(taken[0] if taken else None), *mapping, *([zone] if zone else [])])


def read_batch(
    batch: list[Found],
    options: Options,
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
    file: Found, options: Options, formats: Formats, contents: Contents, writer: BatchWriter | None, progress: Progress
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
    options: Options,
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
        entry.status, entry.note = parse(source, formats, rows, options.documents)
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


def is_sidecar(path: str) -> bool:
    return path.endswith(f"/{NAME}")


def read_sidecar(source: Source, formats: Formats, options: Options) -> Entry:
    """Takes over a sidecar as it stands: what it says of which file is decided when the warehouse is opened."""
    entry = Entry(source.path, size_bytes=source.size_bytes, modified_ns=source.modified_ns)
    try:
        entry.file_id, entry.sidecar = source.digest(), sidecar_text(source)
    except OSError as error:
        entry.status, entry.note = "unknown", f"cannot be read: {error.strerror or error}"
        return entry
    sidecar, faults = parse_sidecar(source.path, entry.sidecar)
    entry.parser_version = version(formats, ["sidecar"], options, None)
    entry.formats, entry.rows, entry.problems = ["sidecar"], sidecar.statements, len(faults)
    entry.rows_of, entry.problems_of = {"sidecar": entry.rows}, {"sidecar": entry.problems}
    entry.status = "partial" if faults else "ok" if entry.rows else "empty"
    return entry


def sidecar_text(source: Source) -> str:
    """Text of a sidecar, and no more of what cannot be one than shows that it is too long."""
    text = b""
    for block in source.utf8():
        text += block
        if len(text) > LIMIT:
            break
    return text[: LIMIT + 1].decode("utf-8", "replace")


def parse(source: Source, formats: Formats, rows: Rows, documents: bool = False) -> tuple[str, str | None]:
    """Rows of one file.  Returns its status and what is worth noting."""
    rows.path = source.path
    head = source.head()
    if not head.strip() and len(head) < HEAD:
        return ("empty", None) if source.damage is None else ("unknown", source.damage)
    codec, mark = encoding_of(head)
    text = head[mark:].decode(codec, "replace").encode() if codec else head[mark:]
    if stands_for := stand_in(text):
        return "unknown", stands_for
    last, name = formats.last, source.name
    for format in (format for format in formats.of_files if format not in last):
        if recognised(format, text, name):
            rows.format = name_of(format)
            rows.taken[rows.format] = 1
            note = None
            try:
                note = format.read(source, rows)
            except (OSError, MemoryError, UserError):
                raise
            except Exception as error:
                rows.problem(None, defect(rows.format, error))
            return ending(source, rows, note)
    for magic, why in UNREAD:
        if head.startswith(magic):
            return "unknown", why
    if is_binary(head):
        return "unknown", "not text, and no known file format"
    if MLFLOW_VALUE.search(source.path):
        return "document", "a value of an MLflow run; its parameters are read with meta.yaml"
    if not documents and (
        name.lower().endswith(DOCUMENT_SUFFIXES)
        or name.lower().startswith("readme")
        or head.lstrip()[:9].lower() in (b"<!doctype", b"<html>")
    ):
        return "document", "a document or source code, not a log; --documents reads it all the same"
    Offer(formats.of_lines, rows).read(source.utf8())
    lacking: str | None = None
    for format in () if rows.taken else last:
        rows.format = name_of(format)
        if recognised(format, text, name):
            missed = read_last(format, source, rows)
            if missed is None:
                return ending(source, rows)
            lacking = lacking or missed
    return ("unknown", lacking) if lacking else ending(source, rows)


def read_last(format: Any, source: Source, rows: Rows) -> str | None:
    """Rows of a file by a format that comes after all others.  Returns why the file is none of its own, if so."""
    try:
        lacking: str | None = format.read(source, rows)
    except (OSError, MemoryError, UserError):
        raise
    except Exception as error:
        lacking = None
        rows.problem(None, defect(name_of(format), error))
    if not lacking:
        rows.taken[name_of(format)] = 1
    return lacking


def is_binary(head: bytes) -> bool:
    """Whether bytes are no text.  A log with a hole of zeros, as a node that crashed leaves it, is one."""
    if b"\0" not in head or encoding_of(head)[0]:
        return False
    letters = head.translate(None, b"\0")
    return len(letters.translate(None, CONTROLS)) < len(letters) * 0.98


def recognised(format: Any, head: bytes, name: str) -> bool:
    """Whether a file format says that the file is its own."""
    try:
        return bool(format.recognise(head, name))
    except Exception:  # a user's format must not stop an ingest; that it does not recognise is seen in `identify`
        return False


def stand_in(head: bytes) -> str | None:
    """What a file is that only says where the real one lies, or is not what it seems."""
    if pointer := LFS_POINTER.match(head):
        return f"a pointer of git-LFS, not the file itself ({int(pointer[1]):,} bytes): git lfs pull fetches it"
    if link := LINK.fullmatch(head):
        return f"a symbolic link that was copied as text, to {link[0].decode('utf-8', 'replace')}"
    if EXECUTION_TRACE.match(head):
        return "an execution trace of PyTorch, operators without times; ingest the trace of the profiler beside it"
    return None


def ending(source: Source, rows: Rows, note: str | None = None) -> tuple[str, str | None]:
    """Status of a file that was read to its end, and what its format finds worth noting."""
    rows.flush()  # values that no column can hold are problems too
    rows.format = None
    if source.damage:
        rows.problem(None, source.damage)
    if not rows.taken:
        return "unknown", source.damage or "no known format in it"
    columns = COLUMNS + in_words(rows.assigned) if rows.assigned else None
    said = "; ".join(filter(None, (source.damage, note, columns))) or None
    return ("partial" if rows.problems_of else "ok"), said


def ignore(_: int) -> None:
    """Progress that nobody looks at."""
