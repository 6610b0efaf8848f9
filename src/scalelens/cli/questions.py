"""Commands that answer: sql, query, queries, tables, explain."""

from pathlib import Path
from typing import Annotated

import typer

from scalelens.cli.data import HOME, Home
from scalelens.cli.output import Format, show
from scalelens.errors import UserError

QueryFolders = Annotated[list[Path] | None, typer.Option("--queries", help="Folder with query files of your own.")]
CRITICAL_PATH = "critical_path"  # asked like a query, and answered by another tool
CRITICAL_PATH_ANSWERS = "The chain of work that decides how long a step takes (by HTA)."

OutputFormat = Annotated[
    Format | None, typer.Option("--format", help="Output format; a table on a terminal, else CSV.")
]


def add_to(app: typer.Typer) -> None:
    for command in (sql, query, queries, charts, tables, explain):
        app.command()(command)


def sql(
    statement: Annotated[str, typer.Argument(metavar="SQL", help="A DuckDB statement.")],
    warehouse: Home = HOME,
    format: OutputFormat = None,
    folders: QueryFolders = None,
) -> None:
    """Ask in SQL.  Tables: scalelens tables; every query is a macro of the same name.

    Examples:

    scalelens sql "FROM runs"

    scalelens sql "SELECT run_id, median(step_s) FROM step_times GROUP BY run_id" --format csv
    """
    from scalelens.database import connect, rows_of

    show(rows_of(connect(warehouse, tuple(folders or ())), statement), format)


def query(
    name: Annotated[str, typer.Argument(help="Name of a query; list them with: scalelens queries")],
    parameters: Annotated[
        list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="Parameters of the query.")
    ] = None,
    warehouse: Home = HOME,
    format: OutputFormat = None,
    folders: QueryFolders = None,
) -> None:
    """Ask one of the questions that come with ScaleLens, or one of yours.

    Examples:

    scalelens query scaling

    scalelens query batch_stats warmup=5 runs="precision = 'bf16'"
    """
    from scalelens.database import ask

    if name == CRITICAL_PATH:
        from scalelens.critical_path import critical_path

        show(critical_path(warehouse, pairs(parameters)), format)
        return
    show(ask(warehouse, name, pairs(parameters), tuple(folders or ())), format)


def pairs(parameters: list[str] | None, example: str = "warmup=5") -> dict[str, str]:
    """KEY=VALUE arguments."""
    found = {}
    for text in parameters or []:
        key, equals, value = text.partition("=")
        if not equals:
            raise UserError(f"'{text}' is not of the form KEY=VALUE", f"write for example {example}")
        found[key] = value
    return found


def queries(folders: QueryFolders = None, format: OutputFormat = None) -> None:
    """List the queries and what each answers.

    Examples:  scalelens queries      scalelens queries --queries my_queries/
    """
    import polars as pl

    from scalelens.critical_path import DEFAULTS
    from scalelens.queries import load

    known = load(tuple(folders or ()))
    show(
        pl.DataFrame(
            [
                {"name": one.name, "answers": one.title, "parameters": " ".join(p[0] for p in one.parameters)}
                for one in known.values()
            ]
            + [{"name": CRITICAL_PATH, "answers": CRITICAL_PATH_ANSWERS, "parameters": " ".join(DEFAULTS)}],
            schema={"name": pl.String, "answers": pl.String, "parameters": pl.String},
        ),
        format,
    )


def charts(format: OutputFormat = None) -> None:
    """List the charts, what each shows, and the query it draws.

    Example:  scalelens charts
    """
    import polars as pl

    from scalelens.charts import load, title

    show(
        pl.DataFrame([{"name": name, "shows": title(chart), "query": chart.QUERY} for name, chart in load().items()]),
        format,
    )


def tables(
    name: Annotated[str | None, typer.Argument(help="A table, for its columns alone.")] = None,
    format: OutputFormat = None,
) -> None:
    """List tables and columns with their meaning.

    Examples:  scalelens tables      scalelens tables steps
    """
    import polars as pl

    from scalelens.tables import documented

    known = documented()
    if name is not None and name not in known:
        raise UserError(f"there is no table '{name}'", f"there are: {', '.join(known)}")
    show(
        pl.DataFrame(
            [
                {"table": table, "column": column.name, "type": str(column.type), "meaning": column.meaning}
                for table, columns in known.items()
                if name in (None, table)
                for column in columns
            ]
        ),
        format,
    )


def explain(
    name: Annotated[str, typer.Argument(help="A query, a format or a table.")],
    folders: QueryFolders = None,
) -> None:
    """Print the documentation of a query with its SQL, of a format, or of a table.

    Examples:  scalelens explain scaling      scalelens explain megatron
    """
    from scalelens import formats as known_formats
    from scalelens.lines import name_of
    from scalelens.queries import load
    from scalelens.tables import documented

    found = load(tuple(folders or ())).get(name)
    if found:
        typer.echo(found.text)
        return
    if name == CRITICAL_PATH:
        from scalelens import critical_path

        typer.echo((critical_path.__doc__ or "").strip())
        return
    loaded = known_formats.load()
    for module in (*loaded.of_lines, *loaded.of_files):
        if name_of(module) == name:
            typer.echo((module.__doc__ or "").strip())
            return
    if name in documented():
        tables(name, Format.table)
        return
    names = (sorted(load()), sorted(name_of(module) for module in (*loaded.of_lines, *loaded.of_files)), documented())
    kinds = (f"{kind} {', '.join(of)}" for kind, of in zip(("queries", "formats", "tables"), names, strict=True))
    raise UserError(f"there is no query, format or table '{name}'", f"there are the {'; the '.join(kinds)}")
