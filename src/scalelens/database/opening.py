"""Keeps what follows from the records of a large warehouse beside them, so that opening it takes a moment.

It is a cache: with a digest of all records and of the code that understands them in its name, and a digest of its own.
One that is missing, altered or cannot be written costs time alone; one of fewer records is brought up to date.  Every
record is still read and held against its name, so an altered or missing record is noticed as without a cache.
"""

import contextlib
import functools
import os
import secrets
from pathlib import Path

import msgspec
import pyarrow as pa

from scalelens.collector import gc_paused
from scalelens.database.record_state import Known, State, state_of
from scalelens.database.record_tables import LiveBatch, RecordTables, record_tables
from scalelens.warehouse.live import live_of
from scalelens.warehouse.log import Warehouse
from scalelens.warehouse.records import CommitRecord, digest, has_digest
from scalelens.warehouse.stored_records import Texts, decoded

CACHED_ABOVE_BYTES = 1 << 20  # of records; smaller ones are understood in a few milliseconds
DIGEST_BYTES = 16
PACKED = pa.ipc.IpcWriteOptions(compression="lz4")  # to pack takes less time than to write and to hash the rest
PACKAGE = Path(__file__).parents[1]
# What decides how records are understood, relative to the package.
CODE = ("catalog", "database", "parsing", "runs", "tables.py", "warehouse")
BESIDE = ("labels", "ties", "places")  # names of what is stored as tables and is none


class Kept(msgspec.Struct):
    """A cache as it is stored; the tables as Arrow streams."""

    records: list[str]  # names or digests of the records
    known: Known
    batches: list[LiveBatch]
    tables: dict[str, bytes]


def opened(warehouse: Warehouse, texts: Texts, needed: set[str]) -> RecordTables:
    """The record tables that those of `needed` are made of.  Raises UserError as `Warehouse.records` does."""
    whole = {name: text for name, text in texts.items() if isinstance(text, bytes)}
    with gc_paused():  # the collector would take most of the time
        if len(whole) < len(texts) or sum(map(len, whole.values())) < CACHED_ABOVE_BYTES:
            return record_tables(live_of(warehouse.records(texts)), needed)
        marks = marks_of(whole)
        path = warehouse.cache / f"{digest_of_code()[:8]}-{digest(chr(10).join(marks.values()).encode())}.bin"
        if kept := loaded(path):
            return state_in(kept).tables
        state = brought_up_to_date(warehouse, whole, marks) or state_of(warehouse.records(texts))
    with contextlib.suppress(OSError):
        keep(state, marks, path)
        if warehouse.names() != [*texts]:  # what `compact` erases meanwhile must not come back
            path.unlink(missing_ok=True)
    return state.tables


def brought_up_to_date(warehouse: Warehouse, texts: dict[str, bytes], marks: dict[str, str]) -> State | None:
    """The state of a cache that knows fewer records, with the others added; None where that cannot be."""
    from scalelens.database.updating import updated  # what it uses is slow to load

    def read(name: str) -> CommitRecord:
        record = decoded(warehouse.root, name, texts[name])
        assert isinstance(record, CommitRecord)  # one that is known was understood before
        return record

    for path in warehouse.cache.glob(f"{digest_of_code()[:8]}-*.bin"):
        if (kept := loaded(path)) and set(kept.records) < set(marks.values()):
            known = set(kept.records)
            new = {name: decoded(warehouse.root, name, texts[name]) for name in marks if marks[name] not in known}
            whole = {name: record for name, record in new.items() if isinstance(record, CommitRecord)}
            return updated(state_in(kept), whole, texts, read) if len(whole) == len(new) else None
    return None


def marks_of(texts: dict[str, bytes]) -> dict[str, str]:
    """What tells each record from any other, by name: the name itself, where it holds the digest that was checked."""
    return {name: name if has_digest(name) else f"{name} {digest(text)}" for name, text in texts.items()}


@functools.cache
def digest_of_code() -> str:
    """Digest of what decides how records are understood: another version may understand them differently."""
    return digest(b"".join(file.read_bytes() for file in code_files()))


def code_files() -> list[Path]:
    files = [file for name in CODE for file in ([PACKAGE / name] if "." in name else (PACKAGE / name).iterdir())]
    return sorted(file for file in files if file.is_file())


def loaded(path: Path) -> Kept | None:
    """What a cache holds; None where there is none, or an altered one."""
    try:
        content = path.read_bytes()
        stored, whole = content[:DIGEST_BYTES], memoryview(content)[DIGEST_BYTES:]
        if stored.hex() != digest(whole):
            return None
        return msgspec.msgpack.decode(whole, type=Kept)
    except (OSError, msgspec.MsgspecError):
        return None


def state_in(kept: Kept) -> State:
    tables = {name: pa.ipc.open_stream(stream).read_all() for name, stream in kept.tables.items()}
    labels, ties, places = (tables.pop(name) for name in BESIDE)
    return State(RecordTables(tables, labels, kept.batches), kept.known, ties, places)


def keep(state: State, marks: dict[str, str], path: Path) -> None:
    """Writes a cache, and removes those of earlier records."""
    beside = dict(zip(BESIDE, (state.tables.label_values, state.ties, state.places), strict=True))
    streams = {}
    for name, table in (state.tables.tables | beside).items():
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema, options=PACKED) as stream:
            stream.write_table(table)
        streams[name] = sink.getvalue().to_pybytes()
    content = msgspec.msgpack.encode(Kept([*marks.values()], state.known, state.tables.batches, streams))
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
