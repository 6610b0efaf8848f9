"""Tables of a training that are printed line by line: names in one line, and below it numbers in columns.

Tool: fastai's Learner.fit, skorch's PrintLog, Chainer's PrintReport, and scripts that print such tables
Versions: columns between blanks, or between `|`; a rule below the names, or none
Yields: steps, phases, metrics, params
Source: fastprogress/fastprogress.py, text_progress(); skorch/callbacks/logging.py, PrintLog;
    chainer/training/extensions/print_report.py, PrintReport; docs/generic.md says how names are read

One column has to count epochs or steps, and another to be a loss or an accuracy, or an epoch and a batch have to be
next to each other.  `00:42` in a cell is 42 s, and `3/100` in one that counts is 3.  The times of skorch (`dur`) and Chainer
(`elapsed_time`) are in seconds; any other time needs its unit in the name of its column.  A logger's time stamp and level
may come before the names and each row, and the process, the function or the source file that calls it: a stamp then tells the time of steps, or of epochs
where no column does, or show what a time without a unit is.  It is asked, too, where all that another format read is how
the job ended.

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
from scalelens.tabular.column_names import SPELT, read_name
from scalelens.tabular.column_values import Survey
from scalelens.tabular.roles import ColumnReading, assign
from scalelens.tabular.steps import lacks, write_rows
from scalelens.tabular.unknown_logs.clock import Clock, Stamp, stamp_in
from scalelens.tabular.unknown_logs.records import BY_CLOCK, TIMES, TOTAL
from scalelens.tabular.unknown_logs.shapes import COUNTS
from scalelens.tabular.unknown_logs.times import LineTimes

VERSION = 2
LAST = True  # any other format comes first
GUESSES = True

_BORDERS = re.compile(r"[|\u2502\u2503]")
_BLANKS = re.compile(r"\s{2,}|\t")
_RULE = re.compile(r"[\s|+=:\u2500-\u257f-]*\Z")
_NAME = re.compile(r"[^\W\d_][\w /%()\[\].:@#-]{0,40}\Z")
_MEASURED = re.compile(r"loss|acc|perplexity|(?<![a-z])ppl", re.IGNORECASE)
_OF_BATCHES = re.compile(r"epoch\s+(?:batch|iter|step)", re.IGNORECASE)
_IN_NAMES = (b"loss", b"acc", b"perplexity", b"ppl", b"epoch")  # words of the two
_SPAN = re.compile(r"(?:(\d+):)?(\d+):([0-5]\d(?:\.\d+)?)\Z")
_NUMBER = re.compile(r"[-+]?(?:\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|nan|inf)\Z", re.IGNORECASE)
_WITH_UNIT = re.compile(r"([-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)\s?([A-Za-z\u00b5\u03bc]{1,7})\Z")  # 0.81 s
_IN_SECONDS = ({"dur", "train_loss"}, {"elapsed_time", "main/loss"})  # names that skorch and Chainer print together
_BAR_OF_EPOCH = re.compile(r"Epoch \d+/\d+ : \|")  # fastprogress draws it below the names, before the first row
_COUNT = re.compile(r"\d+(?: {0,3}/ {0,3}\d+)?\Z")
_LEVEL = re.compile(  # [INFO]: of a logger, and the function that called it, or the process and the source file
    r"[\s\])}:-]*\[?(?:INFO|DEBUG|WARNING|root)[\])]?:?(?: -)?(?:(?<=-) [a-z_]\w{0,30}:(?= ))?"
    r"|\s*\| (?:INFO|DEBUG) {0,8}\| [\w.<>]{1,60}:[\w.<>]{1,60}:\d{1,6} -"
    r"|\s{1,8}\d{1,9} [\w./-]{1,60}:\d{1,6}\]"
)
_AFTER_STAMP = re.compile(r"[\])}:,]?(?:\s+-(?=\s))?")
_BEGINS_STAMP = "[(IWE"  # beside a digit
_STAMPED_TO_S = 1.0  # the resolution that stamps are taken to have
_LEAST = 3  # columns
_IN_HEAD = 2_000  # lines that are searched for the names


def recognise(head: bytes, name: str) -> bool:
    text = head.lower()
    if not tabular.is_text(head) or not any(word in text for word in _IN_NAMES):
        return False
    names: list[str] = []
    logged = False  # whether a logger wrote the names: other lines may come between them and the rows
    for k, raw in enumerate(head_lines(head)):
        shown = _shown(raw)
        if not names and k <= _IN_HEAD and not _names_columns(shown):
            continue
        stamp, line = _apart(shown)
        if names and (_numbers_of(line, names) or _BAR_OF_EPOCH.search(raw)):
            return True
        header = _names_of(line)
        logged = stamp is not None if header else logged and stamp is None
        names = header or (names if logged or _RULE.match(line) else [])
        if k > _IN_HEAD:
            break
    return False


def read(source: Source, rows: Rows) -> str | None:
    first = next(_records(source), None)
    steps = [name for name in (first.cells if first else ()) if read_name(name).role in ("step", "batch")]
    epochs = [name for name in (first.cells if first else ()) if read_name(name).role == "epoch"]
    if rows.mapping or not first or BY_CLOCK not in first.cells or not (steps or epochs):
        return tabular.read(source, rows, _records)
    if not steps:
        return _read_epochs(source, rows, epochs[0])
    times = LineTimes(steps[0], _STAMPED_TO_S)
    survey = Survey(times.seen(_records(source)))
    proven = times.proven()
    columns = {name: values for name, values in survey.columns.items() if name != BY_CLOCK}
    readings = assign(columns, {"batch_time": proven} if proven else {})
    if not proven and times.stamps_tell:
        readings = [reading._replace(refusal=None, choices=()) for reading in readings]
        readings.append(ColumnReading(BY_CLOCK, "elapsed", "s"))
    if lacking := lacks(survey, readings):
        return lacking
    rows.assigned = readings
    write_rows(source, rows, _records, survey, readings, least_steps=0 if proven else times.least_steps)
    return None


def _read_epochs(source: Source, rows: Rows, epoch: str) -> str | None:
    """Rows of a table of epochs whose rows have a logger's stamps: these tell their times where no column does."""
    times = LineTimes(epoch, _STAMPED_TO_S, of_epochs=True)
    survey = Survey(times.seen(_records(source)))
    readings = assign({name: values for name, values in survey.columns.items() if name != BY_CLOCK}, {})
    told = {reading.role for reading in readings} & {"epoch_time", "time", "elapsed"}
    if told or any(reading.refusal for reading in readings) or not times.stamps_tell:
        return tabular.read(source, rows, _records)
    readings.append(ColumnReading(BY_CLOCK, "elapsed", "s"))
    if lacking := lacks(survey, readings):
        return lacking
    rows.assigned = readings
    write_rows(source, rows, _records, survey, readings, least_epoch_s=times.least_epoch_s)
    return None


