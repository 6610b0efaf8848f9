"""What a shell offers behind <Tab>: names of queries and charts, their parameters, runs of the warehouse.

The user waits for it, so it reads names of files and headers of queries, and asks DuckDB for the names of runs alone.
It never raises: where a name cannot be found out, nothing is offered.
"""

import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import typer

import scalelens
from scalelens.folders import files_of, user_folders
from scalelens.inert import visible
from scalelens.queries.header import parameters_of
from scalelens.warehouse.root import DEFAULT_WAREHOUSE

_PACKAGE = Path(scalelens.__file__).parent
_QUERY_OF_CHART = re.compile(r"^QUERY = \"(\w+)\"$", re.MULTILINE)

_Offers = Iterable[tuple[str, str]]  # words, each with what it means


def silent(offers: Callable[[typer.Context], _Offers]) -> Callable[..., list[tuple[str, str]]]:
    """Offers as typer asks for them: those that begin as the word does, and none where something fails."""

    def completion(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
        try:
            found = [(word, visible(meaning)) for word, meaning in offers(ctx) if word.startswith(incomplete)]
            return [(word, meaning) for word, meaning in found if visible(word) == word]
        except Exception:
            return []

    return completion


@silent
def query_names(context: typer.Context) -> _Offers:
    for name, path in sorted(_query_files(context).items()):
        text = path.read_text(encoding="utf-8")
        if "\n-- Helper:" not in text:
            yield name, text.partition("\n")[0].lstrip("- ").rstrip(".")


@silent
def chart_names(context: typer.Context) -> _Offers:
    for name, path in sorted(_chart_files().items()):
        text = path.read_text(encoding="utf-8")
        if _QUERY_OF_CHART.search(text):
            yield name, text.lstrip('"').partition("\n")[0].rstrip(".")


@silent
def query_parameters(context: typer.Context) -> _Offers:
    """Of the query that is named before them, or of the query of that chart."""
    name = str(context.params.get("name") or context.command.name).replace("-", "_")
    files = _query_files(context)
    if context.command.name == "plot" and (chart := _chart_files().get(name)):
        found = _QUERY_OF_CHART.search(chart.read_text(encoding="utf-8"))
        name = found[1] if found else name
    given = {argument.name for argument in context.command.params}
    for parameter in parameters_of(files[name]):
        if parameter.name not in given:
            yield f"{parameter.name}=", f"{parameter.default} {parameter.meaning}"


@silent
def run_names(context: typer.Context) -> _Offers:
    from scalelens.question.question import Question
    from scalelens.question.session import ask
    from scalelens.warehouse.root import root_of

    root = context.params.get("warehouse") or os.environ.get("SCALELENS_WAREHOUSE") or DEFAULT_WAREHOUSE
    names = ask(root_of(root), Question(sql="SELECT name, path FROM run_names() ORDER BY name")).table.to_pydict()
    return zip(names["name"], names["path"], strict=True)


def _query_files(context: typer.Context) -> dict[str, Path]:
    """Files of queries by name: ours, and those of the user's folders."""
    files = files_of(_PACKAGE / "queries", ".sql")
    given: Any = context.params.get("folders") or ()
    for folder in user_folders(given, "SCALELENS_QUERIES", ""):
        files |= files_of(folder, ".sql")
    return files


def _chart_files() -> dict[str, Path]:
    files = files_of(_PACKAGE / "charts", ".py")
    for folder in user_folders((), "SCALELENS_CHARTS", ""):
        files |= files_of(folder, ".py")
    return files
