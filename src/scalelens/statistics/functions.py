"""The statistics as functions of a DuckDB connection.  Each module of functions has a table of them by name."""

import contextlib
import importlib
from collections.abc import Container
from typing import Any

import duckdb

# The tables and the functions in each: a question loads only the modules that it calls.
TABLES = {
    "sql_energy": ("covered",),
    "sql_fits": ("fit_laws", "forecast_speeds", "gain_of_doubling"),
    "sql_jobs": ("blame_labels", "failing_labels", "poisson_interval"),
    "sql_peers": ("benjamini_hochberg", "binomial_tail", "holm", "standing", "student_t", "true_spread"),
    "sql_runs": (
        "shifts_between_runs", "noise_of_runs", "runs_to_see", "compare_groups", "repeats_to_settle", "repeats_to_size",
    ),
    "sql_steps": (
        "median_interval", "median_interval_between_runs", "quantile_interval", "ratio_interval", "step_statistics",
    ),
    "sql_traces": ("class_spans", "innermost", "launch_paths", "nested", "pipeline_what_if", "time_beside"),
    "sql_work": ("image_model_work", "operator_work", "operators_of"),
    "sql_kernels": ("kernel_paths", "kernel_what_if"),
    "sql_series": ("distribution", "elbows", "slow_classes", "steadiness"),
}  # fmt: skip


def register(connection: duckdb.DuckDBPyConnection, called: Container[str] | None = None) -> None:
    """Makes the functions known to SQL, or those called alone: `median_interval(list(step_s ORDER BY step)).low`."""
    arrow: Any = {"type": "arrow", "null_handling": "special"}  # as text: the enums move between versions
    for module, names in TABLES.items():
        for name in names if called is None else [name for name in names if name in called]:
            function, takes, gives = table(module)[name]
            with contextlib.suppress(duckdb.NotImplementedException, duckdb.CatalogException):  # known already
                connection.create_function(name, function, takes, gives, **arrow)


def table(module: str) -> dict[str, tuple[Any, list[Any], str]]:
    """By name: a function of Arrow columns, the SQL types that it takes, and the one that it gives."""
    of_functions: dict[str, tuple[Any, list[Any], str]]
    of_functions = getattr(importlib.import_module(f"scalelens.statistics.{module}"), module.upper())
    return of_functions
