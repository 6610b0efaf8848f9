"""Progress lines of HRNet: semantic segmentation, and classification with what was made from it.

Tool: HRNet-Semantic-Segmentation, DDRNet, PIDNet; HRNet-Image-Classification, deep-high-resolution-net, CvT
Versions: 2019 to 2025
Yields: params, steps, metrics
Source: HRNet-Semantic-Segmentation/lib/core/function.py, train(); HRNet-Image-Classification/lib/core/function.py, train()

Of segmentation, `Time` is a mean since the epoch began (an AverageMeter), with the wait for data in it: by the number of its
batches it is a clock, and what that grew by between two records, or several where its digits are too coarse, is the time of
the steps between.  The losses are such means, too.  Of classification, the number before the brackets is of one batch, its wait for data in it, and `Speed` is of
the images of the process that prints.  Neither waits for the device before the clock is read.  Batches count from 0.

Samples:
    2024-03-04 11:20:05,125 Epoch: [3/484] Iter:[120/1485], Time: 0.63, lr: 0.009937, Loss: 0.875000
    Epoch: [3/484] Iter:[120/1485], Time: 0.63, lr: [0.009937012345678], Loss: 0.875000, Acc:0.750000, Semantic loss: 0.500000
    2024-03-04 11:20:05,125 Epoch: [3][200/5004]	Time 0.500s (0.625s)	Speed 64.0 samples/s	Data 0.002s (0.010s)	Loss 4.12500 (4.25000)	Accuracy 12.500 (11.250)
"""

from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.since_start import SinceStart
from scalelens.parsing.stamps import line_time

VERSION = 1
ANCHORS = ("] Iter:[", "s)\tSpeed ")

_UNITS = {"Accuracy": "%", "Time": "s"}
_N = r"-?(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|inf)|nan"
_STAMP = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}) ")
_MEAN = re.compile(r"Epoch: \[(\d{1,9})/\d{1,9}\] Iter:\[(\d{1,9})/(\d{1,9})\], Time: (\d+\.\d+), lr: \[?([^\],]+)")
_MEAN_VALUE = re.compile(rf"(?:, [^\],:]{{1,40}})*\]?,\s*([A-Za-z][\w ]*?):\s?({_N})(?=,|\s*\Z)")
_BATCH = re.compile(
    r"Epoch: \[(\d{1,9})\]\[(\d{1,9})/(\d{1,9})\]\s+Time (\d+\.\d+)s \(\d+\.\d+s\)\s+Speed (\d+\.\d+) samples/s"
)
_BATCH_VALUE = re.compile(rf"\s+([A-Za-z][\w@ -]*?):? ({_N})s? \((?:{_N})s?\)(?=\s|\Z)")


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.clocks: dict[tuple[int | None, str | None], tuple[tuple[int, int], SinceStart]] = {}  # of an epoch

    def take(self, line: Line) -> bool:
        mean, batch = _MEAN.search(line.text), _BATCH.search(line.text)
        if not (head := mean or batch):
            return False
        pairs, end = list[tuple[str, float]](), head.end()
        while value := (_MEAN_VALUE if mean else _BATCH_VALUE).match(line.text, end):
            pairs.append((value[1], float(value[2])))
            end = value.end()
        if end < len(line.text.rstrip(", \t\r\n")) or not pairs:
            self.rows.problem(line.number, "the record is cut, or something else was printed into it", line.text)
            return True
        epoch, index, total, time_s = int(head[1]), int(head[2]), int(head[3]), float(head[4])
        step = epoch * total + index
        stamp = _STAMP.search(line.text)
        ts = line_time(stamp[1] if stamp else None, line, self.rows, "%Y-%m-%d %H:%M:%S,%f")
        position = self.rows.attempt_of(line.number, step, line.rank, line.location, ts)
        row: dict[str, Any] = {"attempt": position.attempt, "epoch": epoch, "step": step}
        row |= {"ts": ts, "ts_origin": "naive"} if ts else {}
        if mean:
            clock, digit_s = self.clock(line, position.attempt, epoch), 10.0 ** -len(mean[4].partition(".")[2])
            row |= clock.times(step, time_s * (index + 1), digit_s * (index + 1))
            row["learning_rate"] = float(mean[5]) if re.fullmatch(_N, mean[5]) else None
            pairs.append(("Time", time_s))
        else:
            row |= {"step_s": time_s, "value_kind": "instant", "averaged_steps": 1, "rate_scope": "rank"}
            row |= {"samples_per_s": float(head[5]), "data_s": dict(pairs).get("Data")}
        self.rows.param("framework", "pytorch", line.number, origin="inferred")
        self.rows.param("iterations_per_epoch", total, line.number)
        self.add(line, row, pairs)
        return True

    def clock(self, line: Line, attempt: int, epoch: int) -> SinceStart:
        """The clock of an epoch."""
        of, whose = (attempt, epoch), (line.rank, line.location)
        if self.clocks.get(whose, (None,))[0] != of:
            self.clocks[whose] = of, SinceStart()
        return self.clocks[whose][1]

    def add(self, line: Line, row: dict[str, Any], pairs: list[tuple[str, float]]) -> None:
        losses = [value for name, value in pairs if name == "Loss"]
        if losses:
            row |= {"loss": losses[0]} if losses[0] == losses[0] else {"nan_steps": 1}
        self.rows.put("steps", line.number, row | {"rank": line.rank, "place": line.location, "phase": "train"})
        named = [
            (name, value, _UNITS.get(name)) for name, value in pairs if name not in ("Loss", "Data") and value == value
        ]
        self.rows.metrics(line.number, line.rank, line.location, row["step"], named)
