"""ScaleLens: training logs, power logs and profiler traces to Parquet, SQL and figures.

import scalelens
scalelens.ingest("logs/", warehouse="study")
scalelens.query("scaling", warehouse="study")            # a polars DataFrame
scalelens.connect("study").sql("FROM runs")              # DuckDB: tables and macros
scalelens.plot("scaling", "scaling.pdf", warehouse="study")  # shown by notebooks; the file may be left out
print(scalelens.explain("mfu"))                          # what a query computes, and how
"""

from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scalelens.version import __version__
from scalelens.warehouse.root import root_of

if TYPE_CHECKING:
    import duckdb
    import polars

    from scalelens.ingestion.batch import Progress
    from scalelens.ingestion.ingest import IngestReport
    from scalelens.report.plotting import Plotted

__all__ = ["__version__", "connect", "critical_path", "explain", "ingest", "plot", "query"]

DEFAULT_WAREHOUSE = "scalelens-warehouse"


def ingest(
    *paths: str | PathLike[str],
    warehouse: str | PathLike[str] = DEFAULT_WAREHOUSE,
    jobs: int | None = None,
    format_folders: Iterable[str | PathLike[str]] = (),
    documents: bool = False,
    dry_run: bool = False,
    begin: "Callable[[int, int], Progress] | None" = None,
    zone: str | None = None,
    mapping: Iterable[str] = (),
    again: bool = False,
    shard: str | None = None,
    dask: str | None = None,
) -> "IngestReport":
    """Reads files and folders into a warehouse; a notebook shows the report that it returns.

    `jobs` is the number of processes.  `format_folders` are folders of formats of your own.  `documents` reads text
    that is documentation, too.  `dry_run` reads and reports, and writes nothing.  `begin(files, bytes)` is called once
    the work is known, and returns the function that is called with bytes read.  `zone` is that of times which name
    none, such as "Europe/Berlin".  `mapping` says what columns of tables are: `["batch_time=col:ms"]`.  `again` reads
    files that have not changed, too.  `shard="2/8"` reads the second of eight parts of the files: other processes read
    the others, in any order or at once.  `dask` names a cluster that reads: the address of its scheduler, "local" or
    "slurm".
    Raises UserError for a path that is not there, a warehouse that cannot be written, or a mapping without meaning.
    """
    from scalelens.ingestion import ingest
    from scalelens.ingestion.shards import shard_of

    return ingest.ingest(
        [Path(path) for path in paths],
        root_of(warehouse),
        jobs,
        tuple(Path(folder) for folder in format_folders),
        documents,
        dry_run,
        begin,
        zone,
        tuple(mapping),
        again,
        shard_of(shard) if shard else None,
        dask,
    )


def connect(warehouse: str | PathLike[str] = DEFAULT_WAREHOUSE) -> "duckdb.DuckDBPyConnection":
    """Opens a warehouse in DuckDB: its tables as views, its queries as table macros."""
    from scalelens.question.session import Session

    return Session(root_of(warehouse)).connection


def query(name: str, warehouse: str | PathLike[str] = DEFAULT_WAREHOUSE, **parameters: Any) -> "polars.DataFrame":
    """Rows of a query, such as `query("batch_stats", warmup=5)`."""
    from scalelens.question.question import Question
    from scalelens.question.session import ask

    return ask(root_of(warehouse), Question(name, parameters=parameters)).frame


def explain(name: str, queries: Iterable[str | PathLike[str]] = ()) -> str:
    """Definition, formula, reference, assumptions, limits and SQL of a query; of a column, the queries that have it.

    `queries` are folders of queries of your own.
    """
    from scalelens.queries.explain import explain

    return explain(name, tuple(Path(folder) for folder in queries))


def plot(
    name: str,
    path: str | PathLike[str] | None = None,
    warehouse: str | PathLike[str] = DEFAULT_WAREHOUSE,
    settings: Mapping[str, Any] | None = None,
    **parameters: Any,
) -> "Plotted":
    """Draws a chart that a notebook shows; with `path` to a file too: .pdf .svg .png .html .json

    `settings` are those of `[figure.NAME]` in a `scalelens.toml`, as the options of `scalelens plot`:
    `{"width": "ieee-single", "height": "60mm", "font_size": 8, "title": "...", "caption": False,
    "labels": {"old": "new"}, "order": ["a", "b"], "colors": {"a": "#D55E00"}, "ylim": "0:100", "log": "x",
    "facet": "precision"}`.
    A sidecar is not read.  The result has the Altair `chart`, the `rows` that it shows, and their `provenance`.
    Raises UserError for a chart, parameter, setting or suffix that does not exist, and where nothing is to be drawn.
    """
    from scalelens.report import plotting

    return plotting.plot(root_of(warehouse), name, None if path is None else Path(path), parameters, settings)


def critical_path(
    warehouse: str | PathLike[str] = DEFAULT_WAREHOUSE,
    rank: int = 0,
    run: str = "",
    annotation: str = "ProfilerStep",
    instance: int = 0,
) -> "polars.DataFrame":
    """The chain of work that decides how long a step of a rank takes, by Holistic Trace Analysis (extra `hta`)."""
    from scalelens.traces import critical_path

    return critical_path.critical_path(root_of(warehouse), rank, run, annotation, instance)
