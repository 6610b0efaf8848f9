"""MaxText's line of a step.

Tool: MaxText
Versions: 2023 (TFLOP/s), 2024 (TFLOP/s/device, Tokens/s/device) and later (total_weights)
Yields: steps, metrics, params
Source: maxtext/common/metric_logger.py, _log_training_metrics(); 2023: MaxText/train.py

The time is that between two steps on the host, which runs ahead of the devices at first: the second step can be far too
short.  Rates are per device, TFLOP/s by the tool's own formula.  total_weights are the tokens of a step that count for
the loss.  Steps count from 0, the first holds the compilation.

Samples:
    completed step: 12, seconds: 3.250, TFLOP/s/device: 210.500, Tokens/s/device: 10082.462, total_weights: 131072, loss: 9.875
    I0304 10:00:10.750000 140100200300400 metric_logger.py:226] completed step: 1, seconds: 0.375, TFLOP/s/device: 2008.000, Tokens/s/device: 21845.250, total_weights: 65536, loss: 11.500, lm_loss: 11.500, perplexity: 98715.771
    completed step: 204, seconds: 1.750, TFLOP/s: 51.250, loss: 4.375
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 3
ANCHORS = ("completed step: ",)

_N = r"-?(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|nan|inf)"
_HEAD = re.compile(r"(?:^|\] )completed step: (\d{1,15}), ")
_FIELD = re.compile(rf"([A-Za-z][\w/ .-]{{0,99}}): ({_N})(?:, |\s*$)")
_UNITS = {"Tokens/s/device": "tokens/s/device", "total_weights": "tokens"}


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def take(self, line: Line) -> bool:
        head = _HEAD.search(line.text)
        if not head:
            return False
        rows, values, end = self.rows, dict[str, float](), head.end()
        while match := _FIELD.match(line.text, end):
            values[match[1]], end = float(match[2]), match.end()
        if end < len(line.text.rstrip()) or "loss" not in values or "seconds" not in values:
            rows.problem(line.number, "the record is cut, or something else was printed into it", line.text)
            return True
        step, whose = int(head[1]), (line.rank, line.location)
        attempt = rows.attempt_of(line.number, step, *whose, step_s=values["seconds"]).attempt
        tflops = values.pop("TFLOP/s/device", values.pop("TFLOP/s", None))
        rows.add(
            "steps", line.number, attempt=attempt, rank=line.rank, place=line.location, phase="train", step=step,
            step_s=values.pop("seconds"), averaged_steps=1, value_kind="instant", rate_scope="rank",
            loss=values.pop("loss"), tflops_per_device=tflops,
        )  # fmt: skip
        rows.metrics(line.number, *whose, step, [(name, value, _UNITS.get(name)) for name, value in values.items()])
        rows.param("framework", "maxtext", line.number)
        return True
