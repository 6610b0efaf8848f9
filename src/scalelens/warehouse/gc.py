"""Finds and removes files that nothing refers to: segments, records and temporary files of killed processes.

A segment gets its name shortly before the record that names it, so a young one may be about to be committed.  The log
is read after the files were listed, so that it names whatever was committed meanwhile.  The age of a file is taken from
the clock of its file system, not from that of this host.  Nothing is removed if the log is damaged, because it may have
named any file.
"""

from pathlib import Path
from typing import NamedTuple

from scalelens.warehouse.files import ABANDONED_S, io_errors_explained
from scalelens.warehouse.log import Warehouse
from scalelens.warehouse.records import segment


class _Garbage(NamedTuple):
    """A file that may be removed."""

    path: Path
    size_bytes: int
    why: str


def gc(root: Path, dry_run: bool = False) -> list[_Garbage]:
    """Removes the garbage of a warehouse and returns what it was.  With `dry_run`, nothing is removed.

    Raises UserError if there is no warehouse, or if it is damaged.
    """
    warehouse = Warehouse(root)
    garbage = _garbage_of(warehouse)
    with io_errors_explained(warehouse.files.folder):
        for file in garbage if not dry_run else ():
            warehouse.files.remove(file.path.parent, [file.path.name])
    return garbage


def _garbage_of(warehouse: Warehouse) -> list[_Garbage]:
    """Files that nothing refers to, in the order of their names."""
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
    held_back = warehouse.files.held_back()
    garbage = []
    for path, size in sorted(old.items()):
        if path.name.startswith(".") and path.suffix == ".tmp":
            garbage.append(_Garbage(path, size, "a process was killed while it wrote it"))
        elif path.name in live.folded:
            garbage.append(_Garbage(path, size, "another record replaces it"))
        elif path.suffix == ".parquet" and path.name not in named | held_back:
            garbage.append(_Garbage(path, size, "no record names it"))
    return garbage
