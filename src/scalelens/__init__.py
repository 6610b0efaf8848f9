"""ScaleLens: training logs, power logs and profiler traces to Parquet, SQL and figures.

import scalelens
scalelens.ingest("logs/", warehouse="study")
scalelens.query("scaling", warehouse="study")            # a polars DataFrame
scalelens.connect("study").sql("FROM runs")              # DuckDB: tables and macros
scalelens.plot("scaling", "scaling.pdf", warehouse="study")
"""

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scalelens.version import __version__

if TYPE_CHECKING:
    import duckdb
    import polars

    from scalelens.ingestion import Report

__all__ = ["__version__", "connect", "ingest", "plot", "query"]

HOME = "scalelens-warehouse"


def ingest(*paths: str | PathLike[str], warehouse: str | PathLike[str] = HOME, **options: Any) -> "Report":
    """Reads files and folders into a warehouse; see `scalelens.ingestion.ingest` for the options."""
    from scalelens import ingestion

    return ingestion.ingest([Path(path) for path in paths], Path(warehouse), **options)


def connect(warehouse: str | PathLike[str] = HOME) -> "duckdb.DuckDBPyConnection":
    """Opens a warehouse in DuckDB: its tables as views, its queries as table macros."""
    from scalelens import database

    return database.connect(Path(warehouse))


def query(name: str, warehouse: str | PathLike[str] = HOME, **parameters: Any) -> "polars.DataFrame":
    """Rows of a query, such as `query("batch_stats", warmup=5)`."""
    from scalelens import database

    return database.ask(Path(warehouse), name, parameters)


def plot(name: str, path: str | PathLike[str], warehouse: str | PathLike[str] = HOME, **parameters: Any) -> None:
    """Draws a chart to a file; its suffix says how: .pdf .svg .png .html .json"""
    from scalelens import plotting

    plotting.plot(Path(warehouse), name, Path(path), parameters)
