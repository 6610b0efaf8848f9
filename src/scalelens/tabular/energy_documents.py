"""Measurements within a JSON document or a report: objects that hold an energy, or a mean power, and a duration."""

import itertools
from collections.abc import Iterator
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.sensor_words import scope_of_words
from scalelens.parsing.values import amount, json_number
from scalelens.tabular.cells import nested_values
from scalelens.tabular.energy_columns import energy_column
from scalelens.tabular.energy_layout import DURATION, EnergyLayout, energy_layout, is_whole, without_unit
from scalelens.tabular.value_pairs import value_pairs

_STEP = re.compile(r"(?:global_?|train_?)?(?:step|epoch|iter(?:ation)?)", re.IGNORECASE)
_WHOLE_SENSORS = ("gpu", "cpu", "memory", "total")  # of an object within one that has the duration
_DEEPEST = 12  # objects within objects
_MOST_VALUES = 1000  # of a measurement in a document
_LONGEST_NAME = 100  # characters, before each of the values of an object within it
_ENERGIES = re.compile(r"energ|joule|kwh|consum", re.IGNORECASE)
_POWERS = re.compile(r"power(?:[_ ](?:stats|metrics|measurements?))?", re.IGNORECASE)
_SUMMARY = re.compile(
    r"(?<![a-z])(?:mean|avg|average|std|min|max|median|p\d\d|baseline|idle|predict|estimat|config|per)", re.IGNORECASE
)
_OF_COMPUTER = re.compile(
    r"gpu|cpu|dram|rapl|nvml|comput|throttl|utili[sz]|latency|run_?time|carbon|emission|co2|token|accuracy|inference|training",
    re.IGNORECASE,
)
_POWER = re.compile(r"power|watt", re.IGNORECASE)
PUE = re.compile(r"pue(?:_(?:used|factor|value))?", re.IGNORECASE)
_MOMENT = re.compile(r"(?:energy_)?(?:before|after|start|end|begin|initial|final)(?:_energy)?", re.IGNORECASE)
_PART_OF_MODEL = re.compile(r"layer|param|limit|spec|hardware|component|simulat|estimat", re.IGNORECASE)


def measurements(value: Any, depth: int = 0, in_series: bool = False) -> Iterator[dict[str, str]]:
    """Objects with an energy and a duration as cells of text; none within another, and none of means or baselines."""
    if isinstance(value, dict) and len(value) <= _MOST_VALUES:
        for own in (_texts(value), _with_parts(value)):
            layout = energy_layout([*own], in_series=False)
            if layout and not layout.are_powers and _is_measured(own, layout):
                if not in_series:
                    yield own
                return
    if depth < _DEEPEST and isinstance(value, dict | list):
        for name, each in value.items() if isinstance(value, dict) else enumerate(value):
            if not _SUMMARY.search(str(name)) and not _MOMENT.fullmatch(str(name)):
                yield from measurements(each, depth + 1, isinstance(value, list) and _are_steps(value))


def mean_powers(value: Any, depth: int = 0) -> Iterator[dict[str, str]]:
    """The outermost objects with one mean power and the duration of all of it, where none is of a part of a machine."""
    if isinstance(value, dict) and len(value) <= _MOST_VALUES:
        own = _texts(value)
        layout = energy_layout([*own], in_series=False)
        if layout and layout.are_powers and _is_measured(own, layout) and _is_of_all([*own], layout):
            yield own
            return
    if depth < _DEEPEST and isinstance(value, dict | list):
        for name, each in value.items() if isinstance(value, dict) else enumerate(value):
            if not _SUMMARY.search(str(name)) and not scope_of_words(str(name)):
                yield from mean_powers(each, depth + 1)


def energies_alone(value: Any, depth: int = 0) -> Iterator[dict[str, str]]:
    """The outermost objects with an energy and no duration, where names beside it say that it is one of a computer."""
    if isinstance(value, dict) and len(value) <= _MOST_VALUES:
        own = _with_parts(value) | {"duration": ""}  # unknown
        layout = energy_layout([*own], in_series=False)
        if layout and not layout.are_powers and _is_measured(own, layout) and _is_of_computer([*own, *value], layout):
            yield own
            return
        for name, each in value.items() if depth < _DEEPEST else ():
            if not (_SUMMARY.search(name) or _MOMENT.fullmatch(name) or _PART_OF_MODEL.search(name)):
                yield from energies_alone(each, depth + 1)


