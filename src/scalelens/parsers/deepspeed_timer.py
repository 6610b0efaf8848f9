"""DeepSpeed's throughput timer, and its line of skipped steps and learning rates.

Tool: DeepSpeed
Versions: 0.1 (SamplesPerSec), 0.3 (RunningAvg and Curr), 0.7 and later (global_step)
Yields: steps, metrics
Source: deepspeed/utils/timer.py, ThroughputTimer.stop(); deepspeed/runtime/engine.py, _report_progress()

CurrSamplesPerSec is of one step alone and of all ranks; the running average leaves out the first two steps and is a
metric.  With a global batch size known the time of the step follows, as the tool had it before it divided.  The oldest
form prints a running mean only.  Before 0.7 the timer counts micro steps of the epoch: the step is the one of the line
before it, else what is counted in the first epoch.  `skipped` counts from the start.  In a log of Megatron-LM, whose
records are the same steps, everything becomes metrics.

Samples:
    [2026-01-02 03:04:05,678] [INFO] [timer.py:199:stop] epoch=0/micro_step=40/global_step=20, RunningAvgSamplesPerSec=172.5, CurrSamplesPerSec=171.25, MemAllocated=3.96GB, MaxMemAllocated=22.95GB
    [2026-01-02 03:04:05,678] [INFO] [timer.py:157:stop] 0/20, RunningAvgSamplesPerSec=232.75, CurrSamplesPerSec=227.5, MemAllocated=3.96GB, MaxMemAllocated=22.95GB
    [2026-01-02 03:04:05,678] [INFO] [timer.py:154:stop] 0/20, SamplesPerSec=232.75
    [INFO 2026-01-02 03:04:05] 0/20, SamplesPerSec=232.75
    [2026-01-02 03:04:05,678] [INFO] [logging.py:96:log_dist] [Rank 0] step=20, skipped=6, lr=[9.6e-06, 9.6e-07], mom=[(0.9, 0.95), (0.9, 0.95)]
"""

import re

from scalelens.parsing.line_times import line_time
from scalelens.parsing.lines import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.values import amount

VERSION = 3
ANCHORS = ("SamplesPerSec=", ", skipped=")

N = r"(-?(?:\d+(?:\.\d*)?(?:e[-+]?\d+)?|inf|nan))"
STAMP = re.compile(r"\[(?:INFO )?(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:,\d{3})?)\]")
PLACE = re.compile(r"(?:epoch=(\d+)/micro_step=\d+/global_step=(\d+)|(?<!\S)(\d+)/(\d+)), (?=\w*SamplesPerSec=)")
RATES = re.compile(rf"(?:RunningAvgSamplesPerSec={N}, Curr)?SamplesPerSec={N}(?=,|\s*$)")
MEMORY = re.compile(rf", MemAllocated={N}GB, MaxMemAllocated={N}GB")
# What may stand before a record: a bar without a line's end, accelerate's `stdout: `, the logger's prefix.  Other text means that the record is quoted.
LOGGER = re.compile(
    r"(?:(?:.*\| *\d+/\d+ \[[^]]*\] *)?|stdout: |\[\d{1,6}\] )"
    r"(?:\[[\d :,-]+\] \[[A-Z]+\] \[[\w.:]+\] |\[INFO [\d :-]+\] )?$"
)
PROGRESS = re.compile(r"\[Rank (\d+)\] step=(\d+), skipped=(\d+), lr=\[([^\]]*)\]")
MEGATRON = ("megatron", "gpt-neox", "primus")


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.attempt = 0
        self.before: tuple[int, float | None] | None = None  # step and learning rate of the line before
        self.memory = False  # whether the records end with the memory

    def take(self, line: Line) -> bool:
        if ", skipped=" in line.text:
            return self.progress(line)
        place = PLACE.search(line.text)
        if not place or not LOGGER.match(line.text[: place.start()]):
            return False
        if rates := RATES.match(line.text, place.end()):
            self.record(line, place, rates)
        else:
            self.rows.problem(line.number, "the record is cut, or its rate is not a number", line.text)
        return True

    def progress(self, line: Line) -> bool:
        """`[Rank 0] step=`: the learning rate of each group, and the steps skipped so far."""
        begin = line.text.find("[Rank ")
        if begin < 0 or not LOGGER.match(line.text[:begin]) or "] step=" not in line.text:
            return False
        match = PROGRESS.match(line.text, begin)
        if not match:
            self.rows.problem(line.number, "the line is cut before its learning rates", line.text)
            return True
        rates = [amount(text) for text in match[4].split(",")]
        self.before = (int(match[2]), rates[0])
        named = [(f"lr {k}" if k else "lr", rate, None) for k, rate in enumerate(rates) if rate is not None]
        skipped = ("skipped", float(match[3]), "steps")
        self.rows.metrics(line.number, int(match[1]), line.place, int(match[2]), [skipped, *named])
        return True

    def record(self, line: Line, place: re.Match[str], rates: re.Match[str]) -> None:
        rows = self.rows
        mean, rate, memory = amount(rates[1]), amount(rates[2]), MEMORY.match(line.text, rates.end())
        if self.memory and not memory:
            rows.problem(line.number, "the record is cut, and its last number may be cut too", line.text)
        progress, self.before, self.memory = self.before, None, self.memory or bool(memory)
        step = int(place[2]) if place[2] else progress[0] if progress else int(place[4]) if int(place[3]) == 0 else None
        others = [("RunningAvgSamplesPerSec", mean, "samples/s")]
        if memory:
            others.append(("MemAllocated", in_bytes(memory[1]), "bytes"))
        megatron = "train_iters" in rows.params or str(rows.params.get("framework")).startswith(MEGATRON)
        if megatron:
            others.append(("CurrSamplesPerSec" if rates[1] else "SamplesPerSec", rate, "samples/s"))
        metrics = [(name, value, unit) for name, value, unit in others if value is not None]
        rows.metrics(line.number, line.rank, line.place, step, metrics)
        if megatron:
            return
        batch = rows.params.get("global_batch_size") if place[2] else None
        stamp = STAMP.search(line.text)
        ts = line_time(stamp[1] if stamp else None, line, rows)
        if step is not None:
            self.attempt = rows.attempt_of(line.number, step, line.rank, line.place, ts, once=False).attempt
            rows.step = step
        rows.add(
            "steps", line.number, attempt=self.attempt, rank=line.rank, place=line.place, phase="train",
            epoch=int(place[1] or place[3]), step=step, step_s=batch / rate if batch and rate else None,
            samples=batch, samples_per_s=rate, rate_scope="global",
            averaged_steps=1 if rates[1] else None, value_kind="instant" if rates[1] else "running_mean",
            learning_rate=progress[1] if progress and progress[0] == step else None,
            peak_memory_bytes=in_bytes(memory[2]) if memory else None,
            ts=ts, ts_origin="naive" if ts else None,
        )  # fmt: skip
        rows.steps_line = line.number
        if "framework" not in rows.params:
            rows.param("framework", "deepspeed", line.number, origin="inferred")


def in_bytes(gibibytes: str) -> float | None:
    size = amount(gibibytes)
    return None if size is None else size * 2**30
