"""A table with one value in each row, which another column names: `timestamp,metric,value,unit`."""

from collections.abc import Sequence
from typing import NamedTuple

from scalelens.parsing import lazy_re as re
from scalelens.tabular.power_columns import SAME_AGAIN, power_column
from scalelens.units import factors

_VALUE = re.compile(r"value|val|reading|measured[_ ]value", re.IGNORECASE)
_UNIT = re.compile(r"units?|uom|measurement[_ ]unit", re.IGNORECASE)
_NAME = re.compile(
    r"(?:metric|sensor|measurement|quantity|parameter|counter|variable|series|tag|channel|detail|label|type|key|name)"
    r"(?:[_ ](?:name|id|label|type))?",
    re.IGNORECASE,
)
_UNITS = {scale: unit for unit, scale in factors("uW", "mW", "W", "kW").items()}


class NamedValues(NamedTuple):
    """Columns of a value, of its name and of its unit; without the last the names say the units."""

    value: int
    name: int
    unit: int | None

    def header(self, header: Sequence[str]) -> list[str]:
        """The header of a table of powers."""
        named = {self.value: "power", self.name: "sensor"}
        return [named.get(k, name) for k, name in enumerate(header)]

    def power(self, cells: Sequence[str]) -> list[str] | None:
        """A row with the unit beside its value, where that is a power; None for other rows."""
        name = cells[self.name]
        spelt = f"x [{cells[self.unit]}]" if self.unit is not None else name
        column = power_column(0, spelt)
        is_power = column and column.scale and power_column(0, f"{name} [W]") and not SAME_AGAIN.search(name)
        if not is_power or column is None or column.scale is None:
            return None
        return [f"{cell} {_UNITS[column.scale]}" if k == self.value else cell for k, cell in enumerate(cells)]


def named_values(header: Sequence[str], rows: Sequence[Sequence[str]]) -> NamedValues | None:
    """Where a table has its values, if some of its first rows are powers."""
    value = next((k for k, name in enumerate(header) if _VALUE.fullmatch(name)), None)
    unit = next((k for k, name in enumerate(header) if _UNIT.fullmatch(name)), None)
    name = next((k for k, name in enumerate(header) if _NAME.fullmatch(name)), None)
    if value is None or name is None:
        return None
    values = NamedValues(value, name, unit)
    return values if any(values.power(cells) for cells in rows if len(cells) == len(header)) else None
