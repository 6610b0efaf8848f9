"""An answer as an envelope: JSON for programs and assistants, with what a list of rows leaves out.

docs/envelope.md describes it.  The number in SCHEMA rises when a key goes or changes its meaning, not for a new key.
"""

from collections import Counter
from typing import TYPE_CHECKING, Any

from scalelens.report.text.json_text import plain_rows

if TYPE_CHECKING:
    import polars as pl

    from scalelens.report.answers import Answer

SCHEMA = "scalelens-envelope/1"
DOUBTS = ("warning", "note", "reason", "abstention")  # columns that hold sentences
# Columns that say what a row is about, in the order of a key.
IDENTITY = (
    "series", "run_id", "run", "name", "system", "model", "node", "place", "device", "rank", "scope", "attempt",
    "phase", "epoch", "step", "train_step", "devices", "global_batch_size", "class", "collective", "kernel", "operator",
    "setting", "key", "rule", "metric", "measure", "side", "file_id", "line",
)  # fmt: skip


def envelope_text(answer: "Answer") -> str:
    """The envelope of an answer, ended by a line feed."""
    import msgspec

    said = answer.provenance
    keys = [name for name in IDENTITY if name in answer.rows.columns]
    rows = plain_rows(answer.rows)
    names = row_keys(rows, keys)
    envelope = {
        "schema": SCHEMA,
        "query": said.get("query"),
        "title": answer.query.title if answer.query else None,
        "parameters": said.get("parameters", {}),
        "columns": columns_of(answer),
        "key_columns": keys,
        "rows": [{"key": name, "values": row} for name, row in zip(names, rows, strict=True)],
        "doubts": [
            {"key": name, "column": column, "text": row[column]}
            for name, row in zip(names, rows, strict=True)
            for column in DOUBTS
            if row.get(column)
        ],
        "sql": said["sql"],
        "definition": answer.query.sql if answer.query else None,
        "inputs_sha256": said["inputs_sha256"],
        "provenance": said,
    }
    text = msgspec.json.Encoder(decimal_format="number").encode(envelope)
    return msgspec.json.format(text, indent=1).decode() + "\n"


def columns_of(answer: "Answer") -> list[dict[str, Any]]:
    """Name, type, unit and meaning of each column; of a user's own SQL no unit and meaning are known."""
    known = {column.name: column for column in answer.query.columns} if answer.query else {}
    return [
        {
            "name": name,
            "type": json_type(kind),
            "unit": known[name].unit if name in known else None,
            "meaning": known[name].meaning if name in known else None,
        }
        for name, kind in answer.rows.schema.items()
    ]


def json_type(kind: "pl.DataType") -> str:
    """The JSON type of a column's values; any value may be null."""
    import polars as pl

    if kind.is_integer():
        return "integer"
    if kind.is_numeric():
        return "number"
    if kind == pl.Boolean:
        return "boolean"
    return "array" if isinstance(kind, pl.List | pl.Array) else "object" if kind.is_nested() else "string"


def row_keys(rows: list[dict[str, Any]], columns: list[str]) -> list[str]:
    """A name for each row that stays the same as long as its key columns do; a second one of a name ends in #2."""
    keys = ["/".join(f"{name}={row[name]}" for name in columns if row[name] is not None) for row in rows]
    seen: Counter[str] = Counter()
    for place, key in enumerate(keys):
        seen[key] += 1
        keys[place] = f"{key}#{seen[key]}" if seen[key] > 1 or not key else key
    return keys
