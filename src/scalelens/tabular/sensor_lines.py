"""Lines of a table of sensors: which is the header, and what a row is where a cell goes on in the next line."""

import itertools
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from scalelens.parsing import lazy_re as re
from scalelens.parsing.values import number
from scalelens.tabular.cells import cells_of, head_lines

_MOST = 2000  # columns
_DELIMITERS = ",;\t|"
_PROOF = 3  # rows that show which cells the header lacks
_PREAMBLE = 20  # lines that may stand above the header
_MOST_JOINED = 200  # lines of one row
_SENSED = re.compile(r"power|pwr|watt|energy|joule|[km]?wh(?:$|[^a-z])|vdd|\[m?w\]|\(m?w\)|[ _.]m?w$", re.IGNORECASE)
RULE = re.compile(r"[-=+:| ]{3,}")  # the line below the header of a table in text
_DECIMAL = re.compile(r"[-+]?\d{1,15}[.,]\d{1,15}")
# Numbers with a comma or a point before their fraction, and with something else between their thousands.
_WITH_COMMA = re.compile(r"[-+]?(?:\d{1,15}|[1-9]\d{0,2}(?:([. '\u2019\u00a0\u202f])\d{3})(?:\1\d{3})*)(?:,\d{1,15})?")
_WITH_POINT = re.compile(r"[-+]?(?:\d{1,15}|[1-9]\d{0,2}(?:([, '\u2019\u00a0\u202f])\d{3})(?:\1\d{3})*)(?:\.\d{1,15})?")
_GROUPED_POINT = re.compile(r"[-+]?\d{1,3}(?:(?:,\d{3})+\.\d{1,15}|(?:,\d{3}){2,}|(?:['\u2019]\d{3})+\.\d{1,15})")
_FRACTION = re.compile(r"[-+]?(?:\d+|\d{1,3}(?:[. ']\d{3})+),(?:\d{1,2}|\d{4,15})")
_UNGROUPED = re.compile(r"[. '\u2019\u00a0\u202f]")  # of what has a comma before its fraction
_BETWEEN = re.compile(r"[, '\u2019\u00a0\u202f]")
_HAS_MARK = re.compile(r"\d[., '\u2019\u00a0\u202f]\d")
_UNIT = re.compile(
    r"[\[(]?(?:[numk\u00b5]?[sWVAJ]|k?Wh|[kMG]?Hz|[\u00b0º]?C|%|min|h|[kMG]i?B|V[aA]r?|date|time|ISO ?8601)?[\])]?"
)
_POWER_UNIT = re.compile(r"[\[(]?(?:[umk\u00b5]?[WJ]|k?Wh)[\])]?")
_MEASURED = re.compile(r"[-+]?\d[\d.,]* ?[mku\u00b5]?(?:W|J|[Ww]atts?|[Jj]oules?)")  # the cell of a row
_BARE = re.compile(r"[^\[\]()]*[^\s\[\]()]")  # a name that does not have its unit yet

_DATED = re.compile(r"\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d")
_THOUSANDTHS = re.compile(r"\d{3}", re.ASCII)

_Line = tuple[int, str, bool]  # its number, its text, and whether it is whole


class Form(NamedTuple):
    """How the rows of a table are written."""

    first: list[str]  # cells of the line that is the header
    delimiter: str | None  # None: blanks
    style: str = ""  # of its numbers, as in `_number_style`
    units: list[str] | None = None  # cells of the line of units below the header
    in_comment: bool = False  # whether the header is the comment above the first row
    blank: tuple[int, int] | None = None  # cells of each row that are empty, and that the header lacks
    stamp: int | None = None  # the column of times that have a comma before their thousandths, between commas

    @property
    def header(self) -> list[str]:
        """The names of the columns, with their units where these stand in a line of their own."""
        if not self.units:
            return self.first
        return [
            f"{name} [{unit.strip('[]()')}]" if unit.strip("[]()") and _BARE.fullmatch(name) else name
            for name, unit in zip(self.first, self.units, strict=True)
        ]

    def cells(self, text: str) -> list[str]:
        """The cells of a line, as many as the header has where the line is a row of the table."""
        cells = _split(text, self.delimiter, self.style)
        return _fitted(cells if self.stamp is None else _joined_at(self.stamp, cells), len(self.first), self.blank)


def _delimiter_of(text: str) -> str | None:
    best = max(_DELIMITERS, key=text.count)
    return best if best in text else None


