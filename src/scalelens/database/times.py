"""Times of an answer that no calendar has: DuckDB's infinity, and years before 1 or after 9999.

DuckDB answers with them, but neither Python nor polars can write them: both end in a failure of their own.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from scalelens.errors import UserError
from scalelens.units import ratio

if TYPE_CHECKING:
    import pyarrow as pa

FIRST_DAY, LAST_DAY = -719_162, 2_932_896  # of the years 1 and 9999, since 1970
_IN_A_DAY = {unit: round(ratio("d", unit)) for unit in ("s", "ms", "us")}  # nanoseconds do not reach beyond 2262


def check_times(rows: "pa.Table") -> None:
    """Raises UserError where a column holds a time or a date that cannot be written."""
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        if "timestamp" not in (kind := str(column.type)) and "date32" not in kind:
            continue
        if not all(_can_be_written(part) for chunk in column.chunks for part in _flat(chunk)):
            raise UserError(
                f"column '{name}' has a time outside the years 1 to 9999, or infinity",
                "select it as text: CAST(... AS VARCHAR)",
            )


def _flat(array: Any) -> "Iterator[pa.Array]":
    """The arrays of simple types of which one of any type is made."""
    from pyarrow import types

    if types.is_struct(array.type):
        inner = array.flatten()
    elif types.is_map(array.type):
        inner = [array.keys, array.items]
    elif types.is_nested(array.type):
        inner = [array.flatten()]
    else:
        yield array
        return
    for part in inner:
        yield from _flat(part)


def _can_be_written(array: "pa.Array") -> bool:
    """Whether all times and dates of an array of a simple type lie in the years 1 to 9999."""
    import numpy as np
    from pyarrow import types

    if types.is_timestamp(array.type) and array.type.unit in _IN_A_DAY:
        numbers, in_a_day = array.view("int64"), _IN_A_DAY[array.type.unit]
    elif types.is_date32(array.type):
        numbers, in_a_day = array.view("int32"), 1
    else:
        return True
    if numbers.null_count == len(numbers):
        return True
    values = numbers.to_numpy(zero_copy_only=False)
    if numbers.null_count:  # Arrow then gives floats, which round the last second of the year 9999
        stored = np.frombuffer(numbers.buffers()[1], f"i{numbers.type.bit_width // 8}")
        values = stored[numbers.offset : numbers.offset + len(numbers)][~np.isnan(values)]
    return not np.any((values < FIRST_DAY * in_a_day) | (values > (LAST_DAY + 1) * in_a_day - 1))
