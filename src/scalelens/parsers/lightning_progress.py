"""Lightning's progress bars.

Tool: Lightning (pytorch_lightning, lightning.pytorch), TQDMProgressBar and RichProgressBar
Versions: 1.0 to 2.x
Yields: params, steps, metrics
Source: lightning/pytorch/callbacks/progress/tqdm_progress.py, init_train_tqdm(); rich_progress.py; lightning/fabric/utilities/distributed.py

The rate of the bar is the batches since the epoch began over the time since then (tqdm without smoothing): a running
mean, with two decimals.  Other loops draw the same bar with tqdm's moving average: only where Lightning's logger names
its version (`v_num`) is it known of how many steps the rate is the mean.  Before 2.0 the batches of the validation are counted in the same bar.  A bar is drawn again
and again: a batch counts once.  In a narrow terminal tqdm leaves out the bar itself.  Rich's rate is that of the last
half minute.  NeMo's bars, which say the time of a step, are read as such.

Samples:
    Epoch 3:  22%|██▏       | 275/1250 [00:34<02:01,  8.05it/s, v_num=4711, train_loss=0.9125]
    Epoch 0: 100%|██████████| 18/18 [01:15<00:00,  4.17s/it, loss=1.125, v_num=0]
    Epoch 3:  22% 275/1250 [00:34<02:01,  8.05it/s, v_num=4711, train_loss=0.9125]
    Epoch 3/9 ━━━━━━━━╸━━━━━━ 275/1250 0:00:34 • 0:02:01 8.05it/s v_num: 0.000 train_loss: 0.912
    Initializing distributed: GLOBAL_RANK: 1, MEMBER: 2/16
"""

import re

from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 4
ANCHORS = ("it/s", "s/it", "GLOBAL_RANK: ")

_BAR = re.compile(
    r"(?:Training )?Epoch (\d{1,9}): +(?:\d+%|(?:\d+%)?\|[^|]*\|) +(\d{1,9})/(\d{1,9}) \[[\d:]+<[\d:?]+, +(\d+\.\d+)(s/it|it/s)"
    r"([^\]]*)(\])?"
)
_RICH = re.compile(
    r"Epoch (\d{1,9})(?:/-?\d{1,9})? [━╸╺ -]{0,500}(\d{1,9})/(\d{1,9}) \d+:\d\d:\d\d • [\d:-]+ (\d+\.\d+)(it/s)(.*)()"
)
_SETTING = re.compile(r", ([A-Za-z][\w./ -]*)=(-?(?:\d+(?:\.\d*)?(?:e[-+]?\d+)?|inf)|nan)(?=, |\Z)")
_RICH_SETTING = re.compile(r" ([A-Za-z][\w./-]*): (-?(?:\d+(?:\.\d*)?(?:e[-+]?\d+)?|inf)|nan)(?= |\Z)")
_MEMBER = re.compile(r"(?i:initializing )\w+: GLOBAL_RANK: \d+, MEMBER: \d+/(\d{1,7})\b")
_OF_NEMO = ("train_step_timing in s=", "consumed_samples=")  # a format of its own
_LOSSES = ("train_loss_step", "reduced_train_loss", "train_loss", "train/loss", "loss")
_VERSION_OF_LOGGER = re.compile(r"\bv_num[=:] ?(\w{1,40})")


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.logger: str | None = None  # its version
        self.at: dict[tuple[int | None, str | None], tuple[int, int, int]] = {}  # epoch, batch, restarts

    def take(self, line: Line) -> bool:
        if member := _MEMBER.search(line.text):
            self.rows.param("devices", int(member[1]), line.number)
            return True
        bar = _BAR.search(line.text) or _RICH.search(line.text)
        if not bar or any(name in bar[6] for name in _OF_NEMO):
            return False
        if bar[7] is None or not float(bar[4]):
            if bar[7] is None:
                self.rows.problem(line.number, "the bar is cut, or something else was printed into it", line.text)
            return True
        epoch, batch, total = (int(number) for number in bar.groups()[:3])
        *before, _ = self.at.get((line.rank, line.location), (-1, -1, 0))
        if [epoch, batch] != before and batch:
            self.version(bar[6])
            attempt = self.rows.attempt_of(line.number, (epoch, batch), line.rank, line.location, once=False).attempt
            self.at[line.rank, line.location] = epoch, batch, attempt
            self.record(bar, epoch, batch, epoch * total + batch, attempt, line)
        return True

    def version(self, fields: str) -> None:
        """Each launch has a version of its own, which its logger counts up."""
        version = _VERSION_OF_LOGGER.search(fields)
        if version and self.logger not in (None, version[1]):
            self.rows.launched()
        self.logger = version[1] if version else self.logger

    def record(self, bar: re.Match[str], epoch: int, batch: int, step: int, attempt: int, line: Line) -> None:
        rows = self.rows
        settings = (_SETTING if bar[7] else _RICH_SETTING).findall(bar[6])
        values = {name: float(value) for name, value in settings if name != "v_num" and value != "nan"}
        loss = next((name for name in _LOSSES if name in values), "")
        rows.param("framework", "pytorch", line.number, origin="inferred")
        rows.add(
            "steps", line.number, attempt=attempt, rank=line.rank, place=line.location, phase="train", epoch=epoch,
            step=step, step_s=float(bar[4]) if bar[5] == "s/it" else 1 / float(bar[4]), 
            averaged_steps=batch if bar[7] and _VERSION_OF_LOGGER.search(bar[6]) else None,
            value_kind="running_mean", loss=values.pop(loss, None),
        )  # fmt: skip
        rows.metrics(
            line.number, line.rank, line.location, step, [(name, value, None) for name, value in values.items()]
        )
