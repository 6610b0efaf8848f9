"""A folder becomes a warehouse: walk, recognise, parse, write, commit.

Files are read in batches, logs before traces, each batch one commit: what is committed can be queried while the rest
is read, and an interrupted ingest goes on where it stopped.  Nothing that a file can hold raises.
"""

import concurrent.futures.process
import contextlib
import errno
import gc
import multiprocessing
import os
import signal
import stat
import sys
import tarfile
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from scalelens import formats as known
from scalelens.errors import UserError
from scalelens.formats import Formats
from scalelens.lines import Offer, defect, name_of
from scalelens.rows import Rows
from scalelens.source import HEAD, Source, encoding_of, is_archive, open_members, open_source
from scalelens.warehouse import BatchWriter, Entry, Live, Warehouse

BATCH_BYTES = 64 << 20
BATCH_FILES = 400
TRACE_SUFFIXES = (".json", ".json.gz", ".json.zst", ".pt.trace", ".pb", ".tar.gz", ".tgz")
DOCUMENT_SUFFIXES = (
    ".md", ".rst", ".html", ".htm", ".pdf", ".tex", ".py", ".ipynb", ".sh", ".c", ".cc", ".cpp", ".cu", ".h", ".js",
    ".patch", ".diff",
)  # fmt: skip
CONTROLS = bytes({*range(32)} - {*b"\t\n\v\f\r\b\x1b"})  # bytes that no log prints
FULL = (errno.ENOSPC, errno.EDQUOT)
POLITE_JOBS = 4  # outside a Slurm job, on a login node, no more workers than this

Progress = Callable[[int], None]


class Found(NamedTuple):
    """A file of the walk."""

    root: str
    path: str
    size_bytes: int
    modified_ns: int


class Options(NamedTuple):
    """What a worker must know."""

    warehouse: Path
    format_folders: tuple[Path, ...] = ()
    documents: bool = False
    zone: str | None = None


class Report(NamedTuple):
    """What an ingest did: new entries, and how many files needed nothing."""

    entries: list[Entry]
    unchanged: int
    unreadable: list[str]


def ingest(
    paths: Iterable[Path],
    warehouse: Path,
    jobs: int | None = None,
    format_folders: tuple[Path, ...] = (),
    documents: bool = False,
    dry_run: bool = False,
    begin: Callable[[int, int], Progress] | None = None,
    zone: str | None = None,
) -> Report:
    """Reads all files below `paths` into the warehouse; files that have not changed are skipped.

    `begin(files, bytes)` is called once the work is known and returns what is told of bytes read.
    `dry_run` reads and reports, and writes nothing.
    Raises UserError for a path that is not there, or a warehouse that cannot be written.
    """
    store = Warehouse(warehouse)
    formats = known.load(format_folders)
    if not dry_run:
        store.create()
        store.sweep()
    unreadable: list[str] = []
    found = list(walk(paths, warehouse, unreadable))
    options = Options(warehouse, format_folders, documents, zone)
    live = store.live() if store.exists() else None
    seen = live.paths if live else {}
    todo = [file for file in found if not is_current(seen.get(file.path), file, formats, options)]
    todo.sort(key=lambda file: (file.path.endswith(TRACE_SUFFIXES), file.path))
    progress = begin(len(todo), sum(file.size_bytes for file in todo)) if begin and todo else ignore
    batches = list(batched(todo))
    workers = min(jobs or default_jobs(), len(batches))
    entries: list[Entry] = []
    if workers > 1 and not dry_run:
        for done in in_parallel(batches, options, workers, progress):
            entries += done
    else:
        contents = held(live, formats, options) if live else set()
        for batch in batches:
            entries += read_batch(batch, options, formats, contents, progress, dry_run)
    if not dry_run:
        store.fold()
    return Report(entries, len(found) - len(todo), unreadable)


def walk(paths: Iterable[Path], warehouse: Path, unreadable: list[str]) -> Iterator[Found]:
    """All files below `paths`, each once, in order; version control, warehouses and temporary files are passed over."""
    met: set[str] = set()
    for given in paths:
        try:
            needed = os.R_OK | os.X_OK if stat.S_ISDIR(given.stat().st_mode) else os.R_OK
        except (FileNotFoundError, NotADirectoryError):
            raise UserError(f"there is no {given}", "give a file or a folder that exists") from None
        except OSError as error:
            raise UserError(f"{given} cannot be read ({error.strerror})", "check its permissions") from None
        if not os.access(given, needed):
            raise UserError(f"{given} cannot be read", "check its permissions")
        root = given.resolve()
        for path in [root] if root.is_file() else below(root, unreadable):
            try:
                status = path.stat()
            except OSError as error:
                unreadable.append(f"{path}: {error.strerror}")
                continue
            if not stat.S_ISREG(status.st_mode):
                continue
            if not encodable(str(path)):
                unreadable.append(f"{str(path)!a}: its name is not UTF-8, rename it")
            elif str(path) not in met:
                met.add(str(path))
                yield Found(str(root if root.is_dir() else root.parent), str(path), status.st_size, status.st_mtime_ns)


