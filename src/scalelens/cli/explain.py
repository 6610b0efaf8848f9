"""Print what a query computes, with its formula and its SQL; or the documentation of a format, a table or a column."""

import sys
from typing import Annotated

import typer

from scalelens.cli.completions import query_names
from scalelens.cli.options import QueryFolders
from scalelens.cli.output import Format, say
from scalelens.cli.tables import tables
from scalelens.errors import UserError

PANEL = "Ask"
_START = """\
scalelens explain scaling      a query: definition, formula, limits, parameters, columns, SQL   (scalelens queries)
scalelens explain megatron     a format: what it reads, with sample lines                       (scalelens formats)
scalelens explain steps        a table: its columns                                             (scalelens tables)
scalelens explain efficiency   a column: the queries that return it\
"""


def explain(
    name: Annotated[
        str | None,
        typer.Argument(help="A query, a format, a table, or a column of a query.", autocompletion=query_names),
    ] = None,
    folders: QueryFolders = None,
    everything: Annotated[bool, typer.Option("--all", help="On a terminal, the columns and the SQL too.")] = False,
) -> None:
    """Print what a query computes: definition, formula, reference, assumptions, limits, parameters, columns and SQL.

    A terminal shows the first screen of it.  Of a format or a table it prints the documentation, of a column the
    queries that return it.

    Examples:  scalelens explain mfu      scalelens explain efficiency      scalelens explain megatron
    """
    from scalelens.errors import did_you_mean
    from scalelens.ingestion.formats import load as load_formats
    from scalelens.parsing.format_file import name_of
    from scalelens.queries.explain import columns_named, first_screen, page
    from scalelens.queries.load import load as load_queries
    from scalelens.tables import documented

    if name is None:
        say(_START)
        return
    queries = load_queries(tuple(folders or ()))
    loaded = load_formats()
    formats = {name_of(module): (module.__doc__ or "").strip() for module in (*loaded.of_lines, *loaded.of_files)}
    if name in queries:
        shown = page if everything or not sys.stdout.isatty() else first_screen
        say(shown(queries[name]))
    elif name in formats:
        say(formats[name])
    elif name in documented():
        tables(name, Format.table)
    elif found := columns_named(name, queries):
        say(found)
    else:
        names_by_kind = {"queries": sorted(queries), "formats": sorted(formats), "tables": documented()}
        lists = "; the ".join(f"{kind} {', '.join(names)}" for kind, names in names_by_kind.items())
        raise UserError(
            f"there is no query, format, table or column '{name}'",
            did_you_mean(name, {**queries, **formats, **documented()}) or f"there are the {lists}",
        )
