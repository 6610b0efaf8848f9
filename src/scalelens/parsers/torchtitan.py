"""torchtitan's record of a step.

Tool: torchtitan
Versions: 2024 (wps), 2025 (tps, tflops, grad_norm) and later
Yields: steps, metrics, params
Source: torchtitan/components/metrics.py, MetricsProcessor.log() and log_validation(); 2024: train.py

tps is tokens per second of one device, a mean over the steps since the record before; the first step is printed whatever
the interval.  With the batch and the devices known from the log, the time of a step follows as the tool had it before
it divided (params: `step_s_origin` = rate).  Where they are unknown, and where that time is longer than what lies
between the time stamps, so that the batch is not what was trained, the time stamps are taken (`step_s_origin` = stamps); where several ranks print
without a label, those of the first record of each step, if the others come at once.
Memory is the largest reserved since the record before.  A run that says so after its last step is completed.  One rank prints, the last stage's, or all do, with a label or
without.

The ranks that do not have the last stage of a pipeline print a loss of -1, or of -1 for
each microbatch: they have none.

Samples:
    [rank0]:[titan] 2026-05-03 01:27:07,868 - root - INFO - step:  3  loss:  5.48931  grad_norm:  0.3290  memory:  5.52GiB(17.60%)  tps: 1,201  tflops: 1.22  mfu: 0.39%
    [2026-02-28 14:29:23,662786][I][components/metrics:515:log] step:  1  loss:  8.13834  grad_norm:  1.3149  memory:  8.29GiB(12.96%)  tps: 8,550  tflops: 0.61  mfu: 0.21%
    [rank0]:2026-01-02 22:58:48,120 -  step: 50  loss: 4.0000  grad_norm: 5.7450  memory: 58.66GiB(41.96%)  tps: 5,700  tflops: 265.84  mfu: 26.88%
    2024-07-03 01:27:07,868 - root - INFO - step: 10  loss:  7.4893  memory: 35.52GiB(37.35%)  wps: 8,201  mfu: 40.39%
    [titan] 2026-05-03 01:27:07,868 - root - INFO - validate step: 20  loss:  5.4893  memory:  5.52GiB(17.60%)  tps: 1,201
    [titan] 2026-05-03 01:27:07,868 - root - INFO - Training starts at step 1, with local batch size 8, global batch size 32, sequence length 2048, total steps 100 (warmup 2)
    [rank0]:[titan] 2026-05-03 01:30:12,159 - root - INFO - Training completed
"""

from datetime import datetime

from scalelens.parsing import lazy_re as re
from scalelens.parsing.attempts import Position
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.stamps import line_time

VERSION = 6
ANCHORS = ("step: ", "Training starts at step ", "Training completed")

_N = r"(-?(?:\d[\d,]*(?:\.\d*)?(?:e[-+]?\d+)?|nan|inf))"
_RECORD = re.compile(rf"(?:^|- +|\] )(validate )?step: +(\d+)  loss: +{_N}  (?=[a-z_]+: )")
_CUT = re.compile(r"- INFO - (?:validate )?step: [\d ]*(?:loss: *[\d.]*|l?o?s?s?) *$")
_FIELD = re.compile(rf"([a-z_]+): +(?:{_N}(%|GiB|s)?|N/A)(?:\({_N}%\))?(?:  |\s*$)")
_STAMP = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3,6})(?: - |\]\[)")
_START = re.compile(r"Training starts at step (\d+)(?:, with (local batch size .*)|[. ]*)$")
_SETTINGS = {
    "micro_batch_size": re.compile(r"local batch size (\d+)"), "seq_length": re.compile(r"sequence length (\d+)"),
    "global_batch_size": re.compile(r"global batch size (\d+)"), "max_steps": re.compile(r"total steps (\d+)"),
}  # fmt: skip
_COLUMNS = {"grad_norm": "grad_norm", "tflops": "tflops_per_device"}
_UNITS = {"tps": "tokens/s/device", "wps": "tokens/s/device", "mfu": "%"}
_COMPLETED = re.compile(r"(?:^|(- root - INFO - )|\] ?|- |:)Training completed\.?\s*$")
_AT_ONCE = 0.1  # of the time of a step: within it, all ranks print their record
_STAMPED_S = 0.002  # seconds by which a time stamp may come early or late
_NOT_THE_WORK = "tps and the printed batch give a longer step than the time stamps, which are used"


