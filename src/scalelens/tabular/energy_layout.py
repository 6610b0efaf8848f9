"""What the names of the columns of a table of measured programs say: energies, durations, mean powers, windows."""

from collections.abc import Sequence
from typing import NamedTuple

from scalelens.parsing import lazy_re as re
from scalelens.parsing.sensor_words import separated
from scalelens.parsing.sensors import SCALES
from scalelens.parsing.values import amount
from scalelens.tabular.energy_columns import EnergyColumn, energy_column, energy_in_cells, interval_column, lacks_unit
from scalelens.tabular.sensor_times import TimeColumn, time_column
from scalelens.units import factors

DURATION = re.compile(
    r"(?:(?:[a-z_ .]*[_ .])?(?:duration|run_?time|elapsed|time|latency)(?:[_ ]taken)?"
    r"|(?:measured?|measurement|run|total|wall|train(?:ing)?|exec(?:ution)?)(?=[_ ]seconds))[_ ]?"
    r"[\[(]?(s|secs?|seconds?|ms|us|ns|(?:milli|micro|nano)[ -]?sec(?:ond)?s?|min|minutes?|h|hours?)?[\])]?"
    r"(?:[_ ](?:actual|measured|real|total))?",
    re.IGNORECASE,
)
_DIVIDED = re.compile(r" ?/ ?(s|ms|us|ns|min|h)\Z")  # time/s
# With its fraction, which the seconds of a scheduler's record (values.clock_span) leave out.
_CLOCK = re.compile(r"(?:(\d{1,4})(?:-| days?,? ))?(\d{1,4}):([0-5]\d):([0-5]\d(?:\.\d{1,9})?)")
_BEGINS = re.compile(
    r"(?:t_?|time_?)?(?:start|begin)(?:ed)?(?:_?(?:time|timestamp|ts|at))?(?:[_ ]?[\[(]?(s|ms|us|ns)[\])]?)?",
    re.IGNORECASE,
)
_ENDS = re.compile(
    r"(?:t_?|time_?)?(?:end|stop|finish)(?:ed)?(?:_?(?:time|timestamp|ts|at))?(?:[_ ]?[\[(]?(s|ms|us|ns)[\])]?)?",
    re.IGNORECASE,
)
_NO_DURATION = re.compile(r"per(?!f)|std|mean|avg|stamp|start|end|first|predict|idle|limit|user|sys|cpu", re.IGNORECASE)
_TIMED = re.compile(r"time|duration|elapsed|latency|date", re.IGNORECASE)
_WHOLE = re.compile(r"duration|elapsed|total|run_?time|wall|exec|measure", re.IGNORECASE)
_STEPS = re.compile(r"loss|(?:step|iter|batch|epoch)_?(?:time|duration).*", re.IGNORECASE)
_MEAN_POWER = re.compile(
    r"(.*?)(?<![a-z])(?:mean|avg|average)[_ ](?:(gpu|cpu|total|system|node)[_ ])?(?:power|watts?)"
    r"(?:[_ ](?:draw|drawn|usage|used|consumption|consumed))?[_ ]?[\[(]?(mw|w|kw|watts?)?[\])]?",
    re.IGNORECASE,
)
# The table of Energy-Languages' rapl-runner (greensoftwarelab), in joules; its GPU is the graphics of the processor.
_RUNNER = {"package": "cpu", "core(s)": "cpu_part", "gpu": "cpu_part", "dram": "memory", "dram?": "memory"}
_PACKAGE = re.compile(r"pkg|package", re.IGNORECASE)
_POWER = re.compile(r"power|pwr|watts?(?![_ ]?h)", re.IGNORECASE)
_POWER_WORD = re.compile(r"(?<![a-z])power(?![a-z])", re.IGNORECASE)
_STATE = re.compile(r"util|freq|temp", re.IGNORECASE)
_SHORT = {"mil": "ms", "mic": "us", "nan": "ns", "min": "min", "ms": "ms", "us": "us", "ns": "ns"}


class EnergyLayout(NamedTuple):
    """Where a table has what."""

    energies: list[EnergyColumn]
    duration: int | None
    scale: float | None  # of the durations, to seconds
    are_powers: bool  # means, of which the duration makes energies
    window: tuple[TimeColumn, TimeColumn] | None = None  # the times at which a row begins and ends


