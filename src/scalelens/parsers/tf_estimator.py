"""Training lines of TensorFlow's Estimator and of its session hooks.

Tool: TensorFlow 1 and tf.compat.v1: tf.estimator, MonitoredTrainingSession, Slim
Versions: 1.4 to 2.15
Yields: steps, metrics
Source: tensorflow_estimator/python/estimator and tensorflow/python/training/basic_session_run_hooks.py:
    LoggingTensorHook._log_tensors(), StepCounterHook._log_and_record()

The time in brackets is the time since the line before: divided by the steps between it is a mean over these, which holds
the saving of checkpoints too.  The first line of a training has none.  `global_step/sec` and `examples/sec` come from
another hook, with steps of its own, and stay metrics.  A message that a second handler repeats counts once; what another
hook prints about the same step, without a loss, stays a metric.  Where a program prints nothing but the message of a
record, the line `global_step/sec: 8.25`, alone, shows whose the lines before and after it are.

Samples:
    INFO:tensorflow:loss = 0.75, step = 100 (12.500 sec)
    INFO:tensorflow:global_step = 201, train loss = 0.5, train accuracy = 0.875 (4.250 sec)
    I0102 03:04:05.678901 140123456789012 basic_session_run_hooks.py:260] loss = 1.25, step = 0
    INFO:tensorflow:global_step/sec: 8.25
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 3
ANCHORS = (" step = ", "global_step = ", "global_step/sec: ", "examples/sec: ")

_N = r"-?\d+(?:\.\d*)?(?:e[-+]?\d+)?|nan|inf"
_WRITER = r"(?:INFO:tensorflow:|basic_session_run_hooks\.py:\d+\] )"
_RECORD = re.compile(
    rf"{_WRITER}((?:[A-Za-z][\w /.-]{{0,60}} = (?:{_N}), )*)(?:global_)?step = (\d{{1,15}})"
    rf"((?:, [A-Za-z][\w /.-]{{0,60}} = (?:{_N}))*)(?: \((?:(\d+\.\d+) sec\)|[\d.]*(?: s?e?c?)?(\Z)))?\s*\Z"
)
_BARE_RECORD = re.compile(r"(?:[A-Za-z][\w .-]{0,60} = |step = )[-\d.naif]")
_BARE_RATE = re.compile(r"global_step/sec: \d")
_BARE_WRITER = "INFO:tensorflow:"
_VALUE = re.compile(rf"([A-Za-z][\w /.-]{{0,60}}) = ({_N})")
_RATE = re.compile(rf"{_WRITER}(global_step|examples)/sec: (\d+(?:\.\d+)?(?:e[-+]?\d+)?)\s*\Z")
_LOSSES = ("loss", "total_loss", "train loss", "train_loss")


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.is_bare = False  # messages stand alone
        self.first: Line | None = None  # of these, before a rate showed whose they are
        # Attempt and step of the last record, and its messages.
        self.told: dict[tuple[int | None, str | None], tuple[tuple[int, int], set[str]]] = {}

    def take(self, line: Line) -> bool:
        if _BARE_RATE.match(line.text) and not self.is_bare:
            self.is_bare = True
            if self.first:
                self.record(self.first)
        elif not self.is_bare and _BARE_RECORD.match(line.text):
            self.first = line._replace(text=f"{_BARE_WRITER}{line.text}")
            return False
        if self.is_bare and (_BARE_RATE.match(line.text) or _BARE_RECORD.match(line.text)):
            line = line._replace(text=f"{_BARE_WRITER}{line.text}")
        return self.record(line)

    def record(self, line: Line) -> bool:
        """Rows of a line with its writer."""
        rows = self.rows
        if rate := _RATE.search(line.text):
            unit = "steps/s" if rate[1] == "global_step" else "samples/s"
            rows.metric(line.number, line.rank, line.location, rows.step, f"{rate[1]}/sec", float(rate[2]), unit)
            return True
        record = _RECORD.search(line.text)
        if not record:
            return False
        if record[5] is not None:
            rows.problem(line.number, "the time of the record is cut", line.text)
            return True
        step = int(record[2])
        position = rows.attempt_of(line.number, step, line.rank, line.location)
        values = {name: float(value) for name, value in _VALUE.findall(record[1] + record[3]) if value != "nan"}
        loss = next((name for name in _LOSSES if name in values), "")
        message = line.text[record.start(1) : record.end()]
        known = self.messages_of(line, position.attempt, step)
        if message in known:
            return True
        known.add(message)
        named = [(name, value, None) for name, value in values.items() if name != loss]
        rows.metrics(line.number, line.rank, line.location, step, named)
        if len(known) > 1 and not loss:
            return True
        span_s = float(record[4]) if record[4] else None
        steps = step - position.before if span_s is not None and position.before is not None else 0
        rows.param("framework", "tensorflow", line.number, origin="inferred")
        rows.add(
            "steps", line.number, attempt=position.attempt, rank=line.rank, place=line.location, phase="train", step=step,
            step_s=span_s / steps if span_s is not None and steps > 0 else None,
            averaged_steps=steps if steps > 0 else None, value_kind="interval_mean" if steps > 0 else None,
            loss=values.get(loss),
        )  # fmt: skip
        return True

    def messages_of(self, line: Line, attempt: int, step: int) -> set[str]:
        """What was printed of a step so far."""
        whose = line.rank, line.location
        at, messages = self.told.get(whose, ((-1, -1), set()))
        if at != (attempt, step):
            messages = set()
            self.told[whose] = (attempt, step), messages
        return messages
