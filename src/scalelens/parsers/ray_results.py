"""What Ray prints of each iteration of a training: RLlib's, Tune's and Ray Train's.

Tool: Ray
Versions: 1 and 2: lines of names and values below `Result for`; since 2.5 tables below `finished iteration`
Yields: steps, metrics, params
Source: ray/tune/progress_reporter.py; ray/tune/experimental/output.py

An iteration is a step: of RLlib a round of sampling and updates, else what the program reports together, as an epoch.  Its
time is `time_this_iter_s`, by the clock.  `samples` are steps of the environments.  Each trial is a run, a part of the
file.  Of what stands deeper, as in the results of a learner, nothing is read, but by the tables, which name it.

Samples:
    Result for PPO_CartPole-v1_4c2d1_00000:
    Training finished iteration 3 at 2026-03-04 10:00:37. Total running time: 37s
    Trial PPO_CartPole-v1_4c2d1_00000 finished iteration 3 at 2026-03-04 10:00:37. Total running time: 37s
"""

import math

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.values import number

VERSION = 1
ANCHORS = ("Result for ", " finished iteration ")

_HEAD = re.compile(
    r"(?:Result for (?P<trial>\S{1,200}):|(?:Trial (?P<other>\S{1,200})|Training) finished iteration \d+ at \d{4}-\d\d-\d\d"
    r" \d\d:\d\d:\d\d\. Total running time: .{1,30})\s*\Z"
)
_ENTRY = re.compile(r"(?:  (?! )([\w/.-]{1,200}): (\S+)|\u2502 (?! )(\S{1,200}) +(\S+) +\u2502)\s*\Z")
_STEP, _TIME = "training_iteration", "time_this_iter_s"
_SAMPLES = ("num_env_steps_sampled_this_iter", "timesteps_this_iter")
_LOSSES = ("loss", "train_loss")
_IDLE = {_STEP, _TIME, *_SAMPLES, *_LOSSES, "pid", "timestamp", "iterations_since_restore", "time_since_restore"}
_ENDS = ("  trial_id: ", "\u2570")
_CUT = "the result is cut: it names no iteration, or no time"


class Reader:
    claims = re.compile(r"  |\s*\Z|[\u2500-\u257f]")

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.head: Line | None = None
        self.trial = ""
        self.values: dict[str, tuple[float, int]] = {}  # with the lines that they are of
        self.end = self.last = 0  # the line from which on the result is whole, and its last one
        self.parts: dict[str, int] = {}  # by trial

    def take(self, line: Line) -> bool:
        head = _HEAD.search(line.text)
        if head is None:
            return False
        self.finish()
        self.last = line.number
        self.head, self.values, self.end, self.trial = line, {}, 0, head["trial"] or head["other"] or ""
        return True

    def more(self, line: Line) -> None:
        self.last = line.number
        if line.text.startswith(_ENDS):
            self.end = self.end or line.number
        entry = _ENTRY.match(line.text)
        value = number(entry[2] or entry[4]) if entry else None
        if entry and value is not None:
            self.values.setdefault(entry[1] or entry[3], (value, line.number))

    def finish(self) -> None:
        """Writes the result that was read last."""
        head, rows = self.head, self.rows
        if head is None:
            return
        self.head = None
        values = {name: value for name, (value, _) in self.values.items()}
        step, time_s = values.get(_STEP), values.get(_TIME, math.nan)
        if not self.end or step is None or not step.is_integer() or not 0 <= time_s < math.inf:
            if not self.end or step is not None:  # before the first iteration a result names its trial alone
                rows.problem(self.last, _CUT, head.text)
            return
        current = rows.part
        rows.part = self.parts.setdefault(self.trial, max(self.parts.values()) + 1 if self.parts else current)
        whose = head.rank, head.location
        samples = next((values[name] for name in _SAMPLES if values.get(name)), None)
        rows.add(
            "steps", self.end, attempt=rows.attempt_of(self.end, int(step), *whose, step_s=time_s).attempt,
            rank=head.rank, place=head.location, phase="train", step=int(step), step_s=time_s, averaged_steps=1,
            value_kind="instant", samples=samples, loss=next((values[name] for name in _LOSSES if name in values), None),
        )  # fmt: skip
        for name, (value, number_of_line) in self.values.items():
            if name not in _IDLE:
                unit = "s" if name.endswith("_s") else None
                rows.metric(max(self.end, number_of_line), *whose, int(step), name, value, unit)
        rows.param("framework", "ray", head.number)
        rows.part = current
