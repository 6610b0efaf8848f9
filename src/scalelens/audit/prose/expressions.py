"""What a few numbers can give: products, quotients, ratios, changes, in a dimension."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, permutations
from operator import add, sub

from scalelens.audit.prose.operands import Operand

_FACTOR = re.compile(r"\bfactors?\b|\bspeed-?ups?\b|\bratio")
_COMPARES = re.compile(
    r"\b(?:of|relative|less|more|better|worse|higher|lower|fewer|improv\w*|reduc\w*|increas\w*|decreas\w*|drop\w*|gain\w*|"
    r"retain\w*|keep\w*|kept|los\w*|ratio|efficien\w*)\b"
)
_LEAST_EFFICIENCY, _MOST_EFFICIENCY = 10, 130  # per cent
_MOST_OPERANDS = 40
_MOST_FOR_THREE = 14


@dataclass(frozen=True)
class Expression:
    """The values of a formula of some operands, in base units or per cent."""

    low: float
    high: float
    text: str
    operands: tuple[Operand, ...]

    @property
    def of_a_change(self) -> bool:
        """Whether it is a change between two measures in one unit."""
        units = {each.number.unit for each in self.operands}
        return self.text in ("a / b - 1", "1 - a / b") and len(units) == 1 and units not in ({""}, {"%"})

    @property
    def of_units(self) -> bool:
        """Whether every operand has a unit, so that it is no plain multiple of a number."""
        return all(each.number.unit not in ("", "x") for each in self.operands) and self.text in (
            "a / b",
            "a × b",
            "1 / a",
        )


def expressions(target: Operand, operands: list[Operand]) -> Iterator[Expression]:
    """What may be meant by a number of this dimension, of two operands or three."""
    operands = [
        each for each in operands if (each.number.line, each.number.column, each.number.text) != _place(target)
    ][:_MOST_OPERANDS]
    ratio_of_column = not target.is_share and not any(target.dimension) and _is_factor(target)
    ratio_of_column &= any(_of_one_column(a, b) for a, b in combinations(operands, 2) if a.cell)
    for (i, a), (j, b) in permutations(enumerate(operands), 2):
        if not _may_be_combined(a, b) or (ratio_of_column and not (a.cell and _of_one_column(a, b))):
            continue
        if target.is_share:
            if (
                a.dimension == b.dimension
                and a.is_share == b.is_share
                and (not a.is_share or bool(_COMPARES.search(target.number.words.lower())))
                and (any(a.dimension) or _of_one_column(a, b) or _divides_speedup(target, a))
            ):
                yield Expression(100 * a.low / b.high, 100 * a.high / b.low, "a / b", (a, b))
                yield Expression(100 * a.low / b.high - 100, 100 * a.high / b.low - 100, "a / b - 1", (a, b))
                yield Expression(100 - 100 * a.high / b.low, 100 - 100 * a.low / b.high, "1 - a / b", (a, b))
            if a.is_share and b.is_share:
                yield Expression(a.low - b.high, a.high - b.low, "a - b", (a, b))
            continue
        if a.is_share or b.is_share:
            continue
        if _minus(a.dimension, b.dimension) == target.dimension:
            yield Expression(a.low / b.high, a.high / b.low, "a / b", (a, b))
        if i < j and _plus(a.dimension, b.dimension) == target.dimension:
            yield Expression(a.low * b.low, a.high * b.high, "a × b", (a, b))
        if i < j and a.dimension == b.dimension == target.dimension and any(a.dimension):
            yield Expression(a.low + b.low, a.high + b.high, "a + b", (a, b))
        if a.dimension == b.dimension == target.dimension and any(a.dimension):
            yield Expression(a.low - b.high, a.high - b.low, "a - b", (a, b))
    if not target.is_share:
        for a in operands:
            if tuple(-power for power in a.dimension) == target.dimension and any(a.dimension):
                yield Expression(1 / a.high, 1 / a.low, "1 / a", (a,))
    if not ratio_of_column:
        yield from _of_three(target, operands[:_MOST_FOR_THREE])


def _of_three(target: Operand, operands: list[Operand]) -> Iterator[Expression]:
    plain = [each for each in operands if not each.is_share]
    if "." in target.number.text and not target.number.unit:
        plain = [each for each in plain if not each.number.text.isalpha()]  # "at the four points": it counts them
    size = 100 if target.is_share else 1
    for a, b in combinations(plain, 2):
        both = _plus(a.dimension, b.dimension)
        over, under = _minus(both, target.dimension), _plus(both, target.dimension)  # of the third one
        for c in plain:
            if c.dimension not in (over, under) or c is a or c is b:
                continue
            if not (_may_be_combined(a, b) and _may_be_combined(a, c)):
                continue
            alike = a.dimension == b.dimension == c.dimension and any(a.dimension)  # four values of one quantity
            if (
                c.dimension == over
                and not alike
                and (not target.is_share or any(a.dimension))
                and any(each.number.unit or each.cell for each in (target, a, b, c))
            ):
                yield Expression(size * a.low * b.low / c.high, size * a.high * b.high / c.low, "a × b / c", (a, b, c))
            if c.dimension == under:
                yield Expression(
                    size * c.low / (a.high * b.high), size * c.high / (a.low * b.low), "c / (a × b)", (a, b, c)
                )
    if not target.is_share:
        for a, b, c in combinations(plain, 3):
            if _plus(_plus(a.dimension, b.dimension), c.dimension) == target.dimension:
                yield Expression(a.low * b.low * c.low, a.high * b.high * c.high, "a × b × c", (a, b, c))


def is_efficiency(target: Operand, expression: Expression) -> bool:
    """Whether the words speak of an efficiency, and it is a speedup divided by a number of devices."""
    if len(expression.operands) != 2:
        return False
    speedup, devices = expression.operands
    possible = _LEAST_EFFICIENCY < expression.low < _MOST_EFFICIENCY
    return _divides_speedup(target, speedup) and devices.number.unit != "x" and possible


def _divides_speedup(target: Operand, a: Operand) -> bool:
    return a.number.unit == "x" and "efficien" in target.number.words.lower()


def _is_factor(target: Operand) -> bool:
    """Whether the words call a number a factor or a speedup: a ratio of two rows."""
    return target.number.unit == "x" or (
        "." in target.number.text and bool(_FACTOR.search(target.number.words.lower()))
    )


def _place(operand: Operand) -> tuple[int, int, str]:
    return operand.number.line, operand.number.column, operand.number.text


def _may_be_combined(a: Operand, b: Operand) -> bool:
    """Two cells of one table only within a row or a column."""
    if a.cell is None or b.cell is None or a.cell[0] != b.cell[0]:
        return True
    return (a.cell[1] == b.cell[1]) != (a.cell[2] == b.cell[2])


def _of_one_column(a: Operand, b: Operand) -> bool:
    """Whether the ratio of two plain numbers makes sense: of one column, or both in the prose."""
    if a.cell is None or b.cell is None:
        return a.cell is b.cell
    return a.cell[0] == b.cell[0] and a.cell[2] == b.cell[2]


@lru_cache(maxsize=4096)
def _plus(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(map(add, a, b))


@lru_cache(maxsize=4096)
def _minus(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(map(sub, a, b))
