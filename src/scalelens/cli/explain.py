"""Print the documentation of a query with its SQL, of a format, or of a table."""

from typing import Annotated

import typer

from scalelens.cli.options import QueryFolders
from scalelens.cli.output import Format
from scalelens.cli.tables import tables
from scalelens.errors import UserError

PANEL = "Ask"


def explain(
    name: Annotated[str, typer.Argument(help="A query, a format or a table.")],
    folders: QueryFolders = None,
) -> None:
    """Print the documentation of a query with its SQL, of a format, or of a table.

    Examples:  scalelens explain scaling      scalelens explain megatron
    """
    from scalelens.ingestion.formats import load as load_formats
    from scalelens.parsing.format_file import name_of
    from scalelens.queries.load import load as load_queries
    from scalelens.tables import documented

    queries = load_queries(tuple(folders or ()))
    loaded = load_formats()
    formats = {name_of(module): (module.__doc__ or "").strip() for module in (*loaded.of_lines, *loaded.of_files)}
    if name in queries:
        typer.echo(queries[name].text)
    elif name in formats:
        typer.echo(formats[name])
    elif name in documented():
        tables(name, Format.table)
    else:
        names_by_kind = {"queries": sorted(queries), "formats": sorted(formats), "tables": documented()}
        lists = "; the ".join(f"{kind} {', '.join(names)}" for kind, names in names_by_kind.items())
        raise UserError(f"there is no query, format or table '{name}'", f"there are the {lists}")
