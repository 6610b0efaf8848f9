"""An answer as an envelope: JSON for programs and assistants, with what a list of rows leaves out.

docs/envelope.md describes it.  The number in SCHEMA rises when a key goes or changes its meaning, not for a new key.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scalelens.inert import escaped_in_json
from scalelens.report.text.json_text import plain_rows

if TYPE_CHECKING:
    import polars as pl

    from scalelens.question.answer import Answer

_SCHEMA = "scalelens-envelope/1"


def envelope_text(answer: "Answer", provenance: Mapping[str, Any]) -> str:
    """The envelope of an answer, ended by a line feed."""
    import msgspec

    rows = zip(answer.keys, plain_rows(answer.frame), strict=True)
    envelope = {
        "schema": _SCHEMA,
        "query": answer.question.query,
        "title": answer.query.title if answer.query else None,
        "parameters": answer.question.parameters,
        "columns": _columns_of(answer),
        "key_columns": answer.key_columns,
        "rows": [{"key": key, "values": row} for key, row in rows],
        "doubts": [doubt._asdict() for doubt in answer.doubts],
        "sql": answer.sql,
        "definition": answer.query.sql if answer.query else None,
        "inputs_sha256": provenance["inputs_sha256"],
        "provenance": provenance,
    }
    text = msgspec.json.Encoder(decimal_format="number").encode(envelope)
    return escaped_in_json(msgspec.json.format(text, indent=1).decode()) + "\n"


def _columns_of(answer: "Answer") -> list[dict[str, Any]]:
    """Name, type, unit and meaning of each column; of a user's own SQL no unit and meaning are known."""
    known = answer.columns
    return [
        {
            "name": name,
            "type": _json_type(kind),
            "unit": known[name].unit if name in known else None,
            "meaning": known[name].meaning if name in known else None,
        }
        for name, kind in answer.frame.schema.items()
    ]


def _json_type(kind: "pl.DataType") -> str:
    """The JSON type of a column's values; any value may be null."""
    import polars as pl

    if kind.is_integer():
        return "integer"
    if kind.is_numeric():
        return "number"
    if kind == pl.Boolean:
        return "boolean"
    return "array" if isinstance(kind, pl.List | pl.Array) else "object" if kind.is_nested() else "string"
