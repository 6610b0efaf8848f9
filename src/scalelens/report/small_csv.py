"""A small answer as CSV without polars, which takes as long to load as a small question takes to answer."""

from typing import Any

from scalelens.report.text_formats import inert_cell

MOST_ROWS = 1000  # polars writes more rows faster, its loading included
NEEDS_QUOTES = frozenset(',"\n\r')
WHOLE = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}


def small_csv(answer: Any) -> str | None:
    """The text that `inert_csv` gives for an Arrow table; None where only polars knows how it writes a value."""
    if answer.num_rows > MOST_ROWS or not answer.num_columns:
        return None
    columns = []
    for column in answer.columns:
        texts = texts_of(str(column.type), column.to_pylist())
        if texts is None:
            return None
        columns.append(texts)
    header = [in_quotes(inert_cell(name)) for name in answer.column_names]
    return "".join(",".join(line) + "\n" for line in (header, *zip(*columns, strict=True)))


def texts_of(kind: str, values: list[Any]) -> list[str] | None:
    """Values of a type as CSV has them; None for other types, and for numbers with an exponent, NaN and infinity."""
    if kind == "string":
        return ["" if value is None else in_quotes(inert_cell(value)) for value in values]
    if kind == "bool" or kind in WHOLE:
        return ["" if value is None else str(value).lower() for value in values]
    texts = ["" if value is None else repr(value) for value in values]
    return None if kind != "double" or any("e" in text or "n" in text for text in texts) else texts


def in_quotes(text: str) -> str:
    """A text, in quotation marks where a CSV needs them; an empty text has them, because NULL has none."""
    return '"' + text.replace('"', '""') + '"' if not text or not NEEDS_QUOTES.isdisjoint(text) else text
