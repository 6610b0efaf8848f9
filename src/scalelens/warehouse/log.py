"""The warehouse: immutable Parquet segments, and small commit records that say which of them count.

    _log/<time>-<id>.json             commit records
    segments/<table>-<id>.parquet     rows

Writers share nothing and take no lock.  Each writes its segments, then its record under a temporary name, and links
the record into `_log`: from then on it is committed as a whole and never changes.  What is live follows from the
records alone: for each path the newest entry that names it, for each content the newest batch that holds its rows.
"""

import contextlib
import errno
import os
import secrets
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from scalelens.errors import UserError
from scalelens.parsing.part_facts import PartFacts
from scalelens.tables import OLDEST_SCHEMA, SCHEMA_VERSION
from scalelens.version import __version__

FOLD_ABOVE = 1000  # so many records in the log are folded into one at the next ingest
ABANDONED_S = 24 * 3600  # age at which a temporary file of another process is swept away


class Entry(msgspec.Struct, omit_defaults=True):
    """What a record says about one path: which content it held, and which batch has the rows of that content."""

    path: str
    root: str = ""
    file_id: str = ""
    batch: str = ""  # empty where the content was read before under another path
    size_bytes: int = 0
    modified_ns: int = 0
    committed_ns: int = 0
    status: str = "ok"  # ok partial unknown empty document duplicate; `forgotten` takes the path out
    formats: list[str] = []
    parser_version: str = ""
    rows: int = 0
    problems: int = 0
    note: str | None = None
    parts: dict[int, PartFacts] = {}
    rows_by_format: dict[str, int] = msgspec.field(default_factory=dict, name="rows_of")
    problems_by_format: dict[str, int] = msgspec.field(default_factory=dict, name="problems_of")
    sidecar: str = ""  # text of a scalelens.toml: what it says is applied when the warehouse is opened


class Batch(msgspec.Struct):
    """Segments that were written together, and the contents whose rows they hold."""

    id: str
    tables: dict[str, int]  # number of rows by table
    file_ids: list[str]
    schema: int = OLDEST_SCHEMA  # of its segments; records of the oldest schema do not name it


class CommitRecord(msgspec.Struct):
    """One commit, as it is stored."""

    schema: int
    written_by: str
    batches: list[Batch] = []
    entries: list[Entry] = []
    folds: list[str] = []  # names of the records that this one replaces


class RecordHeader(msgspec.Struct):
    """The part of a commit record that every schema has."""

    schema: int


class Live(msgspec.Struct):
    """What counts now."""

    paths: dict[str, Entry]  # entries by path
    providers: dict[str, Entry]  # by content, the entry whose batch has its rows
    batches: dict[str, Batch]  # all batches by id
    records: list[str]  # names of all records


