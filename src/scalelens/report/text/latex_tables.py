"""Answers as LaTeX tables: all columns as they are, or those of the glance with numbers in S columns of siunitx.

At a glance, `346.7 ± 1.2` becomes 346.7(12).  If an interval of a column is a range or lopsided, the intervals get a
column of their own.  Remarks about rows, and what all rows share, follow the table.
"""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from scalelens.report.text.cells import cell
from scalelens.report.text.latex import escaped, unit
from scalelens.report.text.table_columns import REMARKS, TableColumn

if TYPE_CHECKING:
    import polars as pl

# A number with its interval, as `table_columns` writes it.
_NUMBER = re.compile(
    r"(?P<value>-?\d+(?:\.\d+)?)"
    r"(?: ± (?P<half>\d+(?:\.\d+)?)| \((?P<range>range )?(?P<low>-?\d+(?:\.\d+)?) – (?P<high>-?\d+(?:\.\d+)?)\))?"
)
_HEADER_UNIT = re.compile(r"(.*) \[(.+)\]")


class _Column(NamedTuple):
    """A column of a tabular, in LaTeX."""

    alignment: str  # as in the argument of tabular
    header: str
    cells: list[str]


def _tabular(columns: Sequence[_Column], headings: Mapping[int, str] | None = None) -> str:
    """A tabular with the rules of booktabs.  `headings` are lines above rows, by the index of the row."""
    lines = [rf"\begin{{tabular}}{{{''.join(column.alignment for column in columns)}}}", r"\toprule"]
    lines += [" & ".join(column.header for column in columns) + r" \\", r"\midrule"]
    for index, row in enumerate(zip(*(column.cells for column in columns), strict=True)):
        if headings and index in headings:
            lines += [r"\addlinespace"] if index else []
            lines.append(rf"\multicolumn{{{len(columns)}}}{{@{{}}l}}{{{headings[index]}}} \\")
        lines.append(" & ".join(row) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def full_table(rows: "pl.DataFrame") -> str:
    """All columns of an answer; numbers are aligned right."""
    columns = []
    for column in rows:
        texts = [escaped(cell(value)) for value in column.to_list()]
        columns.append(_Column("r" if column.dtype.is_numeric() else "l", escaped(column.name), texts))
    return _tabular(columns)


def glance_table(columns: Sequence[TableColumn], heading: TableColumn | None = None) -> str:
    """The table of these columns.  Rows with the same text of `heading` follow that text."""
    remarks = [column for column in columns if column.name in REMARKS]
    shared: list[TableColumn] = []
    varying: list[TableColumn] = []
    for column in (column for column in columns if column.name not in REMARKS and any(column.texts)):
        is_same = len(column.texts) > 1 and len({*column.texts}) == 1 and column is not columns[0]
        (shared if is_same else varying).append(column)
    texts = heading.texts if heading else []
    headings = {k: escaped(text) for k, text in enumerate(texts) if k == 0 or text != texts[k - 1]}
    notes = [f"All rows: {', '.join(f'{column.header} {column.texts[0]}' for column in shared)}."] if shared else []
    notes += [f"{', '.join(keys)}: {text}." for text, keys in _doubts(columns, heading, remarks).items()]
    table = _tabular([made for column in varying for made in _columns_of(column)], headings)
    return table + "".join(f"{_note(text)}\n" for text in notes)


def _note(text: str) -> str:
    return rf"\par\smallskip{{\footnotesize {escaped(text)}\par}}"


def _doubts(
    columns: Sequence[TableColumn], heading: TableColumn | None, remarks: Sequence[TableColumn]
) -> dict[str, list[str]]:
    """Remarks, each with the rows that it is about, named by their heading and their first column."""
    rows: dict[str, dict[str, None]] = {}
    for column in remarks:
        for k, text in enumerate(column.texts):
            names = [*([heading.texts[k]] if heading else []), f"{columns[0].header} {columns[0].texts[k]}"]
            if text:
                rows.setdefault(text, {})[" · ".join(names)] = None
    return {text: [*keys] for text, keys in rows.items()}


def _columns_of(column: TableColumn) -> list[_Column]:
    """The LaTeX of a column, and a second column for its intervals if an S column cannot hold them."""
    header = _header_of(column.header)
    if not column.right:
        return [_Column("l", header, [escaped(text) for text in column.texts])]
    found = [_NUMBER.fullmatch(text) for text in column.texts]
    split = any(number and number["low"] for number in found)
    values = [
        _number_of(number, split) if number else f"{{{escaped(text)}}}" if text else ""
        for number, text in zip(found, column.texts, strict=True)
    ]
    made = [_Column(f"S[table-format={_table_format(values)}]", f"{{{header}}}", values)]
    if split:
        kinds = {_kind_of(number) for number in found if number} - {""}
        name = kinds.pop() if len(kinds) == 1 else "interval"
        cells = [_interval_of(number, name) if number else "" for number in found]
        made.append(_Column("l", {"95": r"\SI{95}{\percent} interval"}.get(name, name), cells))
    return made


def _header_of(text: str) -> str:
    """A header, with its unit for siunitx."""
    found = _HEADER_UNIT.fullmatch(text)
    return rf"{escaped(found[1])} [\si{{{unit(found[2])}}}]" if found else escaped(text)


def _number_of(number: re.Match[str], split: bool) -> str:
    """A number of an S column; its uncertainty counts units of the last digit."""
    if split or not number["half"]:
        return number["value"]
    return f"{number['value']}({number['half'].replace('.', '').lstrip('0') or '0'})"


def _kind_of(number: re.Match[str]) -> str:
    if number["half"] or (number["low"] and not number["range"]):
        return "95"
    return "range" if number["low"] else ""


def _interval_of(number: re.Match[str], name: str) -> str:
    """An interval, with its kind if the header does not say it."""
    kind = _kind_of(number)
    prefix = {"95": r"\SI{95}{\percent} ", "range": "range "}[kind] if kind and name == "interval" else ""
    if number["half"]:
        return rf"{prefix}$\pm$ \num{{{number['half']}}}"
    return rf"{prefix}\numrange{{{number['low']}}}{{{number['high']}}}" if number["low"] else ""


def _table_format(values: Sequence[str]) -> str:
    """The room that the digits of an S column need, such as 3.1(2)."""
    numbers = [found for value in values if (found := re.fullmatch(r"(-?)(\d+)(?:\.(\d+))?(?:\((\d+)\))?", value))]
    minus = "-" if any(number[1] for number in numbers) else ""
    whole, decimals, half = (max((len(number[k] or "") for number in numbers), default=0) for k in (2, 3, 4))
    return f"{minus}{whole or 1}{f'.{decimals}' if decimals else ''}{f'({half})' if half else ''}"
