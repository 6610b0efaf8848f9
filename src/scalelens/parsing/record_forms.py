"""Records that differ in their numbers alone, read by columns.

Most lines of a long log are records of one form: a head, and fields between a delimiter, each a text and a number.
A format that has read some of them names the form.  Then the records of a block are found by the places of their
delimiters, and Arrow turns their numbers into columns.  That takes a tenth of the time of reading them line by line.
What has another form, or a number that Arrow does not read, is read line by line.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from scalelens.parsing.attempts import KEPT, Launch

FEWEST_RECORDS = 16  # of one form that are read by columns
LINE_FEED, BLANK = ord("\n"), ord(" ")
DIGITS = np.zeros(256, bool)
DIGITS[list(b"0123456789")] = True
DIGITS_AND_BLANKS = DIGITS.copy()
DIGITS_AND_BLANKS[BLANK] = True
FIELD = re.compile(
    r"([^|]*?[A-Za-z)@\d][^|]*?[:=\s]\s*)([-+]?\d[\d.]*(?:[eE][-+]?\d+)?)(\s*\(\s*[-+\d.eE]+\s*\))?(\s*|GB)"
)
HEAD_NUMBER = re.compile(r"\d+")

Places = npt.NDArray[np.int64]


class Field(NamedTuple):
    """What stands around the number of a field."""

    before: str  # with the blanks, which may be fewer before a longer number
    mean_follows: bool  # in parentheses
    unit: str


class Prefix(NamedTuple):
    """What a launcher put before a line, and the rank or place that it names."""

    text: bytes = b""
    rank: int | None = None
    place: str | None = None


class Records(NamedTuple):
    """Records of one form and one prefix: numbers of the lines, the texts of the heads, the numbers of each field."""

    lines: Places
    heads: pa.Array
    fields: list[pa.Array]
    form: "RecordForm"
    prefix: Prefix

    def part(self, begin: int, end: int) -> "Records":
        fields = [field.slice(begin, end - begin) for field in self.fields]
        return self._replace(lines=self.lines[begin:end], heads=self.heads.slice(begin, end - begin), fields=fields)


class RecordForm:
    """The form of a record, learned from one of them."""

    def __init__(self, head: str, delimiter: str, fields: list[Field], closed: bool) -> None:
        self.head = head
        self.delimiter = delimiter
        self.fields = fields
        self.closed = closed  # whether a delimiter stands behind the last field too
        text = np.frombuffer(head.encode(), np.uint8)
        self._literal = ~DIGITS_AND_BLANKS[text] | (text == BLANK) & ~next_to_digit(text)
        self._head = text

    def find(self, text: bytes, starts: Places, ends: Places, prefix: Prefix) -> Places:
        """Which of the lines of a text have the head and the delimiters of the form: their places among the lines."""
        letters = np.frombuffer(text, np.uint8)
        delimiters = np.flatnonzero(letters == ord(self.delimiter))
        first = np.searchsorted(delimiters, starts)
        count = len(self.fields) + self.closed
        places = np.flatnonzero(np.searchsorted(delimiters, ends) - first == count)
        before = np.frombuffer(prefix.text, np.uint8)
        width = len(before) + len(self._head)
        places = places[delimiters[first[places]] - starts[places] == width] if len(places) else places
        if self.closed and len(places):
            places = places[delimiters[first[places] + count - 1] == ends[places] - 1]
        if not len(places):
            return places
        heads = letters[starts[places][:, None] + np.arange(width)]
        fits = (heads[:, : len(before)] == before).all(1)
        heads = heads[:, len(before) :]
        fits &= (heads[:, self._literal] == self._head[self._literal]).all(1)
        fits &= DIGITS_AND_BLANKS[heads[:, ~self._literal]].all(1)
        return np.asarray(places[fits])

    def read(self, text: bytes, starts: Places, ends: Places, lines: Places, prefix: Prefix) -> Records | None:
        """The records of some lines; None where one of them has other texts between its numbers, or no number."""
        from pyarrow import csv

        names = [str(k) for k in range(len(self.fields) + 1 + self.closed)]
        spans = zip((starts + len(prefix.text)).tolist(), (ends + 1).tolist(), strict=True)
        picked = b"".join([text[start:end] for start, end in spans])
        try:
            table = csv.read_csv(
                pa.BufferReader(picked),
                csv.ReadOptions(column_names=names, use_threads=False, block_size=len(picked) + 1),
                csv.ParseOptions(delimiter=self.delimiter, quote_char=False, ignore_empty_lines=False),
                csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), check_utf8=True),
            )
            columns = [column.combine_chunks() for column in table.columns]
            fields = [numbers_of(column, field) for column, field in zip(columns[1:], self.fields, strict=False)]
        except pa.ArrowInvalid:
            return None
        if table.num_rows != len(lines) or any(field is None for field in fields):
            return None
        return Records(lines, columns[0], [field for field in fields if field is not None], self, prefix)

    def number_in_head(self, records: Records, begin: int, end: int) -> pa.Array:
        """A whole number of the heads, by its place in the head of the form."""
        return pc.cast(pc.ascii_trim_whitespace(pc.utf8_slice_codeunits(records.heads, begin, end)), pa.int64())


class Block:
    """A text, and the records of one form in it.  `gaps` are the texts before each of them, and behind the last."""

    def __init__(self, text: bytes, first: int) -> None:
        self.text = text
        self.first = first  # number of the first line
        self.ends = np.flatnonzero(np.frombuffer(text, np.uint8) == LINE_FEED)
        self.starts = np.concatenate(([0], self.ends[:-1] + 1))
        self.gaps = np.array([[0, len(text)]])

    def records(self, form: RecordForm, prefix: Prefix) -> Records | None:
        """The records of a form, where there are many and all of them can be read."""
        places = form.find(self.text, self.starts, self.ends, prefix)
        if len(places) < FEWEST_RECORDS:
            return None
        starts, ends = self.starts[places], self.ends[places]
        begin, end = np.concatenate(([0], ends + 1)), np.concatenate((starts, [len(self.text)]))
        self.gaps = np.column_stack((begin, end))
        return form.read(self.text, starts, ends, self.first + places, prefix)

    def with_anchors(self, find: Callable[[bytes], Iterable[tuple[int, int, int]]]) -> npt.NDArray[np.bool_]:
        """Which of the gaps hold what is looked for."""
        lengths = self.gaps[:, 1] - self.gaps[:, 0]
        joined = b"".join([self.text[start:end] for start, end in self.gaps[lengths > 0].tolist()])
        hits = [start for _, start, _ in find(joined)]
        hit = np.zeros(len(self.gaps), bool)
        hit[np.searchsorted(np.cumsum(lengths), hits, side="right")] = True
        return hit

    def number_at(self, place: int) -> int:
        """Number of the line that begins at a place of the text."""
        return self.first + int(np.searchsorted(self.starts, place))

    def lines(self, numbers: Places) -> Iterator[tuple[int, bytes]]:
        """Some lines, each with its number."""
        for number in numbers.tolist():
            k = number - self.first
            yield number, self.text[self.starts[k] : self.ends[k] + 1]


def form_of(text: str, head: str, delimiter: str) -> RecordForm | None:
    """The form of a record; None where a field is not one number between fixed texts."""
    if not text.isascii() or not text.startswith(head + delimiter):
        return None
    *fields, last = text[len(head) + 1 :].split(delimiter)
    closed = not last
    matches = [FIELD.fullmatch(field) for field in (fields if closed else [*fields, last])]
    if not fields or None in matches:
        return None
    read = [Field(match[1], bool(match[3]), match[4].strip()) for match in matches if match]
    return RecordForm(head, delimiter, read, closed)


def next_to_digit(text: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
    """Blanks that a longer number would fill: those of a row of blanks before a digit, but the first of the row."""
    free = np.zeros(len(text), bool)
    for match in re.finditer(rb"(?<= )[ ]*(?=\d)|(?<=\[)[ ]+(?=\d)|(?<=/)[ ]+(?=\d)", text.tobytes()):
        free[match.start() : match.end()] = True
    return free


def numbers_of(column: pa.Array, field: Field) -> pa.Array | None:
    """The numbers of a field; None where a record has another text around them."""
    before = field.before.rstrip(" ")
    if not pc.all(pc.starts_with(column, before)).as_py():
        return None
    texts = pc.utf8_slice_codeunits(column, len(before))
    if field.unit:
        if not pc.all(pc.ends_with(texts, field.unit)).as_py():
            return None
        texts = pc.utf8_slice_codeunits(texts, 0, -len(field.unit))
    if field.mean_follows:
        halves = pc.split_pattern(texts, "(", max_splits=1)
        if not pc.all(pc.equal(pc.list_value_length(halves), 2)).as_py():
            return None
        if not pc.all(pc.ends_with(pc.ascii_rtrim_whitespace(pc.list_element(halves, 1)), ")")).as_py():
            return None
        texts = pc.list_element(halves, 0)
    numbers = pc.cast(pc.ascii_trim_whitespace(texts), pa.float64())
    return numbers if pc.all(pc.is_finite(numbers)).as_py() else None


def rising(values: npt.NDArray[np.int64], above: int) -> int:
    """How many values rise from the first one on, beginning above a number."""
    if not len(values) or values[0] <= above:
        return 0
    falls = np.flatnonzero(np.diff(values) <= 0)
    return int(falls[0]) + 1 if len(falls) else len(values)


def extend(launch: Launch, steps: Places, step_s: pa.Array | None = None, ts: pa.Array | None = None) -> None:
    """Tells a launch of records that go on with it."""
    times = [] if ts is None else ts.slice(max(len(ts) - KEPT, 0)).to_pylist()
    last = [] if step_s is None else step_s.slice(max(len(step_s) - KEPT, 0)).to_pylist()
    whole = ts is None or not pc.any(pc.not_equal(pc.subsecond(ts), 0)).as_py()
    launch.extend(steps[-KEPT:].tolist(), times, last, whole)
    launch.distinct += max(len(steps) - KEPT, 0)
