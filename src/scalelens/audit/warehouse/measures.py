"""Measures: what a unit measures, and what a column of an answer measures.

Numbers with the same measure can be compared, whatever units they are printed in.
"""

import re
from functools import cache
from typing import NamedTuple

from scalelens.audit.units import canonical
from scalelens.queries.header import QueryColumn
from scalelens.units import base

SHARE = "share"  # or a ratio: 0.77 and 77 % are the same
_SHARES = re.compile(
    r"(?:efficiency|speedup|mfu|hfu)(?:_low|_high)?|goodput|coverage|\w*_share|first_over_later|(?:best_)?score"
)
_PER_DEVICE = re.compile(r"/(?:GPU|GCD|IPU|HPU|device|nodes)\b")
_SAMPLES = re.compile(r"^(?:images|sequences|items)\b")
_BASES = {"s", "J", "W", "B", "B/s", "FLOP/s", "samples/s", "tokens/s", "samples/J", "tokens/J"}


class Measure(NamedTuple):
    name: str  # a base unit, or SHARE
    factor: float  # size in the base unit


@cache
def measure_of_unit(unit: str) -> Measure | None:
    """What a unit measures; None for units that no column has.  A rate per device is a rate: words say of what."""
    if unit in ("", "x", "%"):
        return Measure(SHARE, 0.01 if unit == "%" else 1.0)
    name, size = base(_SAMPLES.sub("samples", _PER_DEVICE.sub("", canonical(unit))))
    return Measure(name, float(size)) if name in _BASES else None


def measure_of(column: QueryColumn) -> Measure | None:
    """What a column measures; None for counts, names and units that no paper prints."""
    if column.type not in ("DOUBLE", "BIGINT"):
        return None
    if column.name == "minutes":
        return measure_of_unit("min")
    if column.name.endswith("percent"):
        return measure_of_unit("%")
    if column.unit is None:
        return Measure(SHARE, 1.0) if _SHARES.fullmatch(column.name) else None
    return measure_of_unit(column.unit)
