"""Records of VITS, and of the voice trainings that were made from it.

Tool: jaywalnut310/vits; so-vits-svc, Retrieval-based-Voice-Conversion, GPT-SoVITS, MB-iSTFT-VITS
Versions: 2021 to 2025
Yields: steps, phases
Source: vits/train_ms.py, train_and_evaluate(); vits/utils.py, get_logger()

No line states a time but the logger's stamps.  Between two records of an epoch the steps passed that the second line of each
counts, where no checkpoint was written between them.  From the line that ends one epoch to that of the next lies an epoch,
with its evaluations; where that line states what the epoch cost, it is that.

Samples:
    2026-01-02 03:04:05,678	voice_a	INFO	Train Epoch: 3 [40%]
    2026-01-02 03:04:35,210	voice_a	INFO	====> Epoch: 3
    2026-01-02 03:04:35,210	voice_a	INFO	====> Epoch: 3, cost 60.25 s
"""

from datetime import datetime
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 1
ANCHORS = ("\tTrain Epoch: ", "\t[", "\tLosses: [", "\t====> Epoch: ", "\tSaving model and optimizer state")

_STAMP = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})\t[^\t]{1,80}\tINFO\t")
_EPOCH = re.compile(r"Train Epoch: (\d{1,9}) \[\d{1,3}%\]\s*\Z")
_LIST = re.compile(
    r"\[(?:-?[\d.e+-]{1,30}|nan|inf)(?:, (?:-?[\d.e+-]{1,30}|nan|inf)){1,12}, (\d{1,15}), [\d.e-]{1,30}\]\s*\Z"
)
_LOSSES = re.compile(r"Losses: \[[^\]]{1,200}\], step: (\d{1,15}), lr: ")
_ENDED = re.compile(r"====> Epoch: (\d{1,9})(?:, cost (\d{1,9}(?:\.\d{1,9})?) s)?\s*\Z")
_SAVED = re.compile(r"Saving model and optimizer state")


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.epoch: int | None = None  # of the record whose losses the next line has
        self.before: tuple[int, int, datetime] | None = None  # epoch, step and stamp of the record before
        self.ended: tuple[int, datetime] | None = None  # the epoch that ended last

    def take(self, line: Line) -> bool:
        if not (stamp := _STAMP.match(line.text)):
            return False
        now, said = datetime.fromisoformat(stamp[1].replace(",", ".")), line.text[stamp.end() :]
        if epoch := _EPOCH.match(said):
            self.epoch = int(epoch[1])
            return True
        if _SAVED.match(said):
            self.before = None
            return False
        if ended := _ENDED.match(said):
            self.end(line, int(ended[1]), ended[2], now)
            return True
        step = (_LIST.match(said) or _LOSSES.match(said)) if self.epoch is not None else None
        if step is None or self.epoch is None:
            return False
        self.put(line, self.epoch, int(step[1]), now)
        self.epoch = None
        return True

    def put(self, line: Line, epoch: int, step: int, now: datetime) -> None:
        rows, before = self.rows, self.before
        position = rows.attempt_of(line.number, step, line.rank, line.location, now)
        row: dict[str, Any] = {"attempt": position.attempt, "rank": line.rank, "place": line.location, "phase": "train"}
        row |= {"epoch": epoch, "step": step, "ts": now, "ts_origin": "naive"}
        if before and before[0] == epoch and step > before[1] and not position.begins and now > before[2]:
            steps = step - before[1]
            row |= {"step_s": (now - before[2]).total_seconds() / steps, "averaged_steps": steps}
            row["value_kind"] = "instant" if steps == 1 else "interval_mean"
        self.before = epoch, step, now
        rows.param("framework", "pytorch", line.number, origin="inferred")
        rows.put("steps", line.number, row)

    def end(self, line: Line, epoch: int, cost: str | None, now: datetime) -> None:
        rows, last = self.rows, self.ended
        self.ended = epoch, now
        span_s = (now - last[1]).total_seconds() if last and epoch == last[0] + 1 else 0.0
        seconds = float(cost) if cost else span_s
        if seconds > 0:
            origin = "logged" if cost else "derived"
            rows.add(
                "phases", line.number, attempt=rows.attempt, phase="epoch", epoch=epoch, span_s=seconds, origin=origin
            )
