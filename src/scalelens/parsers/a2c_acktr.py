"""Updates of pytorch-a2c-ppo-acktr-gail: how many steps of the environment so far, and how many per second.

Tool: ikostrikov/pytorch-a2c-ppo-acktr-gail, and what was made from it
Versions: 2018 to 2026
Yields: steps, metrics
Source: pytorch-a2c-ppo-acktr-gail/main.py

An update is a step here.  `FPS` is the steps of the environment so far over the seconds since the start, cut to a whole
number: what the time grows by between two lines that are far enough apart for its digits is that of the updates between them.

Samples:
    Updates 30, num timesteps 19840, FPS 512
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.since_start import RateClocks

VERSION = 1
ANCHORS = (", num timesteps ",)

_RECORD = re.compile(r"Updates (\d{1,9}), num timesteps (\d{1,15}), FPS (\d{1,12})(?=[\s,]|\Z)")


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.clocks = RateClocks(rows)

    def take(self, line: Line) -> bool:
        record = _RECORD.match(line.text)
        if record is None:
            return False
        update, total, rate = map(int, record.groups())
        self.rows.put("steps", line.number, self.clocks.step(line, update, total, rate))
        self.rows.metrics(line.number, line.rank, line.location, update, [("FPS", float(rate), None)])
        return True
