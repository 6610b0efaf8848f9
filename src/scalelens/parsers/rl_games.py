"""Iterations of RL Games: frames per second, and the frames so far.

Tool: rl_games, as in IsaacGymEnvs, OmniIsaacGymEnvs and Isaac Lab
Versions: 1.1 to 1.6
Yields: steps, metrics
Source: rl_games/algos_torch/a2c_common.py, print_statistics()

What is called an epoch is an iteration, of a rollout and the updates after it: a step here.  `fps total` is its frames over
its seconds, of all devices: the time of an iteration is the frames since the line before, over that rate.  The first line
has none, as does one after lines that are missing.  The other two rates are without the updates, and without the
policy: metrics.

Samples:
    fps step: 94208 fps step and policy inference: 81920 fps total: 61440 epoch: 3/1000 frames: 131072
    fps step: 94208.0 fps step and policy inference: 81920.0  fps total: 61440.0
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 1
ANCHORS = ("fps step and policy inference: ",)

_N = r"(\d{1,12}(?:\.\d+)?)"
_RECORD = re.compile(
    rf"fps step: {_N} fps step and policy inference: {_N} {{1,2}}fps total: {_N}"
    r"(?: epoch: (\d{1,9})(?:/\d{1,9})? frames: (\d{1,15})(?:/\d{1,15})?)?\s*\Z"
)
_CUT = re.compile(r"fps step: [\d.]+ fps step and policy inference: ")


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.last: dict[tuple[int, int, int | None, str | None], tuple[int, int]] = {}  # iteration and frames

    def take(self, line: Line) -> bool:
        record = _RECORD.match(line.text)
        if not record:
            if cut := _CUT.match(line.text):
                self.rows.problem(line.number, "the record is cut", line.text)
            return bool(cut)
        rows, whose = self.rows, (line.rank, line.location)
        rates = [("fps step", float(record[1]), None), ("fps step and policy inference", float(record[2]), None)]
        total = float(record[3])
        step = int(record[4]) if record[4] else None
        if step is not None:
            frames = int(record[5])
            attempt = rows.attempt_of(line.number, step, *whose).attempt
            before = self.last.get((rows.part, attempt, *whose))
            self.last[rows.part, attempt, *whose] = step, frames
            known = before is not None and step == before[0] + 1 and frames > before[1] and total > 0
            made = frames - before[1] if before and known else None
            rows.add(
                "steps", line.number, attempt=attempt, rank=line.rank, place=line.location, phase="train", step=step,
                step_s=made / total if made else None, averaged_steps=1, value_kind="instant", samples=made,
                samples_per_s=total or None, rate_scope="global",
            )  # fmt: skip
        else:
            rates.append(("fps total", total, None))
        rows.metrics(line.number, line.rank, line.location, step, rates)
        return True
