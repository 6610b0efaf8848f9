"""From a warehouse to a figure in a file: ask, draw, add where the figure comes from."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import duckdb
import polars as pl
import polars.selectors as cs

from scalelens.charts import own
from scalelens.charts.layout import SINGLE, Page, page_of
from scalelens.charts.limits import CHOOSE_RUNS, check_count
from scalelens.charts.load import find, rows_statement, run_ids
from scalelens.charts.load import load as load_charts
from scalelens.database.answering import answer
from scalelens.database.ask import call, check_call
from scalelens.database.connect import connect
from scalelens.database.views import sql_text
from scalelens.errors import UserError
from scalelens.queries.header import Query
from scalelens.queries.load import load
from scalelens.report import other_figures, rendering
from scalelens.report.files import write_file
from scalelens.report.inputs import NEEDED_FOR_INPUTS, inputs_of
from scalelens.report.provenance import Provenance, make_provenance, renderer
from scalelens.report.text.csv_text import csv_text

Settings = Mapping[str, Any]
OWN_SQL = "sql"  # stands for the name of a chart in the provenance of a figure of one's own SQL
ORDERED = re.compile(r"\bORDER\s+BY\b", re.IGNORECASE)


class NothingToDrawError(UserError):
    """The query of a chart gave no rows, and the chart says why that is."""


class Plotted(NamedTuple):
    """A chart, the rows that it shows, where they come from, and the page that it is for."""

    chart: Any
    rows: pl.DataFrame
    provenance: Provenance
    page: Page = SINGLE

    def __repr__(self) -> str:
        return f"Plotted({self.rows.height} rows)"

    def _repr_svg_(self) -> str:
        """What notebooks show."""
        return rendering.drawing(self.chart, self.provenance, self.page)


def plot(
    root: Path, name: str, path: Path | None, parameters: Mapping[str, Any] | None = None,
    settings: Settings | None = None, query_folders: tuple[Path, ...] = (),
) -> Plotted:  # fmt: skip
    """Draws a chart, to `path` if there is one; its suffix says how.  `settings` are those of `charts.layout.page_of`.

    Raises UserError for a chart, parameter, setting or suffix that does not exist, and where there is nothing to draw.
    """
    chart, settings = find(name), dict(settings or {})
    parameters = parameters_of(chart, parameters or {})
    page = page_of(settings)
    needed = f"{rows_statement(chart, call(chart.QUERY, parameters))} exclusions {NEEDED_FOR_INPUTS}"
    queries = load(query_folders, needed)
    check_call(chart.QUERY, parameters, queries, query_folders)
    if page.facet and not hasattr(chart, "FACETS"):
        raise UserError(f"the chart {name} takes no facet", f"it has panels of its own, or one run; {_with_facets()}")
    connection = connect(root, query_folders, needed, queries, closed=True)
    try:
        plotted = draw(connection, root, name, parameters, queries, settings, query_folders)
    except NothingToDrawError as refusal:
        raise UserError(f"{refusal}", other_figures.remedy(root, name)) from None
    if path is not None:
        rendering.save(plotted.chart, path, plotted.provenance, page)
    return plotted


def draw(
    connection: duckdb.DuckDBPyConnection, root: Path, name: str, parameters: Mapping[str, Any],
    queries: Mapping[str, Query], settings: Settings, query_folders: tuple[Path, ...] = (),
) -> Plotted:  # fmt: skip
    """A chart of the warehouse at `root`, which is open; not yet a file.  Raises UserError where nothing is to draw."""
    chart = find(name)
    parameters = parameters_of(chart, parameters)
    page = page_of(settings)
    further = _columns_of_facet(connection, chart, queries[chart.QUERY], page.facet) if page.facet else ()
    statement = rows_statement(chart, call(chart.QUERY, parameters), further)
    if hasattr(chart, "MOST_RUNS"):
        _check_runs(connection, str(parameters.get("runs", "")), chart.MOST_RUNS)
    rows = answer(connection, statement)
    left_out = left_out_of(connection, run_ids(rows), parameters, queries["exclusions"])
    texts = {key: str(value) for key, value in parameters.items()}
    try:
        figure = chart.draw(rows, left_out, texts, page)
    except UserError as refusal:
        raise (NothingToDrawError(f"{refusal}") if rows.is_empty() else refusal) from None
    made = {"chart": name, "parameters": texts, "settings": dict(settings), "renderer": renderer()}
    inputs, needed = inputs_of(connection, root, rows), load(query_folders, statement)
    return Plotted(figure, rows, make_provenance(made, statement, inputs, rows, needed), page)


def _with_facets() -> str:
    return f"these take one: {', '.join(name for name, chart in load_charts().items() if hasattr(chart, 'FACETS'))}"


def _columns_of_facet(
    connection: duckdb.DuckDBPyConnection, chart: ModuleType, query: Query, facet: str
) -> tuple[str, ...]:
    """The column of `runs` to join to the rows for a facet; none where the rows have it.

    Raises UserError for a column that is in neither.
    """
    known = {column.name for column in query.columns} | set(getattr(chart, "FACTS", ()))
    if facet in known:
        return ()
    of_runs = answer(connection, "FROM runs LIMIT 0").columns
    if facet not in of_runs or "run_id" not in known:
        names = sorted(known | set(of_runs if "run_id" in known else ()))
        raise UserError(f"there is no column '{facet}' to make panels of", f"there are: {', '.join(names)}")
    return (f'"{facet}"',)


def parameters_of(chart: ModuleType, given: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters for the chart's query: those given, else the chart's own."""
    return dict(sorted((getattr(chart, "PARAMETERS", {}) | dict(given)).items()))


