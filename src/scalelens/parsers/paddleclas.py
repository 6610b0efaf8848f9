"""Progress lines of PaddleClas.

Tool: PaddleClas, ppcls/static/train.py and tools/train.py; the launcher paddle.distributed.launch
Versions: 2.2 to 2.6
Yields: params, steps, metrics
Source: PaddleClas/ppcls/static/program.py, run(); ppcls/engine/train/utils.py, log_info(); ppcls/utils/misc.py, AverageMeter

`batch_cost` and `reader_cost` are running means since the fifth batch of the epoch (before it: since the first); sums in
an END line leave the first four batches out, too.  `ips` is the batch of one device over that mean: a rate per rank.
The batch per device is their product, taken (origin `inferred`) where that is a whole number.  A negative accuracy is
a defect of the tool: a metric.  Iterations of the static graph count from 1 in each epoch, the others from 0.
Evaluations are timed in the same way; an [Eval] line counts epochs from 1, and 0 where nothing was trained.

Samples:
    [2024/05/06 07:08:09] ppcls INFO: epoch:0   train step:20   lr: 0.100000, loss:  7.2675 top1:  0.0010 top5: -0.0039 batch_cost: 0.25600 s, reader_cost: 0.01195 s, ips: 1000.00000 samples/sec.
    [2024/05/06 07:08:39] ppcls INFO: END epoch:0   train  loss:  6.3940 top1:  0.0158 top5: -0.0151 batch_cost: 0.44509 s, reader_cost: 0.14339 s, batch_cost_sum: 128.63109 s,
    [2024/05/06 07:08:09] ppcls INFO: [Train][Epoch 1/120][Iter: 10/5005]lr(LinearWarmup): 0.00100000, top1: 0.00100, top5: 0.00500, CELoss: 7.01234, loss: 7.01234, batch_cost: 0.25600s, reader_cost: 0.00100, ips: 1000.00000 samples/s, eta: 1 day, 18:41:20
    [2024/05/06 07:38:09] ppcls INFO: [Eval][Epoch 1][Iter: 10/196]CELoss: 5.91234, loss: 5.91234, top1: 0.04297, top5: 0.13281, batch_cost: 0.32000s, reader_cost: 0.20000, ips: 800.00000 images/sec
    [2024/05/06 07:39:09] ppcls INFO: [Eval][Epoch 1][Avg]CELoss: 5.71234, loss: 5.71234, top1: 0.05123, top5: 0.15123
    [2024/05/06 07:39:09] ppcls INFO: [Eval][Epoch 1][best metric: 0.05123]
    [2024/05/06 07:08:01] ppcls INFO:     name : ResNet50
    LAUNCH INFO 2024-05-06 07:07:55,881 devices: 0,1,2,3
"""

from datetime import datetime
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.values import iso_time

VERSION = 2
ANCHORS = ("ppcls INFO:", "LAUNCH INFO ")

