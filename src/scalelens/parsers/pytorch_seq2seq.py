"""Progress of PyTorch's tutorials on recurrent networks: the time since the start, and what is left of it.

Tool: the tutorials "NLP From Scratch", on translation and on names letter by letter, and scripts made from them
Versions: all
Yields: steps
Source: tutorials/intermediate_source/seq2seq_translation_tutorial.py, timeSince() and the print in train();
char_rnn_generation_tutorial.py (nothing is left there) and char_rnn_classification_tutorial.py

The count in brackets, or before the time, is of iterations, or of epochs in later versions of the tutorial (its loop is called
`for epoch in range(1, n_epochs + 1)`): both are a step of the loop here.  A time of a step is what the seconds grew by, over
the count between two lines; they are whole seconds, so that it comes where ten lie between two lines or more.

Samples:
    2m 31s (- 35m 20s) (5000 6%) 2.8125
    1m 16s (15000 15%) 2.7344
    15000 15% (1m 16s) 2.2188 Reyes / Portuguese ✗ (Spanish)
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.since_start import LaunchClocks

VERSION = 2
ANCHORS = ("s (- ", "%) ", "% (")

_SINCE = r"(?P<minutes>\d{1,7})m (?P<seconds>\d{1,2})s"
_COUNT, _LOSS = r"(?P<count>\d{1,12}) \d{1,3}%", r"(?P<loss>\d+\.\d+|nan|inf)"
_RECORD = re.compile(
    rf"(?<![\w.]){_SINCE}(?: \(- -?\d{{1,7}}m \d{{1,2}}s\))? \({_COUNT}\) (?:(?:train(?:ing)? )?loss ?[:=] ?)?{_LOSS}\s*\Z"
)
_OF_NAMES = re.compile(rf"{_COUNT} \({_SINCE}\) {_LOSS} \S.* / ")
_DIGIT_S = 1.0


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.clocks = LaunchClocks(rows, _DIGIT_S)

    def take(self, line: Line) -> bool:
        record = _RECORD.search(line.text) or _OF_NAMES.match(line.text)
        if not record:
            return False
        elapsed_s, loss = 60.0 * int(record["minutes"]) + int(record["seconds"]), float(record["loss"])
        self.rows.add(
            "steps", line.number, **self.clocks.step(line, int(record["count"]), elapsed_s),
            loss=loss if loss == loss else None, nan_steps=1 if loss != loss else None,
        )  # fmt: skip
        return True
