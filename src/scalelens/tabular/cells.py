"""Records of a CSV, or of a file with a JSON object in each line: cells by column, and what a cell holds."""

import csv
import functools
import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from scalelens.parsing.source import HEAD, Source

BLANK = ("", "nan", "inf", "-inf", "+inf", "none", "null", "n/a", "na", "-", "--")
EPOCHS = (946_684_800, 4_102_444_800)  # seconds of 2000 and of 2100
LONGEST = 100_000  # characters of a record; of a column's name, one in a thousand
DEEPEST = 8  # objects within objects
STAMP = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d")


class Record(NamedTuple):
    """A line: its cells by column, or why it is none."""

    line: int
    cells: dict[str, Any]
    damage: str | None
    text: str


Records = Callable[[Source], Iterator[Record]]


def lines_of(source: Source) -> Iterator[tuple[int, str, bool]]:
    """Lines that hold something, with their number and whether they have an end."""
    number, rest = 0, b""
    for block in source.utf8():
        *lines, rest = (rest + block).split(b"\n")
        for line in lines:
            number += 1
            if line.strip():
                yield number, line.decode("utf-8", "replace").rstrip("\r"), True
    if rest.strip():
        yield number + 1, rest.decode("utf-8", "replace").rstrip("\r"), False


def rows_of(source: Source) -> Iterator[tuple[int, list[str], bool]]:
    """Lines of a table with their number, as cells, and whether they have an end."""
    for number, text, whole in lines_of(source):
        yield number, cells_of(text), whole


def cells_of(text: str, delimiter: str = ",") -> list[str]:
    """Cells of a line of a CSV, without blanks around them."""
    if '"' not in text:
        return [cell.strip() for cell in text.split(delimiter)]
    try:
        row = next(csv.reader([text.replace("\0", "\ufffd")], delimiter=delimiter, skipinitialspace=True), [])
    except csv.Error:  # a cell of more than 128 KB
        row = text.split(delimiter)
    return [cell.strip() for cell in row]


@functools.lru_cache(maxsize=1)  # many formats ask it of one file
def head_lines(head: bytes) -> list[str]:
    """Lines of a file's first bytes that hold something."""
    text = head.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    return [line.rstrip("\r") for line in text.split("\n") if line.strip()]


def delimiter_of(text: str) -> str:
    return max(",;\t", key=text.count)


@functools.lru_cache(maxsize=1)
def csv_header(head: bytes) -> tuple[str, ...]:
    """Names of the columns where the first line is the header of a CSV and a line of numbers follows; else nothing."""
    lines = list(itertools.islice((line for line in head_lines(head) if line[0] != "#"), 3))
    if len(lines) < 2 or len(lines[0]) > LONGEST:
        return ()
    delimiter = delimiter_of(lines[0])
    names = cells_of(lines[0], delimiter)
    if len(names) < 2 or len(set(names)) < len(names) or any(len(name) > LONGEST // 1000 for name in names):
        return ()
    if any(number(name) is not None for name in names) or not all(names[1:]):
        return ()  # an index of pandas has no name
    body = [cells_of(line, delimiter) for line in lines[1:]]
    fits = any(len(cells) == len(names) and any(number(cell) is not None for cell in cells) for cells in body)
    return tuple(names) if fits else ()


def csv_records(source: Source) -> Iterator[Record]:
    """Records of a CSV.  The header may come again, where a restart wrote into the same file."""
    names: list[str] = []
    delimiter = ","
    for line, text, whole in lines_of(source):
        if not names:
            if text[0] != "#":
                delimiter = delimiter_of(text)
                names = cells_of(text, delimiter)
            continue
        cells = cells_of(text, delimiter)
        if cells == names:
            continue
        damage = None
        if not whole:
            damage = "the line has no end and may be cut"
        elif len(cells) != len(names):
            damage = f"the line has {len(cells)} cells, not {len(names)}"
        yield Record(line, dict(zip(names, cells, strict=False)), damage, text)


@functools.lru_cache(maxsize=1)
def jsonl_header(head: bytes) -> tuple[str, ...]:
    """Names in the first line where it is a JSON object that holds numbers, and another line follows; else nothing."""
    first, end, _ = head.lstrip().partition(b"\n")
    try:
        said = json.loads(first) if end and first.startswith(b"{") else None
    except (ValueError, RecursionError):
        return ()
    if not isinstance(said, dict):
        return ()
    values = dict(flat(said))
    return tuple(values) if any(number(value) is not None for value in values.values()) else ()


def jsonl_records(source: Source) -> Iterator[Record]:
    """Records of a file that holds a JSON object in each line."""
    for line, text, _ in lines_of(source):
        try:
            said = json.loads(text)
        except (ValueError, RecursionError):
            said = None
        if isinstance(said, dict):
            yield Record(line, dict(flat(said)), None, text)
        else:
            yield Record(line, {}, "the line is no whole JSON object", text)


def flat(said: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Numbers and texts of nested objects, under their names joined by dots."""
    for name, value in said.items():
        if isinstance(value, dict) and before.count(".") < DEEPEST:
            yield from flat(value, f"{before}{name}.")
        elif isinstance(value, int | float | str) and not isinstance(value, bool):
            yield before + name, value


# Values


def number(value: Any) -> float | None:
    """A finite number, or None."""
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if abs(found) < 1e300 else None


def is_blank(value: Any) -> bool:
    """Whether a cell holds nothing.  An infinity or not-a-number is no measurement either."""
    return value is None or value != value or str(value).strip().lower() in BLANK


def moment(value: Any) -> tuple[datetime, str] | None:
    """A time stamp and its origin: a number since 1970, whose unit its size says, or ISO 8601."""
    seconds = number(value)
    if seconds is not None:
        for scale in (1.0, 1e3, 1e6, 1e9):
            if EPOCHS[0] < seconds / scale < EPOCHS[1]:
                return datetime.fromtimestamp(seconds / scale, UTC).replace(tzinfo=None), "utc"
        return None
    if not STAMP.match(str(value)):
        return None
    try:
        stamp = datetime.fromisoformat(str(value))
        return (stamp.astimezone(UTC).replace(tzinfo=None), "utc") if stamp.tzinfo else (stamp, "naive")
    except (ValueError, OverflowError):
        return None


def header_of(source: Source) -> tuple[str, ...]:
    """Columns of a CSV, or keys in the first line of JSON lines; else nothing."""
    head = next(source.utf8(HEAD), b"")
    return jsonl_header(head) or csv_header(head)
