"""Tables in a Markdown text: their columns, and the records below them.

| GPUs | images/s |        a row for each size
| GPUs | 1 | 2 | 4 |      a column for each size, with the rates in rows below
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from scalelens.parsing import lazy_re as re
from scalelens.parsing.values import number
from scalelens.tabular.cells import TableRecord
from scalelens.tabular.column_names import read_name
from scalelens.tabular.roles import SIZES, is_of_epochs

_Lines = Iterable[tuple[int, str]]
_Row = tuple[int, str, list[str]]  # line, text, cells

_RULE = re.compile(r"\s*\|?(?:\s*:?-{1,200}:?\s*\|)+(?:\s*:?-{1,200}:?\s*)?\|?\s*")
_CELL = re.compile(r"(?<!\\)\|")
_HEADING = re.compile(r"#{1,6}\s+(.{1,200}?)[\s#]*")
_EMPHASIS = re.compile(r"\A[*_`]{1,3}(.*?)[*_`]{1,3}\Z")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_WITH_UNIT = re.compile(r"([\d.,]{1,30}) ?([A-Za-z][A-Za-z./]{0,20})")
_MOST_CELLS = 200
_SPEEDS = {"samples_per_s", "tokens_per_s", "batch_time", "epoch_time", "tflops_per_device"}


class _Table(NamedTuple):
    """A table, with the heading above it."""

    heading: str
    records: list[TableRecord]

    @property
    def columns(self) -> list[str]:
        return [*self.records[0].cells] if self.records else []

    @property
    def is_study(self) -> bool:
        """Whether its columns are sizes and what was measured of each, by their names, with numbers in several rows."""
        roles = {name: read_name(name).role for name in self.columns}
        sizes = [name for name, role in roles.items() if role in SIZES]
        speeds = [name for name, role in roles.items() if role in _SPEEDS]
        if is_of_epochs(self.columns):
            speeds += [name for name in self.columns if read_name(name).role not in SIZES]
        measured = {
            number(record.cells.get(size))
            for record, size, speed in itertools.product(self.records, sizes, speeds)
            if number(record.cells.get(speed)) is not None
        }
        return len(measured - {None}) > 1


def tables_in(lines: _Lines) -> Iterator[_Table]:
    """The tables of a text, lines with their numbers from 1."""
    heading, above, last, names, rows = "", "", 0, list[str](), list[_Row]()
    for line, text in lines:
        follows, last = line == last + 1, line
        if names and "|" in text and follows:
            rows.append((line, text, _cells(text)))
            continue
        if names:
            yield _table(heading, names, rows)
            names, rows = [], []
        if match := _HEADING.fullmatch(text.strip()):
            heading = match[1]
        elif follows and "|" in above and _RULE.fullmatch(text):
            cells = _cells(above)
            names = cells if len(_cells(text)) == len(cells) <= _MOST_CELLS else []
        above = text
    if names:
        yield _table(heading, names, rows)


def _cells(text: str) -> list[str]:
    text = text.strip().removeprefix("|")
    text = text[:-1] if text.endswith("|") and not text.endswith("\\|") else text
    return [_EMPHASIS.sub(r"\1", cell.strip()) for cell in _CELL.split(text)]


def _table(heading: str, names: Sequence[str], rows: list[_Row]) -> _Table:
    names, rows = _with_a_row_for_each(names, rows)
    columns = [[cells[k] for _, _, cells in rows if len(cells) > k] for k in range(len(names))]
    units = [*map(_unit_of, columns)]
    has_commas = [*map(_has_thousands, columns)]
    shown = [
        f"{name} [{unit}]" if unit and not read_name(name).unit else name
        for name, unit in zip(names, units, strict=True)
    ]
    if len({*shown}) < len(shown) or not all(shown):
        return _Table(heading, [])
    records = []
    for line, text, cells in rows:
        plain = [_plain(*of_cell) for of_cell in zip(cells, units, has_commas, strict=False)]
        damage = None if len(cells) == len(shown) else f"the line has {len(cells)} cells, not {len(shown)}"
        records.append(TableRecord(line, dict(zip(shown, plain, strict=False)), damage, text))
    return _Table(heading, records)


def _with_a_row_for_each(names: Sequence[str], rows: list[_Row]) -> tuple[Sequence[str], list[_Row]]:
    """The same table with a row for each size, where it has a column for each: `| GPUs | 1 | 2 | 4 |`."""
    if len(names) < 3 or read_name(names[0]).role not in SIZES or None in map(number, names[1:]):
        return names, rows
    whole = [row for row in rows if len(row[2]) == len(names)]
    if not whole:
        return names, rows
    line, text, _ = whole[0]
    turned = zip(names[1:], *(cells[1:] for _, _, cells in whole), strict=True)
    return [names[0], *(cells[0] for _, _, cells in whole)], [(line, text, [*cells]) for cells in turned]


def _unit_of(cells: Sequence[str]) -> str | None:
    """The unit that each cell of a column has, where all have one and the same: 390 img/s."""
    units = {match[2] if (match := _WITH_UNIT.fullmatch(cell)) else None for cell in cells if cell}
    return units.pop() if len(units) == 1 else None


def _has_thousands(cells: Sequence[str]) -> bool:
    """Whether the commas of a column part thousands: a comma for the point would leave smaller numbers with one."""
    amounts = [match[1] if (match := _WITH_UNIT.fullmatch(cell)) else cell for cell in cells]
    parted = [cell for cell in amounts if "," in cell]
    if not parted or not all(map(_THOUSANDS.fullmatch, parted)):
        return False
    others = [number(cell) for cell in amounts if "," not in cell]
    is_proved = any(cell.count(",") > 1 or "." in cell for cell in parted)
    return is_proved or any(value is not None and value < 1000 for value in others)


def _plain(cell: str, unit: str | None, has_thousands: bool) -> str:
    """A cell without the unit of its column and the commas between thousands."""
    if unit and (match := _WITH_UNIT.fullmatch(cell)):
        cell = match[1]
    return cell.replace(",", "") if has_thousands and _THOUSANDS.fullmatch(cell) else cell


def titles_of(tables: Sequence[_Table]) -> list[str]:
    """What tells the tables of a text apart: their headings, or their order; nothing for a single one."""
    if len(tables) < 2:
        return [""] * len(tables)
    often = Counter(table.heading for table in tables)
    return [
        table.heading if table.heading and often[table.heading] == 1 else f"{table.heading} table {k}".strip()
        for k, table in enumerate(tables, 1)
    ]


def study_in(head: bytes) -> str | None:
    """The names of the columns of the first study in a text; None where it has none."""
    if b"|" not in head:
        return None
    lines = enumerate(head.decode("utf-8", "replace").splitlines(), 1)
    study = next((table for table in tables_in(lines) if table.is_study), None)
    return ", ".join(study.columns[:4]) if study else None
