"""How findings put numbers into words."""

from decimal import Decimal

from scalelens.audit.document import TextTable
from scalelens.audit.printed import Bounds, Number

_CONCLUSION_FROM = Decimal("0.05")  # a smaller difference does not change a reader's conclusion


def with_unit(number: Number) -> str:
    """As printed, with its unit."""
    if number.unit == "x":
        return f"{number.text} times"
    return f"{number.text} {number.unit}".strip()


def about(value: Decimal, digits: int = 4) -> str:
    """A computed value with few digits: `105,600`, `0.8851`."""
    rounded = float(f"{float(value):.{digits}g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 1000 else f"{rounded:.{digits}g}"


def middle(bounds: Bounds) -> Decimal:
    return (bounds.low + bounds.high) / 2


def table_name(table: TextTable) -> str:
    """The table in words, by the line of the file at which it begins."""
    return f"the table at line {table.line}"


def matters(claimed: Bounds, right: Bounds) -> str:
    """`conclusion` if the two differ by more than a reader would overlook, else `slip`."""
    larger = max(abs(middle(claimed)), abs(middle(right)))
    distance = max(claimed.low - right.high, right.low - claimed.high, Decimal(0))
    return "conclusion" if larger and distance / larger > _CONCLUSION_FROM else "slip"
