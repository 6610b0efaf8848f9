"""The charts: files of this folder and of the user's own (`SCALELENS_CHARTS`), recognized by what they define.

A chart is a module with

    QUERY = "scaling"                  the macro whose rows it draws
    FACTS = ("device_unit",)           optional: columns of `runs`, for labels, joined to the rows by run_id
    BY_FOLDER = True                   optional: `draw` puts runs together by the folders of their column `path`
    UNITS = True                       optional: `draw` counts devices in `page.unit`
    BARS = True                        optional: `draw` has bars where `page.mark` says so
    FACETS = True                      optional: `draw` makes a panel for each value of the column `page.facet`
    PARAMETERS = {"per": "step"}       optional: parameters of the query, unless the user gives others
    def draw(rows: polars.DataFrame, left_out: Mapping[str, int], parameters: Mapping[str, str], page: Page): ...

`left_out` counts the records that the query left out, by rule; `parameters` are those of the query; `draw` returns an
Altair chart made by `style.figure`, or raises UserError if there is nothing to draw.  The docstring of the module is
the documentation, with fixed headings: Shows, Query, Encodings, Source.  The query computes; the chart only draws.
"""

import importlib
import pkgutil
import re
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import scalelens.charts
from scalelens.errors import UserError, did_you_mean
from scalelens.folders import modules_of, user_folders, user_module
from scalelens.old_names import with_old_columns

HEADINGS = ("Shows", "Query", "Encodings", "Source")


_USERS = "SCALELENS_CHARTS", "name a folder of chart files"


def load(folders: Sequence[Path] = ()) -> dict[str, ModuleType]:
    """All charts by name, of the package and of `folders`.  A user's chart replaces a built-in one of the same name.

    Raises UserError for a file of `folders` that is not a chart, with what it lacks.
    """
    charts = {name: module for name, module in modules_of(scalelens.charts).items() if hasattr(module, "QUERY")}
    for folder in user_folders(folders, *_USERS):
        charts |= {path.stem: _checked(user_module(path, "chart"), path) for path in sorted(folder.glob("*.py"))}
    return dict(sorted(charts.items()))


def _checked(module: ModuleType, path: Path) -> ModuleType:
    """A user's chart.  Raises UserError if it lacks what a chart must have."""
    lacking = [name for name in ("QUERY", "draw") if not hasattr(module, name)]
    lacking += [f"'{name}:'" for name in HEADINGS if not re.search(rf"^{name}:", module.__doc__ or "", re.MULTILINE)]
    if lacking:
        raise UserError(f"{path} is not a chart: it has no {', '.join(lacking)}", "see CONTRIBUTING.md, 'Add a chart'")
    vars(module)["draw"] = with_old_columns(module.draw, module.QUERY)
    return module


def is_chart(name: str) -> bool:
    """Whether there is a chart of that name."""
    return _own_chart(name) is not None or name in load()


def find(name: str, folders: Sequence[Path] = ()) -> ModuleType:
    """The chart of that name.  Raises UserError with the names that exist."""
    if not user_folders(folders, *_USERS) and (own := _own_chart(name)):
        return own
    known = load(folders)
    if name not in known:
        raise UserError(f"there is no chart '{name}'", did_you_mean(name, known) or f"there are: {', '.join(known)}")
    return known[name]


def _own_chart(name: str) -> ModuleType | None:
    """A chart of the package, without loading the others."""
    if name not in {module.name for module in pkgutil.iter_modules(scalelens.charts.__path__)}:
        return None
    module = importlib.import_module(f"{scalelens.charts.__name__}.{name}")
    return module if hasattr(module, "QUERY") else None


def title(chart: ModuleType) -> str:
    """The first line of the docstring."""
    return (chart.__doc__ or "").strip().split("\n")[0].rstrip(".")


def rows_of(chart: ModuleType, further: Sequence[str] = ()) -> str:
    """What to select for the rows of a chart, with {} in the place of its query.

    `further` are columns of `runs` in addition to those of the chart.
    """
    facts = (*getattr(chart, "FACTS", ()), *further)
    if not facts:
        return "* FROM {}"
    columns = ", ".join(f"r.{fact}" for fact in facts)
    return f"q.*, {columns} FROM {{}} AS q LEFT JOIN runs AS r USING (run_id)"
