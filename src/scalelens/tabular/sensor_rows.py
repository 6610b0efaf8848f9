"""Rows of a table of sensors as cells of text below one header: CSV, JSON lines, a list in JSON, names and values."""

import functools
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from scalelens.parsing.source import Source
from scalelens.tabular.cells import TableRecord, head_lines, jsonl_header, jsonl_records, lines_of
from scalelens.tabular.json_array import array_header, array_records
from scalelens.tabular.json_series import is_document, samples_of, series_in
from scalelens.tabular.key_values import key_names, key_records, pairs_of
from scalelens.tabular.named_values import NamedValues, named_values
from scalelens.tabular.sensor_lines import RULE, Form, form_of, joined, table_lines
from scalelens.tabular.volts_and_amperes import VoltsAndAmperes, volts_and_amperes

_MOST_OBJECTS = 20  # lines of JSON that say which keys there are
_EMPTY_CELLS, _EMPTY_FOR_EACH = 2_000_000, 20  # of a file, and more for each cell that an object has


class SensorRow(NamedTuple):
    """A line: its cells, whether it is whole, and its text."""

    line: int
    cells: list[str]
    whole: bool
    text: str


class _Head(NamedTuple):
    """The header of a table, and its first rows."""

    names: list[str]
    rows: list[list[str]]

    @property
    def values(self) -> NamedValues | VoltsAndAmperes | None:
        """What makes a table of powers of it, where it is not one itself."""
        return named_values(self.names, self.rows) or volts_and_amperes(self.names, self.rows)


def first_rows(head: bytes) -> tuple[list[str], list[str]] | None:
    """The header and the first row, by the first bytes of a file."""
    table = _head(head)
    if table is None:
        return None
    if values := table.values:
        whole = (cells for cells in table.rows if len(cells) == len(table.names))
        return values.header(table.names), next(filter(None, map(values.power, whole)))
    return table.names, table.rows[0] if table.rows else []


@functools.lru_cache(maxsize=2)
def _head(head: bytes) -> _Head | None:
    if are_objects(head):
        return _head_of_objects(head)
    if array_header(head):
        text = head.decode("utf-8", "replace")
        values = next(samples_of(json.JSONDecoder().raw_decode(text, text.index("{"))[0]))
        return _Head([*values], [[_text_of(value) for value in values.values()]])
    if names := key_names(head):
        first = pairs_of(next(line for line in head_lines(head) if line[0] != "#")) or {}
        return _Head([*names], [[first.get(name, "") for name in names]])
    lines = table_lines(head)
    if len(lines) < 2 or lines[0].lstrip()[:1] in ("{", "["):
        return None
    form = form_of(head)
    below = lines if form.in_comment else itertools.dropwhile(lambda text: form.cells(text) != form.first, lines)
    rows = (form.cells(text) for text in below if not RULE.fullmatch(text))
    return _Head(form.header, [cells for cells in rows if cells not in (form.first, form.units)])


def are_objects(head: bytes) -> bool:
    """Whether a file holds a JSON object in each line, and not a document in one line."""
    return bool(jsonl_header(head)) and head.lstrip().partition(b"\n")[2].lstrip()[:1] == b"{"


def _head_of_objects(head: bytes) -> _Head:
    """The keys of the first lines of JSON, as a line may lack some, and the values of the first."""
    names: dict[str, None] = {}
    first: Mapping[str, object] = {}
    for line in head.lstrip().split(b"\n")[:-1][:_MOST_OBJECTS]:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            break
        values = next(samples_of(record), {}) if isinstance(record, dict) else {}
        first = first or values
        names |= dict.fromkeys(values)
    return _Head([*names], [[_text_of(first.get(name)) for name in names]])


def sensor_rows(source: Source) -> Iterator[SensorRow]:
    """The header, then the rows.  Comments, what stands above the header, and repeated headers are left out.

    Of a table with one value in each row those rows that hold a power; of one of a voltage and a current their product.
    """
    rows = _rows(source)
    table = _head(source.text_head())
    values = table.values if table else None
    if values is None:
        yield from rows
        return
    first = next(rows)
    yield first._replace(cells=values.header(first.cells))
    for row in rows:
        if len(row.cells) != len(first.cells):
            yield row
        elif cells := values.power(row.cells):
            yield row._replace(cells=cells)


def _rows(source: Source) -> Iterator[SensorRow]:
    head = source.text_head()
    if are_objects(head) or array_header(head):
        table = _head(head)
        names = tuple(table.names) if table else ()
        yield SensorRow(1, [*names], True, "")
        yield from _of_objects(jsonl_records(source) if are_objects(head) else array_records(source), names)
    elif is_document(head):
        series, cut = series_in(source)
        if series:
            yield SensorRow(1, [*series[0]], True, "")
            yield from _of_objects((TableRecord(1, cells, None, "") for cells in series), (*series[0],))
            if cut:
                yield SensorRow(1, [], True, cut)
    elif names := key_names(head):
        yield SensorRow(1, [*names], True, "")
        yield from _of_objects(key_records(source), names)
    else:
        yield from _of_lines(source, form_of(head))


def _of_lines(source: Source, form: Form) -> Iterator[SensorRow]:
    is_below = form.in_comment
    if form.in_comment:
        yield SensorRow(1, form.header, True, "")
    for line, text, whole in joined(lines_of(source), len(form.first), form.delimiter):
        if text.startswith("#") or RULE.fullmatch(text):
            continue
        cells = form.cells(text)
        if is_below and cells not in (form.first, form.units):
            yield SensorRow(line, cells, whole, text)
        elif not is_below and cells == form.first:
            is_below = True
            yield SensorRow(line, form.header, whole, text)


def _of_objects(records: Iterable[TableRecord], names: tuple[str, ...]) -> Iterator[SensorRow]:
    """Objects as cells in the order of the first one's keys; one that lacks a key has an empty cell.

    Those that lack nearly all keys are no rows of the table once they are many, as each would cost all of its columns.
    """
    empty_left = _EMPTY_CELLS
    for record in records:
        samples = _samples_in(record, names) if not record.damage else [{}]
        for sample in samples:
            empty = max(0, len(names) - _EMPTY_FOR_EACH * len(sample))
            fits = not record.damage and empty <= empty_left
            empty_left -= empty if fits else 0
            cells = [_text_of(sample.get(name)) for name in names] if fits else []
            yield SensorRow(record.line, cells, True, record.text)


def _samples_in(record: TableRecord, names: tuple[str, ...]) -> Iterable[Mapping[str, object]]:
    """What a record holds, for each device where it has them in a list: then the record lacks some of the names."""
    if not record.text or all(name in record.cells for name in names):
        return [record.cells]
    return samples_of(json.loads(record.text))


def _text_of(value: object) -> str:
    return "" if value is None else str(value).strip()
