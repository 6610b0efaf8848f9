"""Rows of a table of sensors as cells of text below one header: CSV, JSON lines, or a list within a JSON document."""

import functools
import itertools
import json
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from scalelens.parsing import lazy_re as re
from scalelens.parsing.source import Source, encoding_of
from scalelens.parsing.values import number
from scalelens.tabular.cells import (
    TableRecord,
    cells_of,
    head_lines,
    jsonl_header,
    jsonl_records,
    lines_of,
    nested_values,
)
from scalelens.tabular.json_array import array_header, array_records
from scalelens.tabular.json_series import is_document, series_in

_MOST = 2000  # columns
_DELIMITERS = ",;\t|"
_PREAMBLE = 20  # lines that may stand above the header
_SENSED = re.compile(r"power|pwr|watt|energy|joule|[km]?wh(?:$|[^a-z])|vdd|\[m?w\]|\(m?w\)|[ _.]m?w$", re.IGNORECASE)
_RULE = re.compile(r"[-=+:| ]{3,}")  # the line below the header of a table in text
_DECIMAL = re.compile(r"[-+]?\d{1,15}[.,]\d{1,15}")


class SensorRow(NamedTuple):
    """A line: its cells, whether it is whole, and its text."""

    line: int
    cells: list[str]
    whole: bool
    text: str


class _Form(NamedTuple):
    """How the rows of a table are written."""

    header: list[str]
    delimiter: str | None  # None: blanks
    decimal_comma: bool


def _delimiter_of(text: str) -> str | None:
    best = max(_DELIMITERS, key=text.count)
    return best if best in text else None


def _split(text: str, delimiter: str | None, decimal_comma: bool = False) -> list[str]:
    if delimiter is None:
        cells = text.split()
    elif text.count(delimiter) >= _MOST:
        return []
    else:
        cells = cells_of(text.strip(" |") if delimiter == "|" else text, delimiter)
        cells = [cell.strip('"').strip() for cell in cells]
    if decimal_comma:
        cells = [cell.replace(",", ".") if _DECIMAL.fullmatch(cell) else cell for cell in cells]
    return cells


def _form_of(lines: list[str]) -> _Form:
    """The header is the first line of words that names a power or an energy and has as many cells as the line below."""
    for k, line in enumerate(lines[:_PREAMBLE]):
        delimiter = _delimiter_of(line)
        cells = _split(line, delimiter)
        below = [text for text in lines[k + 1 : k + 4] if not _RULE.fullmatch(text)]
        is_header = len(cells) > 1 and any(map(_SENSED.search, cells)) and all(number(cell) is None for cell in cells)
        if is_header and below and len(_fitted(_split(below[0], delimiter), len(cells))) == len(cells):
            return _Form(cells, delimiter, _has_decimal_commas([_split(text, delimiter) for text in below], delimiter))
    delimiter = _delimiter_of(lines[0]) or ","
    return _Form(_split(lines[0], delimiter), delimiter, False)


def _has_decimal_commas(rows: list[list[str]], delimiter: str | None) -> bool:
    """Whether numbers have a comma for the point, as where a semicolon or a tab divides the cells."""
    fractions = [cell for cells in rows for cell in cells if _DECIMAL.fullmatch(cell)]
    return delimiter not in (",", None) and bool(fractions) and all("," in cell for cell in fractions)


def _fitted(cells: list[str], width: int) -> list[str]:
    """Cells without empty ones beyond the header, where each line ends with a delimiter."""
    return cells[:width] if len(cells) > width and not any(cells[width:]) else cells


@functools.lru_cache(maxsize=2)
def first_rows(head: bytes) -> tuple[list[str], list[str]] | None:
    """The header and the first row, by the first bytes of a file."""
    if jsonl_header(head):
        values = dict(nested_values(json.loads(head.lstrip().partition(b"\n")[0])))
        return [*values], [_text_of(value) for value in values.values()]
    if names := array_header(head):
        text = head.decode("utf-8", "replace")
        values = dict(nested_values(json.JSONDecoder().raw_decode(text, text.index("{"))[0]))
        return [*names], [_text_of(values[name]) for name in names]
    lines = _table_lines(head)
    if len(lines) < 2 or lines[0].lstrip()[:1] in ("{", "["):
        return None
    form = _form_of(lines)
    below = itertools.dropwhile(lambda text: _split(text, form.delimiter) != form.header, lines)
    row = next((text for text in itertools.islice(below, 1, None) if not _RULE.fullmatch(text)), "")
    return form.header, _fitted(_split(row, form.delimiter, form.decimal_comma), len(form.header))


def _table_lines(head: bytes) -> list[str]:
    """The first lines of a table that are not comments."""
    return [*itertools.islice((line for line in head_lines(head) if line[0] != "#"), _PREAMBLE + 4)]


def head_of(source: Source) -> bytes:
    """The first bytes of a file as UTF-8."""
    head = source.head()
    codec, mark = encoding_of(head)
    return head[mark:].decode(codec, "replace").encode() if codec else head[mark:]


def sensor_rows(source: Source) -> Iterator[SensorRow]:
    """The header, then the rows.  Comments, what stands above the header, and repeated headers are left out."""
    head = head_of(source)
    if names := jsonl_header(head):
        yield SensorRow(1, [*names], True, "")
        yield from _of_objects(jsonl_records(source), names)
    elif names := array_header(head):
        yield SensorRow(1, [*names], True, "")
        yield from _of_objects(array_records(source), names)
    elif is_document(head):
        series = series_in(source)
        if series:
            yield SensorRow(1, [*series[0]], True, "")
            yield from _of_objects((TableRecord(1, cells, None, "") for cells in series), (*series[0],))
    else:
        yield from _of_lines(source, _form_of(_table_lines(head) or [""]))


def _of_lines(source: Source, form: _Form) -> Iterator[SensorRow]:
    is_below = False
    for line, text, whole in lines_of(source):
        if text.startswith("#") or _RULE.fullmatch(text):
            continue
        cells = _split(text, form.delimiter, form.decimal_comma)
        if is_below and cells != form.header:
            yield SensorRow(line, _fitted(cells, len(form.header)), whole, text)
        elif not is_below and cells == form.header:
            is_below = True
            yield SensorRow(line, cells, whole, text)


def _of_objects(records: Iterable[TableRecord], names: tuple[str, ...]) -> Iterator[SensorRow]:
    """Objects as cells in the order of the first one's keys; one that lacks a key has an empty cell."""
    for record in records:
        cells = [_text_of(record.cells.get(name)) for name in names] if not record.damage else []
        yield SensorRow(record.line, cells, True, record.text)


def _text_of(value: object) -> str:
    return "" if value is None else str(value).strip()
