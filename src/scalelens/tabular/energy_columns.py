"""Columns of energy in a table of sensors, and which of them are counters."""

import itertools
import statistics
from collections.abc import Sequence
from typing import NamedTuple

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.sensor_words import names_part, scope_of_words, separated
from scalelens.parsing.source import Source
from scalelens.parsing.values import amount
from scalelens.tabular.prometheus_series import is_series, series_column
from scalelens.tabular.sensor_rows import sensor_rows
from scalelens.units import factors

_NAMED = re.compile(
    r"(.*?)[_ .]?(?:[\[(](uJ|mJ|J|kJ|MJ|[kK]?[Ww][hH]|[mM]Wh|[Jj]oules?)[\])]"
    r"|(?<=[_ .])([um]?[jJ]|k[jJ]|MJ|[kK]?[wW][hH]|[mM]Wh|joules?)"
    r"|(?<![A-Za-z])(Joules?|[kM]?Wh)|(?<![a-z])(joules|[km]?wh)_total)"
)
_LONG = re.compile(
    r"(?<![A-Za-z])(?:(milli|micro|kilo)[ _-]?(?:joules?|(watt)[ _-]?hours?))(?![A-Za-z])", re.IGNORECASE
)
_DIVIDED = re.compile(r"(?<![A-Za-z])([Ee]nergy|ENERGY|E) ?[,/] ?(uJ|mJ|J|kJ|MJ|Wh|kWh)\Z")  # Energy / J
_WITHIN = re.compile(r"(.*?)(?<![A-Za-z])([Jj]oules?|[kK][wW][hH])(?![A-Za-z])(.*)")
_ENERGY = re.compile(r"energy|joules?|(?<![a-z])[mk]?wh(?![a-z])", re.IGNORECASE)
_NO_ENERGY = re.compile(
    r"(?<![a-z])per(?![a-z])|/|tok|sample|image|step|iter|request|limit|range|budget|mean|avg|average|std|min|max|delta|diff"
    r"|interval|saved|efficien|idle|baseline|predict|estimat|process(?!or)|app|task|service|container|(?<![a-z])pod(?![a-z])|adjusted|normali|gap|edp|cost|price|delay|ratio|percent|pct"
    r"|kalman|filter|smooth|denois|correct|calibrat|interpolat|scaled|carbon|co2|intensity|emission|grid|capacity|remaining|battery|budget|saving|predict|forecast"
    r"|(?<![a-z])(?:before|after|start|begin|initial|(?<!to_)end(?!_to))(?![a-z])"
    r"|(?<![a-z])(?:net|dynamic|above|excess|marginal|cap|target|score|rank|level|source|mix|star)(?![a-z])",
    re.IGNORECASE,
)
_WORDS = re.compile(
    r"(?:^|[_ .-])(?:energy|consumed|consumption|used|usage|cumulative|accumulated|counter|joules?)(?=$|[_ .-])",
    re.IGNORECASE,
)
_OF_INTERVAL = re.compile(
    r"(?:(?<![A-Za-z])(?:(?:per|during|in|of)[_ ](?:the[_ ])?)?(?:interval|delta)|\u0394)(?:[_ .-]|(?![A-Za-z]))",
    re.IGNORECASE,
)
_CELL = re.compile(r"(\d{1,15}(?:\.\d{0,15})?(?:[eE][-+]?\d{1,3})?) ?([um]?J|kJ|MJ|[mkM]?Wh|[Jj]oules?)?")
_CODECARBON = re.compile(r"codecarbon_+(?:(cpu|gpu|ram)_energy|energy_consumed)")  # as Experiment Runner calls them
_PERF = re.compile(r"power[/_ ]?energy[-_](pkg|ram|psys|cores|gpu)/?", re.IGNORECASE)  # perf's events, in joules
_OF_EVENTS = {"pkg": "cpu", "ram": "memory", "psys": "platform", "cores": "cpu_part", "gpu": "cpu_part"}
_SCALES = {unit.lower(): scale for unit, scale in factors("uJ", "mJ", "J", "kJ", "Wh", "kWh").items()} | {
    "joule": 1.0, "joules": 1.0, "mwh": factors("Wh")["Wh"] / 1000,  # milliwatt-hours
}  # fmt: skip
_MEGA = {"MJ": factors("MJ")["MJ"], "MWh": 1000 * factors("kWh")["kWh"]}  # whose small letters are thousandths
_DURATION = re.compile(
    r"(?:total|exec(?:ution)?|run|wall|training|inference|avg|mean)?[_ ]?"
    r"(?:duration|runtime|run_?time|elapsed(?:[_ ]time)?|latency"
    r"|execution[_ ]time|exec[_ ]time|training[_ ]time|inference[_ ]time|time[_ ]taken)[_ ]?[\[(]?"
    r"(?:s|secs?|seconds?|ms|min|minutes?|h|hours?)?[\])]?",
    re.IGNORECASE,
)
_ENERGIBRIDGE = re.compile(r"(?:CPU|CORE\d+|PACKAGE|DRAM|PP[01]|PSYS|GPU\d*)_ENERGY \(J\)")  # always counters
_LONGEST = 60  # characters of a name
_FEWEST = 5  # rows: so many of other energies stand in the order of their size once in 120 times
_MOST_BACK = 0.05  # of the readings may be below the one before, of a counter that begins anew
_COUNTS = re.compile(r"cumul|accum|count|since|so[ _]far|uj|consumed|total|PACKAGE|pkg|rapl|psys", re.IGNORECASE)
_MOST_OF_ONE = 3  # intervals of which the first reading of a counter that began with the table is
_LEAST_NOISE = 1e-3  # of the energy of an interval, from one to the next
_SAME = 0.9  # of the rows, where two columns show one counter
_MOST_ROWS = 200_000  # that are looked at


