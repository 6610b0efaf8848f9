"""Tables of devices that a loop printed, each below a time, as `while true; do date; rocm-smi; done` does."""

from datetime import datetime

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.sensors import Samples, Sensor, watts, whole_packages
from scalelens.parsing.stamps import formed_time

DAYS = ("Mon ", "Tue ", "Wed ", "Thu ", "Fri ", "Sat ", "Sun ")  # anchors of the times
DATE = r"([A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d) (\d\d:\d\d:\d\d)(?: ([AP]M))?(?: ([A-Z]{3,5}|[+-]\d\d))? (\d{4})"
_DATE = re.compile(rf"\s*{DATE}\s*\Z")
_FEWEST = 10  # tables of a loop
_LEAST_SHARE = 0.5  # of the lines from its first table to its last are tables
_MOST_SAMPLES = 1_000_000


class LoopedTables:
    """Powers of tables, kept until it is known that a loop printed them.

    A log that shows a table now and then has moments: between them anything may have happened, and nothing is added.
    """

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.date: tuple[int, tuple[datetime, str] | None] = 0, None  # line and time of the latest one
        self.stamp: tuple[datetime, str] | None = None  # of the table that is open
        self.samples: list[
            tuple[int, str | None, str, str, tuple[datetime, str]]
        ] = []  # line, node, device, power, time
        self.devices: set[str] = set()
        self.tables: list[int] = []  # lines of the tables that have a time
        self.lines = 0  # of tables

    def is_date(self, line: Line) -> bool:
        """Whether a line is a time of `date` or of nvidia-smi, which is kept for the table below it.

        Not where a launcher's prefix names a rank or a node: the tables of several nodes stand between each other.
        """
        match = _DATE.match(line.text)
        if match and line.rank is None and line.location is None:
            self.dated(line.number, *match.groups())
        return bool(match)

    def dated(self, number: int, day: str, clock: str, half: str | None, zone: str | None, year: str) -> None:
        """The line of a time, as DATE finds it."""
        form = "%a %b %d %I:%M:%S %p %Y" if half else "%a %b %d %H:%M:%S %Y"
        time = formed_time(" ".join(filter(None, (day, clock, half, year))), form)
        self.date = number, ((time, "utc" if zone in ("UTC", "GMT") else "naive") if time else None)

    def open(self, number: int, most_below: int) -> None:
        """A table begins, at most so many lines below its time."""
        at, stamp = self.date
        self.stamp = stamp if at and number - at <= most_below else None
        self.lines += number - at if self.stamp else 1
        if self.stamp:
            self.tables.append(number)

    def power(self, number: int, device: str, text: str | None, node: str | None = None) -> None:
        """A device of the open table, with its power if it shows one."""
        self.devices.add(device)
        if text and self.stamp and len(self.samples) < _MOST_SAMPLES:
            self.samples.append((number, node, device, text, self.stamp))

    def finish(self) -> None:
        """The samples, if a loop printed the tables."""
        if len(self.tables) < _FEWEST or self.lines < _LEAST_SHARE * (self.tables[-1] - self.tables[0]):
            return
        powered = {device for _, _, device, text, _ in self.samples if (watts(text) or 0) > 0}
        packages = whole_packages(self.devices, powered)
        samples = Samples(self.rows)
        for number, node, device, power, stamp in self.samples:
            samples.power(number, Sensor(node, device, "oam" if device in packages else "gpu"), power, stamp)
