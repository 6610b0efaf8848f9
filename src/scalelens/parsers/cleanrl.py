"""Steps of the environment per second, as CleanRL's scripts print them, and those made from them.

Tool: CleanRL, ManiSkill's baselines, and scripts that began as one of these
Versions: 1 and 2 of CleanRL; a rate alone, or with losses after it
Yields: steps, metrics
Source: cleanrl/ppo.py; ManiSkill/examples/baselines/ppo/ppo.py

An iteration, of a rollout and the updates after it, is a step here: the n-th rate is that of iteration n, or of the one
that a heading counts.  `SPS` is the steps of the environment so far over the seconds since the start, cut to a whole
number: a running mean.  Where a heading says how many steps came before each iteration, the time since the start follows,
and what it grows by between two iterations that are far enough apart for the digits of the rate is their time; an evaluation
between them is in it.

Samples:
    SPS: 1102, pg_loss=-0.0025, v_loss=1.4012
    Epoch: 2, global_step=25600
    global_step=25612, episodic_return=[21.5]
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.since_start import RateClocks
from scalelens.parsing.values import number

VERSION = 1
ANCHORS = ("SPS: ", "global_step=")

_RATE = re.compile(r"SPS: (\d{1,12})(?:, (\w+=\S+(?:, \w+=\S+)*))?\s*\Z")
_HEADING = re.compile(r"Epoch: (\d{1,9}), global_step=(\d{1,15})\s*\Z")
_EPISODE = re.compile(r"global_step=(\d{1,15}), episodic_return=\[?([^\],\s]+)\]?\s*\Z")


class _Launch:
    """The iterations of one launch."""

    def __init__(self) -> None:
        self.iteration = 0  # counted by a heading, or by the rates so far
        self.before: int | None = None  # steps of the environment before the iteration
        self.made: int | None = None  # in each iteration
        self.headed = False  # whether a heading counts the iteration


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.clocks = RateClocks(rows)
        self.launches: dict[tuple[int, int | None, str | None], _Launch] = {}

    def take(self, line: Line) -> bool:
        rows = self.rows
        launch = self.launches.setdefault((rows.part, line.rank, line.location), _Launch())
        if heading := _HEADING.match(line.text):
            self._head(launch, int(heading[1]), int(heading[2]))
            return True
        if episode := _EPISODE.match(line.text):
            value = number(episode[2])
            if value is not None:
                rows.metrics(line.number, line.rank, line.location, None, [("episodic_return", value, None)])
            return True
        rate = _RATE.match(line.text)
        if rate is None:
            return False
        launch.iteration += not launch.headed
        launch.headed = False
        self._record(line, launch, int(rate[1]), rate[2] or "")
        return True

    @staticmethod
    def _head(launch: _Launch, iteration: int, before: int) -> None:
        """Notes a heading: which iteration begins, and how many steps of the environment came before it."""
        grown = before - launch.before if launch.before is not None else 0
        launch.made = grown if iteration == launch.iteration + 1 and grown > 0 else None
        launch.iteration, launch.before, launch.headed = iteration, before, True

    def _record(self, line: Line, launch: _Launch, rate: int, named: str) -> None:
        """A row for the iteration that a rate ends, and metrics of the losses after it."""
        rows, step = self.rows, launch.iteration
        total = launch.before + launch.made if launch.made and launch.before is not None else None
        rows.put("steps", line.number, self.clocks.step(line, step, total, rate))
        losses = (pair.partition("=") for pair in named.split(", ") if pair)
        values: list[tuple[str, float, str | None]] = [("SPS", float(rate), None)]
        values += [(name, value, None) for name, _, text in losses if (value := number(text)) is not None]
        rows.metrics(line.number, line.rank, line.location, step, values)
