"""The line of a step of the scripts that fine-tune GPT-2 in TensorFlow.

Tool: train.py of nshepperd's fork of gpt-2, and gpt-2-simple
Versions: all
Yields: steps, params
Source: gpt_2_simple/gpt_2.py, finetune(), the print below `if counter % print_every == 0`

The seconds after the step are those since the start of the program: a time of a step is what they grew by, over the steps
between two lines.  Samples and checkpoints that are written between them are in it.  The second loss is a running mean, and is
left out.  A resumed training goes on counting its steps, and its seconds begin anew.

Samples:
    [10 | 28.31] loss=3.52 avg=3.61
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.since_start import LaunchClocks

VERSION = 1
ANCHORS = ("] loss=",)

_RECORD = re.compile(r"\[(\d{1,9}) \| (\d{1,9}\.\d\d)\] loss=(-?\d+\.\d\d|nan|inf) avg=(?:-?\d+\.\d\d|nan|inf)\s*\Z")
_CUT = re.compile(r"\[\d{1,9} \| \d{1,9}\.\d\d\] loss=[-\d.]*(?: avg=[-\d.]*)?\s*\Z")
_DIGIT_S = 0.01


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
        rows, times = self.rows, self.clocks.step(line, int(record[1]), float(record[2]))
        rows.add("steps", line.number, **times, loss=float(record[3]))
        rows.param("framework", "tensorflow", line.number)
        return True
