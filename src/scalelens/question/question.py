"""What is asked of a warehouse: a query by its name and parameters, or a statement of SQL."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from scalelens.database.texts import sql_text

EVERYTHING = "* FROM {}"
# All rows of a query with facts of their runs, which charts ask for (charts/load.py).
_ID_LIKE_A_NUMBER = re.compile(r"(?=.{12}$)\d+e\d+")
_WITH_FACTS = re.compile(r"q\.\*(?:, r\.\w+)* FROM \{\} AS q LEFT JOIN runs AS r USING \(run_id\)")


@dataclass(frozen=True)
class Question:
    """A query with its parameters, or SQL of the user's.

    `select` is what stands after SELECT, with {} in the place of the query: `devices FROM {} WHERE devices > 8`.
    `unsafe` lets the statement, and parameters such as `runs`, read files outside of the warehouse.
    """

    query: str | None = None
    sql: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    select: str = EVERYTHING
    unsafe: bool = False

    @property
    def statement(self) -> str:
        """The SQL that answers."""
        if self.query is None:
            return self.sql
        return f"SELECT {self.select.replace('{}', call(self.query, dict(sorted(self.parameters.items()))))}"

    @property
    def has_all_rows(self) -> bool:
        """Whether the answer has all rows and columns of the query."""
        return self.select == EVERYTHING or bool(_WITH_FACTS.fullmatch(self.select))

    @property
    def all_rows(self) -> "Question":
        """The same without a choice of rows or columns."""
        return Question(self.query, self.sql, self.parameters, unsafe=self.unsafe)

    def told(self) -> dict[str, Any]:
        """The question as a provenance tells it; `question_in` reads it again."""
        told: dict[str, Any] = {"statement": self.sql}
        if self.query is not None:
            told = {"query": self.query, "parameters": dict(self.parameters), "refined": self.select}
        return {**told, "unsafe": True} if self.unsafe else told


def question_in(provenance: Mapping[str, Any]) -> Question:
    """The question that a provenance tells of.  Raises KeyError where it tells of none."""
    if provenance.get("query") is None:
        return Question(sql=str(provenance["statement"]), unsafe=bool(provenance.get("unsafe")))
    return Question(
        str(provenance["query"]),
        parameters=dict(provenance.get("parameters", {})),
        select=str(provenance.get("refined", EVERYTHING)),
        unsafe=bool(provenance.get("unsafe")),
    )


def select_of(
    columns: str | None = None, where: str | None = None, sort: str | None = None, limit: int | None = None
) -> str:
    """What stands after SELECT, with {} in the place of the query; sorting by `-step_s` is descending.

    >>> select_of("devices", "devices > 8", "-devices", 3)
    'devices FROM {} WHERE devices > 8 ORDER BY devices DESC LIMIT 3'
    """
    order = [f"{key[1:]} DESC" if key.startswith("-") else key for key in (sort or "").split(",") if key]
    parts = [f"{columns or '*'} FROM {{}}", f"WHERE {where}" if where else ""]
    parts += [f"ORDER BY {', '.join(order)}" if order else "", f"LIMIT {limit}" if limit is not None else ""]
    return " ".join(filter(None, parts))


def call(name: str, parameters: Mapping[str, Any]) -> str:
    """SQL that calls the macro of a query.

    >>> call("batch_stats", {"warmup": 5})
    'batch_stats(warmup := 5)'
    """
    written = (f"{key} := {_text(value) if key == 'runs' else literal(value)}" for key, value in parameters.items())
    return f"{name}({', '.join(written)})"


def _text(value: Any) -> str:
    return "NULL" if value is None else sql_text(str(value))


def literal(value: Any) -> str:
    """A parameter as SQL.  Numbers and booleans stay as they are, even those that come as text; the rest is text.

    Digits that begin with 0 are text: the beginning of a run's id.  So are 12 digits of which one is an e: a whole id.
    """
    text = str(value)
    if _ID_LIKE_A_NUMBER.fullmatch(text):
        return sql_text(text)
    if value is None or re.fullmatch(r"[-+]?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?|true|false|True|False", text):
        return "NULL" if value is None else text
    return sql_text(text)