class Warehouse:
    """The folder of a warehouse."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.log = root / "_log"
        self.segments = root / "segments"

    def exists(self) -> bool:
        return os.path.isdir(self.log)

    def create(self) -> None:
        """Makes the folders.  Raises UserError where that is not possible."""
        with io_errors_explained(self.root):
            if self.root.is_dir() and not self.exists() and any(self.root.iterdir()):
                raise UserError(f"{self.root} holds other files", "give -w a new or empty folder")
            self.log.mkdir(parents=True, exist_ok=True)  # first: it tells other processes that this is a warehouse
            self.segments.mkdir(exist_ok=True)

    def live(self) -> Live:
        """Reads the log.  Raises UserError where there is no warehouse, or one of another schema."""
        if not self.exists():
            raise UserError(
                f"there is no warehouse at {self.root}", "make one with: scalelens ingest logs/ -w " + str(self.root)
            )
        with io_errors_explained(self.root):
            while True:
                names = sorted(name for name in os.listdir(self.log) if name.endswith(".json"))
                with contextlib.suppress(FileNotFoundError):  # another process folded the log meanwhile: look again
                    return live_of({name: self._record(name) for name in names})

    def _record(self, name: str) -> CommitRecord:
        text = (self.log / name).read_bytes()
        try:
            schema = msgspec.json.decode(text, type=RecordHeader).schema
            if schema > SCHEMA_VERSION:
                raise UserError(
                    f"{self.root} was written by a newer ScaleLens (schema {schema}, this one knows {SCHEMA_VERSION})",
                    "upgrade with: pip install --upgrade scalelens",
                )
            if schema < OLDEST_SCHEMA:
                raise UserError(
                    f"{self.root} was written by an older ScaleLens, whose tables lack columns",
                    "make a new warehouse: scalelens ingest logs/ -w " + str(self.root) + "-2",
                )
            return msgspec.json.decode(text, type=CommitRecord)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise UserError(
                f"commit record {self.log / name} is damaged ({error})",
                "move it away and ingest again: only the files it names are read once more",
            ) from None

    def commit(self, batches: list[Batch], entries: list[Entry], folds: Iterable[str] = ()) -> str:
        """Links a new record into the log.  Returns its name."""
        now = time.time_ns()
        name = f"{now:020d}-{secrets.token_hex(4)}.json"
        for entry in entries:
            entry.committed_ns = entry.committed_ns or now
        record = CommitRecord(SCHEMA_VERSION, f"scalelens {__version__}", batches, entries, list(folds))
        temporary = self.log / f".{name}.tmp"
        try:
            with temporary.open("wb") as file:
                file.write(msgspec.json.encode(record))
                file.flush()
                os.fsync(file.fileno())
            link_once(temporary, self.log / name)
        finally:
            temporary.unlink(missing_ok=True)
        sync_folder(self.log)
        return name

    def forget(self, paths: Iterable[str]) -> None:
        """Commits that these paths no longer count."""
        with io_errors_explained(self.root):
            self.commit([], [Entry(path, status="forgotten") for path in paths])

    def fold(self, above: int = FOLD_ABOVE) -> None:
        """Replaces a long log by one record of the same content, then removes the records that it replaces."""
        live = self.live()
        if len(live.records) <= above:
            return
        kept = {(entry.path, entry.committed_ns): entry for entry in (*live.paths.values(), *live.providers.values())}
        needed = {entry.batch for entry in kept.values()}
        hidden = [  # forgotten paths whose entry must stay, because the content still counts under another path
            Entry(entry.path, status="forgotten", committed_ns=entry.committed_ns + 1)
            for entry in live.providers.values()
            if entry.path not in live.paths
        ]
        with io_errors_explained(self.root):
            batches = [batch for batch in live.batches.values() if batch.id in needed]
            self.commit(batches, [*kept.values(), *hidden], live.records)
            for name in live.records:
                (self.log / name).unlink(missing_ok=True)

    def sweep(self) -> None:
        """Removes temporary files of processes that were killed."""
        for folder in (self.log, self.segments):
            for path in folder.glob(".*.tmp"):
                with contextlib.suppress(OSError):
                    if time.time() - path.stat().st_mtime > ABANDONED_S:
                        path.unlink()


def segment(table: str, batch: str) -> str:
    """File name of a batch's segment of `table`."""
    return f"{table}-{batch}.parquet"


def live_of(records: dict[str, CommitRecord]) -> Live:
    """What counts, from all records of a log by name."""
    folded = {name for record in records.values() for name in record.folds}
    standing = {name: record for name, record in records.items() if name not in folded}
    entries = sorted(
        (entry for record in standing.values() for entry in record.entries),
        key=lambda entry: (entry.committed_ns, entry.batch),
    )
    paths = {entry.path: entry for entry in entries}
    current_paths = {path: entry for path, entry in paths.items() if entry.status != "forgotten"}
    contents = {entry.file_id for entry in current_paths.values()}
    providers = {entry.file_id: entry for entry in entries if entry.batch and entry.file_id in contents}
    batches = {batch.id: batch for record in standing.values() for batch in record.batches}
    return Live(current_paths, providers, batches, sorted(records))


def link_once(temporary: Path, final: Path) -> None:
    """Gives a finished file its name, by link(), or by rename() where the file system has no links."""
    try:
        os.link(temporary, final)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK):
            raise
        os.rename(temporary, final)


def sync_folder(folder: Path) -> None:
    """Makes new names in a folder survive a crash, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextlib.contextmanager
def io_errors_explained(root: Path) -> Iterator[None]:
    """Turns errors of the file system into a UserError with the remedy."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise UserError(
                f"no space is left for {root}",
                "free some space and run the same command again: what was committed is kept",
            ) from None
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise UserError(
                f"{error.filename or root} cannot be written or read",
                "check its permissions, or give -w another folder",
            ) from None
        if isinstance(error, (NotADirectoryError, FileExistsError)):
            raise UserError(f"{root} is not a folder", "give -w a folder") from None
        raise UserError(
            f"{root} cannot be written or read ({error.strerror or error})",
            "run the same command again: what was committed is kept",
        ) from None
