"""Old names of columns, by which users may ask for them in this version (`old_names.py`).

If a user's SQL calls a query and names one of its columns by an old name, a macro in the place of the query selects
the column by both names.  A user's query that replaces one of ours may still return an old name: the column is renamed,
because our queries, charts and findings use only the new ones.
"""

import re
from collections.abc import Mapping

from scalelens.old_names import OLD_COLUMNS, OLD_TEXTS
from scalelens.queries.header import Query, names_in

# A text, a comment, or a name that the SQL itself gives.
_NOT_A_COLUMN = re.compile(r"'(?:[^']|'')*'|--[^\n]*|\bAS\s+\w+", re.IGNORECASE)


def selected_columns(sql: str, queries: Mapping[str, Query]) -> dict[str, str]:
    """What a macro in the place of a query must select, by query, for SQL that uses old names.

    `SELECT warning, devices FROM scaling()` needs `*, note AS warning` of `scaling`.
    """
    words = names_in(_NOT_A_COLUMN.sub(" ", sql))
    selected: dict[str, str] = {}
    for name in sorted(OLD_COLUMNS.keys() & queries.keys() & words):
        own = {column.name for column in queries[name].columns}
        old_ones = [(old, new) for old, new in OLD_COLUMNS[name].items() if old in words and new in own]
        if old_ones:
            selected[name] = ", ".join(["*", *(_by_old_name(*names) for names in old_ones)])
    return selected


def _by_old_name(old: str, new: str) -> str:
    return f"array_to_string({new}, ' ') AS {old}" if old in OLD_TEXTS else f"{new} AS {old}"


def with_new_columns(query: Query) -> Query:
    """A user's query that replaces one of ours, with the new names of its columns."""
    own = {column.name for column in query.columns}
    names = {old: new for old, new in OLD_COLUMNS.get(query.name, {}).items() if old in own and new not in own}
    if not names:
        return query
    renamed = ", ".join(f"{old} AS {new}" for old, new in names.items())
    return query._replace(
        columns=tuple(column._replace(name=names.get(column.name, column.name)) for column in query.columns),
        glance=tuple(re.sub(r"\w+", lambda name: names.get(name[0], name[0]), entry) for entry in query.glance),
        sql=f"SELECT * RENAME ({renamed}) FROM (\n{query.sql}\n)",
    )
