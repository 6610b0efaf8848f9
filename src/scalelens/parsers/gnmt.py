"""Progress lines of NVIDIA's GNMT.

Tool: GNMT in PyTorch (NVIDIA DeepLearningExamples, MLPerf Training 0.5 to 0.7)
Versions: MLPerf 0.6 and 0.7
Yields: steps, metrics, params
Source: seq2seq/train/trainer.py, Seq2SeqTrainer.feed_data(); train.py, main()

A value comes before its mean over the epoch, which is left out: time, wait for data, tokens per second and loss are those
of one batch of one rank.  `step` counts batches over all epochs, from 0.  Tokens per second are metrics, because batches
have no fixed number of tokens; those of an epoch are of the whole job.

Samples:
    TRAIN [1][20/321]	Time 0.062 (0.071)	Data 6.25e-05 (2.25e-02)	Tok/s 51125 (33500)	Loss/tok 9.5 (10.0)	LR 5.125e-05
    VALIDATION [1][0/24]	Time 0.031 (0.031)	Data 2.25e-03 (2.25e-03)	Tok/s 91125 (91125)	Loss/tok 4.5 (4.5)
    Performance: Epoch: 1	Training: 14625000 Tok/s
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 2
ANCHORS = ("\tTok/s ", "Performance: Epoch: ")

_NUMBER = r"(\d+(?:\.\d+)?(?:e[-+]?\d+)?|nan|inf)"
_RECORD = re.compile(
    rf"(?:(\d+): )?(TRAIN|VALIDATION) \[(\d{{1,6}})\]\[(\d{{1,9}})/(\d{{1,9}})\]\tTime {_NUMBER} \({_NUMBER}\)\t"
    rf"Data {_NUMBER} \({_NUMBER}\)\tTok/s {_NUMBER} \({_NUMBER}\)(?:\tLoss/tok {_NUMBER} \({_NUMBER}\))?(?:\tLR {_NUMBER})?\s*\Z"
)
_BEGUN = re.compile(r"(?:\d+: )?(?:TRAIN|VALIDATION) \[\d+\]\[\d+/\d+\]\tTime ")
_OF_EPOCH = re.compile(r"Performance: Epoch: (\d{1,6})\t(Training|Validation): (\d+) Tok/s")


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def take(self, line: Line) -> bool:
        rows = self.rows
        if of_epoch := _OF_EPOCH.search(line.text):
            name = f"{of_epoch[2].lower()} of epoch {of_epoch[1]}"
            rows.metric(line.number, None, None, rows.step, name, float(of_epoch[3]), "tokens/s")
            return True
        record = _RECORD.match(line.text)
        if not record:
            if _BEGUN.match(line.text):
                rows.problem(line.number, "the record is cut, or something else was printed into it", line.text)
            return bool(_BEGUN.match(line.text))
        self.record(record, line)
        return True

    def record(self, record: re.Match[str], line: Line) -> None:
        rows, training = self.rows, record[2] == "TRAIN"
        rank = int(record[1]) if record[1] else line.rank
        epoch, batch, batches = int(record[3]), int(record[4]), int(record[5])
        step = epoch * batches + batch if training else rows.step
        if training:
            rows.attempt_of(line.number, step, rank, line.location)
        rows.add(
            "steps", line.number, attempt=rows.attempt, rank=rank, place=line.location,
            phase="train" if training else "validation", epoch=epoch, step=step, step_s=float(record[6]),
            averaged_steps=1, value_kind="instant", data_s=float(record[8]),
            loss=float(record[12]) if record[12] else None, learning_rate=float(record[14]) if record[14] else None,
        )  # fmt: skip
        rows.metric(line.number, rank, line.location, step, "tokens_per_s", float(record[10]), "tokens/s/device")
        rows.param("framework", "pytorch", line.number, origin="inferred")
