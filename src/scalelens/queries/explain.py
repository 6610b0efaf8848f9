"""The page of a query, as `scalelens explain` prints it: what its header says, in order, and its SQL."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from scalelens.errors import UserError, did_you_mean
from scalelens.queries.header import NOTES, Query
from scalelens.queries.load import load


def explain(name: str, folders: tuple[Path, ...] = ()) -> str:
    """The page of a query, or the queries that have a column of this name.

    Raises UserError for a name that is neither, with the names that it may be meant for.
    """
    queries = load(folders)
    if name in queries:
        return page(queries[name])
    if found := columns_named(name, queries):
        return found
    raise UserError(
        f"there is no query '{name}'", did_you_mean(name, queries) or f"there are {', '.join(sorted(queries))}"
    )


def page(query: Query, with_sql: bool = True) -> str:
    """Definition, formula, reference, assumptions and limits, then parameters, columns, what it reads, and the SQL."""
    parameters = [(f"{parameter.name} := {parameter.default}", parameter.meaning) for parameter in query.parameters]
    columns = [(column.name, f"{column.type} {column.unit or ''}".strip(), column.meaning) for column in query.columns]
    asked = f"scalelens query {query.explained_when_empty}" if query.when_empty else ""
    sections = {
        "Definition": query.answers,
        **{heading: query.notes[heading] for heading in NOTES if heading in query.notes},
        "Parameters": _aligned(parameters),
        "Columns": _aligned(columns),
        "Reads": ", ".join(query.sources),
        "Where there are no rows": "; ".join(filter(None, (asked, query.reason_when_empty))),
        "SQL": query.sql if with_sql else "",
    }
    parts = [f"{query.name}: {query.title}", *(f"{name}\n{_indented(text)}" for name, text in sections.items() if text)]
    return "\n\n".join(parts)


def first_screen(query: Query) -> str:
    """The page of a query up to its parameters, and how to see the rest."""
    beginning = page(query).partition("\n\nColumns\n")[0]
    return f"{beginning}\n\nits columns and SQL: scalelens explain {query.name} --all"


def columns_named(name: str, queries: Mapping[str, Query]) -> str:
    """Each query that returns a column of this name, with what it says there; empty where none does."""
    places = [
        (f"{query.name}.{column.name}", f"{column.type} {column.unit or ''}".strip(), column.meaning)
        for query in sorted(queries.values(), key=lambda query: (query.is_helper, query.name))
        for column in query.columns
        if column.name == name
    ]
    return f"{name} is a column of\n{_indented(_aligned(places))}" if places else ""


def _aligned(rows: Sequence[tuple[str, ...]]) -> str:
    """Rows of texts as lines, each column as wide as its longest text."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("   ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)


def _indented(text: str) -> str:
    """Every line two spaces further in."""
    return "\n".join(f"  {line}".rstrip() for line in text.splitlines())
