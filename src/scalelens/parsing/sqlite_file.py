"""An SQLite database of a tool, read as it stands: read-only, without a lock, in batches of rows.

A database is a program as well: a view of a few bytes can count without an end.  So tables alone are read, never views,
virtual tables or computed columns, and what a database costs is bounded by its size, counted in rows, in bytes of text
and in instructions of SQLite.
"""

import contextlib
import itertools
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scalelens.parsing.source import Source

MAGIC = b"SQLite format 3\0"
_LONGEST_SCHEMA = 1 << 16
_BATCH = 10_000  # rows: more would leave the cache between fetching and converting them
_PIECE = 500  # rows that are fetched before their bytes are counted
# What any database may cost, and how much more for each of its bytes.  A row takes at least 4 bytes; texts repeat where
# a kernel's name is joined to each of its launches; real captures take up to 0.5 instructions a byte.
_ROWS, _BYTES_OF_ROW = 10_000, 4
_TEXT_BYTES, _TEXT_PER_BYTE = 16 << 20, 32
_INSTRUCTIONS, _INSTRUCTIONS_PER_BYTE, _COUNTED_INSTRUCTIONS = 1_000_000, 20, 10_000
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: 256 << 10,  # bytes of a text, and of a row
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 1_000_000, sqlite3.SQLITE_LIMIT_COLUMN: 500, sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 100,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0, sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 1,
}  # fmt: skip


class TooCostlyError(sqlite3.DataError):
    """Reading a database gives or takes far more than its size allows."""


