"""List the queries and what each answers."""

from scalelens.cli.options import OutputFormat, QueryFolders
from scalelens.cli.output import show

PANEL = "Ask"


def queries(folders: QueryFolders = None, format: OutputFormat = None) -> None:
    """List the queries by topic and what each answers; helpers of other queries come last.

    Examples:  scalelens queries      scalelens queries --queries my_queries/
    """
    import polars as pl

    from scalelens.queries.load import load

    ordered = sorted(load(tuple(folders or ())).values(), key=lambda query: (query.is_helper, query.topic, query.name))
    rows = [
        {
            "topic": f"{query.topic} (helper)" if query.is_helper else query.topic,
            "name": query.name,
            "answers": query.title,
            "parameters": " ".join(parameter.name for parameter in query.parameters),
        }
        for query in ordered
    ]
    show(pl.DataFrame(rows, schema=dict.fromkeys(("topic", "name", "answers", "parameters"), pl.String)), format)
