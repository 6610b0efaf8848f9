"""Rows of a table of sensors, CSV or a JSON object in each line, as cells of text below one header."""

import functools
import json
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from scalelens.parsing.source import Source
from scalelens.tabular.cells import TableRecord, below_comments, jsonl_header, jsonl_records, lines_of, nested_values

_MOST = 2000  # columns


class SensorRow(NamedTuple):
    """A line: its cells, whether it is whole, and its text."""

    line: int
    cells: list[str]
    whole: bool
    text: str


def _split(text: str, delimiter: str) -> list[str]:
    return [cell.strip().strip('"') for cell in text.split(delimiter)] if text.count(delimiter) < _MOST else []


@functools.lru_cache(maxsize=2)
def first_rows(head: bytes) -> tuple[list[str], list[str]] | None:
    """The header and the first row, by the first bytes of a file."""
    if names := jsonl_header(head):
        values = dict(nested_values(json.loads(head.lstrip().partition(b"\n")[0])))
        return [*names], [_text_of(values[name]) for name in names]
    lines = below_comments(head)
    if len(lines) < 2 or lines[0].startswith("{"):
        return None
    delimiter = max(",;\t", key=lines[0].count)
    return _split(lines[0], delimiter), _split(lines[1], delimiter)


def sensor_rows(source: Source) -> Iterator[SensorRow]:
    """The header, then the rows.  Comments and repeated headers are left out."""
    if names := jsonl_header(source.head()):
        yield SensorRow(1, [*names], True, "")
        yield from _of_objects(jsonl_records(source), names)
        return
    header: list[str] = []
    delimiter = ","
    for number, text, whole in lines_of(source):
        if text.startswith("#"):
            continue
        if not header:
            delimiter = max(",;\t", key=text.count)
        cells = _split(text, delimiter)
        if cells != header:
            yield SensorRow(number, cells, whole, text)
        header = header or cells


def _of_objects(records: Iterable[TableRecord], names: tuple[str, ...]) -> Iterator[SensorRow]:
    """Objects as cells in the order of the first one's keys; one that lacks a key has an empty cell."""
    for record in records:
        cells = [_text_of(record.cells.get(name)) for name in names] if not record.damage else []
        yield SensorRow(record.line, cells, True, record.text)


def _text_of(value: object) -> str:
    return "" if value is None else str(value)
