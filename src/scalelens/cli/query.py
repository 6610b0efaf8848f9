"""Ask one of the questions that come with ScaleLens, or one of the user's own."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, cast

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
    TableWidth,
    Unsafe,
    WarehouseOption,
    Where,
    check_table_width,
    pairs,
)  # fmt: skip
from scalelens.cli.other_kinds import refuse_query
from scalelens.cli.other_sizes_beside import other_sizes, print_other_sizes
from scalelens.cli.output import WITH_PROVENANCE, errors
from scalelens.cli.pasting import in_warehouse, pasted
from scalelens.cli.pieces import first_rows_of, is_for_people, show_pieces
from scalelens.errors import UserError

if TYPE_CHECKING:
    from scalelens.question.answer import Answer
    from scalelens.question.by_run import Executor
    from scalelens.question.session import Session

PANEL = "Ask"
_SERIES = "scaling"  # the query of series: it says which sizes are in none


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
    width: TableWidth = None,
    dask: DaskCluster = None,
) -> None:
    """Ask one of the questions that come with ScaleLens, or one of yours.

    On a terminal it shows the columns that matter most, in units that people read; files get all columns.

    Examples:

    scalelens query scaling

    scalelens query batch_stats warmup=5 runs="precision = 'bf16'"
    """
    from scalelens.question.question import Question, select_of
    from scalelens.question.run_names import RUN_NAMES
    from scalelens.question.session import ask

    own_queries = tuple(folders or ())
    refuse_query(name, own_queries)
    question = Question(
        name, parameters=pairs(parameters), select=select_of(columns, where, sort, limit), unsafe=unsafe
    )
    at_a_glance = not (everything or columns)
    check_table_width(width, format)
    if format in WITH_PROVENANCE:
        if dask:
            raise UserError(f"--dask cannot be combined with --format {format.value}", "leave one of them out")
        from scalelens.cli.written import show_with_provenance

        show_with_provenance(warehouse, question, format, at_a_glance, own_queries, width)
        return
    shows_glance = is_for_people(format) and at_a_glance
    executor = on_workers(dask) if dask else None
    answer = ask(warehouse, question, own_queries, also=RUN_NAMES if shows_glance else "", executor=executor)
    n_rows = _show_glance(answer, limit) if shows_glance else show_pieces(answer.pieces, format)
    if not n_rows:
        _print_reasons(answer)


def _show_glance(answer: "Answer", limit: int | None) -> int:
    """Prints the answer to a query for people.  Returns how many rows it has."""
    from scalelens.cli.written import show_to_people
    from scalelens.report.glance import shows_runs

    assert answer.query
    runs = answer.run_names if shows_runs(answer.query) else {}
    rows, n_rows = first_rows_of(answer.pieces)
    show_to_people(rows, answer.query, runs, limit, n_rows=n_rows)
    if answer.query.name == _SERIES and n_rows and answer.question.has_all_rows:
        session = cast("Session", answer.session)
        print_other_sizes(other_sizes(session, answer.question.parameters, rows["series"], rows["devices"]))
    return n_rows


def on_workers(where: str) -> "Executor":
    """Asks groups of runs on a Dask cluster; people see how many have answered."""
    from rich.progress import track

    from scalelens.cli.inert_console import errors as console
    from scalelens.ingestion.clusters import on_cluster
    from scalelens.ingestion.processes import default_jobs

    def executor(work: Any, parts: list[Any]) -> Iterator[tuple[int, Any]]:
        answers = on_cluster(where, default_jobs(), work, parts)
        shown = sys.stderr.isatty()
        return iter(track(answers, "groups of runs", len(parts), console=console, transient=True, disable=not shown))

    return executor


def _print_reasons(answer: "Answer") -> None:
    """Says why a query has no rows, a line a reason."""
    from scalelens.queries.load import load
    from scalelens.question.empty import reasons, run_by_run

    assert answer.query
    session = cast("Session", answer.session)
    found = reasons(session, answer.question)
    for reason in found:
        errors.print(in_warehouse(f"{reason.what}; {reason.what_to_do}"), markup=False, soft_wrap=True)
    if answer.query.when_empty and any(reason.n_runs for reason in found):
        queries = load(session.folders, f"{answer.query.name} {answer.query.when_empty}")
        further = run_by_run(queries, answer.question)
        words = ["query", further.query or "", *(f"{key}={value}" for key, value in further.parameters.items())]
        errors.print(f"run by run: {pasted(words, session.root, session.folders)}", markup=False, soft_wrap=True)