def _split(text: str, delimiter: str | None, style: str = "") -> list[str]:
    if delimiter is None:
        cells = text.split()
    elif text.count(delimiter) >= _MOST:
        return []
    else:
        cells = cells_of(text.strip(" |") if delimiter == "|" else text, delimiter)
        cells = [" ".join(cell.split("\n")).strip('"').strip() for cell in cells]
    if style == ",":
        cells = [_UNGROUPED.sub("", cell).replace(",", ".") if _WITH_COMMA.fullmatch(cell) else cell for cell in cells]
    elif style == ".":
        cells = [_BETWEEN.sub("", cell) if _WITH_POINT.fullmatch(cell) else cell for cell in cells]
    return cells


def _fitted(cells: list[str], width: int, blank: tuple[int, int] | None = None) -> list[str]:
    """Cells without empty ones beyond the header, where each line ends with a delimiter.

    `blank` are the cells, empty in each row, that the header has no names for.

    Of two times in a row whose header has one, as where a script puts its own before that of a tool, the second counts.
    """
    if len(cells) == width + 1 and _DATED.match(cells[0]) and _DATED.match(cells[1]):
        return cells[1:]
    if blank and len(cells) == width + blank[1] - blank[0] and not any(cells[slice(*blank)]):
        return [*cells[: blank[0]], *cells[blank[1] :]]
    return cells[:width] if len(cells) > width and not any(cells[width:]) else cells


def _joined_at(k: int, cells: list[str]) -> list[str]:
    """The cells of a row whose stamp `2026-01-02 03:04:05,120` is one cell, the k-th."""
    if k + 1 < len(cells) and _DATED.fullmatch(cells[k]) and _THOUSANDTHS.fullmatch(cells[k + 1]):
        return [*cells[:k], f"{cells[k]}.{cells[k + 1]}", *cells[k + 2 :]]
    return cells


def _stamp_in(rows: Sequence[list[str]], width: int) -> int | None:
    """The column of times that are written with a comma, where each row is longer than the header by this one cell.

    What follows the comma is taken for thousandths if each has three digits and one begins with a zero, which a number
    of another column would not.
    """
    for k, cell in enumerate(rows[0] if len(rows) >= _PROOF else []):
        if _DATED.fullmatch(cell):
            whole = [_joined_at(k, row) for row in rows]
            are_stamps = all(len(one) < len(row) for one, row in zip(whole, rows, strict=True))
            fits = are_stamps and all(len(_fitted(one, width)) == width for one in whole)
            return k if fits and any(row[k + 1][0] == "0" for row in rows) else None
    return None


def _closed(cells: list[str], below: Sequence[list[str]]) -> list[str]:
    """The cells of a header, without the empty one at its end where each line ends with a delimiter."""
    return cells if any(row and row[-1] for row in below) or len(cells) < 3 or cells[-1] else cells[:-1]


def _blank_in(rows: Sequence[list[str]], width: int) -> tuple[int, int] | None:
    """The empty cells by which each of these rows is longer than the header, where these stand in one place only."""
    more = len(rows[0]) - width if rows else 0
    if more < 1 or len(rows) < _PROOF or any(len(row) != len(rows[0]) for row in rows) or not rows[0][-1]:
        return None
    empty = [k for k in range(len(rows[0])) if not any(row[k] for row in rows)]
    is_run = len(empty) >= more and empty[-1] - empty[0] == len(empty) - 1
    return (empty[0], empty[0] + more) if is_run else None


def table_lines(head: bytes) -> list[str]:
    """The first lines of a table that are not comments; a row whose cells go on below is one line."""
    lines = ((k, line, True) for k, line in enumerate(head_lines(head)) if line[0] != "#")
    return [text for _, text, _ in itertools.islice(joined(lines), _PREAMBLE + 4)]


def form_of(head: bytes) -> Form:
    """The header is the first line of words that names a power or an energy and has as many cells as the line below."""
    lines = table_lines(head) or [""]
    if in_comment := _header_in_comment(head, lines):
        return in_comment
    for k, line in enumerate(lines[:_PREAMBLE]):
        delimiter = _delimiter_of(line)
        cells = _split(line, delimiter)
        texts = [text for text in lines[k + 1 :] if not RULE.fullmatch(text)]
        below = [_split(text, delimiter) for text in texts[:4]]
        if len(cells) < 2 or not below or any(map(_is_measured, cells)):
            continue
        cells = _closed(cells, below)
        units = below[0] if _are_units(below[0], cells) else None
        if units is None and not any(map(_SENSED.search, cells)):
            continue
        rows = [_split(text, delimiter) for text in texts]
        of_sensors = rows[1 if units else 0 : -1]  # the last one may be cut
        stamp = _stamp_in(of_sensors, len(cells)) if delimiter == "," else None
        style, blank = _number_style(rows, delimiter), _blank_in(below, len(cells))
        form = Form(cells, delimiter, style, units, blank=blank, stamp=stamp)
        if len(form.cells(texts[0])) == len(cells):
            return form
    delimiter = _delimiter_of(lines[0]) or ","
    return Form(_closed(_split(lines[0], delimiter), [_split(text, delimiter) for text in lines[1:4]]), delimiter)


