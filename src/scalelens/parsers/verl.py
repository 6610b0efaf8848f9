"""verl's line of a step of reinforcement learning.

Tool: verl
Versions: 0.2 and later (three digits; since 0.5 all of them)
Yields: steps, metrics, params
Source: verl/utils/logger/aggregate_logger.py, LocalLogger; verl/trainer/ppo/metric_utils.py

A step is generation, rewards and the update; timing_s are its parts in seconds on the driver, timing_s/step all of it,
with the evaluation or checkpoint that was due.  perf/throughput is tokens per second of one device, prompts and answers.
Memory is in GiB, the largest of the actor's first rank.  A line of an evaluation alone has no time of a step.

Samples:
    step:1 - global_seqlen/mean:250368.500 - actor/pg_loss:0.001 - actor/grad_norm:0.125 - perf/max_memory_reserved_gb:70.250 - actor/lr:0.000 - timing_s/gen:31.500 - timing_s/step:52.250 - perf/total_num_tokens:1001474.000 - perf/throughput:2395.850
    (TaskRunner pid=4711) step:18 - actor/pg_loss:0.0625 - timing_s/gen:29.25 - timing_s/step:47.5
    step:0 - val-core/openai/gsm8k/acc/mean@1:0.375
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 3
ANCHORS = (" - timing_s/", " - global_seqlen/", " - val-", " - actor/", " - critic/")

_N = r"-?(?:\d+(?:\.\d*)?(?:e[-+]?\d+)?|nan|inf)"
_HEAD = re.compile(r"(?:\(\w{1,99} pid=\d+(?:, ip=[\d.]+)?\) )?step:(\d{1,15})(?= - \w[\w-]{0,99}/)")
_FIELD = re.compile(rf" - ([\w@/.,:+-]{{1,299}}):(?:np\.\w+\()?({_N})\)?(?= - |\s*$)")
_COLUMNS = {
    "timing_s/step": "step_s", "perf/total_num_tokens": "tokens", "actor/grad_norm": "grad_norm",
    "actor/lr": "learning_rate",
}  # fmt: skip
_MEMORY = ("perf/max_memory_reserved_gb", "actor/perf/max_memory_reserved_gb")


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def take(self, line: Line) -> bool:
        head = _HEAD.match(line.text)
        if not head:
            return False
        rows, values, end = self.rows, dict[str, float](), head.end()
        while match := _FIELD.match(line.text, end):
            values[match[1]], end = float(match[2]), match.end()
        if end < len(line.text.rstrip()):
            rows.problem(line.number, "the record is cut, or something else was printed into it", line.text)
        step = int(head[1])
        if "timing_s/step" in values:
            position = rows.attempt_of(line.number, step, line.rank, line.location)
            memory = next((values.pop(name) for name in _MEMORY if name in values), None)
            rows.add(
                "steps", line.number, attempt=position.attempt, rank=line.rank, place=line.location, phase="train", step=step,
                averaged_steps=1, value_kind="instant", rate_scope="global",
                peak_memory_bytes=memory * 2**30 if memory is not None else None,
                **{column: values.pop(name, None) for name, column in _COLUMNS.items()},
            )  # fmt: skip
        rows.metrics(
            line.number, line.rank, line.location, step, [(name, v, _unit(name)) for name, v in values.items()]
        )
        rows.param("framework", "verl", line.number)
        return True


def _unit(name: str) -> str | None:
    if name.startswith("timing_s/"):
        return None if name.endswith(("_length", "num_preempted")) else "s"
    if name.startswith("timing_per_token_ms/"):
        return "ms"
    return "tokens/s/device" if name == "perf/throughput" else None
