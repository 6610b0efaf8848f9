"""nanochat's lines of a step, and those of build-nanogpt and the scripts made from it.

Tool: nanochat (base_train, mid_train, chat_sft), autoresearch; build-nanogpt
Versions: nanochat and autoresearch 2025 and 2026; build-nanogpt 2024, with bars or commas between the fields
Yields: steps, metrics, params
Source: nanochat/scripts/base_train.py, mid_train.py, chat_sft.py; build-nanogpt/train_gpt2.py

dt is the time of one step, with the device waited for.  tok/sec is tokens of all ranks by dt: their product is the tokens
of the step, where `Total batch size`, which counts tokens, is not printed.  Scripts made from build-nanogpt may count
those of one rank: there the product is tokens of the step only where it is `total desired batch size`.  nanochat of 2025
counts one micro-batch where a step accumulates several: the tokens of the step are then those of the batch.  The loss is
an exponential mean, mfu the tool's own.  Lines with a dt without a unit are left to
generic_lines.  One log often holds several scripts: one that names another batch, or counts steps otherwise,
is another run; the same settings again are another attempt.

Samples:
    step 00004/21400 (0.02%) | loss: 8.893647 | lrm: 1.00 | dt: 989.44ms | tok/sec: 529,882 | mfu: 74.13 | total time: 0.00m
    step 00129 (0.00%) | loss: 1.2500 | lrm: 1.00 | dt: 4.98ms | tok/sec: 25,697 | bf16_mfu: 1.25 | epoch: 1 pq: 3 rg: 12 | total time: 0.01m | eta: 2.5m
    step    12 | loss: 9.250000 | lr 1.2000e-05 | norm: 2.5000 | dt: 338.50ms | tok/sec: 1548857.50
    step 00309 (99.8%) | loss: 3.452771 | lrm: 0.00 | dt: 1014ms | tok/sec: 129,238 | mfu: 18.3% | epoch: 1 | remaining: 0s
    step 12, loss: 9.250000, dt: 338.50ms, tok/sec: 48402.50
    Step 00250 | Validation bpb: 0.9375
    Tokens / micro-batch / rank: 32 x 2048 = 65,536
    Total batch size 524,288 => gradient accumulation steps: 1
    2026-03-16 22:57:30,775 - nanochat.common - INFO - Distributed world size: 8
    Number of parameters: 560,988,160
    total desired batch size: 524288
    Peak memory usage: 31250.50MiB
"""

from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.units import UNITS

VERSION = 2
ANCHORS = (
    " tok/sec: ", " | Validation bpb: ", "Tokens / micro-batch / rank: ", "Total batch size ", "Distributed world size: ",
    "Peak memory usage: ", "Number of parameters: ",
    "total desired batch size: ",
)  # fmt: skip

