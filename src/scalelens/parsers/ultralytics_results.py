"""Ultralytics' results.csv: a row for each epoch.

Tool: ultralytics (yolo train), YOLOv5 train.py
Versions: YOLOv5 6 and 7; ultralytics 8
Yields: steps, phases, metrics
Source: ultralytics/engine/trainer.py, save_metrics()

`time` is in seconds since the first epoch of this launch began: what it grows by are the times of epochs, with their
validation.
YOLOv5 and ultralytics before 8.3 have none.  Losses and accuracies are metrics under the names of the columns.  Epochs
count as the table counts them, from 1, in YOLOv5 from 0.

Samples:
    epoch,time,train/box_loss,train/cls_loss,metrics/mAP50(B),val/box_loss,lr/pg0
    1,35.125,1.0625,2.3125,0.1125,0.7875,0.00325
"""

from scalelens import tabular
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.tabular.cells import csv_header, csv_records

VERSION = 3
IN_HEAD = (b"metrics/",)

_PARTS = ("train/", "metrics/", "val/")


def recognise(head: bytes, name: str) -> bool:
    names = csv_header(head)
    return names[:1] == ("epoch",) and all(any(column.startswith(part) for column in names) for part in _PARTS)


def read(source: Source, rows: Rows) -> None:
    first = next(csv_records(source), None)
    timed = {"elapsed": "time:s"} if first and "time" in first.cells else {}
    tabular.read_as(source, rows, {"epoch": "epoch"} | timed, from_zero=True)
