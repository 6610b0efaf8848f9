"""Finds and removes what nothing names any more: segments, records and temporary files of processes that were killed.

A segment gets its name shortly before the record that names it, so a young one may be about to be committed.  The log
is read after the files were listed: what is committed meanwhile is named.  How old a file is, the clock of its file
system says, not that of this host.  What a damaged log may have named is not known, so nothing is removed then.
"""

from pathlib import Path
from typing import NamedTuple

from scalelens.warehouse.files import ABANDONED_S, io_errors_explained
from scalelens.warehouse.log import Warehouse
from scalelens.warehouse.records import segment


class Garbage(NamedTuple):
    """A file that may be removed."""

    path: Path
    size_bytes: int
    why: str


def gc(root: Path, dry_run: bool = False) -> list[Garbage]:
    """Removes the garbage of a warehouse and says what it was.  With `dry_run` it only says it.

    Raises UserError where there is no warehouse, or a damaged one.
    """
    warehouse = Warehouse(root)
    garbage = garbage_of(warehouse)
    with io_errors_explained(warehouse.files.folder):
        for file in garbage if not dry_run else ():
            warehouse.files.remove(file.path.parent, [file.path.name])
    return garbage


def garbage_of(warehouse: Warehouse) -> list[Garbage]:
    """Files that nothing names, in order of their names."""
    warehouse.live()  # raises before anything is written
    old = {}
    with io_errors_explained(warehouse.files.folder):
        for folder in (warehouse.log, warehouse.segments):
            now_ns = warehouse.files.clock_ns(folder)
            for name, stored in warehouse.files.listed(folder).items():
                if now_ns - stored.modified_ns > ABANDONED_S * 10**9:
                    old[folder / name] = stored.size_bytes
    live = warehouse.live()
    named = {segment(table, batch.id) for batch in live.batches.values() for table in batch.tables}
    garbage = []
    for path, size in sorted(old.items()):
        if path.name.startswith(".") and path.suffix == ".tmp":
            garbage.append(Garbage(path, size, "a process was killed while it wrote it"))
        elif path.name in live.folded:
            garbage.append(Garbage(path, size, "another record stands for it"))
        elif path.suffix == ".parquet" and path.name not in named:
            garbage.append(Garbage(path, size, "no record names it"))
    return garbage
