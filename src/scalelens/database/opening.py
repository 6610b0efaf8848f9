"""Keeps what follows from the records of a large warehouse beside them, so that opening it takes a moment.

It is a cache: named by the digest of all records and of the code that understands them, with a digest of its own.  One
that is missing, altered or cannot be written costs time alone.  Every record is still read and held against its name,
so an altered or missing record is noticed as without a cache.
"""

import contextlib
import functools
import gc
import os
import secrets
from pathlib import Path

import msgspec
import pyarrow as pa

from scalelens.database.record_tables import TABLES, LiveBatch, RecordTables, record_tables
from scalelens.warehouse.live import live_of
from scalelens.warehouse.log import Warehouse
from scalelens.warehouse.records import digest, has_digest
from scalelens.warehouse.stored_records import Texts

CACHED_ABOVE_BYTES = 1 << 20  # of records; smaller ones are understood in a few milliseconds
DIGEST_BYTES = 16
PACKAGE = Path(__file__).parents[1]
# What decides how records are understood, relative to the package.
CODE = ("catalog", "database/opening.py", "database/record_tables.py", "parsing", "runs", "tables.py", "warehouse")


class Kept(msgspec.Struct):
    """A cache as it is stored; the tables as Arrow streams."""

    tables: dict[str, bytes]
    labels: dict[str, str]
    batches: list[LiveBatch]


def opened(warehouse: Warehouse, texts: Texts, needed: set[str]) -> RecordTables:
    """The record tables that those of `needed` are made of.  Raises UserError as `Warehouse.records` does."""
    whole = {name: text for name, text in texts.items() if isinstance(text, bytes)}
    if len(whole) < len(texts) or sum(map(len, whole.values())) < CACHED_ABOVE_BYTES:
        return understood(warehouse, texts, needed)
    path = warehouse.cache / f"{key_of(whole)}.bin"
    if kept := loaded(path):
        return kept
    records = understood(warehouse, texts, {part_of for _, part_of in TABLES.values()})
    with contextlib.suppress(OSError):
        keep(records, path)
        if warehouse.names() != [*texts]:  # what `compact` erases meanwhile must not come back
            path.unlink(missing_ok=True)
    return records


def understood(warehouse: Warehouse, texts: Texts, needed: set[str]) -> RecordTables:
    """The record tables by the records themselves."""
    was_enabled = gc.isenabled()
    gc.disable()  # there are many entries and no cycles among them: the collector would take most of the time
    try:
        return record_tables(live_of(warehouse.records(texts)), needed)
    finally:
        if was_enabled:
            gc.enable()


def key_of(texts: dict[str, bytes]) -> str:
    """Digest of all records.  Where a record's name holds the digest of its bytes, that was checked already."""
    names = [name if has_digest(name) else f"{name} {digest(text)}" for name, text in texts.items()]
    return digest("\n".join([digest_of_code(), *names]).encode())


@functools.cache
def digest_of_code() -> str:
    """Digest of what decides how records are understood: another version may understand them differently."""
    return digest(b"".join(file.read_bytes() for file in code_files()))


def code_files() -> list[Path]:
    files = [file for name in CODE for file in ([PACKAGE / name] if "." in name else (PACKAGE / name).iterdir())]
    return sorted(file for file in files if file.is_file())


def loaded(path: Path) -> RecordTables | None:
    """What a cache holds; None where there is none, or an altered one."""
    try:
        content = path.read_bytes()
        stored, whole = content[:DIGEST_BYTES], memoryview(content)[DIGEST_BYTES:]
        if stored.hex() != digest(whole):
            return None
        kept = msgspec.msgpack.decode(whole, type=Kept)
    except (OSError, msgspec.MsgspecError):
        return None
    tables = {name: pa.ipc.open_stream(stream).read_all() for name, stream in kept.tables.items()}
    return RecordTables(tables, kept.labels, kept.batches)


def keep(records: RecordTables, path: Path) -> None:
    """Writes a cache, and removes those of earlier records."""
    streams = {}
    for name, table in records.tables.items():
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table)
        streams[name] = sink.getvalue().to_pybytes()
    content = msgspec.msgpack.encode(Kept(streams, records.labels, records.batches))
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
