"""What Megatron does besides steps: start, evaluation, checkpoints, exit.

Tool: Megatron-LM, Megatron-DeepSpeed, GPT-NeoX
Versions: v1.0 to core 0.19
Yields: phases, metrics, params
Source: megatron/training/training.py, evaluate_and_print_results(), save_checkpoint_and_time(), print_datetime()

Up to core 0.4 the interval's timer runs on through evaluation and saving: the record after one is longer than its
steps.  The rows of `phases` say which records those are.

Samples:
     validation loss at iteration 100 | lm loss value: 8.017406E+00 | lm loss PPL: 3.033300E+03 |
     validation results at iteration 100 | lm_loss value: 8.0E+00 | lm_loss_ppl value: 3.0E+03 |
    saving checkpoint at iteration     100 to results/run1 in torch_dist format
      successfully saved checkpoint at iteration     100 to results/run1
    [before the start of training step] datetime: 2021-05-23 08:41:05
    [after training is done] datetime: 2023-06-10 09:31:19
    [exiting program at iteration 500] datetime: 2023-06-10 09:31:19
    [exiting program after 235.1 minutes] datetime: 2023-06-10 09:31:19
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.stamps import line_time

VERSION = 1
ANCHORS = (" at iteration", "saved checkpoint", "] datetime: ", "[exiting program", "on validation set", "on test set")

_EVALUATED = re.compile(
    r"(?:(?P<set>[\w./ -]{0,99}?) ?(?:loss|results) at (?:iteration (?P<step>\d+)|the end of training)[^|]{0,99}"
    r"|iteration (?P<other>\d+) on (?P<name>\w{1,99}) set[^|]{0,99})\|(?P<values>.*)"
)
_RESULT = re.compile(
    r"(?:(?:loss|results) at (?:iteration \d|the end of)|iteration \d+ on \w{1,99} set)[^|]{0,99}\|"
)  # in each such line
_VALUE = re.compile(r"([^|:]{1,99}?)(?: value)?: (-?[\d.]+(?:[eE][+-]?\d+)?|nan|inf) {0,9}\|")
_SAVING = re.compile(r"^\s*(?:\[[^\]]*\] )?saving checkpoint at iteration\s+(\d+)")
_SAVED = re.compile(r"successfully saved checkpoint (?:at|from) iteration\s+(\d+)")
_LOADED = re.compile(r"successfully loaded checkpoint .{0,4999}at iteration (\d+)")
_MOMENT = re.compile(
    r"\[((?:before|after) [^\]]{1,99}|exiting program[^\]]{0,99})\](?: +datetime: (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?))?"
)
_ENDS = re.compile(r"after training is done|exiting program (?:at iteration|after [\d.]+ minutes)")


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.seen: set[tuple[int, int, str, int | None]] = set()

    def take(self, line: Line) -> bool:
        text = line.text
        evaluated = _EVALUATED.search(text) if _RESULT.search(text) else None
        if evaluated and (values := _VALUE.findall(evaluated["values"] + "|")):
            step = evaluated["step"] or evaluated["other"]
            number = int(step) if step else self.rows.step
            self.phase(line, "evaluation", number)
            name = (evaluated["set"] or evaluated["name"] or "").strip(" -|") or "validation"
            for metric, value in values:
                try:
                    self.rows.metric(
                        line.number, line.rank, line.location, number, f"{name} {metric.strip()}", float(value)
                    )
                except ValueError:
                    self.rows.problem(line.number, f"the result '{metric.strip()}' is not a number", text)
            return True
        if saving := _SAVING.match(text) or _SAVED.search(text):
            self.phase(line, "checkpoint", int(saving[1]))
            return True
        if loaded := _LOADED.search(text):
            self.rows.param("resumed_from_step", loaded[1], line.number)
            return True
        if moment := _MOMENT.search(text):
            return self.at_time(line, moment[1], moment[2])
        return False

    def at_time(self, line: Line, name: str, stamp: str | None) -> bool:
        ts = line_time(stamp, line, self.rows)
        if stamp and not ts:
            return True
        ending = _ENDS.search(name)
        if ts:
            self.rows.add(
                "phases", line.number, attempt=self.rows.attempt, rank=line.rank, place=line.location,
                phase="run" if ending else "startup", origin="logged", ts=ts, ts_origin="naive",
            )  # fmt: skip
        if ending:
            self.rows.param("outcome", "completed", line.number)
        elif "SIGTERM" in name:
            self.rows.param("outcome", "cancelled", line.number)
        return bool(ts or ending or "exiting program" in name)

    def phase(self, line: Line, phase: str, step: int | None) -> None:
        """A row for each phase of a step, however many ranks, data sets or lines name it."""
        key = (self.rows.part, self.rows.attempt, phase, step)
        if key not in self.seen:
            self.seen.add(key)
            self.rows.add(
                "phases", line.number, attempt=self.rows.attempt, rank=line.rank, place=line.location,
                phase=phase, step=step, origin="logged",
            )  # fmt: skip
