"""Tables of a training that are printed line by line: names in one line, and below it numbers in columns.

Tool: fastai's Learner.fit, skorch's PrintLog, Chainer's PrintReport, and scripts that print such tables
Versions: columns between blanks, or between `|`; a rule below the names, or none
Yields: steps, phases, metrics, params
Source: fastprogress/fastprogress.py, text_progress(); skorch/callbacks/logging.py, PrintLog;
    chainer/training/extensions/print_report.py, PrintReport; docs/generic.md says how names are read

One column has to count epochs or steps, and another to be a loss or an accuracy.  `00:42` in a cell is 42 s.  The times
of skorch (`dur`) and Chainer (`elapsed_time`) are in seconds; any other time needs its unit in the name of its column.

Samples:
    epoch     train_loss  valid_loss  accuracy  time
    0         0.412317    0.365120    0.853000  00:42
"""

from collections.abc import Iterator
from typing import Any

from scalelens import tabular
from scalelens.parsing import lazy_re as re
from scalelens.parsing.launcher_prefixes import ANSI
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.tabular.cells import TableRecord, head_lines, lines_of
from scalelens.tabular.column_names import read_name
from scalelens.tabular.unknown_logs.shapes import COUNTS

VERSION = 1
LAST = True  # any other format comes first
GUESSES = True

_BORDERS = re.compile(r"[|\u2502\u2503]")
_BLANKS = re.compile(r"\s{2,}|\t")
_RULE = re.compile(r"[\s|+=:\u2500-\u257f-]*\Z")
_NAME = re.compile(r"[^\W\d_][\w /%()\[\].:@#-]{0,40}\Z")
_MEASURED = re.compile(r"loss|acc|perplexity|(?<![a-z])ppl", re.IGNORECASE)
_SPAN = re.compile(r"(?:(\d+):)?(\d+):([0-5]\d(?:\.\d+)?)\Z")
_NUMBER = re.compile(r"[-+]?(?:\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|nan|inf)\Z", re.IGNORECASE)
_IN_SECONDS = ({"dur", "train_loss"}, {"elapsed_time", "main/loss"})  # names that skorch and Chainer print together
_BAR_OF_EPOCH = re.compile(r"Epoch \d+/\d+ : \|")  # fastprogress draws it below the names, before the first row
_LEAST = 3  # columns
_IN_HEAD = 2_000  # lines that are searched for the names


def recognise(head: bytes, name: str) -> bool:
    if not tabular.is_text(head):
        return False
    names: list[str] = []
    for k, raw in enumerate(head_lines(head)):
        line = _shown(raw)
        if names and (_numbers_of(line, names) or _BAR_OF_EPOCH.search(raw)):
            return True
        names = _names_of(line) or (names if _RULE.match(line) else [])
        if k > _IN_HEAD:
            break
    return False


def read(source: Source, rows: Rows) -> str | None:
    return tabular.read(source, rows, _records)


def _shown(line: str) -> str:
    """What a terminal shows of a line in the end: without colors, and without the bars that were drawn in its place."""
    return (ANSI.sub("", line) if "\x1b" in line else line).rpartition("\r")[2]


def _names_of(line: str) -> list[str]:
    """The names of the columns, where a line is the header of a table of a training; else nothing."""
    if not _MEASURED.search(line):
        return []
    cells = _cells_of(line)
    usual = len(cells) >= _LEAST and len(set(cells)) == len(cells) and all(map(_NAME.match, cells))
    if not usual or not any(read_name(cell).role in COUNTS for cell in cells):
        return []
    return cells


def _cells_of(line: str) -> list[str]:
    bordered = _BORDERS.search(line)
    cells = (_BORDERS if bordered else _BLANKS).split(line.strip())
    return [cell.strip() for cell in (cells[1:-1] if bordered and line.strip()[:1] in "|\u2502\u2503" else cells)]


def _numbers_of(line: str, names: list[str]) -> list[str]:
    """The cells of a row; nothing where a line is not one: each cell that counts is a number, and so are most others."""
    cells = _cells_of(line)
    if len(cells) != len(names):
        cells = line.split()
    if len(cells) != len(names):
        return []
    counts = [cell for cell, name in zip(cells, names, strict=True) if read_name(name).role in COUNTS]
    numbers = sum(bool(_NUMBER.match(cell) or _SPAN.match(cell)) for cell in cells)
    return cells if all(cell.isdecimal() for cell in counts) and 2 * numbers > len(cells) else []


def _records(source: Source) -> Iterator[TableRecord]:
    """The rows of all tables of a text; each header may have other names."""
    names: list[str] = []
    for number, raw, whole in lines_of(source):
        text = _shown(raw)
        if header := _names_of(text):
            names = header
        elif names and (cells := _numbers_of(text, names)):
            if whole:
                yield TableRecord(number, dict(map(_value, names, cells, [names] * len(names))), None, text)
            else:
                yield TableRecord(number, {}, "the line has no end and may be cut: it is not read", text)


def _value(name: str, cell: str, names: list[str]) -> tuple[str, Any]:
    """Column and value of a cell."""
    if span := _SPAN.match(cell):
        hours, minutes, seconds = (float(part or 0) for part in span.groups())
        return f"{name} [s]", hours * 3600 + minutes * 60 + seconds
    known = any(name in together and together <= set(names) for together in _IN_SECONDS) and "loss" not in name
    return f"{name} [s]" if known else name, cell
