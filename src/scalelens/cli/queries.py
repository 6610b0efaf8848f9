"""List the queries by topic, each with the question that it answers."""

from typing import Annotated

import typer

from scalelens.cli.options import OutputFormat, QueryFolders
from scalelens.cli.output import errors, show
from scalelens.cli.pieces import is_for_people
from scalelens.errors import UserError, did_you_mean

PANEL = "Ask"


def queries(
    topic: Annotated[str | None, typer.Argument(help="A topic: list only its queries, each with its question.")] = None,
    folders: QueryFolders = None,
    format: OutputFormat = None,
    everything: Annotated[bool, typer.Option("--all", help="Include helper queries.")] = False,
) -> None:
    """List the queries by topic; those of one topic with the question that each answers.

    Examples:  scalelens queries      scalelens queries scaling      scalelens queries --queries my_queries/
    """
    import polars as pl

    from scalelens.queries.load import load

    listed = [query for query in load(tuple(folders or ())).values() if everything or not query.is_helper]
    topics = sorted({query.topic for query in listed})
    if topic is not None and topic not in topics:
        near = did_you_mean(topic, topics)
        raise UserError(f"there is no topic '{topic}'", near or f"there are: {', '.join(topics)}")
    listed = [query for query in listed if topic in (None, query.topic)]
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
    if is_for_people(format):
        if topic is None and not folders:
            _print_names(rows)
        else:
            _print_by_topic(rows)
    else:
        names = ("topic", "name", "answers", "question", "parameters")
        show(pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String)), format)


def _print_names(rows: list[dict[str, str]]) -> None:
    """Prints the names of the queries of each topic, and how to go on: one screen."""
    from rich.table import Table
    from rich.text import Text

    from scalelens.cli.inert_console import results

    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True, style="bold")
    table.add_column()
    for topic in dict.fromkeys(row["topic"] for row in rows):
        names = ", ".join(row["name"] for row in rows if row["topic"] == topic)
        table.add_row(Text(topic), Text(names))
    results().print(table)
    errors.print("with their questions: scalelens queries scaling; one of them: scalelens explain scaling", style="dim")


def _print_by_topic(rows: list[dict[str, str]]) -> None:
    """Prints a heading for each topic, and a name and a question for each query below it."""
    from rich.table import Table
    from rich.text import Text

    from scalelens.cli.inert_console import results

    console = results()
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
