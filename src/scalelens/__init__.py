"""ScaleLens: training logs, power logs and profiler traces to Parquet, SQL and figures.

import scalelens
scalelens.ingest("logs/", warehouse="study")
scalelens.query("scaling", warehouse="study")            # a polars DataFrame
scalelens.connect("study").sql("FROM runs")              # DuckDB: tables and macros
scalelens.plot("scaling", "scaling.pdf", warehouse="study")
print(scalelens.explain("mfu"))                          # what a query computes, and how
"""

from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scalelens.version import __version__

if TYPE_CHECKING:
    import duckdb
    import polars

    from scalelens.ingestion.ingest import IngestReport

__all__ = ["__version__", "connect", "critical_path", "explain", "ingest", "plot", "query"]

DEFAULT_WAREHOUSE = "scalelens-warehouse"


def ingest(
    *paths: str | PathLike[str], warehouse: str | PathLike[str] = DEFAULT_WAREHOUSE, **options: Any
) -> "IngestReport":
    """Reads files and folders into a warehouse; see `scalelens.ingestion.ingest` for the options."""
    from scalelens.ingestion import ingest

    return ingest.ingest([Path(path) for path in paths], Path(warehouse), **options)


def connect(warehouse: str | PathLike[str] = DEFAULT_WAREHOUSE) -> "duckdb.DuckDBPyConnection":
    """Opens a warehouse in DuckDB: its tables as views, its queries as table macros."""
    from scalelens.database import connect

    return connect.connect(Path(warehouse))


def query(name: str, warehouse: str | PathLike[str] = DEFAULT_WAREHOUSE, **parameters: Any) -> "polars.DataFrame":
    """Rows of a query, such as `query("batch_stats", warmup=5)`."""
    from scalelens.database import ask

    return ask.ask(Path(warehouse), name, parameters)


def explain(name: str, queries: Iterable[str | PathLike[str]] = ()) -> str:
    """Definition, formula, reference, assumptions, limits and SQL of a query; of a column, the queries that have it.

    `queries` are folders of queries of your own.
    """
    from scalelens.queries import page

    return page.explain(name, tuple(Path(folder) for folder in queries))


def plot(
    name: str, path: str | PathLike[str], warehouse: str | PathLike[str] = DEFAULT_WAREHOUSE, **parameters: Any
) -> None:
    """Draws a chart to a file; its suffix decides the format: .pdf .svg .png .html .json"""
    from scalelens.report import plotting

    plotting.plot(Path(warehouse), name, Path(path), parameters)


def critical_path(
    warehouse: str | PathLike[str] = DEFAULT_WAREHOUSE,
    rank: int = 0,
    run: str = "",
    annotation: str = "ProfilerStep",
    instance: int = 0,
) -> "polars.DataFrame":
    """The chain of work that decides how long a step of a rank takes, by Holistic Trace Analysis (extra `hta`)."""
    from scalelens.traces import critical_path

    return critical_path.critical_path(Path(warehouse), rank, run, annotation, instance)
