"""Numbers of 64 bits without the last digits that only arithmetic has left: 114.80000000000001 is 114.8.

A number is taken for the next one of eleven digits if both are the same to fourteen: no measurement is that fine.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

_DIGITS = 11
_ALIKE = 5e-15  # of a number: what some additions and a division leave
_LARGEST_POWER = 22  # of ten, that 64 bits hold exactly: a division by it gives the nearest number


def without_noise(column: "pa.ChunkedArray") -> "pa.ChunkedArray":
    """A column of numbers of 64 bits; any other column as it is."""
    import numpy as np
    import pyarrow as pa

    if not pa.types.is_float64(column.type):
        return column
    values = column.to_numpy()
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        places = _DIGITS - 1 - np.floor(np.log10(np.abs(values)))
        is_known = (places > 0) & (places <= _LARGEST_POWER)
        power = 10.0 ** np.where(is_known, places, 0)
        short = np.rint(values * power) / power
        is_noise = is_known & (short != values) & (np.abs(short - values) <= _ALIKE * np.abs(values))
    if not is_noise.any():
        return column
    shown = pa.array(np.where(is_noise, short, values), mask=column.is_null().to_numpy(zero_copy_only=False))
    return pa.chunked_array([shown])
