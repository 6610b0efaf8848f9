"""Where a name that people type belongs, if not where they typed it: a query, a chart or a table."""

import shlex
from collections.abc import Iterable
from pathlib import Path

from scalelens.errors import UserError

_OF_ALL = "_overview"  # ends the name of the query that shows what a table is about


def _commands_of(name: str) -> list[str]:
    """Commands that show what a name stands for: a query, a chart or a table; empty where it is none of these."""
    from scalelens.charts.load import load as load_charts
    from scalelens.queries.load import load as load_queries
    from scalelens.tables import documented

    name = name.lower().replace("-", "_")
    queries, charts = load_queries(), load_charts()
    commands = [f"scalelens query {query}" for query in (name, name + _OF_ALL) if query in queries]
    if name in charts:
        commands.append(f"scalelens plot {name} -o {name}.pdf")
    if not commands and name in documented():
        commands.append(f"scalelens sql {shlex.quote(f'FROM {name}')}")
    return commands


def refuse_command(name: str) -> None:
    """Raises UserError where a word that is not a command is a query, a chart or a table."""
    if commands := _commands_of(name):
        raise UserError(f"there is no command '{name}'", f"perhaps: {', or: '.join(commands)}")


def refuse_chart(name: str) -> None:
    """Raises UserError where a name that is not a chart is that of a query."""
    from scalelens.queries.load import paths_of_queries

    if name not in paths_of_queries(()):
        return
    from scalelens.charts.load import is_chart

    if not is_chart(name):
        raise UserError(
            f"the query {name} has no chart",
            f"see its rows: scalelens query {name}, or draw two of its columns with --sql, --x and --y",
        )


def refuse_query(name: str, folders: Iterable[Path]) -> None:
    """Raises UserError where a name that is not a query is that of a chart."""
    from scalelens.queries.load import paths_of_queries

    if name in paths_of_queries(folders):
        return
    from scalelens.charts.load import load as load_charts  # only a mistake needs them

    if chart := load_charts().get(name):
        raise UserError(f"there is no query '{name}'", f"that chart draws the rows of: scalelens query {chart.QUERY}")
