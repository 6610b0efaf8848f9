"""Progress bars of PyTorch-Ignite, which count the iterations of each epoch.

Tool: PyTorch-Ignite's ProgressBar
Versions: 0.2 to 0.5
Yields: steps
Source: ignite/handlers/tqdm_logger.py, ProgressBar._OutputHandler; before 0.5 in ignite/contrib

A bar has no rate: what its elapsed seconds, which are whole, grow by between two drawings that are ten seconds apart or more is
the time of the iterations between them.  A bar that names no epoch of how many is of an evaluation, and is left out.

Samples:
    Epoch [1/10]: [83/166]  50%|█████     , loss=2.25e+00 [00:41<00:41]
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.since_start import LaunchClocks
from scalelens.parsing.values import number

VERSION = 1
ANCHORS = ("Epoch [",)

_BAR = re.compile(
    r"Epoch \[(\d{1,9})/\d{1,9}\]: \[(\d{1,9})/(\d{1,9})\] {1,3}\d{1,3}%\|[^|,\[]{0,200}(?:,? (.{0,500}?))? "
    r"\[(?:(\d{1,4}):)?(\d{1,2}):(\d\d)<(?:[\d:]+|\?)\]\s*\Z"
)
_LOSS = re.compile(r"(?:\A|, )(?:batch |train )?loss=([^,\s]+)")
_DIGIT_S = 1.0


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.clocks = LaunchClocks(rows, _DIGIT_S)
        self.last: dict[tuple[int | None, str | None], int] = {}  # the step drawn last

    def take(self, line: Line) -> bool:
        bar = _BAR.search(line.text)
        if bar is None:
            return False
        epoch, count, total = (int(part) for part in bar.groups()[:3])
        whose, step = (line.rank, line.location), (epoch - 1) * total + count
        if not 0 < count <= total or self.last.get(whose) == step:
            return True  # drawn again for what stands beside it
        self.last[whose] = step
        hours, minutes, seconds = (int(part or 0) for part in bar.groups()[4:])
        loss = _LOSS.search(bar[4] or "")
        row = self.clocks.step(line, step, float((hours * 60 + minutes) * 60 + seconds))
        self.rows.put("steps", line.number, row | {"epoch": epoch - 1, "loss": number(loss[1]) if loss else None})
        return True
