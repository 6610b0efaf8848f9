"""Records of a CSV, or of a file with a JSON object in each line: cells by column, and what a cell holds."""

import csv
import functools
import io
import itertools
import json
import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.values import YEARS_2000_TO_2100, as_utc, iso_time, number

_WITHOUT_VALUE = ("", "nan", "inf", "-inf", "+inf", "none", "null", "n/a", "na", "-", "--")
_FIRST_LINES = 20  # of a file's head, in which most formats show
_LONGEST_HEADER = 100_000  # characters
_LONGEST_NAME = 100  # characters of a column's name
_DEEPEST_OBJECT = 20  # objects within objects
_LONGEST_PATH = 500  # characters of their names: each value within has them before its own
_ISO_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d")


class TableRecord(NamedTuple):
    """A line: its cells by column, or why it cannot be read."""

    line: int
    cells: dict[str, Any]
    damage: str | None
    text: str


RecordReader = Callable[[Source], Iterator[TableRecord]]

MAY_BE_CUT = "the line has no end: its last cell may be cut and is not read"
_PROOF_ROWS = 5  # rows above that show how a number is written
_ROWS_ABOVE = 64  # rows above that are looked at
_LAST_CELL = re.compile(r"[,;\t]")
_CLOSED_CELL = re.compile(r'[,;\t]"([^"]*)"\Z')
_NUMBER_AND_UNIT = re.compile(r"[-+]?\d+(?:\.(\d+))?( ?[A-Za-z%]+)?", re.ASCII)


def _form_of(cell: str) -> tuple[int, str] | None:
    """Digits after the point of a number without a unit, or the unit; None for another cell and for a bare integer."""
    match = _NUMBER_AND_UNIT.fullmatch(cell)
    if not match or not (match[1] or match[2]):
        return None
    return (0, match[2]) if match[2] else (len(match[1]), "")


def lines_of(source: Source) -> Iterator[tuple[int, str, bool]]:
    """Lines that are not empty, with their number and whether they are whole: a line that ends in a line break is."""
    number, rest = 0, b""
    above: deque[bytes] = deque(maxlen=_ROWS_ABOVE)
    for block in source.utf8():
        *lines, rest = (rest + block).split(b"\n")
        for line in lines:
            number += 1
            if line.strip():
                yield number, line.decode("utf-8", "replace").rstrip("\r"), True
        above.extend(lines[-_ROWS_ABOVE:])
    if rest.strip():
        text = rest.decode("utf-8", "replace").rstrip("\r")
        yield number + 1, text, _is_whole(text, [line.decode("utf-8", "replace") for line in above if line.strip()])


def _is_whole(text: str, above: list[str]) -> bool:
    """Whether a last line without a line break must be whole, judged by the lines above it.

    A cut leaves all cells but the last as they were.  The last is taken for whole where it is a number with as many
    digits after the point as each number above it, or with the unit of each, because a cut would have left less.
    That fails where a writer prints as many digits as a number needs, and all numbers above happened to need the same.
    A number, or nothing, in closed quotes is whole whatever stands above it.
    """
    if (closed := _CLOSED_CELL.search(text)) and (not closed[1] or number(closed[1]) is not None):
        return True
    form = _form_of(_last_cell(text))
    forms = [_form_of(_last_cell(line.rstrip("\r"))) for line in above]
    if forms and forms[0] is None:
        del forms[0]  # the header, where the file is short
    return form is not None and len(forms) >= _PROOF_ROWS and set(forms) == {form}


def _last_cell(text: str) -> str:
    """The text after the last delimiter of a line; after the last blank where that is not a number."""
    cell = _LAST_CELL.split(text)[-1].strip().strip('"')
    return cell if _form_of(cell) else text.rsplit(None, 1)[-1] if text.strip() else ""


def rows_of(source: Source) -> Iterator[tuple[int, list[str], bool]]:
    """Lines of a table as cells, with their number and whether they are whole."""
    for line, text, whole in lines_of(source):
        yield line, cells_of(text), whole


def cells_by_column(source: Source, rows: Rows) -> Iterator[tuple[int, str, dict[str, str]]]:
    """Lines of a CSV below its header: number, text, cells by column.  A line that is cut is a problem."""
    header: list[str] = []
    for line, text, whole in lines_of(source):
        cells = cells_of(text)
        if not header:
            header = _closed(cells)
        elif not whole or len(cells := _closed(cells, len(header))) != len(header):
            rows.problem(line, "the line is cut, or has other columns than the header", text)
        else:
            yield line, text, dict(zip(header, cells, strict=True))


