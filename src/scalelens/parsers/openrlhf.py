"""OpenRLHF's line of a step of reinforcement learning.

Tool: OpenRLHF
Versions: those that print `Global step`; of 2026 with times
Yields: steps, metrics, params
Source: openrlhf/trainer/ppo_trainer.py and ppo_trainer_async.py, fit()

A step is generation, rewards, the update and the copy of the weights to the generators.  Its time is
`timing/step_total`, by the clock and with the wait for samples where generation runs at the same time as the training.  The other
times are its parts, which then overlap: they are never added up.  A record without that total gives metrics and no
step.  The loss of the policy stays a metric: it does not fall as a training gets better.  The lines are after excerpts
that users published.

Samples:
    (PPOTrainer pid=4711) INFO 03-04 10:15:27 ppo_trainer.py:547] ✨ Global step 1: {'reward': 0.4375, 'policy_loss': -2.5e-07, 'actor_grad_norm': 5.5, 'actor_lr': 5e-07, 'timing/generation': 2.875, 'timing/step_total': 12.25}
    Global step 2: {'policy_loss': 0.000338, 'kl': 0.00281, 'rollout/truncated_rate': 1.0}
"""

import math

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 1
ANCHORS = ("Global step ",)

_RECORD = re.compile(r"(?:^|[\]✨)] )Global step (\d{1,15})(?: \[\w+\])?: \{(?=')")
_NUMBER = r"-?(?:\d+(?:\.\d*)?(?:e[-+]?\d+)?|nan|inf)"
_FIELD = re.compile(rf"'([^']{{1,200}})': (?:(?:np\.\w+\()?({_NUMBER})\)?|None)(?:, |\}}\s*\Z)")
_COLUMNS = {"timing/step_total": "step_s", "actor_grad_norm": "grad_norm", "actor_lr": "learning_rate"}


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def take(self, line: Line) -> bool:
        head = _RECORD.search(line.text)
        if not head:
            return False
        rows, values, end = self.rows, dict[str, float](), head.end()
        while field := _FIELD.match(line.text, end):
            end = field.end()
            if field[2]:
                values[field[1]] = float(field[2])
        if end < len(line.text.rstrip()) or not line.text.rstrip().endswith("}"):
            rows.problem(line.number, "the record is cut, or something else was printed into it", line.text)
            return True
        step, whose = int(head[1]), (line.rank, line.location)
        if 0 < values.get("timing/step_total", 0) < math.inf:
            rows.add(
                "steps", line.number, attempt=rows.attempt_of(line.number, step, *whose).attempt, rank=line.rank,
                place=line.location, phase="train", step=step, averaged_steps=1, value_kind="instant",
                **{column: values.pop(name, None) for name, column in _COLUMNS.items()},
            )  # fmt: skip
        units = {name: "s" for name in values if name.startswith("timing/")}
        rows.metrics(line.number, *whose, step, [(name, value, units.get(name)) for name, value in values.items()])
        rows.param("framework", "openrlhf", line.number)
        return True
