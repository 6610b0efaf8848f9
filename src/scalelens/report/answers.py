"""An answer with its provenance, whatever becomes of it: a table, a file of numbers, an envelope."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from scalelens.database.ask import answer_of, call, check_call
from scalelens.database.connect import connect
from scalelens.queries.header import Query
from scalelens.queries.load import load
from scalelens.report.inputs import NEEDED_FOR_INPUTS, inputs_of
from scalelens.report.provenance import make_provenance

EVERYTHING = "* FROM {}"


class Answer(NamedTuple):
    rows: pl.DataFrame
    provenance: dict[str, Any]
    query: Query | None  # None of a user's own SQL


def answered(root: Path, asked: Mapping[str, Any], query_folders: tuple[Path, ...] = ()) -> Answer:
    """The answer to `asked`, with its provenance.

    `asked` holds either `query`, `parameters` and `refined` (see `ask`), or `statement`, SQL of the user's.  With
    `unsafe` it may read other files.  All of it stands in the provenance.  SQL of the user's may rest on all
    files, whatever runs it shows.
    """
    name, folders, unsafe = asked.get("query"), query_folders, bool(asked.get("unsafe"))
    statement = statement_of(asked)
    queries = load(folders, statement)
    if name is not None:
        check_call(name, asked.get("parameters", {}), queries, folders)
    rows = answer_of(root, statement, folders, queries if name is not None else None, unsafe)
    whole = rows
    if name is not None and asked.get("refined", EVERYTHING) != EVERYTHING:
        # A row that is chosen rests on others that are not: an efficiency on its base.
        whole = answer_of(root, statement_of({**asked, "refined": EVERYTHING}), folders, queries, unsafe)
    connection = connect(root, folders, NEEDED_FOR_INPUTS, {}, closed=True)
    inputs = inputs_of(connection, root, whole if name is not None else rows.clear())
    return Answer(rows, make_provenance(asked, statement, inputs, rows, queries), queries.get(name or ""))


def statement_of(asked: Mapping[str, Any]) -> str:
    """The SQL that answers."""
    if "statement" in asked:
        return str(asked["statement"])
    refined = str(asked.get("refined", EVERYTHING))
    return f"SELECT {refined.replace('{}', call(asked['query'], dict(sorted(asked.get('parameters', {}).items()))))}"