def _shown(line: str) -> str:
    """What a terminal shows of a line in the end: without colors, and without the bars that were drawn in its place."""
    return (ANSI.sub("", line) if "\x1b" in line else line).rpartition("\r")[2]


def _apart(line: str) -> tuple[Stamp | None, str]:
    """The stamp of a logger before a line, and the line without it and its level."""
    stamp = stamp_in(line) if line[:1].isdigit() or line[:1] in _BEGINS_STAMP else None
    level = _LEVEL.match(line, stamp.span[1] if stamp else 0)
    after = level or (_AFTER_STAMP.match(line, stamp.span[1]) if stamp else None)
    rest = line[after.end() :] if after else line
    if stamp and not level and _BORDERS.search(line) and not _is_within_borders(rest):
        return None, line  # it is in a column of its own
    return stamp, rest


def _is_within_borders(line: str) -> bool:
    """Whether a line begins and ends with a border."""
    ends = line.strip()[:1], line.strip()[-1:]
    return all(map(_BORDERS.fullmatch, ends))


def _names_columns(line: str) -> bool:
    """Whether a line has a word without which it names no columns of a training."""
    return bool(_MEASURED.search(line) or _OF_BATCHES.search(line))


def _names_of(line: str) -> list[str]:
    """The names of the columns, where a line is the header of a table of a training; else nothing."""
    if not _names_columns(line):
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
    kinds = (_NUMBER, _SPAN, _COUNT, _WITH_UNIT)
    numbers = sum(any(kind.match(cell) for kind in kinds) for cell in cells)
    return cells if all(map(_COUNT.match, counts)) and 2 * numbers > len(cells) else []


def _records(source: Source) -> Iterator[TableRecord]:
    """The rows of all tables of a text; each header may have other names."""
    names: list[str] = []
    clock = Clock()
    for number, raw, whole in lines_of(source):
        stamp, text = _apart(_shown(raw))
        if header := _names_of(text):
            names = header
        elif names and (cells := _numbers_of(text, names)):
            if whole:
                now = {BY_CLOCK: round(clock.seconds(stamp), 6)} if stamp else {}
                row = dict(map(_value, names, cells, [names] * len(names)))
                yield TableRecord(number, row | _totals(names, cells) | now, None, text)
            else:
                yield TableRecord(number, {}, "the line has no end and may be cut: it is not read", text)


def _totals(names: list[str], cells: list[str]) -> dict[str, Any]:
    """How many batches an epoch has, where a cell says it: `40/165`."""
    batches = (cell for name, cell in zip(names, cells, strict=True) if "/" in cell and read_name(name).role == "batch")
    cell = next(batches, "")
    return {TOTAL: int(cell.partition("/")[2])} if cell else {}


def _value(name: str, cell: str, names: list[str]) -> tuple[str, Any]:
    """Column and value of a cell."""
    if read_name(name).role in COUNTS:
        return name, cell.partition("/")[0].rstrip()
    if span := _SPAN.match(cell):
        hours, minutes, seconds = (float(part or 0) for part in span.groups())
        return f"{name} [s]", hours * 3600 + minutes * 60 + seconds
    if (measured := _WITH_UNIT.match(cell)) and SPELT.get(measured[2].lower()) in TIMES and not read_name(name).unit:
        return f"{name} [{SPELT[measured[2].lower()]}]", measured[1]
    known = any(name in together and together <= set(names) for together in _IN_SECONDS) and "loss" not in name
    return f"{name} [s]" if known else name, cell
