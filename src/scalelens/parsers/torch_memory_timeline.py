"""Memory timeline of PyTorch's profiler, raw.

Tool: torch.profiler, prof.export_memory_timeline("name.raw.json.gz", device)
Versions: PyTorch 2.1 to 2.13
Yields: events, params
Source: torch/profiler/_memory_profiler.py, export_memory_timeline_raw()

An array of [time, action, bytes, category], all of one device that the file does not name.  A row is an instant: its
name is the action, its category what the memory holds, `args` the bytes that category gains or, below 0, loses.  A new
version of a tensor is two rows, one for each category.  A line is a row's place in the array, as in other traces.

Times are nanoseconds since 1970; what was there before the profile (-1) has none.

Samples:
    [[-1, 1, 37888, 7], [1696966047097422633, 2, 512, 4], [1696966047097433815, 3, -512, 4],
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source

VERSION = 1

_HEAD = re.compile(rb"(?:\xef\xbb\xbf)?\s*\[\s*\[\s*(?:-1|\d{10,19})\s*,\s*[1-4]\s*,\s*-?\d{1,18}\s*,\s*[0-7]\s*\]")
_ROW = re.compile(rb"(-1|\d{1,18}|[1-8]\d{18})\s*,\s*([1-4])\s*,\s*(-?\d{1,18})\s*,\s*([0-7])")
_ACTIONS = ("preexisting", "create", "increment_version", "destroy")  # Action, from 1
_CATEGORIES = (
    "parameter", "optimizer_state", "input", "temporary", "activation", "gradient", "autograd_detail", "unknown",
)  # fmt: skip
_LONGEST = 1 << 16  # bytes without the end of a row, after which the file is not taken for a timeline


def recognise(head: bytes, name: str) -> bool:
    return bool(_HEAD.match(head))


def read(source: Source, rows: Rows) -> None:
    number, rest, ended = 0, b"", False
    rows.param("framework", "pytorch", origin="inferred")
    rows.param("trace_clock", "unix", origin="inferred")
    for block in source.utf8():
        *items, rest = (rest + block).split(b"]")
        for item in items:
            text = item.strip(b"\xef\xbb\xbf \t\r\n,[")
            if ended or not text:  # the bracket that closes the array has nothing before it
                ended = True
                continue
            number += 1
            _row(text, number, rows)
        if len(rest) > _LONGEST:
            break
    if rest.strip() or not ended:
        rows.problem(number + 1, "the timeline is cut or damaged here", rest.decode("utf-8", "replace"))


def _row(text: bytes, number: int, rows: Rows) -> None:
    match = _ROW.fullmatch(text)
    if not match:
        rows.problem(
            number, "the row does not hold a time, an action, bytes and a category", text.decode("utf-8", "replace")
        )
        return
    time, action, changed, category = map(int, match.groups())
    rows.add(
        "events", number, ph="i", name=_ACTIONS[action - 1], category=_CATEGORIES[category],
        start_ns=None if time == -1 else time, args=f'{{"bytes": {changed}}}',
    )  # fmt: skip
