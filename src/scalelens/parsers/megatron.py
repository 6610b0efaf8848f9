"""Megatron-LM interval record, in all members of the family.

Tool: Megatron-LM, Megatron-DeepSpeed (bigscience, Microsoft), GPT-NeoX, Primus, FZJ's jubench and CARAML
Versions: v1.0 to core 0.19
Yields: steps, metrics
Source: megatron/training/training.py, training_log(); v1.0 and v2: megatron/training.py

One line per `log_interval`, printed by the last rank (v1.0 and NeoX: rank 0).  Fields come in any order.
From core 0.16 (time stamps with microseconds) the first iteration is printed without a reset of the interval's
timer, so that the second record is a mean that holds the first iteration too: `averaged_steps` counts it.

Samples:
     iteration       20/    1000 | consumed samples:           80 | elapsed time per iteration (ms): 1354.9 | learning rate: 3.750E-05 | global batch size:     4 | lm loss: 1.203115E+01 | loss scale: 32768.0 | number of skipped iterations:   8 | number of nan iterations:   0 |
     iteration      100/    1000 | elapsed time per iteration (ms): 512.5 | learning rate: 1.500E-04 | lm loss: 7.123456E+00 | loss scale: 16384.0 |
     [2026-01-02 03:04:05.678901] iteration        2/      50 | consumed samples:           64 | elapsed time per iteration (ms): 1790.4 | throughput per GPU (TFLOP/s/GPU): 82.6 | learning rate: 1.800000E-05 | global batch size:    32 | lm loss: 1.1E+01 | number of nan iterations:   0 |
     iteration        2/  143066 | consumed tokens:      4194304 | elapsed time per iteration (s): 56.31 | global batch size:  1024 | lm-loss: 6.0E+01 | number of nan iterations:   0 | samples per second: 18.184 | TFLOPs: 51.58 |
     samples/sec: 36.917 | iteration       10/   11000 | elapsed time per iteration (ms): 1950.3 | approx flops per GPU: 59.4TFLOPS | lm_loss: 1.1E+01 | number of nan iterations:   0 |
"""

import re
from datetime import datetime
from typing import Any

from scalelens.lines import Line
from scalelens.rows import Rows

VERSION = 1
ANCHORS = ("iteration ",)

RECORD = re.compile(r"iteration\s+(\d+)\s*/\s*(\d+|infinity)\s*\|")
STAMP = re.compile(r"\[(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?)\]\s*$")
CUT = re.compile(r"^\s*(?:\[[\d :.-]+\] )?iteration\s{3,}\d+(?:\s*/\s*\d*\s*)?$")
NUMBER = re.compile(r"[-+]?(?:\d[\d,]*\.?\d*(?:[eE][-+]?\d+)?|nan|inf)", re.IGNORECASE)
FIRST_FIELDS = ("consumed samples:", "elapsed time per iteration (")
SCALE = {"K": 1e-9, "M": 1e-6, "G": 1e-3, "T": 1.0, "P": 1e3}
BEHIND_LAST = re.compile(r"\s*(?:samples|tokens|TFLOPs|Tokens|hip|rocm|rank-\d)")  # fields of forks, behind the nan counter
LAST_UNCLOSED = re.compile(r"usage_ratio:\s*[\d./GMKB]+%\s*$")  # Primus does not close its last field

