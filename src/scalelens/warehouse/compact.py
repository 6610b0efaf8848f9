"""Writes what counts into few large segments, and erases the rest: replaced rows, forgotten files, leftovers.

Readers and writers may go on meanwhile.  The new record names every record that it replaces, and its entries win over
those of the old batches because they count how often they were rewritten.  One process at a time should do this: two
would only do the same work twice.
"""

import contextlib
import os
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from scalelens.errors import UserError
from scalelens.tables import SCHEMA_VERSION, SCHEMAS
from scalelens.warehouse.check import fault_of
from scalelens.warehouse.files import io_errors_explained
from scalelens.warehouse.live import Live
from scalelens.warehouse.log import ABANDONED_S, Warehouse, all_entries
from scalelens.warehouse.records import Batch, Entry, segment
from scalelens.warehouse.writer import BatchWriter

TARGET_BYTES = 256 << 20  # of the segments of a batch


class Compacted(NamedTuple):
    """How many segments there were and are, with their bytes."""

    segments_before: int
    bytes_before: int
    segments_after: int
    bytes_after: int


def compact(root: Path, target_bytes: int = TARGET_BYTES) -> Compacted:
    """Compacts a warehouse.  Raises UserError where it is damaged: what is altered must not get a new checksum."""
    warehouse = Warehouse(root)
    live = warehouse.live()
    before = sizes(warehouse)
    contents: dict[str, set[str]] = defaultdict(set)  # that count, by batch
    for file_id, entry in live.providers.items():
        contents[entry.batch].add(file_id)
    kept: list[Batch] = []
    moved: dict[str, str] = {}  # new batch by old batch
    for group in groups(warehouse, live, contents, target_bytes):
        if len(group) == 1 and is_fine(group[0], contents[group[0].id]):
            kept += group
        elif batch := rewritten(warehouse, group, contents):
            kept.append(batch)
            moved |= {old.id: batch.id for old in group}
    there = {batch.id for batch in kept}
    entries = [moved_entry(entry, live, moved, there) for entry in all_entries(live)]
    warehouse.replace(live.records, kept, entries)
    erase(warehouse, live)
    after = sizes(warehouse)
    return Compacted(len(before), sum(before.values()), len(after), sum(after.values()))


def groups(warehouse: Warehouse, live: Live, contents: dict[str, set[str]], target_bytes: int) -> Iterator[list[Batch]]:
    """Batches that are to become one, in the order in which they were written; those without live rows are left out."""
    group: list[Batch] = []
    size = 0
    for _, batch in sorted(live.batches.items()):
        if contents[batch.id]:
            paths = (warehouse.segments / segment(table, batch.id) for table in batch.tables)
            bytes_of_batch = sum(path.stat().st_size for path in paths if path.exists())
            if group and size + bytes_of_batch > target_bytes:
                yield group
                group, size = [], 0
            group.append(batch)
            size += bytes_of_batch
    if group:
        yield group


def is_fine(batch: Batch, contents: set[str]) -> bool:
    """Whether a batch may stay as it is: all of its rows count, as today's version writes them."""
    hashed = batch.segments.keys() == batch.tables.keys()
    return hashed and batch.schema == SCHEMA_VERSION and {*batch.file_ids} == contents


def rewritten(warehouse: Warehouse, group: list[Batch], contents: dict[str, set[str]]) -> Batch | None:
    """The rows of several batches that count, as one batch."""
    writer = BatchWriter(warehouse)
    try:
        for batch in group:
            for table in batch.tables:
                for rows in live_rows(warehouse, batch, table, contents[batch.id]):
                    writer.write(table, rows)
        return writer.finish(set().union(*(contents[batch.id] for batch in group)))
    except BaseException:
        writer.abandon()
        raise


def live_rows(warehouse: Warehouse, batch: Batch, table: str, contents: set[str]) -> Iterator[pa.RecordBatch]:
    """Rows of a segment that count, with the columns of today.  Raises UserError where the segment is damaged."""
    path = warehouse.segments / segment(table, batch.id)
    if fault := fault_of(path, batch.segments.get(table), quick=False):
        raise UserError(f"segments/{path.name} {fault}", f"what mends it says: scalelens check -w {warehouse.root}")
    file_ids = pa.array(sorted(contents), pa.string())
    try:
        with pq.ParquetFile(path) as file:
            for rows in file.iter_batches():
                columns = [
                    rows[field.name].cast(field.type)
                    if field.name in rows.schema.names
                    else pa.nulls(len(rows), field.type)
                    for field in SCHEMAS[table]
                ]
                today = pa.RecordBatch.from_arrays(columns, schema=SCHEMAS[table])
                yield today.filter(pc.is_in(today["file_id"], file_ids))
    except (pa.ArrowException, OSError) as error:  # of an older version, without a checksum
        reason = str(error).splitlines()[0]
        complaint = f"segments/{path.name} cannot be read ({reason})"
        raise UserError(complaint, "read its files once more with: scalelens ingest --again") from None


def moved_entry(entry: Entry, live: Live, moved: dict[str, str], there: set[str]) -> Entry:
    """An entry that names the new batch of its rows, or none where another entry has the rows of its content."""
    if not entry.batch or entry.batch in there:
        return entry
    provides = live.providers.get(entry.file_id) is entry
    batch = moved.get(entry.batch, "") if provides else ""
    return msgspec.structs.replace(entry, batch=batch, rewrites=entry.rewrites + 1)


def erase(warehouse: Warehouse, replaced: Live) -> None:
    """Removes segments that no record needs: those that were just replaced, and old ones that nobody committed."""
    live, _ = warehouse.read()
    needed = {segment(table, batch.id) for batch in live.batches.values() for table in batch.tables}
    known = {segment(table, batch.id) for batch in replaced.batches.values() for table in batch.tables}
    with io_errors_explained(warehouse.root):
        for path in warehouse.segments.glob("*.parquet"):
            if path.name not in needed:
                with contextlib.suppress(FileNotFoundError):
                    if path.name in known or time.time() - path.stat().st_mtime > ABANDONED_S:
                        path.unlink()


def sizes(warehouse: Warehouse) -> dict[str, int]:
    """Bytes of all segments."""
    with io_errors_explained(warehouse.root), os.scandir(warehouse.segments) as files:
        return {file.name: file.stat().st_size for file in files if file.name.endswith(".parquet")}
