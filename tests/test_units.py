"""Units have one table, from which all others are made."""

import ast
from collections.abc import Iterator
from decimal import Decimal

import pytest

from conftest import ROOT
from scalelens.units import UNITS, Unit, base, factors, ratio

PACKAGE = ROOT / "src" / "scalelens"
ALSO_SPELLED = {"watt": "W", "watts": "W", "milliwatt": "mW", "second": "s", "seconds": "s", "hour": "h", "byte": "B"}


def spelled(name: object) -> list[Unit]:
    """Units that a text may be the name of.  "B" is left out, because beside K and M it is a billion."""
    if not isinstance(name, str) or name == "B":
        return []
    return [unit for known, unit in UNITS.items() if ALSO_SPELLED.get(name, name) in (known, known.lower())]


def test_units_in_base_units() -> None:
    assert base("kWh") == ("J", Decimal("3.6e6")) and base("GB/s") == ("B/s", Decimal("1e9"))
    assert (
        base("images/min") == ("images/s", 1 / Decimal(60))
        and base("") == ("", 1)
        and base("%") == ("", Decimal("0.01"))
    )
    assert factors("us", "ms") == {"us": 1e-6, "ms": 1e-3}
    assert ratio("d", "us") == 86_400_000_000 and ratio("min", "ns") == 60e9 and ratio("MB/s", "bytes/s") == 1e6


def test_units_of_two_quantities_have_no_ratio() -> None:
    with pytest.raises(ValueError, match="different quantities"):
        ratio("Wh", "W")


def pairs(tree: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Each name of a unit beside a number: a key of a dict with its value, a text of a tuple with what follows it."""
    for node in ast.walk(tree):
        found: list[tuple[ast.expr | None, ast.expr]] = []
        if isinstance(node, ast.Dict):
            found = [*zip(node.keys, node.values, strict=True)]
        elif isinstance(node, ast.Tuple):
            found = [(first, second) for k, first in enumerate(node.elts) for second in node.elts[k + 1 :]]
        for name, value in found:
            if isinstance(name, ast.Constant) and spelled(name.value):
                yield from ((name.value, part) for part in (value.elts if isinstance(value, ast.Tuple) else [value]))


def number(value: ast.expr) -> Decimal | None:
    """The number that an expression of numbers, or a text of digits, is."""
    names = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}
    if names - {"Decimal", "float", "str"} or any(isinstance(node, ast.Attribute) for node in ast.walk(value)):
        return None
    try:
        return Decimal(str(eval(compile(ast.Expression(value), "", "eval"))))
    except (ArithmeticError, TypeError, SyntaxError):
        return None


def factors_in(text: str) -> list[str]:
    """Names of units that stand in a module with their size in another unit of the same quantity."""
    found = ((name, number(value)) for name, value in pairs(ast.parse(text)))
    return [name for name, size in found if size and size != 1 and size in sizes_of(name)]


def sizes_of(name: str) -> set[Decimal]:
    """The sizes of a unit in its base unit and in all others of its quantity."""
    others = [(unit, other) for unit in spelled(name) for other in UNITS.values() if other.base == unit.base]
    return {unit.factor for unit, _ in others} | {unit.factor / other.factor for unit, other in others}


def test_no_other_module_has_the_size_of_a_unit() -> None:
    modules = [path for path in PACKAGE.rglob("*.py") if path.name != "units.py" and "runners" not in path.parts]
    assert len(modules) > 400
    assert {str(path.relative_to(PACKAGE)): found for path in modules if (found := factors_in(path.read_text()))} == {}


@pytest.mark.parametrize(
    "text",
    [
        'SCALES = {"W": 1.0, "mw": 1e-3}', 'JOULES = {"kWh": ("J", Decimal("3.6e6"))}', 'UNITS = (("min", 60, "m"),)',
        'SIZES = {"GiB": 2**30}', 'PARTS = {"KiB": 2**-20}', 'FACTORS = {"%": "0.01"}', 'SECONDS = {"hour": 3_600}',
    ],
)  # fmt: skip
def test_a_second_table_is_found(text: str) -> None:
    assert factors_in(text)


def test_numbers_that_are_no_sizes_are_left_alone() -> None:
    assert (
        factors_in('SIZES = {"s": (12, 384), "h": 0.2, "M": 1e6}\nFROM = ((0.0, "ms"), (0.2, "s"), (7200, "h"))') == []
    )