class _Stamps:
    """The times of the first and the last record of a step."""

    def __init__(self, step: int, ts: datetime) -> None:
        self.step, self.first, self.last = step, ts, ts


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.attempts: dict[int | None, int] = {}
        self.started: dict[int | None, int] = {}  # first step of ranks that have begun, again or for the first time
        self.stamped: dict[int | None, _Stamps] = {}  # of the last step of a rank, or of all those without a label
        self.with_loss: set[tuple[int | None, str | None]] = set()  # ranks that have the last stage
        self.several = False  # ranks without a label print
        self.doubted = False  # that the batch is what was trained
        self.part = rows.part
        self.completed: dict[int, int] = {}  # by part, the line that says so after its last step

    def take(self, line: Line) -> bool:
        if match := _RECORD.search(line.text):
            self.completed.pop(self.rows.part, None)
            return self.record(line, match)
        if (found := _COMPLETED.search(line.text)) and (found[1] or self.attempts):
            self.completed.setdefault(self.rows.part, line.number)
            return True
        if _CUT.search(line.text):
            self.rows.problem(line.number, "the record is cut", line.text)
            return True
        if start := _START.search(line.text):
            self.started[line.rank] = int(start[1])
            if line.rank is None:
                self.rows.launched()
            for name, pattern in _SETTINGS.items():
                if setting := pattern.search(start[2] or ""):
                    self.rows.param(name, int(setting[1]), line.number)
        return bool(start)

    def record(self, line: Line, match: re.Match[str]) -> bool:
        rows, step, values, end = self.rows, int(match[2]), dict[str, float](), match.end()
        if self.part != rows.part:
            self.part, self.attempts, self.stamped, self.several, self.doubted = rows.part, {}, {}, False, False
        while field := _FIELD.match(line.text, end):
            if field[2]:
                values[field[1]] = float(field[2].replace(",", "")) * (1024**3 if field[3] == "GiB" else 1)
            end = field.end()
        speed = values.get("tps", values.get("wps"))
        if end < len(line.text.rstrip()) or speed is None:
            if "memory" not in values and " - INFO - " not in line.text:
                return False
            rows.problem(line.number, "the record is cut, or something else was printed into it", line.text)
            return True
        stamp = _STAMP.search(line.text, 0, match.start() + 2)
        ts = line_time(stamp[1] if stamp else None, line, rows)
        phase, averaged = "validation" if match[1] else "train", 1 if step == 1 else None
        step_s = span_s = tokens = None
        if phase == "train":
            position = rows.attempt_of(line.number, step, line.rank, line.location, ts, once=line.rank in self.started)
            self.several |= position.repeated
            first = self.started.pop(line.rank, None)
            if position.before is not None:
                averaged = step - position.before
            elif first is not None and first <= step:
                averaged = step - first + 1
            self.attempts[line.rank] = position.attempt
            tokens = _product(rows.params.get("global_batch_size"), rows.params.get("seq_length"))
            span_s = self.span_s(line.rank, step, ts, position)
            step_s = self.step_s(line, _product(speed, rows.params.get("devices")), tokens, span_s, speed)
        printed, whose = float(match[3].replace(",", "")), (line.rank, line.location)
        if printed >= 0 or not printed.is_integer():
            self.with_loss.add(whose)
        loss = printed if whose in self.with_loss else None  # -1 for each microbatch: no last stage
        rows.add(
            "steps", line.number, attempt=self.attempts.get(line.rank, 0), rank=line.rank, place=line.location,
            phase=phase, step=step, loss=loss, averaged_steps=averaged, rate_scope="rank",
            value_kind="instant" if averaged == 1 and (step_s is None or step_s != span_s) else "interval_mean",
            step_s=step_s, tokens=tokens, peak_memory_bytes=values.get("memory"), ts=ts, ts_origin="naive" if ts else None,
            **{column: values.get(name) for name, column in _COLUMNS.items()},
        )  # fmt: skip
        others = [(k, v, _UNITS.get(k)) for k, v in values.items() if k not in _COLUMNS and k != "memory"]
        rows.metrics(line.number, line.rank, line.location, step, others)
        rows.param("framework", "torchtitan", line.number)
        return True

    def finish(self) -> None:
        here = self.rows.part
        for part, line in self.completed.items():
            self.rows.part = part
            self.rows.param("outcome", "completed", line, origin="inferred")
        self.rows.part = here

    def span_s(self, rank: int | None, step: int, ts: datetime | None, position: Position) -> float | None:
        """Seconds of a step by the time stamps; of several ranks without a label the first of each step counts."""
        before = self.stamped.get(rank)
        if ts is None:
            return None
        if before is not None and position.repeated and not position.begins:
            before.last = max(before.last, ts)
            return None
        self.stamped[rank] = _Stamps(step, ts)
        if before is None or position.begins or step <= before.step or ts <= before.first:
            return None
        span_s = (ts - before.first).total_seconds()
        apart = self.several and (before.last - before.first).total_seconds() > _AT_ONCE * span_s
        return None if apart else span_s / (step - before.step)

    def step_s(
        self, line: Line, whole: float | None, tokens: float | None, span_s: float | None, speed: float
    ) -> float | None:
        """Time of a step by its tokens and their rate on all devices, unless the time stamps disprove it."""
        by_rate = tokens / whole if tokens and whole else None
        if (
            by_rate
            and span_s
            and not (self.doubted or self.several)
            and by_rate * (1 - 0.5 / speed) > span_s + _STAMPED_S
        ):
            self.doubted = True
            self.rows.problem(line.number, _NOT_THE_WORK, line.text)
        if by_rate and (span_s is None or not self.doubted):
            self.rows.param("step_s_origin", "rate", line.number, origin="inferred")
            return by_rate
        if span_s is not None:
            self.rows.param("step_s_origin", "stamps", line.number, origin="inferred")
        return span_s


def _product(one: float | int | None, other: float | int | None) -> float | None:
    return float(one) * float(other) if one is not None and other is not None else None
