"""NeMo AutoModel's record of a step.

Tool: NVIDIA NeMo AutoModel, its recipes of pretraining and fine-tuning
Versions: 0.1 and later
Yields: steps, metrics, params
Source: nemo_automodel/recipes/llm/train_ft.py, log_train_metrics() and log_val_metrics()

`tps` is the tokens of a step, padding left out, over the time since the step before: of the job, and in brackets of one
device, whose ratio is the number of devices.  The tokens are not said (num_label_tokens counts fewer), so that no time
of a step follows.  mem is the largest allocated since the step before, on the rank that prints.

Samples:
    2026-05-06 07:08:09 | INFO | root | step 10 | epoch 0 | loss 2.5000 | grad_norm 1.2500 | lr 1.00e-05 | mem 20.50 GiB | tps 12345.60(1543.20/gpu) | num_label_tokens 12000
    [val] name "default" | step 10 | epoch 0 | loss 2.6250 | lr 1.00e-05 | num_label_tokens 4000
"""

from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.values import iso_time

VERSION = 3
ANCHORS = (" | epoch ",)

_N = r"-?(?:\d+(?:\.\d*)?(?:e[-+]?\d+)?|nan|inf)"
_HEAD = re.compile(
    r"(?:^|[|:] ?)\s*(?:(\[val\])(?: name \"[^\"]*\" \|)? )?step (\d{1,15}) \| epoch (\d{1,9}) \| (?=loss )"
)
_FIELD = re.compile(rf"([A-Za-z]\w*) ({_N})(?: (GiB)|\(({_N})/gpu\))?(?: \| |\Z)")
_STAMP = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) \| ")
_COLUMNS = {"loss": "loss", "grad_norm": "grad_norm", "lr": "learning_rate", "accuracy": "accuracy"}


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def take(self, line: Line) -> bool:
        text = line.text.rstrip()
        head = _HEAD.search(text)
        if not head:
            return False
        values, each, end = dict[str, float](), None, head.end()
        while field := _FIELD.match(text, end):
            values[field[1]] = float(field[2]) * (2**30 if field[3] else 1)
            each, end = (float(field[4]), field.end()) if field[4] else (each, field.end())
        if ("num_label_tokens" if head[1] else "tps") not in values or (
            end < len(text) and not re.match(r"mode \w+\Z", text[end:])
        ):
            self.rows.problem(line.number, "the record is cut, or something else was printed into it", line.text)
            return True
        self.record(head, values, each, line)
        return True

    def record(self, head: re.Match[str], values: dict[str, float], each: float | None, line: Line) -> None:
        rows, step = self.rows, int(head[2])
        stamp = _STAMP.search(line.text)
        ts = iso_time(stamp[1]) if stamp else None
        attempt = rows.attempt
        if not head[1]:
            attempt = rows.attempt_of(line.number, step, line.rank, line.location, ts).attempt
        rows.param("framework", "nemo", line.number)
        rate = values.get("tps")
        if rate and each and abs(rate / each - round(rate / each)) < 0.01 * rate / each:
            rows.param("devices", round(rate / each), line.number, origin="inferred")
        row: dict[str, Any] = {"attempt": attempt, "rank": line.rank, "place": line.location, "step": step}
        row |= {"phase": "validation" if head[1] else "train", "epoch": int(head[3])}
        row |= {_COLUMNS[name]: values.pop(name) for name in _COLUMNS if name in values}
        row["peak_memory_bytes"] = values.pop("mem", None)
        if ts:
            row |= {"ts": ts, "ts_origin": "naive"}
        rows.put("steps", line.number, row)
        named = [(name, value, "tokens/s" if name == "tps" else None) for name, value in values.items()]
        named += [("tps_per_gpu", each, "tokens/s/device")] if each is not None else []
        rows.metrics(line.number, line.rank, line.location, step, named)
