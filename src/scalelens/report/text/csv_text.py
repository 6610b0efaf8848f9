"""Rows as CSV that does nothing when opened: control characters are visible, and no text is a formula.

Few rows are written in Python, because polars takes as long to load as a small question takes to answer.  Many rows are
written by polars: Python needs twelve times as long, and Arrow needs three times as long for the floats alone.
"""

import re
from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from types import NoneType
from typing import TYPE_CHECKING, Any

from scalelens.inert import FORMULA, NUMBER, visible
from scalelens.report.columns import list_of
from scalelens.report.text.cells import cell
from scalelens.report.text.short_floats import without_noise

if TYPE_CHECKING:
    import pyarrow as pa

FEW_ROWS = 1000  # polars writes more rows faster, its loading included
_NEEDS_QUOTES = frozenset(',"\n\r')
_CONTROL_OR_FORMULA = (
    r"^[=+@-]|[\p{Cc}\p{Cf}\p{Cn}\p{Zl}\p{Zp}]"  # the characters in the classes of polars' expressions
)
_PLAIN = (  # types that polars writes as this module does
    "null", "boolean", "integer", "float64", "decimal", "date", "time", "timestamp", "string", "large_string",
    "string_view", "dictionary",
)  # fmt: skip


def csv_text(answer: "pa.Table", header: bool = True) -> str:
    """Rows of an Arrow table as CSV, with the names of its columns unless `header` is False."""
    names = ",".join(map(_field, answer.column_names)) + "\n" if header else ""
    for k, (name, column) in enumerate(zip(answer.column_names, answer.columns, strict=True)):
        if (shown := without_noise(column)) is not column:
            answer = answer.set_column(k, name, shown)
    return names + (_few_rows(answer) if answer.num_rows <= FEW_ROWS else _many_rows(answer))


def _few_rows(answer: "pa.Table") -> str:
    columns = [map(_field, _values(column)) for column in answer.columns]
    return "".join(",".join(line) + "\n" for line in zip(*columns, strict=True))


def _many_rows(answer: "pa.Table") -> str:
    import polars as pl
    import pyarrow as pa

    for k, (name, column) in enumerate(zip(answer.column_names, answer.columns, strict=True)):
        is_plain = any(getattr(pa.types, f"is_{kind}")(column.type) for kind in _PLAIN)
        if not is_plain or (pa.types.is_float64(column.type) and _has_large(column)):
            texts = [None if value is None else _text(value) for value in _values(column)]
            answer = answer.set_column(k, name, pa.array(texts, pa.string()))
    rows = pl.DataFrame(answer).with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))
    active = [name for name in rows.columns if rows[name].dtype == pl.String and _may_act(rows[name])]
    shown = (pl.Series(name, [text and _inert(text) for text in rows[name]], pl.String) for name in active)
    return rows.with_columns(shown).write_csv(include_header=False, datetime_format="%Y-%m-%d %H:%M:%S%.f")


def _has_large(floats: "pa.ChunkedArray") -> bool:
    """Whether some need an exponent, which older versions of polars write without a sign."""
    from scalelens import arrow_compute as pc

    return bool(pc.any(pc.greater_equal(pc.abs(floats), 1e16)).as_py())


def _may_act(texts: Any) -> bool:
    return bool(texts.str.contains(_CONTROL_OR_FORMULA).any())


def _values(column: "pa.ChunkedArray") -> list[Any]:
    """The values of a column.  Types that Python lacks come as values that are written the same."""
    import numpy as np
    from pyarrow import types

    if types.is_timestamp(column.type) and column.type.unit == "ns":
        texts = np.datetime_as_string(column.to_numpy())
        return [None if text == "NaT" else _short_time(text.replace("T", " ")) for text in texts.tolist()]
    if types.is_float32(column.type):  # the 0.1 of 32 bits is not the 0.1 of 64 bits
        return [None if value is None else float(str(np.float32(value))) for value in column.to_pylist()]
    if types.is_map(column.type):
        return [None if pairs is None else dict(pairs) for pairs in list_of(column)]
    return list_of(column)


def _field(value: Any) -> str:
    """A value between two commas.  Quotation marks distinguish an empty text from NULL."""
    if write := _UNQUOTED.get(type(value)):
        return write(value)
    text = _inert(_text(value))
    return '"' + text.replace('"', '""') + '"' if not text or not _NEEDS_QUOTES.isdisjoint(text) else text


def _text(value: Any) -> str:
    return value if isinstance(value, str) else _UNQUOTED.get(type(value), cell)(value)


def _inert(text: str) -> str:
    """A text that does nothing in a spreadsheet.  Line feeds and tabs stay, because quotation marks hold them."""
    shown = visible(text, lines=True)
    is_formula = re.match(FORMULA, shown) and not re.match(NUMBER, shown)
    return f"'{shown}" if is_formula else shown


def _number(value: float) -> str:
    """The digits of `repr`, but 1e-05 in full, and smaller numbers without the zero in 1e-06."""
    text = "NaN" if value != value else repr(value)
    return f"{Decimal(text):f}" if text.endswith("e-05") else text.replace("e-0", "e-")


def _short_time(text: str) -> str:
    """A time with as many digits of a second as it needs: none, three, six or nine."""
    seconds, _, digits = text.partition(".")
    kept = -(-len(digits.rstrip("0")) // 3) * 3
    return f"{seconds}.{digits[:kept]}" if kept else seconds


_UNQUOTED: dict[type, Callable[[Any], str]] = {
    NoneType: lambda _: "",
    bool: lambda value: str(value).lower(),
    int: str,
    float: _number,
    Decimal: "{:f}".format,
    date: date.isoformat,
    time: "{:%H:%M:%S.%f}000".format,
    datetime: lambda value: _short_time(value.replace(tzinfo=None).isoformat(" ")),
}