def below(root: Path, unreadable: list[str]) -> Iterator[Path]:
    """Files below a folder in order of name."""

    def note(error: OSError) -> None:
        unreadable.append(f"{error.filename}: {error.strerror}")

    for folder, folders, names in os.walk(root, onerror=note):
        folders[:] = sorted(name for name in folders if name not in (".git", "__pycache__"))
        if "_log" in folders and "segments" in folders:
            folders.clear()
            continue
        yield from (Path(folder, name) for name in sorted(names))


def encodable(name: str) -> bool:
    """Whether a name can be written as UTF-8: file systems allow any bytes."""
    return name.encode("utf-8", "replace").decode() == name


def is_current(entry: Entry | None, file: Found, formats: Formats, options: Options) -> bool:
    """Whether a file was read as it is now, by the formats as they are now."""
    return (
        entry is not None
        and (entry.size_bytes, entry.modified_ns) == (file.size_bytes, file.modified_ns)
        and entry.parser_version == version(formats, entry.formats, options.zone)
        and not (options.documents and entry.status == "document")
    )


def held(live: Live, formats: Formats, options: Options) -> set[str]:
    """Contents whose rows are held as the formats of now would read them."""
    return {
        file_id
        for file_id, entry in live.providers.items()
        if entry.parser_version == version(formats, entry.formats, options.zone)
    }


def version(formats: Formats, taken: list[str], zone: str | None) -> str:
    """What a file's rows depend on besides its bytes."""
    return formats.version(taken[0] if taken else None) + (f" {zone}" if zone else "")


def batched(files: list[Found]) -> Iterator[list[Found]]:
    """Files in groups of about 64 MB."""
    batch: list[Found] = []
    size = 0
    for file in files:
        if batch and (size + file.size_bytes > BATCH_BYTES or len(batch) >= BATCH_FILES):
            yield batch
            batch, size = [], 0
        batch.append(file)
        size += file.size_bytes
    if batch:
        yield batch


def read_batch(
    batch: list[Found],
    options: Options,
    formats: Formats,
    contents: set[str],
    progress: Progress,
    dry_run: bool = False,
) -> list[Entry]:
    """Reads files into one segment per table and commits them.  `contents` are those whose rows are held already."""
    writer = BatchWriter(Warehouse(options.warehouse))
    gc.disable()  # rows are many and hold no cycles: looking for some costs a tenth of the time
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
    return writer.entries


def read_file(
    file: Found, options: Options, formats: Formats, contents: set[str], writer: BatchWriter | None, progress: Progress
) -> Iterator[Entry]:
    """The entry of a file, and those of its members where it is an archive."""
    try:
        source = open_source(Path(file.path))
    except OSError as error:
        yield Entry(file.path, status="unknown", note=f"cannot be read: {error.strerror}", size_bytes=-1)
        return
    with contextlib.closing(source):
        if not is_archive(file.path):
            yield read_source(source, options, formats, contents, writer, progress)
            return
        count, note = 0, ""
        try:
            for member in open_members(Path(file.path)):
                with contextlib.closing(member):
                    yield read_source(member, options, formats, contents, writer, ignore)
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
            parser_version=version(formats, [], options.zone), note=f"archive of {count} files{note}",
            status="partial" if note else "ok",
        )  # fmt: skip


def read_source(
    source: Source,
    options: Options,
    formats: Formats,
    contents: set[str],
    writer: BatchWriter | None,
    progress: Progress,
) -> Entry:
    """Hashes a file, finds out what it is, and writes its rows."""
    entry = Entry(source.path, size_bytes=source.size_bytes, modified_ns=source.modified_ns)
    entry.parser_version = version(formats, [], options.zone)
    try:
        entry.file_id = source.digest()
    except OSError as error:
        entry.status, entry.note, entry.parser_version = "unknown", f"cannot be read: {error.strerror or error}", ""
        return entry
    if entry.file_id in contents:
        entry.status, entry.note = "duplicate", "the same content is held already"
        progress(source.size_bytes)
        return entry
    rows = Rows(entry.file_id, writer.write if writer else None, ZoneInfo(options.zone) if options.zone else None)
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
    entry.parser_version = version(formats, entry.formats, options.zone) if whole else ""
    entry.rows_of = {name or "": count for name, count in rows.rows_of.items()}
    entry.problems_of = {name or "": count for name, count in rows.problems_of.items()}
    if writer and entry.status != "document":  # under another name the same content may be a log
        entry.batch = writer.id
        if whole:
            contents.add(entry.file_id)
    return entry


