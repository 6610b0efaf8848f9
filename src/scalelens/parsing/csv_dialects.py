"""CSV files of a tool that another program wrote again, as the tool wrote them.

A spreadsheet puts `;` between cells, and commas for decimal points, where the locale says so; pandas puts an index
before the cells.  A format knows the header of its tool, so that each line is given to it in the tool's form.
"""

import csv
import io
from collections.abc import Callable
from typing import NamedTuple

from scalelens.parsing import lazy_re as re
from scalelens.parsing.values import number

_LEAST_NAMES, _LONGEST_HEADER = 2, 10_000
_INDEX = ("", "Unnamed: 0")  # how pandas names it
_LOOKED_AT = 200  # lines that show whether commas are decimal points
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+(?:[eE][-+]?\d+)?")
_DECIMAL_POINT = re.compile(r"[-+]?\d+\.\d+(?:[eE][-+]?\d+)?")
_OF_NUMBERS = b"0123456789.+- "
_NUMBER = re.compile(r"[-+]?(?:[1-9]\d{0,2}(?:\.\d{3})+|\d+)(?:,\d+)?(?:[eE][-+]?\d+)?")  # 1.234,5


class _Dialect(NamedTuple):
    """How a CSV is written."""

    plain: Callable[[bytes], bytes]  # gives a line in the usual form
    has_decimal_commas: bool


def dialect_of(head: bytes) -> _Dialect | None:
    """How a CSV is written, by its first two lines; None where that is the usual form, or the text is no CSV."""
    header, _, rest = head.partition(b"\n")
    below = rest.partition(b"\n")[0]
    if len(header) > _LONGEST_HEADER or not below or b'{"' in header:  # a JSON object does not name a column
        return None
    if header != below and header.translate(None, _OF_NUMBERS) == below.translate(None, _OF_NUMBERS):
        return None  # records of a log, which a tab may divide: no line names columns
    delimiter = max(",;\t", key=lambda letter: header.count(letter.encode()))
    in_header, in_below = (line.count(delimiter.encode()) for line in (header, below))
    is_quoted = b'"' in header or b'"' in below
    if in_header < _LEAST_NAMES - 1 or not (is_quoted or 0 <= in_header - in_below <= 1):
        return None
    names, values = _cells(header, delimiter), _cells(below, delimiter)
    has_index, is_closed = names[0] in _INDEX, names[-1] == ""
    if delimiter == "," and b'"' not in header and not has_index and not is_closed:
        return None
    of_tool = names[has_index : len(names) - is_closed]
    is_header = len(of_tool) >= _LEAST_NAMES and any(number(name) is None for name in of_tool)
    if not is_header or len(values) not in (len(names), len(names) - is_closed):
        return None

    has_commas = delimiter == ";" and _has_decimal_commas(rest)

    def plain(line: bytes) -> bytes:
        if not line.strip():
            return line
        cells = _cells(line, delimiter)[has_index:]
        if is_closed and cells and not cells[-1]:
            cells.pop()
        if has_commas:
            cells = [cell.replace(".", "").replace(",", ".") if _NUMBER.fullmatch(cell) else cell for cell in cells]
        written = io.StringIO()
        csv.writer(written, lineterminator="").writerow(cells)
        return written.getvalue().encode()

    return _Dialect(plain, has_commas)


def _has_decimal_commas(rows: bytes) -> bool:
    """Whether numbers have commas for decimal points, and none has a point."""
    cells = [cell for line in rows.split(b"\n")[:_LOOKED_AT] for cell in _cells(line, ";")]
    return any(map(_DECIMAL_COMMA.fullmatch, cells)) and not any(map(_DECIMAL_POINT.fullmatch, cells))


def _cells(line: bytes, delimiter: str) -> list[str]:
    """The cells of a line; the line itself where it is none of a CSV."""
    text = line.decode("utf-8", "replace").rstrip("\r").replace("\0", "\ufffd")
    try:
        cells = next(csv.reader([text], delimiter=delimiter, skipinitialspace=True), [])
    except csv.Error:
        cells = [text]
    return [cell.strip() for cell in cells] or [""]
