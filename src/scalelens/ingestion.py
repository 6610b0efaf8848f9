"""A folder becomes a warehouse: walk, recognise, parse, write, commit.

Files are read in batches, logs before traces, each batch one commit: what is committed can be queried while the rest
is read, and an interrupted ingest goes on where it stopped.  Nothing that a file can hold raises.
"""

import contextlib
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from scalelens import formats as known
from scalelens.columns import mapped
from scalelens.errors import UserError
from scalelens.formats import Formats
from scalelens.reading import Found, Options, Progress, held, ignore, is_sidecar, read_batch, sidecar_text, version
from scalelens.sidecar import NAME, Sidecars
from scalelens.source import COMPRESSED, open_source
from scalelens.warehouse import Entry, Warehouse
from scalelens.workers import default_jobs, in_parallel, interruptible

BATCH_BYTES = 64 << 20
BATCH_FILES = 400
EXPANSION = 10  # of compressed logs and traces, rather less than more
JUBE_WORK = re.compile(r"/\d{6,}_[^/]+(?:/work)?\Z")  # folder of a workpackage
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
    walked += above(given, {file.path for file in walked})
    sidecars = Sidecars(sidecar_texts(walked))
    found = [file._replace(zone=sidecars.zone_of(file.path) or zone) for file in walked]
    options = Options(warehouse, format_folders, documents, mapping)
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
            contents = held(live, formats, options) if live else set()
            for batch in batches:
                entries += read_batch(batch, options, formats, contents, progress, dry_run)
    if not dry_run:
        store.fold()
    return Report(entries, len(found) - len(todo), unreadable, [str(fault) for fault in sidecars.faults])


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


def below(
    root: Path, unreadable: list[str], top: Path | None = None, followed: set[Path] | None = None
) -> Iterator[Path]:
    """Files below a folder in order of name.

    Links to folders are not followed, but for those that JUBE makes to the folder of another step, where that one is
    not met anyway: once, as what it holds is read once.
    """

    top, followed = top or root, set() if followed is None else followed

    def note(error: OSError) -> None:
        unreadable.append(f"{error.filename}: {error.strerror}")

    for folder, folders, names in os.walk(root, onerror=note):
        folders[:] = sorted(name for name in folders if name not in (".git", "__pycache__"))
        if "_log" in folders and "segments" in folders:
            folders.clear()
            continue
        yield from (Path(folder, name) for name in sorted(names))
        for name in folders:
            target = Path(os.path.realpath(Path(folder, name))) if Path(folder, name).is_symlink() else None
            if target and JUBE_WORK.search(str(target)) and target not in followed and not target.is_relative_to(top):
                followed.add(target)
                yield from below(target, unreadable, top, followed)


def above(given: Iterable[Path], met: set[str]) -> Iterator[Found]:
    """Sidecars in the folders above `paths`: what they say holds for the files below."""
    for folder in dict.fromkeys(folder for path in given for folder in path.resolve().parents):
        path = folder / NAME
        with contextlib.suppress(OSError):
            status = path.stat()
            if stat.S_ISREG(status.st_mode) and str(path) not in met:
                yield Found(str(folder), str(path), status.st_size, status.st_mtime_ns)


def sidecar_texts(files: Iterable[Found]) -> dict[str, str]:
    """Texts of the sidecars among files, as they are now."""
    texts = {}
    for file in files:
        if is_sidecar(file.path):
            with contextlib.suppress(OSError), contextlib.closing(open_source(Path(file.path))) as source:
                texts[file.path] = sidecar_text(source)
    return texts


def gone_sidecars(seen: dict[str, Entry], given: Iterable[Path]) -> list[str]:
    """Sidecars that are no longer in or above `given`.  Where the folder itself is gone, what they said is kept, as
    its logs are."""
    roots = [str(path.resolve()) for path in given]
    gone = []
    for path in filter(is_sidecar, seen):
        folder = path.rpartition("/")[0]
        near = any(f"{root}/".startswith(f"{folder}/") or folder.startswith(f"{root}/") for root in roots)
        if near and os.access(folder, os.X_OK) and not os.path.isfile(path):
            gone.append(path)
    return gone


def encodable(name: str) -> bool:
    """Whether a name can be written as UTF-8: file systems allow any bytes."""
    return name.encode("utf-8", "replace").decode() == name


def is_current(entry: Entry | None, file: Found, formats: Formats, options: Options) -> bool:
    """Whether a file was read as it is now, by the formats as they are now."""
    return (
        entry is not None
        and (entry.size_bytes, entry.modified_ns) == (file.size_bytes, file.modified_ns)
        and entry.parser_version == version(formats, entry.formats, options, None if entry.sidecar else file.zone)
        and not (options.documents and entry.status == "document")
    )


def batched(files: list[Found]) -> Iterator[list[Found]]:
    """Files in groups of about 64 MB as they are unpacked."""
    batch: list[Found] = []
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
