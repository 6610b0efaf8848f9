"""The line of an epoch that NequIP prints, below the names of its columns.

Tool: NequIP, and Allegro, which trains with it
Versions: 0.5 and 0.6
Yields: steps, phases, metrics, params
Source: nequip/train/trainer.py, Trainer.end_of_epoch_log()

`wal` is the seconds since the start: an epoch took what they grew by since the line before, with its validation, so that
the first epoch has the time since the evaluation at the start, where that was printed.  Losses are means over the epoch;
those of the validation are metrics.  A resumed training goes on counting its epochs, and its seconds begin anew.

Samples:
      Train              #    Epoch      wal       LR       loss_f       loss_e         loss
    ! Train               3   37.125    0.005        0.125        0.025         0.15
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 1
ANCHORS = (" Epoch      wal ", "! Train ", "! Validation ", "! Initial Validation ")

_NAMES = re.compile(r"[\w# ]*\bEpoch +wal +LR(?: +\S{1,60})+\s*\Z")
_N = r"(?:-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|nan|inf)"
_RECORD = re.compile(rf"! (Train|Initial Validation|Validation) +(\d{{1,9}}) +({_N}) +({_N})((?: +{_N})+)\s*\Z")


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.names: list[str] = []  # of the columns after the learning rate
        self.before: tuple[int, float] | None = None  # epoch, and seconds since the start

    def take(self, line: Line) -> bool:
        if _NAMES.match(line.text):
            self.names = line.text.split()[line.text.split().index("LR") + 1 :]
            return True
        record = _RECORD.match(line.text)
        if record is None and not (self.names and line.text.startswith("! ")):
            return False
        values = [float(value) for value in record[5].split()] if record and self.names else []
        if record is None or len(values) != len(self.names):
            self.rows.problem(line.number, "the record is cut, or has other columns than the names above it", line.text)
            return True
        self.add(line, record[1], int(record[2]), float(record[3]), float(record[4]), values)
        return True

    def add(self, line: Line, kind: str, epoch: int, seconds: float, rate: float, values: list[float]) -> None:
        rows, whose = self.rows, {"rank": line.rank, "place": line.location}
        train = kind == "Train"
        named = dict(zip(self.names, values, strict=True))
        if train:
            rows.attempt += self.before is not None and epoch <= self.before[0]
            rows.add(
                "steps", line.number, attempt=rows.attempt, **whose, phase="train", epoch=epoch,
                loss=named.pop("loss", None), learning_rate=rate,
            )  # fmt: skip
            if self.before and epoch == self.before[0] + 1 and seconds > self.before[1]:
                rows.add(
                    "phases", line.number, attempt=rows.attempt, **whose, phase="epoch", epoch=epoch,
                    span_s=seconds - self.before[1], origin="derived",
                )  # fmt: skip
        if train or (kind == "Initial Validation" and self.before is None):
            self.before = epoch, seconds
        prefix = "" if train else "validation "
        numbers = [(prefix + name, value, None) for name, value in named.items() if value == value]
        rows.metrics(line.number, line.rank, line.location, epoch, numbers)
        rows.param("framework", "nequip", line.number)