def cells_of(text: str, delimiter: str = ",") -> list[str]:
    """Cells of a line of a CSV, without blanks around them."""
    if '"' not in text:
        return [cell.strip() for cell in text.split(delimiter)]
    try:
        row = next(csv.reader([text.replace("\0", "\ufffd")], delimiter=delimiter, skipinitialspace=True), [])
    except csv.Error:  # a cell of more than 128 KB
        row = text.split(delimiter)
    return [cell.strip() for cell in row]


def _closed(cells: list[str], count: int = 0) -> list[str]:
    """The cells of a line, without the empty one that a delimiter at its end makes.

    `count` is how many cells the header has; 0 where the line is the header.
    """
    is_closed = len(cells) > 2 and not cells[-1] and count in (0, len(cells) - 1)
    return cells[:-1] if is_closed else cells


def head_lines(head: bytes) -> Iterator[str]:
    """Lines of a file's first bytes that are not blank."""
    for raw in io.BytesIO(head.removeprefix(b"\xef\xbb\xbf")):
        line = raw.decode("utf-8", "replace").rstrip("\r\n")
        if line and not line.isspace():
            yield line


@functools.lru_cache(maxsize=1)  # many formats ask for it
def first_lines(head: bytes) -> list[str]:
    """The first of these lines."""
    return [*itertools.islice(head_lines(head), _FIRST_LINES)]


@functools.lru_cache(maxsize=2)
def first_cells(head: bytes, delimiter: str = ",") -> tuple[str, ...]:
    """Cells of the first line, where it may be the header of a CSV."""
    return tuple(cells_of("".join(first_lines(head)[:1]), delimiter))


def _below_comments(head: bytes) -> list[str]:
    """The first three lines that are not comments; the first may be a comment that names the columns."""
    lines, comment = head_lines(head), ""
    for line in lines:
        if line[0] != "#":
            names = _header_in(comment, line)
            return [*([names] if names else []), line, *itertools.islice(lines, 2)]
        comment = line
    return []


def _header_in(comment: str, line: str) -> str:
    """The names in a comment above the first row, where that is one of numbers: `# gpus, images/s`; else nothing."""
    names = comment.lstrip("#").strip()
    delimiter = _delimiter_of(names)
    titles, values = cells_of(names, delimiter), cells_of(line, delimiter)
    fits = len(titles) == len(values) > 1 and "=" not in names and any(number(value) is not None for value in values)
    return names if fits and all(titles) and not any(number(title) is not None for title in titles) else ""


def _delimiter_of(text: str) -> str:
    return max(",;\t", key=text.count)


@functools.lru_cache(maxsize=1)
def csv_header(head: bytes) -> tuple[str, ...]:
    """Names of the columns where the first line is the header of a CSV and a line of numbers follows; else nothing."""
    lines = _below_comments(head)
    if len(lines) < 2 or len(lines[0]) > _LONGEST_HEADER:
        return ()
    delimiter = _delimiter_of(lines[0])
    names = _closed(cells_of(lines[0], delimiter))
    if len(names) < 2 or len(set(names)) < len(names) or any(len(name) > _LONGEST_NAME for name in names):
        return ()
    if any(number(name) is not None for name in names) or not all(names[1:]):
        return ()  # an index of pandas has no name
    body = [_closed(cells_of(line, delimiter), len(names)) for line in lines[1:]]
    fits = any(len(cells) == len(names) and any(number(cell) is not None for cell in cells) for cells in body)
    return tuple(names) if fits else ()


def csv_records(source: Source) -> Iterator[TableRecord]:
    """Records of a CSV.  The header may be repeated, where a restart wrote into the same file.

    fastai's CSVLogger ends each row with the time of its epoch, `01:32` in minutes and seconds.
    """
    names: list[str] = []
    is_of_fastai = False
    delimiter, comment = ",", ""
    for line, text, whole in lines_of(source):
        if not names and text[0] == "#":
            comment = text
            continue
        if not names:
            above = _header_in(comment, text)
            delimiter = _delimiter_of(above or text)
            names = _closed(cells_of(above or text, delimiter))
            is_of_fastai = names[-1] == "time" and names[:3] == ["epoch", "train_loss", "valid_loss"]
            if not above:
                continue
        cells = _closed(cells_of(text, delimiter), len(names))
        if cells == names:
            continue
        record: dict[str, Any] = dict(zip(names, cells, strict=False))
        if is_of_fastai and len(cells) == len(names) and (clock := _MINUTES.fullmatch(cells[-1])):
            del record[names[-1]]
            record[_OF_EPOCH] = (int(clock[1] or 0) * 60 + int(clock[2])) * 60 + int(clock[3])
        if len(cells) != len(names):
            damage = f"the line has {len(cells)} cells, not {len(names)}" if whole else "the line is cut"
            yield TableRecord(line, record, damage, text)
        elif whole:
            yield TableRecord(line, record, None, text)
        else:
            yield TableRecord(line, record | {names[-1]: None}, None, text)
            yield TableRecord(line, {}, MAY_BE_CUT, text)


