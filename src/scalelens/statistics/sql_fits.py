"""The laws of scaling as functions of SQL, on Arrow columns of lists: devices and times of each series."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from scalelens.statistics.fits import Estimate, fit_laws, gain_of_doubling
from scalelens.statistics.forecasts import Forecast, forecast_speeds

_TEXT = ("kind", "reason", "law", "parameter")
_FIT = pa.struct([(field, pa.string() if field in _TEXT else pa.float64()) for field in Estimate._fields])
_SQL_FIT = ", ".join(f"{field} {'VARCHAR' if field in _TEXT else 'DOUBLE'}" for field in Estimate._fields)


def _fit_laws(devices: pa.ChunkedArray, times: pa.ChunkedArray) -> pa.Array:
    """`fit_laws` of Arrow columns of lists."""
    rows = zip(devices.to_pylist(), times.to_pylist(), strict=True)
    fits = [[found._asdict() for found in fit_laws(*(np.array(side, dtype=float) for side in row))] for row in rows]
    return pa.array(fits, type=pa.list_(_FIT))


def _gain_of_doubling(devices: pa.ChunkedArray, times: pa.ChunkedArray, gains: pa.ChunkedArray) -> pa.Array:
    """`gain_of_doubling` of Arrow columns: two of lists, one of numbers."""
    rows = zip(devices.to_pylist(), times.to_pylist(), gains.to_pylist(), strict=True)
    return pa.array(
        [gain_of_doubling(np.array(n, dtype=float), np.array(t), g)._asdict() for n, t, g in rows], type=_FIT
    )


_INTEGERS = ("n_residuals",)
_FORECAST = pa.struct([
    (field, pa.string() if field in _TEXT else pa.int64() if field in _INTEGERS else pa.float64())
    for field in Forecast._fields
])  # fmt: skip
_SQL_FORECAST = ", ".join(
    f"{field} {'VARCHAR' if field in _TEXT else 'BIGINT' if field in _INTEGERS else 'DOUBLE'}"
    for field in Forecast._fields
)


def _forecast_speeds(devices: pa.ChunkedArray, times: pa.ChunkedArray, sizes: pa.ChunkedArray) -> pa.Array:
    """`forecast_speeds` of Arrow columns of lists."""
    rows = zip(devices.to_pylist(), times.to_pylist(), sizes.to_pylist(), strict=True)
    found = [forecast_speeds(np.array(n, dtype=float), np.array(t, dtype=float), wanted) for n, t, wanted in rows]
    return pa.array([[one._asdict() for one in of_series] for of_series in found], type=pa.list_(_FORECAST))


SQL_FITS: dict[str, tuple[Callable[..., Any], list[Any], str]] = {
    "fit_laws": (_fit_laws, ["DOUBLE[]"] * 2, f"STRUCT({_SQL_FIT})[]"),
    "forecast_speeds": (_forecast_speeds, ["DOUBLE[]"] * 3, f"STRUCT({_SQL_FORECAST})[]"),
    "gain_of_doubling": (_gain_of_doubling, ["DOUBLE[]", "DOUBLE[]", "DOUBLE"], f"STRUCT({_SQL_FIT})"),
}
