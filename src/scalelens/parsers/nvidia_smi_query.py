"""nvidia-smi --query-gpu, as CSV.

Tool: nvidia-smi --query-gpu=... --format=csv[,noheader][,nounits] [-l S], and scripts that keep its names of fields
Versions: drivers 384 to 580
Yields: power, metrics
Source: nvidia-smi --help-query-gpu

Columns are the fields that were asked for, by name.  On Ampere and later, except GA100, power.draw and
power.draw.average are means over one second.  If the file also has power.draw.instant, the mean is read where samples
are a second or more apart, because it misses no peak between them.  With closer samples a mean lags the load, and
power.draw.instant is read.  The note of `files` says which one was used.  module.power.draw is of the module, which
holds the GPU.  clocks.current.sm is the metric sm_clock, and clocks_event_reasons.active, which older drivers call
clocks_throttle_reasons.active, is clock_event_reasons, NVML's bits as a number.  Times are local (--tz).  A sweep reads
one GPU after the other, so their stamps differ by milliseconds.  A header that comes again is where another call wrote
after the first.  A line with nothing but a time, as `date` prints it, holds for the header and the rows below it.

The device is the column that tells the devices of a sweep apart: index, uuid, pci.bus_id, gpu; a column index that is
the same for all of them says nothing, and that is a problem's sentence.  Without such a column GPUs are numbered by
their order in a sweep, if nearly all sweeps are as long: a problem says so.  A sweep that stalls halfway is one sweep.
Without a header there must be one time and one power in watts, or nothing tells which number is the power.

Samples:
    index, timestamp, power.draw [W]
    0, 2026/01/02 03:04:05.678, 63.86 W
"""

import itertools
import statistics
from collections.abc import Iterator

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.sensors import SECOND, Samples, Sensor, place_of, stamp_of
from scalelens.parsing.source import Source
from scalelens.parsing.sweeps import places_in_sweeps
from scalelens.parsing.values import UNREADABLE_TIME, nanoseconds_since_1970
from scalelens.tabular.cells import MAY_BE_CUT, first_lines, rows_of
from scalelens.units import factors

VERSION = 7

