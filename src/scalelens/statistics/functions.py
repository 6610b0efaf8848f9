"""The statistics as functions of a DuckDB connection.  Each module of functions has a table of them by name."""

import contextlib
from collections.abc import Callable, Container
from typing import Any

import duckdb

from scalelens.statistics.functions_of_fits import FUNCTIONS_OF_FITS
from scalelens.statistics.functions_of_peers import FUNCTIONS_OF_PEERS
from scalelens.statistics.functions_of_runs import FUNCTIONS_OF_RUNS
from scalelens.statistics.functions_of_steps import FUNCTIONS_OF_STEPS
from scalelens.statistics.functions_of_traces import FUNCTIONS_OF_TRACES
from scalelens.statistics.functions_of_work import FUNCTIONS_OF_WORK
from scalelens.statistics.kernel_functions import KERNEL_FUNCTIONS
from scalelens.statistics.series_functions import SERIES_FUNCTIONS

# By name: a function of Arrow columns, the SQL types that it takes, and the one that it gives.
FUNCTIONS: dict[str, tuple[Callable[..., Any], list[Any], str]] = (
    FUNCTIONS_OF_FITS
    | FUNCTIONS_OF_PEERS
    | FUNCTIONS_OF_RUNS
    | FUNCTIONS_OF_STEPS
    | FUNCTIONS_OF_TRACES
    | FUNCTIONS_OF_WORK
    | KERNEL_FUNCTIONS
    | SERIES_FUNCTIONS
)


def register(connection: duckdb.DuckDBPyConnection, called: Container[str] | None = None) -> None:
    """Makes the functions known to SQL, or those called alone: `median_interval(list(step_s ORDER BY step)).low`."""
    arrow: Any = {"type": "arrow", "null_handling": "special"}  # as text: the enums move between versions
    for name, (function, takes, gives) in FUNCTIONS.items():
        if called is not None and name not in called:
            continue
        with contextlib.suppress(duckdb.NotImplementedException, duckdb.CatalogException):  # known already
            connection.create_function(name, function, takes, gives, **arrow)
