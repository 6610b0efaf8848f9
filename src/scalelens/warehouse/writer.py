"""Writes rows of many files as segments, one per table, and commits them."""

import contextlib
import hashlib
import os
import secrets
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from scalelens import arrow_compute as pc
from scalelens.errors import UserError
from scalelens.tables import SCHEMA_VERSION, SCHEMAS
from scalelens.warehouse.files import io_errors_explained
from scalelens.warehouse.log import Warehouse
from scalelens.warehouse.records import Batch, Entry, Segment, segment
from scalelens.whole_files import sync_folder

ROW_GROUP_BYTES = 2 << 20  # of rows as Arrow
# Events are wide: in groups of 2 MB, a group of each column would cost as much to write as its values.
_GROUP_BYTES = {"events": 6 << 20}
_FEW_BYTES = 1 << 16
# Columns that are written with a dictionary, which would waste time and space for numbers and for unique texts.
_DICTIONARIES = {
    table: [field.name for field in schema if field.type == pa.string() and field.name != "args"]
    for table, schema in SCHEMAS.items()
}
# Numbers that increase from row to row.  Their differences take a fifth of the space and are faster to write and read.
_ENCODINGS = {
    table: {field.name: "DELTA_BINARY_PACKED" for field in schema if field.name in ("line", "step")}
    for table, schema in SCHEMAS.items()
}
# Rows with a value in this column have their own row groups: most questions are about them and skip the others.
APART = {"events": "class"}
_RANGES = {table: [field.name for field in schema if field.name != "args"] for table, schema in SCHEMAS.items()}


