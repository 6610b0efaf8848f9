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
from typing import Any

from scalelens.parsing.lines import Line
from scalelens.parsing.rows import Rows

VERSION = 1
LATER = ("ts", "ts_origin")  # stands behind the power
ANCHORS = ("Instantaneous power reading: ",)

READING = re.compile(r"\s*Instantaneous power reading: +(\d{1,7}) Watts\s*\Z")
OTHERS = re.compile(r"\s*(?:M(?:in|ax)imum during sampling period|Average power reading over|IPMI timestamp: +(\S.*))")
STAMP = re.compile(r"\w{3} (\w{3}) +(\d\d?) (\d\d:\d\d:\d\d) (\d{4})\s*\Z")
SLASHES = re.compile(r"(\d\d)/(\d\d)/(?:20)?(\d\d) (\d\d:\d\d:\d\d)(?: ([AP]M))?(?: ([A-Z]{2,5}))?\b")


class Reader:
    claims: re.Pattern[str] | None = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.row: dict[str, Any] = {}  # of the last power
        self.timeless = False

    def take(self, line: Line) -> bool:
        found = READING.match(line.text)
        self.claims = OTHERS if found else None
        if found:
            power = float(found[1])
            self.row = {"scope": "node_ac", "power_w": power, "flag": None if power else "zero"}
            self.rows.put("power", line.number, self.row)
        return bool(found)

    def more(self, line: Line) -> None:
        found = OTHERS.match(line.text)
        if not found or not found[1]:
            return
        if stamp := stamp_of(found[1]):
            self.row["ts"], self.row["ts_origin"] = stamp
        elif not self.timeless:
            self.timeless = True
            self.rows.problem(line.number, "the controller's clock says no time: no energy follows", line.text)


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
