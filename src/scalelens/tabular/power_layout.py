"""What the names of the columns of a table of power say: times, powers, counters, and what may name the sensor."""

from collections.abc import Sequence
from typing import NamedTuple

from scalelens.parsing import lazy_re as re
from scalelens.parsing.source import Source
from scalelens.tabular.energy_columns import EnergyColumn, energy_column, interval_column
from scalelens.tabular.power_columns import power_columns
from scalelens.tabular.power_kinship import PowerColumn
from scalelens.tabular.sensor_columns import SENSOR
from scalelens.tabular.sensor_rows import first_rows
from scalelens.tabular.sensor_times import TimeColumn, time_column

_STEPS = re.compile(
    r"(?:global_?|train_?)?(?:steps?|iter(?:ation)?s?|batch(?:_?idx)?|epochs?|loss)"
    r"|(?:step|iter|batch|epoch)_?(?:time|duration).*|(?:samples|images|tokens)(?:_per_|/)s.*|throughput.*",
    re.IGNORECASE,
)
_DEVICE = re.compile(
    r"(?:gpu|device|card|ipu|accelerator|index|id|uuid)(?:[_ ]?(?:id|index|idx|uuid|num|number))?", re.IGNORECASE
)
_NODE = re.compile(r"(?:node|host|server|machine)(?:_?name)?", re.IGNORECASE)
_LONGEST = 100  # characters of a column's name


class PowerLayout(NamedTuple):
    """Where a table has what."""

    header: list[str]
    time: TimeColumn
    powers: list[PowerColumn]
    energies: list[EnergyColumn]
    devices: list[int]  # columns that can name the sensor
    node: int | None


def layout_of(header: list[str], cells: Sequence[str] = ()) -> PowerLayout | None:
    """What the names of the columns and the first row say, if there are times and powers and no steps."""
    if len(header) < 2 or max(map(len, header)) > _LONGEST:
        return None
    if any(map(_STEPS.fullmatch, header)):
        return None
    fitting = cells if len(cells) == len(header) else ()
    time = time_column(header, fitting)
    powers = power_columns(header, fitting)
    energies = [
        energy for k, name in enumerate(header) if (energy := energy_column(k, name) or interval_column(k, name))
    ]
    if time is None or not (powers or energies):
        return None
    if any(header.count(header[k]) > 1 for k in (time.k, *(each.k for each in powers), *(each.k for each in energies))):
        return None
    measured = {each.k for each in powers} | {each.k for each in energies}
    devices = [
        k for k, name in enumerate(header) if k not in measured and (_DEVICE.fullmatch(name) or SENSOR.fullmatch(name))
    ]
    nodes = [k for k, name in enumerate(header) if _NODE.fullmatch(name)]
    return PowerLayout(header, time, powers, energies, devices, nodes[0] if nodes else None)


def layout_in(source: Source, header: list[str]) -> PowerLayout | None:
    first = first_rows(source.text_head())
    return layout_of(header, first[1] if first and first[0] == header else ())
