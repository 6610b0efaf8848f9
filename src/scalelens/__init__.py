"""ScaleLens: training logs, power logs and profiler traces to Parquet, SQL and figures.

>>> import scalelens
>>> with scalelens.open("study") as study:                # a warehouse: a folder, or s3://bucket/prefix
...     report = study.ingest("logs")
...     rows = study.query("scaling")                     # a polars DataFrame
...     counts = study.sql("SELECT count(*) FROM steps")  # DuckDB: tables and macros
...     figure = study.plot("scaling", "scaling.pdf")     # shown by notebooks; the file may be left out
...     text = study.explain("mfu")                       # what a query computes, and how

The functions below do the same for one question, `scalelens.query("scaling", "study")`.  What cannot be done is a
UserError.
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scalelens.errors import UserError
from scalelens.old_names import with_old_arguments
from scalelens.study import AnyPath, Study
from scalelens.version import __version__
from scalelens.warehouse.root import DEFAULT_WAREHOUSE

if TYPE_CHECKING:
    import duckdb
    import polars

    from scalelens.ingestion.batch import Progress
    from scalelens.ingestion.ingest import IngestReport
    from scalelens.report.plotting import Plotted

__all__ = [
    "DEFAULT_WAREHOUSE", "Study", "UserError", "__version__",
    "connect", "critical_path", "explain", "ingest", "open", "plot", "query", "sql",
]  # fmt: skip

FIGURES = (".pdf", ".svg", ".png", ".html", ".json")


def open(warehouse: AnyPath = DEFAULT_WAREHOUSE, *, queries: Iterable[AnyPath] = ()) -> Study:
    """A warehouse, to read logs into and to ask; `queries` are folders with queries of your own.

    >>> scalelens.open("study")
    Study('study')
    """
    return Study(warehouse, queries)


@with_old_arguments
def ingest(
    *paths: AnyPath,
    warehouse: AnyPath = DEFAULT_WAREHOUSE,
    jobs: int | None = None,
    format_folders: Iterable[AnyPath] = (),
    documents: bool = False,
    dry_run: bool = False,
    on_progress: "Callable[[int, int], Progress] | None" = None,
    time_zone: str | None = None,
    columns: Iterable[str] = (),
    reread: bool = False,
    shard: str | None = None,
    dask: str | None = None,
    trust_sidecars: bool = False,
) -> "IngestReport":
    """Reads files and folders into a warehouse; the arguments are those of `Study.ingest`.

    >>> scalelens.ingest("logs", warehouse="study")
    IngestReport(16 unchanged, 0 rows)
    """
    return Study(warehouse).ingest(
        *paths, jobs=jobs, format_folders=format_folders, documents=documents, dry_run=dry_run, on_progress=on_progress,
        time_zone=time_zone, columns=columns, reread=reread, shard=shard, dask=dask, trust_sidecars=trust_sidecars,
    )  # fmt: skip


def connect(warehouse: AnyPath = DEFAULT_WAREHOUSE) -> "duckdb.DuckDBPyConnection":
    """Opens a warehouse in DuckDB: its tables as views, its queries as table macros.

    >>> scalelens.connect("study").sql("SELECT count(*) FROM runs").fetchall()
    [(8,)]
    """
    return Study(warehouse).connect()


def query(name: str, warehouse: AnyPath = DEFAULT_WAREHOUSE, **parameters: Any) -> "polars.DataFrame":
    """Rows of a query; the arguments are those of `Study.query`.

    >>> scalelens.query("batch_stats", "study", warmup=5).height
    8
    """
    with Study(warehouse) as study:
        return study.query(name, **parameters)


def sql(statement: str, warehouse: AnyPath = DEFAULT_WAREHOUSE) -> "polars.DataFrame":
    """Rows of a DuckDB statement.

    >>> scalelens.sql("SELECT count(*) AS n FROM steps", "study").item()
    650
    """
    with Study(warehouse) as study:
        return study.sql(statement)


def explain(name: str, *, queries: Iterable[AnyPath] = ()) -> str:
    """What a query computes, and how; of the name of a column, the queries that have it.

    >>> print(scalelens.explain("p95_s"))
    p95_s is a column of
      batch_stats.p95_s   DOUBLE s   95th percentile

    `queries` are folders of queries of your own.
    """
    return Study(queries=queries).explain(name)


def plot(
    name: str,
    warehouse: AnyPath = DEFAULT_WAREHOUSE,
    path: AnyPath | None = None,
    *,
    settings: Mapping[str, Any] | None = None,
    **parameters: Any,
) -> "Plotted":
    """Draws a chart that a notebook shows; with `path` to a file too.  The arguments are those of `Study.plot`.

    >>> scalelens.plot("scaling", "study", path="scaling.pdf")
    Plotted(10 rows)
    """
    if Path(warehouse).suffix in FIGURES:  # in 1.0 the path came first
        path, warehouse = warehouse, path or DEFAULT_WAREHOUSE
    return Study(warehouse).plot(name, path, settings=settings, **parameters)


def critical_path(warehouse: AnyPath = DEFAULT_WAREHOUSE, **arguments: Any) -> "polars.DataFrame":
    """The chain of work that decides how long a step takes; the arguments are those of `Study.critical_path`.

    >>> scalelens.critical_path("study", step=3).columns  # doctest: +SKIP
    ['run_id', 'train_step', 'kind', 'rank', 'name', 'pieces', 'duration_ns', 'share', ...]
    """
    return Study(warehouse).critical_path(**arguments)