_N = r"(?:-?\d+(?:\.\d*)?(?:e[-+]?\d+)?|nan|inf)"
_STAMP = re.compile(r"\[(\d{4})/(\d\d)/(\d\d) (\d\d:\d\d:\d\d)\] ppcls INFO:")
_STATIC = re.compile(r" (END )?epoch:(\d{1,9}) +train(?: step:(\d{1,9}))? ")
_DYNAMIC = re.compile(r" \[Train\]\[Epoch (\d{1,9})/\d+\]\[Iter: *(\d{1,9})/(\d{1,9})\]")
_EVALUATION = re.compile(
    rf" \[Eval\]\[Epoch (\d{{1,9}})\](?:\[(?:Iter: *(\d{{1,9}})/\d{{1,9}}|Avg|(best metric: {_N}))\])"
)
_FIELD = re.compile(rf"(?<!\w)(?!eta:)([A-Za-z]\w*)(?:\(\w+\))?: +({_N})(?= |,|s\b|\Z)")
_WHOLE = re.compile(r"ips: \d+\.\d+ (?:samples|images)/s|batch_cost_sum: \d+\.\d+ s")
_SECTION = re.compile(r" (\w+) : *\Z")
_FACT = re.compile(r"     (name|use_amp|epochs) : (\S+)\Z")
_LAUNCH = re.compile(r"LAUNCH INFO \S+ \S+ (devices: \d+(?:,\d+)*|nnodes: \d{1,6})\Z")
_WARM_UP = 4  # batches that the means leave out
_COLUMNS = {
    "lr": "learning_rate",
    "loss": "loss",
    "batch_cost": "step_s",
    "reader_cost": "data_s",
    "ips": "samples_per_s",
}


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.section = ""
        self.last = 0
        self.at: dict[tuple[int | None, str | None], tuple[int, int, int]] = {}  # epoch, iteration, restarts
        self.bases: dict[int, int] = {}  # steps before an epoch

    def take(self, line: Line) -> bool:
        if launch := _LAUNCH.search(line.text.rstrip()):
            return self.launched(launch, line)
        stamp = _STAMP.search(line.text)
        if not stamp:
            return False
        text, ts = line.text[stamp.end() :].rstrip(), iso_time("-".join(stamp.groups()[:3]) + " " + stamp[4])
        end = None
        if match := _STATIC.match(text):
            epoch, index, total, end = int(match[2]), int(match[3] or 0), None, match[1]
            batches = index - _WARM_UP if index > _WARM_UP else index
        elif match := _DYNAMIC.match(text):
            epoch, index, total = int(match[1]) - 1, int(match[2]), int(match[3])
            batches = index + 1 - _WARM_UP - 1 if index > _WARM_UP else index + 1
        elif match := _EVALUATION.match(text):
            return self.evaluation(match, text, ts, line)
        else:
            return self.fact(text, line)
        if not _WHOLE.search(text) or not (index or total or end):
            self.rows.problem(line.number, "the record is cut, or something else was printed into it", line.text)
            return True
        values = {field[1]: float(field[2]) for field in _FIELD.finditer(text, match.end())}
        values |= {"lr": float(rate[1])} if (rate := re.match(rf"lr\(\w+\): ({_N})", text[match.end() :])) else {}
        if end:
            units = {"batch_cost": "s", "reader_cost": "s", "batch_cost_sum": "s"}
            means = [(f"END {name}", value, units.get(name)) for name, value in values.items()]
            self.rows.metrics(line.number, line.rank, line.location, self.rows.step, means, "mean")
            return True
        self.record((epoch, index, total), max(batches, 1), values, ts, line)
        return True

    def launched(self, launch: re.Match[str], line: Line) -> bool:
        """A line of the launcher: the nodes, or the devices of one."""
        key, _, value = launch[1].partition(": ")
        if key == "nnodes":
            self.rows.param("nodes", int(value), line.number)
        else:
            self.rows.param("devices_per_node", value.count(",") + 1, line.number)
        nodes, each = (self.rows.params.get(fact) for fact in ("nodes", "devices_per_node"))
        self.rows.param("devices", int(nodes) * int(each) if nodes and each else None, line.number)
        return True

    def record(
        self, at: tuple[int, int, int | None], batches: int, values: dict[str, float], ts: datetime | None, line: Line
    ) -> None:
        """A row of the training, at an epoch, an iteration and the iterations of the epoch; a mean over `batches`."""
        epoch, index, total = at
        row: dict[str, Any] = {"rank": line.rank, "place": line.location, "phase": "train", "epoch": epoch}
        cost = values.get("batch_cost")
        attempt = self.rows.attempt_of(line.number, (epoch, index), line.rank, line.location, ts, cost).attempt
        self.at[line.rank, line.location] = epoch, index, attempt
        row |= {"step": self.position(epoch, index, total), "attempt": attempt, "ts_origin": "naive"}
        row |= {"averaged_steps": batches, "value_kind": "running_mean", "rate_scope": "rank", "ts": ts}
        row |= {_COLUMNS[name]: values.pop(name) for name in _COLUMNS if name in values}
        if 0 <= values.get("top1", -1) <= 1:
            row["accuracy"] = values.pop("top1")
        self.describe(row, line)
        self.rows.put("steps", line.number, row)
        self.rows.metrics(line.number, line.rank, line.location, row["step"], [(k, v, None) for k, v in values.items()])

    def evaluation(self, match: re.Match[str], text: str, ts: datetime | None, line: Line) -> bool:
        values = {field[1]: float(field[2]) for field in _FIELD.finditer(text, match.end())}
        if match[3]:
            values = {"best metric": float(match[3].rpartition(" ")[2])}
        if match[2] is None:
            named = [(f"Eval {name}", value, None) for name, value in values.items()]
            self.rows.metrics(line.number, line.rank, line.location, self.rows.step, named, "mean")
            return bool(named)
        if not _WHOLE.search(text):
            self.rows.problem(line.number, "the record is cut, or something else was printed into it", line.text)
            return True
        epoch, index = int(match[1]), int(match[2])
        *_, attempt = self.at.get((line.rank, line.location), (-1, -1, 0))
        row: dict[str, Any] = {"rank": line.rank, "place": line.location, "attempt": attempt, "phase": "validation"}
        row |= {"epoch": epoch - 1 if epoch else None, "step": index, "value_kind": "running_mean"}
        row |= {"averaged_steps": index - _WARM_UP if index > _WARM_UP else index + 1, "rate_scope": "rank"}
        row |= {_COLUMNS[name]: values.pop(name) for name in _COLUMNS if name in values}
        row |= {"accuracy": values.pop("top1", None), "ts": ts, "ts_origin": "naive"}
        self.rows.put("steps", line.number, row)
        named = [(f"Eval {name}", value, None) for name, value in values.items()]
        self.rows.metrics(line.number, line.rank, line.location, self.rows.step, named)
        return True

    def fact(self, text: str, line: Line) -> bool:
        if section := _SECTION.match(text):
            self.section = section[1]
        match = _FACT.match(text)
        if match and (self.section, match[1]) in (("Arch", "name"), ("", "name")):
            self.rows.param("model", match[2], line.number)
        elif match and match[1] == "use_amp":
            self.rows.param("precision", "amp" if match[2] == "True" else "fp32", line.number)
        else:
            return False
        return True

    def position(self, epoch: int, index: int, total: int | None) -> int:
        if epoch not in self.bases:
            self.bases[epoch] = self.last if self.bases and total is None else epoch * (total or 0)
        self.last = self.bases[epoch] + index
        return self.last

    def describe(self, row: dict[str, Any], line: Line) -> None:
        """What follows from a record for the run."""
        rows, params = self.rows, self.rows.params
        rows.param("framework", "paddlepaddle", line.number, origin="inferred")
        rows.attempt = max(rows.attempt, row["attempt"])
        size = row.get("samples_per_s", 0.0) * row.get("step_s", 0.0)
        if "micro_batch_size" not in params and 0.5 < size < 1e6 and abs(size - round(size)) < 0.01 + 1e-4 * size:
            rows.param("micro_batch_size", round(size), line.number, origin="inferred")
            if "devices" in params:
                rows.param("global_batch_size", round(size) * params["devices"], line.number, origin="inferred")
        row["samples"] = params.get("global_batch_size")
