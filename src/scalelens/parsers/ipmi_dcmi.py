"""The power of a node that its management controller reads.

Tool: ipmitool dcmi power reading
Versions: ipmitool 1.8.12 to 1.8.19
Yields: power
Source: ipmitool lib/ipmi_dcmi.c

The reading of the moment, of the whole node; extremes and the mean since some past are not read.  The time is the
controller's: local unless its zone is UTC or GMT (--tz), and none where its clock stands at 1970 or writes dates that could
be of two days.

Samples:
        Instantaneous power reading:                   1210 Watts
"""

import re
from datetime import datetime

from scalelens.lines import Line
from scalelens.rows import Rows
from scalelens.sensors import Samples, Sensor

VERSION = 1
ANCHORS = ("Instantaneous power reading: ",)

READING = re.compile(r"\s*Instantaneous power reading: +(\d{1,7}) Watts\s*\Z")
OTHERS = re.compile(r"\s*(?:M(?:in|ax)imum during sampling period|Average power reading over|IPMI timestamp: +(\S.*))")
STAMP = re.compile(r"\w{3} (\w{3}) +(\d\d?) (\d\d:\d\d:\d\d) (\d{4})\s*\Z")
SLASHES = re.compile(r"(\d\d)/(\d\d)/(?:20)?(\d\d) (\d\d:\d\d:\d\d)(?: ([AP]M))?(?: ([A-Z]{2,5}))?\b")


class Reader:
    claims: re.Pattern[str] | None = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.samples = Samples(rows)
        self.open: tuple[Line, str] | None = None
        self.timeless = 0

    def take(self, line: Line) -> bool:
        self.claims = None
        found = READING.match(line.text)
        if not found:
            return False
        self.close(None)
        self.open, self.claims = (line, found[1]), OTHERS
        return True

    def more(self, line: Line) -> None:
        if (found := OTHERS.match(line.text)) and found[1]:
            self.close(stamp_of(found[1]))

    def close(self, stamp: tuple[datetime, str] | None) -> None:
        if self.open:
            line, text = self.open
            self.timeless = self.timeless or (0 if stamp else line.number)
            self.samples.power(line.number, Sensor(line.place, None, "node_ac"), text, stamp)
        self.open = None

    def finish(self) -> None:
        self.close(None)
        if self.timeless:
            self.rows.problem(self.timeless, "the controller's clock says no time: no energy follows from its powers")


def stamp_of(text: str) -> tuple[datetime, str] | None:
    zone = None
    if found := STAMP.match(text):
        said, form = f"{found[2]} {found[1]} {found[4]} {found[3]}", "%d %b %Y %H:%M:%S"
    elif (found := SLASHES.match(text)) and (found[5] or "/20" not in text[:8]):  # en_US, or no language at all
        said, form, zone = f"{found[1]} {found[2]} {found[3]} {found[4]}", "%m %d %y %H:%M:%S", found[6]
        said, form = (f"{said} {found[5]}", "%m %d %y %I:%M:%S %p") if found[5] else (said, form)
    else:
        return None
    try:
        time = datetime.strptime(said, form)
    except ValueError:
        return None
    return (time, "utc" if zone in ("UTC", "GMT") else "naive") if time.year >= 2000 else None
