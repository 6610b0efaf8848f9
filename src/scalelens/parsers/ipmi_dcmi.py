"""The power of a node that its management controller reads.

Tool: ipmitool dcmi power reading
Versions: ipmitool 1.8.12 to 1.8.19
Yields: power
Source: ipmitool lib/ipmi_dcmi.c

The reading of the moment, of the whole node; extremes and the mean since some past are not read.  The time is the
controller's: local unless its zone is UTC or GMT (--tz), and none where its clock is at 1970 or writes dates that could
be of two days.  A script may print what the tool says as one line.

Samples:
        Instantaneous power reading:                   1210 Watts
    Instantaneous power reading:   810 Watts     Minimum during sampling period:    806 Watts     IPMI timestamp:    Fri Jan  2 03:04:05 2026    Sampling period:    00003560 Seconds.
"""

from datetime import datetime
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 2
LATER = ("ts", "ts_origin")  # printed after the power
ANCHORS = ("Instantaneous power reading: ",)

_READING = re.compile(r"\s*Instantaneous power reading: +(\d{1,7}) Watts(?:\s*\Z|\s+(?=Minimum during ))")
_STAMPED = re.compile(r"IPMI timestamp: +(\S.*?)(?: {2,}|\s*\Z)")
_OTHERS = re.compile(r"\s*(?:M(?:in|ax)imum during sampling period|Average power reading over|IPMI timestamp: +(\S.*))")
_STAMP = re.compile(r"\w{3} (\w{3}) +(\d\d?) (\d\d:\d\d:\d\d) (\d{4})\s*\Z")
_SLASHES = re.compile(r"(\d\d)/(\d\d)/(?:20)?(\d\d) (\d\d:\d\d:\d\d)(?: ([AP]M))?(?: ([A-Z]{2,5}))?\b")


class Reader:
    claims: re.Pattern[str] | None = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.row: dict[str, Any] = {}  # of the last power
        self.timeless = False

    def take(self, line: Line) -> bool:
        match = _READING.match(line.text)
        self.claims = _OTHERS if match else None
        if match:
            power = float(match[1])
            self.row = {"scope": "node_ac", "power_w": power, "flag": None if power else "zero"}
            self.rows.put("power", line.number, self.row)
            if stamped := _STAMPED.search(line.text, match.end()):
                self.stamp(stamped[1], line)
        return bool(match)

    def more(self, line: Line) -> None:
        match = _OTHERS.match(line.text)
        if match and match[1]:
            self.stamp(match[1], line)

    def stamp(self, text: str, line: Line) -> None:
        """The controller's time of the last power."""
        if stamp := _bmc_time(text):
            self.row["ts"], self.row["ts_origin"] = stamp
        elif not self.timeless:
            self.timeless = True
            self.rows.problem(
                line.number, "the controller's clock is not set: no energy follows from its powers", line.text
            )


def _bmc_time(text: str) -> tuple[datetime, str] | None:
    zone = None
    if match := _STAMP.match(text):
        printed, form = f"{match[2]} {match[1]} {match[4]} {match[3]}", "%d %b %Y %H:%M:%S"
    elif (match := _SLASHES.match(text)) and (match[5] or "/20" not in text[:8]):  # en_US, or no language at all
        printed, form, zone = f"{match[1]} {match[2]} {match[3]} {match[4]}", "%m %d %y %H:%M:%S", match[6]
        printed, form = (f"{printed} {match[5]}", "%m %d %y %I:%M:%S %p") if match[5] else (printed, form)
    else:
        return None
    try:
        time = datetime.strptime(printed, form)
    except ValueError:
        return None
    return (time, "utc" if zone in ("UTC", "GMT") else "naive") if time.year >= 2000 else None
