"""The rows of an answer, column by column, as lists of Python values for tables.

They come from Arrow, because polars takes longer to load than a small question takes to answer.
"""

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

LONG = 20_000  # rows; of a longer table, only the rows that are shown become lists


class Columns:
    """The columns of an Arrow table, of all rows or of some.  A column becomes a list when it is first read."""

    def __init__(
        self, table: "pa.Table", indexes: Iterable[int] | None = None, lists: dict[str, list[Any]] | None = None
    ) -> None:
        self.table = table
        self.indexes = None if indexes is None else [*indexes]
        self.lists: dict[str, list[Any]] = {} if lists is None else lists  # of the whole table

    @property
    def columns(self) -> list[str]:
        names: list[str] = self.table.column_names
        return names

    @property
    def height(self) -> int:
        n_rows: int = self.table.num_rows
        return n_rows if self.indexes is None else len(self.indexes)

    def __getitem__(self, name: str) -> list[Any]:
        """The values of a column."""
        if name not in self.lists:
            self.lists[name] = list_of(self.table.column(name))
        values = self.lists[name]
        return values if self.indexes is None else [values[k] for k in self.indexes]

    def is_a(self, name: str, *kinds: str) -> bool:
        """Whether a column has one of these types, named as in pyarrow: `integer`, `floating`, `string`."""
        from pyarrow import types

        return any(getattr(types, f"is_{kind}")(self.table.schema.field(name).type) for kind in kinds)

    def is_number(self, name: str) -> bool:
        return self.is_a(name, "integer", "floating", "decimal")

    def is_text(self, name: str) -> bool:
        return self.is_a(name, "string", "large_string", "string_view")

    def at(self, indexes: Iterable[int]) -> "Columns":
        """The rows at these indexes."""
        own = [*indexes] if self.indexes is None else [self.indexes[k] for k in indexes]
        if self.table.num_rows > LONG:
            return Columns(self.table.take(own))
        return Columns(self.table, own, self.lists)

    def head(self, most: int) -> "Columns":
        if self.height <= most:
            return self
        return Columns(self.table.slice(0, most)) if self.indexes is None else self.at(range(most))

    def indexes_by(self, name: str) -> list[list[int]]:
        """Indexes of the rows of each value of a column, in the order in which the values first occur."""
        indexes: dict[Any, list[int]] = {}
        for k, value in enumerate(self[name]):
            indexes.setdefault(repr(value) if isinstance(value, list | dict) else value, []).append(k)
        return [*indexes.values()]

    def without(self, names: Collection[str]) -> "Columns":
        kept = [name for name in self.columns if name not in names]
        return Columns(self.table.select(kept), self.indexes, self.lists)

    def with_floats(self) -> "Columns":
        """The same rows with floats for decimals, which DuckDB's sums of integers are."""
        decimals = [name for name in self.columns if self.is_a(name, "decimal")]
        table = self.table
        for name in decimals:
            table = table.set_column(table.column_names.index(name), name, table.column(name).cast("float64"))
        return Columns(table, self.indexes) if decimals else self


def list_of(column: "pa.ChunkedArray") -> list[Any]:
    """The values of a column.  Times lose the nanoseconds, which Python does not have."""
    try:
        values: list[Any] = column.to_pylist()
    except ValueError:
        import polars as pl

        values = pl.Series(column).to_list()
    return values
