"""What ColossalAI's examples measured over the whole run.

Tool: ColossalAI, examples/language (benchmark.py of LLaMA, GPT, OPT and others)
Versions: 2023 and later; no real file was at hand: by the source
Yields: steps, metrics, params
Source: examples/language/performance_evaluator.py and the copies of it, PerformanceEvaluator.on_fit_end()

The two lines come once, at the end: a row of steps is a mean of the run.  Samples per second are those of the whole job,
over the time in steps without those that were left out first (--ignore_steps); the time of a step does not follow, as
neither the batch nor the number of steps is printed.  Samples and work in FLOP are those of one rank.  Of the two
TFLOP/s the one by Megatron's formula is the row's, the other a metric.  The first copies print no `dp_world_size`:
theirs are samples of one rank.

Samples:
    num_samples: 24, dp_world_size: 8, flop_megatron: 2.5e+16, flop: 24500000000000000, avg_duration: 20.5, avg_throughput: 9.365853658536585
    num_samples: 24, flop_megatron: 2.5e+16, flop: 24500000000000000
    Throughput: 9.37 samples/sec, TFLOPS per GPU by Megatron: 152.25, TFLOPS per GPU: 149.50
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 1
ANCHORS = ("TFLOPS per GPU by Megatron: ", ", flop_megatron: ")

_NUMBER = r"(\d+(?:\.\d+)?(?:e[-+]?\d+)?)"
_SPEED = re.compile(
    rf"Throughput: {_NUMBER} samples/sec, TFLOPS per GPU by Megatron: {_NUMBER}, TFLOPS per GPU: {_NUMBER}\s*$"
)
_TOTALS = re.compile(
    rf"num_samples: {_NUMBER},(?: dp_world_size: (\d{{1,9}}),)? flop_megatron: {_NUMBER}, flop: {_NUMBER}"
    rf"(?:, avg_duration: {_NUMBER}, *(?:avg_throughput: {_NUMBER})?)?\s*$"
)


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.scope = "global"  # whose samples the next rate counts

    def take(self, line: Line) -> bool:
        if speed := _SPEED.search(line.text):
            self.speed(line, *(float(value) for value in speed.groups()))
        elif totals := _TOTALS.search(line.text):
            self.totals(line, totals)
        elif "Throughput: " in line.text or "num_samples: " in line.text:
            self.rows.problem(line.number, "the line is cut, or something else was printed into it", line.text)
        else:
            return False
        return True

    def speed(self, line: Line, samples_per_s: float, by_megatron: float, by_parameters: float) -> None:
        rows = self.rows
        rows.add(
            "steps", line.number, attempt=rows.attempt, rank=line.rank, place=line.location, phase="train",
            value_kind="run_mean", samples_per_s=samples_per_s, rate_scope=self.scope, tflops_per_device=by_megatron,
        )  # fmt: skip
        rows.metric(line.number, line.rank, line.location, None, "TFLOPS per GPU", by_parameters, "TFLOP/s")
        rows.param("framework", "colossalai", line.number)

    def totals(self, line: Line, totals: re.Match[str]) -> None:
        samples, ranks, by_megatron, work, duration, _ = totals.groups()
        given = (
            ("num_samples", samples, "samples"), ("flop_megatron", by_megatron, "FLOP"), ("flop", work, "FLOP"),
            ("avg_duration", duration, "s"),
        )  # fmt: skip
        values = [(name, float(value), unit) for name, value, unit in given if value]
        self.rows.metrics(line.number, line.rank, line.location, None, values)
        self.scope = "global" if ranks else "rank"
        if ranks:
            self.rows.param("dp", int(ranks), line.number)
