"""Zeus's energies in a training log.

Tool: Megatron-DeepSpeed with Zeus (forks that tune clocks)
Versions: 2025 to 2026
Yields: energy, metrics
Source: megatron/training.py of such a fork, around ZeusMonitor.begin_window() and end_window()

An energy is the sum over the GPUs that the process listed before as monitored, which are those of its own node: of a
job of two nodes half the energy.  `device` lists them all; the node is not told.  Intervals follow each other: `ts`
counts their seconds, without what lies between them.
Watts are the mean of the interval, and are with the fork's own ratios in `metrics`, at the interval's last step.

Samples:
    [Zeus] Started monitoring GPUs: [0, 1, 2, 3]
    [Zeus] Steps 1-50: Energy=500.00 Wh (1800000.0 J), Avg Power=2000.0 W, Time=900.0 s
    [Zeus] Steps 51-100: Energy=400.00 Wh (1440000.0 J), Avg Power=1600.0 W, Time=900.0 s, Samples/Wh=2.000, Tokens/J=1.138
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.sensors import SECOND
from scalelens.parsing.values import amount

VERSION = 2
ANCHORS = ("[Zeus] ",)

_STARTED = re.compile(r".*\[Zeus\] Started monitoring GPUs: \[([\d, ]{1,500})\]")
_STEPS = re.compile(
    r".*\[Zeus\] Steps (\d{1,12})-(\d{1,12}): Energy=[\d.]{1,20} Wh \((\d[\d.]{0,20}) J\), Avg Power=(\d[\d.]{0,20}) W,"
    r" Time=(\d[\d.]{0,20}) s((?:, [\w/]{1,30}=\d[\d.]{0,20})*)"
)
_RATIO = re.compile(r"(?<![\w/])([\w/]+)=([\d.]+)")
_UNITS = {"Samples/Wh": "samples/Wh", "Tokens/J": "tokens/J"}


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.devices: dict[tuple[int | None, str | None], str] = {}
        self.ends: dict[tuple[int | None, str | None], int] = {}  # ns that the intervals of a process have taken

    def take(self, line: Line) -> bool:
        if match := _STARTED.match(line.text):
            self.devices[line.rank, line.location] = ",".join(match[1].replace(" ", "").split(","))
            return True
        match = _STEPS.match(line.text)
        if not match:
            if "[Zeus] Steps " in line.text:
                self.rows.problem(line.number, "the record is cut, or something else was printed into it", line.text)
                return True
            return False
        _, step, joules, power, seconds, ratios = match.groups()
        numbers = [amount(text) for text in (joules, power, seconds)]
        if None in numbers:
            self.rows.problem(line.number, "the record holds a value that is not a number", line.text)
            return True
        energy_j, power_w, span_s = numbers
        writer = line.rank, line.location
        self.ends[writer] = self.ends.get(writer, 0) + round((span_s or 0) * SECOND)
        self.rows.add(
            "energy", line.number, device=self.devices.get(writer), scope="gpu", energy_j=energy_j,
            span_s=span_s, method="zeus", ts=self.ends[writer], ts_origin="relative",
        )  # fmt: skip
        others = [(name, amount(text), _UNITS.get(name)) for name, text in _RATIO.findall(ratios)]
        values = [
            (name, value, unit) for name, value, unit in [("Avg Power", power_w, "W"), *others] if value is not None
        ]
        self.rows.metrics(line.number, line.rank, line.location, int(step), values, "mean")
        return True
