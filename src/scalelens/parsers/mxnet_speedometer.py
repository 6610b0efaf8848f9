"""MXNet's Speedometer.

Tool: Apache MXNet, mx.callback.Speedometer in fit(); MLPerf's ResNet on MXNet; Sockeye 1 to 3
Versions: 0.7 to 1.9
Yields: params, steps, phases, metrics
Source: mxnet/python/mxnet/callback.py, Speedometer.__call__(); module/base_module.py, fit()

`Speed` is the batch over the mean time of the batches a to b.  The batch is what the script hands over: in MLPerf that
of the whole job, so where the log names a global batch the rate is global and gives the step's time.  Elsewhere
neither is said, and scope and time stay open, but for Sockeye, which prints updates per second too.  Batches count from the start of an epoch; `step` goes on from the last
one printed of the epoch before.  `nan` stands for a metric that was not computed.  Before 1.0 a record is printed once
for each metric: one row, with the first.

Samples:
    2024-05-06 07:08:09,742 Node[0] Epoch[0] Batch [20-40]	Speed: 45190.07 samples/sec	accuracy=nan
    INFO:root:Epoch[1] Batch [100]	Speed: 1234.56 samples/sec	accuracy=0.125000	cross-entropy=5.1
    2024-05-06 07:08:19,105 INFO Epoch[0] Batch [150]	Speed: 312.75 samples/sec	Train-accuracy=0.015625
    2024-05-06 07:18:09,742 Node[0] Epoch[0] Time cost=16.842
    2024-05-06 07:18:19,742 Node[0] Epoch[0] Validation-accuracy=0.512345
"""

from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.values import iso_time

VERSION = 3
ANCHORS = ("] Batch [", "] Time cost=", "] Validation-", "] Train-")

_HEAD = re.compile(
    r"(?:(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),(\d{3}) (?:INFO )?)?(?:Node\[(\d{1,9})\] )?"
    r"Epoch\[(\d{1,9})\] (Batch \[|Time cost=|Validation-|Train-)"
)
_RECORD = re.compile(
    r"(?:(\d{1,9})-)?(\d{1,9})\]\s+Speed: (\d+(?:\.\d*)?(?:e\+\d+)?) samples/sec"
    r"(?: \d+(?:\.\d*)?(?:e\+\d+)? tokens/sec (\d+(?:\.\d*)?(?:e[-+]?\d+)?) updates/sec)?"
)
_VALUE = re.compile(r"\s([A-Za-z][\w@-]*)=(-?(?:\d+(?:\.\d*)?(?:e[-+]?\d+)?|inf)|nan)(?=\s|\Z)")


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.last = 0
        self.bases: dict[int, int] = {}  # steps before an epoch
        self.at: dict[tuple[int | None, str | None], tuple[int, int, int]] = {}  # epoch, batch, restarts
        self.printed: dict[tuple[int | None, str | None], tuple[int, int, str]] = {}  # epoch, batch and speed

    def take(self, line: Line) -> bool:
        head = _HEAD.search(line.text)
        if not head:
            return False
        rank = line.rank if line.rank is not None or head[3] is None else int(head[3])
        text, epoch = line.text[head.end() :], int(head[4])
        values = _VALUE.findall(" " + head[5] + text)
        _, _, attempt = self.at.get((rank, line.location), (0, 0, 0))
        row: dict[str, Any] = {"attempt": attempt, "rank": rank, "place": line.location, "epoch": epoch}
        if head[1] and (stamp := iso_time(f"{head[1]}.{head[2]}")):
            row |= {"ts": stamp, "ts_origin": "naive"}
        if head[5] == "Batch [":
            return self.record(text, values, row, line)
        if head[5] != "Time cost=":
            named = [(name, float(value), None) for name, value in values if value != "nan"]
            self.rows.metrics(line.number, rank, line.location, self.rows.step, named)
        elif span := re.match(r"\d+(?:\.\d*)?(?=\s|\Z)", text):
            row |= {"phase": "epoch", "step": self.rows.step, "span_s": float(span[0]), "origin": "logged"}
            self.rows.logged_epochs.append((line.number, row["span_s"]))
            self.rows.put("phases", line.number, row)
        return bool(values) or head[5] == "Time cost="

    def record(self, text: str, values: list[tuple[str, str]], row: dict[str, Any], line: Line) -> bool:
        match = _RECORD.match(text)
        if not match:
            self.rows.problem(line.number, "the record is cut, or something else was printed into it", line.text)
            return True
        params, epoch, end = self.rows.params, row["epoch"], int(match[2])
        label = row["rank"], line.location
        named = {name: float(value) for name, value in values if value != "nan"}
        if self.printed.get(label) == (printed := (epoch, end, match[3])):
            self.rows.metrics(line.number, *label, self.rows.step, [(name, named[name], None) for name in named])
            return True
        self.printed[label] = printed
        before, batch, attempt = self.at.get(label, (-1, -1, 0))
        row["attempt"] = attempt = attempt + ((epoch, end) <= (before, batch))
        self.at[label] = epoch, end, attempt
        start = int(match[1]) if match[1] else batch if before == epoch and batch < end else 0
        step = self.bases.setdefault(epoch, self.last if self.bases else 0) + end
        self.last = max(self.last, step)
        rate, size = float(match[3]), str(params.get("global_batch_size", ""))
        row |= {"phase": "train", "step": step, "samples_per_s": rate}
        row |= {"averaged_steps": max(end - start, 1), "value_kind": "interval_mean"}
        if size.isdecimal() and len(size) < 9:
            row |= {"samples": int(size), "rate_scope": "global", "step_s": int(size) / rate if rate else None}
        if match[4] and (updates := float(match[4])):
            row["step_s"] = 1 / updates
        row["accuracy"] = named.pop("accuracy", named.pop("Train-accuracy", None))
        self.rows.param("framework", "mxnet", line.number, origin="inferred")
        self.rows.attempt = max(self.rows.attempt, attempt)
        self.rows.put("steps", line.number, row)
        self.rows.metrics(line.number, *label, step, [(name, named[name], None) for name in named])
        return True
