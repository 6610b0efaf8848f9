"""XTuner v1's record of a step.

Tool: XTuner v1 (InternLM), xtuner/v1/train/trainer.py
Versions: 2025; no whole file was at hand: by the source and the records in XTuner's documentation
Yields: steps, metrics, params
Source: xtuner/v1/train/trainer.py, Trainer._log_step()

Each rank prints its own record, with its own time and tokens: the rows of steps have no tokens of the global batch, and
those of the rank are metrics.  `time` begins when the data is there: the time of a step is the wait for data and `time`.
`tgs` is tokens of the rank by `time`, `e2e_tgs` tokens since the start by the whole time.  GB are powers of 1024.  The
peak of memory is that of the run, in later versions that of the step.  The rank's own loss is a metric.  The epoch is
as printed, and may differ between ranks.

Samples:
    [XTuner][RANK 2][2026-03-04 09:17:51][INFO] Step 1/100 data_time: 0.0625 lr: 0.000020 time: 4.9750 text_tokens: 4008.0 total_loss: 1.722 reduced_llm_loss: 1.684 max_memory: 15.50 GB reserved_memory: 17.75 GB grad_norm: 13.948 tgs: 805.5 e2e_tgs: 796.0
    [XTuner][RANK 0][2026-03-04 03:04:13][INFO] Step 1/13 data_time: 0.0091 lr: 0.000060 time: 0.6250 text_tokens: 4054.0 total_loss: 12.075, reduced_llm_loss: 12.075 max_memory: 5.50 GB grad_norm: 15.847 tgs: 6729.5
    [XTuner][RANK 0][2026-03-04 03:04:13][INFO] Epoch 0 Step 5/100 data_time: 0.0091 lr: 6.000000e-05 time: 0.6250 text_tokens: 8192 total_consumed_tokens: 40960 local_loss: 2.50000000, reduced_llm_loss: 2.25000000 grad_norm: 1.50000000 max_memory: 5.50 GB reserved_memory: 7.00 GB tgs: 13107.2 e2e_tgs: 6630.0 eta: 0:10:00
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.stamps import line_time

VERSION = 2
ANCHORS = (" data_time: ",)

_NUMBER = r"-?(?:\d+(?:\.\d*)?(?:e[-+]?\d+)?|nan|inf)"
_LABEL = re.compile(r"(?:\[RANK (\d{1,9})\])?\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\]\[INFO\] ")
_RECORD = re.compile(r"(?:Epoch (\d{1,9}) )?Step (\d{1,15})/(\d{1,15}) (?=data_time: )")
_FIELD = re.compile(rf"(?!eta: )(\w{{1,99}}): ({_NUMBER})( GB)?(?:,? +|\s*$)")
_REMAINING = re.compile(r"eta: (?:-?\d+ days?, )?\d+:\d\d:\d\d\s*$")
_COLUMNS = {
    "data_time": "data_s", "lr": "learning_rate", "grad_norm": "grad_norm", "max_memory": "peak_memory_bytes",
}  # fmt: skip
_LOSSES = ("reduced_llm_loss", "total_loss")  # the one of all ranks, before that of the rank
_UNITS = {
    "tgs": "tokens/s/device", "e2e_tgs": "tokens/s/device", "text_tokens": "tokens", "total_consumed_tokens": "tokens",
    "reserved_memory": "bytes", "time": "s",
}  # fmt: skip


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def take(self, line: Line) -> bool:
        record = _RECORD.search(line.text)
        if not record:
            return False
        values = _fields_of(line.text[record.end() :])
        if not {"time", "data_time", "text_tokens"} <= values.keys():
            if "text_tokens: " not in line.text and "[XTuner]" not in line.text:
                return False
            self.rows.problem(line.number, "the record is cut, or something else was printed into it", line.text)
            return True
        label = _LABEL.search(line.text, 0, record.start())
        self.record(line, record, label, values)
        return True

    def record(self, line: Line, record: re.Match[str], label: re.Match[str] | None, values: dict[str, float]) -> None:
        rows, step = self.rows, int(record[2])
        rank = int(label[1]) if label and label[1] else line.rank
        ts = line_time(label[2] if label else None, line, rows)
        step_s = values["data_time"] + values["time"]
        position = rows.attempt_of(line.number, step, rank, line.location, ts, step_s)
        loss = next((values[name] for name in _LOSSES if name in values), None)
        rows.add(
            "steps", line.number, attempt=position.attempt, rank=rank, place=line.location, phase="train", step=step,
            epoch=int(record[1]) if record[1] else None, step_s=step_s, averaged_steps=1, value_kind="instant", rate_scope="rank",
            loss=loss, ts=ts, ts_origin="naive" if ts else None,
            **{column: values.get(name) for name, column in _COLUMNS.items()},
        )  # fmt: skip
        others = [(name, value, _UNITS.get(name)) for name, value in values.items() if name not in _COLUMNS]
        rows.metrics(line.number, rank, line.location, step, others)
        rows.param("framework", "xtuner", line.number)
        rows.param("max_steps", int(record[3]), line.number)


def _fields_of(text: str) -> dict[str, float]:
    """Numbers of a record by name, memory in bytes; none where the text breaks off."""
    values, end = dict[str, float](), 0
    while field := _FIELD.match(text, end):
        values[field[1]] = float(field[2]) * (1024**3 if field[3] else 1)
        end = field.end()
    return values if end == len(text) or _REMAINING.match(text, end) else {}
