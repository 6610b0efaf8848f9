"""Training lines of PaddleDetection, PaddleSeg and PaddleOCR, as PaddleX starts them too.

Tool: PaddleDetection (ppdet), PaddleSeg, PaddleOCR (ppocr), OpenOCR
Versions: PaddleDetection 2, PaddleSeg 2 (from 2.0 with `=`), PaddleOCR 2 and 3
Yields: params, steps, metrics
Source: ppdet/engine/callbacks.py, LogPrinter; paddleseg/core/train.py; PaddleOCR's tools/program.py, train()

Times and rates are those of one process: the rate is the batch of one device.  PaddleDetection prints the mean over as
many iterations as lie between two records, whose stamp has no year; the iterations count from 0 in each epoch.
PaddleSeg starts again with each record, without its evaluations.  PaddleOCR divides what was summed since the record
before by print_batch_step, though the last record of an epoch comes sooner, and the first one of old versions a step
later: the time is multiplied by that and divided by the steps there were.  Where the log does not name print_batch_step
it is the longest way between two records so far.  What the first record of a resumed training covers is not known.

Samples:
    [05/06 07:08:09] ppdet.engine INFO: Epoch: [0] [ 20/200] learning_rate: 0.000250 loss_cls: 1.125000 loss: 3.625000 eta: 1 day, 2:03:04 batch_cost: 0.2500 data_cost: 0.0125 ips: 32.0000 images/s
    2024-05-06 07:08:09 [INFO]	[TRAIN] epoch: 1, iter: 20/500, loss: 2.1250, lr: 0.009657, batch_cost: 0.5000, reader_cost: 0.01250, ips: 8.0000 samples/sec | ETA 00:04:00
    [2024/05/06 07:08:39] INFO: [EVAL] #Images: 100 mIoU: 0.7125 Acc: 0.9375 Kappa: 0.9250 Dice: 0.8125
    [2024/05/06 07:08:09] ppocr INFO: epoch: [1/5], global_step: 30, lr: 0.000500, acc: 0.125000, loss: 1.250000, avg_reader_cost: 0.00125 s, avg_batch_cost: 0.40000 s, avg_samples: 16.0, ips: 40.00000 samples/s, eta: 0:02:00, max_mem_reserved: 12288 MB, max_mem_allocated: 10240 MB
    [2024/05/06 07:08:01] ppocr INFO:     print_batch_step : 10
    [2024/05/06 07:09:09] ppocr INFO: cur metric, precision: 0.8125, recall: 0.75, hmean: 0.78, fps: 41.5
"""

from datetime import datetime
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.values import iso_time

VERSION = 2
ANCHORS = (
    "] learning_rate: ",
    "[TRAIN] epoch",
    "], global_step: ",
    "], iter: ",
    "[EVAL] #Images",
    " INFO: cur metric, ",
    "    print_batch_step : ",
)