_N = r"-?(?:(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d*)?(?:e[-+]?\d+)?|nan|inf)"
_RECORD = re.compile(r"step +(\d{1,15})(?:/(\d{1,15}))?(?: \([\d.]+%\))?(?: \||,) +(?=loss: )")
_SECONDS = {"ms": float(UNITS["ms"].factor), "m": float(UNITS["min"].factor)}
_FIELD = re.compile(rf"([A-Za-z][\w/ ]{{0,30}}?):? +({_N})(ms|m|s|%)?(?: *\|| +(?=\w+: )|, |\s*$) *")
_BEGUN = re.compile(r"step +\d+(?:/\d+)? \([\d.]+%\) \|")
_BPB = re.compile(rf"Step (\d{{1,15}}) \| Validation bpb: ({_N})\s*$")
_RANK = re.compile(r"Tokens / micro-batch / rank: (\d+) x (\d+) = [\d,]+\s*$")
_DESIRED = re.compile(r"total desired batch size: (\d+)\s*$")
_BATCH = re.compile(r"Total batch size ([\d,]+) => gradient accumulation steps: (\d+)\s*$")
_WORLD = re.compile(r"nanochat\.common - \w+ - Distributed world size: (\d+)\s*$")
_PARAMETERS = re.compile(r"Number of parameters: ([\d,]+)\s*$")
_PEAK = re.compile(r"Peak memory usage: (\d+\.\d+)MiB\s*$")
_COLUMNS = {"loss": "loss", "lr": "learning_rate", "norm": "grad_norm"}
_UNITS = {"tok/sec": "tokens/s", "total time": "s", "eta": "s", "remaining": "s", "mfu": "%", "bf16_mfu": "%"}
_AS_PRINTED = 0.01  # between the batch that is named and the tokens of a record


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.settings: dict[str, tuple[int, int]] = {}  # named since the last record: value and line, by key
        self.before: dict[str, int] = {}  # those of the records before
        self.total: bool | None = None  # whether they tell how many steps there are
        self.of_micro_batches: set[int] = set()  # parts whose rates count one micro-batch of each step

    def take(self, line: Line) -> bool:
        text, rows = line.text, self.rows
        if record := _RECORD.match(text):
            return self.record(line, record)
        if bpb := _BPB.match(text):
            rows.metric(line.number, line.rank, line.location, int(bpb[1]), "Validation bpb", _number(bpb[2]))
        elif batch := _RANK.match(text):
            self.settings |= {
                "micro_batch_size": (int(batch[1]), line.number),
                "seq_length": (int(batch[2]), line.number),
            }
        elif batch := _BATCH.match(text):
            self.settings["tokens_per_step"] = int(_number(batch[1])), line.number
            self.settings["gradient_accumulation_steps"] = int(batch[2]), line.number
        elif desired := _DESIRED.match(text):
            self.settings["tokens_per_step"] = int(desired[1]), line.number
        elif world := _WORLD.search(text):
            self.settings["devices"] = int(world[1]), line.number
            rows.launched(line.rank)
        elif parameters := _PARAMETERS.match(text):
            self.settings["parameters"] = int(_number(parameters[1])), line.number
        elif peak := _PEAK.match(text):
            rows.metric(
                line.number, line.rank, line.location, rows.step, "peak memory", float(peak[1]) * 2.0**20, "bytes"
            )
        else:
            return False
        return True

    def record(self, line: Line, record: re.Match[str]) -> bool:
        values, end = dict[str, float](), record.end()
        while field := _FIELD.match(line.text, end):
            if field[1] == "dt" and not field[3]:
                return False  # of a script of one's own: in which unit, its tokens may show
            values[field[1]] = _number(field[2]) * _SECONDS.get(field[3] or "", 1.0)
            end = field.end()
        is_cut = end < len(line.text.rstrip()) or ("lrm" in values and not {"total time", "remaining"} & values.keys())
        if is_cut or not {"loss", "dt", "tok/sec"} <= values.keys():
            if not _BEGUN.match(line.text):
                return False
            self.rows.problem(line.number, "the record is cut, or something else was printed into it", line.text)
            return True
        self.begin(line, int(record[2]) if record[2] else None)
        self.row(line, int(record[1]), values)
        return True

    def begin(self, line: Line, of: int | None) -> None:
        """Notes the settings before a record; others than those of the records before are another run."""
        if of is not None:
            self.settings["max_steps"] = of, line.number
        now = {key: value for key, (value, _) in self.settings.items()}
        if self.total is not None and (self.total != bool(of) or now.items() - self.before.items()):
            self.rows.new_part()
            self.before = {}
        self.before |= now
        self.total = bool(of)
        for key, (value, number) in self.settings.items():
            self.rows.param(key, value, number)
        self.settings = {}

    def counts_micro_batches(self, tokens: float, named: float) -> bool:
        """Whether the tokens of a record are those of one of the micro-batches that a step accumulates."""
        accumulated = self.rows.params.get("gradient_accumulation_steps")  # text, where a command line says it
        return (
            isinstance(accumulated, int)
            and accumulated > 1
            and abs(accumulated * tokens - named) <= _AS_PRINTED * named
        )

    def row(self, line: Line, step: int, values: dict[str, float]) -> None:
        rows, step_s, rate = self.rows, values.pop("dt"), values["tok/sec"]
        position = rows.attempt_of(line.number, step, line.rank, line.location, None, step_s)
        tokens, named = rate * step_s, rows.params.get("tokens_per_step")
        is_known, units = "lrm" in values, _UNITS
        if named and self.counts_micro_batches(tokens, named):
            units = _UNITS | {"tok/sec": "micro-batch tokens/s"}
            if rows.part not in self.of_micro_batches:
                self.of_micro_batches.add(rows.part)
                rows.problem(
                    line.number,
                    "tok/sec counts one micro-batch of each step: kept as a metric, not used as a rate",
                    line.text,
                )
        elif named and abs(tokens - named) > _AS_PRINTED * named:
            rows.problem(line.number, "tok/sec by dt are not the tokens that the log names as its batch", line.text)
            named, is_known = None, False
        epoch = values.pop("epoch", None)
        columns: dict[str, Any] = {to: values.pop(name) for name, to in _COLUMNS.items() if name in values}
        rows.add(
            "steps", line.number, attempt=position.attempt, rank=line.rank, place=line.location, phase="train", step=step,
            epoch=epoch, step_s=step_s, averaged_steps=1, value_kind="instant", tokens=named or (round(tokens) if is_known and tokens > 0 else None),
            rate_scope="global" if named or is_known else None, **columns,
        )  # fmt: skip
        named_values = [(name, value, units.get(name)) for name, value in values.items()]
        rows.metrics(line.number, line.rank, line.location, step, named_values)
        rows.param("framework", "nanochat" if "lrm" in values else "build-nanogpt", line.number)


def _number(text: str) -> float:
    return float(text.replace(",", ""))
