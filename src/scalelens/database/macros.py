"""The queries as table macros of a connection.

DuckDB checks a macro against all that it calls when it is made: 0.1 s for those that a question needs, 0.4 s for all.
So they are made once, in a DuckDB file of the user's cache folder, which a connection attaches.  Attaching reads all
that is in a file, 0.003 s for a question and 0.016 s for all queries, so each set of queries that is asked has a file
of its own.  Its name holds a digest of the queries and DuckDB's version, so that it is made again when either changes.
Where there is no such folder, or somebody else could write there, a connection gets the macros that it needs one by
one.  So it does where their SQL is short, as that of most questions about traces: making them is then faster than
looking for the file.
"""

import contextlib
import hashlib
import re
import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path

import duckdb

from scalelens.database import views
from scalelens.database.stand_ins import BUILTIN, SHARED, USERS, in_place_of, users_sql
from scalelens.database.texts import sql_text
from scalelens.errors import UserError
from scalelens.folders import is_ours_alone, own_cache_folder
from scalelens.queries.header import Query, is_builtin, names_in
from scalelens.queries.old_columns import selected_columns
from scalelens.statistics import functions
from scalelens.tables import documented

_SCALAR_MACROS = Path(__file__).with_name("scalar_macros.sql")
_SCALAR_MACRO = re.compile(r"^CREATE MACRO (\w+)\(.*?;$", re.MULTILINE | re.DOTALL)
KEPT_FILES = 256  # of several sets of queries and versions of DuckDB and of ScaleLens; most have 100 to 300 KB
_BLOCK_BYTES = 1 << 14  # of the files; DuckDB's own size is larger than the macros of a question
_SHORT_SQL = 12_000  # characters of all queries that a question needs


def add_macros(connection: duckdb.DuckDBPyConnection, queries: Mapping[str, Query], called: set[str] | None) -> None:
    """Adds queries to a connection as table macros, and the functions that they call.

    The connection has the documented tables already.  Without the functions that are `called`, all are added.
    """
    functions.register(connection, called)
    connection.execute(f"CREATE SCHEMA {SHARED}; CREATE SCHEMA {USERS}")
    file = None if _are_short(queries) else macro_file(queries)
    if file and _attached(connection, file):
        connection.execute(f"SET search_path = 'main,{USERS},{BUILTIN}.main'")
    else:
        connection.execute(f"CREATE SCHEMA {BUILTIN}; SET search_path = '{BUILTIN},main'")
        _add_scalar_macros(connection, called)
        connection.execute(f"SET search_path = 'main,{USERS},{BUILTIN}'")
        if _with_step_times(queries):
            connection.execute(views.step_times_macro())
        create(connection, (query for query in queries.values() if is_builtin(query.path)), BUILTIN)
    old_columns = selected_columns(users_sql(queries), queries)
    for query in queries.values():  # each after those that it calls
        if not is_builtin(query.path):
            create(connection, [query], USERS)
        if query.name in old_columns:
            connection.execute(in_place_of(query, old_columns[query.name]))


def _add_scalar_macros(connection: duckdb.DuckDBPyConnection, called: set[str] | None) -> None:
    """Adds the macros of expressions: those that are called, and those that these call; DuckDB takes 0.5 ms for one."""
    text = _SCALAR_MACROS.read_text(encoding="utf-8")
    statements = {match[1]: match[0] for match in _SCALAR_MACRO.finditer(text)}  # each after those that it calls
    if called is not None:
        called = called | {"quoted"}  # also called by the macros that take the place of helpers
        for name in reversed(statements):
            if name in called:
                called = called | names_in(statements[name])
    wanted = [statement for name, statement in statements.items() if called is None or name in called]
    connection.execute("\n".join(wanted))


def _are_short(queries: Mapping[str, Query]) -> bool:
    """Whether some queries are made in less time than the file takes; the step times are a long macro of their own."""
    return sum(len(query.sql) for query in queries.values()) < _SHORT_SQL and not _with_step_times(queries)


def _with_step_times(queries: Mapping[str, Query]) -> bool:
    return any("_step_times_of" in query.sql for query in queries.values())


def create(connection: duckdb.DuckDBPyConnection, queries: Iterable[Query], schema: str) -> None:
    for query in queries:
        try:
            connection.execute(f"CREATE MACRO {schema}.{query.signature} AS TABLE\n{query.sql}")
        except duckdb.Error as error:
            reason = str(error).strip().splitlines()[0]
            raise UserError(f"{query.path}: {reason}", "correct the SQL") from None


def _attached(connection: duckdb.DuckDBPyConnection, file: Path) -> bool:
    """Attaches a file of macros.  Returns whether that is possible; a damaged file is removed, to be made again."""
    try:
        connection.execute(f"ATTACH {sql_text(str(file))} AS {BUILTIN} (READ_ONLY)")
    except duckdb.Error:
        with contextlib.suppress(OSError):
            file.unlink()
        return False
    return True


def macro_file(queries: Mapping[str, Query]) -> Path | None:
    """The file of our own among some queries, which is made where it is not there; None where it cannot be."""
    own = [query for query in queries.values() if is_builtin(query.path)]
    folder = own_cache_folder()
    if folder is None:
        return None
    try:
        file = folder / f"queries-{digest_of(own)}-{duckdb.__version__}.duckdb"
        if not file.exists():
            make(file, own)
        return file if is_ours_alone(file) else None
    except (OSError, duckdb.Error):
        return None


def digest_of(queries: Iterable[Query]) -> str:
    """Digest of what macros are made of."""
    hashed = hashlib.blake2b(digest_size=8)
    for text in sorted(f"{query.name}\n{query.text}" for query in queries):
        hashed.update(text.encode())
    for path in (views.STEP_TIMES, Path(views.__file__), _SCALAR_MACROS):
        hashed.update(path.read_bytes())
    return hashed.hexdigest()


def make(file: Path, queries: Iterable[Query]) -> None:
    """Makes a file of macros, whole or not at all, and removes the oldest ones.  Each query is after those it calls."""
    queries = [*queries]
    named = names_in("\n".join([views.step_times_macro(), *(query.sql for query in queries)]))
    tables = {name: columns for name, columns in documented().items() if name in named}
    part = file.with_name(f".{file.name}.{secrets.token_hex(4)}.part")
    try:
        with duckdb.connect(part, config={"default_block_size": str(_BLOCK_BYTES)}) as connection:
            functions.register(connection, named)
            for name, columns in tables.items():
                connection.execute(f"CREATE TABLE {name} AS {views.no_rows(columns)}")
            connection.execute(_SCALAR_MACROS.read_text(encoding="utf-8"))
            connection.execute(views.step_times_macro())
            create(connection, queries, "main")
            connection.execute("; ".join(f"DROP TABLE {name}" for name in tables))
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)
    others = sorted(file.parent.glob("queries-*.duckdb"), key=lambda path: path.stat().st_mtime, reverse=True)
    for old in others[KEPT_FILES:]:
        old.unlink(missing_ok=True)
