"""What files of sensors share: lines as cells, times, watts, counters of energy, and which device a sensor covers."""

import functools
import itertools
import math
from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from fractions import Fraction
from typing import NamedTuple

from scalelens import catalog
from scalelens.parsing import lazy_re as re
from scalelens.parsing.clock_changes import LocalClock
from scalelens.parsing.rows import Rows
from scalelens.parsing.values import YEARS_2000_TO_2100, as_utc, nanoseconds_since_1970
from scalelens.units import factors, ratio

# Seconds, milliseconds, microseconds and nanoseconds since 1970 of the years 2000 to 2100 do not overlap.
EPOCH_UNITS = {name: round(ratio(name, "ns")) for name in ("s", "ms", "us", "ns")}
SECOND = EPOCH_UNITS["s"]  # nanoseconds
_EARLIEST, _LATEST = (seconds * SECOND for seconds in YEARS_2000_TO_2100)
_MOMENT = re.compile(
    r"(\d{4})[-/](\d\d?)[-/](\d\d?)[T ]+(\d\d?):(\d\d?):(\d\d?)(?:[.,](\d{1,9}))?\d* *"
    r"(?:(Z|UTC|GMT)|([-+]\d\d):?(\d\d)?)?"
)
_OTHER_FORMS = (  # of a date; a number with points begins with the day
    (re.compile(r"(\d\d?)\.(\d\d?)\.(\d{4})[ T,]+(\d\d?:\d\d?:\d\d?(?:[.,]\d{1,9})?)"), "{2}-{1}-{0} {3}"),
    (re.compile(r"(\d{4})-?(\d\d)-?(\d\d)[T_ -](\d\d)[-:]?(\d\d)[-:]?(\d\d)(Z?)"), "{0}-{1}-{2} {3}:{4}:{5}{6}"),
)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_IN_WORDS = re.compile(  # what `date` prints, in English; an hour of twelve has AM or PM
    r"(?:[A-Z][a-z]{2},? +)?(?:([A-Z][a-z]{2}) +(\d\d?)|(\d\d?)[- ]([A-Z][a-z]{2})[- ](\d{4})),?[ T,]+"
    r"(\d\d?):(\d\d?:\d\d?(?:[.,]\d{1,9})?)(?: ?([AP])M)?"
    r"(?: +(?:(UTC|GMT|Z)|[A-Z]{3,5}|([-+]\d\d:?\d\d)))?(?: +(\d{4}))?"
)
_WATTS = re.compile(r"([-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d{1,3})?) *(uW|\u00b5W|mW|kW|W|[Ww]atts?)?")
_MEGAHERTZ = re.compile(r"(\d{1,16}(?:\.\d*)?) *(?:MHz)?")
_PLAIN = re.compile(r"\d{1,9}(?:\.\d+)?", re.ASCII)
SCALES = {unit.lower(): factor for unit, factor in factors("uW", "mW", "W", "kW").items()}
SCALES |= dict.fromkeys(("watt", "watts"), SCALES["w"]) | {"\u00b5w": SCALES["uw"]}
UNAVAILABLE = re.compile(
    r"\[?(?:n/?a\b.*|nan|none|null|-+|not supported|unknown error|insufficient permissions|err!?|gpu is lost)?\]?",
    re.IGNORECASE,
)
_ACCELERATORS = ("gpu", "gcd", "oam", "ipu")
# Numbers that stand for no value: the largest of so many bits, and a row of nines.  No sensor shows one by chance.
_NO_VALUES = frozenset({65_535.0, 99_999.0, 999_999.0, 9_999_999.0, 99_999_999.0, 2.0**31 - 1, 2.0**32 - 1})
LONGEST_NAME = 300  # letters of a node or a device: a file may name a longer one in each of a million rows
_LONGEST_STAMP = 100
_DCGM_BLANK = 2.0**47  # numbers from this one on are DCGM's way to say that it has no value

Moment = datetime | int  # a time of microseconds, or nanoseconds since 1970


class _Reading(NamedTuple):
    """A reading of an energy counter."""

    ns: int | None
    line: int
    joules: float
    stamp: tuple[Moment, str] | None
    range_j: float | None  # at which the counter begins anew


class Sensor(NamedTuple):
    """What a power sample belongs to."""

    node: str | None
    device: str | None
    scope: str | None


