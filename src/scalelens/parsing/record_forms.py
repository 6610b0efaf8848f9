"""Records that differ in their numbers alone, read by columns.

Most lines of a long log are records of one form: a head, and fields between a delimiter, each a text and a number.
A format that has read some of them names the form.  Then the records of a block are found by the positions of their
delimiters, and their numbers become columns.  That takes a tenth of the time of reading them line by line.
What has another form is read line by line.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from scalelens import arrow_compute as pc
from scalelens.parsing import lazy_re as re
from scalelens.parsing.attempts import KEPT, Launch
from scalelens.parsing.number_fields import LONGEST_FIELD, Integers, numbers_between, stands_at, windows

_LONGEST_FORM = 1 << 14  # bytes of a record that is learned; a window of this width is cut for each record
_LONGEST_FIELD_TEXT = 160  # letters of a field, its name and its numbers
FEWEST_RECORDS = 16  # of one form that are read by columns
_MEAN = rb" *\( *[-+0.eEnaif]+ *\)"
_LINE_FEED, _BLANK = ord("\n"), ord(" ")
_DIGITS = np.zeros(256, bool)
_DIGITS[list(b"0123456789")] = True
_DIGITS_AND_BLANKS = _DIGITS.copy()
_DIGITS_AND_BLANKS[_BLANK] = True
_FIELD = re.compile(
    r"([^|]*?[A-Za-z)@\d][^|]*?[:=\s]\s*)([-+]?\d[\d.]*(?:[eE][-+]?\d+)?)(\s*\(\s*[-+\d.eE]+\s*\))?(\s*|GB)"
)
_NUMBERS_FIRST = re.compile(r"([\[(]*)([-+]?\d[\d.]*(?:[eE][-+]?\d+)?(?:, *[-+]?\d[\d.]*(?:[eE][-+]?\d+)?)*)(.*)")
_NUMBERS_AMONG_WORDS = re.compile(
    r"((?: [A-Za-z]+)* *[\[(]?)([-+]?\d[\d.]*(?:[eE][-+]?\d+)?(?:, *[-+]?\d[\d.]*(?:[eE][-+]?\d+)?)*)(?![\w.])"
    r"(\s*\(\s*[-+\d.eE]+\s*\))?(.*)"
)


class FieldForm(NamedTuple):
    """What stands around the number of a field."""

    before: str  # with the blanks, which may be fewer before a longer number
    after: bytes  # a pattern of what follows, a mean in parentheses or a unit; see `numbers_between`
    numbers: int = 1  # how many, with commas between them; without any, `before` is all of the field
    ending: str = ""  # of the field, where digits in it are those of a name


class Prefix(NamedTuple):
    """What a launcher put before a line, and the rank or location that it names."""

    text: bytes = b""
    rank: int | None = None
    location: str | None = None


class _Found(NamedTuple):
    """Lines of a form: their indexes among the lines of a block, and the positions of their delimiters in the text."""

    indexes: Integers
    delimiters: Integers  # a row for each line
    above: "_Found | None" = None  # the lines above that belong to them


class Records(NamedTuple):
    """Records of one form and one prefix: numbers of the lines, the texts of the heads, the numbers of each field."""

    lines: Integers
    heads: pa.Array
    fields: list[pa.Array]
    form: "RecordForm"
    prefix: Prefix
    above: "Records | None" = None  # the lines above that belong to them

    def part(self, begin: int, end: int) -> "Records":
        fields = [field.slice(begin, end - begin) for field in self.fields]
        heads, above = self.heads.slice(begin, end - begin), self.above and self.above.part(begin, end)
        return self._replace(lines=self.lines[begin:end], heads=heads, fields=fields, above=above)


class RecordForm:
    """The form of a record, learned from one of them.  A record may fill two lines, each of a form of its own."""

    def __init__(self, head: str, delimiter: str, fields: list[FieldForm], closed: bool, headed: bool = True) -> None:
        self.head = head
        self.delimiter = delimiter
        self.fields = fields
        self.closed = closed  # whether a delimiter follows the last field too
        self.headed = headed  # whether a delimiter follows the head; else the first field does
        self.above: RecordForm | None = None  # the form of the line above that belongs to the record
        text = np.frombuffer(head.encode(), np.uint8)
        self._literal = ~_DIGITS_AND_BLANKS[text] | (text == _BLANK) & ~_next_to_digit(text)
        self._head = text

    @property
    def height(self) -> int:
        """How many lines a record has."""
        return 2 if self.above else 1

    def find(self, block: "Block", prefix: Prefix) -> _Found:
        """Which lines of a block have the head and the delimiters of the form."""
        letters, starts, ends = block.letters, block.starts, block.ends
        delimiters = np.flatnonzero(letters == ord(self.delimiter))
        counts = np.searchsorted(delimiters, ends)  # how many stand before the end of each line
        count = len(self.fields) + self.closed - (not self.headed)
        before_fields = prefix.text.count(self.delimiter.encode()) + self.head.count(self.delimiter)
        indexes = np.flatnonzero(np.diff(counts, prepend=0) == before_fields + count)
        width = len(prefix.text) + len(self._head)
        first = counts[indexes] - count
        to_first = delimiters[first] - starts[indexes]
        fits = to_first == width if self.headed else to_first > width
        if self.closed:
            fits &= delimiters[first + count - 1] == ends[indexes] - 1
        indexes, first = indexes[fits], first[fits]
        heads = windows(letters, starts[indexes], width)
        before, head = heads[:, : len(prefix.text)], heads[:, len(prefix.text) :]
        fits = (before == np.frombuffer(prefix.text, np.uint8)).all(1)
        fits &= (head[:, self._literal] == self._head[self._literal]).all(1)
        fits &= _DIGITS_AND_BLANKS[head[:, ~self._literal]].all(1)
        indexes, first = indexes[fits], first[fits]
        delimiters = delimiters[first[:, None] + np.arange(count)]
        if not self.headed:
            delimiters = np.column_stack((starts[indexes] + width - 1, delimiters))
        if (same := self._with_same_texts(block, indexes, delimiters)) is not None:
            indexes, delimiters = indexes[same], delimiters[same]
        if not self.above:
            return _Found(indexes, delimiters)
        above = self.above.find(block, prefix)
        _, these, those = np.intersect1d(indexes, above.indexes + 1, assume_unique=True, return_indices=True)
        return _Found(indexes[these], delimiters[these], _Found(above.indexes[those], above.delimiters[those]))

    def _ends(self, block: "Block", indexes: Integers, delimiters: Integers) -> Integers:
        """Where the fields of some lines end."""
        return delimiters[:, 1:] if self.closed else np.column_stack((delimiters[:, 1:], block.ends[indexes]))

    def _with_same_texts(self, block: "Block", indexes: Integers, delimiters: Integers) -> npt.NDArray[np.bool_] | None:
        """Which lines have the texts of fields without a number, and the endings; None where no field has either."""
        texts = [(k, field.before.encode(), 0) for k, field in enumerate(self.fields) if not field.numbers]
        texts += [(k, field.ending.encode(), 1) for k, field in enumerate(self.fields) if field.ending]
        if not texts:
            return None
        ends, same = self._ends(block, indexes, delimiters), np.ones(len(indexes), bool)
        for k, text, at_least in texts:
            before = ends[:, k] - delimiters[:, k] - 1 - len(text)  # letters of the field before the text
            same &= before >= at_least if at_least else before == 0
            fitting = windows(block.letters, ends[same, k] - len(text), len(text))
            same[same] = (fitting == np.frombuffer(text, np.uint8)).all(1)
        return same

    def read(self, block: "Block", found: _Found, prefix: Prefix) -> Records | None:
        """The records of some lines; None where one of them has other texts between its numbers, or lacks a number."""
        above = self.above.read(block, found.above, prefix) if self.above and found.above else None
        if self.above and not above:
            return None
        indexes, delimiters = found.indexes, found.delimiters
        letters, margin = block.letters, LONGEST_FIELD + max(len(field.before) for field in self.fields)
        if len(letters) < block.ends[indexes[-1]] + margin:  # a window must not pass the end
            letters = np.concatenate((letters, np.zeros(margin, np.uint8)))
        ends = self._ends(block, indexes, delimiters)
        fields: list[pa.Array] = []
        for k, field in enumerate(self.fields):
            if not field.numbers:
                continue
            starts, before = delimiters[:, k] + 1, field.before.rstrip(" ").encode()
            if not stands_at(letters, starts, before):
                return None
            numbers = numbers_between(letters, starts + len(before), ends[:, k], field.after, field.numbers)
            if numbers is None:
                return None
            fields += map(pa.array, numbers)
        heads = self.heads(block, delimiters[:, 0] + (not self.headed))
        return Records(block.first + indexes, heads, fields, self, prefix, above)

    def heads(self, block: "Block", ends: Integers) -> pa.Array:
        """The heads of records, which end at some positions, as texts."""
        width = len(self.head)
        texts = windows(block.letters, ends - width, width).tobytes()
        offsets = np.arange(0, len(texts) + 1, width, dtype=np.int32)
        return pa.StringArray.from_buffers(len(ends), pa.py_buffer(offsets), pa.py_buffer(texts))

    def times_in_head(self, records: Records, begin: int, end: int) -> pa.Array:
        """The times of the heads, by their position.  Raises ArrowInvalid where one is not a time."""
        texts = _slice(records.heads, begin, end)
        if "," in self.head[begin:end]:
            texts = pc.replace_substring(texts, ",", ".")
        return pc.cast(texts, pa.timestamp("us"))

    def number_in_head(self, records: Records, begin: int, end: int) -> pa.Array:
        """An integer of the heads, by its position in the head of the form."""
        return pc.cast(pc.ascii_trim_whitespace(_slice(records.heads, begin, end)), pa.int64())


def _slice(texts: pa.Array, begin: int, end: int) -> pa.Array:
    """A part of each of some texts in ASCII: their bytes are sliced several times faster than their letters."""
    return pc.cast(pc.binary_slice(texts.view(pa.binary()), begin, end), pa.string())


class Block:
    """A text, and the records of one form in it.  `gaps` are the texts before each of them, and after the last."""

    def __init__(self, text: bytes, first: int) -> None:
        self.text = text
        self.first = first  # number of the first line
        self.letters = np.frombuffer(text, np.uint8)
        self.ends = np.flatnonzero(self.letters == _LINE_FEED)
        self.starts = np.concatenate(([0], self.ends[:-1] + 1))
        self.gaps = np.array([[0, len(text)]])

    def records(self, form: RecordForm, prefix: Prefix) -> Records | None:
        """The records of a form, where there are many and all of them can be read."""
        found = form.find(self, prefix)
        if len(found.indexes) < FEWEST_RECORDS:
            return None
        begin = np.concatenate(([0], self.ends[found.indexes] + 1))
        starts = self.starts[found.indexes - form.height + 1]
        self.gaps = np.column_stack((begin, np.concatenate((starts, [len(self.text)]))))
        return form.read(self, found, prefix)

    def with_anchors(self, find: Callable[[bytes], Iterable[tuple[int, int, int]]]) -> npt.NDArray[np.bool_]:
        """Which of the gaps hold what is looked for."""
        lengths = self.gaps[:, 1] - self.gaps[:, 0]
        joined = b"".join([self.text[start:end] for start, end in self.gaps[lengths > 0].tolist()])
        hits = [start for _, start, _ in find(joined)]
        hit = np.zeros(len(self.gaps), bool)
        hit[np.searchsorted(np.cumsum(lengths), hits, side="right")] = True
        return hit

    def number_at(self, position: int) -> int:
        """Number of the line that begins at a position of the text."""
        return self.first + int(np.searchsorted(self.starts, position))

    def lines(self, records: Records) -> Iterator[tuple[int, bytes]]:
        """The texts of some records, each with the number of its first line."""
        for number in records.lines.tolist():
            last = number - self.first
            first = last - records.form.height + 1
            yield self.first + first, self.text[self.starts[first] : self.ends[last] + 1]


def form_of(text: str, head: str, delimiter: str) -> RecordForm | None:
    """The form of a record; None where a field is not one number between fixed texts."""
    if not head or len(text) > _LONGEST_FORM or not text.isascii() or not text.startswith(head + delimiter):
        return None
    *fields, last = text[len(head) + 1 :].split(delimiter)
    closed = not last
    of_form = fields if closed else [*fields, last]
    if not fields or max(map(len, of_form)) > _LONGEST_FIELD_TEXT:
        return None
    matches = [_FIELD.fullmatch(field) for field in of_form]
    if None in matches:
        return None
    read = [
        FieldForm(match[1], (_MEAN if match[3] else b"") + b" *" + match[4].strip().encode())
        for match in matches
        if match
    ]
    return RecordForm(head, delimiter, read, closed)


def form_of_keys(text: str, head: str) -> RecordForm | None:
    """The form of a record of `name : number`, whose units or names of the next field follow the numbers.

    The head ends before a colon, or where the first field begins.  A field without a number is a text that does not
    change.
    """
    headed = text.startswith(":", len(head))
    fields = text[len(head) + headed :].split(":")
    if len(text) > _LONGEST_FORM or not text.isascii() or max(map(len, fields)) > LONGEST_FIELD:
        return None
    read = [_keyed_field(field) for field in fields]
    return RecordForm(head, ":", read, closed=False, headed=headed)


def _keyed_field(text: str) -> FieldForm:
    found = _NUMBERS_AMONG_WORDS.fullmatch(text)
    if not found:
        return FieldForm(text, b"", 0)
    mean, ending = found[3] or "", found[4]
    after = (_MEAN if mean else b"") + re.escape(re.sub(r"\d", "0", ending)).encode()
    named_by_digits = re.search(r"\d", ending) is not None
    return FieldForm(found[1], after, found[2].count(",") + 1, ending if named_by_digits else "")


def form_of_named(text: str) -> RecordForm | None:
    """The form of a record of `name=number` and `name=[number, number]`; None where one has no number.

    The numbers of a field are followed by the name of the next one.
    """
    head, *fields = text.split("=")
    matches = [_NUMBERS_FIRST.fullmatch(field) for field in fields]
    if len(text) > _LONGEST_FORM or not text.isascii() or not head or not fields or None in matches:
        return None
    read = [
        FieldForm(match[1], b" *" + re.escape(re.sub(r"\d", "0", match[3])).encode(), match[2].count(",") + 1)
        for match in matches
        if match
    ]
    return RecordForm(head, "=", read, closed=False)


def _next_to_digit(text: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
    """Blanks that a longer number would fill: those of a row of blanks before a digit, but the first of the row."""
    free = np.zeros(len(text), bool)
    for match in re.finditer(rb"(?<= )[ ]*(?=\d)|(?<=\[)[ ]+(?=\d)|(?<=/)[ ]+(?=\d)", text.tobytes()):
        free[match.start() : match.end()] = True
    return free


def rising(values: npt.NDArray[np.int64], above: int) -> int:
    """How many values rise from the first one on, beginning above a number."""
    if not len(values) or values[0] <= above:
        return 0
    falls = np.flatnonzero(np.diff(values) <= 0)
    return int(falls[0]) + 1 if len(falls) else len(values)


def seconds_apart(launch: Launch, steps: Integers, ts: pa.Array, before: int) -> pa.Array:
    """The time of a step by the time stamps of records that continue a launch, from the step `before` them on."""
    latest = np.maximum.accumulate(np.concatenate(([np.datetime64(launch.latest)], ts.to_numpy())))
    seconds = np.diff(latest) / np.timedelta64(1, "us") / 1e6  # a clock that goes back stands still
    return pa.array(seconds / np.diff(steps, prepend=before))


def extend(
    launch: Launch, steps: Integers, step_s: pa.Array | None = None, ts: pa.Array | None = None,
    epoch: int | None = None,
) -> None:  # fmt: skip
    """Adds to a launch the records that continue it; with `epoch`, their steps count within it."""
    last_steps: list[Any] = steps[-KEPT:].tolist()
    if epoch is not None:
        last_steps = [(epoch, step) for step in last_steps]
    # numpy makes numbers and times of Python in a tenth of the time that Arrow takes
    last = [] if step_s is None else step_s.slice(max(len(step_s) - KEPT, 0)).to_numpy(zero_copy_only=False).tolist()
    times, latest, whole = [], None, True
    if ts is not None:
        stamps = ts.to_numpy(zero_copy_only=False)
        times, latest = stamps[-KEPT:].tolist(), stamps.max().item()
        whole = _are_whole_seconds(stamps[:FEWEST_RECORDS]) and _are_whole_seconds(stamps)
    launch.extend(last_steps, times, last, whole, latest)
    launch.distinct += max(len(steps) - KEPT, 0)


def _are_whole_seconds(stamps: npt.NDArray[np.datetime64]) -> bool:
    return not np.any(stamps.view(np.int64) % 1_000_000)
