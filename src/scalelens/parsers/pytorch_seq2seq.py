"""Progress of PyTorch's tutorial on translation: the time since the start, and what is left of it.

Tool: the tutorial "NLP From Scratch: Translation with a Sequence to Sequence Network", and scripts made from it
Versions: all
Yields: steps
Source: tutorials/intermediate_source/seq2seq_translation_tutorial.py, timeSince() and the print in train()

The count in brackets is of iterations, or of epochs in later versions of the tutorial (its loop is called
`for epoch in range(1, n_epochs + 1)`): both are a step of the loop here.  A time of a step is what the seconds grew by, over
the count between two lines; they are whole seconds, so that it comes where ten lie between two lines or more.

Samples:
    2m 31s (- 35m 20s) (5000 6%) 2.8125
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.since_start import LaunchClocks

VERSION = 1
ANCHORS = ("s (- ",)

_RECORD = re.compile(r"(\d{1,7})m (\d{1,2})s \(- -?\d{1,7}m \d{1,2}s\) \((\d{1,12}) \d{1,3}%\) (\d+\.\d+|nan|inf)\s*\Z")
_DIGIT_S = 1.0


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.clocks = LaunchClocks(rows, _DIGIT_S)

    def take(self, line: Line) -> bool:
        record = _RECORD.match(line.text)
        if not record:
            return False
        elapsed_s, loss = 60.0 * int(record[1]) + int(record[2]), float(record[4])
        self.rows.add(
            "steps", line.number, **self.clocks.step(line, int(record[3]), elapsed_s),
            loss=loss if loss == loss else None, nan_steps=1 if loss != loss else None,
        )  # fmt: skip
        return True
