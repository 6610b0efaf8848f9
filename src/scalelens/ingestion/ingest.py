"""A folder becomes a warehouse: walk, recognise, parse, write, commit.

Files are read in batches, logs before traces, each batch one commit: what is committed can be queried while the rest
is read, and an interrupted ingest goes on where it stopped.  Nothing that a file can hold raises.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from scalelens.ingestion import formats as known
from scalelens.ingestion.batch import IngestOptions, Progress, known_contents, read_batch, version
from scalelens.ingestion.formats import Formats
from scalelens.ingestion.processes import default_jobs, in_parallel, interruptible
from scalelens.ingestion.walk import WalkedFile, gone_sidecars, sidecar_texts, sidecars_above, walk
from scalelens.parsing.source import COMPRESSED
from scalelens.runs.sidecar import Sidecars
from scalelens.tabular.roles import mapped
from scalelens.warehouse.log import Entry, Warehouse

BATCH_BYTES = 64 << 20
BATCH_FILES = 400
EXPANSION = 10  # of compressed logs and traces, rather less than more
TRACE_SUFFIXES = (".json", ".json.gz", ".json.zst", ".pt.trace", ".pb", ".tar.gz", ".tgz")


class Report(NamedTuple):
    """What an ingest did: new entries, and how many files needed nothing."""

    entries: list[Entry]
    unchanged: int
    unreadable: list[str]
    faults: list[str]  # of sidecars


def ingest(
    paths: Iterable[Path],
    warehouse: Path,
    jobs: int | None = None,
    format_folders: tuple[Path, ...] = (),
    documents: bool = False,
    dry_run: bool = False,
    begin: Callable[[int, int], Progress] | None = None,
    zone: str | None = None,
    mapping: tuple[str, ...] = (),
) -> Report:
    """Reads all files below `paths` into the warehouse; files that have not changed are skipped.

    `begin(files, bytes)` is called once the work is known and returns what is told of bytes read.
    `dry_run` reads and reports, and writes nothing.  `mapping` says what columns of tables are: `batch_time=col:ms`.
    `zone` is that of naive times where no sidecar names one.
    Raises UserError for a path that is not there, a warehouse that cannot be written, or a mapping that says nothing.
    """
    mapped(mapping)
    store = Warehouse(warehouse)
    formats = known.load(format_folders)
    if not dry_run:
        store.create()
        store.sweep()
    unreadable: list[str] = []
    given = list(paths)
    walked = list(walk(given, warehouse, unreadable))
    walked += sidecars_above(given, {file.path for file in walked})
    sidecars = Sidecars(sidecar_texts(walked))
    found = [file._replace(zone=sidecars.zone_of(file.path) or zone) for file in walked]
    options = IngestOptions(warehouse, format_folders, documents, mapping)
    live = store.live() if store.exists() else None
    seen = live.paths if live else {}
    if not dry_run and (gone := gone_sidecars(seen, given)):
        store.forget(gone)
    todo = [file for file in found if not is_current(seen.get(file.path), file, formats, options)]
    todo.sort(key=lambda file: (file.path.endswith(TRACE_SUFFIXES), file.path))
    progress = begin(len(todo), sum(file.size_bytes for file in todo)) if begin and todo else ignore
    batches = list(batched(todo))
    workers = min(jobs or default_jobs(), len(batches))
    entries: list[Entry] = []
    with interruptible(progress) as progress:
        if workers > 1 and not dry_run:
            for done in in_parallel(batches, options, workers, progress):
                entries += done
        else:
            contents = known_contents(live, formats, options) if live else set()
            for batch in batches:
                entries += read_batch(batch, options, formats, contents, progress, dry_run)
    if not dry_run:
        store.fold()
    return Report(entries, len(found) - len(todo), unreadable, [str(fault) for fault in sidecars.faults])


def is_current(entry: Entry | None, file: WalkedFile, formats: Formats, options: IngestOptions) -> bool:
    """Whether a file was read as it is now, by the formats as they are now."""
    return (
        entry is not None
        and (entry.size_bytes, entry.modified_ns) == (file.size_bytes, file.modified_ns)
        and entry.parser_version == version(formats, entry.formats, options, None if entry.sidecar else file.zone)
        and not (options.documents and entry.status == "document")
    )


def batched(files: list[WalkedFile]) -> Iterator[list[WalkedFile]]:
    """Files in groups of about 64 MB as they are unpacked."""
    batch: list[WalkedFile] = []
    size = 0
    for file in files:
        unpacked = file.size_bytes * (EXPANSION if file.path.endswith(COMPRESSED) else 1)
        if batch and (size + unpacked > BATCH_BYTES or len(batch) >= BATCH_FILES):
            yield batch
            batch, size = [], 0
        batch.append(file)
        size += unpacked
    if batch:
        yield batch


def ignore(_: int) -> None:
    """Progress that nobody looks at."""
