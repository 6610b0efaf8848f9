"""Ultralytics' line of an epoch, YOLOv5 to YOLO11.

Tool: ultralytics (yolo train), YOLOv5 train.py and forks
Versions: YOLOv5 6 and 7; ultralytics 8
Yields: params, steps, phases, metrics
Source: ultralytics/engine/trainer.py, _do_train(); utils/tqdm.py; yolov5/train.py, train()

A bar that came to its end gives the mean of the epoch's steps, from its rate or, where it has none, from its time, in
whole seconds.  YOLOv5, which says `obj`, counts epochs from 0, the others from 1: here all begin at 0.  Losses are
means since the epoch began, under the names of the header; their sum is not printed.  GPU_mem is what is reserved, a
metric in GB.  Bars of validation name no epoch and are left.  `batch` is of the whole job.

Samples:
      Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size
          70/1000      6.75G      1.125     0.4375      1.25         10        640: 100%|██████████| 16/16 [00:05<00:00,  2.75it/s]
          0/1      22.5G    0.07125    0.08375    0.06125        199        640: 100%|██████████| 1849/1849 13:15
        1/100      2.5G     1.0625      2.125     1.3125         20        640: 100% ━━━━━━━━━━━━ 16/16 2.5it/s 6.4s
        2/100      4.25G     1.0625      2.125     1.3125         12        640: 100% 16/16 [00:05<00:00,  2.75it/s]
    engine/trainer: task=detect, mode=train, model=yolov8m.pt, data=coco.yaml, epochs=3, batch=16, imgsz=640
"""

from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 2
ANCHORS = (": 100%", "Epoch    GPU_mem", "Epoch   gpu_mem", "trainer: ")

_SETTINGS = re.compile(r"\s*engine[/\\]trainer: .*?\bmodel=([^,\s]+)")
_BATCH = re.compile(r"[ ,]batch=(\d{1,7})(?=,|\s|\Z)")
_HEADER = re.compile(r"\s*Epoch +(?:GPU_mem|gpu_mem) +([\w /]+)\Z")
_RECORD = re.compile(
    r"\s*(\d{1,9})/\d{1,9} +(\d+(?:\.\d+)?)G((?: +(?:-?\d+(?:\.\d+)?(?:e[-+]?\d+)?|nan|inf))+): 100%(?:\|[^|]*\|| ━+)? *(\d{1,9})/\4 "
    r"(?:\[?((?:\d+:)?\d+:\d\d)(?:<00:00, +(?:(\d+\.\d+)(it/s|s/it)|\?it/s)\])?|(\d+\.\d+)(it/s|s/it) [\d.:hms ]+)\s*\Z"
)


class _Log:
    """State of the lines that have one label of the launcher."""

    def __init__(self) -> None:
        self.epoch: int | None = None
        self.attempt = 0
        self.held: tuple[int, dict[str, Any], float | None, list[tuple[str, float, str | None]]] | None = None


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.names: list[str] = []
        self.logs: dict[tuple[int | None, str | None], _Log] = {}

    def take(self, line: Line) -> bool:
        if header := _HEADER.match(line.text.rstrip()):
            self.names = header[1].split()
            return True
        if settings := _SETTINGS.match(line.text):
            self.rows.param("model", settings[1], line.number)
            batch = _BATCH.search(line.text)
            self.rows.param("global_batch_size", int(batch[1]) if batch else None, line.number)
            return True
        record = _RECORD.match(line.text)
        if not record:
            return False
        log = self.logs.setdefault((line.rank, line.location), _Log())
        epoch, total = int(record[1]) - ("obj" not in " ".join(self.names)), int(record[4])
        if log.epoch != epoch:
            self.release(log)
            log.attempt += log.epoch is not None and epoch < log.epoch
            log.epoch = epoch
        span_s = _seconds(record[5]) if record[5] else None
        rate, unit = float(record[6] or record[8] or 0), record[7] or record[9]
        step_s = rate if unit == "s/it" else 1 / rate if rate else span_s / total if span_s and total else None
        row: dict[str, Any] = {"attempt": log.attempt, "rank": line.rank, "place": line.location, "phase": "train"}
        row |= {"epoch": epoch, "samples": self.rows.params.get("global_batch_size")}
        row |= {"step": (epoch + 1) * total, "step_s": step_s, "averaged_steps": total, "value_kind": "epoch_mean"}
        losses = zip(self.names, record[3].split(), strict=False)
        means = [(name, float(text), None) for name, text in losses if text != "nan"]
        log.held = line.number, row, span_s, [("GPU_mem", float(record[2]), "GB"), *means]
        return True

    def finish(self) -> None:
        for log in self.logs.values():
            self.release(log)

    def release(self, log: _Log) -> None:
        """Hands over the last bar of an epoch: it is drawn more than once."""
        if not log.held:
            return
        number, row, span_s, metrics = log.held
        log.held = None
        self.rows.param("framework", "pytorch", number, origin="inferred")
        self.rows.param("iterations_per_epoch", row["averaged_steps"], number)
        self.rows.attempt = max(self.rows.attempt, row["attempt"])
        self.rows.put("steps", number, row)
        if span_s is not None:
            whose = {name: row[name] for name in ("attempt", "rank", "place", "phase", "epoch", "step")}
            self.rows.add("phases", number, **whose, span_s=span_s, origin="logged")
        self.rows.metrics(number, row["rank"], row["place"], row["step"], metrics)


def _seconds(clock: str) -> float:
    total = 0
    for part in clock.split(":"):
        total = total * 60 + int(part)
    return float(total)
