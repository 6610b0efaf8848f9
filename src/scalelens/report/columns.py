"""The rows of an answer as tables show them: by columns, as lists of Python's values.

Made of Arrow, not of polars, which takes longer to load than a small question takes to answer.
"""

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

LONG = 20_000  # rows of a table of which only those that are shown become lists


class Columns:
    """Rows of an Arrow table: all, or those at some places.  A column becomes a list when it is asked for."""

    def __init__(
        self, table: "pa.Table", places: Iterable[int] | None = None, lists: dict[str, list[Any]] | None = None
    ) -> None:
        self.table = table
        self.places = None if places is None else [*places]
        self.lists: dict[str, list[Any]] = {} if lists is None else lists  # of the whole table

    @property
    def columns(self) -> list[str]:
        names: list[str] = self.table.column_names
        return names

    @property
    def height(self) -> int:
        n_rows: int = self.table.num_rows
        return n_rows if self.places is None else len(self.places)

    def __getitem__(self, name: str) -> list[Any]:
        """The values of a column."""
        if name not in self.lists:
            self.lists[name] = list_of(self.table.column(name))
        values = self.lists[name]
        return values if self.places is None else [values[place] for place in self.places]

    def is_a(self, name: str, *kinds: str) -> bool:
        """Whether a column is of one of the kinds, as pyarrow names them: `integer`, `floating`, `string`."""
        from pyarrow import types

        return any(getattr(types, f"is_{kind}")(self.table.schema.field(name).type) for kind in kinds)

    def is_number(self, name: str) -> bool:
        return self.is_a(name, "integer", "floating", "decimal")

    def is_text(self, name: str) -> bool:
        return self.is_a(name, "string", "large_string", "string_view")

    def at(self, places: Iterable[int]) -> "Columns":
        """The rows at these places."""
        own = [*places] if self.places is None else [self.places[place] for place in places]
        if self.table.num_rows > LONG:
            return Columns(self.table.take(own))
        return Columns(self.table, own, self.lists)

    def head(self, most: int) -> "Columns":
        if self.height <= most:
            return self
        return Columns(self.table.slice(0, most)) if self.places is None else self.at(range(most))

    def places_by(self, name: str) -> list[list[int]]:
        """Places of the rows of each value of a column, in the order in which the values come."""
        places: dict[Any, list[int]] = {}
        for place, value in enumerate(self[name]):
            places.setdefault(repr(value) if isinstance(value, list | dict) else value, []).append(place)
        return [*places.values()]

    def without(self, names: Collection[str]) -> "Columns":
        kept = [name for name in self.columns if name not in names]
        return Columns(self.table.select(kept), self.places, self.lists)

    def with_floats(self) -> "Columns":
        """The rows with numbers that can be divided: DuckDB's sums of whole numbers are decimals."""
        decimals = [name for name in self.columns if self.is_a(name, "decimal")]
        table = self.table
        for name in decimals:
            table = table.set_column(table.column_names.index(name), name, table.column(name).cast("float64"))
        return Columns(table, self.places) if decimals else self


def list_of(column: "pa.ChunkedArray") -> list[Any]:
    """The values of a column; times without the nanoseconds that Python cannot hold."""
    try:
        values: list[Any] = column.to_pylist()
    except ValueError:
        import polars as pl

        values = pl.Series(column).to_list()
    return values