class BatchWriter:
    """Collects rows of many files, writes one segment per table, and commits them with the entries of the files.

    A thread compresses and writes one row group while the rows of the next are read.  It never has two to write, which
    keeps memory bounded.
    """

    def __init__(self, warehouse: Warehouse) -> None:
        self.warehouse = warehouse
        self.id = f"{time.time_ns():020d}-{secrets.token_hex(4)}"
        self._writers: dict[str, pq.ParquetWriter] = {}
        self._pending: dict[str, list[pa.RecordBatch]] = {}  # rows of the next row group, by table
        self._pending_bytes: dict[str, int] = {}
        self._rows: dict[str, int] = {}  # number so far, by table
        self._apart: dict[str, list[pa.RecordBatch]] = {table: [] for table in APART}  # rows of APART
        self._thread = ThreadPoolExecutor(max_workers=1)
        self._being_written: Future[None] | None = None  # the row group that the thread has

    def write(self, table: str, rows: pa.RecordBatch) -> None:
        """Adds rows of one file for `table`, with the table's schema."""
        self._pending.setdefault(table, []).append(rows)
        self._pending_bytes[table] = self._pending_bytes.get(table, 0) + _size_of(rows)
        self._rows[table] = self._rows.get(table, 0) + rows.num_rows
        if self._pending_bytes[table] >= _GROUP_BYTES.get(table, ROW_GROUP_BYTES):
            self._start_writing(table)

    def _start_writing(self, table: str) -> None:
        """Hands the pending rows of `table` to the thread.  Raises what writing the previous row group raised."""
        self._pending_bytes[table] = 0
        self._wait()
        pending = self._pending.pop(table)
        try:
            self._being_written = self._thread.submit(self._write_pending, table, pending)
        except RuntimeError:  # no memory for a thread, which only makes it slower
            self._write_pending(table, pending)

    def _wait(self) -> None:
        being_written, self._being_written = self._being_written, None
        if being_written:
            with io_errors_explained(self.warehouse.files.folder):
                being_written.result()

    def _write_pending(self, table: str, pending: list[pa.RecordBatch]) -> None:
        if table in APART:
            pending, apart = _parted(pending, APART[table])
            self._apart[table] += apart
            if sum(part.nbytes for part in self._apart[table]) >= _GROUP_BYTES.get(table, ROW_GROUP_BYTES):
                self._write_apart(table)
        if pending:
            self._write_group(table, pa.Table.from_batches(pending))

    def _write_apart(self, table: str) -> None:
        parts, self._apart[table] = self._apart[table], []
        if parts:
            self._write_group(table, pa.Table.from_batches(parts))

    def _write_group(self, table: str, rows: pa.Table) -> None:
        if not rows.num_rows:
            return
        if table not in self._writers:
            self._writers[table] = pq.ParquetWriter(
                self._temporary(table), SCHEMAS[table], compression="zstd", use_dictionary=_DICTIONARIES[table],
                column_encoding=_ENCODINGS[table], write_statistics=_RANGES[table],
            )  # fmt: skip
        self._writers[table].write_table(rows)

    def write_group(self, table: str, rows: pa.Table) -> None:
        """Writes rows as one row group."""
        self._rows[table] = self._rows.get(table, 0) + rows.num_rows
        with io_errors_explained(self.warehouse.files.folder):
            self._write_group(table, rows)

    def size_bytes(self) -> int:
        """Bytes of the row groups written so far."""
        return sum(self._temporary(table).stat().st_size for table in self._writers)

    def commit(self, entries: list[Entry], void: set[str]) -> None:
        """Commits the rows with the entries of their files.  Those of `void` contents are named, and never count."""
        batch = self.finish({entry.file_id for entry in entries if entry.batch == self.id} | void)
        with io_errors_explained(self.warehouse.files.folder):
            self.warehouse.commit([batch] if batch else [], entries)

    def finish(self, file_ids: set[str]) -> Batch | None:
        """Writes the segments permanently and gives them their names.  None if there is nothing to write."""
        with io_errors_explained(self.warehouse.files.folder):
            for table in [*self._pending]:
                self._start_writing(table)
            self._wait()
            for table in APART:
                self._write_apart(table)
            self._thread.shutdown()
            segments = {}
            for table, writer in self._writers.items():
                writer.close()
                with self._temporary(table).open("rb+") as file:
                    os.fsync(file.fileno())
                    sha256 = hashlib.file_digest(file, "sha256").hexdigest()
                    segments[table] = Segment(file.tell(), sha256)
                self.warehouse.files.publish(self._temporary(table), self.warehouse.segments / segment(table, self.id))
            if self._writers:
                sync_folder(self.warehouse.segments)
        return Batch(self.id, self._rows, sorted(file_ids), SCHEMA_VERSION, segments) if self._rows else None

    def abandon(self) -> None:
        """Stops without a commit and removes the files.

        Segments that have their names already go only where the warehouse has no record: a record that was written just
        before the failure may name them.
        """
        self._thread.shutdown()
        for table, writer in self._writers.items():
            with contextlib.suppress(Exception):
                writer.close()
            self._temporary(table).unlink(missing_ok=True)
        with contextlib.suppress(OSError, UserError):
            if not self.warehouse.names():
                self.warehouse.files.remove(
                    self.warehouse.segments, [segment(table, self.id) for table in self._writers]
                )

    def _temporary(self, table: str) -> Path:
        return self.warehouse.segments / f".{segment(table, self.id)}.tmp"


def _parted(batches: list[pa.RecordBatch], column: str) -> tuple[list[pa.RecordBatch], list[pa.RecordBatch]]:
    """Rows without a value in a column, and those with one.  Only batches that have both are copied."""
    without, having = list[pa.RecordBatch](), list[pa.RecordBatch]()
    for batch in batches:
        nulls = batch[column].null_count
        if 0 < nulls < batch.num_rows:
            has_value = pc.is_valid(batch[column])
            without.append(pc.filter(batch, pc.invert(has_value)))
            having.append(pc.filter(batch, has_value))
        else:
            (without if nulls else having).append(batch)
    return without, having


def _size_of(rows: pa.RecordBatch) -> int:
    """Approximate bytes of rows: for few rows the size of their buffers, because counting costs more than writing.

    The buffers of a slice may be much larger than the slice.
    """
    buffers: int = rows.get_total_buffer_size()
    return buffers if buffers <= _FEW_BYTES else rows.nbytes
