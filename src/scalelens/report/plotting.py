"""From a warehouse to a figure in a file: ask, draw, add where the figure comes from."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import polars as pl

from scalelens.charts import own
from scalelens.charts.load import find, rows_statement, run_ids
from scalelens.charts.page import page_of
from scalelens.database.ask import answer, call, check_call
from scalelens.database.connect import connect
from scalelens.errors import UserError
from scalelens.queries.header import Query
from scalelens.queries.load import load
from scalelens.report import rendering
from scalelens.report.provenance import make_provenance

Settings = Mapping[str, Any]


class Plotted(NamedTuple):
    """A chart, the rows that it shows, and where they come from."""

    chart: Any
    rows: pl.DataFrame
    provenance: Mapping[str, Any]


def plot(
    root: Path, name: str, path: Path, parameters: Mapping[str, Any] | None = None, settings: Settings | None = None,
    query_folders: tuple[Path, ...] = (),
) -> Plotted:  # fmt: skip
    """Draws a chart to `path`; its suffix says how.  `settings` are those of `charts.page.page_of`.

    Raises UserError for a chart, parameter, setting or suffix that does not exist, and where there is nothing to draw.
    """
    plotted = chart_of(root, name, parameters, settings, query_folders)
    rendering.save(plotted.chart, path, plotted.provenance, page_of(settings or {}))
    return plotted


def chart_of(
    root: Path, name: str, parameters: Mapping[str, Any] | None = None, settings: Settings | None = None,
    query_folders: tuple[Path, ...] = (),
) -> Plotted:  # fmt: skip
    """A chart, not yet a file.  Raises UserError as `plot` does."""
    chart, page = find(name), page_of(settings or {})
    if page.facet:
        raise UserError(f"the chart {name} has panels of its own", "facets are for figures of --sql")
    parameters = getattr(chart, "PARAMETERS", {}) | dict(parameters or {})
    queries = load(query_folders)
    check_call(chart.QUERY, parameters, queries, query_folders)
    connection = connect(root, query_folders, queries=queries, closed=True)
    statement = rows_statement(chart, call(chart.QUERY, parameters))
    rows = answer(connection, statement)
    drawn_runs = run_ids(rows)
    left_out = left_out_of(connection, _listed(drawn_runs), parameters, queries["exclusions"])
    inputs = inputs_of(connection, drawn_runs)
    texts = {key: str(value) for key, value in parameters.items()}
    figure = chart.draw(rows, left_out, texts, page)
    said = make_provenance(name, statement, texts, inputs, rows)
    return Plotted(figure, rows, {**said, "settings": dict(settings or {})})


def plot_sql(
    root: Path, statement: str, marks: own.Marks, path: Path, settings: Settings | None = None,
    query_folders: tuple[Path, ...] = (),
) -> Plotted:  # fmt: skip
    """Draws the rows of an SQL statement to `path`.  Raises UserError as `plot` does, and for columns that are not."""
    page = page_of(settings or {})
    connection = connect(root, query_folders, closed=True)
    rows = answer(connection, statement)
    figure = own.draw(rows, marks, page)
    texts = {key: value for key, value in marks._asdict().items() if value}
    inputs = inputs_of(connection, run_ids(rows))
    said = {**make_provenance("sql", statement, texts, inputs, rows), "settings": dict(settings or {})}
    rendering.save(figure, path, said, page)
    return Plotted(figure, rows, said)


def inputs_of(connection: duckdb.DuckDBPyConnection, runs: list[str]) -> list[str]:
    """Files of these runs; all of the warehouse where rows do not say of which runs they are."""
    which = f"WHERE run_id IN ({_listed(runs)})" if runs else ""
    return answer(connection, f"SELECT DISTINCT file_id FROM members {which} ORDER BY 1")["file_id"].to_list()


def _listed(runs: list[str]) -> str:
    return ", ".join(f"'{run}'" for run in runs) or "NULL"


def left_out_of(
    connection: duckdb.DuckDBPyConnection, runs: str, parameters: Mapping[str, Any], exclusions: Query
) -> dict[str, int]:
    """How many records of `runs` the query left out, by rule.

    `exclusions` takes some of the chart's parameters.  With the same values it finds the records that were left out.
    """
    shared = {key: value for key, value in parameters.items() if key in {p.name for p in exclusions.parameters}}
    counts = answer(
        connection,
        f"SELECT rule, count(*) AS records FROM {call('exclusions', shared)} "
        f"WHERE run_id IN ({runs}) GROUP BY rule ORDER BY rule",
    )
    return dict(counts.iter_rows())


def save_beside(plotted: Plotted, data: Path | None, caption: Path | None) -> None:
    """Writes the rows of a figure as CSV and its caption as text, each where a path is given.

    Nothing is written unasked: a file of that name beside the figure may be the user's own.
    """
    if data:
        lists = [name for name, kind in plotted.rows.schema.items() if isinstance(kind, pl.List)]
        flat = plotted.rows.with_columns(pl.col(name).cast(pl.List(pl.String)).list.join(" ") for name in lists)
        rendering.write_whole(data, flat.write_csv().encode())
    if caption:
        rendering.write_whole(caption, f"{plotted.chart.description}\n".encode())