COLUMNS = {
    "learning rate": "learning_rate", "global batch size": "samples", "lm loss": "loss", "lm-loss": "loss", "lm_loss": "loss",
    "grad norm": "grad_norm", "number of skipped iterations": "skipped_steps", "number of nan iterations": "nan_steps",
    "throughput per gpu (tflop/s/gpu)": "tflops_per_device", "tflops": "tflops_per_device",
    "samples per second": "samples_per_s", "samples/sec": "samples_per_s",
    "energy per gpu (j/iter/gpu)": "energy_j", "power per gpu (w/gpu)": "power_w",
}  # fmt: skip
WHOLE = ("skipped_steps", "nan_steps")
UNITS = {"tokens": "tokens/s", "samples": "samples", "norm": None, "seqlen": "tokens"}


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.part = -1
        self.last: dict[int | str | None, int] = {}  # last step by who printed it
        self.recent: dict[tuple[int, str], int] = {}  # records of the last lines, to know one that is printed twice
        self.first: dict[str, Any] | None = None  # first record of an attempt, until its interval is known
        self.first_step: int | None = None

    def take(self, line: Line) -> bool:
        starts = list(RECORD.finditer(line.text))
        if not starts:
            if CUT.match(line.text):
                self.rows.problem(line.number, "the record is cut before its first value", line.text)
                return True
            return False
        taken = False
        for start, end in zip(starts, [*(s.start() for s in starts[1:]), len(line.text)], strict=True):
            taken |= self.record(line, start, line.text[start.end() : end])
        return taken

    def record(self, line: Line, start: re.Match[str], text: str) -> bool:
        """One record: the text behind `iteration N/ M |`, and what stands before it."""
        *fields, rest = text.split("|")
        if "elapsed time per iteration (" not in text:
            first = (fields[0] if fields else rest).strip()
            if not first.startswith(FIRST_FIELDS) and not any(known.startswith(first) for known in FIRST_FIELDS):
                return False  # another tool's `iteration N/M |`, such as NeMo 2's
            self.rows.problem(line.number, "the record is cut before its time", line.text)
            return True
        before = line.text[: start.start()]
        leading = before.rsplit("|", 1)[0].split("|") if before.rstrip().endswith("|") else []  # NeoX: samples/sec comes first
        closing = next((k for k, field in enumerate(fields) if "number of nan iterations:" in field), None)
        whole = not rest.strip() or (closing is not None and not BEHIND_LAST.match(rest))
        if LAST_UNCLOSED.search(rest):
            fields.append(rest)
            whole = True
        if closing is not None:  # another rank's line may follow without a line break
            fields[closing + 1 :] = [field for field in fields[closing + 1 :] if BEHIND_LAST.match(field)]
        row, metrics = self.values(line, leading + fields)
        if not whole:
            self.rows.problem(line.number, "the record is cut, or something else was printed into it", line.text)
        if "step_s" not in row:
            if whole:
                self.rows.problem(line.number, "the record has no time that can be read", line.text)
            return True
        self.add(line, int(start[1]), start[2], STAMP.search(before), row, metrics)
        return True

    def values(self, line: Line, fields: list[str]) -> tuple[dict[str, Any], list[tuple[str, float, str | None]]]:
        """Fields as columns of `steps`, and those without a column of their own as name, value, unit."""
        row: dict[str, Any] = {}
        metrics: list[tuple[str, float, str | None]] = []
        for field in fields:
            key, colon, value = field.rpartition(":")
            if not colon:  # 2019: `learning rate 1.5E-04`, without a colon
                key, _, value = field.strip().rpartition(" ")
            key = key.strip()
            found = NUMBER.match(value.strip())
            if not found:
                if field.strip():
                    self.rows.problem(line.number, f"the field '{key or field.strip()}' holds no number", field)
                continue
            number = float(found[0].replace(",", ""))  # `current/average` of Primus: the current one
            name = key.lower()
            if name.startswith("elapsed time per iteration"):
                row["step_s"] = number if name.endswith("(s)") else number / 1000
            elif name == "approx flops per gpu":
                row["tflops_per_device"] = number * SCALE.get(value.strip()[found.end() : found.end() + 1], 1e-12)
            elif column := COLUMNS.get(name):
                row[column] = (int(number) if number == number else None) if column in WHOLE else number
            else:
                metrics.append((key, number, next((unit for word, unit in UNITS.items() if word in name), None)))
        return row, metrics

    def add(
        self, line: Line, step: int, of: str, stamp: re.Match[str] | None, row: dict[str, Any],
        metrics: list[tuple[str, float, str | None]],
    ) -> None:  # fmt: skip
        rows = self.rows
        if self.part != rows.part:
            self.part, self.last, self.first, self.first_step = rows.part, {}, None, None
        rank, place = whose(line, rows.params.get("devices"))
        copy = (step, f"{row['step_s']} {row.get('loss')}")
        if line.number - self.recent.get(copy, -100) < 50 and self.last.get(rank) == step:
            return  # Primus prints each record twice
        self.recent = {copy: line.number, **{k: n for k, n in self.recent.items() if line.number - n < 50}}
        previous = self.last.get(rank)
        if previous is not None and step <= previous:
            rows.attempt += 1
            self.last, previous, self.first = {}, None, None
        self.last[rank] = step
        if stamp:
            row["ts"], row["ts_origin"] = datetime.fromisoformat(stamp[1]), "naive"
        timer_kept = bool(stamp and "." in stamp[1])
        if previous is not None:
            averaged = step - previous + (timer_kept and previous == self.first_step)
        else:
            self.first_step = step
            averaged = 1 if timer_kept else whole_number(rows.params.get("log_interval"))
        sequence = next((value for name, value, _ in metrics if name.endswith("seqlen")), rows.params.get("seq_length"))
        if "samples" not in row and (batch := rows.params.get("global_batch_size")):
            row["samples"] = float(batch)
        if "samples" in row and sequence:
            row["tokens"] = row["samples"] * float(sequence)
        row.update(averaged_steps=averaged, value_kind=kind(averaged), rate_scope="global", rank=rank, place=place)
        rows.add("steps", line.number, phase="train", step=step, attempt=rows.attempt, **row)
        self.settle(rows, step, averaged)
        for name, value, unit in metrics:
            rows.metric(line.number, rank, place, step, name, value, unit)
        rows.step, rows.steps_line = step, line.number
        if previous is None:
            self.facts(line, row, metrics)
        if of == str(step):
            rows.param("outcome", "completed", line.number, origin="inferred")

    def settle(self, rows: Rows, step: int, averaged: int | None) -> None:
        """Gives the first record of an attempt the interval that the second one shows."""
        if averaged is None:
            self.first = rows.latest("steps")
        elif self.first is not None:
            self.first.update(averaged_steps=averaged, value_kind=kind(averaged))
            self.first = None

    def facts(self, line: Line, row: dict[str, Any], metrics: list[tuple[str, float, str | None]]) -> None:
        names = {name for name, _, _ in metrics}
        if any(name.startswith(("hip mem", "rocm mem")) for name in names):
            framework = "primus"
        elif "approx flops per GPU" in line.text or "lm_loss:" in line.text:
            framework = "gpt-neox"
        elif "consumed tokens" in names or "lm-loss:" in line.text or self.rows.params.get("deepspeed") == "True":
            framework = "megatron-deepspeed"
        else:
            framework = "megatron-lm"
        self.rows.param("framework", framework, line.number)
        if "samples" in row:
            self.rows.param("global_batch_size", int(row["samples"]), line.number)


def whose(line: Line, devices: Any) -> tuple[int | None, str | None]:
    """Rank of a record.  A label of `srun -l` is one only where it names the last rank, which prints; else a node's."""
    if line.rank is not None and devices is not None and line.rank != int(devices) - 1:
        return None, str(line.rank)
    return line.rank, line.place


def kind(averaged: int | None) -> str:
    return "instant" if averaged == 1 else "interval_mean"


def whole_number(value: Any) -> int | None:
    return int(value) if str(value).isdigit() else None
