"""The rows of the page as it reads them: columns of numbers, and of texts that are listed once each.

The page is one file of bounded size.  Where the rows are too many, the kind that takes most room is halved until they
fit, and the page says so.
"""

import json
from collections.abc import Mapping
from typing import Any

import polars as pl
import polars.selectors as cs

from scalelens.charts.words import with_unit
from scalelens.queries.header import Query
from scalelens.question.question import Question
from scalelens.question.session import Session
from scalelens.report.explore.kinds import ALL_ROWS, KINDS, SETTINGS, Join, Kind
from scalelens.report.text.cells import cell

MOST_ROWS = 5000
MOST_BYTES = 3_900_000  # of all rows as JSON; the code of the page takes 1 MB more
_IDS = ("run_id", "file_id", "run_ids")
_ENDS = ("_low", "_high")  # of intervals, which are drawn with their values


def rows_of_kinds(session: Session) -> list[dict[str, Any]]:
    """Each kind that has rows.  Raises UserError as `Session.ask` does."""
    joins = {name: kind.joins_with(_columns_of(session, kind)) for name, kind in KINDS.items()}
    statements = {name: kind.statement(joins[name], MOST_ROWS) for name, kind in KINDS.items()}
    session.share(*(Question(sql=statement) for statement in statements.values()))
    frames = {name: session.ask(Question(sql=statement)).frame for name, statement in statements.items()}
    meanings = {column.name: column.meaning for query in session.queries.values() for column in query.columns}
    counts = {name: int(rows[ALL_ROWS][0]) for name, rows in frames.items() if rows.height}
    frames = _small_enough({name: frames[name].drop(ALL_ROWS) for name in counts})
    return [
        _kind(name, KINDS[name], rows, counts[name], joins[name], session.queries[KINDS[name].query], meanings)
        for name, rows in frames.items()
    ]


def as_json(data: Any) -> str:
    """JSON for a script element, which only "<" could end."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def _columns_of(session: Session, kind: Kind) -> list[str]:
    return [column.name for column in session.queries[kind.query].columns]


def _small_enough(frames: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """The first rows of each, as many as fit into the page."""
    sizes = {name: _size(rows) for name, rows in frames.items()}
    while sum(sizes.values()) > MOST_BYTES:
        largest = max(sizes, key=lambda name: sizes[name])
        frames[largest] = frames[largest].head(frames[largest].height // 2)
        sizes[largest] = _size(frames[largest])
    return frames


def _size(rows: pl.DataFrame) -> int:
    return len(as_json([_values(column) for column in rows]).encode(errors="replace"))


def _kind(
    name: str, kind: Kind, rows: pl.DataFrame, n_all: int, joins: list[Join], query: Query,
    meanings: Mapping[str, str],
) -> dict[str, Any]:  # fmt: skip
    """A kind as the page reads it."""
    of_query = {column.name: column.meaning for column in query.columns}
    shown = [column for column in rows if column.null_count() < rows.height]
    is_cut = rows.height < n_all
    names = [column.name for column in shown]
    return {
        "name": name,
        "title": kind.title,
        "rows": rows.height,
        "thinned": f"{rows.height:,} of {n_all:,} rows are in this page: {kind.kept}." if is_cut else "",
        "source": kind.source(rows.height) if is_cut else kind.source(),
        "where": "" if is_cut else kind.where,
        "joins": [join._asdict() for join in joins],
        "x": [column for column in kind.x if column in names],
        "y": [column for column in kind.y if column in names],
        "color": [column for column in kind.color if column in names],
        "glance": [column.rstrip("%~") for column in query.glance if column.rstrip("%~") in names],
        "settings": [column for column in SETTINGS if column in names],
        "columns": [
            {
                "name": column.name,
                "title": with_unit(column.name),
                "meaning": of_query.get(column.name, meanings.get(column.name, "")),
                "type": _type(column),
                "is_hidden": column.name in _IDS or column.name.endswith(_ENDS),
                **_values(column),
            }
            for column in shown
        ],
    }


def _type(column: pl.Series) -> str:
    """number, whole (a number without decimals), text, flag, or other: what no condition is made of."""
    if column.dtype.is_integer():
        return "whole"
    if column.dtype.is_numeric():
        return "number"
    return {pl.String: "text", pl.Boolean: "flag"}.get(column.dtype.base_type(), "other")


def _values(column: pl.Series) -> dict[str, Any]:
    """The values of a column; each text once, and for each row the place of its text."""
    if column.dtype.is_numeric():
        finite = column.cast(pl.Float64) if column.dtype.is_decimal() else column
        known = pl.DataFrame(finite).with_columns(cs.float().map_batches(_finite)).to_series()
        return {"values": known.to_list()}
    if column.dtype == pl.Boolean:
        return {"values": column.to_list()}
    texts = [None if value is None else value if isinstance(value, str) else _text(value) for value in column.to_list()]
    listed = list(dict.fromkeys(text for text in texts if text is not None))
    places = {text: place for place, text in enumerate(listed)}
    return {"texts": listed, "places": [None if text is None else places[text] for text in texts]}


def _finite(column: pl.Series) -> pl.Series:
    """A column in which what is not a number, or has no end, is unknown."""
    return column.set(~column.is_finite(), None)


def _text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(cell(value))
