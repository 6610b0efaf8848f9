"""Ratios of two values of one column, as in "64 GPUs are 7.2 times faster than 8"."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from scalelens.audit.warehouse.measures import SHARE
from scalelens.audit.warehouse.quantities import is_said
from scalelens.audit.warehouse.stated import Stated
from scalelens.audit.warehouse.values import KnownValue

_WORDS = re.compile(
    r"\btimes\b|[×x]\b|-fold|speed-?up|\bfactor\b|\bratio\b|"
    r"\b(faster|slower|higher|lower|more|less|fewer|better|worse|longer|shorter|larger|smaller|increas|decreas|reduc|"
    r"gain|drop|ris|rose)",
    re.IGNORECASE,
)


class Ratio(NamedTuple):
    """A value divided by another, or their difference divided by one of them."""

    value: float
    formula: str  # in words, with the column and both rows


def ratios_of(values: Iterable[KnownValue], stated: Stated, words: str, percent: bool) -> list[Ratio]:
    """All that "times" or "%" can mean for the two rows that the words name.

    There are none if the words compare nothing, or if several rows fit: then it is unclear which values are meant.
    """
    pairs = [(key, sorted(facts, key=str)) for key, facts in stated.items() if len(facts) == 2]
    if not pairs or not _WORDS.search(words):
        return []
    columns: dict[tuple[str, str], list[KnownValue]] = defaultdict(list)
    for known in values:
        if known.measure.name != SHARE and is_said(known, words):
            columns[known.row.query, known.column].append(known)
    return [
        ratio
        for key, (first, second) in pairs
        for column in columns.values()
        for ratio in _forms(_of_fact(column, key, first), _of_fact(column, key, second), percent)
    ]


def _of_fact(values: Sequence[KnownValue], key: str, value: object) -> list[KnownValue]:
    return [known for known in values if value in known.row.facts.get(key, ())]


def _forms(first: Sequence[KnownValue], second: Sequence[KnownValue], percent: bool) -> list[Ratio]:
    """A ratio both ways; for a percentage, the difference, too.  There are none unless each side has one value."""
    if len(first) != 1 or len(second) != 1:
        return []
    ratios = []
    for over, base in ((first[0], second[0]), (second[0], first[0])):
        quotient = over.value / base.value
        text = f"{over.where}, {_about(over, base)} over {_about(base, over)}"
        ratios.append(Ratio(quotient, text))
        if percent:
            ratios.append(Ratio(abs(quotient - 1), f"{text}, less 1"))
    return ratios


def _about(known: KnownValue, other: KnownValue) -> str:
    """What distinguishes the row of a value from that of another."""
    mine, others = known.row.facts, other.row.facts
    different = [
        key for key in ("devices", "name", "nodes", "batch", "system", "model") if mine.get(key) != others.get(key)
    ]
    return f"{different[0]} {min(mine[different[0]], key=str)}" if different and mine.get(different[0]) else "one"
