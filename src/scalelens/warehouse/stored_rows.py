"""Rows of single contents from segments with many: `compact` puts contents into another order."""

import functools
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from scalelens import arrow_compute as pc
from scalelens.errors import UserError
from scalelens.tables import SCHEMAS
from scalelens.warehouse.check import fault_of_bytes
from scalelens.warehouse.log import Warehouse
from scalelens.warehouse.records import Batch, segment

OPEN_SEGMENTS, GROUPS_IN_MEMORY = 32, 32  # neighbors in the new order are mostly neighbors in the old one

_Positions = dict[str, list[tuple[int, int, int]]]  # by content: row group, first row in it, number of rows


class StoredRows:
    """Reads the rows of one content after another.  Raises UserError if a segment is damaged."""

    def __init__(self, warehouse: Warehouse) -> None:
        self.warehouse = warehouse
        self._positions: dict[Path, _Positions] = {}
        self._opened = functools.lru_cache(OPEN_SEGMENTS)(pq.ParquetFile)
        self._group = functools.lru_cache(GROUPS_IN_MEMORY)(self._read_group)

    def of(self, file_id: str, batch: Batch, table: str) -> Iterator[pa.Table]:
        """Rows of a content in the order in which they were read from the file, with the current columns."""
        path = self.warehouse.segments / segment(table, batch.id)
        try:
            if path not in self._positions:
                self._positions[path] = self._positions_in(path, batch, table)
            for group, start, count in self._positions[path].get(file_id, ()):
                yield self._group(path, group, table).slice(start, count)
        except (pa.ArrowException, OSError) as error:  # in a segment of an older version, without a checksum
            reason = str(error).splitlines()[0]
            message = f"segments/{path.name} cannot be read ({reason})"
            raise UserError(message, "read its files again with: scalelens ingest --again") from None

    def _positions_in(self, path: Path, batch: Batch, table: str) -> _Positions:
        """Where each content's rows are.  An altered segment must not get a new checksum, so it is checked first."""
        if fault := fault_of_bytes(path, batch.segments.get(table)):
            remedy = f"to see how to repair it, run: scalelens check -w {self.warehouse.root}"
            raise UserError(f"segments/{path.name} {fault}", remedy)
        positions: _Positions = defaultdict(list)
        file = self._opened(path)
        for group in range(file.num_row_groups):
            column = file.read_row_group(group, ["file_id"])["file_id"].combine_chunks()
            runs = pc.run_end_encode(column)
            start = 0
            for file_id, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
                positions[file_id].append((group, start, end - start))
                start = end
        return positions

    def _read_group(self, path: Path, group: int, table: str) -> pa.Table:
        rows = self._opened(path).read_row_group(group)
        columns = [
            rows[field.name].cast(field.type) if field.name in rows.column_names else pa.nulls(len(rows), field.type)
            for field in SCHEMAS[table]
        ]
        return pa.table(columns, schema=SCHEMAS[table])
