"""Ask one of the questions that come with ScaleLens, or one of the user's own."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scalelens.cli.completions import query_names, query_parameters
from scalelens.cli.options import (
    WAREHOUSE,
    Columns,
    DaskCluster,
    Limit,
    OutputFormat,
    QueryFolders,
    Sort,
    Unsafe,
    WarehouseOption,
    Where,
    pairs,
)  # fmt: skip
from scalelens.cli.output import WITH_PROVENANCE, errors
from scalelens.cli.pieces import first_rows_of, is_for_people, show_pieces
from scalelens.errors import UserError

if TYPE_CHECKING:
    import pyarrow as pa

    from scalelens.database.by_run import Elsewhere
    from scalelens.queries.header import Query

PANEL = "Ask"


def query(
    name: Annotated[
        str, typer.Argument(help="Name of a query; list them with: scalelens queries", autocompletion=query_names)
    ],
    parameters: Annotated[
        list[str] | None,
        typer.Argument(metavar="[KEY=VALUE]...", help="Parameters of the query.", autocompletion=query_parameters),
    ] = None,
    warehouse: WarehouseOption = WAREHOUSE,
    format: OutputFormat = None,
    folders: QueryFolders = None,
    columns: Columns = None,
    where: Where = None,
    sort: Sort = None,
    limit: Limit = None,
    everything: Annotated[bool, typer.Option("--all", help="All columns, not only those that matter most.")] = False,
    unsafe: Unsafe = False,
    dask: DaskCluster = None,
) -> None:
    """Ask one of the questions that come with ScaleLens, or one of yours.

    On a terminal it shows the columns that matter most, in units that people read; files get all columns.

    Examples:

    scalelens query scaling

    scalelens query batch_stats warmup=5 runs="precision = 'bf16'"
    """
    from scalelens.database.ask import ask_in_pieces
    from scalelens.queries.load import load

    refined = refinement(columns, where, sort, limit)
    if format in WITH_PROVENANCE:
        if dask:
            raise UserError(f"--dask gives no {format.value}", "leave one of the two out")
        from scalelens.cli.written import show_with_provenance

        asked = {
            "query": name,
            "parameters": pairs(parameters),
            "refined": refined,
            "glance": not everything and not columns,
        }
        show_with_provenance(warehouse, asked, format, tuple(folders or ()), unsafe)
        return
    at_a_glance = is_for_people(format) and not (everything or columns)
    known = load(tuple(folders or ()), name).get(name) if at_a_glance else None  # where it is none, asking says so
    pieces = ask_in_pieces(
        warehouse, name, pairs(parameters), tuple(folders or ()), unsafe, refined,
        elsewhere=on_workers(dask) if dask else None,
        beside=names_beside(known) if known else None,
    )  # fmt: skip
    n_rows = show_glance(pieces, known, limit) if known else show_pieces(pieces, format)
    if not n_rows and has_no_runs(warehouse):
        errors.print(f"there are no runs in {warehouse}; read some with: scalelens ingest logs/ -w {warehouse}")
    elif not n_rows:
        print_reasons(name, warehouse, pairs(parameters), tuple(folders or ()))


def names_beside(query: "Query") -> str | None:
    """What to ask beside a query, where it shows runs."""
    from scalelens.cli.run_names import NAMES, shows_runs

    return NAMES if shows_runs(query) else None


def show_glance(pieces: "Iterator[pa.Table]", query: "Query", limit: int | None) -> int:
    """Prints the answer to a query for people; the names come first where it shows runs.  Returns how many rows."""
    from scalelens.cli.run_names import by_id, shows_runs
    from scalelens.cli.written import show_to_people

    runs = by_id(next(pieces)) if shows_runs(query) else {}
    rows, n_rows = first_rows_of(pieces)
    show_to_people(rows, query, runs, limit, n_rows=n_rows)
    return n_rows


def on_workers(where: str) -> "Elsewhere":
    """Asks groups of runs on a Dask cluster; people see how many have answered."""
    from rich.progress import track

    from scalelens.cli.inert_console import errors as console
    from scalelens.ingestion.clusters import on_cluster
    from scalelens.ingestion.processes import default_jobs

    def elsewhere(work: Any, parts: list[Any]) -> Iterator[tuple[int, Any]]:
        answers = on_cluster(where, default_jobs(), work, parts)
        shown = sys.stderr.isatty()
        return iter(track(answers, "groups of runs", len(parts), console=console, transient=True, disable=not shown))

    return elsewhere


def refinement(columns: str | None, where: str | None, sort: str | None, limit: int | None) -> str:
    """SQL behind `SELECT`, with {} in the place of the query; sorting by `-step_s` is descending."""
    order = [f"{key[1:]} DESC" if key.startswith("-") else key for key in (sort or "").split(",") if key]
    parts = [f"{columns or '*'} FROM {{}}", f"WHERE {where}" if where else ""]
    parts += [f"ORDER BY {', '.join(order)}" if order else "", f"LIMIT {limit}" if limit is not None else ""]
    return " ".join(filter(None, parts))


def has_no_runs(warehouse: Path) -> bool:
    from scalelens.database.ask import answer_of

    return answer_of(warehouse, "SELECT 1 AS one FROM runs LIMIT 1").is_empty()


def print_reasons(name: str, warehouse: Path, parameters: dict[str, str], folders: tuple[Path, ...]) -> None:
    """One line for each reason why a query has no rows, where it names a query that knows."""
    from scalelens.database.ask import ask
    from scalelens.queries.load import load

    otherwise = load(folders, name)[name].otherwise
    if not otherwise:
        return
    reasons: dict[str, list[str]] = {}
    for row in ask(warehouse, otherwise, parameters, folders).iter_rows(named=True):
        reasons.setdefault(row["reason"], []).append(row["remedy"])
    for reason, remedies in reasons.items():
        runs = f"{len(remedies)} run{'s' if len(remedies) > 1 else ''}"
        errors.print(f"{runs}: {reason}; {remedies[0]}", markup=False)
    if reasons:
        errors.print(f"run by run: scalelens query {otherwise}", markup=False)
