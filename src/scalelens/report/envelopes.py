"""An answer as an envelope: JSON for programs and assistants, with what a list of rows leaves out.

docs/envelope.md describes it.  The number in the schema rises when a key goes or changes its meaning.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from scalelens.inert import escaped_in_json
from scalelens.question.answer import doubts_in
from scalelens.report.text.json_text import plain_rows
from scalelens.tables import documented

if TYPE_CHECKING:
    import polars as pl

    from scalelens.question.answer import Answer

_SCHEMA = "scalelens-envelope/2"
_RUNS = ("run_id", "run_ids", "from_run_ids", "to_run_ids")  # columns that name the runs of a row
_MOST_FILES = 8  # of a run that are named one by one
_TEXTS = ("string", "array", "object")  # types of values that may hold text of a log


def envelope_text(answer: "Answer", provenance: Mapping[str, Any], empty_because: Sequence[Mapping[str, str]]) -> str:
    """The envelope of an answer, ended by a line feed: a line for each row, column, doubt, run and file."""
    envelope = {
        **content_of(answer),
        "rows_in_all": answer.frame.height,
        "truncated": None,
        "empty_because": list(empty_because),
        "sql": answer.sql,
        "inputs_sha256": provenance["inputs_sha256"],
        "provenance": provenance,
    }
    lines = (f' "{key}": {_laid_out(value)}' for key, value in envelope.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _laid_out(value: Any) -> str:
    if not isinstance(value, list) or not value:
        return json_of(value)
    return "[\n" + ",\n".join(f"  {json_of(item)}" for item in value) + "\n ]"


def json_of(value: Any) -> str:
    """JSON of one line."""
    import msgspec

    return escaped_in_json(msgspec.json.Encoder(decimal_format="number").encode(value).decode())


def content_of(
    answer: "Answer", names: Sequence[str] | None = None, digits: int | None = None, rests_on: Sequence[str] = ()
) -> dict[str, Any]:
    """What an answer holds, as docs/envelope.md says: columns, rows, doubts, and where each row comes from.

    `names` are the columns to show, all without it; `digits` the significant digits of numbers; `rests_on` the runs of
    rows that name none.
    """
    doubts = answer.doubt_columns
    shown = [name for name in names or answer.frame.columns if name not in doubts]
    rows = plain_rows(answer.frame)
    return {
        "schema": _SCHEMA,
        "query": answer.question.query,
        "title": answer.query.title if answer.query else None,
        "parameters": answer.question.parameters,
        "columns": list(_columns_of(answer, shown)),
        "key_columns": [name for name in answer.key_columns if name in shown],
        "rows": [[_rounded(row[name], digits) for name in shown] for row in rows],
        "doubts": [
            {"column": doubt.column, "untrusted_text": doubt.text, "rows": doubt.rows}
            for doubt in doubts_in(rows, doubts)
        ],
        **_origins(answer, rows, rests_on),
    }


def _rounded(value: Any, digits: int | None) -> Any:
    if digits is None or not isinstance(value, float) or value == 0:
        return value
    return round(value, digits - 1 - math.floor(math.log10(abs(value))))


def _columns_of(answer: "Answer", names: Iterable[str]) -> Iterable[dict[str, Any]]:
    """Name, type, unit and meaning of each column; of a user's own SQL no unit and meaning are known.

    A pivot makes names of values: a name that neither the statement nor a query has stands apart, as text of a log.
    """
    known = answer.columns
    for place, name in enumerate(names, 1):
        kind = _json_type(answer.frame.schema[name])
        column: dict[str, Any] = {"name": name, "type": kind, "unit": None, "meaning": None}
        if name in known:
            column.update(unit=known[name].unit, meaning=known[name].meaning)
        elif not answer.query and not _is_ours(name, answer):
            column.update(name=f"column_{place}", untrusted_name=name)
        yield {**column, "untrusted": True} if kind in _TEXTS else column


def _is_ours(name: str, answer: "Answer") -> bool:
    """Whether the name of a column comes from the statement, from DuckDB or from our tables, not from a value."""
    if _plain(name) in _plain(answer.sql) or re.fullmatch(r"count_star\(\)|col(?:umn)?\d+", name):
        return True
    of_tables = {column.name for columns in documented().values() for column in columns}
    return name in of_tables or any(
        name == column.name for query in answer.queries.values() for column in query.columns
    )


def _plain(text: str) -> str:
    return re.sub(r'[\s"]', "", text).lower()


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


# Where rows come from


def _origins(answer: "Answer", rows: Sequence[Mapping[str, Any]], rests_on: Sequence[str]) -> dict[str, Any]:
    """For each row `from`: `f2:17` is line 17 of the file at place 2 of `files`, `r0` the run at place 0 of `runs`.

    A row that names neither rests on the whole warehouse: `all`.
    """
    ids = [_runs_of(row) or rests_on for row in rows]
    runs = sorted({run for of_row in ids for run in of_row} & answer.run_names.keys())
    of_run = answer.files_of(runs)
    own = {row["file_id"] for row in rows if isinstance(row.get("file_id"), str)} & answer.file_names.keys()
    named = own.union(*(of_run.get(run, [])[:_MOST_FILES] for run in runs))
    files = sorted(named, key=lambda file_id: (answer.file_names.get(file_id, ""), file_id))
    place_of_file = {file_id: place for place, file_id in enumerate(files)}
    place_of_run = {run: place for place, run in enumerate(runs)}
    return {
        "from": [_origin(row, of_row, place_of_file, place_of_run) for row, of_row in zip(rows, ids, strict=True)],
        "runs": [
            {
                "run_id": run,
                "untrusted_name": answer.run_names[run],
                "files": [place_of_file[file_id] for file_id in of_run.get(run, [])[:_MOST_FILES]],
                "n_files": len(of_run.get(run, [])),
            }
            for run in runs
        ],
        "files": [
            {"file_id": file_id, "untrusted_path": answer.file_names.get(file_id, "")} for file_id in files
        ],
    }  # fmt: skip


def _runs_of(row: Mapping[str, Any]) -> list[str]:
    """The runs that a row is about."""
    found: list[str] = []
    for name in _RUNS:
        value = row.get(name)
        values = value if isinstance(value, list) else [value]
        found += [run for run in values if isinstance(run, str) and run not in found]
    return found


def _origin(
    row: Mapping[str, Any], runs: Iterable[str], place_of_file: Mapping[str, int], place_of_run: Mapping[str, int]
) -> list[str]:
    file_id, line = row.get("file_id"), row.get("line")
    found = []
    if isinstance(file_id, str) and file_id in place_of_file:
        place = f"f{place_of_file[file_id]}"
        found = [f"{place}:{line}" if isinstance(line, int) else place]
    return [*found, *(f"r{place_of_run[run]}" for run in runs if run in place_of_run)] or ["all"]
