"""Tables of OpenAI's baselines, one for each iteration.

Tool: openai/baselines (ppo1, trpo_mpi, acktr), and what was made from it
Versions: 2017 to 2020
Yields: steps, metrics
Source: baselines/ppo1/pposgd_simple.py, learn(); baselines/logger.py, HumanOutputFormat.writekvs()

An iteration gathers steps of the environment (`TimestepsSoFar`) and optimizes on them.  `TimeElapsed` is in seconds since the
start, in three digits: what it grew by since an iteration that is far enough before is the time of those between.

Samples:
    ********** Iteration 3 ************
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.since_start import SinceStart

VERSION = 1
ANCHORS = ("********** Iteration ",)

_HEAD = re.compile(r"\*{10} Iteration (\d{1,9}) \*{12}\s*\Z")
_ENTRY = re.compile(r"\| ([\w./-]{1,60}) *\| (-?\d{1,30}(?:\.\d{0,30})?(?:e[+-]?\d{1,3})?) *\|\s*\Z")
_END = re.compile(r"-{10,}\s*\Z")


class Reader:
    claims = re.compile(
        r"\| |-{10,}\s*\Z|Optimizing\.\.\.|Evaluating losses\.\.\.|Computing |Applying |Sampling|[ \d.|e+-]+\Z|.*\|.*\|"
    )

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.clock = SinceStart()
        self.head: tuple[Line, int] | None = None
        self.values: dict[str, float] = {}
        self.digits: dict[str, float] = {}  # the last digit of each value
        self.samples = 0.0
        self.seconds = 0.0

    def take(self, line: Line) -> bool:
        if not (head := _HEAD.match(line.text)):
            return False
        self.head, self.values, self.digits = (line, int(head[1])), {}, {}
        return True

    def more(self, line: Line) -> None:
        """A value of the table, or its end."""
        if entry := _ENTRY.match(line.text):
            mantissa, _, exponent = entry[2].partition("e")
            self.values[entry[1]] = float(entry[2])
            self.digits[entry[1]] = float(f"1e{int(exponent or 0) - len(mantissa.partition('.')[2])}")
        elif _END.match(line.text) and self.head and "TimeElapsed" in self.values:
            self.put(line, self.head[1])
            self.head = None

    def put(self, line: Line, iteration: int) -> None:
        rows, values = self.rows, self.values
        seconds, samples = values.pop("TimeElapsed"), values.pop("TimestepsSoFar", None)
        attempt = rows.attempt_of(line.number, iteration, line.rank, line.location).attempt
        if seconds < self.seconds:
            self.clock, self.samples = SinceStart(), 0.0
        times = self.clock.times(iteration, seconds, self.digits["TimeElapsed"])
        row = {
            "attempt": attempt,
            "rank": line.rank,
            "place": line.location,
            "phase": "train",
            "step": iteration,
        } | times
        if samples is not None and samples > self.samples:
            row["samples"] = samples - self.samples
            self.samples = samples
        self.seconds = seconds
        rows.put("steps", line.number, row)
        rows.metrics(
            line.number, line.rank, line.location, iteration, [(name, value, None) for name, value in values.items()]
        )
