"""From a warehouse to a figure in a file: ask, draw, add where the figure comes from."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from scalelens.charts.load import find, rows_statement, run_ids
from scalelens.charts.style import Width
from scalelens.database.ask import answer, call, check_call
from scalelens.database.connect import connect
from scalelens.queries.header import Query
from scalelens.queries.load import load
from scalelens.report import rendering
from scalelens.report.inputs import inputs_of
from scalelens.report.provenance import Provenance, make_provenance, renderer


def plot(
    root: Path, name: str, path: Path, parameters: Mapping[str, Any] | None = None, width: Width = "single",
    query_folders: tuple[Path, ...] = (),
) -> int:  # fmt: skip
    """Draws a chart to `path`; its suffix says how.  Returns the number of rows drawn.

    Raises UserError for a chart, parameter or suffix that does not exist, and where there is nothing to draw.
    """
    parameters, queries = dict(parameters or {}), load(query_folders)
    check_call(find(name).QUERY, parameters, queries, query_folders)
    connection = connect(root, query_folders, queries=queries, closed=True)
    drawing = draw(connection, root, name, parameters, queries, width, query_folders)
    rendering.save(drawing.figure, path, drawing.provenance)
    return drawing.n_rows


class Drawing(NamedTuple):
    """A chart that is not yet a file."""

    figure: Any  # of Altair
    provenance: Provenance
    n_rows: int


def draw(
    connection: duckdb.DuckDBPyConnection, root: Path, name: str, parameters: Mapping[str, Any],
    queries: Mapping[str, Query], width: Width = "single", query_folders: tuple[Path, ...] = (),
) -> Drawing:  # fmt: skip
    """Draws a chart of the warehouse at `root`, which is open.  Raises UserError where there is nothing to draw."""
    chart = find(name)
    parameters = dict(sorted((getattr(chart, "PARAMETERS", {}) | dict(parameters)).items()))
    statement = rows_statement(chart, call(chart.QUERY, parameters))
    rows = answer(connection, statement)
    drawn_runs = ", ".join(f"'{run}'" for run in run_ids(rows)) or "NULL"
    left_out = left_out_of(connection, drawn_runs, parameters, queries["exclusions"])
    texts = {key: str(value) for key, value in parameters.items()}
    figure = chart.draw(rows, left_out, texts, width)
    made = {"chart": name, "parameters": texts, "width": width, "renderer": renderer()}
    inputs, needed = inputs_of(connection, root, rows), load(query_folders, statement)
    return Drawing(figure, make_provenance(made, statement, inputs, rows, needed), rows.height)


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
