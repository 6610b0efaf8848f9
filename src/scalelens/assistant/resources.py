"""Resources: tables, queries, runs and formats, each list and each item as the tools give it."""

import re
from typing import Any
from urllib.parse import unquote

RESOURCES = (
    ("scalelens://tables", "tables", "The tables and what a row of each is."),
    ("scalelens://queries", "queries", "The named questions, by topic."),
    ("scalelens://runs", "runs", "The runs of the warehouse."),
    ("scalelens://formats", "formats", "The formats that are read, and what each yields."),
)
TEMPLATES = (
    ("scalelens://tables/{name}", "table", "The columns of a table: type, unit, meaning."),
    ("scalelens://queries/{name}", "query", "What a query computes, its parameters and columns."),
    ("scalelens://runs/{name}", "run", "The settings of a run, each with where it comes from."),
    ("scalelens://formats/{name}", "format", "What a format reads, with sample lines."),
)
_URI = re.compile(r"scalelens://(tables|queries|runs|formats)(?:/([^/?#]{1,600}))?")


def tool_for(uri: str) -> tuple[str, dict[str, Any]] | None:
    """The tool that gives a resource, and what it takes; None where there is no such resource."""
    found = _URI.fullmatch(uri)
    if not found:
        return None
    kind, name = found[1], found[2] and unquote(found[2])
    if name is None:
        lists: dict[str, tuple[str, dict[str, Any]]] = {
            "tables": ("explain", {"name": "tables"}),
            "queries": ("list_questions", {}),
            "runs": ("ask", {"question": "runs_overview", "limit": 200}),
            "formats": ("explain", {"name": "formats"}),
        }
        return lists[kind]
    if kind == "runs":
        quoted = name.replace("'", "''")
        return "sql", {
            "statement": f"SELECT p.* FROM params AS p JOIN named_runs('{quoted}') USING (run_id) ORDER BY key, origin",
            "limit": 200,
        }
    return "explain", {"name": name}
