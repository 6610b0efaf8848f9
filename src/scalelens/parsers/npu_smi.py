"""npu-smi: the table of Ascend devices, with its power where a loop printed it.

Tool: npu-smi info (Huawei Ascend)
Versions: 21 to 25
Yields: params, power
Source: Ascend driver; closed, by its output

Each device has two lines: of the card with its power, and of the chip.  Of a card of two chips (Ascend 910C) the first
line shows the power, the second a dash.  Devices are those of the node that printed it: `devices_per_node`, origin
`environment`, a chip each.  Use of the moment is not read.

Where a loop printed the table, ten times or more and with little else between, its power is read, at the time that
`date` printed above each table (a zone other than UTC is taken as local, --tz).  Fewer tables are moments of a log.

Samples:
    | npu-smi 24.1.0                   Version: 24.1.0                                               |
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.console_tables import DAYS, LoopedTables
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 1
ANCHORS = ("| npu-smi ", *DAYS)

_HEADER = re.compile(r"\s*\| npu-smi (\S{1,30}) +Version: \S")
_INSIDE = re.compile(r"\s*(?:[|+]|\Z)")
_CARD = re.compile(
    r"\s*\| *(\d{1,3}) +(\S{1,30}) *\| *(?:OK|Warning|Alarm|Critical|UNKNOWN|Offline) *\|"
    r" *(\d{1,4}(?:\.\d{1,3})?|NA|N/A|-) +(?:\d{1,3}|NA|N/A|-) "
)
_CHIP = re.compile(r"\s*\| *(\d{1,3})(?: +\d{1,3})? *\| *(?:[0-9A-Fa-f]{4}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d|NA) *\|")


class Reader:
    claims: re.Pattern[str] | None = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.looped = LoopedTables(rows)
        self.chips: set[tuple[str, str]] = set()
        self.powered: set[str] = set()  # cards of the open table that have shown their power
        self.card = ""
        self.first = 0

    def take(self, line: Line) -> bool:
        self.claims = None
        if self.looped.is_date(line):
            return False  # other tools print it too
        match = _HEADER.match(line.text)
        if match:
            self.close()
            self.looped.open(line.number, 2)
            self.powered, self.card = set(), ""
            self.rows.param("driver_version", match[1], line.number, origin="environment")
            self.claims = _INSIDE
        return match is not None

    def more(self, line: Line) -> None:
        self.looped.lines += 1
        if card := _CARD.match(line.text):
            self.card = card[1]
            self.rows.param(
                "device_model", f"Ascend {card[2].removeprefix('Ascend')}", line.number, origin="environment"
            )
            is_number = card[3][:1].isdigit()
            if is_number and card[1] not in self.powered:
                self.powered.add(card[1])
                self.looped.power(line.number, card[1], f"{card[3]} W")
        elif self.card and (chip := _CHIP.match(line.text)):
            self.chips.add((self.card, chip[1]))
            self.first = self.first or line.number

    def close(self) -> None:
        """Says how many devices a table had."""
        if self.chips:
            self.rows.param("devices_per_node", len(self.chips), self.first, origin="environment")
        self.chips, self.first = set(), 0

    def finish(self) -> None:
        self.close()
        self.looped.finish()