_N = r"-?(?:\d+(?:\.\d*)?(?:e[-+]?\d+)?|nan|inf)"
_STAMP = re.compile(r"\[?(\d{4})[-/](\d\d)[-/](\d\d) (\d\d:\d\d:\d\d)\]? ")
_RECORD = re.compile(
    r"(?P<det>Epoch: \[(?P<of>\d{1,9})\] \[ *(?P<index>\d{1,9})/(?P<total>\d{1,9})\] (?=learning_rate: ))"
    r"|(?P<seg>\[TRAIN\] epoch[:=] ?(?P<first>\d{1,9}), iter[:=] ?(?P<iter>\d{1,15})/\d{1,15}, )"
    r"|(?P<ocr>epoch: \[(?P<one>\d{1,9})/\d{1,9}\], (?:global_step|(?P<old>iter)): (?P<global>\d{1,15}), (?=lr: ))"
)
_WHOLE = {
    "det": re.compile(r" ips: \d+\.\d+ images/s(?:, |\Z)"),
    "seg": re.compile(r" \| ETA [\d:]+\Z"),
    "ocr": re.compile(r", ips: \d+\.\d{5}(?: samples/s(?:, |\Z)|\Z)"),
}
_FIELD = re.compile(rf"(?<![\w.])(?!eta:)([A-Za-z]\w*)[:=] ?({_N})(?=[ ,]|\Z)")
_EVALUATION = re.compile(r" (?:\[EVAL\] #Images:? ?\d+,? |cur metric, )(?=\w+: )")
_EVERY = re.compile(r"INFO:     print_batch_step : (\d{1,9})\Z")
_COLUMNS = {
    "loss": "loss", "lr": "learning_rate", "learning_rate": "learning_rate", "acc": "accuracy",
    "batch_cost": "step_s", "avg_batch_cost": "step_s", "data_cost": "data_s", "reader_cost": "data_s",
    "avg_reader_cost": "data_s", "ips": "samples_per_s", "max_mem_allocated": "peak_memory_bytes",
}  # fmt: skip


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.every: int | None = None  # print_batch_step, as the log names it
        self.longest = 0  # between two records

    def take(self, line: Line) -> bool:
        text = line.text.rstrip()
        if match := _RECORD.search(text):
            kind = next(kind for kind in _WHOLE if match[kind])
            row, gap, first = self.place(kind, match, line)
            if not _WHOLE[kind].search(text):
                self.rows.problem(line.number, "the record is cut, or something else was printed into it", line.text)
                return True
            values = {name: float(value) for name, value in _FIELD.findall(text[match.end() :])}
            self.record(kind, match, row, gap, first, values, line)
        elif match := _EVALUATION.search(text):
            values = {name: float(value) for name, value in _FIELD.findall(text[match.end() :])}
            named = [(f"eval {name}", value, None) for name, value in values.items()]
            self.rows.metrics(line.number, line.rank, line.location, self.rows.step, named)
        elif match := _EVERY.search(text):
            self.every = int(match[1]) or None
        else:
            return False
        return True

    def place(self, kind: str, match: re.Match[str], line: Line) -> tuple[dict[str, Any], int, bool]:
        """Where a record is, how many steps lie between it and the one before, and whether it is an attempt's first."""
        if kind == "det":
            epoch, step = int(match["of"]), int(match["of"]) * int(match["total"]) + int(match["index"])
        else:
            epoch, step = (int(match[name]) for name in (("first", "iter") if kind == "seg" else ("one", "global")))
            epoch -= 0 if match["old"] else 1
        ts = _logged_at(line.text.rstrip())
        attempt, _, start, _ = self.rows.attempt_of(line.number, step, line.rank, line.location, ts)
        gap = step - (start if start is not None else -1 if kind == "det" or match["old"] else 0)
        if start is not None and (kind != "det" or gap <= int(match["index"])):  # within an epoch
            self.longest = max(self.longest, gap)
        row: dict[str, Any] = {"rank": line.rank, "place": line.location, "attempt": attempt, "phase": "train"}
        if ts:
            row |= {"ts": ts, "ts_origin": "naive"}
        return row | {"epoch": epoch, "step": step, "rate_scope": "rank"}, gap, start is None

    def record(
        self, kind: str, match: re.Match[str], row: dict[str, Any], gap: int, first: bool, values: dict[str, float],
        line: Line,
    ) -> None:  # fmt: skip
        row |= {_COLUMNS[name]: values.pop(name) for name in _COLUMNS if name in values}
        if "peak_memory_bytes" in row:
            row["peak_memory_bytes"] *= 2**20
        steps: int | None = gap
        every = self.every or self.longest
        if kind == "ocr" and every and gap <= every + bool(first and match["old"]):
            row |= {column: row[column] * every / gap for column in ("step_s", "data_s") if column in row}
        elif kind == "ocr":  # resumed, or a record is missing
            row |= {"step_s": None, "data_s": None}
            steps = None
        elif kind == "det" and not (first and int(match["index"]) == 0):
            steps = self.longest or (None if first else gap)
        elif first:
            steps = 1 if kind == "det" else None
        row |= {"averaged_steps": steps, "value_kind": "instant" if steps == 1 else "interval_mean"}
        self.describe(row, line, whole=kind != "ocr" or steps == every)
        self.rows.put("steps", line.number, row)
        for name in ("avg_samples", "samples"):
            values.pop(name, None)
        memory = values.pop("max_mem_reserved", None)
        named: list[tuple[str, float, str | None]] = [(name, value, None) for name, value in values.items()]
        named += [("max_mem_reserved", memory * 2**20, "bytes")] if memory is not None else []
        self.rows.metrics(line.number, line.rank, line.location, row["step"], named)

    def describe(self, row: dict[str, Any], line: Line, whole: bool) -> None:
        """What follows from a record for the run; only where it is of whole batches for the batch."""
        rows, params = self.rows, self.rows.params
        rows.param("framework", "paddlepaddle", line.number, origin="inferred")
        size = row.get("samples_per_s", 0.0) * (row.get("step_s") or 0.0)
        if whole and "micro_batch_size" not in params and 0.5 < size < 1e6 and abs(size - round(size)) < 0.005 * size:
            rows.param("micro_batch_size", round(size), line.number, origin="inferred")
            if "devices" in params:
                rows.param("global_batch_size", round(size) * params["devices"], line.number, origin="inferred")
        row["samples"] = params.get("global_batch_size")


def _logged_at(text: str) -> datetime | None:
    """The time of a record, where its date has a year."""
    match = _STAMP.search(text)
    return iso_time("-".join(match.groups()[:3]) + " " + match[4]) if match else None
