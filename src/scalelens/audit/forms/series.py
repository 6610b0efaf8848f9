"""A column or a row of a table as a series of intervals, in base units."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from scalelens.audit.document import TextTable
from scalelens.audit.printed import Number
from scalelens.units import base

Interval = tuple[float, float]
_SETTINGS = ("batch", "micro_batch", "devices", "nodes", "length", "steps")
_ORDER = re.compile(r"\bp\d\d|\d\d\s?%|percentile|median|\bmax\b|\bmin\b|worst|interval", re.IGNORECASE)
_DERIVED = re.compile(
    r"\b(?:total|sum|delta|diff\w*|change|range|gap|spread|saved|savings?|net|remaining|combined)\b|Δ", re.IGNORECASE
)
_CHOSEN = re.compile(
    r"\b(?:lr|learning|decay|dropout|momentum|warm.?up|seed|temperature|layers?|depth|width|hidden|dim\w*|heads?|"
    r"kernel|stride|size|resolution|res|epochs?|iterations?|iters?|steps?|batch\w*|length|len|year|version|rank|id|"
    r"d_\w+|n_\w+|vocab\w*|context|crop|patch|workers?|threads?|cores?|tp|pp|dp|ep|cp|mbs|gbs|gpus?|nodes?)\b"
)


@dataclass(frozen=True)
class Series:
    """Numbers of one column, or of one row if the table is read the other way.

    numbers   one for each place, None without an exact number
    name      heading of the column, or label of the row
    kind      what a heading says that it measures; "" if it does not say
    key       index of the column or row
    """

    numbers: tuple[Number | None, ...]
    name: str
    kind: str
    key: int

    @cached_property
    def intervals(self) -> tuple[Interval | None, ...]:
        """The values that each number may have, in base units."""
        return tuple(_interval(number) for number in self.numbers)

    def known(self, places: Iterable[int]) -> dict[int, Interval]:
        """The values at those of the places that have some."""
        return {place: interval for place in places if (interval := self.intervals[place]) is not None}

    @cached_property
    def unit(self) -> str:
        """The base unit that all numbers share, "%" for per cent; "" without one, "?" if they differ."""
        units = {"%" if n.unit == "%" else base(n.unit)[0] for n in self.numbers if n}
        return units.pop() if len(units) == 1 else "?"

    @cached_property
    def is_setting(self) -> bool:
        """Whether the numbers are chosen, not measured or computed: whole numbers, or named as a setting."""
        whole = all(
            "." not in n.text and n.unit in ("", "B", "samples", "tokens", "GPU", "nodes") for n in self.numbers if n
        )
        if whole and self.kind == "" and self.is_derived:
            return False
        named = bool(_CHOSEN.search(self.name.lower().replace("_", " ")))
        return self.kind in _SETTINGS or (self.kind == "" and (whole or named))

    @cached_property
    def is_derived(self) -> bool:
        """Whether a heading says that the numbers follow from others: a total, a difference; or all have a sign."""
        numbers = [n.text for n in self.numbers if n]
        signed = sum(text[0] in "+-\u2212" for text in numbers) > 1 and all(
            text[0] in "+-\u2212" or not text.strip("0.") for text in numbers
        )
        return signed or bool(_DERIVED.search(self.name.replace("_", " ")))

    @cached_property
    def is_order_statistic(self) -> bool:
        """Whether a heading says that the numbers are percentiles, medians or extremes, which add up to nothing."""
        return bool(_ORDER.search(self.name))


def _interval(number: Number | None) -> Interval | None:
    if number is None:
        return None
    size = float(base(number.unit)[1]) if number.unit != "%" else 1.0
    return float(number.low) * size, float(number.high) * size


def columns_of(table: TextTable) -> list[Series]:
    """The columns of a table that hold numbers."""
    result = []
    for key, (heading, meaning) in enumerate(zip(table.headings, table.meanings, strict=True)):
        numbers = tuple(_exact(row[key]) for row in table.cells)
        if any(numbers):
            result.append(Series(numbers, heading, meaning.kind, key))
    return result


def rows_of(table: TextTable) -> list[Series]:
    """The rows of a table as series, for tables whose first column names what is measured."""
    names = [texts[0] for texts in table.texts]
    if len(set(names)) < len(names) or not all(re.match(r"[A-Za-z(]", name) for name in names):
        return []
    return [
        Series(tuple(_exact(cell) for cell in row), table.texts[key][0], "", key)
        for key, row in enumerate(table.cells)
        if any(row)
    ]


def groups_of(table: TextTable) -> Iterator[list[int]]:
    """Rows that belong together: all, then those of one label of a column that has few."""
    every = list(range(len(table.cells)))
    yield every
    seen = {tuple(every)}
    for column in range(len(table.headings)):
        labels: list[str] = []
        for texts in table.texts:
            labels.append(texts[column] or (labels[-1] if labels else ""))
        if 1 < len(set(labels)) <= len(labels) // 3:
            for label in dict.fromkeys(labels):
                rows = [row for row in every if labels[row] == label]
                if len(rows) > 3 and tuple(rows) not in seen:
                    seen.add(tuple(rows))
                    yield rows


def _exact(number: Number | None) -> Number | None:
    return None if number is None or number.hedge else number