@functools.lru_cache(maxsize=1)
def jsonl_header(head: bytes) -> tuple[str, ...]:
    """Names in the first line where it is a JSON object that holds numbers, and another line follows; else nothing."""
    first, end, _ = head.lstrip().partition(b"\n")
    try:
        record = json.loads(first) if end and first.startswith(b"{") else None
    except (ValueError, RecursionError):
        return ()
    if not isinstance(record, dict):
        return ()
    values = dict(nested_values(record))
    return tuple(values) if any(number(value) is not None for value in values.values()) else ()


def jsonl_records(source: Source) -> Iterator[TableRecord]:
    """Records of a file that holds a JSON object in each line."""
    for line, text, _ in lines_of(source):
        try:
            record = json.loads(text)
        except (ValueError, RecursionError):
            record = None
        if isinstance(record, dict):
            yield TableRecord(line, dict(nested_values(record)), None, text)
        else:
            yield TableRecord(line, {}, "the line is not a whole JSON object", text)


_EPOCH_TIME = re.compile(r"(?:\A|_)epoch_?time\Z", re.IGNORECASE)
_SPAN = re.compile(r"(\d{1,4}):([0-5]\d):([0-5]\d(?:\.\d{1,9})?)")
_MINUTES, _OF_EPOCH = re.compile(r"(?:(\d{1,4}):)?(\d{1,2}):([0-5]\d)"), "epoch time [s]"
_WITH_UNIT = {"value", "unit"}
_UNIT = re.compile(r"[mk]?W|[mk]?J|[mk]?Wh|m?s")


def nested_values(record: Mapping[str, Any], marker: str = "", before: str = "") -> Iterator[tuple[str, Any]]:
    """Numbers and texts of nested objects, under their names joined by dots.

    An object that has the key `marker` stands for something else, such as a table or a picture, and is skipped.  So is
    one whose names are longer than any that a program gives.  `{"value": 95, "unit": "W"}` is 95 under `power [W]`.
    """
    for name, value in record.items():
        if isinstance(value, dict) and {*value} == _WITH_UNIT and _UNIT.fullmatch(str(value["unit"])):
            if isinstance(value["value"], int | float | str):
                yield f"{before}{name} [{value['unit']}]", value["value"]
        elif isinstance(value, dict) and before.count(".") < _DEEPEST_OBJECT:
            if len(before) + len(name) <= _LONGEST_PATH and (not marker or marker not in value):
                yield from nested_values(value, marker, f"{before}{name}.")
        elif isinstance(value, str) and _EPOCH_TIME.search(name) and (clock := _SPAN.fullmatch(value)):
            hours, minutes, seconds = (float(part) for part in clock.groups())
            yield f"{before}{name} [s]", (hours * 60 + minutes) * 60 + seconds  # `"epoch_time": "0:01:42"`
        elif isinstance(value, int | float | str) and not isinstance(value, bool):
            yield before + name, value


# Values


def is_blank(value: Any) -> bool:
    """Whether a cell holds no value.  Infinity and not-a-number count as none: they are not measurements."""
    if isinstance(value, int | float):
        return value != value or value in (math.inf, -math.inf)
    return value is None or str(value).strip().lower() in _WITHOUT_VALUE


def time_stamp(value: Any) -> tuple[datetime, str] | None:
    """A time stamp and its origin: ISO 8601, or a number since 1970, whose size shows its unit."""
    seconds = number(value)
    if seconds is not None:
        for scale in (1.0, 1e3, 1e6, 1e9):
            if YEARS_2000_TO_2100[0] < seconds / scale < YEARS_2000_TO_2100[1]:
                return datetime.fromtimestamp(seconds / scale, UTC).replace(tzinfo=None), "utc"
        return None
    local = iso_time(str(value)) if _ISO_TIME.match(str(value)) else None
    time = as_utc(local, None)
    return (time, "utc" if local and local.tzinfo else "naive") if time else None


def header_of(source: Source) -> tuple[str, ...]:
    """Columns of a CSV, or keys in the first line of JSON lines; else nothing."""
    head = source.text_head()
    return jsonl_header(head) or csv_header(head)
