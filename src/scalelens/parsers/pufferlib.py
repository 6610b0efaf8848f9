"""The screen of PufferLib: a panel that is drawn again and again.

Tool: PufferLib
Versions: 4.0
Yields: steps
Source: pufferlib/pufferl.py, PuffeRL.print_dashboard()

What the panel calls an epoch is an iteration, of a rollout and the updates after it: a step here.  `Uptime` is the time since
the start, in whole seconds after the first one: what it grows by between two panels that are far enough apart for its digits is
the time of the iterations between them.  `SPS` is steps of the environment per second since the panel before, with two
digits.  What else a panel shows is left out.

Samples:
    │  SPS               3.7M      Misc      12ms   1%    total            14.956  │
    │  Epoch                9      Forwa…   193ms  31%    old_kl            0.000  │
    │  Uptime     0d 0h 0m 1s                             kl                0.000  │
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.since_start import LaunchClocks

VERSION = 1
ANCHORS = ("\u2502  SPS  ", "\u2502  Epoch  ", "\u2502  Uptime  ")

_SPS = re.compile(r"\u2502  SPS {2,40}(\d{1,9}(?:\.\d{1,6})?)([KMB]?)(?= {2}| *\u2502)")
_EPOCH = re.compile(r"\u2502  Epoch {2,40}(\d{1,12})(?= {2}| *\u2502)")
_UPTIME = re.compile(
    r"\u2502  Uptime {2,40}(?:(?:(\d{1,6})d )?(?:(\d{1,6})h )?(?:(\d{1,4})m )?(\d{1,4})s|\d{1,4}ms)(?= {2}| *\u2502)"
)
_SCALES = {"": 1.0, "K": 1e3, "M": 1e6, "B": 1e9}
_DIGIT_S = 5.0  # five last digits of the clock, of which ten are a time: it is known to a fiftieth


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.clocks = LaunchClocks(rows, _DIGIT_S)
        self.rates: dict[tuple[int | None, str | None], float | None] = {}  # of the panel that is being drawn
        self.epochs: dict[tuple[int | None, str | None], int] = {}

    def take(self, line: Line) -> bool:
        whose = line.rank, line.location
        if rate := _SPS.match(line.text):
            self.rates[whose] = float(rate[1]) * _SCALES[rate[2]] or None
            return True
        if epoch := _EPOCH.match(line.text):
            self.epochs[whose] = int(epoch[1])
            return True
        passed = _UPTIME.match(line.text)
        if passed is None or whose not in self.epochs:
            return passed is not None
        days, hours, minutes, seconds = (int(part or 0) for part in passed.groups())
        row = self.clocks.step(line, self.epochs.pop(whose), float(((days * 24 + hours) * 60 + minutes) * 60 + seconds))
        self.rows.put(
            "steps", line.number, row | {"samples_per_s": self.rates.pop(whose, None), "rate_scope": "global"}
        )
        self.rows.param("framework", "pufferlib", line.number)
        return True
