"""Records of the trainers of preferences that began with DPO's, in which numbers are texts in a dictionary.

Tool: direct-preference-optimization, HALOs, and what was made from them
Versions: 2023 to 2026
Yields: steps, metrics
Source: direct-preference-optimization/trainers.py, BasicTrainer.train(); HALOs/trainers.py

`examples_per_second` is the batch of all ranks over the time of the last step: a rate, as it is printed.  How many
examples a step has is not printed, and no time of a step is taken from it.  A record of evaluation (`eval after ...`) is
left out.

Samples:
    train stats after 64 examples: {'loss/train': '0.6875', 'examples_per_second': '9.125', 'grad_norm': '2.0625', 'counters/examples': 64, 'counters/updates': 4}
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 1
ANCHORS = ("train stats after ",)

_HEAD = re.compile(r"train stats after (\d{1,15}) examples: \{")
_PAIR = re.compile(r"'([^']{1,100})': '?(-?\d+(?:\.\d+)?(?:e[-+]?\d+)?|nan|inf|-inf)'?(?=[,}])")
_COLUMNS = {"examples_per_second": "samples_per_s", "grad_norm": "grad_norm"}
_LOSSES = ("loss/train", "loss/total", "loss")
_COUNTS = ("counters/updates", "counters/examples")


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def take(self, line: Line) -> bool:
        head = _HEAD.match(line.text)
        if head is None:
            return False
        rows, text = self.rows, line.text.rstrip()
        values = {name: float(value) for name, value in _PAIR.findall(text, head.end())}
        if not text.endswith("}") or "counters/updates" not in values:
            rows.problem(line.number, "the record is cut, or something else was printed into it", line.text)
            return True
        step = int(values["counters/updates"])
        position = rows.attempt_of(line.number, step, line.rank, line.location)
        measured = {column: values.pop(name, None) for name, column in _COLUMNS.items()}
        loss = next((values.pop(name) for name in _LOSSES if name in values), None)
        rows.add(
            "steps", line.number, attempt=position.attempt, rank=line.rank, place=line.location, phase="train", step=step,
            rate_scope="global" if measured["samples_per_s"] else None, value_kind="instant", loss=loss, **measured,
        )  # fmt: skip
        named = [(name, value, None) for name, value in values.items() if name not in _COUNTS]
        rows.metrics(line.number, line.rank, line.location, step, named)
        return True
