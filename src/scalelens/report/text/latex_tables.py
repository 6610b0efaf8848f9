"""Answers as LaTeX tables: all columns as they are, or those of the glance with numbers in S columns of siunitx.

At a glance, `346.7 ± 1.2` becomes 346.7(12).  If an interval of a column is a range or lopsided, all of them get a
column of their own, and each is printed with both ends; if only some are ranges, those are marked.  Remarks about rows,
and what all rows share, follow the table.

A table for a column of a paper loses its last columns first, to _FEWEST; then its type gets smaller; then it loses
more columns.
"""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from scalelens.errors import UserError
from scalelens.report.text.cells import cell
from scalelens.report.text.latex import comment, escaped, unit
from scalelens.report.text.latex_widths import SIZES, Type, number_width, room_in, table_width, text_width
from scalelens.report.text.table_columns import REMARKS, TableColumn

if TYPE_CHECKING:
    import polars as pl

# A number with its interval, as `table_columns` writes it.
_NUMBER = re.compile(
    r"(?P<value>-?\d+(?:\.\d+)?)"
    r"(?: ± (?P<half>\d+(?:\.\d+)?)| \((?P<range>range )?(?P<low>-?\d+(?:\.\d+)?) – (?P<high>-?\d+(?:\.\d+)?)\))?"
)
_HEADER_UNIT = re.compile(r"(.*) \[(.+)\]")
_RANGE_MARK = r"$^\mathrm{r}$"  # of a range among intervals of 95 %
_FEWEST = 6  # columns that a table keeps until its type is as small as it may be


class _Column(NamedTuple):
    """A column of a tabular, in LaTeX."""

    alignment: str  # as in the argument of tabular
    header: str
    cells: list[str]
    width: float  # in points, in type of 10 points


def _tabular(
    columns: Sequence[_Column],
    headings: Mapping[int, str] | None = None,
    size: Type | None = None,
    mm: float | None = None,
) -> str:
    """A tabular with the rules of booktabs.  `headings` are lines above rows, by the index of the row.

    With a size of type, it is within `mm`: headings break into lines, and there is no space at its ends.
    """
    alignment = "".join(column.alignment for column in columns)
    lines = [rf"\begin{{tabular}}{{{f'@{{}}{alignment}@{{}}' if size else alignment}}}", r"\toprule"]
    wrapped = rf"@{{}}>{{\raggedright\arraybackslash}}p{{{room_in(mm or 0):.1f}pt}}@{{}}"
    lines += [" & ".join(column.header for column in columns) + r" \\", r"\midrule"]
    for index, row in enumerate(zip(*(column.cells for column in columns), strict=True)):
        if headings and index in headings:
            lines += [r"\addlinespace"] if index else []
            is_wide = size and size.factor * text_width(headings[index]) > table_width(_widths(columns), size)
            lines.append(rf"\multicolumn{{{len(columns)}}}{{{wrapped if is_wide else '@{}l'}}}{{{headings[index]}}} \\")
        lines.append(" & ".join(row) + r" \\")
    text = "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])
    if size:
        text = rf"{{{size.command}\setlength{{\tabcolsep}}{{{size.column_separation:g}pt}}%" + f"\n{text}}}"
    return text + "\n"


def _widths(columns: Sequence[_Column]) -> list[float]:
    return [column.width for column in columns]


def full_table(rows: "pl.DataFrame", mm: float | None = None) -> str:
    """All columns of an answer; numbers are aligned right.

    With a width in millimeters its type gets smaller until it fits; raises UserError where the smallest does not.
    """
    columns = []
    for column in rows:
        texts = [cell(value) for value in column.to_list()]
        width = max(map(text_width, [column.name, *texts]))
        alignment = "r" if column.dtype.is_numeric() else "l"
        columns.append(_Column(alignment, escaped(column.name), [escaped(text) for text in texts], width))
    if mm is None:
        return _tabular(columns)
    size = _largest_type(columns, mm)
    if size is None:
        raise UserError(
            f"{len(columns)} columns do not fit into {mm:g} mm in the smallest type of a paper",
            "name fewer columns in --columns or in the statement, or give a wider --width",
        )
    return _tabular(columns, size=size, mm=mm)


def _largest_type(columns: Sequence[_Column], mm: float) -> Type | None:
    """The largest type in which the columns fit; None if they do not fit in any."""
    return next((size for size in SIZES if table_width(_widths(columns), size) <= room_in(mm)), None)


