"""Progress lines of Swin Transformer, and of what was made from its main.py.

Tool: microsoft/Swin-Transformer main.py; VMamba, CSWin, FocalNet, InternImage and other forks
Versions: 2021 to 2025
Yields: params, steps, phases, metrics
Source: Swin-Transformer/main.py, train_one_epoch(); logger.py, create_logger()

The first number of a pair is of the batch printed last, the device awaited before the clock is read; the mean since the
epoch's start, in brackets, is left out.  Batches count from 0.  Lines of validation are those of pytorch/examples, and
read as such.

Samples:
    [2024-05-06 07:08:09 swin_tiny_patch4_window7_224] (main.py 226): INFO Train: [14/300][250/1251]	eta 0:10:52 lr 0.000625	time 0.5125 (0.5250)	loss 6.1250 (6.2500)	grad_norm 3.1250 (4.5000)	mem 14750MB
    [2026-05-06 07:18:19 hybrid_tiny] (main.py 301): INFO Train: [12/90][340/2502]	eta 1 day, 2:12:09 lr 0.000625	 wd 0.0250	time 0.3125 (0.3750)	data time 0.0025 (0.0125)	loss 1.8750 (2.0000)	loss_scale 32768.0000 (32768.0000)	mem 16125MB
    [2024-05-06 07:21:20 vssm_tiny] (main.py 240): INFO EPOCH 14 training takes 0:13:28
"""

from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.values import clock_span, iso_time

VERSION = 3
ANCHORS = ("INFO Train: [", "INFO EPOCH ")

_HEAD = re.compile(r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) ([^\]\s]+)\] .{0,200}?INFO ")
_RECORD = re.compile(r"Train: \[(\d{1,9})/\d{1,9}\]\[(\d{1,9})/(\d{1,9})\]\s+eta (?:\d+ days?, )?[\d:]+ ")
_SPAN = re.compile(r"EPOCH (\d{1,9}) training takes ((?:\d{1,6} days?, )?\d{1,4}:\d\d:\d\d)\b")
_FIELD = re.compile(r"\s*([a-z][a-z _]*?) (-?(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|inf)|nan)(?: \(\S+\)|MB)?(?=\s|\Z)")
_COLUMNS = {
    "time": "step_s", "data time": "data_s", "loss": "loss", "tot_loss": "loss", "lr": "learning_rate",
    "grad_norm": "grad_norm",
}  # fmt: skip


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.at: dict[tuple[int | None, str | None], tuple[int, int, int]] = {}  # epoch, batch, restarts

    def take(self, line: Line) -> bool:
        head = _HEAD.search(line.text)
        if not head:
            return False
        stamp: dict[str, Any] = {"ts": time, "ts_origin": "naive"} if (time := iso_time(head[1])) else {}
        if record := _RECORD.match(line.text, head.end()):
            self.rows.param("model", head[2], line.number, origin="inferred")
            return self.record(record, stamp, line)
        if not (span := _SPAN.match(line.text, head.end())):
            return False
        *_, attempt = self.at.get((line.rank, line.location), (0, 0, 0))
        self.rows.add(
            "phases", line.number, attempt=attempt, rank=line.rank, place=line.location, phase="train", epoch=int(span[1]),
            step=self.rows.step, span_s=clock_span(span[2]), origin="logged", **stamp,
        )  # fmt: skip
        return True

    def record(self, record: re.Match[str], stamp: dict[str, Any], line: Line) -> bool:
        values, end = dict[str, float](), record.end()
        while field := _FIELD.match(line.text, end):
            values[field[1]], end = float(field[2]), field.end()
        if end < len(line.text.rstrip()) or not {"time", "mem"} <= values.keys():  # mem comes last
            self.rows.problem(line.number, "the record is cut, or something else was printed into it", line.text)
            return True
        epoch, index, total = (int(number) for number in record.groups())
        attempt = self.rows.attempt_of(
            line.number, epoch * total + index, line.rank, line.location, stamp.get("ts"), values.get("time")
        ).attempt
        self.at[line.rank, line.location] = epoch, index, attempt
        row: dict[str, Any] = {"attempt": attempt, "rank": line.rank, "place": line.location, "phase": "train"}
        row |= {"epoch": epoch, "step": epoch * total + index, "averaged_steps": 1, "value_kind": "instant"}
        row |= {_COLUMNS[name]: values.pop(name) for name in _COLUMNS if name in values}
        row["peak_memory_bytes"] = values.pop("mem") * 2**20
        self.rows.param("framework", "pytorch", line.number, origin="inferred")
        self.rows.param("iterations_per_epoch", total, line.number)
        self.rows.attempt = max(self.rows.attempt, attempt)
        self.rows.put("steps", line.number, row | stamp)
        others = [(name, value, "s" if name.endswith(" time") else None) for name, value in values.items()]
        self.rows.metrics(line.number, line.rank, line.location, row["step"], others)
        return True