def _is_of_computer(names: list[str], layout: EnergyLayout) -> bool:
    """Whether names say so; a power beside joules does, and beside kilowatt-hours, as of a car, it does not."""
    in_joules = all(column.scale <= 1 for column in layout.energies)
    return any(map(_OF_COMPUTER.search, names)) or (in_joules and any(map(_POWER.search, names)))


def _is_of_all(names: list[str], layout: EnergyLayout) -> bool:
    return layout.window is not None or (layout.duration is not None and is_whole(names[layout.duration]))


def reported_energies(text: str) -> list[dict[str, str]]:
    """The reports of a text that have an energy, or one mean power and the duration of all of it."""
    found: list[dict[str, str]] = []
    for report in value_pairs(text):
        layout = energy_layout([*report], in_series=False, cells=[*report.values()])
        if layout and _is_measured(report, layout) and (not layout.are_powers or _is_of_all([*report], layout)):
            found.append(report)
    return found


def _texts(value: dict[str, Any]) -> dict[str, str]:
    return {k: str(each) for k, each in value.items() if isinstance(each, int | float | str) and each is not True}


def _with_parts(value: dict[str, Any]) -> dict[str, str]:
    """An object with the energies of an object within it: `"energy": {"cpu": {"joules": 5}}` is energy_cpu_joules."""
    own = _texts(value)
    for name, inner in value.items():
        if not isinstance(inner, dict) or len(name) > _LONGEST_NAME or _SUMMARY.search(name):
            continue
        if not _ENERGIES.search(name) and scope_of_words(name) in _WHOLE_SENSORS:
            own |= {f"{name}_{k}": each for k, each in _texts(inner).items() if energy_column(0, k)}
        if _POWERS.fullmatch(name):
            own |= {k: each for k, each in _texts(inner).items() if energy_column(0, k) and k not in own}
        if not _ENERGIES.search(name):
            own |= {k: each for k, each in _texts(inner).items() if DURATION.fullmatch(k) and k not in own}
            continue
        parts = [*itertools.islice(nested_values(inner), _MOST_VALUES + 1)]
        if len(parts) > _MOST_VALUES:
            continue
        unit = energy_column(0, f"energy {name}") is not None
        for k, each in parts:
            part = k.replace(".", "_")
            own[part if energy_column(0, part) else f"{part}_{name}" if unit else f"{name}_{part}"] = str(each)
    return own


def with_cooling(value: Any, depth: int = 0) -> bool:
    """Whether a document has a PUE other than 1, by which its energies may be multiplied."""
    if isinstance(value, dict):
        if any(PUE.fullmatch(name) and json_number(each) not in (None, 1) for name, each in value.items()):
            return True
        value = [*value.values()]
    return depth < _DEEPEST and isinstance(value, list) and any(with_cooling(each, depth + 1) for each in value)


def units_lacking(value: Any, depth: int = 0) -> Iterator[str]:
    """What objects of a document lack, in which an energy has no unit."""
    if isinstance(value, dict) and (name := without_unit([*_texts(value)])):
        yield f"the value {name} has no unit: {name}_j, or {name} [kWh], would say it"
    if depth < _DEEPEST and isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from units_lacking(each, depth + 1)


def _are_steps(objects: list[Any]) -> bool:
    """Whether each object of a list is another step or epoch."""
    for name in (
        (name for name in objects[0] if _STEP.fullmatch(name)) if objects and isinstance(objects[0], dict) else ()
    ):
        values = [str(each.get(name)) for each in objects if isinstance(each, dict)]
        if len({*values}) == len(values) > 1:
            return True
    return False


def _is_measured(own: dict[str, str], layout: EnergyLayout) -> bool:
    cells = [*own.values()]
    return all(amount(cells[column.k]) is not None for column in layout.energies)