class EnergyColumn(NamedTuple):
    """A column of energy."""

    k: int
    name: str
    scale: float  # to joules
    device: str | None
    scope: str | None
    of_interval: bool = False  # whether each row holds what was taken since the row before it
    in_cells: bool = False  # whether each cell says its own unit, and the name none


def energy_column(k: int, name: str) -> EnergyColumn | None:
    """A column of energy, by its name."""
    if plugin := _CODECARBON.fullmatch(name):
        return EnergyColumn(k, name, _SCALES["kwh"], plugin[1] or "total", scope_of_words(plugin[1] or "total"))
    if event := _PERF.fullmatch(name):
        return EnergyColumn(k, name, 1.0, event[1].lower(), _OF_EVENTS[event[1].lower()])
    if is_series(name) or name.startswith("DCGM_FI_"):
        series = series_column(name)
        is_energy = series is not None and series[0].is_counter
        return EnergyColumn(k, name, series[0].scale, series[1], series[0].scope) if series and is_energy else None
    words = _LONG.sub(_short, _DIVIDED.sub(r"\1 [\2]", separated(name)))
    match = _NAMED.fullmatch(words) or _WITHIN.fullmatch(words)
    if not match or _NO_ENERGY.search(words):
        return None
    is_within = match.re.groups == _WITHIN.groups
    unit = match[2] if is_within else next(filter(None, match.groups()[1:]))
    if is_within and not names_part(match[3]):
        return None
    said = f"{match[1]}_{match[3]}" if is_within else match[1]
    label = _WORDS.sub("", said).strip(" _.-()[]") or None
    if not (_ENERGY.search(words) or scope_of_words(label or "")):
        return None
    scale = _MEGA.get(unit) or _SCALES[unit.lower()]
    return EnergyColumn(k, name, scale, label, scope_of_words(label or ""))


def _short(unit: re.Match[str]) -> str:
    """`mJ` of millijoules, `kWh` of kilowatt hours."""
    size = {"milli": "m", "micro": "u", "kilo": "k"}.get(unit[1].lower(), "")
    return f"{size}{'Wh' if unit[2] else 'J'}"


def interval_column(k: int, name: str) -> EnergyColumn | None:
    """A column of the energies of intervals, by its name: energy_delta_j, interval_energy_j."""
    words = separated(name)
    rest = _OF_INTERVAL.sub("", words)
    column = energy_column(k, rest.strip(" _.-")) if rest != words else None
    return column._replace(name=name, of_interval=True) if column else None


def energy_in_cells(k: int, name: str, cell: str) -> EnergyColumn | None:
    """A column of energy whose cells say their unit, as `529.94 mJ`."""
    match = _CELL.fullmatch(cell)
    if match is None or not match[2] or not lacks_unit(name):
        return None
    label = _WORDS.sub("", separated(name)).strip(" _.-") or None
    return EnergyColumn(k, name, 1.0, label, scope_of_words(label or ""), in_cells=True)


