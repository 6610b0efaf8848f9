"""CodeCarbon's own messages in a log: what it has counted since it began.

Tool: CodeCarbon
Versions: 2.1 to 3.2
Yields: energy
Source: codecarbon/emissions_tracker.py, _do_measurements()

The last message of each tracker counts: of memory, of all GPUs, of all CPUs, and of their sum.  Six decimals of
kilowatt-hours are steps of 3.6 J.  A figure that goes back is another tracker's, which is another part; trackers that
print into one log at once cannot be told apart, and are not read.  The energy of memory is a constant of the tool times
the time (flag `estimated`).  The messages carry a time of day without a date.  Beside an emissions.csv they are the same
energy again, by the same tool.

Samples:
    [codecarbon INFO @ 14:22:50] Energy consumed for RAM : 0.000013 kWh. RAM Power : 5.78 W
    [codecarbon INFO @ 14:22:50] 0.000095 kWh of electricity used since the beginning.
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.units import ratio

VERSION = 1
ANCHORS = ("Energy consumed for ", "kWh of electricity")

_OF = re.compile(r"Energy consumed for (RAM|[Aa]ll (?:GPUs?|CPUs?)) ?: ?(\d{1,9}(?:\.\d{1,12})?) kWh")
_SUM = re.compile(r"(\d{1,9}(?:\.\d{1,12})?) kWh of electricity (?:used|and .{1,60} used) since the beginning\.")
_SCOPES = {"ram": "memory", "gpu": "gpu", "cpu": "cpu"}
_MOST_BACK = 0.1  # of the sums may be below the one before: more are trackers at once


class Reader:
    claims: re.Pattern[str] | None = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.trackers: list[dict[str, tuple[float, int]]] = [{}]
        self.sums = self.back = 0

    def take(self, line: Line) -> bool:
        if match := _OF.search(line.text):
            self.count(match[1].lower().removeprefix("all ").rstrip("s"), float(match[2]), line.number)
        elif match := _SUM.search(line.text):
            self.sums += 1
            self.count("total", float(match[1]), line.number)
        else:
            return False
        return True

    def count(self, device: str, kwh: float, line: int) -> None:
        before = self.trackers[-1].get(device)
        if before and kwh < before[0]:
            self.back += device == "total"
            self.trackers.append({})
        self.trackers[-1][device] = kwh, line

    def conclude(self) -> None:
        if self.back > max(1, _MOST_BACK * self.sums):
            line = max(line for _, line in self.trackers[-1].values())
            self.rows.problem(line, "several trackers of CodeCarbon print into this log: their energies are not read")
            return
        for number, tracker in enumerate(self.trackers):
            for device, (kwh, line) in tracker.items():
                if kwh:
                    self.rows.add(
                        "energy", line, device=device if len(self.trackers) == 1 else f"{device} {number}",
                        scope=_SCOPES.get(device, "total"), energy_j=kwh * ratio("kWh", "J"), method="codecarbon",
                        flag="estimated" if device == "ram" else None,
                    )  # fmt: skip