class Database:
    """What `sqlite_database` opens.  `columns` has the columns of each table."""

    def __init__(self, connection: sqlite3.Connection, size_bytes: int) -> None:
        self._connection = connection
        self._own_views: set[str] = set()
        self._rows_left = _ROWS + size_bytes // _BYTES_OF_ROW
        self._text_left = _TEXT_BYTES + size_bytes * _TEXT_PER_BYTE
        self._instructions_left = _INSTRUCTIONS + size_bytes * _INSTRUCTIONS_PER_BYTE
        self._spent: str | None = None
        for limit, value in _LIMITS.items():
            connection.setlimit(limit, value)
        connection.text_factory = self._text
        connection.set_authorizer(self._authorized)
        connection.set_progress_handler(self._count, _COUNTED_INSTRUCTIONS)
        stored = "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0 AND sql LIKE 'CREATE TABLE %'"
        columns = {name: self._stored_columns(name) for (name,) in self.rows(stored)}
        self.columns = {name: stored for name, stored in columns.items() if stored}

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return [row for batch in self.batches(sql) for row in batch]

    def batches(self, sql: str) -> Iterator[list[tuple[Any, ...]]]:
        cursor = self._execute(sql)
        while True:
            rows: list[tuple[Any, ...]] = []
            while len(rows) < _BATCH and (piece := self._fetched(cursor)):
                rows += piece
            if not rows:
                return
            yield rows

    def table(self, name: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """The columns of a table in their order, and its rows."""
        columns = [column[1] for column in self.rows(f"PRAGMA table_xinfo({_quoted(name)})")]
        return columns, self.rows(f"SELECT * FROM main.{_quoted(name)}")

    def unite(self, name: str, tables: list[str], columns: set[str]) -> None:
        """The rows of several tables under one name, in place of a view of the database."""
        chosen = ", ".join(map(_quoted, sorted(columns)))
        parts = " UNION ALL ".join(f"SELECT {chosen} FROM main.{_quoted(table)}" for table in tables)
        self._own_views.add(name)
        self._execute(f"CREATE TEMP VIEW {_quoted(name)} AS {parts}")

    def _stored_columns(self, table: str) -> set[str]:
        """Columns whose values are stored.  A table that computes others is left out: `*` would name them."""
        columns = self.rows(f"PRAGMA table_xinfo({_quoted(table)})")
        return set() if any(column[6] for column in columns) else {column[1] for column in columns}

    def _fetched(self, cursor: sqlite3.Cursor) -> list[tuple[Any, ...]]:
        with self._bounded():
            piece = cursor.fetchmany(_PIECE)
        self._rows_left -= len(piece)
        if bytes in {*map(type, itertools.chain.from_iterable(piece))}:
            self._text_left -= sum(len(value) for row in piece for value in row if type(value) is bytes)
        if self._rows_left < 0 or self._text_left < 0:
            raise TooCostlyError("it gives far more rows or text than its size allows")
        return piece

    def _execute(self, sql: str) -> sqlite3.Cursor:
        with self._bounded():
            return self._connection.execute(sql)

    @contextlib.contextmanager
    def _bounded(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            raise TooCostlyError(self._spent) if self._spent else error from None

    def _text(self, text: bytes) -> str:
        self._text_left -= len(text)
        if self._text_left < 0:
            raise TooCostlyError("it gives far more text than its size allows")
        return text.decode("utf-8", "replace")

    def _count(self) -> bool:
        """Called by SQLite from time to time; True ends the statement."""
        self._instructions_left -= _COUNTED_INSTRUCTIONS
        if self._instructions_left < 0:
            self._spent = "reading it takes far longer than its size allows"
        return self._spent is not None

    def _authorized(self, action: int, one: str | None, two: str | None, base: str | None, within: str | None) -> int:
        """Whether SQLite may do something: nothing is read through a view that the database brings."""
        foreign = action == sqlite3.SQLITE_READ and within is not None and within not in self._own_views
        return sqlite3.SQLITE_DENY if foreign else sqlite3.SQLITE_OK


@contextlib.contextmanager
def sqlite_database(source: Source) -> Iterator[Database]:
    """Opens the database of a source; what is compressed or in an archive is unpacked to a temporary file.

    `immutable` keeps SQLite from locks and from journals beside the file.  Raises sqlite3.Error for a damaged file, and
    at the end for one that is cut: SQLite takes what is missing of a page for zeros.
    """
    with contextlib.ExitStack() as opened:
        path = Path(source.path)
        if source.is_held or not _is_plain(path):
            copy = opened.enter_context(tempfile.NamedTemporaryFile(suffix=".sqlite"))
            for block in source.chunks():
                copy.write(block)
            copy.flush()
            path = Path(copy.name)
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
        opened.callback(connection.close)
        try:
            yield Database(connection, path.stat().st_size)
        except UnicodeDecodeError:  # sqlite3 names what is damaged, and expects UTF-8
            raise sqlite3.DatabaseError("a name in its schema is damaged") from None
        _refuse_cut(path)


@contextlib.contextmanager
def written_database(tables: Iterator[tuple[str, list[str], Iterator[list[tuple[Any, ...]]]]]) -> Iterator[Database]:
    """Opens a temporary database that holds tables of another file: name, columns and batches of rows of each.

    Raises sqlite3.Error where SQLite cannot hold a value.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tables.sqlite"
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = OFF")
            connection.execute("BEGIN")
            for name, columns, batches in tables:
                connection.execute(f"CREATE TABLE {_quoted(name)} ({', '.join(map(_quoted, columns))})")
                places = ", ".join("?" * len(columns))
                for batch in batches:
                    _insert(connection, f"INSERT INTO {_quoted(name)} VALUES ({places})", batch)
            connection.execute("COMMIT")
        with contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
            yield Database(connection, path.stat().st_size)


def _insert(connection: sqlite3.Connection, statement: str, batch: list[tuple[Any, ...]]) -> None:
    try:
        connection.executemany(statement, batch)
    except OverflowError:
        raise sqlite3.DataError("a number has more than 63 bits") from None


def _refuse_cut(path: Path) -> None:
    """Raises sqlite3.Error where a file is shorter than its header says, if that is up to date."""
    with path.open("rb") as file:
        header = file.read(100)
    size_bytes, page_bytes = path.stat().st_size, int.from_bytes(header[16:18], "big")
    whole_bytes = int.from_bytes(header[28:32], "big") * (1 << 16 if page_bytes == 1 else page_bytes)
    if header[24:28] == header[92:96] and size_bytes < whole_bytes:
        raise sqlite3.DatabaseError(f"it has {size_bytes:,} of {whole_bytes:,} bytes")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def schema_of(source: Source) -> bytes:
    """The tables of a database with their columns, as text: in a large one they may stand anywhere."""
    tables: list[str] = []
    with contextlib.suppress(sqlite3.Error), sqlite_database(source) as database:
        tables += [f"TABLE {name} ({' '.join(sorted(columns))})" for name, columns in database.columns.items()]
    return "\n".join(tables)[:_LONGEST_SCHEMA].encode("utf-8", "replace")


def fault_of(source: Source) -> str | None:
    """Why a database cannot be opened, or not in full."""
    try:
        with sqlite_database(source):
            return None
    except sqlite3.Error as error:
        return str(error)


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
