"""The table of epochs that spytensor's baselines for image classification print.

Tool: plants_disease_detection and pytorch_classification_baseline of spytensor, and trainings made from them
Versions: 2018 to 2024
Yields: steps, phases, metrics, params
Source: main.py, the line that is written to the log after each epoch; utils/misc.py, time_to_str()

A line is an epoch: its count, the loss and accuracies of the validation, then those of the training, and the time since
the start of the launch, in whole minutes.  An epoch took what that grew by, with its validation, where it is ten
minutes or more; of shorter ones the mean over ten minutes or more is a metric, `epoch time`.  `iter` is the epoch, too.

Samples:
    0.0001   3.0    3.0        | 0.383  84.593  98.787          | 0.527  80.557  96.049         |         85.42011         |  1 hr 51 min
"""

from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.since_start import SinceStart

VERSION = 1
ANCHORS = (" hr ",)

_N = r"(?:-?\d+(?:\.\d+)?|nan)"
_VALUES = rf" *({_N})(?: +{_N}){{1,5}} *"
_RECORD = re.compile(
    rf"\s*({_N}) +\d+\.\d+ +(\d+)\.0 +\|{_VALUES}\|{_VALUES}\| *{_N} *\| +(\d{{1,5}}) hr ([0-5]\d) min\s*\Z"
)
_BEGINS = re.compile(rf"\s*{_N} +\d+\.\d+ +\d+\.0 +\|{_VALUES}\|.*\d hr ")
_DIGIT_S = 60.0


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.clocks: dict[Any, tuple[int, SinceStart]] = {}

    def take(self, line: Line) -> bool:
        record = _RECORD.match(line.text)
        if record is None:
            if begins := _BEGINS.match(line.text):
                self.rows.problem(line.number, "the record is cut", line.text)
            return bool(begins)
        rows, epoch, whose = self.rows, int(record[2]), (line.rank, line.location)
        before, clock = self.clocks.get((rows.part, *whose), (epoch, SinceStart()))
        if epoch <= before and (rows.part, *whose) in self.clocks:
            rows.attempt, clock = rows.attempt + 1, SinceStart()
        self.clocks[rows.part, *whose] = epoch, clock
        loss, validated = float(record[4]), float(record[3])
        rows.add(
            "steps", line.number, attempt=rows.attempt, rank=line.rank, place=line.location, phase="train", epoch=epoch,
            loss=loss if loss == loss else None, learning_rate=float(record[1]),
        )  # fmt: skip
        told = clock.times(epoch, int(record[5]) * 3600.0 + int(record[6]) * 60.0, _DIGIT_S)
        named = [("validation loss", validated, None)] if validated == validated else []
        rows.metrics(line.number, *whose, epoch, named)
        if told and told["averaged_steps"] == 1:
            rows.add(
                "phases", line.number, attempt=rows.attempt, rank=line.rank, place=line.location, phase="epoch",
                epoch=epoch, span_s=told["step_s"], origin="derived",
            )  # fmt: skip
        elif told:
            rows.metrics(line.number, *whose, epoch, [("epoch time", told["step_s"], "s")], stat="mean")
        rows.param("framework", "pytorch", line.number, origin="inferred")
        return True