def parse(source: Source, formats: Formats, rows: Rows, documents: bool = False) -> tuple[str, str | None]:
    """Rows of one file.  Returns its status and what is worth noting."""
    head = source.head()
    if not head.strip() and len(head) < HEAD:
        return ("empty", None) if source.damage is None else ("unknown", source.damage)
    codec, mark = encoding_of(head)
    text = head[mark:].decode(codec, "replace").encode() if codec else head[mark:]
    for format in formats.of_files:
        rows.format = name_of(format)
        if recognised(format, text, source.name):
            rows.taken[name_of(format)] = 1
            try:
                format.read(source, rows)
            except (OSError, MemoryError, UserError):
                raise
            except Exception as error:
                rows.problem(None, defect(rows.format, error))
            return ending(source, rows)
    if is_binary(head):
        return "unknown", "not text, and no known file format"
    if not documents and (
        source.name.lower().endswith(DOCUMENT_SUFFIXES) or head.lstrip()[:9].lower() in (b"<!doctype", b"<html>")
    ):
        return "document", "a document or source code, not a log; --documents reads it all the same"
    Offer(formats.of_lines, rows).read(source.utf8())
    return ending(source, rows)


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


def ending(source: Source, rows: Rows) -> tuple[str, str | None]:
    """Status of a file that was read to its end."""
    rows.flush()  # values that no column can hold are problems too
    rows.format = None
    if source.damage:
        rows.problem(None, source.damage)
    if not rows.taken:
        return "unknown", source.damage or "no known format in it"
    return ("partial" if rows.problems_of else "ok"), source.damage


def in_parallel(
    batches: list[list[Found]], options: Options, workers: int, progress: Progress
) -> Iterator[list[Entry]]:
    """Batches over processes, in the order in which they end."""
    context = multiprocessing.get_context("spawn")
    counter = context.Value("q", 0)
    with concurrent.futures.ProcessPoolExecutor(workers, context, start_worker, (options, counter)) as pool:
        told = 0
        try:
            with undisturbed():
                pending = {pool.submit(work, batch) for batch in batches}
            while pending:
                done, pending = concurrent.futures.wait(pending, 0.2, concurrent.futures.FIRST_COMPLETED)
                progress(counter.value - told)
                told = counter.value
                for future in done:
                    yield future.result()
        except BaseException as error:
            processes = list(pool._processes.values())
            pool.shutdown(wait=False, cancel_futures=True)
            for process in processes:
                process.terminate()
            if isinstance(error, concurrent.futures.process.BrokenProcessPool):
                raise UserError(
                    "a worker process was ended from outside, perhaps for its memory",
                    "run the same command again with fewer --jobs: what was committed is kept",
                ) from None
            raise


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """While processes are started: ^C is for the parent alone, and they do not run the script that called us again."""
    main, sys.modules["__main__"] = sys.modules["__main__"], ModuleType("__main__")
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if hasattr(signal, "pthread_sigmask") else None
    try:
        yield
    finally:
        sys.modules["__main__"] = main
        if mask is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)


_worker: tuple[Options, Formats, set[str], Progress]


def start_worker(options: Options, counter: Any) -> None:
    """Once per process: load the formats, look at what is held, and end with the parent, however that ends."""
    global _worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=end_with_parent, daemon=True).start()
    if "SLURM_JOB_ID" not in os.environ:
        os.nice(5)

    def progress(count: int) -> None:
        with counter.get_lock():
            counter.value += count

    formats = known.load(options.format_folders)
    _worker = (options, formats, held(Warehouse(options.warehouse).live(), formats, options), progress)


def end_with_parent() -> None:
    """A parent that was killed cannot say so: its workers would wait for work for ever."""
    parent = multiprocessing.parent_process()
    if parent:
        parent.join()
        os._exit(1)


def work(batch: list[Found]) -> list[Entry]:
    options, formats, contents, progress = _worker
    return read_batch(batch, options, formats, contents, progress)


def default_jobs() -> int:
    """Workers that are fair to others: the cores given to us, and outside a Slurm job at most four."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with contextlib.suppress(OSError, ValueError):
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        cores = max(1, min(cores, round(int(quota) / int(period))))
    return cores if "SLURM_JOB_ID" in os.environ else min(cores, POLITE_JOBS)


def ignore(_: int) -> None:
    """Progress that nobody looks at."""
