"""Synthetic benchmarks of Horovod and its descendants.

Tool: horovod examples/*_synthetic_benchmark.py; SURF's and EESSI's pytorch_synthetic_benchmark.py; eth-cscs
Versions: 2018 to 2025
Yields: params, steps, metrics
Source: horovod/examples/pytorch/pytorch_synthetic_benchmark.py, log() and benchmark_step()

`Iter #k` is a mean over `--num-batches-per-iter` batches of one process and its own samples: a rate per rank.  Their
number is not printed and taken to be the default 10 (a param of origin `inferred`); `step` is k.  The step's time is
the batch per device over that rate.  The total is the mean of rank 0 times the number of devices, not measured, and
`+-` is 1.96 standard deviations of the iterations, not of their mean: metrics.  The data is made up.

Samples:
    Iter #0: 176.7 img/sec per GPU
    Img/sec per GPU: 174.9 +-3.7
    Total img/sec on 8 GPU(s): 1399.1 +-29.3
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 1
ANCHORS = (
    "Iter #", "Img/sec per ", "Total img/sec on ", "Model: ", "Batch size: ", "Number of GPUs: ", "Number of CPUs: ",
    "World size: ",
)  # fmt: skip

_ITERATION = re.compile(r"Iter #(\d{1,9}): (\d+(?:\.\d*)?) img/sec per (GPU|CPU)\b")
_MEAN = re.compile(
    r"(Img/sec per (?:GPU|CPU)|Total img/sec on (\d{1,9}) (GPU|CPU)\(s\)): (\d+(?:\.\d*)?) \+-(\d+(?:\.\d*)?|nan)"
)
_CUT = re.compile(r"(?:Iter #\d+|Img/sec per [GC]PU|Total img/sec on \d+ [GC]PU\(s\)):")
_FACTS = (
    ("model", re.compile(r"(?:^|\s)Model: ([\w./-]+)\s*$")),
    ("micro_batch_size", re.compile(r"(?:^|\s)Batch size: (\d{1,9})\s*$")),
    ("devices", re.compile(r"(?:^|\s)(?:Number of [GC]PUs|World size): (\d{1,9})\s*$")),
)
_BATCHES = 10


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.facts: dict[str, tuple[str, int]] = {}  # of the header, with its lines; other scripts print similar lines
        self.last: dict[tuple[int | None, str | None], tuple[int, str, int]] = {}  # iteration, its text, restarts
        self.said: set[tuple[int, str]] = set()

    def take(self, line: Line) -> bool:
        if match := _ITERATION.search(line.text):
            self.iteration(match, line)
        elif match := _MEAN.search(line.text):
            if (self.rows.part, match[0]) not in self.said:  # one copy for each node
                self.said.add((self.rows.part, match[0]))
                name = re.sub(r" on \d+ [GC]PU\(s\)", "", match[1])
                values = [(name, float(match[4]), "samples/s"), (f"{name} +-", float(match[5]), "samples/s")]
                self.rows.metrics(line.number, line.rank, line.location, self.rows.step, values, "mean")
                if match[2]:
                    self.rows.param("devices", int(match[2]), line.number)
        elif _CUT.search(line.text):
            self.rows.problem(line.number, "the record is cut, or something else was printed into it", line.text)
        else:
            for key, pattern in _FACTS:
                if fact := pattern.search(line.text):
                    self.facts[key] = fact[1], line.number
            return False
        return True

    def iteration(self, match: re.Match[str], line: Line) -> None:
        step, rate = int(match[1]), float(match[2])
        last, text, attempt = self.last.get((line.rank, line.location), (-1, "", 0))
        if text == match[0]:
            return  # another node's copy
        if step < last and self.settle():  # other settings
            last, attempt = -1, 0
            self.last.clear()
        attempt += step < last
        if not self.last:
            self.settle()
            self.header(match[3].lower(), line.number)
        self.last[line.rank, line.location] = step, match[0], attempt
        self.rows.attempt = max(self.rows.attempt, attempt)
        params = self.rows.params
        size = params.get("micro_batch_size")
        self.rows.add(
            "steps", line.number, attempt=attempt, rank=line.rank, place=line.location, phase="train", step=step,
            step_s=size / rate if size and rate else None, averaged_steps=_BATCHES, value_kind="interval_mean",
            samples=params.get("global_batch_size"), samples_per_s=rate, rate_scope="rank",
        )  # fmt: skip

    def settle(self) -> bool:
        """Whether the header before this iteration opens another run."""
        facts = {key: value for key, (value, _) in self.facts.items()}
        if self.last and any(str(self.rows.params.get(key, value)) != value for key, value in facts.items()):
            self.rows.new_part()
            return True
        return False

    def header(self, unit: str, number: int) -> None:
        for key, (value, where) in self.facts.items():
            self.rows.param(key, value if key == "model" else int(value), where)
        self.rows.param("device_unit", unit, number)
        self.rows.param("dataset", "synthetic", number, origin="inferred")
        self.rows.param("num_batches_per_iter", _BATCHES, number, origin="inferred")
        size, devices = (self.facts.get(key) for key in ("micro_batch_size", "devices"))
        if size and devices:
            self.rows.param("global_batch_size", int(size[0]) * int(devices[0]), number, origin="inferred")
