"""Finds every altered byte and every missing file of a warehouse, and names the command that repairs it.

A record is checked against the digest in its name and against the records that build on it, a segment against the size
and the hash in its record.
"""

import contextlib
import functools
import hashlib
import os
import re
import shlex
from collections import defaultdict
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from scalelens.parsing.archive_names import archives_of
from scalelens.warehouse.files import FileStatus
from scalelens.warehouse.live import Live, roots
from scalelens.warehouse.log import Warehouse
from scalelens.warehouse.records import Batch, Entry, Segment, has_digest, segment
from scalelens.warehouse.stored_records import Damage

_ROOT_IN_RECORD = re.compile(rb'"root":"([^"\\]+)"')  # can be read even if the rest of a record is damaged


class _CheckResult(NamedTuple):
    """What a check found: damages, each with the command that repairs it, and notes that are worth knowing."""

    damages: list[str]
    notes: list[str]
    records: int
    segments: int


def check(root: Path, quick: bool = False) -> _CheckResult:
    """Checks all records and segments; with `quick`, only the sizes of the segments.

    Raises UserError if there is no warehouse, or if it cannot be listed.
    """
    warehouse = Warehouse(root)
    warehouse.files.drop_copies(warehouse.log)
    live, faults = warehouse.read()
    damages = [f"_log/{fault.name} {fault.what}: {_mend_record(warehouse, live, fault)}" for fault in faults]
    entries: dict[str, list[Entry]] = defaultdict(list)  # by batch, those whose rows count
    for entry in live.providers.values():
        entries[entry.batch].append(entry)
    stored = warehouse.stored_segments()
    without_hash = count = 0
    for batch in live.batches.values():
        for table in batch.tables:
            count += 1
            without_hash += table not in batch.segments
            name, written = segment(table, batch.id), batch.segments.get(table)
            fault = _fault_of_size(stored.get(name), written)
            if not fault and not quick:
                fault_in = functools.partial(fault_of_bytes, written=written)
                fault = warehouse.files.fault_of(warehouse.segments / name, fault_in)
            if fault:
                damages.append(f"segments/{name} {fault}{_mend_segment(warehouse, entries[batch.id])}")
    notes = [*_without_checksum(live, without_hash), *_without_record(stored, live.batches)]
    return _CheckResult(damages, notes, len(live.records), count)


def damages_of(root: Path, tables: Collection[str]) -> list[str]:
    """The segments of some tables that are altered or missing, each with the command that repairs it.

    Those that `compact` replaced meanwhile are not missing.
    """
    warehouse = Warehouse(root)
    while True:
        records, live = warehouse.names(), warehouse.live()
        entries: dict[str, list[Entry]] = defaultdict(list)
        for entry in live.providers.values():
            entries[entry.batch].append(entry)
        parts = [(batch, table) for batch in live.batches.values() for table in batch.tables if table in tables]
        names = [segment(table, batch.id) for batch, table in parts]
        warehouse.files.fetch(warehouse.segments, names)
        faults = [
            fault_of_bytes(warehouse.segments / name, batch.segments.get(table))
            for name, (batch, table) in zip(names, parts, strict=True)
        ]
        if not any(faults) or warehouse.names() == records:
            return [
                f"segments/{name} {fault}{_mend_segment(warehouse, entries[batch.id])}"
                for name, fault, (batch, _) in zip(names, faults, parts, strict=True)
                if fault
            ]


def _fault_of_size(stored: FileStatus | None, written: Segment | None) -> str | None:
    """What is wrong with the size of a segment; None if it is what was written, as far as that is known."""
    if stored is None:
        return "is missing"
    if written and stored.size_bytes != written.size_bytes:
        return f"has {stored.size_bytes:,} bytes instead of {written.size_bytes:,}"
    return None


def fault_of_bytes(path: Path, written: Segment | None) -> str | None:
    """What is wrong with the bytes of a segment; None if they are those that were written."""
    try:
        with path.open("rb") as file:
            if written and hashlib.file_digest(file, "sha256").hexdigest() != written.sha256:
                return "is altered"
    except FileNotFoundError:
        return "is missing"
    except (OSError, ValueError) as error:
        return f"cannot be read ({getattr(error, 'strerror', None) or error})"
    return None


def _mend_segment(warehouse: Warehouse, entries: list[Entry]) -> str:
    """Which files lost their rows, and the command that restores them."""
    if not entries:
        return f", and none of its rows counts: scalelens compact -w {_quoted(warehouse.root)}"
    paths = sorted(entry.path for entry in entries)
    files = f"{len(paths)} files, such as {paths[0]}" if len(paths) > 1 else paths[0]
    there = [entry for entry in entries if any(map(_is_file, (entry.path, *archives_of(entry.path))))]
    if not there:
        gone = " ".join(map(_quoted, paths[:5])) + (" ..." if len(paths) > 5 else "")
        return f", which has rows of {files}, not there any more: scalelens forget {gone} -w {_quoted(warehouse.root)}"
    return f", which has rows of {files}: {_ingest_again(warehouse, sorted({entry.root for entry in there}))}"


def _mend_record(warehouse: Warehouse, live: Live, damage: Damage) -> str:
    """The command that reads again whatever the record may have contained, which nothing else tells.

    What is damaged may be a folder's name: those that are there count, as long as there is one.
    """
    folders = {*roots(live)}
    with contextlib.suppress(OSError, ValueError):
        named = {name.decode() for name in _ROOT_IN_RECORD.findall((warehouse.log / damage.name).read_bytes())}
        folders |= {name for name in named if os.path.exists(name)} or named
    return _ingest_again(warehouse, sorted(folders)) if folders else "scalelens ingest --again, with your folders"


def _ingest_again(warehouse: Warehouse, folders: list[str]) -> str:
    return f"scalelens ingest --again {' '.join(map(_quoted, folders))} -w {_quoted(warehouse.root)}"


def _is_file(path: str) -> bool:
    try:
        return os.path.isfile(path)
    except ValueError:
        return False


def _quoted(path: Path | str) -> str:
    return shlex.quote(str(path))


def _without_checksum(live: Live, segments: int) -> Iterator[str]:
    """What cannot be checked because an older version wrote it."""
    records = sum(not has_digest(name) for name in live.records)
    if records or segments:
        yield (
            f"{records} records and {segments} segments carry no checksum, because an older version wrote them; "
            "scalelens compact gives them one"
        )


def _without_record(stored: Collection[str], batches: dict[str, Batch]) -> Iterator[str]:
    """Segments that no record names."""
    named = {segment(table, batch.id) for batch in batches.values() for table in batch.tables}
    if count := len({*stored} - named):
        yield (
            f"{count} segments belong to no record: an ingest runs or was killed, their rows were replaced, "
            "or the newest record was removed"
        )