def _header_in_comment(head: bytes, lines: Sequence[str]) -> Form | None:
    """The header where it is the last comment above rows that begin with a number, as plotting programs want it."""
    above = list(itertools.takewhile(lambda line: line[0] == "#", itertools.islice(head_lines(head), _PREAMBLE)))
    if not above or not lines[0][:1].isdecimal():
        return None
    text = above[-1].lstrip("# \t")
    delimiter = _delimiter_of(lines[0])
    names, cells = _split(text, delimiter), _fitted(_split(lines[0], delimiter), len(_split(text, delimiter)))
    is_header = len(names) == len(cells) > 1 and all(map(_names_column, names)) and any(map(_SENSED.search, names))
    if not is_header:
        return None
    style = _number_style((_split(line, delimiter) for line in lines), delimiter)
    return Form(names, delimiter, style, in_comment=True)


def _is_measured(cell: str) -> bool:
    return number(cell) is not None or _MEASURED.fullmatch(cell) is not None


def _names_column(cell: str) -> bool:
    return bool(cell) and not _is_measured(cell)


def _are_units(cells: Sequence[str], names: Sequence[str]) -> bool:
    """Whether the line below the header holds units, one of them of a power or an energy."""
    return (
        len(cells) == len(names)
        and any(map(_POWER_UNIT.fullmatch, cells))
        and all(map(_UNIT.fullmatch, cells))
        and 2 * sum(map(bool, cells)) >= len(cells)
    )


def _number_style(rows: Iterable[Sequence[str]], delimiter: str | None) -> str:
    """`,` where numbers have a comma for the point, `.` where something stands between their thousands, else nothing.

    1.234,5 and 1,234.5 say which it is; of 1,234 and 1.234 alone, nothing does, nor does another column.
    """
    marked: dict[int, list[str]] = {}
    for row in rows if delimiter is not None else ():
        for k, cell in enumerate(row):
            if _HAS_MARK.search(cell) and (_WITH_POINT.fullmatch(cell) or _WITH_COMMA.fullmatch(cell)):
                marked.setdefault(k, []).append(cell)
    cells = [cell for column in marked.values() for cell in column]
    if any(_GROUPED_POINT.fullmatch(cell) for cell in cells):
        return "."
    own = [column for column in marked.values() if any("," in cell for cell in column)]
    others = [cell for column in marked.values() if column not in own for cell in column]
    if any(_DECIMAL.fullmatch(cell) for cell in others) or not all(map(_WITH_COMMA.fullmatch, itertools.chain(*own))):
        return ""
    return "," if own and (delimiter != "," or any(map(_FRACTION.fullmatch, cells))) else ""


def joined(lines: Iterable[_Line], width: int = 0, delimiter: str | None = None) -> Iterator[_Line]:
    """Rows: a line whose last cell is open in quotes goes on in the lines below it.

    Only what has as many cells as the header, `width`, is a row, or as many as a line above where that is not known:
    else a quotation mark is one of the text.
    """
    waiting: deque[_Line] = deque()
    source = iter(lines)
    widths = {width} if width else set[int]()
    while (first := waiting.popleft() if waiting else next(source, None)) is not None:
        if not width:
            delimiter = delimiter or _delimiter_of(first[1])
        if first[1].count('"') % 2 == 0:
            if not width:
                widths.add(len(_split(first[1], delimiter)))
            yield first
            continue
        parts = [first]
        while sum(text.count('"') for _, text, _ in parts) % 2 and len(parts) < _MOST_JOINED:
            following = waiting.popleft() if waiting else next(source, None)
            if following is None:
                break
            parts.append(following)
        text = "\n".join(text for _, text, _ in parts)
        cells = _split(text, delimiter) if text.count('"') % 2 == 0 else []
        if any(len(_fitted(cells, each)) == each for each in widths):
            yield first[0], text, parts[-1][2]
        else:
            yield first
            waiting.extendleft(reversed(parts[1:]))
