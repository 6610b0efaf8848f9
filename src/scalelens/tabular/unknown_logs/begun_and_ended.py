"""The times of epochs by two lines for each: one that says when it began, and one that says when it ended.

    2026-01-02 03:04:05 - Starting epoch 3          Epoch 3 begin at: 2026-01-02 03:04:05
    2026-01-02 03:06:18 - Finished epoch 3          Epoch 3 end at: 2026-01-02 03:06:18

They stand by turns, for one epoch after the other, and each has a stamp.  What lies between two epochs, such as a
validation, is in none.
"""

import itertools
import statistics
from collections.abc import Sequence
from typing import NamedTuple

from scalelens.parsing import lazy_re as re
from scalelens.parsing.recurring_lines import ELSEWHERE
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.tabular.unknown_logs.clock import Clock, Stamp
from scalelens.tabular.unknown_logs.lines import log_lines
from scalelens.tabular.unknown_logs.shapes import Shape, shaped

_BEGINS = re.compile(r"(?<![a-z])(?:start(?:s|ed|ing)?|beg[iau]n(?:s|ning)?)(?![a-z])", re.IGNORECASE)
_ENDS = re.compile(r"(?<![a-z])(?:end(?:s|ed)?|finish(?:ed|es)?|completed?|done)(?![a-z])", re.IGNORECASE)
_LEAST = 3  # epochs
_FINE = 10  # last digits of the stamps that an epoch takes
_MOST_LINES = 1_000_000


class _Told(NamedTuple):
    """A line that begins or ends an epoch."""

    number: int
    epoch: int
    begins: bool
    seconds: float
    resolution_s: float


def epochs_begun_and_ended(source: Source, rows: Rows, shapes: Sequence[Shape]) -> bool:
    """Rows of the times of epochs by the lines that begin and end them.  Whether there are such."""
    stamped = [shape for shape in shapes if shape.of_epochs_alone and shape.with_stamp == shape.lines >= _LEAST]
    begun = [shape.key for shape in stamped if _begins(shape.example)]
    ended = [shape.key for shape in stamped if _begins(shape.example) is False]
    if len(begun) != 1 or len(ended) != 1:
        return False
    told = _told_in(source, begun[0], ended[0])
    pairs = list(itertools.pairwise(told))
    spans = [
        (later, later.seconds - now.seconds)
        for now, later in pairs
        if now.begins and not later.begins and now.epoch == later.epoch
    ]
    by_turns = all(now.begins != later.begins for now, later in pairs)
    if not by_turns or len(spans) < max(_LEAST, len(told) // 2 - 1):
        return False
    seconds = [span_s for _, span_s in spans]
    if min(seconds) < 0 or statistics.median(seconds) < _FINE * max(line.resolution_s for line in told):
        return False
    attempt, last = 0, spans[0][0].epoch - 1
    for line, span_s in spans:
        attempt, last = attempt + (line.epoch <= last), line.epoch
        rows.add(
            "phases", line.number, attempt=attempt, phase="epoch", epoch=line.epoch, span_s=round(span_s, 6),
            origin="derived",
        )  # fmt: skip
    return True


def _begins(text: str) -> bool | None:
    """Whether a line says that an epoch begins, or that it ended; None where it says neither, or of other work."""
    begins, ends = _BEGINS.search(text), _ENDS.search(text)
    return None if bool(begins) == bool(ends) or ELSEWHERE.search(text) else bool(begins)


def _told_in(source: Source, begun: tuple[object, ...], ended: tuple[object, ...]) -> list[_Told]:
    """The lines that begin and end epochs; none where several programs print them."""
    told: list[_Told] = []
    clock, writers = Clock(), set()
    for line, whole in itertools.islice(log_lines(source), _MOST_LINES):
        parts = shaped(line.text) if whole else None
        stamp: Stamp | None = parts.parsed.stamp if parts and parts.key in (begun, ended) else None
        if parts is None or stamp is None:
            continue
        writers.add((line.rank, line.location))
        epoch = parts.parsed.fields[parts.counts[0].field].value or 0.0
        told.append(_Told(line.number, int(epoch), parts.key == begun, clock.seconds(stamp), stamp.resolution_s))
    return told if len(writers) == 1 else []
