"""Progress lines of timm's train.py.

Tool: timm (pytorch-image-models), train.py and its forks
Versions: 0.1 to 1.0
Yields: params, steps, metrics
Source: pytorch-image-models/train.py, train_one_epoch(), validate() and main()

`Time` and its rate are of one update, what is in brackets is a mean since the epoch's start and left out.  The rate
is of the whole job; the process that prints is rank 0, in old versions one of each node.  Times have three decimals: the
global batch is not computed from them, but taken where the log says it.

Samples:
    Train: 0 [  50/1251 (  4%)]  Loss: 6.95 (6.93)  Time: 0.301s, 3401.99/s  (0.320s, 3200.00/s)  LR: 1.000e-06  Data: 0.010 (0.024)
    Train: 12 [ 100/312 ( 32%)]  Loss:  6.953125 (6.9349)  Time: 0.512s,  500.00/s  (0.620s,  412.90/s)  LR: 1.000e-02  Data: 0.010 (0.024)
    Test (EMA): [   0/48]  Time: 2.113 (2.113)  Loss:  0.9123 (0.9123)  Acc@1:  78.125 ( 78.125)  Acc@5:  93.750 ( 93.750)
    Model resnet50 created, param count:25557032
    Training in distributed mode with multiple processes, 1 device per process.Process 0, total 8, device cuda:0.
    Training with a single process on 1 device (cuda:0).
    Using native Torch AMP. Training in mixed precision.
    AMP not enabled. Training in float32.
    Learning rate (0.5) calculated from base learning rate (0.1) and effective global batch size (1280) with linear scaling.
    *** Best metric: 78.61 (epoch 298)
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 2
ANCHORS = (
    "%)]  Loss: ", "]  Time: ", " created, param count:", "Training in distributed mode with ",
    "Training with a single process on ", "Training in mixed precision", "Training in float32",
    " effective global batch size (", "*** Best metric: ",
)  # fmt: skip

_N = r" *(-?(?:\d+(?:\.\d*)?(?:e[-+]\d+)?|inf)|nan)"
_TRAIN = re.compile(
    rf"Train: (\d+) \[ *(\d+)/(\d+) +\( *\d+%\)\]  Loss:{_N} +\({_N}\)  Time:{_N}s,{_N}/s +\({_N}s,{_N}/s\)"
    rf"  LR: (\d\.\d{{3}}e[-+]\d+)  Data:{_N} \({_N}\)"
)
_BEGUN = re.compile(r"Train: \d+ \[ *\d+/\d+ +\( *\d+%\)\]  Loss: ")
_TEST = re.compile(
    rf"Test(?: \([\w-]+\))?: \[ *(\d+)/\d+\]  Time:{_N} \({_N}\)  Loss:{_N} \({_N}\)  Acc@1:{_N} \({_N}\)  Acc@5:{_N} \({_N}\)"
)
_FACTS = (
    ("model", re.compile(r"Model ([\w.:/-]+) created, param count:\d")),
    ("parameters", re.compile(r"Model [\w.:/-]+ created, param count: *(\d+)")),
    ("devices", re.compile(r"Training in distributed mode with .{0,80}?Process \d+, total (\d+)")),
    ("devices", re.compile(r"Training with a single process on (\d+) (?:device|GPU)s?\b")),
    ("global_batch_size", re.compile(r" effective global batch size \((\d+)\)")),
)
_PRECISIONS = (
    ("amp", re.compile(r"AMP\. Training in mixed precision")),
    ("fp32", re.compile(r"AMP not enabled\. Training in float32")),
)
_BEST = re.compile(r"\*\*\* Best metric: (\d+(?:\.\d*)?) \(epoch (\d+)\)")


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.at: dict[tuple[int | None, str | None], tuple[int, int, int]] = {}  # epoch, index, attempt

    def take(self, line: Line) -> bool:
        if match := _TRAIN.search(line.text):
            self.train(match, line)
        elif _BEGUN.search(line.text):
            self.rows.problem(line.number, "the record is cut, or something else was printed into it", line.text)
        elif match := _TEST.search(line.text):
            epoch, _, attempt = self.at.get((line.rank, line.location), (None, 0, 0))
            self.rows.add(
                "steps", line.number, attempt=attempt, rank=line.rank, place=line.location, phase="validation",
                epoch=epoch, step=int(match[1]), step_s=float(match[2]), averaged_steps=1, value_kind="instant",
                loss=float(match[4]), accuracy=float(match[6]) / 100,
            )  # fmt: skip
        elif match := _BEST.search(line.text):
            self.rows.metric(line.number, line.rank, line.location, self.rows.step, "Best metric", float(match[1]))
        else:
            return self.facts(line)
        return True

    def facts(self, line: Line) -> bool:
        facts = [(key, match[1]) for key, pattern in _FACTS if (match := pattern.search(line.text))]
        facts += [("precision", name) for name, pattern in _PRECISIONS if pattern.search(line.text)]
        for key, value in facts:
            self.rows.param(key, int(value) if value.isdecimal() else value, line.number)
        return bool(facts)

    def train(self, match: re.Match[str], line: Line) -> None:
        epoch, index, total = int(match[1]), int(match[2]), int(match[3])
        attempt = self.rows.attempt_of(line.number, epoch * total + index, line.rank, line.location).attempt
        self.at[line.rank, line.location] = epoch, index, attempt
        self.rows.param("framework", "pytorch", line.number, origin="inferred")
        self.rows.param("iterations_per_epoch", total, line.number)
        self.rows.add(
            "steps", line.number, attempt=attempt, rank=line.rank, place=line.location, phase="train", epoch=epoch,
            step=epoch * total + index, step_s=float(match[6]), averaged_steps=1, value_kind="instant",
            samples=self.rows.params.get("global_batch_size"), samples_per_s=float(match[7]), rate_scope="global",
            data_s=float(match[11]), loss=float(match[4]), learning_rate=float(match[10]),
        )  # fmt: skip
