"""DeepSpeed-Chat: times and rates of its three steps, and the losses of reinforcement learning.

Tool: DeepSpeedExamples, applications/DeepSpeed-Chat
Versions: 2023 (E2E latency) and later (End-to-End, Model Parameters)
Yields: steps, metrics
Source: deepspeed/runtime/hybrid_engine.py, eval(); dschat/utils/perf.py, print_throughput() and print_throughput_step3()

A time is that of one iteration, on rank 0, rates are of all ranks; TFLOPs are per GPU by the tool's own formula.  No
line of times names its step: they are numbered from 0 as they come.  The hybrid engine prints `E2E latency` for what
`End-to-End` says too: next to that one its numbers are metrics.

Samples:
    |E2E latency=7.99s |Gather latency=0.12s (1.50%) |Generate time=5.10s (63.83%) |Training time=2.40s (30.04%) |Others=0.37 (4.63%)|CurSamplesPerSec=8.01 |AvgSamplesPerSec=7.95
    End-to-End => Latency: 8.01s, TFLOPs: 36.90, Samples/sec: 7.99, Time/seq 0.13s, Batch Size: 64, Total Seq. Length: 512
    Generation => Latency: 5.57s, Per-token Latency 21.75 ms, TFLOPs: 3.07, BW: 121.05 GB/sec, Answer Seq. Length: 256
    Training   => Latency: 2.44s, TFLOPs: 114.12
    Model Parameters: 1.429 B, Latency: 0.74s, TFLOPs: 85.10, Samples/sec: 172.05, Time/seq 0.01s, Batch Size: 128, Sequence Length: 512
    Epoch: 0 | Step: 8 | PPO Epoch: 1 | Actor Loss: 0.0109 | Critic Loss: 0.0541 | Unsupervised Loss: 0.0
    epoch: 0|step: 8|ppo_ep: 1|act_loss: 0.0109|cri_loss: 0.0541|unsuper_loss: 0.0
"""

from collections.abc import Sequence

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 1
ANCHORS = (
    "|E2E latency=", "End-to-End => Latency: ", "Generation => Latency: ", "Training   => Latency: ", "|ppo_ep: ",
    "| PPO Epoch: ", "Time/seq ",
)  # fmt: skip

_ENGINE = re.compile(r"\|E2E latency=(\d+\.\d+)s \|")
_PART = re.compile(r"\|([A-Za-z0-9 ]{1,30})=(\d+\.\d+)s?(?= |\||$)")
_MEASURED = re.compile(
    r"(?:End-to-End =>|Model Parameters: \S+ ?B?,) Latency: +(\d+\.\d+) ?s, TFLOPs: +(\d+\.\d+),"
    r" Samples/sec: +(\d+\.\d+), Time/seq \d+\.\d+ ?s, Batch Size: (\d+), (?:Total Seq\.|Sequence) Length: (\d+)\s*$"
)
_STAGE = re.compile(r"(Generation|Training) +=> Latency: +(\d+\.\d+) ?s,.* TFLOPs: +(\d+\.\d+)(?=,|\s*$)")
_LOSSES = re.compile(r"[Ee]poch: (\d+) ?\| ?[Ss]tep: (\d+) ?\| ?(?:PPO Epoch|ppo_ep): \d+ ?\|")
_LOSS = re.compile(r" ?([A-Za-z_ ]{1,40}): (-?(?:\d+\.\d+(?:e[-+]?\d+)?|nan|inf)) ?(?:\||$)")
_Part = tuple[str, str, str | None]  # name, number, unit
_BEGIN = re.compile(r"\|E2E|End-to-End =>|Generation =>|Training   =>|Model Parameters:|[Ee]poch: \d")


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.steps: dict[str, int] = {}  # iterations printed in each of the two forms

    def take(self, line: Line) -> bool:
        if engine := _ENGINE.match(line.text):
            return self.engine(line, float(engine[1]))
        if match := _MEASURED.match(line.text):
            self.iteration(line, match)
        elif match := _STAGE.match(line.text):
            step = self.steps.get("measured", 0) - 1
            self.metrics(line, step, [("Latency", match[2], "s"), ("TFLOPs", match[3], "TFLOP/s")], f"{match[1]} ")
        elif match := _LOSSES.match(line.text):
            losses = [(name, value, None) for name, value in _LOSS.findall(line.text, match.end())]
            self.metrics(line, int(match[2]) if match[1] == "0" else None, losses)  # counted within the epoch
        elif _BEGIN.match(line.text):
            self.rows.problem(line.number, "the line is cut, or something else was printed into it", line.text)
        else:
            return False
        return True

    def metrics(self, line: Line, step: int | None, values: Sequence[_Part], of: str = "") -> None:
        named = [(of + name.strip(), float(value), unit) for name, value, unit in values]
        self.rows.metrics(line.number, line.rank, line.location, step if step is None or step >= 0 else None, named)

    def engine(self, line: Line, step_s: float) -> bool:
        parts = [(name, value, "samples/s" if "PerSec" in name else "s") for name, value in _PART.findall(line.text)]
        step = self.steps.get("engine", 0)
        self.steps["engine"] = step + 1
        rates = {name: float(value) for name, value, _ in parts}
        if "measured" in self.steps:
            self.metrics(line, step, list(parts))
            return True
        self.row(line, step, step_s, rates.get("CurSamplesPerSec"))
        self.metrics(line, step, [part for part in parts if part[0] not in ("E2E latency", "CurSamplesPerSec")])
        if "AvgSamplesPerSec" not in rates and "PerSec" in line.text:
            self.rows.problem(line.number, "the line is cut before its rates", line.text)
        return True

    def iteration(self, line: Line, match: re.Match[str]) -> None:
        step = self.steps.get("measured", 0)
        self.steps["measured"] = step + 1
        batch = float(match[4])
        self.row(
            line, step, float(match[1]), float(match[3]), samples=batch, tokens=batch * float(match[5]),
            tflops_per_device=float(match[2]),
        )  # fmt: skip

    def row(self, line: Line, step: int, step_s: float, rate: float | None, **more: float) -> None:
        self.rows.add(
            "steps", line.number, attempt=self.rows.attempt, rank=line.rank, place=line.location, phase="train", step=step,
            step_s=step_s, averaged_steps=1, value_kind="instant", samples_per_s=rate, rate_scope="global", **more,
        )  # fmt: skip
        self.rows.param("framework", "deepspeed-chat", line.number)