def joules_of(cell: str, column: EnergyColumn) -> float | None:
    """The energy of a cell."""
    match = _CELL.fullmatch(cell)
    if match and (match[2] or not column.in_cells):
        scale = (_MEGA.get(match[2]) or _SCALES[match[2].lower()]) if match[2] else column.scale
        return float(match[1]) * scale
    value = None if column.in_cells else amount(cell)
    return None if value is None else value * column.scale


def lacks_unit(name: str) -> bool:
    """Whether a column is an energy of which the name does not say the unit."""
    words = separated(name)
    is_energy = re.search(r"energy", words, re.IGNORECASE) is not None and not re.search(r"joule", words, re.IGNORECASE)
    return is_energy and energy_column(0, name) is None and not _NO_ENERGY.search(words) and len(name) <= _LONGEST


def are_windows(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str | None:
    """The column that gives each row a duration of its own: then rows are runs or windows, and not samples in time."""
    for k, name in enumerate(header):
        if _DURATION.fullmatch(name):
            spans = [value for row in rows if (value := amount(row[k])) is not None]
            back = sum(after < before for before, after in itertools.pairwise(spans))
            if len(spans) > 1 and back > _MOST_BACK * len(spans):
                return name
    return None


def counter_columns(
    source: Source, columns: Sequence[EnergyColumn], named_by: tuple[int, ...], node: int | None, rows: Rows
) -> list[EnergyColumn]:
    """Those of the columns that count, for every sensor that has rows; a problem names each other one.

    The two threads of a core may show one counter: columns that are the same in nearly all rows count once.
    """
    if not columns:
        return []
    series: dict[tuple[int, tuple[str, ...]], list[float]] = {}
    apart = (*named_by, node) if node is not None else named_by
    width = 0
    for row in itertools.islice(sensor_rows(source), _MOST_ROWS):
        width = width or len(row.cells)
        if len(row.cells) != width or not row.whole:
            continue
        for column in columns:
            if (value := amount(row.cells[column.k])) is not None:
                series.setdefault((column.k, tuple(row.cells[k] for k in apart)), []).append(value)
    kept: list[tuple[EnergyColumn, list[list[float]]]] = []
    for column in columns:
        if column.of_interval:
            continue
        own = [values for (k, _), values in series.items() if k == column.k]
        fewest = 2 if _ENERGIBRIDGE.fullmatch(column.name) else _FEWEST  # readings of what is known as a counter
        if own and all(len(values) >= _FEWEST and len({*values}) == 1 != values[0] + 1 for values in own):
            rows.problem(1, f"the column {column.name} never changes: it is not a counter, and is not read")
        elif own and fewest > 2 and not _COUNTS.search(column.name) and any(map(_may_be_intervals, own)):
            rows.problem(
                1, f"the column {column.name} only grows, but little compared with its first number: it may be a "
                "counter that began before, or the energy of each interval, and is not read",
            )  # fmt: skip
        elif own and all(only_grows(values, fewest) for values in own):
            same = next((other for other, its in kept if other.scope == column.scope and _are_same(own, its)), None)
            if same:
                rows.problem(1, f"{column.name} is the counter of {same.name}: it counts once")
            else:
                kept.append((column, own))
        elif own:
            rows.problem(
                1, f"the column {column.name} goes up and down, or is short: it may be the energy of each interval, "
                "and is not read",
            )  # fmt: skip
    return [column for column, _ in kept]


def _may_be_intervals(values: Sequence[float]) -> bool:
    """Whether numbers that only grow can be the energies of intervals as well as readings of a counter.

    A counter that began with the table starts with an interval's energy or less; that of a device, which began long
    ago, grows by much less than the noise of measured intervals.
    """
    if not only_grows(values) or not values[0]:
        return False
    step = statistics.median(after - before for before, after in itertools.pairwise(values))
    return _MOST_OF_ONE * step < values[0] < step / _LEAST_NOISE


def _are_same(own: list[list[float]], other: list[list[float]]) -> bool:
    """Whether the readings of two columns are those of one counter, which moves between them now and then."""
    pairs = [pair for mine, its in zip(own, other, strict=False) for pair in zip(mine, its, strict=False)]
    moves = any(values[0] != values[-1] for values in own)
    return moves and sum(mine == its for mine, its in pairs) >= _SAME * len(pairs)


def only_grows(values: Sequence[float], fewest: int = _FEWEST) -> bool:
    """Whether these can be the readings of a counter, which may begin anew."""
    back = sum(after < before for before, after in itertools.pairwise(values))
    return len(values) >= fewest and back <= _MOST_BACK * len(values)
