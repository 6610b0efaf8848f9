"""Validations of the benchmark of scene text recognition, each with the time since the start.

Tool: deep-text-recognition-benchmark (clovaai) and its forks; EasyOCR's trainer
Versions: 2019 to 2024
Yields: steps, metrics
Source: deep-text-recognition-benchmark/train.py, the validation part of the loop

The seconds are those since the training began, and a line stands after each validation, which is in them: a time of a step
is what they grew by, over the iterations between two lines, and holds its share of the validation.  A resumed training goes
on counting its iterations, and its seconds begin anew.  The first line comes after the first iteration; some forks count
from 0.

Samples:
    [2000/300000] Train loss: 0.15625, Valid loss: 0.18750, Elapsed_time: 512.25000
    [2000/300000] Train loss: 0.15625, Valid loss: 0.18750, CER : 0.125, Elapsed_time: 512.25000
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.since_start import LaunchClocks

VERSION = 1
ANCHORS = (", Elapsed_time: ",)

_N = r"(-?\d+\.\d+|nan|inf)"
_RECORD = re.compile(
    rf"\[(\d{{1,12}})/\d{{1,12}}\] Train loss: {_N}, Valid loss: {_N}, (?:[^:]{{1,40}}: ?[^,]{{1,20}}, ){{0,4}}"
    r"Elapsed_time: (\d{1,9}\.\d{5})\s*\Z"
)
_CUT = re.compile(r"\[\d{1,12}/\d{1,12}\] Train loss: .{0,80}Elapsed_time: [\d.]*\s*\Z")
_DIGIT_S = 1e-5


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.clocks = LaunchClocks(rows, _DIGIT_S)

    def take(self, line: Line) -> bool:
        record = _RECORD.match(line.text)
        if not record:
            if cut := _CUT.match(line.text):
                self.rows.problem(line.number, "the record is cut", line.text)
            return bool(cut)
        rows, step = self.rows, int(record[1])
        loss, validated = float(record[2]), float(record[3])
        rows.add(
            "steps", line.number, **self.clocks.step(line, step, float(record[4])),
            loss=loss if loss == loss else None, nan_steps=1 if loss != loss else None,
        )  # fmt: skip
        if validated == validated:
            rows.metrics(line.number, line.rank, line.location, step, [("validation loss", validated, None)])
        return True
