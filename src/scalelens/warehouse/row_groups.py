"""Cuts rows into row groups only by their number, and writes them.

The bytes of a segment then follow from its rows, not from the pieces in which these arrived.
"""

from collections.abc import Iterator

import pyarrow as pa

from scalelens import arrow_compute as pc
from scalelens.tables import SCHEMAS
from scalelens.warehouse.log import Warehouse
from scalelens.warehouse.records import Batch
from scalelens.warehouse.writer import APART, ROW_GROUP_BYTES, BatchWriter

_WIDTH_BYTES = 8  # approximate size of a value
GROUP_ROWS = {table: ROW_GROUP_BYTES // (_WIDTH_BYTES * len(schema)) for table, schema in SCHEMAS.items()}


class _RowGroups:
    """Collects rows and returns them as row groups with the same number of rows each."""

    def __init__(self, rows_per_group: int) -> None:
        self.rows_per_group = rows_per_group
        self._rows: list[pa.Table] = []
        self._count = 0

    def add(self, rows: pa.Table) -> Iterator[pa.Table]:
        """The row groups that are full now."""
        self._rows.append(rows)
        self._count += rows.num_rows
        if self._count >= self.rows_per_group:
            collected = pa.concat_tables(self._rows)
            full = self._count - self._count % self.rows_per_group
            for start in range(0, full, self.rows_per_group):
                yield collected.slice(start, self.rows_per_group).combine_chunks()
            self._rows, self._count = [collected.slice(full)], self._count - full

    def rest(self) -> Iterator[pa.Table]:
        """The last row group, if there are rows left for one."""
        if self._count:
            yield pa.concat_tables(self._rows).combine_chunks()


class GroupWriter:
    """Writes a batch whose bytes depend only on its rows."""

    def __init__(self, warehouse: Warehouse) -> None:
        self._writer = BatchWriter(warehouse)
        self._groups: dict[tuple[str, bool], _RowGroups] = {}  # by table, and whether the rows are apart

    def write(self, table: str, rows: pa.Table) -> None:
        """Adds rows with the schema of `table`."""
        parts = [(False, rows)]
        if table in APART:
            has_value = pc.is_valid(rows[APART[table]])
            parts = [(True, pc.filter(rows, has_value)), (False, pc.filter(rows, pc.invert(has_value)))]
        for is_apart, part in parts:
            groups = self._groups.setdefault((table, is_apart), _RowGroups(GROUP_ROWS[table]))
            for group in groups.add(part):
                self._writer.write_group(table, group)

    def size_bytes(self) -> int:
        """Bytes written so far, without the last row groups."""
        return self._writer.size_bytes()

    def finish(self, file_ids: set[str]) -> Batch | None:
        """Writes the segments permanently and gives them their names.  None if there is nothing to write."""
        for (table, _), groups in sorted(self._groups.items()):
            for group in groups.rest():
                self._writer.write_group(table, group)
        batch = self._writer.finish(file_ids)
        if batch:
            batch.is_compact = True
        return batch

    def abandon(self) -> None:
        """Ends the work and removes its files."""
        self._writer.abandon()