def energy_layout(header: Sequence[str], in_series: bool = True, cells: Sequence[str] = ()) -> EnergyLayout | None:
    """What the names of columns and the first row say.

    Outside of a series, epochs and losses are those of a whole training.
    """
    if (in_series and any(map(_STEPS.fullmatch, header))) or len(header) < 2:
        return None
    durations = [
        (k, (match[1] or "").lower())
        for k, name in enumerate(header)
        if (match := DURATION.fullmatch(_DIVIDED.sub(r" [\1]", separated(name)))) and not _NO_DURATION.search(name)
    ]
    whole = [each for each in durations if _WHOLE.search(header[each[0]])] or durations
    energies = _once(_not_of_powers([column for k, name in enumerate(header) if (column := energy_column(k, name))]))
    if not energies and len(cells) == len(header):
        found = (energy_in_cells(k, name, cells[k]) for k, name in enumerate(header))
        energies = _once([column for column in found if column])
    energies = energies or _of_runner(header) or _of_intervals(header)
    window = _window_of(header) if in_series else None
    if not whole and window is None:
        are_samples = any(map(_POWER.search, header)) or (any(map(_STATE.search, header)) and time_column(header))
        alone = in_series and energies and not are_samples
        return EnergyLayout(energies, None, None, False) if alone else None
    duration, scale = (whole[0][0], _seconds_of(whole[0][1])) if whole else (None, None)
    if energies:
        return EnergyLayout(energies, duration, scale, False, window)
    powers = [(k, match) for k, name in enumerate(header) if (match := _MEAN_POWER.fullmatch(name))]
    if len(powers) != 1 or len(whole) > 1 or (scale is None and window is None):
        return None
    k, match = powers[0]
    unit = (match[3] or ("w" if "watt" in header[k].lower() else "")).lower()
    label = " ".join(filter(None, (match[1].strip(" _"), match[2]))) or None
    if unit not in SCALES:
        return None
    named = energy_column(k, f"{label or ''}_energy_j")
    column = EnergyColumn(k, header[k], SCALES[unit], label, named and named.scope)
    return EnergyLayout([column], duration, scale, True, window)


def _of_runner(header: Sequence[str]) -> list[EnergyColumn]:
    found = [
        EnergyColumn(k, name, 1.0, name, scope) for k, name in enumerate(header) if (scope := _RUNNER.get(name.lower()))
    ]
    return found if len(found) == len(_RUNNER) - 1 else []


def _of_intervals(header: Sequence[str]) -> list[EnergyColumn]:
    """Columns of the energies of intervals, by their names, where no column says when these were."""
    if time_column(header) is not None:
        return []
    return [column for k, name in enumerate(header) if (column := interval_column(k, name))]


def is_whole(name: str) -> bool:
    """Whether a duration is that of a whole measurement, and not of one request or step."""
    return _WHOLE.search(name) is not None


def _window_of(header: Sequence[str]) -> tuple[TimeColumn, TimeColumn] | None:
    """The columns of the times at which each row begins and ends, if there is one of each."""
    begins, ends = ([k for k, name in enumerate(header) if form.fullmatch(name)] for form in (_BEGINS, _ENDS))
    if len(begins) != 1 or len(ends) != 1:
        return None
    units = [(form.fullmatch(header[k]) or [""])[1] for form, k in ((_BEGINS, begins[0]), (_ENDS, ends[0]))]
    first, last = (unit.lower() if unit else None for unit in units)
    return (TimeColumn(begins[0], None, first), TimeColumn(ends[0], None, last)) if first == last else None


def _seconds_of(unit: str) -> float | None:
    if not unit:
        return None
    short = next((short for start, short in _SHORT.items() if unit.startswith(start)), unit[:1])
    return factors("s", "ms", "us", "ns", "min", "h")[short] / factors("s")["s"]


def _not_of_powers(columns: list[EnergyColumn]) -> list[EnergyColumn]:
    """Without those that are called a power, next to others: `Power_Consumption (kWh)` with `Energy_Consumed (kWh)`."""
    others = [column for column in columns if not _POWER_WORD.search(column.name)]
    return others or columns


def _once(columns: list[EnergyColumn]) -> list[EnergyColumn]:
    """Each energy once, also where it stands there in joules and in kilowatt-hours."""
    kept: dict[tuple[str | None, str | None], EnergyColumn] = {}
    has_package = any(_PACKAGE.fullmatch(column.device or "") for column in columns)
    for column in columns:
        if has_package and (column.device or "").lower() == "cpu":  # its cores, as RAPL's runners call them
            column = column._replace(scope="cpu_part")
        kept.setdefault((column.device, column.scope), column)
    if any(column.scope for column in kept.values()):
        return [
            column if column.device else column._replace(device="total", scope="total")
            for column in kept.values()
            if column.device or not any(each.scope == "total" for each in kept.values())
        ]
    others = any(column.device for column in kept.values())
    return [
        column if column.device or not others else column._replace(device="total", scope="total")
        for column in kept.values()
    ]


def without_unit(header: Sequence[str]) -> str | None:
    """The first energy without a unit in a table of durations and energies."""
    if any(map(_STEPS.fullmatch, header)) or not any(map(_TIMED.search, header)):
        return None
    return next(filter(lacks_unit, header), None)


def seconds_of(cell: str, scale: float | None) -> float | None:
    """Seconds of a duration; `1:37:40` says its units itself, whatever the column's name says."""
    if clock := _CLOCK.fullmatch(cell.strip()):
        days, hours, minutes, seconds = (float(part or 0) for part in clock.groups())
        return 86_400 * days + 3600 * hours + 60 * minutes + seconds
    value = amount(cell)
    return value * scale if value is not None and scale else None
