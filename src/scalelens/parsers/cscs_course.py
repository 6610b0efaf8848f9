"""Progress lines of the training script of ETH's and CSCS's course on large-scale language models.

Tool: the course's train.py, and what students made of it
Versions: 2025
Yields: params, steps, metrics
Source: train.py of the course, train() and its logging block

Tokens per second are those of one process and one device, over the steps since the line before; the first step is
printed whatever the interval, with its compilation.  With the batch and the sequence length of the arguments, which
are of one process, the time of a step follows.  TFLOP/s are of the script's own formula; forks divide them by the
devices, or add them up.  `Training tokens` are those that are not padding, a share of all.

Samples:
    2025-03-04 05:06:07,812 - root - INFO - Step: 230 | Loss: 7.29 | Tokens per second: 7789.90 | Training tokens per second (%): 13.66 | MFU (%): 40.60 | TFLOPs: 401.50
    Step: 1 | Loss: 11.94 | Tokens per second: 512.25 | Training tokens per second (%): 21.50 | MFU (%): 2.67 | TFLOPs: 26.40 | VRAM peak: 70.25 GB
    2025-03-04 05:05:01,101 - root - INFO - Experiment args: Namespace(dataset='/data/train.parquet', sequence_length=4096, batch_size=1, learning_rate=5e-05)
"""

from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.values import iso_time

VERSION = 3
ANCHORS = ("Tokens per second: ", "Experiment args: Namespace(")

_RECORD = re.compile(r"(?:^|- )Step: (\d{1,15}) \| Loss: (-?\d+(?:\.\d*)?|nan|inf) \| Tokens per second: ")
_FIELD = re.compile(r"\s*([A-Z][\w /%()-]*): (-?\d+(?:\.\d*)?|nan|inf)(?: (GB))?\s*(?:\||\Z)")
_STAMP = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}) - ")
_ARGUMENT = re.compile(r"\b(sequence_length|batch_size)=(\d{1,9})\b")
_FACTS = {"sequence_length": "seq_length", "batch_size": "micro_batch_size"}


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def take(self, line: Line) -> bool:
        if match := _RECORD.search(line.text):
            self.record(match, line)
            return True
        if "Experiment args: Namespace(" not in line.text:
            return False
        arguments = _ARGUMENT.findall(line.text.partition("Experiment args: ")[2])
        for name, value in arguments:
            self.rows.param(_FACTS[name], int(value), line.number)
        return bool(arguments)

    def record(self, match: re.Match[str], line: Line) -> None:
        values: dict[str, float] = {}
        text, end = line.text, match.end() - len("Tokens per second: ")
        while field := _FIELD.match(text, end):
            values[field[1]] = float(field[2]) * (2**30 if field[3] else 1)
            end = field.end()
        if end < len(text.rstrip()) or "TFLOPs" not in values or not re.search(r"\.\d\d(?: GB)?\s*+\|?\s*+\Z", text):
            self.rows.problem(line.number, "the record is cut, or something else was printed into it", text)
            return
        rows, step = self.rows, int(match[1])
        stamp = _STAMP.search(text)
        ts = iso_time(stamp[1]) if stamp else None
        attempt, _, last, _ = rows.attempt_of(line.number, step, line.rank, line.location, ts)
        steps = step - (last or 0) if last or step == 1 else None  # a resumed run does not print its first step
        size, length = (rows.params.get(fact) for fact in _FACTS.values())
        speed = values["Tokens per second"]
        row: dict[str, Any] = {"rank": line.rank, "place": line.location, "attempt": attempt, "phase": "train"}
        row |= {"step": step, "averaged_steps": steps, "value_kind": "instant" if steps == 1 else "interval_mean"}
        row |= {"nan_steps": 1} if match[2] == "nan" else {"loss": float(match[2])}
        row |= {"tflops_per_device": values.pop("TFLOPs"), "rate_scope": "rank"}
        row |= {"step_s": size * length / speed if size and length and speed > 0 else None}
        row |= {"peak_memory_bytes": values.pop("VRAM peak", None)}
        if ts:
            row |= {"ts": ts, "ts_origin": "naive"}
        rows.param("framework", "pytorch", line.number, origin="inferred")
        rows.put("steps", line.number, row)
        units = {"Tokens per second": "tokens/s/device"}
        named = [(name, value, "%" if name.endswith("(%)") else units.get(name)) for name, value in values.items()]
        rows.metrics(line.number, line.rank, line.location, step, named)
