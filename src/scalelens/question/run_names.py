"""What to call runs where people read: the answer to `run_names`, for tables, charts and the report."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

# There is no text in it: a question with a text may read more tables.
RUN_NAMES = "SELECT run_id, name FROM run_names()"


def names_by_id(rows: "pa.Table") -> dict[str, str]:
    """The names of runs by their id, of the answer to RUN_NAMES."""
    return dict(zip(*(column.to_pylist() for column in rows.columns), strict=True))
