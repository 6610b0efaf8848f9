"""Epochs of a log that names each in a line of its own, with a time stamp, and measures nothing beside it.

Tool: any script that logs `Epoch: 3`, and its losses in other lines
Versions: a logger's time stamp in the line of the epoch
Yields: phases, params
Source: the user's own

Asked last of all.  The time of an epoch is that between two such lines whose numbers follow each other, with what lies
between, validation too (`derived`).  Which of the two epochs it is of shows the line of the loss: where it follows the
epoch's name at once, the epoch is over; where it stands at the end, before the next name, the epoch begins.  Where the
losses stand elsewhere, nothing is read.

Samples:
    2026-03-02 10:55:30,465 - INFO - Epoch: 01
    2026-03-02 10:55:30,465 - INFO - Train loss: 4.25, Validation loss: 3.875
"""

import itertools
import statistics
from collections import defaultdict
from typing import NamedTuple

from scalelens.parsing.dispatch import Line, clean
from scalelens.parsing.recurring_lines import RECURS
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.tabular import is_text
from scalelens.tabular.unknown_logs.clock import Clock, stamp_in
from scalelens.tabular.unknown_logs.lines import log_lines
from scalelens.tabular.unknown_logs.shapes import shaped

VERSION = 1
LAST = True  # any other format comes first
GUESSES = True
SECOND_READ = True  # also where other formats took lines, but none that are steps

_MOST_LINES = 300_000
_FINE = 10  # resolutions of the stamps within an epoch, for them to show its time
_AT_ONCE = 0.05  # share of an epoch


class _Name(NamedTuple):
    """A line that names an epoch."""

    line: int
    epoch: int
    seconds: float


class _Writer:
    """What one rank printed."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.names: list[_Name] = []
        self.losses: list[float] = []  # seconds of the lines that hold one
        self.resolution_s = 0.0

    def spans(self) -> list[tuple[_Name, _Name]]:
        least = _FINE * self.resolution_s
        pairs = itertools.pairwise(self.names)
        return [(a, b) for a, b in pairs if b.epoch == a.epoch + 1 and b.seconds - a.seconds >= least]

    def ends(self) -> bool | None:
        """Whether the name of an epoch stands at its end; None where the losses do not show it."""
        shares, index = [], 0
        spans = self.spans()
        for seconds in self.losses:
            while index < len(spans) and spans[index][1].seconds <= seconds:
                index += 1
            if index < len(spans) and spans[index][0].seconds <= seconds:
                begin, end = (name.seconds for name in spans[index])
                shares.append((seconds - begin) / (end - begin))
        if len(shares) < RECURS:
            return None
        share = statistics.median(shares)
        return share < 0.5 if share <= _AT_ONCE or share >= 1 - _AT_ONCE else None


def recognise(head: bytes, name: str) -> bool:
    return is_text(head)


def read(source: Source, rows: Rows) -> str | None:
    writers: defaultdict[tuple[int | None, str | None], _Writer] = defaultdict(_Writer)

    def look(raw: bytes) -> None:  # a line without a word of training
        if b"loss" in raw.lower():
            _take(writers, clean(raw, 0))

    for line, whole in itertools.islice(log_lines(source, look), _MOST_LINES):
        if whole:
            _take(writers, line)
    found = False
    for (rank, place), writer in writers.items():
        spans, ends = writer.spans(), writer.ends()
        if len(spans) < RECURS or ends is None:
            continue
        found = True
        for before, after in spans:
            rows.add(
                "phases", after.line, attempt=0, rank=rank, place=place, phase="epoch",
                epoch=(after if ends else before).epoch, span_s=after.seconds - before.seconds, origin="derived",
            )  # fmt: skip
    return None if found else ""


def _take(writers: defaultdict[tuple[int | None, str | None], _Writer], line: Line) -> None:
    stamp = stamp_in(line.text)
    if stamp is None:
        return
    writer = writers[line.rank, line.location]
    seconds, parts = writer.clock.seconds(stamp), shaped(line.text)
    if parts and [count.role for count in parts.counts] == ["epoch"] and len(parts.parsed.fields) == 1:
        writer.resolution_s = max(writer.resolution_s, stamp.resolution_s)
        writer.names.append(_Name(line.number, int(parts.parsed.fields[0].value or 0), seconds))
    elif "loss" in line.text.lower():
        writer.losses.append(seconds)
