"""The warehouse: immutable Parquet segments, and small commit records that decide which of them count.

    _log/<order>-<digest>.json        commit records
    segments/<table>-<id>.parquet     rows

Writers share nothing and take no locks.  Each writes its segments, then its record under a temporary name, and links
the record into `_log`: from then on it is committed as a whole and never changes.  A commit comes after all that its
writer has read: its order is one more than the highest that the writer saw.  Clocks play no part.
"""

import contextlib
import os
import time
from collections.abc import Iterable
from pathlib import Path

import msgspec

from scalelens.errors import UserError
from scalelens.tables import SCHEMA_VERSION
from scalelens.version import __version__
from scalelens.warehouse.files import ABANDONED_S, FileStatus, LocalFiles, io_errors_explained
from scalelens.warehouse.live import FORGOTTEN, Live, live_of, order
from scalelens.warehouse.records import Batch, CommitRecord, Entry, order_of, record_name
from scalelens.warehouse.root import BucketPath
from scalelens.warehouse.stored_records import Damage, Texts, names_in, records_and_damages, texts_in

_FOLD_ABOVE = 1000  # more records than this are folded into one at the next ingest


class Warehouse:
    """A warehouse in a folder, or in an S3 bucket with a folder of copies."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.files = _files_at(root)
        self.log = self.files.folder / "_log"
        self.segments = self.files.folder / "segments"
        self.cache = self.files.folder / "_cache"  # follows from the records, and may be removed at any time
        self._order = 0  # of the next commit; 0 before the log was read
        self._newest: list[str] = []  # records that the next commit builds on

    def exists(self) -> bool:
        return self.files.exists(self.log)

    def check_name(self) -> None:
        """Raises UserError if the name is not UTF-8: DuckDB cannot open files below it."""
        try:
            os.path.abspath(self.root).encode()
        except UnicodeEncodeError:
            raise UserError(f"{str(self.root)!a} is not UTF-8", "give -w a folder whose name is") from None

    def create(self) -> None:
        """Creates the folders.  Raises UserError if that is not possible."""
        self.check_name()
        with io_errors_explained(self.files.folder):
            names = self.files.names(self.files.folder)
            if names and self.log.name not in names:
                raise UserError(f"{self.root} contains other files", "give -w a new or empty folder")
            self.files.create([self.log, self.segments])  # the log first: it shows others that this is a warehouse
            self.files.check_commits(self.log)

    def texts(self) -> Texts:
        """The bytes of each record, or what is wrong with it.  Raises UserError if there is no warehouse."""
        self.check_name()
        if not self.exists():
            raise UserError(
                f"there is no warehouse at {self.root}", "make one with: scalelens ingest logs/ -w " + str(self.root)
            )
        with io_errors_explained(self.files.folder):
            return texts_in(self.files, self.log)

    def names(self) -> list[str]:
        """Names of the records."""
        return names_in(self.files, self.log)

    def stored_segments(self) -> dict[str, FileStatus]:
        """All segments by name, including those that no record names."""
        with io_errors_explained(self.files.folder):
            files = self.files.listed(self.segments).items()
        return {name: stored for name, stored in files if name.endswith(".parquet")}

    def live(self) -> Live:
        """What counts.  Raises UserError as `records` does."""
        return live_of(self.records())

    def read(self) -> tuple[Live, list[Damage]]:
        """What counts according to the records that can be used, and what is wrong with the others."""
        records, damages = self._decoded(self.texts())
        return live_of(records), damages

    def records(self, texts: Texts | None = None) -> dict[str, CommitRecord]:
        """The records in the log, or in the `texts` that were read from it.

        Raises UserError if there is no warehouse, if it has another schema, or if a record is damaged.
        """
        records, damages = self._decoded(self.texts() if texts is None else texts)
        if damages:
            others = f" (and {len(damages) - 1} more)" if len(damages) > 1 else ""
            raise UserError(
                f"commit record {self.log / damages[0].name} {damages[0].what}{others}, so rows may be missing",
                f"to see what is lost and how to repair it, run: scalelens check -w {self.root}",
            )
        return records

    def _decoded(self, texts: Texts) -> tuple[dict[str, CommitRecord], list[Damage]]:
        """The records and the damages.  The next commit comes after them."""
        records, damages = records_and_damages(self.root, texts)
        built_on = {name for record in records.values() for name in (*record.folds, *record.builds_on)}
        self._newest = [name for name in texts if name not in built_on]
        names = (*texts, *(damage.name for damage in damages))
        entries = (entry for record in records.values() for entry in record.entries)
        self._order = 1 + max((*map(order_of, names), *map(order, entries)), default=0)
        return records, damages

    def commit(self, batches: list[Batch], entries: list[Entry], folds: Iterable[str] = ()) -> str:
        """Links a new record into the log.  Returns its name."""
        if not self._order:
            self.read()
        for entry in entries:
            entry.committed_ns = entry.committed_ns or time.time_ns()
            entry.order = entry.order or self._order
        folds = list(folds)
        builds_on = sorted({*self._newest} - {*folds})
        written_by = f"scalelens {__version__}"
        content = msgspec.json.encode(CommitRecord(SCHEMA_VERSION, written_by, batches, entries, folds, builds_on))
        name = record_name(self._order, content)
        self.files.write_once(content, self.log / name)
        self._newest = [name]
        return name

    def forget(self, paths: Iterable[str]) -> None:
        """Commits that these paths no longer count."""
        self.read()  # so that the commit comes after all others
        with io_errors_explained(self.files.folder):
            self.commit([], [Entry(path, status=FORGOTTEN) for path in paths])

    def fold(self, above: int = _FOLD_ABOVE, *, accept_damage: bool = False) -> None:
        """Replaces a long log with one record of the same content.

        Raises UserError if a record is damaged.  With `accept_damage`, the content of damaged records is given up.
        """
        live, damages = self.read() if accept_damage else (self.live(), [])
        if len(live.records) > above:
            entries = all_entries(live)
            needed = {entry.batch for entry in entries}
            batches = [batch for batch in live.batches.values() if batch.id in needed]
            self.replace([*live.records, *(damage.name for damage in damages)], batches, entries)

    def replace(self, records: list[str], batches: list[Batch], entries: list[Entry]) -> None:
        """Commits a record that replaces others, then removes them."""
        with io_errors_explained(self.files.folder):
            self.commit(batches, entries, records)
            self.files.remove(self.log, records)

    def sweep(self) -> None:
        """Removes temporary files of killed processes."""
        for folder in (self.log, self.segments):
            for path in folder.glob(".*.tmp"):
                with contextlib.suppress(OSError):
                    if time.time() - path.stat().st_mtime > ABANDONED_S:
                        path.unlink()


def _files_at(root: Path) -> LocalFiles:
    """The files of a warehouse.  The code for S3 is slow to load, so it is loaded only for a bucket."""
    if not isinstance(root, BucketPath):
        return LocalFiles(root)
    from scalelens.warehouse.bucket import Bucket

    return Bucket(root)


def all_entries(live: Live) -> list[Entry]:
    """The entries that a record needs to replace all others, each once.

    Forgotten paths are among them: another process may be writing a record that still contains them.
    """
    entries = (*live.paths.values(), *live.providers.values(), *live.forgotten.values())
    return list({id(entry): entry for entry in entries}.values())
