"""Tables of one value in each row with its name beside it, as rows with a column for each name.

gpu,run,metric,value,unit            gpu    run  energy [kWh]  time [s]
H100,1,energy,0.45,kWh        is     H100   1    0.45          2095
H100,1,time,2095,s
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from scalelens.parsing.source import Source
from scalelens.tabular.cells import TableRecord, csv_header, csv_records, is_blank
from scalelens.tabular.named_rows import is_index

_NAMES = ("metric", "metric_name", "name", "measure", "measurement", "quantity", "variable", "key", "tag")
_VALUES = ("value", "val", "metric_value", "measured_value")
_UNITS = ("unit", "units")
_MOST_NAMES = 200
_MOST_ROWS = 200_000


class LongTable(NamedTuple):
    """Which column names the values, which holds them and their units, and which say whose they are."""

    name: str
    value: str
    unit: str | None
    keys: tuple[str, ...]


def long_table(header: Sequence[str]) -> LongTable | None:
    """The columns of such a table, by their names; None for another table."""
    names, values, units = ([each for each in header if each.lower() in known] for known in (_NAMES, _VALUES, _UNITS))
    if len(names) != 1 or len(values) != 1 or len(units) > 1:
        return None
    unit = units[0] if units else None
    keys = tuple(each for each in header if each not in (names[0], values[0], unit) and not is_index(each))
    return LongTable(names[0], values[0], unit, keys) if keys else None


def long_table_in(source: Source) -> LongTable | None:
    """The same of a file."""
    return long_table(csv_header(source.text_head()))


def long_records(source: Source, table: LongTable) -> list[TableRecord]:
    """The rows of the same keys as one record, in the line of the first; then the lines that are damaged.

    Empty where a name comes twice for the same keys, as rows then follow each other in a way that nothing tells, and
    where there are too many.
    """
    found: dict[tuple[str, ...], tuple[int, dict[str, Any]]] = {}
    damaged: list[TableRecord] = []
    names: set[str] = set()
    for count, record in enumerate(csv_records(source)):
        if record.damage:
            damaged.append(record)
            continue
        keys = tuple(str(record.cells.get(key) or "") for key in table.keys)
        _, cells = found.setdefault(keys, (record.line, dict(zip(table.keys, keys, strict=True))))
        name = _name_of(record, table)
        names.add(name)
        if name in cells or len(names) > _MOST_NAMES or count >= _MOST_ROWS:
            return []
        cells[name] = record.cells.get(table.value)
    return [*(TableRecord(line, cells, None, "") for line, cells in found.values()), *damaged]


def _name_of(record: TableRecord, table: LongTable) -> str:
    name = str(record.cells.get(table.name) or "")
    unit = record.cells.get(table.unit) if table.unit else None
    return name if is_blank(unit) else f"{name} [{unit}]"


def names_of(records: Sequence[TableRecord], table: LongTable) -> list[str]:
    """Whose values each record has, by the fewest of the keys that tell all apart: `H100 1`."""
    keys = list(table.keys)
    for key in table.keys:
        others = [each for each in keys if each != key]
        if len({_texts(record, others) for record in records}) == len(records):
            keys = others
    return [" ".join(_texts(record, keys)) for record in records]


def _texts(record: TableRecord, keys: Sequence[str]) -> tuple[str, ...]:
    return tuple(str(text) for key in keys if not is_blank(text := record.cells.get(key)))
