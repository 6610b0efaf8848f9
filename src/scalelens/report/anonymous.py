"""A copy of a warehouse in which pseudonyms stand for users, hosts, accounts, jobs and folders.

Whatever is asked, drawn or exported of the copy holds no other names, in no column and no text.  The ids of runs and
files stay, because they are hashes of contents: whoever has a log can still tell that it was read.
"""

import hashlib
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from scalelens import arrow_compute as pc
from scalelens.report.pseudonyms import Pseudonyms, kind_of_key
from scalelens.tables import STORED
from scalelens.warehouse.live import FORGOTTEN
from scalelens.warehouse.log import Warehouse, all_entries
from scalelens.warehouse.records import Batch, Entry, Segment, segment

_SAID_BY_COLUMN = {"node": "hosts", "node_list": "hosts", "job_id": "jobs"}
_NOT_TEXT = ("file_id", "key", "name", "unit", "stat", "phase", "scope", "category", "format")  # words of formats
_OF_ENTRY = ("file_id", "batch", "formats", "status", "parser_version", "rows_of", "problems_of")


@contextmanager
def anonymous_copy(root: Path) -> Iterator[tuple[Path, Pseudonyms]]:
    """The folder of a copy, which is gone afterwards, and what stands for what in it."""
    with tempfile.TemporaryDirectory(prefix="scalelens-") as folder:
        yield Path(folder, "warehouse"), write_anonymous(root, Path(folder, "warehouse"))


def write_anonymous(root: Path, target: Path) -> Pseudonyms:
    warehouse, copy = Warehouse(root), Warehouse(target)
    live = warehouse.live()
    entries = [entry for entry in all_entries(live) if entry.status != FORGOTTEN]
    batches = [live.batches[batch] for batch in sorted({entry.batch for entry in entries} & live.batches.keys())]
    warehouse.files.fetch(warehouse.segments, [segment(table, one.id) for one in batches for table in one.tables])
    told = Pseudonyms({entry.root for entry in entries})
    for entry in entries:
        _each_text(msgspec.to_builtins(entry), told)
    for batch in batches:
        for table in batch.tables:
            _learn(warehouse.segments / segment(table, batch.id), table, told)
    told.settle()
    copy.create()
    written = [_copied(batch, warehouse, copy, told) for batch in batches]
    copy.commit(written, [_entry(entry, told) for entry in entries])
    return told


def _each_text(value: Any, told: Pseudonyms, key: str = "") -> None:
    """Takes the names from everything that an entry says."""
    if isinstance(value, dict):
        for name, inner in value.items():
            _each_text(inner, told, str(name))
    elif isinstance(value, list | tuple):
        for inner in value:
            _each_text(inner, told, key)
    elif isinstance(value, str) and key not in _OF_ENTRY:
        told.learn(value)
        if kind := kind_of_key(key):
            told.add(kind, value)


def _learn(path: Path, table: str, told: Pseudonyms) -> None:
    """Takes the names from a segment, whose rows are looked at once for each text."""
    file = pq.ParquetFile(path)
    names = [field.name for field in file.schema_arrow if pa.types.is_string(field.type)]
    for group in range(file.num_row_groups):
        rows = file.read_row_group(group, columns=names)
        for name in names:
            for text in pc.unique(rows[name]).to_pylist():
                if text and name not in _NOT_TEXT:
                    told.learn(text)
                    if name in _SAID_BY_COLUMN:
                        told.add(_SAID_BY_COLUMN[name], text)
        if table == "params":
            for key, value in zip(rows["key"].to_pylist(), rows["value"].to_pylist(), strict=True):
                if value and (kind := kind_of_key(key)):
                    told.add(kind, value)


def _copied(batch: Batch, warehouse: Warehouse, copy: Warehouse, told: Pseudonyms) -> Batch:
    """Writes the segments of a batch with pseudonyms, in the same groups of rows."""
    segments = {}
    for table in batch.tables:
        if table not in STORED:
            continue
        name = segment(table, batch.id)
        file = pq.ParquetFile(warehouse.segments / name)
        with pq.ParquetWriter(copy.segments / name, file.schema_arrow, compression="zstd") as writer:
            for group in range(file.num_row_groups):
                writer.write_table(_mapped(file.read_row_group(group), told.text))
        content = (copy.segments / name).read_bytes()
        segments[table] = Segment(len(content), hashlib.sha256(content).hexdigest())
    tables = {table: count for table, count in batch.tables.items() if table in segments}
    return Batch(batch.id, tables, batch.file_ids, batch.schema, segments, batch.is_compact)


def _mapped(rows: pa.Table, plain: Callable[[str], str]) -> pa.Table:
    for k, field in enumerate(rows.schema):
        if pa.types.is_string(field.type) and field.name not in ("file_id",):
            known = pc.unique(rows[field.name])
            texts = pa.array([text and plain(text) for text in known.to_pylist()], pa.string())
            column = texts.take(pc.index_in(rows[field.name].combine_chunks(), value_set=known))
            rows = rows.set_column(k, field, column)
    return rows


def anonymous(value: Any, told: Pseudonyms, key: str = "") -> Any:
    """The same for nested lists and dicts; what formats say of themselves stays."""
    if isinstance(value, dict):
        return {name: anonymous(inner, told, str(name)) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [anonymous(inner, told, key) for inner in value]
    return told.text(value) if isinstance(value, str) and key not in _OF_ENTRY else value


def _entry(entry: Entry, told: Pseudonyms) -> Entry:
    return msgspec.convert(anonymous(msgspec.to_builtins(entry), told), Entry)
