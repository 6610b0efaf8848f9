"""Training scripts of Gluon: Horovod's examples for MXNet, gluon-cv.

Tool: horovod/examples/mxnet, gluon-cv/scripts/classification
Versions: MXNet 1.3 to 1.9
Yields: params, steps, phases, metrics
Source: gluon-cv/scripts/classification/imagenet/train_horovod.py, train_imagenet.py; horovod/examples/mxnet/mxnet_imagenet_resnet50.py

Rank 0 prints, and its rates are those of all workers: between two records, and of an epoch.  The time of an epoch over
its batches is the mean of its steps, and with its rate gives the batch of the job.  gluon-cv without Horovod says no
batches: a span and a rate.  Lines `Batch [50] Speed` with a blank are MXNet's Speedometer.

Samples:
    INFO:root:Epoch[0] Batch[50]	Speed: 1250.00 samples/sec
    INFO:root:Epoch[0] Rank[0] Batch[50]	accuracy=0.012500	lr=0.100000
    INFO:root:Epoch[0] Rank[0] Batch[625]	Time cost=128.00	Train-metric=0.025000
    INFO:root:Epoch[0]	Speed: 1250.00 samples/sec
    INFO:root:Epoch[0] Rank[0]	Validation-accuracy=0.125000	Validation-top_k_accuracy_5=0.250000
    INFO:root:[Epoch 0] speed: 1250 samples/sec	time cost: 128.500000
    INFO:root:[Epoch 0] training: accuracy=0.025000
    INFO:root:[Epoch 0] validation: err-top1=0.875000 err-top5=0.625000
"""

from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 2
ANCHORS = ("] Batch[", "]\tSpeed: ", "]\tValidation-", "] speed: ", "] training: ", "] validation: ")

_N = r"\d+(?:\.\d*)?(?:e[-+]?\d+)?"
_HEAD = re.compile(r"Epoch\[(\d{1,9})\](?: Rank\[(\d{1,9})\])?(?: Batch\[(\d{1,9})\])?(?: Loss\[-?[\d.]+\]\Z|\t(?=\S))")
_CV = re.compile(r"\[Epoch (\d{1,9})\] (speed: |training: |validation: )")
_SPEED = re.compile(rf"[Ss]peed: ({_N}) samples/sec(?:\ttime cost: ({_N}))?\Z")
_COST = re.compile(rf"Time cost=({_N})\tTrain-metric=({_N})\Z")
_VALUE = re.compile(rf"(?:^|[\t ])([A-Za-z][\w@-]*)=({_N}|nan|inf)(?=[\t ]|\Z)")


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.cost: tuple[int, int, float] | None = None  # of an epoch: its number, batches, seconds
        self.batches = 0  # of an epoch

    def take(self, line: Line) -> bool:
        text = line.text.rstrip()
        if head := _HEAD.search(text):
            epoch, rank, batch, text = int(head[1]), head[2], head[3], text[head.end() :]
        elif match := _CV.search(text):
            epoch, rank, batch, text = int(match[1]), None, None, text[match.start(2) :]
        else:
            return False
        label = line.rank if line.rank is not None or rank is None else int(rank), line.location
        rows, row = (
            self.rows,
            dict[str, Any](rank=label[0], place=line.location, epoch=epoch, attempt=self.rows.attempt),
        )
        if speed := _SPEED.match(text):
            self.speed(row, batch, float(speed[1]), float(speed[2]) if speed[2] else None, line)
        elif batch and (cost := _COST.match(text)):
            self.cost, self.batches = (epoch, int(batch), float(cost[1])), int(batch)
            step = (epoch + 1) * self.batches
            rows.put(
                "phases",
                line.number,
                row | {"phase": "epoch", "step": step, "span_s": float(cost[1]), "origin": "logged"},
            )
            rows.metric(line.number, *label, step, "Train-metric", float(cost[2]))
        elif values := _VALUE.findall(text):
            rows.metrics(line.number, *label, rows.step, [(name, float(value), None) for name, value in values])
        elif text:
            rows.problem(line.number, "the record is cut, or something else was printed into it", line.text)
        return True

    def speed(self, row: dict[str, Any], batch: str | None, rate: float, span_s: float | None, line: Line) -> None:
        rows, epoch = self.rows, row["epoch"]
        rows.param("framework", "mxnet", line.number, origin="inferred")
        if span_s is not None:
            row |= {"phase": "epoch", "span_s": span_s, "samples_per_s": rate, "origin": "logged"}
            rows.put("phases", line.number, row)
            return
        at = epoch, int(batch or 0)
        row |= {"phase": "train", "samples_per_s": rate, "rate_scope": "global"}
        if batch is not None:
            position = rows.attempt_of(line.number, at, row["rank"], line.location)
            before = position.before
            steps = at[1] - (before[1] if before and before[0] == epoch else 0)
            size = rows.params.get("global_batch_size")
            row |= {
                "step": epoch * self.batches + at[1],
                "averaged_steps": steps,
                "value_kind": "interval_mean",
                "attempt": position.attempt,
            }
            row |= {"samples": size, "step_s": size / rate if size and rate else None}
        elif self.cost and self.cost[0] == epoch:
            _, batches, seconds = self.cost
            size = round(rate * seconds / batches) or None
            rows.param("global_batch_size", size, line.number, origin="inferred")
            row |= {"step": (epoch + 1) * batches, "averaged_steps": batches, "value_kind": "epoch_mean"}
            row |= {"step_s": seconds / batches, "samples": size}
        rows.put("steps", line.number, row)