def _fitted(groups: Sequence[list[_Column]], mm: float) -> tuple[int, Type]:
    """How many of the groups of columns fit, and in which type.  Raises UserError if not even the first one does."""
    fewest = min(_FEWEST, len(groups))
    choices = [(n, SIZES[0]) for n in range(len(groups), fewest, -1)]
    choices += [(n, size) for n in range(fewest, 0, -1) for size in SIZES]
    for n, size in choices:
        columns = [column for group in groups[:n] for column in group]
        if table_width(_widths(columns), size) <= room_in(mm):
            return n, size
    raise UserError(f"not even the first column of the table fits into {mm:g} mm", "give a wider --width")


def glance_table(columns: Sequence[TableColumn], heading: TableColumn | None = None, mm: float | None = None) -> str:
    """The table of these columns.  Rows with the same text of `heading` follow that text.

    With a width in millimeters it fits into it; columns without room are named in a comment.
    """
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
    groups = [_columns_of(column) for column in varying]
    kept, size = _fitted(groups, mm) if mm else (len(groups), None)
    made = [column for group in groups[:kept] for column in group]
    if any(_RANGE_MARK in text for column in made for text in column.cells):
        notes.insert(0, "r: the smallest and the largest value, too few for a 95 % interval.")
    table = _tabular(made, headings, size, mm)
    left = ", ".join(column.header for column in varying[kept:])
    return (comment(f"No room for {left}.") if left else "") + table + "".join(f"{_note(text)}\n" for text in notes)


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
    wide = text_width(column.header) + (6 if "/" in column.header else 0)  # siunitx sets a unit as s to the power -1
    if not column.right:
        width = max([wide, *map(text_width, column.texts)])
        return [_Column("l", header, [escaped(text) for text in column.texts], width)]
    found = [_NUMBER.fullmatch(text) for text in column.texts]
    split = any(number and number["low"] for number in found)
    values = [
        _number_of(number, split) if number else f"{{{escaped(text)}}}" if text else ""
        for number, text in zip(found, column.texts, strict=True)
    ]
    format = _table_format(values)
    others = [text_width(text) for number, text in zip(found, column.texts, strict=True) if not number]
    made = [_Column(f"S[table-format={format}]", f"{{{header}}}", values, max([wide, _format_width(format), *others]))]
    if split:
        kinds = {_kind_of(number) for number in found if number} - {""}
        name = kinds.pop() if len(kinds) == 1 else "interval"
        title = {"95": r"\SI{95}{\percent} interval", "interval": r"\SI{95}{\percent} interval"}.get(name, name)
        ends = [_ends_of(number) if number else None for number in found]
        width = max([text_width("95 % interval"), *(number_width(f"{e[0]} to {e[1]}") + 4 for e in ends if e)])
        cells = [_interval_of(number, name) if number else "" for number in found]
        made.append(_Column("l", title, cells, width))
    return made


def _format_width(format: str) -> float:
    """Points of an S column: a sign, digits, a decimal point and an uncertainty."""
    found = re.fullmatch(r"(-?)(\d+)(?:\.(\d+))?(?:\((\d+)\))?", format)
    assert found
    whole, decimals, half = (int(digits or 0) for digits in found.groups()[1:])
    number = "0" * whole + ("." + "0" * decimals if decimals else "") + (f"({'0' * half})" if half else "")
    return number_width(found[1] + number)


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


def _ends_of(number: re.Match[str]) -> tuple[str, str] | None:
    """Both ends of an interval."""
    if number["half"]:
        value, half = Decimal(number["value"]), Decimal(number["half"])
        return str(value - half), str(value + half)
    return (number["low"], number["high"]) if number["low"] else None


def _interval_of(number: re.Match[str], name: str) -> str:
    """An interval with both ends, whatever its kind; a range among others is marked."""
    ends = _ends_of(number)
    mark = _RANGE_MARK if name == "interval" and _kind_of(number) == "range" else ""
    return rf"\numrange{{{ends[0]}}}{{{ends[1]}}}{mark}" if ends else ""


def _table_format(values: Sequence[str]) -> str:
    """The room that the digits of an S column need, such as 3.1(2)."""
    numbers = [found for value in values if (found := re.fullmatch(r"(-?)(\d+)(?:\.(\d+))?(?:\((\d+)\))?", value))]
    minus = "-" if any(number[1] for number in numbers) else ""
    whole, decimals, half = (max((len(number[k] or "") for number in numbers), default=0) for k in (2, 3, 4))
    return f"{minus}{whole or 1}{f'.{decimals}' if decimals else ''}{f'({half})' if half else ''}"