def plot_sql(
    root: Path, statement: str, marks: own.Marks, path: Path, settings: Settings | None = None,
    query_folders: tuple[Path, ...] = (),
) -> Plotted:  # fmt: skip
    """Draws the rows of an SQL statement to `path`.  Raises UserError as `plot` does, and for columns that are not."""
    settings = dict(settings or {})
    page, connection = page_of(settings), connect(root, query_folders, closed=True)
    rows = answer(connection, statement)
    if not ORDERED.search(statement):  # threads of DuckDB hand rows over in any order
        rows = rows.sort(rows.select(~cs.nested()).columns, nulls_last=True)
    figure = own.draw(rows, marks, page)
    texts = {key: value for key, value in marks._asdict().items() if value}
    made = {"chart": OWN_SQL, "parameters": texts, "settings": settings, "renderer": renderer()}
    inputs, needed = inputs_of(connection, root, rows), load(query_folders, statement)
    plotted = Plotted(figure, rows, make_provenance(made, statement, inputs, rows, needed), page)
    rendering.save(figure, path, plotted.provenance, page)
    return plotted


def _check_runs(connection: duckdb.DuckDBPyConnection, runs: str, most: int) -> None:
    """Raises UserError where more runs have times of steps than the chart can show, before these are asked for."""
    counted = answer(
        connection,
        "SELECT count(DISTINCT run_id) FROM steps WHERE phase = 'train' AND value_kind IN ('instant', 'interval_mean') "
        f"AND step_s > 0 AND run_id IN (FROM {call('selected_runs', {'runs': runs})})",
    )
    check_count(counted.item(), most, "runs with times of steps", CHOOSE_RUNS)


def left_out_of(
    connection: duckdb.DuckDBPyConnection, runs: Sequence[str], parameters: Mapping[str, Any], exclusions: Query
) -> dict[str, int]:
    """How many records of `runs` the query left out, by rule.

    `exclusions` takes some of the chart's parameters.  With the same values it finds the records that were left out.
    """
    if not runs:
        return {}
    shared = {key: value for key, value in parameters.items() if key in {p.name for p in exclusions.parameters}}
    shared["runs"] = f"run_id IN ({', '.join(map(sql_text, runs))})"
    counts = answer(
        connection, f"SELECT rule, count(*) AS records FROM {call('exclusions', shared)} GROUP BY rule ORDER BY rule"
    )
    return dict(counts.iter_rows())


def save_beside(plotted: Plotted, data: Path | None, caption: Path | None) -> None:
    """Writes the rows of a figure as CSV and its caption as text, each where a path is given.

    Nothing is written unasked: a file of that name beside the figure may be the user's own.
    """
    if data:
        write_file(data, csv_text(plotted.rows.to_arrow()).encode())
    if caption:
        write_file(caption, f"{plotted.chart.description}\n".encode())
