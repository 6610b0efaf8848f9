"""An SQLite database of a tool, read as it stands: read-only, without a lock, in batches of rows."""

import contextlib
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scalelens.parsing.source import Source

MAGIC = b"SQLite format 3\0"
_LONGEST_SCHEMA = 1 << 16
_BATCH = 10_000  # rows: more would leave the cache between fetching and converting them


class Database:
    """What `sqlite_database` opens."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        names = self.rows("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
        self.columns = {name: {column[1] for column in self.rows(f'PRAGMA table_info("{name}")')} for (name,) in names}

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql).fetchall()

    def batches(self, sql: str) -> Iterator[list[tuple[Any, ...]]]:
        cursor = self._connection.execute(sql)
        while rows := cursor.fetchmany(_BATCH):
            yield rows


@contextlib.contextmanager
def sqlite_database(source: Source) -> Iterator[Database]:
    """Opens the database of a source; what is compressed or in an archive is unpacked to a temporary file.

    `immutable` keeps SQLite from locks and from journals beside the file.  Raises sqlite3.Error for a damaged file.
    """
    with contextlib.ExitStack() as opened:
        path = Path(source.path)
        if not _is_plain(path):
            copy = opened.enter_context(tempfile.NamedTemporaryFile(suffix=".sqlite"))
            for block in source.chunks():
                copy.write(block)
            copy.flush()
            path = Path(copy.name)
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
        opened.callback(connection.close)
        connection.text_factory = lambda text: text.decode("utf-8", "replace")
        try:
            yield Database(connection)
        except UnicodeDecodeError:  # sqlite3 names what is damaged, and expects UTF-8
            raise sqlite3.DatabaseError("a name in its schema is damaged") from None


def stored_columns(database: Database) -> dict[str, set[str]]:
    """The columns of each table.  Views are left out: they may compute without an end."""
    views = {name for (name,) in database.rows("SELECT name FROM sqlite_master WHERE type = 'view'")}
    return {name: columns for name, columns in database.columns.items() if name not in views}


def schema_of(source: Source) -> bytes:
    """The tables of a database with their columns, as text: in a large one they may stand anywhere."""
    try:
        with sqlite_database(source) as database:
            tables = [f"TABLE {name} ({' '.join(sorted(columns))})" for name, columns in database.columns.items()]
    except sqlite3.Error:
        return b""
    return "\n".join(tables)[:_LONGEST_SCHEMA].encode("utf-8", "replace")


def unread_journal(path: str) -> str | None:
    """What to say where newer rows of a database may lie in a journal beside it."""
    journal = Path(f"{path}-wal")
    with contextlib.suppress(OSError):
        if size := journal.stat().st_size:
            return (
                f"{journal.name} ({size:,} bytes) may have newer rows: `sqlite3 FILE 'PRAGMA wal_checkpoint'` adds them"
            )
    return None


def _is_plain(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False
