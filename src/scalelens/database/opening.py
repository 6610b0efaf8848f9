"""Opens a warehouse.  What follows from the commit records is cached next to them, so that opening takes a moment.

On a small warehouse most of what that saves is loading the code that interprets records.  The name of a cache contains
a digest of all records and of that code, and the cache starts with a digest of its own content.  A missing or altered
cache only costs time; one made from fewer records is updated.  Every record is still read and checked against its name,
so an altered or missing record is noticed as without a cache.
"""

import contextlib
import functools
import os
import secrets
from pathlib import Path

import msgspec
import pyarrow as pa

from scalelens.collector import gc_paused
from scalelens.database.record_tables import LiveBatch, RecordTables, State, UpdateContext
from scalelens.warehouse.log import Warehouse
from scalelens.warehouse.records import CommitRecord, digest, has_digest
from scalelens.warehouse.stored_records import Texts, decoded

_DIGEST_BYTES = 16
_COMPRESSED = pa.ipc.IpcWriteOptions(compression="lz4")  # takes less time than writing and hashing the rest
_PACKAGE = Path(__file__).parents[1]
# What decides how records are interpreted, relative to the package.
_CODE = ("catalog", "database", "parsing", "runs", "tables.py", "warehouse")
_EXTRA_TABLES = ("labels", "ties", "entry_records")  # stored with the record tables


class _CacheContent(msgspec.Struct):
    """A cache as it is stored; the tables as Arrow streams."""

    records: list[str]  # keys of the records
    context: UpdateContext
    batches: list[LiveBatch]
    tables: dict[str, bytes]


def opened(warehouse: Warehouse, texts: Texts) -> RecordTables:
    """The record tables.  Raises UserError as `Warehouse.records` does."""
    intact = {name: text for name, text in texts.items() if isinstance(text, bytes)}
    with gc_paused():  # the collector would take most of the time
        if len(intact) < len(texts):
            return _interpreted(warehouse, texts).tables
        keys = _record_keys(intact)
        path = warehouse.cache / f"{digest_of_code()[:8]}-{digest(chr(10).join(keys.values()).encode())}.bin"
        if content := read_cache(path):
            return state_in(content).tables
        state = update_cached_state(warehouse, intact, keys) or _interpreted(warehouse, texts)
    with contextlib.suppress(OSError):
        write_cache(state, keys, path)
        if warehouse.names() != [*texts]:  # what `compact` erases meanwhile must not come back
            path.unlink(missing_ok=True)
    return state.tables


def _interpreted(warehouse: Warehouse, texts: Texts) -> State:
    """The state that follows from all records."""
    from scalelens.database.record_state import state_of  # slow to load

    return state_of(warehouse.records(texts))


def update_cached_state(warehouse: Warehouse, texts: dict[str, bytes], keys: dict[str, str]) -> State | None:
    """The state in a cache of fewer records, updated with the others; None if there is none or it cannot be updated."""
    from scalelens.database.updating import updated  # what it uses is slow to load

    def read(name: str) -> CommitRecord:
        record = decoded(warehouse.root, name, texts[name])
        assert isinstance(record, CommitRecord)  # otherwise it would not be in the cache
        return record

    for path in warehouse.cache.glob(f"{digest_of_code()[:8]}-*.bin"):
        if (content := read_cache(path)) and set(content.records) < set(keys.values()):
            cached = set(content.records)
            others = {name: decoded(warehouse.root, name, texts[name]) for name in keys if keys[name] not in cached}
            new = {name: record for name, record in others.items() if isinstance(record, CommitRecord)}
            return updated(state_in(content), new, texts, read) if len(new) == len(others) else None
    return None


def _record_keys(texts: dict[str, bytes]) -> dict[str, str]:
    """What identifies the bytes of each record, by name: the name itself if it contains their digest."""
    return {name: name if has_digest(name) else f"{name} {digest(text)}" for name, text in texts.items()}


@functools.cache
def digest_of_code() -> str:
    """Digest of the code that interprets records: another version may interpret them differently."""
    return digest(b"".join(file.read_bytes() for file in code_files()))


def code_files() -> list[Path]:
    """The files of that code."""
    files = [file for name in _CODE for file in ([_PACKAGE / name] if "." in name else (_PACKAGE / name).iterdir())]
    return sorted(file for file in files if file.is_file())


def read_cache(path: Path) -> _CacheContent | None:
    """The content of a cache; None if it is missing or altered."""
    try:
        stored = path.read_bytes()
        expected, content = stored[:_DIGEST_BYTES], memoryview(stored)[_DIGEST_BYTES:]
        if expected.hex() != digest(content):
            return None
        return msgspec.msgpack.decode(content, type=_CacheContent)
    except (OSError, msgspec.MsgspecError):
        return None


def state_in(content: _CacheContent) -> State:
    """The state that a cache holds."""
    tables = {name: pa.ipc.open_stream(stream).read_all() for name, stream in content.tables.items()}
    labels, ties, entry_records = (tables.pop(name) for name in _EXTRA_TABLES)
    return State(RecordTables(tables, labels, content.batches), content.context, ties, entry_records)


def write_cache(state: State, keys: dict[str, str], path: Path) -> None:
    """Writes a cache, and removes those of earlier records."""
    extra = dict(zip(_EXTRA_TABLES, (state.tables.label_values, state.ties, state.entry_records), strict=True))
    streams = {}
    for name, table in (state.tables.tables | extra).items():
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema, options=_COMPRESSED) as stream:
            stream.write_table(table)
        streams[name] = sink.getvalue().to_pybytes()
    content = msgspec.msgpack.encode(_CacheContent([*keys.values()], state.context, state.tables.batches, streams))
    path.parent.mkdir(exist_ok=True)
    temporary = path.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        temporary.write_bytes(bytes.fromhex(digest(content)) + content)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    for other in path.parent.glob("*.bin"):
        if other != path:
            other.unlink(missing_ok=True)
