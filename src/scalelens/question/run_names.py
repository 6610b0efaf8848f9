"""What to call runs where people read: the answer to `run_names`, for tables, charts and the report."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from scalelens.database.texts import sql_text

if TYPE_CHECKING:
    import pyarrow as pa

# There is no text in it: a question with a text may read more tables.
RUN_NAMES = "SELECT run_id, name FROM run_names()"
# A name that is one word of the shell between double quotes, and not a condition or key=value; it may have apostrophes
# and words in parentheses.
_PLAIN = re.compile(r"[\w.,:/+@%…-](?:[\w.,:/+@%…-]|(?<=\w)'| (?=[^ '])|(?<= )\([\w.:/+@%…-]+\))*(?<! )")
_OPERATOR = re.compile(r"(?:^| )(?:and|or|not|is|in|like|ilike|between)(?: |$)|^(?:true|false)$", re.IGNORECASE)
_ARGUMENT = re.compile(r"\b(runs|a|b)=([0-9a-f]{12}(?:-\d+)?)(?![^\s;,)])")  # a run of a command, by its id
_IN_SQL = re.compile(r"\b(a|b|runs) := '([0-9a-f]{12}(?:-\d+)?)'")  # the same of a query that is called in SQL


def names_by_id(rows: "pa.Table") -> dict[str, str]:
    """The names of runs by their id, of the answer to RUN_NAMES."""
    return dict(zip(*(column.to_pylist() for column in rows.columns), strict=True))


def in_command(names: Mapping[str, str], run: str) -> str:
    """What a command that is advised calls a run: its name, or its id where that would be read as something else."""
    name = names.get(run, run)
    return name if _PLAIN.fullmatch(name) and not _OPERATOR.search(name) else run


def with_names(text: str, names: Mapping[str, str]) -> str:
    """A text whose commands, and the queries that it names, call runs by their names."""
    if "=" not in text:
        return text
    text = _IN_SQL.sub(lambda found: f"{found[1]} := {sql_text(in_command(names, found[2]))}", text)
    return _ARGUMENT.sub(lambda found: _named(found[1], found[2], names), text)


def _named(key: str, run: str, names: Mapping[str, str]) -> str:
    """An argument of a command with the name of its run."""
    name = in_command(names, run)
    return f'{key}="{name}"' if " " in name else f"{key}={name}"