class Samples:
    """Samples and counters of one file, on their way to `power` and `energy`.  A sample that is repeated is flagged."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.last: dict[Sensor, tuple[Moment, float]] = {}
        self.counters: dict[Sensor, list[_Reading]] = {}
        self.clocks: dict[Sensor, LocalClock] = {}
        self.clock_flags: dict[Sensor, str] = {}  # that no sample has yet

    def power(
        self, line: int, sensor: Sensor, text: str, stamp: tuple[Moment, str] | None, scale: float = 1.0
    ) -> float | None:
        """A sample, as the file writes it; `scale` converts it to watts where it has no unit of its own."""
        if not self._is_named(line, sensor):
            return None
        number = watts(text, scale)
        if number is None:
            self.rows.problem(line, f"the power of {sensor.device or sensor.scope} is not a number of watts", text)
            return None
        ts, origin = self._counted_on(sensor, stamp) or (None, None)
        devices = self.rows.params.get("devices")
        flag = doubt(number, sensor.scope, devices if isinstance(devices, int) else 1)
        if flag != "na" and ts is not None:
            if self.last.get(sensor) == (ts, number) and flag != "implausible":
                flag = "duplicate"
            self.last[sensor] = ts, number
            flag = flag or self.clock_flags.pop(sensor, None)
        self.rows.add(
            "power", line, node=sensor.node, device=sensor.device, scope=sensor.scope, ts=ts, ts_origin=origin,
            power_w=None if flag == "na" else number, flag=flag,
        )  # fmt: skip
        return number

    def counter(
        self, line: int, sensor: Sensor, text: str, stamp: tuple[Moment, str] | None, scale: float,
        range_j: float | None = None,
    ) -> None:  # fmt: skip
        """A reading of a counter of energy; `scale` converts it to joules, and past `range_j` it begins at 0 again."""
        if not self._is_named(line, sensor):
            return
        try:
            joules = float(text) * scale
        except ValueError:
            joules = math.nan
        if not 0 <= joules < _DCGM_BLANK * scale:
            if not UNAVAILABLE.fullmatch(text.strip()) and not joules >= _DCGM_BLANK * scale:
                self.rows.problem(line, f"the energy of {sensor.device or sensor.scope} is not a number", text)
            return
        stamp = self._counted_on(sensor, stamp)
        reading = _Reading(nanoseconds_since_1970(stamp[0]) if stamp else None, line, joules, stamp, range_j)
        self.counters.setdefault(sensor, []).append(reading)

    def _is_named(self, line: int, sensor: Sensor) -> bool:
        """Whether a sensor has a name of a usual length.  A name that was cut could be that of another."""
        long = next((name for name in sensor[:2] if name and len(name) > LONGEST_NAME), None)
        if long:
            self.rows.problem(line, f"the name of a sensor has more than {LONGEST_NAME} letters", long[:LONGEST_NAME])
        return long is None

    def _counted_on(self, sensor: Sensor, stamp: tuple[Moment, str] | None) -> tuple[Moment, str] | None:
        """A local time, counted on through a change of the clock."""
        if stamp is None or stamp[1] != "naive" or not isinstance(stamp[0], datetime):
            return stamp
        time, flag = self.clocks.setdefault(sensor, LocalClock()).read(stamp[0], bool(self.rows.zone))
        if flag:
            self.clock_flags[sensor] = flag
        return time, stamp[1]

    def clock(self, line: int, sensor: Sensor, text: str) -> None:
        """The clock of the compute units in the sample of a line, in MHz: the metric `sm_clock`, in Hz."""
        mhz = _MEGAHERTZ.fullmatch(text.strip())
        if mhz and float(mhz[1]) < _DCGM_BLANK:
            self.rows.metric(line, None, place_of(sensor), None, "sm_clock", float(mhz[1]) * 1e6, "Hz")
        elif not mhz and not UNAVAILABLE.fullmatch(text.strip()):
            self.rows.problem(line, f"the clock of {sensor.device or sensor.scope} is not a number of MHz", text)

    def finish(self, name: str) -> None:
        """What each counter counted between its first and its last reading; a single reading is a metric, `name`."""
        for sensor, readings in self.counters.items():
            timed = all(reading.ns is not None for reading in readings)
            if timed:  # rows of some tools are not in the order of time
                readings.sort(key=lambda reading: reading[:3])
            first, last = readings[0], readings[-1]
            if len(readings) == 1:
                self.rows.metric(first.line, None, place_of(sensor), None, name, first.joules, "J")
                continue
            counted, lost = zip(*itertools.starmap(_counted, itertools.pairwise(readings)), strict=True)
            if any(lost):  # the node or the driver started again
                who = sensor.device or sensor.scope
                self.rows.problem(last.line, f"the counter of {who} went back: what it had counted by then is lost")
            ts, origin = last.stamp or (None, None)
            self.rows.add(
                "energy", last.line, node=sensor.node, device=sensor.device, scope=sensor.scope,
                energy_j=math.fsum(counted), method="counter",
                span_s=(last.ns - first.ns) / SECOND if last.ns is not None and first.ns is not None else None,
                ts=ts, ts_origin=origin, flag="reset" if any(lost) else None,
            )  # fmt: skip


def _counted(before: _Reading, after: _Reading) -> tuple[float, bool]:
    """Joules between two readings, and whether more may have been lost.

    A counter whose range is known has passed it once.  Another one began anew: at least what it shows was counted.
    Where it stepped back by a little, its reading was late.
    """
    step = after.joules - before.joules
    if step >= 0:
        return step, False
    if after.range_j is not None and max(before.joules, after.joules) <= after.range_j:
        return step + after.range_j, False
    return (after.joules if after.joules < before.joules / 2 else 0.0), True


def place_of(sensor: Sensor) -> str | None:
    """Node and device, as `place` of a metric has them."""
    return "/".join(filter(None, sensor[:2])) or None


def stamp_of(text: str) -> tuple[Moment, str] | None:
    """A time and its origin: of the calendar with or without a zone, or a number since 1970.

    Refuses a number that is not of the years 2000 to 2100 in any unit.
    """
    text = text.strip()
    if len(text) > _LONGEST_STAMP:
        return None
    if match := _MOMENT.fullmatch(text) or _MOMENT.fullmatch(_in_order(text)):
        year, month, day, hour, minute, second, fraction, named, hours, minutes = match.groups()
        try:
            local = datetime(int(year), int(month), int(day), int(hour), int(minute), int(second))
            local += timedelta(microseconds=int((fraction or "0").ljust(9, "0")) // 1000)
            zone = timezone(timedelta(hours=int(hours), minutes=int(hours[0] + (minutes or "0")))) if hours else None
        except (ValueError, OverflowError):
            return None
        time = as_utc(local, zone)
        return (time, "utc" if named or hours else "naive") if time else None
    ns, _ = epoch(text)
    return (ns, "utc") if ns is not None else None


def _in_order(text: str) -> str:
    """A date with the year first, of the forms that leave no doubt: `3.11.2026`, `Tue Nov  3 09:04:37 2026`."""
    for form, order in _OTHER_FORMS:
        if match := form.fullmatch(text):
            return order.format(*match.groups())
    match = _IN_WORDS.fullmatch(text)
    month, year = ((match[1] or match[4]), (match[5] or match[11])) if match else (None, None)
    if match is None or month not in _MONTHS or not year or (match[5] and match[11]):
        return text
    hour = int(match[6])
    if match[8]:
        hour = hour % 12 + 12 * (match[8] == "P") if 1 <= hour <= 12 else 24  # which no day has
    day = match[2] or match[3]
    return f"{year}-{_MONTHS.index(month) + 1}-{day} {hour}:{match[7]} {match[9] or match[10] or ''}".strip()


def epoch(text: str) -> tuple[int | None, str | None]:
    """Nanoseconds since 1970 of a number, and the unit in which it counts.

    Exact for the float that the tool had, which is not quite the decimal number that it printed.
    """
    try:
        number = int(text) if text.isdecimal() and len(text) < 25 else float(text)
    except ValueError:
        return None, None
    for unit, ns in EPOCH_UNITS.items():
        if _EARLIEST <= number * ns <= _LATEST:
            return (number * ns if isinstance(number, int) else round(Fraction(number) * ns)), unit
    return None, None


def watts(text: str, scale: float = 1.0) -> float | None:
    """Watts; nan where no value is available, None for other text.  A unit after the number overrides `scale`."""
    if _PLAIN.fullmatch(text):
        number = float(text)
        return number * scale if number not in _NO_VALUES else math.nan
    text = text.strip()
    if UNAVAILABLE.fullmatch(text):
        return math.nan
    match = _WATTS.fullmatch(text)
    if not match:
        return None
    number = float(match[1])
    if number >= _DCGM_BLANK or number in _NO_VALUES:
        return math.nan
    return number * (SCALES[match[2].lower()] if match[2] else scale) if number >= 0 else None


def doubt(power_w: float, scope: str | None, devices: int = 1) -> str | None:
    """The flag of a sample: no value, zero, or more than twice what the accelerators can draw, as with milliwatts."""
    if math.isnan(power_w):
        return "na"
    if scope in _ACCELERATORS and power_w > 2 * _largest_tdp_w() * max(devices, 1):
        return "implausible"
    return None if power_w else "zero"


@functools.cache
def _largest_tdp_w() -> float:
    """The largest power limit of a device in the catalog."""
    return max(float(row["tdp_w"]) for row in catalog.rows("devices_catalog") if row["tdp_w"])


def whole_packages(devices: Iterable[str], powered: Iterable[str]) -> set[str]:
    """Devices that stand for a package of two: on MI250 and MI250X the even ones, where no odd one gives power."""
    devices, powered = list(devices), set(powered)
    odd = {device for device in devices if device[-1:] in "13579"}
    even = {device for device in devices if device[-1:] in "02468"}
    return even if odd and not odd & powered and even & powered else set()
