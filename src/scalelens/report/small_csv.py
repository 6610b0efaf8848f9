"""A small answer as CSV without polars, which takes as long to load as a small question takes to answer."""

from datetime import datetime
from decimal import Decimal
from typing import Any

from scalelens.report.text_formats import cell, inert_cell

MOST_ROWS = 1000  # polars writes more rows faster, its loading included
NEEDS_QUOTES = frozenset(',"\n\r')
WHOLE = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
IN_LISTS = {"string", "bool", "double", *WHOLE}
READ = {"timestamp[us]", *IN_LISTS}


def small_csv(answer: Any, header: bool = True) -> str | None:
    """The text that `inert_csv` gives for an Arrow table; None where only polars knows how it writes a value."""
    if answer.num_rows > MOST_ROWS or not answer.num_columns:
        return None
    columns = []
    for column in answer.columns:
        texts = texts_of(column)
        if texts is None:
            return None
        columns.append(texts)
    names = [in_quotes(inert_cell(name)) for name in answer.column_names]
    return "".join(",".join(line) + "\n" for line in (*([names] if header else ()), *zip(*columns, strict=True)))


def texts_of(column: Any) -> list[str] | None:
    """Values of a column as CSV has them; None for other types, and for NaN, infinity and numbers of 1e16 and more."""
    kind = str(column.type)
    if kind not in READ and not (kind.startswith("list<") and str(column.type.value_type) in IN_LISTS):
        return None
    values = column.to_pylist()
    if kind == "double":
        texts = ["" if value is None else number_text(value) for value in values]
        return None if any("+" in text or "n" in text for text in texts) else texts
    if kind in WHOLE or kind == "bool":
        return ["" if value is None else str(value).lower() for value in values]
    if kind == "timestamp[us]":
        return ["" if value is None else time_text(value) for value in values]
    if kind == "string":
        return ["" if value is None else in_quotes(inert_cell(value)) for value in values]
    return ["" if value is None else in_quotes(inert_cell(cell(value))) for value in values]


def number_text(value: float) -> str:
    """The digits of `repr`, 1e-05 written out, and smaller ones as 1e-6."""
    text = repr(value)
    return f"{Decimal(text):f}" if text.endswith("e-05") else text.replace("e-0", "e-")


def time_text(value: datetime) -> str:
    """A time with as many digits behind the second as it needs: none, three or six."""
    text = value.isoformat(" ", "microseconds")
    return text.removesuffix(".000000") if text.endswith("000000") else text.removesuffix("000")


def in_quotes(text: str) -> str:
    """A text, in quotation marks where a CSV needs them; an empty text has them, because NULL has none."""
    return '"' + text.replace('"', '""') + '"' if not text or not NEEDS_QUOTES.isdisjoint(text) else text
