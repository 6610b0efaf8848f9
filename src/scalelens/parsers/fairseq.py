"""fairseq's record of training.

Tool: fairseq
Versions: 0.8 and 0.9 (a bar's text after `|`), 0.10 and later (train_inner; simple and json, also by fairseq-hydra-train)
Yields: steps, metrics, params
Source: fairseq/logging/progress_bar.py; fairseq_cli/train.py, train()

wps are words (tokens) per second and wpb words per update, both of all ranks: their quotient is the time of an update,
a mean since the record before, in the old versions since the epoch began.  On XLA devices an interval counts as one
update there: a time that exceeds the tool's own clock is not read.  train_wall, the time within updates alone, is a
metric.  Epochs count from 1 there, from 0 here.

Samples:
    2026-03-04 11:20:05 | INFO | train_inner | epoch 002:    150 / 4000 loss=6.25, ppl=76.1, wps=80000, ups=2.5, wpb=32000, bsz=1000, num_updates=4150, lr=0.0005, gnorm=1.25, train_wall=20, wall=1700
    2026-03-04 11:20:05 | INFO | train_inner | {"epoch": 3, "update": 2.5, "loss": "5.125", "wps": "40000", "ups": "2.5", "wpb": "16000", "bsz": "500", "num_updates": "10000", "lr": "0.0003", "train_wall": "40", "wall": "4100"}
    [2026-03-04 11:20:05,125][train_inner][INFO] - {"epoch": 3, "update": 2.5, "loss": "5.125", "wps": "40000", "ups": "2.5", "wpb": "16000", "bsz": "500", "num_updates": "10000", "lr": "0.0003", "train_wall": "40", "wall": "4100"}
    | epoch 001:    300 / 2400 loss=9.75, nll_loss=9.125, wps=64000, ups=2, wpb=32000, bsz=900, num_updates=300, lr=3.75e-05, gnorm=1.75, clip=0%, oom=0, wall=155, train_wall=149
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.stamps import line_time

VERSION = 3
ANCHORS = ("| INFO | train_inner | ", "][train_inner][INFO] - ", "| epoch ")

_INNER = ("| INFO | train_inner | ", "][train_inner][INFO] - ")
_STAMP = r"\[?(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:,\d{3})?)(?: \| INFO \| train_inner \| |\]\[train_inner\]\[INFO\] - )"
_HEAD = re.compile(rf"(?:{_STAMP}|\| )epoch (\d{{1,9}}): +(\d+) / (\d+) (?=\w+=)")
_JSON = re.compile(_STAMP + r'\{"epoch": (\d{1,9}), "update": [\d.]+, (?=.*\}\s*$)')
_N = r"-?(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|nan|inf)"
_FIELD = re.compile(rf"(\w{{1,99}})=({_N})%?(?:, |\s*$)")
_PAIR = re.compile(rf'"(\w{{1,99}})": "?({_N})"?(?=[,}}])')
_COLUMNS = {"loss": "loss", "lr": "learning_rate", "gnorm": "grad_norm", "bsz": "samples", "wpb": "tokens"}
_UNITS = {"wps": "tokens/s", "ups": "steps/s", "train_wall": "s", "wall": "s"}


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.walls: dict[int | None, float | None] = {}  # the tool's clock at this step and the one before

    def take(self, line: Line) -> bool:
        values = dict[str, str]()
        if head := _HEAD.match(line.text):
            end = head.end()
            while match := _FIELD.match(line.text, end):
                values[match[1]], end = match[2], match.end()
            cut = end < len(line.text.rstrip())
        elif head := _JSON.match(line.text):
            values, cut = dict(_PAIR.findall(line.text, head.end())), False
        elif any(inner in line.text for inner in _INNER) and not line.text.rstrip().endswith("}"):
            self.rows.problem(line.number, "the record is cut, or something else was printed into it", line.text)
            return True
        else:
            return False
        if "num_updates" not in values and not head[1] and not cut:
            return False  # the first versions do not print the step
        if cut or not values.get("num_updates", "").isdigit():
            self.rows.problem(line.number, "the record is cut, or something else was printed into it", line.text)
        else:
            self.record(line, head, int(values.pop("num_updates")), {key: float(text) for key, text in values.items()})
        return True

    def record(self, line: Line, head: re.Match[str], step: int, values: dict[str, float]) -> None:
        rows = self.rows
        ts = line_time(head[1], line, rows)
        position = rows.attempt_of(line.number, step, line.rank, line.location, ts)
        if position.begins:
            self.walls.clear()
        steps = step - position.before if position.before is not None and head[1] else None
        speed, words = values.get("wps"), values.get("wpb")
        step_s = words / speed if words and speed and (steps or not head[1]) else None
        before, wall = self.walls.get(position.before), values.get("wall")
        self.walls = {position.before: before, step: wall}
        if step_s and steps and before is not None and wall and step_s * steps > 3 * (wall - before + 1):
            rows.problem(line.number, "the rate contradicts the clock of the same records: no time is read", line.text)
            step_s = None
        kind = "running_mean" if not head[1] else "instant" if steps == 1 else "interval_mean"
        rows.add(
            "steps", line.number, attempt=position.attempt, rank=line.rank, place=line.location, phase="train", step=step,
            epoch=int(head[2]) - 1, step_s=step_s, averaged_steps=steps,
            value_kind=kind, rate_scope="global", ts=ts, ts_origin="naive" if ts else None,
            **{column: values.pop(name, None) for name, column in _COLUMNS.items()},
        )  # fmt: skip
        named = [(name, value, _UNITS.get(name)) for name, value in values.items()]
        rows.metrics(line.number, line.rank, line.location, step, named)
        rows.param("framework", "fairseq", line.number)
