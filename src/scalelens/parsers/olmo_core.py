"""OLMo-core's block of a step.

Tool: OLMo-core
Versions: 2024 and later; in a file with tabs, on a terminal with blanks
Yields: steps, metrics, params
Source: olmo_core/train/callbacks/console_logger.py and speed_monitor.py; olmo_core/utils.py, format_float()

`BPS` is one over the time of the one step, with four digits, or four decimals below one; where these leave more than a
fiftieth open, it gives no time.  Its `(actual avg)` is a mean since the start and stays a metric, as does every other
value of a block.  Blocks of several steps are printed together: their stamps say when.  The first step has no `BPS` and
no row.  Tokens of a step are the difference of two blocks, as long as they are printed in full.

Samples:
    2026-03-04 16:08:31.250	node-1:0	olmo_core.train.callbacks.console_logger:94	INFO	[step=20/40000,epoch=1,eta=5h11m]
    [2026-03-04 16:05:10] INFO     [olmo_core.train.callbacks.console_logger:94, node-1, rank=0] [step=1/40000,epoch=1]
"""

from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.stamps import line_time

VERSION = 1
ANCHORS = ("olmo_core.train.callbacks.console_logger:",)
LATER = ("loss", "tokens")  # stand after the speed in most versions

_HEAD = re.compile(
    r"\[?(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{3})?)\]?[ \t].{0,200}\bolmo_core\.train\.callbacks\.console_logger:\d+"
    r".{0,200}?\[step=(\d{1,15})/(\d{1,15}|\?\?\?),epoch=(\d{1,9})(?:,eta=[^\]]{0,60})?\]\s*$"
)
_BLOCK = re.compile(r"    ([A-Za-z][^=]{1,199})=(-?(?:[\d.,]+(?:E[-+]?\d+)?|nan|inf))([BTPE]?)\s*$")
_SPEED, _TOKENS = "throughput/device/BPS", "throughput/total tokens"
_COLUMNS = {
    "train/CE loss": "loss", "optim/total grad norm": "grad_norm", "optim/LR (group 0)": "learning_rate",
}  # fmt: skip
_UNITS = {
    "throughput/device/TPS": "tokens/s/device", "throughput/device/TPS (actual avg)": "tokens/s/device",
    "throughput/device/MFU": "%", "throughput/device/MFU (actual avg)": "%", _TOKENS: "tokens",
    "throughput/device/data loading (s)": "s", "throughput/device/data loading (%)": "%",
}  # fmt: skip
_SCALE = {"": 1.0, "B": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
_OPEN = 0.02  # share of a time that its digits may leave open


class Reader:
    claims: re.Pattern[str] | None = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.head: re.Match[str] | None = None
        self.values: dict[str, Any] = {}  # of the block
        self.speed: tuple[Line, float | None] | None = None  # of the block: its line, and seconds of the step
        self.before: tuple[int, int] | None = None  # step, and tokens until then

    def take(self, line: Line) -> bool:
        self.put()
        self.claims, head = None, _HEAD.match(line.text)
        if not head:
            return False
        self.head, self.claims = head, _BLOCK
        if head[2] == head[3]:
            self.rows.param("outcome", "completed", line.number, origin="inferred")
        return True

    def more(self, line: Line) -> None:
        block = _BLOCK.match(line.text)
        if not block or not self.head:
            return
        name, printed = block[1].strip(), block[2].replace(",", "")
        try:
            value = float(printed) * _SCALE[block[3]]
        except ValueError:
            self.rows.problem(line.number, f"the value of '{name}' is not a number", line.text)
            return
        if name == _SPEED:
            self.speed = line, _seconds(printed)
            return
        if name == _TOKENS and printed.isdigit() and not block[3]:
            self.values["tokens"] = int(value)
        elif column := _COLUMNS.get(name):
            self.values[column] = value
        if name != "train/CE loss" and name != "optim/total grad norm":
            step, unit = int(self.head[2]), _UNITS.get(name)
            self.rows.metric(line.number, line.rank, line.location, step, name, value, unit)

    def finish(self) -> None:
        self.put()

    def put(self) -> None:
        """Writes the row of the last block."""
        head, values, speed, self.values, self.speed = self.head, self.values, self.speed, {}, None
        if not head:
            return
        rows, step, so_far = self.rows, int(head[2]), values.pop("tokens", None)
        if not speed:
            self.before = self.before if so_far is None else (step, so_far)
            return
        line, step_s = speed
        ts = line_time(head[1], line, rows)
        position = rows.attempt_of(line.number, step, line.rank, line.location, ts)
        before = None if position.begins and self.before and self.before[0] >= step else self.before
        self.before = None if so_far is None else (step, so_far)
        if so_far is not None and before and step > before[0] and so_far > before[1]:
            values["tokens"] = (so_far - before[1]) / (step - before[0])
        rows.add(
            "steps", line.number, attempt=position.attempt, rank=line.rank, place=line.location, phase="train", step=step,
            epoch=int(head[4]), step_s=step_s, value_kind="instant" if step_s else None, ts=ts,
            ts_origin="naive" if ts else None, **values,
        )  # fmt: skip
        rows.param("framework", "olmo_core", line.number)


def _seconds(printed: str) -> float | None:
    """Seconds of a step by how many there are in one, as far as its digits tell them."""
    digits, _, exponent = printed.lower().partition("e")
    open_by = 0.5 * 10.0 ** (int(exponent or 0) - len(digits.partition(".")[2]))
    speed = float(printed)
    return 1 / speed if speed > 0 and open_by <= _OPEN * speed else None
