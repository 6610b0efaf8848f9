"""CatBoost's progress: one line for every iteration, or every n-th.

Tool: CatBoost (the library's own output, with verbose=n or metric_period=n)
Versions: 0.10 to 1.2
Yields: steps, metrics
Source: catboost/libs/logging/profile_info.cpp and catboost/libs/train_lib, of the Python and command line packages

`total` is the time since the start, with four digits at most (`212ms`, `1.27s`, `1m 3s`): its differences are the times
of iterations.  They leave out callbacks, which CatBoost's profiler does not count.  Iterations count from 0.

Samples:
    10:	learn: 0.2690210	test: 0.2905619	best: 0.2905619 (10)	total: 212ms	remaining: 2.68s
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.since_start import SinceStart
from scalelens.units import factors

VERSION = 1
ANCHORS = ("\tremaining: ",)

_LINE = re.compile(
    r"\s*(\d{1,9}):\t(?:(.{1,400}?)\t)?total: (\d{1,9}(?:\.\d{1,9})?(?:us|ms|s|m|h)(?: \d\d?[ms])*)\tremaining: "
)
_VALUE = re.compile(r"(?:\A|\t)(learn|test\d*): (-?\d+(?:\.\d*)?(?:e[-+]?\d+)?)(?=\t|\Z)")
_PART = re.compile(r"(?<!\d)(\d+)(?:\.(\d+))?(us|ms|s|m|h)")
_SECONDS = factors("us", "ms", "s", "min", "h")


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.clocks: dict[tuple[int | None, str | None], SinceStart] = {}

    def take(self, line: Line) -> bool:
        if not (found := _LINE.match(line.text)):
            return False
        rows, step = self.rows, int(found[1])
        position = rows.attempt_of(line.number, step, line.rank, line.location)
        whose = line.rank, line.location
        if position.begins or whose not in self.clocks:
            self.clocks[whose] = SinceStart()
        values = {name: float(value) for name, value in _VALUE.findall(found[2] or "")}
        rows.add(
            "steps", line.number, attempt=position.attempt, rank=line.rank, place=line.location, phase="train", step=step,
            loss=values.pop("learn", None), **self.clocks[whose].times(step, *_elapsed(found[3])),
        )  # fmt: skip
        rows.param("framework", "catboost", line.number, origin="inferred")
        rows.metrics(line.number, line.rank, line.location, step, [(name, v, None) for name, v in values.items()])
        return True


def _elapsed(text: str) -> tuple[float, float]:
    """Seconds, and the size of their last digit."""
    seconds, digit_s = 0.0, 1.0
    for whole, decimals, unit in _PART.findall(text):
        unit_s = _SECONDS["min" if unit == "m" else unit]
        digit_s = unit_s * 10.0 ** -len(decimals)
        seconds += float(f"{whole}.{decimals or 0}") * unit_s
    return seconds, digit_s
