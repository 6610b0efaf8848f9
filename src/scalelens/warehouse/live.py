"""What counts, from the records alone: for each path the newest entry, for each content the newest batch with its rows.

A commit is newer than another if its writer had read the other; clocks play no part.  Two commits whose writers did not
know about each other have the same order, and their entries decide: the file that was changed last counts.  The result
does not depend on which records are folded into one, nor on how often.
"""

from typing import Any

import msgspec

from scalelens.parsing.archive_names import archives_of
from scalelens.warehouse.records import Batch, CommitRecord, Entry, order_of

FORGOTTEN = "forgotten"


class Live(msgspec.Struct):
    """What counts now."""

    paths: dict[str, Entry]  # entries by path
    providers: dict[str, Entry]  # by content, the entry whose batch has its rows
    batches: dict[str, Batch]  # all batches by id
    records: list[str]  # names of all records
    forgotten: dict[str, Entry] = {}  # by path, the entry that removed it
    folded: set[str] = set()  # names of records that another one replaces

    def without_rows(self) -> set[str]:
        """Paths that were read as duplicates of a content that is gone by now; for members, their archives as well."""
        return {
            path
            for entry in self.paths.values()
            if entry.status == "duplicate" and entry.file_id not in self.providers
            for path in (entry.path, *archives_of(entry.path))
        }


def live_of(records: dict[str, CommitRecord]) -> Live:
    """What counts according to all records of a log, by name."""
    folded = {name for record in records.values() for name in record.folds}
    standing = {name: record for name, record in records.items() if name not in folded}
    entries = sorted((entry for record in standing.values() for entry in record.entries), key=newness)
    newest = {entry.path: entry for entry in entries}
    counting = (entry for entry in newest.values() if entry.status != FORGOTTEN and _is_in_archive(entry, newest))
    paths = {entry.path: entry for entry in counting}
    contents = {entry.file_id for entry in paths.values()}
    providers = {entry.file_id: entry for entry in entries if entry.batch and entry.file_id in contents}
    batches = {batch.id: batch for record in standing.values() for batch in record.batches}
    forgotten = {path: entry for path, entry in newest.items() if entry.status == FORGOTTEN}
    return Live(paths, providers, batches, sorted(records), forgotten, folded)


def roots(live: Live) -> list[str]:
    """Folders that were given to `ingest`, without those inside another one."""
    outermost: list[str] = []
    for root in sorted({entry.root for entry in live.paths.values() if entry.root}):
        if not outermost or not f"{root}/".startswith(f"{outermost[-1].rstrip('/')}/"):
            outermost.append(root)
    return outermost


def newness(entry: Entry) -> tuple[Any, ...]:
    """Sorts entries from the oldest to the newest.  Among entries of the same order, their values decide."""
    return (
        order(entry), entry.status == FORGOTTEN, entry.modified_ns, entry.size_bytes,
        entry.file_id, entry.rewrites, entry.batch, entry.path, entry.committed_ns,
    )  # fmt: skip


def order(entry: Entry) -> int:
    """The order of an entry's commit.  Older versions wrote only the time."""
    return entry.order or entry.committed_ns


def _is_in_archive(entry: Entry, newest: dict[str, Entry]) -> bool:
    """Whether an entry is not a member of an archive, or was still in it when the whole archive was last read."""
    archives = (newest[path] for path in archives_of(entry.path) if path in newest)
    return all(
        archive.status == "partial" or order(archive) <= order(entry)
        for archive in archives
        if archive.status != FORGOTTEN
    )


def missing_records(records: dict[str, CommitRecord]) -> list[str]:
    """Missing records that others build on.

    A record that a fold replaced is not missing.  A later fold does not repeat the names that an earlier one replaced,
    so everything up to the newest record that was folded counts as replaced.
    """
    folded = {name for record in records.values() for name in record.folds}
    replaced_up_to = max(map(order_of, folded), default=0)
    needed = {name for record in records.values() for name in record.builds_on}
    return sorted(name for name in needed - folded - records.keys() if order_of(name) > replaced_up_to)
