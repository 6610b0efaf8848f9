"""List the queries by topic, each with the question that it answers."""

import sys
from typing import Annotated

import typer

from scalelens.cli.options import OutputFormat, QueryFolders
from scalelens.cli.output import Format, show

PANEL = "Ask"


def queries(
    folders: QueryFolders = None,
    format: OutputFormat = None,
    everything: Annotated[bool, typer.Option("--all", help="Helpers of other queries, too.")] = False,
) -> None:
    """List the queries by topic, each with the question that it answers.

    Examples:  scalelens queries      scalelens queries --queries my_queries/      scalelens queries --all
    """
    import polars as pl

    from scalelens.queries.load import load

    listed = [query for query in load(tuple(folders or ())).values() if everything or not query.is_helper]
    ordered = sorted(listed, key=lambda query: (query.is_helper, query.topic, query.name))
    rows = [
        {
            "topic": f"{query.topic} (helper)" if query.is_helper else query.topic,
            "name": query.name,
            "answers": query.title,
            "question": query.question,
            "parameters": " ".join(parameter.name for parameter in query.parameters),
        }
        for query in ordered
    ]
    if format is Format.table or (format is None and sys.stdout.isatty()):
        _print_by_topic(rows)
    else:
        names = ("topic", "name", "answers", "question", "parameters")
        show(pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String)), format)


def _print_by_topic(rows: list[dict[str, str]]) -> None:
    """Prints a heading for each topic, and a name and a question for each query below it."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    width = max((len(row["name"]) for row in rows), default=0)
    for topic in dict.fromkeys(row["topic"] for row in rows):
        console.print(Text(topic, style="bold"))
        table = Table(box=None, show_header=False, pad_edge=False)
        table.add_column(min_width=width, no_wrap=True)
        table.add_column()
        for row in rows:
            if row["topic"] == topic:
                table.add_row(Text(f"  {row['name']}"), Text(row["question"]))
        console.print(table)
