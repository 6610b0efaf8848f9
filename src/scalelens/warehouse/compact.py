"""Writes what counts into few large segments, run after run, and erases the rest: replaced rows, forgotten files.

The segments have the same bytes no matter which processes read the files, and when: contents are in an order that
follows from the records, and cuts are made by number.  Others may read and write meanwhile.  The new record names every
record that it replaces, and its entries take precedence over those of the old batches because they count how often they
were rewritten.  One process at a time should do this: two would only do the same work twice.
"""

import collections
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from scalelens.tables import SCHEMA_VERSION
from scalelens.warehouse.files import io_errors_explained
from scalelens.warehouse.gc import gc
from scalelens.warehouse.live import Live
from scalelens.warehouse.log import Warehouse, all_entries
from scalelens.warehouse.records import Batch, Entry, segment
from scalelens.warehouse.row_groups import GroupWriter
from scalelens.warehouse.stored_rows import StoredRows

TARGET_BYTES = 256 << 20  # of the segments of a batch; more only if a single content has more

_Order = Callable[[Live], list[str]]  # returns the contents in the order in which they are stored


def by_path(live: Live) -> list[str]:
    """Contents in the order of their first paths."""
    return list(dict.fromkeys(live.paths[path].file_id for path in sorted(live.paths)))


class _Compacted(NamedTuple):
    """How many segments there were before and are now, with their bytes."""

    segments_before: int
    bytes_before: int
    segments_after: int
    bytes_after: int


def compact(root: Path, target_bytes: int = TARGET_BYTES, order: _Order = by_path) -> _Compacted:
    """Compacts a warehouse.  Raises UserError if it is damaged: altered bytes must not get a new checksum."""
    warehouse = Warehouse(root)
    live = warehouse.live()
    before = _sizes(warehouse)
    kept = {batch.id: batch for batch in _batches_that_stay(live, before, target_bytes)}
    stale = [file_id for file_id in order(live) if _is_to_move(live.providers.get(file_id), live, kept)]
    moved: dict[str, str] = {}  # new batch by content
    for batch in rewritten(warehouse, live, stale, target_bytes):
        kept[batch.id] = batch
        moved |= dict.fromkeys(batch.file_ids, batch.id)
    _keep_young(warehouse, [kept[name] for name in {*moved.values()}])
    entries = [_moved_entry(entry, live, moved, kept) for entry in all_entries(live)]
    warehouse.replace(live.records, list(kept.values()), entries)
    erase(warehouse, live)
    after = _sizes(warehouse)
    return _Compacted(len(before), sum(before.values()), len(after), sum(after.values()))


def _batches_that_stay(live: Live, size_of: dict[str, int], target_bytes: int) -> list[Batch]:
    """Large batches that an earlier compaction wrote and whose rows all count; a small one if it is the only one."""
    contents: dict[str, set[str]] = collections.defaultdict(set)  # that count, by batch
    for file_id, entry in live.providers.items():
        contents[entry.batch].add(file_id)
    large: list[Batch] = []
    others: list[Batch] = []
    for batch in live.batches.values():
        size = sum(size_of.get(segment(table, batch.id), 0) for table in batch.tables)
        is_large = _is_fine(batch, contents[batch.id]) and size >= target_bytes / 2
        if contents[batch.id]:
            (large if is_large else others).append(batch)
    return large + [batch for batch in others if len(others) == 1 and _is_fine(batch, contents[batch.id])]


def _is_fine(batch: Batch, contents: set[str]) -> bool:
    """Whether `compact` would write a batch again as it is: all of its rows count, in the current schema."""
    hashed = batch.segments.keys() == batch.tables.keys()
    return batch.is_compact and hashed and batch.schema == SCHEMA_VERSION and {*batch.file_ids} == contents


def _is_to_move(provider: Entry | None, live: Live, kept: dict[str, Batch]) -> bool:
    return provider is not None and provider.batch in live.batches and provider.batch not in kept


def rewritten(warehouse: Warehouse, live: Live, contents: list[str], target_bytes: int) -> Iterator[Batch]:
    """The rows of contents in new batches, in this order."""
    batches = {live.providers[file_id].batch for file_id in contents}
    names = (segment(table, name) for name in batches for table in live.batches[name].tables)
    warehouse.files.fetch(warehouse.segments, names)
    stored = StoredRows(warehouse)
    left = collections.deque(contents)
    while left:
        writer = GroupWriter(warehouse)
        taken: set[str] = set()
        try:
            while left and writer.size_bytes() < target_bytes:
                file_id = left.popleft()
                batch = live.batches[live.providers[file_id].batch]
                for table in batch.tables:
                    for rows in stored.of(file_id, batch, table):
                        writer.write(table, rows)
                taken.add(file_id)
            if new := writer.finish(taken):
                yield new
        except BaseException:
            writer.abandon()
            raise


def _moved_entry(entry: Entry, live: Live, moved: dict[str, str], there: dict[str, Batch]) -> Entry:
    """An entry with the new batch of its rows, or without one if another entry has the rows of its content."""
    if not entry.batch or entry.batch in there:
        return entry
    provides = live.providers.get(entry.file_id) is entry
    batch = moved.get(entry.file_id, "") if provides else ""
    return msgspec.structs.replace(entry, batch=batch, rewrites=entry.rewrites + 1)


def _keep_young(warehouse: Warehouse, batches: Iterable[Batch]) -> None:
    """Makes segments look new, so that `gc` removes none before they are committed, however long compacting took."""
    with io_errors_explained(warehouse.files.folder):
        names = (segment(table, batch.id) for batch in batches for table in batch.tables)
        warehouse.files.keep_young(warehouse.segments / name for name in names)


def erase(warehouse: Warehouse, replaced: Live) -> None:
    """Removes segments that no record needs: those that were just replaced, and old ones that were never committed."""
    live, _ = warehouse.read()
    needed = {segment(table, batch.id) for batch in live.batches.values() for table in batch.tables}
    known = {segment(table, batch.id) for batch in replaced.batches.values() for table in batch.tables}
    with io_errors_explained(warehouse.files.folder):
        warehouse.files.remove_segments(known - needed)
        for path in warehouse.cache.glob("*.bin"):  # may contain facts about forgotten files
            path.unlink(missing_ok=True)
    gc(warehouse.root)


def _sizes(warehouse: Warehouse) -> dict[str, int]:
    """Bytes of all segments."""
    return {name: stored.size_bytes for name, stored in warehouse.stored_segments().items()}
