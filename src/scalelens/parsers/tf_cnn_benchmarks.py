"""tf_cnn_benchmarks, with and without Horovod.

Tool: tensorflow/benchmarks tf_cnn_benchmarks.py; CARAML and JSC's ResNet benchmark run it
Versions: 2017 to 2020
Yields: params, steps, metrics
Source: benchmarks/scripts/tf_cnn_benchmarks/benchmark_cnn.py, get_perf_timing_str(), print_info()

`images/sec` is the batch over the mean of all step times so far: a running mean.  Under Horovod each rank prints its
own table of its own images (a rate per rank) and the same total of all: the total counts once.  Without the header it
is not said whose rate it is: scope and step time stay open.  `+/-` is a standard error over the steps
so far, `jitter` a robust spread of their speeds: metrics, like the total.  A loss may be nan where the data is made up.

Samples:
    10	images/sec: 2285.6 +/- 14.1 (jitter = 42.7)	7.914
    20	images/sec: 2304.9 +/- 14.0 (jitter = 30.2)	nan	0.001	0.005
    total images/sec: 18356.70
    Batch size:  256 global
                 32 per device
    Devices:     ['horovod/gpu:0', 'horovod/gpu:1']
    Model:       resnet50_v1.5
    Dataset:     imagenet (synthetic)
    Variables:   horovod
"""

from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 2
ANCHORS = (
    "images/sec: ", "Batch size:  ", " per device", "Devices:     [", "Model:       ", "Dataset:     ",
    "Variables:   ", "Mode:        ",
)  # fmt: skip

_N = r"(\d+(?:\.\d*)?(?:e[-+]?\d+)?)"
_RECORD = re.compile(
    rf"(?:^|\D)(\d{{1,9}})\s+images/sec: {_N} \+/- {_N} \(jitter = {_N}\)((?:\s+(?:-?{_N}|nan|-?inf))*)\s*\Z"
)
_TOTAL = re.compile(rf"total images/sec: {_N}\s*\Z")
_CUT = re.compile(r"(?:^|\s)(?:\d+|total)\s+images/sec: [\d. ]*")
_FACTS = (
    ("global_batch_size", re.compile(r"Batch size:  (\d{1,9}) global\s*\Z")),
    ("micro_batch_size", re.compile(r" {8}(\d{1,9}) per device\s*\Z")),
    ("model", re.compile(r"Model:       (\S+)\s*\Z")),
    ("dataset", re.compile(r"Dataset:     ([\w()/.-]+(?: [\w()/.-]+){0,3})\s*\Z")),
    ("variable_update", re.compile(r"Variables:   (\S+)\s*\Z")),
    ("mode", re.compile(r"Mode:        (\S+)\s*\Z")),
    ("devices", re.compile(r"Devices:     \[([^\[\]]*)\]\s*\Z")),
)


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.facts: dict[str, str] = {}
        self.at: dict[tuple[int | None, str | None], tuple[int, int]] = {}  # step and restarts
        self.totals: set[str] = set()

    def take(self, line: Line) -> bool:
        if match := _RECORD.search(line.text):
            self.record(match, line)
        elif match := _TOTAL.search(line.text):
            if match[0] not in self.totals:  # each rank prints it
                self.totals.add(match[0])
                step, _ = self.at.get((line.rank, line.location), (self.rows.step, 0))
                rate = [("total images/sec", float(match[1]), "samples/s")]
                self.rows.metrics(line.number, line.rank, line.location, step, rate, "mean")
        elif fact := next(((key, m) for key, pattern in _FACTS if (m := pattern.search(line.text))), None):
            self.fact(fact[0], fact[1][1], line)
        elif _CUT.match(line.text):
            self.rows.problem(line.number, "the record is cut, or something else was printed into it", line.text)
        else:
            return False
        return True

    def fact(self, key: str, text: str, line: Line) -> None:
        if self.at and key in ("model", "global_batch_size") and self.facts.get(key, text) != text:
            self.rows.new_part()
            self.facts, self.at, self.totals = {}, {}, set()
        self.facts[key] = text
        value: Any = "synthetic" if key == "dataset" and "synthetic" in text else text
        if key == "devices":
            value = (
                text.count(",") + 1 if "horovod" in text else None
            )  # else they are those of one worker, and there may be others
        self.rows.param(key, int(value) if str(value).isdecimal() else value, line.number)
        self.rows.param("framework", "tensorflow", line.number, origin="inferred")
        sizes = [int(self.facts[name]) for name in ("global_batch_size", "micro_batch_size") if name in self.facts]
        if len(sizes) == 2 and sizes[1] and sizes[0] % sizes[1] == 0:
            self.rows.param("devices", sizes[0] // sizes[1], line.number, origin="inferred")

    def batch(self) -> tuple[int | None, str | None]:
        """Samples that the printed rate is of, and whether they are those of the whole job."""
        sizes = {key: int(self.facts[key]) for key in ("global_batch_size", "micro_batch_size") if key in self.facts}
        names = self.facts.get("devices", "")
        if len(sizes) < 2 or not names:
            return None, None
        devices = 1 if "horovod" in names or self.facts.get("variable_update") == "horovod" else names.count(",") + 1
        local = sizes["micro_batch_size"] * devices
        return local, "global" if local == sizes["global_batch_size"] else "rank"

    def record(self, match: re.Match[str], line: Line) -> None:
        step, rate = int(match[1]), float(match[2])
        attempt = self.rows.attempt_of(line.number, step, line.rank, line.location, once=False).attempt
        self.at[line.rank, line.location] = step, attempt
        batch, scope = self.batch()
        others = [float(value) for value in match[5].split()]
        accuracy = others[1] if len(others) == 3 else None
        self.rows.add(
            "steps", line.number, attempt=attempt, rank=line.rank, place=line.location,
            phase="validation" if "FORWARD" in self.facts.get("mode", "").upper() else "train", step=step,
            step_s=batch / rate if batch and rate else None, averaged_steps=max(step, 1),
            value_kind="running_mean", samples=self.rows.params.get("global_batch_size"),
            samples_per_s=rate, rate_scope=scope, loss=others[0] if others and others[0] == others[0] else None,
            accuracy=accuracy,
        )  # fmt: skip
        spread = [("+/-", float(match[3]), "samples/s"), ("jitter", float(match[4]), "samples/s")]
        self.rows.metrics(line.number, line.rank, line.location, step, spread)
