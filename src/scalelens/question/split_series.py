"""Series that would be one, if the logs of one stated a setting that the others state: who expects one line is told why
there are two, and how to say what no log says."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import permutations

from scalelens import catalog
from scalelens.tables import RUN_FACTS

_BETWEEN = re.compile(r" · |, ")
_FACTS = {fact.name for fact in RUN_FACTS}


def remark(names: Iterable[str], devices: Iterable[int | None]) -> str:
    """What stands beside rows of series, by the name of the series and the devices of each row; empty for most."""
    sizes: dict[str, set[int]] = defaultdict(set)
    for name, size in zip(names, devices, strict=True):
        sizes[name] |= {size} - {None}  # type: ignore[arg-type]
    lines = [
        f"only {setting} tells the series apart, and no log on {_between(of_sizes)} states it: if it was {value} there,"
        f" too, set {setting} = {_toml(value)} under [{'facts' if setting in _FACTS else 'labels'}] in scalelens.toml"
        for (setting, value), of_sizes in _unstated(sizes).items()
    ]
    return "\n".join(lines)


def _unstated(sizes: Mapping[str, set[int]]) -> dict[tuple[str, str], set[int]]:
    """Settings with their only value in other series, and the sizes of the series that do not state them."""
    known = {row["setting"] for row in catalog.rows("settings_catalog")}
    missing: dict[str, set[str]] = defaultdict(set)
    for name, other in permutations(sizes, 2):
        (own, kind), (others, other_kind) = _pieces(name), _pieces(other)
        if kind == other_kind and own < others and len(others - own) == 1:
            missing[name] |= others - own
    found: dict[tuple[str, str], set[int]] = defaultdict(set)
    for name, pieces in missing.items():
        setting, _, value = min(pieces).partition(" ")
        if len(pieces) == 1 and setting in known and value and sizes[name]:
            found[setting, value] |= sizes[name]
    return found


def _pieces(name: str) -> tuple[set[str], str]:
    """What the runs of a series have in common, by its name, and how they scale."""
    before, _, scaling = name.rpartition(" · ")
    return set(_BETWEEN.split(before)), scaling


def _between(sizes: set[int]) -> str:
    first, last = min(sizes), max(sizes)
    return f"{first:,} {'device' if first == 1 else 'devices'}" if first == last else f"{first:,} to {last:,} devices"


def _toml(value: str) -> str:
    return value if value.isdecimal() else f'"{value}"'
