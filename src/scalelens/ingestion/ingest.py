"""Reads folders into a warehouse: finds the files, leaves out those that have not changed, reads the rest in batches.

Logs come before traces.  Each batch is one commit: it can be queried while the rest is read, and an interrupted ingest
goes on where it stopped.  Reading never raises, regardless of what a file holds.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import msgspec

from scalelens.ingestion.batch import (
    IngestOptions,
    Progress,
    is_of_newer,
    known_contents,
    read_batch,
    reader_version,
)
from scalelens.ingestion.clusters import on_dask
from scalelens.ingestion.formats import Formats, load
from scalelens.ingestion.processes import default_jobs, in_parallel, interruptible
from scalelens.ingestion.report_text import one_line, page
from scalelens.ingestion.shards import Shard
from scalelens.ingestion.walk import (
    WalkedFile,
    gone_sidecars,
    sidecar_texts,
    sidecars_above,
    walk,
    without_planted_sidecars,
)
from scalelens.parsing.archive_names import archives_of
from scalelens.parsing.source import COMPRESSED, open_source
from scalelens.runs.sidecar import Sidecars
from scalelens.tabular.roles import mapped
from scalelens.version import __version__
from scalelens.warehouse.live import Live, roots
from scalelens.warehouse.log import Warehouse
from scalelens.warehouse.records import Entry
from scalelens.warehouse.remains import leaves_no_empty_warehouse
from scalelens.warehouse.stored_records import Damage

_UNPACKED_BATCH_BYTES = 64 << 20
_SMALLEST_BATCH_BYTES = 8 << 20
BATCH_FILES = 400
_EXPANSION = 10  # of compressed logs and traces, a low estimate
_TRACE_SUFFIXES = (".json", ".json.gz", ".json.zst", ".pt.trace", ".pb", ".tar.gz", ".tgz", ".zip")


class IngestReport(NamedTuple):
    """The result of an ingest: new entries, and how many files were unchanged."""

    entries: list[Entry]
    unchanged: int
    unreadable: list[str]
    faults: list[str]  # of sidecars
    damages: list[str]  # of the warehouse
    remarks: Sequence[str] = ()  # on sidecars that lie elsewhere, and on rows of a newer version

    def __repr__(self) -> str:
        return one_line(self.entries, self.unchanged, len(self.all_faults()))

    def _repr_html_(self) -> str:
        """What notebooks show: what was read, and what was not."""
        return page(self.entries, repr(self), [*self.all_faults(), *self.remarks])

    def all_faults(self) -> list[str]:
        """What could not be opened, and what is wrong with sidecars and with the warehouse."""
        return [*self.unreadable, *self.faults, *self.damages]


@leaves_no_empty_warehouse
def ingest(
    paths: Iterable[Path],
    warehouse: Path,
    jobs: int | None = None,
    format_folders: tuple[Path, ...] = (),
    documents: bool = False,
    dry_run: bool = False,
    on_progress: Callable[[int, int], Progress] | None = None,
    time_zone: str | None = None,
    columns: tuple[str, ...] = (),
    reread: bool = False,
    shard: Shard | None = None,
    dask: str | None = None,
    trust_sidecars: bool = False,
) -> IngestReport:
    """Reads all files below `paths` into the warehouse; files that have not changed are skipped.

    `on_progress(files, bytes)` is called once the work is known.  It returns the function that is called with bytes
    read.  `dry_run` reads and reports, and writes nothing.  `columns` says what columns of tables are:
    `batch_time=col:ms`.  `time_zone` is that of naive times where no sidecar names one.  `reread` reads files that have
    not changed, too: this repairs a warehouse whose segments or records are damaged.  `shard` is the part of the files
    to be read, `dask` the cluster that reads them: an address, `local` or `slurm`.  `trust_sidecars` reads sidecars
    that somebody else may have written.
    Raises UserError for a path that does not exist, a warehouse that cannot be written, or a meaningless mapping.
    """
    mapped(columns)  # raises before anything is written
    store = Warehouse(warehouse)
    formats = load(format_folders)
    options = IngestOptions(warehouse, format_folders, documents, columns, reread)
    if not dry_run:
        store.create()
        store.sweep()
    given, unreadable, remarks = list(paths), list[str](), list[str]()
    files, sidecars = _files_and_sidecars(given, unreadable, time_zone, remarks, trust_sidecars)
    if shard:
        files = [file for file in files if shard.holds(file)]
    live, damages = store.read() if store.exists() else (Live({}, {}, {}, []), [])
    if not dry_run and (gone := gone_sidecars(live.paths, given)):
        store.forget(gone)
    todo = files if reread else _changed(files, live, formats, options, None if dry_run else store)
    remarks += [] if reread else _of_newer_versions(files, live)
    todo.sort(key=lambda file: (file.path.lower().endswith(_TRACE_SUFFIXES), file.path))
    progress = on_progress(len(todo), sum(file.size_bytes for file in todo)) if on_progress and todo else _ignore
    jobs = jobs or default_jobs()
    batches = list(batched(todo, 1 if dry_run else jobs))
    with interruptible(progress) as progress:
        here = None if dry_run else store
        if dry_run or (not dask and min(jobs, len(batches)) < 2):
            contents = known_contents(live, formats, options)
            read = [read_batch(batch, options, formats, contents, progress, here) for batch in batches]
        else:
            read = [*_elsewhere(batches, options, dask, jobs, progress)] if batches else []
        entries = [*chain.from_iterable(read)]
        if not dry_run and any(entry.status == "duplicate" for entry in entries):
            entries = with_lost_contents(entries, todo, store, options, formats, progress)
    if not dry_run:
        damages = _after_ingest(store, given, reread, whole=shard is None)
    faults, unchanged = [str(fault) for fault in sidecars.faults], len(files) - len(todo)
    return IngestReport(entries, unchanged, unreadable, faults, [*map(str, damages)], remarks)


def _elsewhere(
    batches: list[list[WalkedFile]], options: IngestOptions, dask: str | None, jobs: int, progress: Progress
) -> Iterator[list[Entry]]:
    """Entries of each batch, read by other processes: those of a cluster, or of this machine."""
    workers = min(jobs, len(batches))
    if dask:
        return on_dask(batches, options, dask, workers, progress)
    return in_parallel(batches, options, workers, progress)


def _changed(
    files: list[WalkedFile], live: Live, formats: Formats, options: IngestOptions, store: Warehouse | None
) -> list[WalkedFile]:
    """Files whose rows the warehouse does not hold as they are now.

    Where the time of the last change alone is another, the bytes are hashed: `rsync -t` and `cp -p` put other bytes
    under the same size and time of modification.  If they are the same, `store` takes a note of the new time.
    """
    lost = live.without_rows()
    changed, touched = [], []
    for file in files:
        entry = live.paths.get(file.path)
        if file.path in lost or not is_current(entry, file, formats, options):
            changed.append(file)
        elif entry and entry.changed_ns not in (0, file.changed_ns):
            touched.append((file, entry))
    with ThreadPoolExecutor(default_jobs()) as pool:
        digests = [*pool.map(_digest_of, [file for file, _ in touched])]
    noted = []
    archives = {archive for path in live.paths for archive in archives_of(path)} if touched else set()
    for (file, entry), digest in zip(touched, digests, strict=True):
        if digest != entry.file_id:
            changed.append(file)
        elif file.path not in archives:  # members do not count if the entry of their archive is newer
            noted.append(_touched(entry, file))
    if store and noted:
        store.commit([], noted)
    return changed


def _digest_of(file: WalkedFile) -> str:
    """The digest of the bytes of a file as it is now; empty where it cannot be read."""
    try:
        with contextlib.closing(open_source(file.path)) as source:
            return source.digest()
    except OSError:
        return ""


def _touched(entry: Entry, file: WalkedFile) -> Entry:
    """The entry of a file that has the same bytes; another entry, of this path or another one, provides its rows."""
    return msgspec.structs.replace(entry, batch="", changed_ns=file.changed_ns, committed_ns=0, order=0)


def _of_newer_versions(files: list[WalkedFile], live: Live) -> list[str]:
    """A sentence on files that newer versions of ScaleLens have read, and which are as they were then."""
    entries = [entry for file in files if (entry := live.paths.get(file.path)) and _is_unwritten(entry, file)]
    newer = [entry for entry in entries if is_of_newer(entry)]
    if not newer:
        return []
    versions = ", ".join(sorted({entry.read_by for entry in newer}))
    return [
        f"{len(newer)} files were read by scalelens {versions}, and this is {__version__}: "
        "their rows stay as they are; --reread reads them with this version"
    ]


def with_lost_contents(
    entries: list[Entry],
    files: list[WalkedFile],
    store: Warehouse,
    options: IngestOptions,
    formats: Formats,
    progress: Progress,
) -> list[Entry]:
    """Rereads files that were duplicates of content that another process has removed in the meantime."""
    live, _ = store.read()
    lost = live.without_rows()
    files = [file for file in files if file.path in lost]
    if not files:
        return entries
    entries_again = read_batch(files, options, formats, known_contents(live, formats, options), progress, store)
    read_again = {entry.path for entry in entries_again}
    return [entry for entry in entries if entry.path not in read_again] + entries_again


def _after_ingest(store: Warehouse, given: list[Path], reread: bool, whole: bool) -> list[Damage]:
    """Folds a long log.  Returns what is damaged in it, unless all that it may have held was just read again.

    A shard is not `whole`: what it did not read may still be lost.
    """
    live, damages = store.read()
    if not damages and reread and whole:
        store.fold(0)  # so that segments which may be damaged are no longer named
    elif not damages:
        store.fold()
    elif reread and whole and _holds_all(given, live):
        store.fold(0, accept_damage=True)
        return []
    return damages


def _holds_all(given: list[Path], live: Live) -> bool:
    """Whether all folders that were ever ingested are in those given now."""
    return all(any(Path(root).is_relative_to(path.resolve()) for path in given) for root in roots(live))


def _files_and_sidecars(
    given: list[Path], unreadable: list[str], zone: str | None, remarks: list[str], trust_sidecars: bool
) -> tuple[list[WalkedFile], Sidecars]:
    """Files below `given` with the zone of their naive times, and the sidecars in and above these folders."""
    below = list(walk(given, unreadable))
    walked = without_planted_sidecars(below, remarks, trust_sidecars)
    walked += sidecars_above(given, {file.path for file in below}, remarks, trust_sidecars)
    sidecars = Sidecars(sidecar_texts(walked))
    return [file._replace(zone=sidecars.zone_of(file.path) or zone) for file in walked], sidecars


def is_current(entry: Entry | None, file: WalkedFile, formats: Formats, options: IngestOptions) -> bool:
    """Whether a file was read as it is now, by today's formats or by those of a newer version."""
    if entry is None or not _is_unwritten(entry, file):
        return False
    zone = None if entry.sidecar else file.zone
    by_todays = entry.parser_version == reader_version(formats, entry.formats, options, zone)
    return (by_todays or is_of_newer(entry)) and not (options.documents and entry.status == "document")


def _is_unwritten(entry: Entry, file: WalkedFile) -> bool:
    """Whether a file has the size and the time of modification that it had when it was read whole."""
    return (entry.size_bytes, entry.modified_ns) == (file.size_bytes, file.modified_ns) and entry.parser_version != ""


def batched(files: list[WalkedFile], workers: int) -> Iterator[list[WalkedFile]]:
    """Files in groups of about 64 MB as they are unpacked, the last ones smaller, so that all workers end together."""
    sizes = [file.size_bytes * (_EXPANSION if file.path.endswith(COMPRESSED) else 1) for file in files]
    left, room = sum(sizes), 0
    batch: list[WalkedFile] = []
    for file, size in zip(files, sizes, strict=True):
        if batch and (size > room or len(batch) >= BATCH_FILES):
            yield batch
            batch = []
        if not batch:
            room = min(
                _UNPACKED_BATCH_BYTES, max(_SMALLEST_BATCH_BYTES, left // (2 * workers) if workers > 1 else left)
            )
        batch.append(file)
        room -= size
        left -= size
    if batch:
        yield batch


def _ignore(_: int) -> None:
    """Progress that is not shown."""
