"""Rows of many files on their way into segments and one commit."""

import contextlib
import os
import secrets
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from scalelens.tables import SCHEMA_VERSION, SCHEMAS
from scalelens.warehouse.log import Batch, Entry, Warehouse, explained, segment, sync_folder

ROW_GROUP_BYTES = 2 << 20  # of rows held as Arrow
# Numbers gain nothing from a dictionary and lose time and space to one; so do texts that do not repeat.
DICTIONARIES = {
    table: [field.name for field in schema if field.type == pa.string() and field.name != "args"]
    for table, schema in SCHEMAS.items()
}
# Rows with a value in this column have row groups of their own: most questions are about them and pass over the rest.
APART = {"events": "class"}
RANGES = {table: [field.name for field in schema if field.name != "args"] for table, schema in SCHEMAS.items()}


class BatchWriter:
    """Rows of many files on their way into one segment per table, and one commit.

    A thread compresses and writes a row group while the next one is read: one at a time, so that memory stays bounded.
    """

    def __init__(self, warehouse: Warehouse) -> None:
        self.warehouse = warehouse
        self.id = f"{time.time_ns():020d}-{secrets.token_hex(4)}"
        self.entries: list[Entry] = []
        self._writers: dict[str, pq.ParquetWriter] = {}
        self._held: dict[str, list[pa.RecordBatch]] = {}  # small files' rows, which share row groups
        self._bytes: dict[str, int] = {}  # of these
        self._rows: dict[str, int] = {}
        self._apart: dict[str, list[pa.Table]] = {table: [] for table in APART}  # rows of APART
        self._thread = ThreadPoolExecutor(max_workers=1)
        self._written: Future[None] | None = None  # the row group on its way

    def write(self, table: str, rows: pa.RecordBatch) -> None:
        """Rows of one file for `table`, with the table's schema."""
        held = self._held.setdefault(table, [])
        held.append(rows)
        self._bytes[table] = self._bytes.get(table, 0) + rows.nbytes
        self._rows[table] = self._rows.get(table, 0) + rows.num_rows
        if self._bytes[table] >= ROW_GROUP_BYTES:
            self._write(table)

    def _write(self, table: str) -> None:
        """The rows held for `table`, as one row group.  Raises what the writing of the one before it raised."""
        self._bytes[table] = 0
        self._wait()
        self._written = self._thread.submit(self._write_held, table, self._held.pop(table))

    def _wait(self) -> None:
        written, self._written = self._written, None
        if written:
            with explained(self.warehouse.root):
                written.result()

    def _write_held(self, table: str, held: list[pa.RecordBatch]) -> None:
        rows = pa.Table.from_batches(held)
        if table in APART:
            has_value = pc.is_valid(rows[APART[table]])
            self._apart[table].append(rows.filter(has_value))
            rows = rows.filter(pc.invert(has_value))
            if sum(part.nbytes for part in self._apart[table]) >= ROW_GROUP_BYTES:
                self._write_apart(table)
        self._write_group(table, rows)

    def _write_apart(self, table: str) -> None:
        parts, self._apart[table] = self._apart[table], []
        if parts:
            self._write_group(table, pa.concat_tables(parts))

    def _write_group(self, table: str, rows: pa.Table) -> None:
        if not rows.num_rows:
            return
        if table not in self._writers:
            self._writers[table] = pq.ParquetWriter(
                self._temporary(table), SCHEMAS[table], compression="zstd", use_dictionary=DICTIONARIES[table],
                write_statistics=RANGES[table],
            )  # fmt: skip
        self._writers[table].write_table(rows)

    def commit(self) -> None:
        """Makes the segments durable, names them, and commits them with all entries."""
        with explained(self.warehouse.root):
            for table in [*self._held]:
                self._write(table)
            self._wait()
            for table in APART:
                self._write_apart(table)
            self._thread.shutdown()
            for table, writer in self._writers.items():
                writer.close()
                with self._temporary(table).open("rb+") as file:
                    os.fsync(file.fileno())
                self._temporary(table).rename(self.warehouse.segments / segment(table, self.id))
            if self._writers:
                sync_folder(self.warehouse.segments)
            file_ids = sorted({entry.file_id for entry in self.entries if entry.batch == self.id})
            batches = [Batch(self.id, self._rows, file_ids, SCHEMA_VERSION)] if self._rows else []
            self.warehouse.commit(batches, self.entries)

    def abandon(self) -> None:
        """Leaves nothing behind."""
        self._thread.shutdown()
        for table, writer in self._writers.items():
            with contextlib.suppress(Exception):
                writer.close()
            self._temporary(table).unlink(missing_ok=True)

    def _temporary(self, table: str) -> Path:
        return self.warehouse.segments / f".{segment(table, self.id)}.tmp"
