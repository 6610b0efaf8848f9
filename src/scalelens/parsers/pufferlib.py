"""The screen of PufferLib: a panel that is drawn again and again.

Tool: PufferLib
Versions: 4.0
Yields: steps, metrics
Source: pufferlib/pufferl.py, PuffeRL.print_dashboard()

What the panel calls an epoch is an iteration, of a rollout and the updates after it: a step here.  `Uptime` is the time since
the start, in whole seconds after the first one: what it grows by between two panels that are far enough apart for its digits is
the time of the iterations between them.  `SPS` is steps of the environment per second, with two digits.  Losses and the
statistics of the environment are metrics.  A panel without its end is a problem.

Samples:
    │  PufferLib 4.0 🐡                GPU: 54%      VRAM: 0.8/47G      RAM: 0.9G  │
"""

import itertools

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.since_start import LaunchClocks
from scalelens.parsing.values import number

VERSION = 1
ANCHORS = ("│  PufferLib ",)

_TITLE = re.compile(r"\s*\u2502  PufferLib \d")
_BORDER, _END = "\u2502", "\u2570"  # of a panel, and its last line
_BLANKS = re.compile(r"\s{2,}")
_SPAN = re.compile(r"(?:(\d{1,6})d )?(?:(\d{1,6})h )?(?:(\d{1,4})m )?(\d{1,4})s\Z")
_AMOUNT = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)([KMB]?)\Z")
_SCALES = {"": 1.0, "K": 1e3, "M": 1e6, "B": 1e9}
_DIGIT_S = 5.0  # five last digits of the clock: a tenth of them is what two panels may be off
_OF_TIME = ("Epoch", "Uptime", "SPS", "Steps", "Params", "Env")


class Reader:
    claims = re.compile(r"\s*[\u2502\u2570]")

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.clocks = LaunchClocks(rows, _DIGIT_S)
        self.values: dict[str, str] = {}
        self.last: Line | None = None  # of the panel that is being drawn

    def take(self, line: Line) -> bool:
        if not _TITLE.match(line.text):
            return False
        self.cut()
        self.last, self.values = line, {}
        return True

    def more(self, line: Line) -> None:
        if self.take(line) or self.last is None:
            return
        if line.text.lstrip().startswith(_END):
            self.panel(line)
            self.last = None
            return
        self.last = line
        cells = _BLANKS.split(line.text.strip(f" {_BORDER}\r"))
        for name, value in itertools.pairwise(cells):
            if name[:1].isalpha() and not value[:1].isalpha():
                self.values.setdefault(name, value)

    def finish(self) -> None:
        self.cut()

    def cut(self) -> None:
        if self.last:
            self.rows.problem(self.last.number, "the panel has no end", self.last.text)
        self.last = None

    def panel(self, end: Line) -> None:
        """A row for the iteration that a panel shows, and metrics of what else it shows."""
        rows, step = self.rows, number(self.values.get("Epoch", ""))
        if step is None or not step.is_integer():
            return
        passed, rate = _SPAN.match(self.values.get("Uptime", "")), _AMOUNT.match(self.values.get("SPS", ""))
        seconds = 0.0
        if passed:
            days, hours, minutes, rest = (int(part or 0) for part in passed.groups())
            seconds = float(((days * 24 + hours) * 60 + minutes) * 60 + rest)
        row = self.clocks.step(end, int(step), seconds)
        row |= {"samples_per_s": float(rate[1]) * _SCALES[rate[2]] or None, "rate_scope": "global"} if rate else {}
        rows.put("steps", end.number, row)
        named = [(name, value, None) for name, text in self.values.items() if (value := number(text)) is not None]
        rows.metrics(end.number, end.rank, end.location, int(step), [one for one in named if one[0] not in _OF_TIME])
        rows.param("framework", "pufferlib", end.number)