_POWERS = ("power.draw", "power.draw.average", "power.draw.instant")
_CLOCKS = ("clocks.current.sm", "clocks.sm")
_REASONS = ("clocks_event_reasons.active", "clocks_throttle_reasons.active")
_DEVICES = ("index", "uuid", "gpu_uuid", "pci.bus_id", "gpu_bus_id", "serial", "gpu")
_NAME = re.compile(r"([\w.]+)(?: \[([^]]+)\])?")
_TIME = re.compile(r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d{3}")
_OTHER_TIME = re.compile(r"(?:time|elapsed|date|epoch|ts)(?![a-z])", re.IGNORECASE)
_IN_WATTS = re.compile(r"\d+\.\d+ W")
_BITS = re.compile(r"0x[0-9A-Fa-f]{1,16}")
_SCALES = factors("W", "mW")
_TIME_LINE = re.compile(r"[^\w]{0,20}(?:[A-Za-z]{1,12}[:=] ?)?([^,]{8,60}?)[^\w]{0,20}")  # == 2026-01-02 03:04:05 ==
_MEAN_OF_S = 0.9  # seconds between samples, below which a mean of one second holds what came before


def recognise(head: bytes, name: str) -> bool:
    first = first_lines(head)[:2]
    if not any("," in line for line in first):  # most texts
        return False
    above, *below = [*first, ""]
    lines = below if _time_in(above) else [above]
    if "," not in lines[0]:
        return False
    cells = [cell.strip() for cell in lines[0].split(",")]
    if "power.draw" in lines[0] and _has_power(cells):
        return "timestamp" in cells or not any(map(_OTHER_TIME.match, cells))  # else a script wrote it
    if _time_in(above):  # nothing but a GPU's number may stand where a table has neither a header nor times
        return bool(re.match(r"\d{1,2}, ", lines[0])) and sum(map(bool, map(_IN_WATTS.fullmatch, cells))) == 1
    return bool(_TIME.search(lines[0]))


def _has_power(cells: list[str]) -> bool:
    names = [match[1] for cell in cells if (match := _NAME.fullmatch(cell.strip()))]
    return len(names) == len(cells) > 1 and any(name.removeprefix("module.") in _POWERS for name in names)


def _time_in(line: str) -> str | None:
    """The time of a line that holds nothing else."""
    match = _TIME_LINE.fullmatch(line) if "," not in line else None
    return match[1] if match and stamp_of(match[1]) else None


class _Layout:
    """Where a table has its time, powers and devices."""

    def __init__(self, header: list[str], *, instant: bool = False) -> None:
        self.header = header
        named = {match[1]: (k, match[2]) for k, cell in enumerate(header) if (match := _NAME.fullmatch(cell))}
        self.time = named.get("timestamp", (None, None))[0]
        order = _POWERS[::-1] if instant else _POWERS
        first = {
            scope: next((before + power for power in order if before + power in named), None)
            for scope, before in (("gpu", ""), ("module", "module."))
        }
        self.powers = [(scope, *named[name]) for scope, name in first.items() if name]
        self.fields = [power for power in _POWERS if power in named]
        self.devices = {name: named[name][0] for name in _DEVICES if name in named}
        self.clock = next((named[name][0] for name in _CLOCKS if name in named), None)
        self.reasons = next((named[name][0] for name in _REASONS if name in named), None)

    def needs(self, column: int) -> bool:
        """Whether a column is read."""
        return column in (self.time, self.clock, self.reasons, *self.devices.values(), *(k for _, k, _ in self.powers))


def _tables(
    source: Source, rows: Rows | None = None, *, instant: bool = False
) -> Iterator[tuple[int, list[str], _Layout]]:
    """Records with the layout of the header before them; a line that is neither becomes a problem of `rows`."""
    layout: _Layout | None = None
    for number, cells, whole in _records(source):
        if _has_power(cells):
            layout = layout if layout and layout.header == cells else _Layout(cells, instant=instant)
        elif layout is None:
            layout = _without_header(cells)
            if layout is None:
                if rows:
                    rows.problem(
                        number,
                        "there is no header, and the row does not contain one time and one power in watts",
                        ",".join(cells),
                    )
                return
            yield number, cells, layout
        elif whole and len(cells) == len(layout.header) + 1 and (joined := _with_fraction(cells, layout)):
            yield number, joined, layout
        elif len(cells) == len(layout.header):
            if rows and not whole:
                rows.problem(number, MAY_BE_CUT, ",".join(cells))
            if whole or not layout.needs(len(cells) - 1):
                yield number, cells, layout
        elif rows:
            rows.problem(number, "the line is cut, or has other columns than the header", ",".join(cells))


def _records(source: Source) -> Iterator[tuple[int, list[str], bool]]:
    """Lines as cells; where a line with a time stands above a table without one, that time is a column of it."""
    above: str | None = None
    is_timed = False  # whether the table has times of its own
    for number, cells, whole in rows_of(source):
        if len(cells) == 1 and (time := _time_in(cells[0])):
            above = time
            continue
        if is_header := _has_power(cells):
            is_timed = any(map(_OTHER_TIME.match, cells))
        if above and not is_timed and len(cells) > 1 and not any(map(_TIME.fullmatch, cells)):
            cells = [*cells, "timestamp" if is_header else above]
        yield number, cells, whole


def _with_fraction(cells: list[str], layout: _Layout) -> list[str] | None:
    """Cells where a comma comes before the fraction of the second, as in a time that `date -Ins` put there."""
    k = layout.time
    time = f"{cells[k]},{cells[k + 1]}" if k is not None and k + 1 < len(cells) else ""
    return [*cells[:k], time, *cells[k + 2 :]] if k is not None and stamp_of(time) else None


def _without_header(cells: list[str]) -> _Layout | None:
    """The layout of a table that begins with its first record."""
    last = len(cells) - 1  # where the time of a line above is put
    times = [k for k, cell in enumerate(cells) if _TIME.fullmatch(cell) or (k == last and _time_in(cell))]
    powers = [k for k, cell in enumerate(cells) if _IN_WATTS.fullmatch(cell)]
    if len(times) != 1 or len(powers) != 1:
        return None
    header = [""] * len(cells)
    header[times[0]], header[powers[0]] = "timestamp", "power.draw [W]"
    uuids = [k for k, cell in enumerate(cells) if cell.startswith("GPU-")]
    if uuids:
        header[uuids[0]] = "uuid"
    elif re.fullmatch(r"\d{1,2}", cells[0]):
        header[0] = "index"
    return _Layout(header)


def read(source: Source, rows: Rows) -> str | None:
    named, device = _device_of(source)
    if device != named:
        rows.problem(1, f"the column {named} does not tell the devices apart, {device} does")
    if device == "index" and not _has_power(next(_records(source))[1]):
        rows.problem(1, "there is no header: the first column is read as the number of the GPU")
    places = _in_sweeps(source) if device is None else {}
    if places is None:
        rows.problem(
            1, "no column names the device, and the sweeps differ in length: nobody can tell whose power it is"
        )
        return None
    several = len(set(places.values())) > 1
    if several:
        rows.problem(1, f"no column names the device: numbered by their order in a sweep of {max(places.values()) + 1}")
    samples = Samples(rows)
    broken: list[int] = []  # lines of sweeps in which rows are missing
    timeless = 0
    instant, note = _field_of(source, device, places)
    for number, cells, layout in _tables(source, rows, instant=instant):
        stamp = stamp_of(cells[layout.time]) if layout.time is not None else None
        if layout.time is None:
            timeless = timeless or number
        elif stamp is None:
            rows.problem(number, UNREADABLE_TIME, ",".join(cells))
            continue
        column = layout.devices.get(device or "")
        named = cells[column] if column is not None else None
        if device is None and several:
            if stamp and number not in places:
                broken.append(number)
                continue
            named = str(places[number]) if number in places else None
        for scope, k, unit in layout.powers:
            if unit is None or unit in _SCALES:
                scale = _SCALES[unit or "W"]
                samples.power(number, Sensor(None, named, scope), cells[k], stamp, scale)
            else:
                rows.problem(number, f"power in {unit} is not known", ",".join(cells))
        _limits(number, cells, layout, samples, Sensor(None, named, "gpu"))
    if broken:
        rows.problem(broken[0], f"rows are missing in a sweep: its device is not known; {len(broken)} such rows")
    if timeless:
        rows.problem(timeless, "there is no time column: no energy can be computed from the powers")
    return note


def _limits(number: int, cells: list[str], layout: _Layout, samples: Samples, sensor: Sensor) -> None:
    """The clock of a sample, and what limits it."""
    if layout.clock is not None:
        samples.clock(number, sensor, cells[layout.clock])
    if layout.reasons is not None and (bits := _BITS.fullmatch(cells[layout.reasons])):
        samples.rows.metric(number, None, place_of(sensor), None, "clock_event_reasons", int(bits[0], 16), None)


def _device_of(source: Source) -> tuple[str | None, str | None]:
    """The column that should name the devices, and the one that tells most of them apart."""
    seen: dict[str, set[str]] = {}
    for _, cells, layout in _tables(source):
        for name, k in layout.devices.items():
            seen.setdefault(name, set()).add(cells[k])
    best = max(seen, key=lambda name: (len(seen[name]), -_DEVICES.index(name)), default=None)
    return min(seen, key=_DEVICES.index, default=None), best


def _field_of(source: Source, device: str | None, places: dict[int, int]) -> tuple[bool, str | None]:
    """Whether power.draw.instant is read rather than a mean of a second next to it, and a sentence that says so."""
    times: dict[str, list[int]] = {}
    fields: list[str] = []
    for number, cells, layout in _tables(source):
        fields = fields or layout.fields
        if len(fields) < 2 or layout.time is None:
            return False, None
        stamp = stamp_of(cells[layout.time])
        ns = nanoseconds_since_1970(stamp[0]) if stamp else None
        column = layout.devices.get(device or "")
        if ns is not None:
            times.setdefault(cells[column] if column is not None else str(places.get(number, 0)), []).append(ns)
    steps = [after - before for own in times.values() for before, after in itertools.pairwise(own)]
    if "power.draw.instant" not in fields or not steps:
        return False, None
    apart_s = statistics.median(steps) / SECOND
    instant = apart_s < _MEAN_OF_S
    used = "power.draw.instant" if instant else fields[0]
    return instant, f"of {' and '.join(fields)}, {used} is read: its samples are {apart_s:.3g} s apart"


def _in_sweeps(source: Source) -> dict[int, int] | None:
    """Lines and their place in the sweep; None where it cannot be told."""
    stamps = (
        (number, stamp)
        for number, cells, layout in _tables(source)
        if layout.time is not None and (stamp := stamp_of(cells[layout.time]))
    )
    return places_in_sweeps((number, nanoseconds_since_1970(stamp[0])) for number, stamp in stamps)
