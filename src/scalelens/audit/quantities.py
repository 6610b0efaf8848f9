"""Values of numbers in base units, and what a text says about its work and devices."""

import re
from decimal import Decimal

from scalelens.audit.document import TextTable
from scalelens.audit.printed import Bounds, Number
from scalelens.audit.units import DEVICES
from scalelens.units import base

_WORK_OF_AN_EPOCH = re.compile(
    r"(?:1|one|an|each)\s+epoch\s*(?:=|:|is|has|are)\s*(?:(\d+)\s*(?:\*|×|x|\\times|·)\s*)?(?:global\s+)?batch\s?size",
    re.IGNORECASE,
)


def value(number: Number) -> Bounds:
    """The values that the number may have, in base units: s, W, J, images/s; 90 % is 0.9."""
    size = base(number.unit)[1]
    return Bounds(number.low * size, number.high * size)


def exact(amount: int | Decimal) -> Bounds:
    return Bounds(Decimal(amount), Decimal(amount))


def batches_per_epoch(table: TextTable) -> int | None:
    """k if the text near the table says `1 epoch = k * batch size`."""
    match = _WORK_OF_AN_EPOCH.search(table.nearby)
    return int(match[1] or 1) if match else None


def per_device(table: TextTable, column: int) -> bool:
    """Whether the column says that its figure is for one device."""
    return any(unit in DEVICES for unit in table.meanings[column].per)


def unit_is(number: Number, name: str) -> bool:
    """Whether the number has this base unit."""
    return bool(number.unit) and base(number.unit)[0] == name
