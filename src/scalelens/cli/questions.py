"""Commands that answer: sql, query, queries, tables, explain."""

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from scalelens.cli.data import HOME, Home
from scalelens.cli.output import Format, errors, show
from scalelens.errors import UserError

QueryFolders = Annotated[list[Path] | None, typer.Option("--queries", help="Folder with query files of your own.")]
OutputFormat = Annotated[Format | None, typer.Option("--format", help="Output format; a table on a terminal, else CSV.")]


def add_to(app: typer.Typer) -> None:
    for command in (sql, query, queries, tables, explain):
        app.command()(command)


def run(warehouse: Path, statement: str, folders: list[Path] | None = None) -> Any:
    """Rows of a statement as a polars DataFrame.  What DuckDB refuses becomes a UserError in one line."""
    import duckdb
    import polars as pl

    from scalelens.database import connect

    connection = connect(warehouse, tuple(folders or ()))
    try:
        relation = connection.sql(statement)
        return pl.DataFrame() if relation is None else pl.from_arrow(relation.to_arrow_table())
    except duckdb.Error as error:
        raise UserError(said(error), remedy(error)) from None


def said(error: Exception) -> str:
    """DuckDB's message in one line."""
    lines = [line.strip() for line in str(error).split("\n") if line.strip()]
    text = " ".join(line for line in lines if not re.match(r"LINE \d+:|\^", line))
    return re.sub(r"\s+", " ", text).rstrip(".")


def remedy(error: Exception) -> str:
    name = type(error).__name__
    if name == "CatalogException":
        return "see scalelens tables and scalelens queries"
    if name == "BinderException":
        return "columns are listed by: scalelens tables"
    if name in ("IOException", "InvalidInputException") and "No files found" in str(error):
        return "a segment of the warehouse is missing; ingest the logs again"
    return "mend the SQL"


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
    show(run(warehouse, statement, folders), format)


def query(
    name: Annotated[str, typer.Argument(help="Name of a query; list them with: scalelens queries")],
    parameters: Annotated[list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="Parameters of the query.")] = None,
    warehouse: Home = HOME,
    format: OutputFormat = None,
    folders: QueryFolders = None,
) -> None:
    """Ask one of the questions that come with ScaleLens, or one of yours.

    Examples:

    scalelens query scaling

    scalelens query batch_stats warmup=5 runs="precision = 'bf16'"
    """
    show(run(warehouse, f"FROM {call(name, parameters or [], folders)}", folders), format)


def call(name: str, parameters: list[str], folders: list[Path] | None) -> str:
    """SQL that calls a query's macro with parameters given as KEY=VALUE."""
    from scalelens.queries import load

    known = load(tuple(folders or ()))
    if name not in known:
        raise UserError(f"there is no query '{name}'", f"there are: {', '.join(sorted(known))}")
    allowed = [parameter[0] for parameter in known[name].parameters]
    arguments = []
    for text in parameters:
        key, equals, value = text.partition("=")
        if not equals or key not in allowed:
            hint = f"it takes {', '.join(allowed)}" if allowed else "it takes none"
            raise UserError(f"'{text}' is no parameter of {name} in the form KEY=VALUE", hint)
        arguments.append(f"{key} := {literal(value)}")
    return f"{name}({', '.join(arguments)})"


def literal(value: str) -> str:
    """A parameter as SQL: numbers and booleans as they are, the rest as text."""
    if re.fullmatch(r"[-+]?\d+(\.\d+)?([eE][-+]?\d+)?|true|false|NULL", value):
        return value
    return "'" + value.replace("'", "''") + "'"


def queries(folders: QueryFolders = None, format: OutputFormat = None) -> None:
    """List the queries and what each answers."""
    import polars as pl

    from scalelens.queries import load

    known = load(tuple(folders or ()))
    show(
        pl.DataFrame(
            [
                {"name": one.name, "answers": one.title, "parameters": " ".join(p[0] for p in one.parameters)}
                for one in known.values()
            ],
            schema={"name": pl.String, "answers": pl.String, "parameters": pl.String},
        ),
        format,
    )


def tables(
    name: Annotated[str | None, typer.Argument(help="A table, for its columns alone.")] = None, format: OutputFormat = None
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
    loaded = known_formats.load()
    for module in (*loaded.of_lines, *loaded.of_files):
        if name_of(module) == name:
            typer.echo((module.__doc__ or "").strip())
            return
    if name in documented():
        tables(name, Format.table)
        return
    errors.print(f"queries: {', '.join(sorted(load()))}", markup=False)
    raise UserError(f"there is no query, format or table '{name}'", "see scalelens queries, formats, tables")
