"""MindFormers' record of a step, and the bar below it.

Tool: MindFormers (MindSpore Transformers; Huawei Ascend)
Versions: 1.0 (2023) to 1.6, and its trainer for PyNative (2026); no whole file was at hand: by the source and the records
in MindFormers' documentation
Yields: steps, metrics, params
Source: mindformers/core/callback/callback.py, MFLossMonitor.print_output_info(); mindformers/pynative/callback/,
LossCallback._print_log()

Each worker prints its own file.  Where a record names an epoch, its step begins anew with each epoch; the step here is
the global one, as the writer computes it for TensorBoard.  The time is that of one step, cut to whole milliseconds.  If
data sinks to the device (`loss: 2.5`, not `loss:[2.5/2.6]`), it is a mean over the steps that were sent together.  Their
number is not printed; it is known to be one where steps follow each other.  Without sinking, the wait for data is not
in the time.  Throughputs are of a device, by the writer's own count of operations.  The loss holds on the last pipeline
stage only; others print another number, or N/A.  A gradient norm of several groups is left out.

Samples:
    2026-03-04 15:34:29,173 - [mindformers/core/callback/callback.py:529] - INFO - { Epoch:[  1/  2], step:[    2/   19], loss: 10.625, per_step_time: 1752ms, lr: 1e-05, overflow cond: False, loss_scale: 1.0, global_norm: [45.5], train_throughput_per_npu: 170.750T
    2026-03-04 15:34:29,174 - [mindformers/core/callback/callback.py:534] - INFO -    5.3% |██                                                | 0.57078 samples/s/p  0:01:03 }
    2026-03-04 15:34:29,173 - [mindformers/core/callback/callback.py:529] - INFO - { Epoch:[  1/  2], step:[    2/   19], loss:[10.625/10.750], lm_loss: 10.500, aux_loss: 0.125, per_step_time: 1752ms, overflow cond: False, loss_scale: unavailable, global_norm: None
    2026-03-04 15:34:29,173 - [mindformers/pynative/callback/loss_callback.py:290] - INFO - { step:[    2/   10], loss:  11.750000, per_step_time:    710ms, load_balancing_loss:   1.125000, lr: 1.000000e-05, grad_norm:  19.926786, throughput:  25.92T }
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.stamps import line_time

VERSION = 1
ANCHORS = ("per_step_time: ", " samples/s/p ")

_STAMP = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}(?= - )")
_RECORD = re.compile(r"\{ (?:Epoch:\[ *(\d{1,9})/ *\d{1,9}\], )?step:\[ *(\d{1,15})/ *(\d{1,15})\], (?=loss:)")
_BAR = re.compile(
    r"(?<!\d)\d{1,3}\.\d% \|[█ ]{0,99}\| (\d{1,9}\.\d{5}) samples/s/p  (?:\d{1,6} days?, )?\d{1,6}:\d\d:\d\d \}$"
)
_FIELD = re.compile(r"(\w[\w ]{0,59}): {0,40}(\[[^]]{0,200}\]|[^], ](?:[^],]{0,98}?[^], ])?)(?: ?, |(?: \})?$)")
_NUMBER = re.compile(r"\[? *(-?(?:\d+(?:\.\d*)?(?:e[-+]?\d+)?|nan|inf))(?: *\]|ms|T)?")  # `NaN` stands for no value
_TWO_LOSSES = re.compile(r"\[ *(\S+?)/ *(\S+)\]")
_NO_LOSS = "N/A (non-last PP stage, refer to last stage for real loss)"
_COLUMNS = {
    "lr": "learning_rate", "global_norm": "grad_norm", "grad_norm": "grad_norm",
    "train_throughput_per_npu": "tflops_per_device", "throughput": "tflops_per_device", "loss": "loss",
}  # fmt: skip


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.last: dict[tuple[int | None, str | None], int] = {}  # the last step of each writer

    def take(self, line: Line) -> bool:
        record = _RECORD.search(line.text)
        if not record:
            return self.take_bar(line)
        fields = _fields_of(line.text[record.end() :])
        time = _number(fields.get("per_step_time"))
        if time is None or not {"global_norm", "grad_norm", "loss_scale"} & fields.keys():
            reason = "the record is cut, or something else was printed into it"
            self.rows.problem(line.number, reason, line.text)
            return True
        self.record(line, record, fields, time / 1000)
        return True

    def take_bar(self, line: Line) -> bool:
        bar, step = _BAR.search(line.text.rstrip()), self.last.get((line.rank, line.location))
        if not bar:
            return False
        self.rows.metric(line.number, line.rank, line.location, step, "samples/s/p", float(bar[1]), "samples/s")
        return True

    def record(self, line: Line, record: re.Match[str], fields: dict[str, str], step_s: float) -> None:
        rows, writer = self.rows, (line.rank, line.location)
        epoch, step, total = int(record[1] or 1) - 1, int(record[2]), int(record[3])
        step += epoch * total
        losses = _TWO_LOSSES.fullmatch(fields["loss"])
        if losses:
            fields["loss"], fields["mean_loss"] = losses.groups()
        alone = bool(losses) or not record[1] or step == self.last.get(writer, 0) + 1
        stamp = _STAMP.match(line.text)
        ts = line_time(stamp[0] if stamp else None, line, rows)
        position = rows.attempt_of(line.number, step, line.rank, line.location, ts, step_s)
        self.last[writer] = step
        values = {name: value for name, text in fields.items() if (value := _number(text)) is not None}
        rows.add(
            "steps", line.number, attempt=position.attempt, rank=line.rank, place=line.location, phase="train", step=step,
            epoch=epoch if record[1] else None, step_s=step_s, averaged_steps=1 if alone else None,
            value_kind="instant" if alone else "interval_mean", rate_scope="rank",
            skipped_steps=int("True" in fields["overflow cond"]) if alone and "overflow cond" in fields else None,
            ts=ts, ts_origin="naive" if ts else None,
            **{_COLUMNS[name]: value for name, value in values.items() if name in _COLUMNS},
        )  # fmt: skip
        others = [(name, values[name], None) for name in values if name not in _COLUMNS and name != "per_step_time"]
        rows.metrics(line.number, line.rank, line.location, step, others)
        rows.param("framework", "mindformers", line.number)
        rows.param("iterations_per_epoch" if record[1] else "max_steps", total, line.number)


def _fields_of(text: str) -> dict[str, str]:
    """Texts of a record by name; none where the text breaks off."""
    text, values, end = text.rstrip().replace(_NO_LOSS, "N/A"), dict[str, str](), 0
    while field := _FIELD.match(text, end):
        values[field[1]] = field[2]
        end = field.end()
    return values if end == len(text) else {}


def _number(text: str | None) -> float | None:
    found = _NUMBER.fullmatch(text or "")
    return float(found[1]) if found else None
