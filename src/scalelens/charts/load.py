"""The charts: files of this folder and of the user's own (`SCALELENS_CHARTS`), found by what they hold.

A chart is a module with

    QUERY = "scaling"                  the macro whose rows it draws
    FACTS = ("device_unit",)           optional: columns of `runs` joined to the rows by run_id, to label with
    FACETS = True                      optional: `draw` makes a panel for each value of the column `page.facet`
    PARAMETERS = {"per": "step"}       optional: given to the query unless the user says otherwise
    def draw(rows: polars.DataFrame, left_out: Mapping[str, int], parameters: Mapping[str, str], page: Page): ...

`left_out` counts the records that the query left out, by rule; `parameters` are those given to the query; `draw`
returns an Altair chart that `style.figure` put together, or raises UserError where there is nothing to draw.
Its docstring is its documentation, in fixed headings: Shows, Query, Encodings, Source.  The query computes; the chart
only draws.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import polars as pl

import scalelens.charts
from scalelens.errors import UserError
from scalelens.folders import modules_of, users_folders, users_module

HEADINGS = ("Shows", "Query", "Encodings", "Source")


def load(folders: Sequence[Path] = ()) -> dict[str, ModuleType]:
    """All charts by name, of the package and of `folders`.  A user's chart of the same name replaces ours.

    Raises UserError for a file of `folders` that is not a chart, with what it lacks.
    """
    charts = {name: module for name, module in modules_of(scalelens.charts).items() if hasattr(module, "QUERY")}
    for folder in users_folders(folders, "SCALELENS_CHARTS", "name a folder of chart files"):
        charts |= {path.stem: _checked(users_module(path, "chart"), path) for path in sorted(folder.glob("*.py"))}
    return dict(sorted(charts.items()))


def _checked(module: ModuleType, path: Path) -> ModuleType:
    """A user's chart, where it has what a chart must have."""
    lacking = [name for name in ("QUERY", "draw") if not hasattr(module, name)]
    lacking += [f"'{name}:'" for name in HEADINGS if not re.search(rf"^{name}:", module.__doc__ or "", re.MULTILINE)]
    if lacking:
        raise UserError(f"{path} is not a chart: it has no {', '.join(lacking)}", "see CONTRIBUTING.md, 'Add a chart'")
    return module


def find(name: str, folders: Sequence[Path] = ()) -> ModuleType:
    """The chart of that name.  Raises UserError that names those that exist."""
    known = load(folders)
    if name not in known:
        raise UserError(f"there is no chart '{name}'", f"there are: {', '.join(known)}")
    return known[name]


def title(chart: ModuleType) -> str:
    """First line of the docstring."""
    return (chart.__doc__ or "").strip().split("\n")[0].rstrip(".")


def rows_statement(chart: ModuleType, call: str, further: Sequence[str] = ()) -> str:
    """SQL for the rows of a chart, given the call of its query, `scaling(runs := '...')`.

    `further` are columns of `runs` beside those of the chart.
    """
    facts = (*getattr(chart, "FACTS", ()), *further)
    if not facts:
        return f"FROM {call}"
    columns = ", ".join(f"r.{fact}" for fact in facts)
    return f"SELECT q.*, {columns} FROM {call} AS q LEFT JOIN runs AS r USING (run_id)"


def run_ids(rows: pl.DataFrame) -> list[str]:
    """Runs that the rows are about: their `run_id`, and the repeated runs that `run_ids` names."""
    runs = set(rows["run_id"]) if "run_id" in rows.columns else set()
    if "run_ids" in rows.columns:
        runs |= set(rows["run_ids"].explode())
    return sorted(run for run in runs if run is not None)
