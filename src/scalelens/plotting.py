"""From a warehouse to a figure in a file: ask, draw, say where it comes from."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scalelens import charts, database, queries
from scalelens.charts import render
from scalelens.charts.style import Width


def plot(
    root: Path, name: str, path: Path, parameters: Mapping[str, Any] | None = None, width: Width = "single",
    query_folders: tuple[Path, ...] = (),
) -> int:  # fmt: skip
    """Draws a chart to `path`; its suffix says how.  Returns the number of rows drawn.

    Raises UserError for a chart, parameter or suffix that does not exist, and where there is nothing to draw.
    """
    chart = charts.find(name)
    parameters = getattr(chart, "PARAMETERS", {}) | dict(parameters or {})
    connection = database.connect(root, query_folders)
    statement = charts.sql(chart, database.call(chart.QUERY, parameters, query_folders))
    rows = database.rows_of(connection, statement)
    runs = ", ".join(f"'{run}'" for run in charts.run_ids(rows))
    known = queries.load(query_folders)
    shared = {
        key: value for key, value in parameters.items() if key in {p.name for p in known["exclusions"].parameters}
    }
    left_out = database.rows_of(
        connection,
        f"SELECT rule, count(*) AS records FROM {database.call('exclusions', shared, query_folders)} "
        f"WHERE run_id IN ({runs or 'NULL'}) GROUP BY rule ORDER BY rule",
    )
    inputs = database.rows_of(
        connection, f"SELECT DISTINCT file_id FROM members WHERE run_id IN ({runs or 'NULL'}) ORDER BY 1"
    )
    said = {key: str(value) for key, value in parameters.items()}
    drawn = chart.draw(rows, dict(left_out.iter_rows()), said, width)
    render.save(drawn, path, render.provenance(name, statement, said, inputs["file_id"], rows))
    return rows.height
