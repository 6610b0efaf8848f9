"""Offers the lines of a text to line formats, each line to the formats whose anchor it holds, in one pass.

The text is searched for the literal anchors of all formats at once (Aho-Corasick).  Only lines that hold one, or that
a format has claimed, become Python strings.  ANSI codes, carriage returns and the prefixes of launchers are taken
off a line; the rank that a prefix names is kept.  Memory use is bounded, regardless of the size of the text.
"""

import bisect
import functools
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from types import ModuleType
from typing import Any, NamedTuple, Protocol, cast

import msgspec
import numpy as np

from scalelens.errors import UserError
from scalelens.parsing.alike_lines import Place, alike_lines
from scalelens.parsing.anchors import Offer, anchors_of
from scalelens.parsing.format_file import defect
from scalelens.parsing.launcher_prefixes import (
    ANSI,
    MPI_TAG,
    SRUN_CUT,
    SRUN_LABEL,
    TORN,
    WITHIN,
    joined_again,
    pieces,
    start_of_cut,
    without_prefix,
)
from scalelens.parsing.line_shapes import shape_of
from scalelens.parsing.record_forms import FEWEST_RECORDS, Block, Prefix, RecordForm, Records
from scalelens.parsing.recurring_lines import RecurringLines
from scalelens.parsing.rows import Rows
from scalelens.parsing.tagged_json import Hit, has_usual_head, objects_of, tagged_lines

_LONGEST_LINE = 1 << 20  # a "line" longer than this is offered in pieces
LEARNED_FROM = 1 << 16  # bytes read line by line, before forms are known
_FIRST_PIECES, _FIRST_PIECE = 16, 1 << 14  # of a long text: from shorter ones a form is learned sooner
# Of a shorter text, from its first possible record on; then they grow, as no form may be there to be learned.
_SHORT_PIECES, _SHORT_PIECE = 16, 1 << 9
MANY_RECORDS = 120  # reading fewer is faster line by line than by columns
_MOST_POOR_BLOCKS = 3  # of a file: then its records are read line by line
_LINE_BY_LINE = 4  # records read this way where the next cannot be read by columns; doubled while they cannot
_LONGEST_ALONE = 64  # lines that are read one by one after others could not be taken together
_CLAIM_LIMIT = 5_000  # lines of one claim, those of other prefixes in between included
_LINE_FEED = ord("\n")
# A line of JSON that holds a string.  An anchor within the string is a quotation of some log, not a line of it.  An
# anchor with quotation marks cannot stand in a string: there each of them would have a backslash before it.
_JSON_STRING = re.compile(r'(?:"(?:[^"\\]|\\.)*"\s*:\s*)?"(?:[^"\\]|\\.)*",?')


class Line(NamedTuple):
    """One line: its text without decoration, its number in the file, and the rank or location that printed it."""

    text: str
    number: int
    rank: int | None = None
    location: str | None = None  # a node, a host or a local rank, where the global rank is not known


class Reader(Protocol):
    """A line format at work on one file."""

    claims: re.Pattern[str] | None

    def __init__(self, rows: Rows) -> None: ...
    def take(self, line: Line) -> bool: ...
    def more(self, line: Line) -> None: ...

    # It may have two more: `finish`, called after the last line, and `conclude`, called after the last row of a step.


class _JsonReader(Reader, Protocol):
    """A line format whose lines are an anchor and an object of JSON."""

    # It may have `json_record`, a structure of msgspec with the names that it looks at; else it gets a dict.

    def take_json(self, head: Line, number: int, text: bytes, record: Any) -> bool:
        """As `take`, of a line whose object `text` is decoded.  `head` is what stands before it, of any such line.

        False where `take` is to read it.
        """


class _AlikeReader(Reader, Protocol):
    """A line format that takes records together, where they go on with the last one."""

    def take_alike(self, lines: Iterator[Line]) -> int:
        """Takes as many of the first lines as need no look at each one.  Returns how many.

        Where it raises, it has added no row: then `take` reads them.
        """


class ColumnReader(Reader, Protocol):
    """A line format that reads records of one form by columns."""

    form: RecordForm | None  # of the record that it took last; None where only `take` can read it

    def take_records(self, records: Records) -> int:
        """Takes as many of the first records as need no look at each one.  Returns how many."""


def clean(raw: bytes, number: int) -> Line:
    """A line without ANSI codes and without up to two nested prefixes of launchers."""
    text = raw.decode("utf-8", "replace")
    if "\x1b" in text:
        text = ANSI.sub("", text)
    if text.startswith(" ["):
        return Line(text, number)  # most lines are Megatron's records, and no prefix begins this way
    text, rank, location = without_prefix(text, shape_of(raw))
    return Line(text, number, rank, location)


@functools.cache
def _decoder_of(record: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(record)


@functools.lru_cache(maxsize=4096)
def _clean_head(head: bytes, tag: str) -> Line | None:
    """What stands before an object of JSON, the tag included, without decoration; None where the whole line counts."""
    line = clean(head, 0) if has_usual_head(head) else None
    if line and (line.location or "").endswith(TORN):
        return None
    return line if line and line.text.endswith(tag) and line.text.lstrip()[:1] not in ("{", '"') else None


# A line that was read with others: its index, where it starts and ends, and whether a format took it.
_Delivered = tuple[int, int, int, bool]


class _Continuation:
    """A format's claim on the following lines that have the same prefix."""

    __slots__ = ("left", "location", "rank", "reader")

    def __init__(self, reader: Reader, line: Line) -> None:
        self.reader, self.rank, self.location, self.left = reader, line.rank, line.location, _CLAIM_LIMIT


class LineDispatcher:
    """Offers the lines of one file to the readers of all line formats."""

    def __init__(self, formats: Sequence[ModuleType], rows: Rows) -> None:
        self.rows = rows
        rows.of_lines = True
        self.lines = 0
        self._readers: dict[str, Reader] = {}  # by name of the format, made at the first line that it is offered
        self._anchors = anchors_of(tuple(formats))
        self._find = self._anchors.finder.of_block(0)
        self._offers: dict[tuple[int, ...], Offer] = {}  # by the anchors of a line
        self._claiming: dict[str, _Continuation] = {}  # by name of the format
        self._took = False  # whether a format took the last line that was delivered
        self._by_columns: ColumnReader | None = None  # the reader that named the form of its records last
        self._noted: RecordForm | None = None
        self._prefix = Prefix()  # of that record
        self._poor_blocks = 0  # in which most records nevertheless had to be read line by line
        self._failures = self._alone = 0  # to take lines together; lines read one by one before the next try
        self.recurring = RecurringLines()

    def read(self, blocks: Iterable[bytes]) -> None:
        """Offers all lines of a text that comes in blocks of UTF-8 bytes.  A block may end within a line."""
        rest = b""
        for block in blocks:
            text = rest + block
            self._find = self._anchors.finder.of_block(len(block))
            end = end_of_whole_lines(text)
            rest = text[end:]
            if end:
                self._read_text(text[:end])
        if rest:
            self._read_whole_lines(rest)
            self.lines += not rest.endswith(b"\n")
        self._call("finish")

    def conclude(self) -> None:
        """Lets readers decide what rests on all rows of the file: those of a second reading too."""
        self._call("conclude")

    def _read_text(self, text: bytes) -> None:
        """Delivers whole lines: records of one form by columns, where a format knows it, the others one by one."""
        if b"\r" in text and text.count(b"\r") == text.count(b"\r\n"):  # one letter is found faster than two
            text = text.replace(b"\r\n", b"\n")
        text = text[self._read_until_learned(text) :]
        if not text:
            return
        reader = self._by_columns
        if not reader or not reader.form or self._poor_blocks == _MOST_POOR_BLOCKS or b"\r" in text:
            self._read_whole_lines(text)
            return
        block = Block(text, self.lines + 1)
        records = block.records(reader.form, self._prefix) if text.endswith(b"\n") and not self._claiming else None
        if records:
            self._read_block(reader, block, records)
        else:
            self._read_whole_lines(text)

    def _read_until_learned(self, text: bytes) -> int:
        """Delivers the first lines, until a form is known, if records are many.  Returns where it stopped."""
        rows, begin = self.rows, 0
        is_long = len(text) > 2 * LEARNED_FROM
        if not is_long and self._by_columns is None:
            hits, of_columns = self._find(text, overlapping=True), self._anchors.of_columns
            of_records = [start for anchor, start, _ in hits if anchor in of_columns]
            if len(of_records) < MANY_RECORDS:
                self._read_whole_lines(text, hits)
                return len(text)
            if begin := end_of_whole_lines(text[: of_records[0]]):
                self._read_whole_lines(text[:begin])
        rows.many = True
        size = min(LEARNED_FROM, _FIRST_PIECE) if is_long else _SHORT_PIECE
        pieces_read = 0
        while self._by_columns is None and len(text) - begin > 2 * size:
            if is_long and begin > _FIRST_PIECES * size:
                size = LEARNED_FROM
            end = begin + (end_of_whole_lines(text[begin : begin + size]) or len(text))
            self._read_whole_lines(text[begin:end])
            pieces_read += 1
            may_be_learned = any(hasattr(known, "form") for known in self._readers.values())
            if not is_long and (not may_be_learned or pieces_read > _SHORT_PIECES):
                size = min(2 * size, LEARNED_FROM)
            begin = end
        return begin

    def _read_block(self, reader: ColumnReader, block: Block, records: Records) -> None:
        """Delivers the records before a gap that holds an anchor, then the lines of the gap, and so on."""
        hit = block.with_anchors(self._find)
        count, taken, begin, position = len(records.lines), 0, 0, 0
        for gap in [*np.flatnonzero(hit).tolist(), len(hit)]:
            taken += self._take_records(reader, block, records.part(min(begin, count), min(gap, count)))
            position, begin = int(block.gaps[gap, 0]) if gap < len(hit) else len(block.text), gap + 1
            if self._claiming:  # each line must be looked at to see whether it is claimed
                break
            if gap < len(hit):  # with the next record, which ends what the lines may have claimed
                end = int(block.gaps[gap + 1, 0]) if gap < count else len(block.text)
                self.lines = block.number_at(position) - 1
                self._read_gap(block.text[position:end], records.form)
                position = end
        starts, ends = block.gaps.T
        self.recurring.look(block.text, block.gaps[~hit & (starts < ends) & (ends <= position)].tolist(), block.first)
        self._poor_blocks += taken < count / 2
        self.lines = block.first - 1 + len(block.ends)
        if position < len(block.text):
            self.lines = block.number_at(position) - 1
            self._read_whole_lines(block.text[position:])

    def _read_gap(self, text: bytes, form: RecordForm) -> None:
        """Delivers lines between records of a form; where they are many, by the form that the first of them show."""
        end = end_of_whole_lines(text[:LEARNED_FROM]) if len(text) > 2 * LEARNED_FROM else len(text)
        self._read_whole_lines(text[:end])
        if end < len(text):  # a record whose count has one more digit is of another form
            read = self._read_whole_lines if self._noted is form else self._read_text
            read(text[end:])

    def _take_records(self, reader: ColumnReader, block: Block, records: Records) -> int:
        """Hands records to the reader of their form; those that it does not take by columns, line by line.

        Returns how many it took by columns.
        """
        done, by_columns, count, slowly = 0, 0, len(records.lines), _LINE_BY_LINE
        while done < count:
            took = 0
            if count - done >= FEWEST_RECORDS and not self._claiming and reader.form is records.form:
                self.rows.format = name = self._name_of(reader)
                try:
                    took = reader.take_records(records.part(done, count))
                except Exception as error:
                    self._poor_blocks = _MOST_POOR_BLOCKS
                    self._failed(error)
                self.rows.taken[name] = self.rows.taken.get(name, 0) + took * records.form.height
                by_columns += took
            slowly = _LINE_BY_LINE if took else 2 * slowly
            done += took
            for number, text in block.lines(records.part(done, min(done + slowly, count))):
                self.lines = number - 1
                self._read_whole_lines(text)
            done += slowly
        return by_columns

    def _read_whole_lines(self, text: bytes, hits: Sequence[Hit] | None = None) -> None:
        """Delivers the lines that hold an anchor, and those that a format may have claimed."""
        hits = self._find(text, overlapping=True) if hits is None else hits
        if not hits and not self._claiming:
            self.recurring.look(text, [(0, len(text))], self.lines + 1)
            self.lines += text.count(b"\n")
            return
        ends: list[int] = np.flatnonzero(np.frombuffer(text, np.uint8) == _LINE_FEED).tolist()
        first, index = self.lines + 1, 0  # number of the first line, and the index in `ends` of the next line
        self.lines += len(ends)
        gaps: list[tuple[int, int]] = []  # parts of the text that no format took
        untaken = 0  # start of the next of them
        if not text.endswith(b"\n"):
            ends.append(len(text))
        position, count = 0, len(hits)
        while index < len(ends) and (position < count or self._claiming):
            if position < count and not self._claiming:
                together, position = self._read_together(text, ends, hits, position, index, first)
                for _, start, end, took in together:
                    if took and start > untaken:
                        gaps.append((untaken, start))
                    untaken = end + 1 if took else untaken
                if together:
                    index = together[-1][0] + 1
                    continue
            start = ends[index - 1] + 1 if index else 0
            if position < count and not self._claiming and ends[index] < hits[position][1]:
                index, start = _line_of_hit(text, ends, index, start, hits[position][1])
            number, end = first + index, ends[index]
            raw = text[start:end]
            if end - start > SRUN_CUT:
                raw, end = joined_again(text, start, end)
                index = bisect.bisect_left(ends, end, index)
            index += 1
            anchors: list[int] = []  # of the line, by their index
            while position < count and hits[position][1] < end:
                anchors.append(hits[position][0])
                position += 1
            self._took = False
            if b"\r" in raw or MPI_TAG in raw:
                self._deliver_pieces(raw, number, anchors)
            else:
                self._deliver(raw, number, anchors)
            if self._took:
                if start > untaken:
                    gaps.append((untaken, start))
                untaken = end + 1
        if untaken < len(text):
            gaps.append((untaken, len(text)))
        if gaps:
            self.recurring.look(text, gaps, first)

    def _read_together(
        self, text: bytes, ends: list[int], hits: Sequence[Hit], position: int, index: int, first: int
    ) -> tuple[list[_Delivered], int]:
        """Delivers lines from a hit on that a format reads together.  Returns them, and the next hit."""
        anchor = hits[position][0]
        if anchor in self._anchors.of_json:
            tagged = self._read_tagged(text, ends, hits, position, index, first)
            return tagged, position + len(tagged)
        name = self._anchors.of_alike.get(anchor)
        if not name or self.rows.many or name not in self._readers:
            return [], position
        if self._alone:
            self._alone -= 1
            return [], position
        places = alike_lines(ends, hits, position, index, self._anchors.of_alike)
        alike = self._read_alike(name, text, places, first)
        taken = [(place.line, place.start, place.end, True) for place in alike]
        return taken, alike[-1].hits if alike else position

    def _read_alike(self, name: str, text: bytes, places: Iterator[Place], first: int) -> list[Place]:
        """Hands lines of a format to its reader, which takes the first of them together.  Returns these."""
        reader, rows, looked_at = cast(_AlikeReader, self._readers[name]), self.rows, list[Place]()

        def lines() -> Iterator[Line]:
            for place in places:
                looked_at.append(place)
                raw = text[place.start : place.end]
                if b"\r" in raw or MPI_TAG in raw:
                    return
                line = clean(raw, first + place.line)
                if line.text.lstrip()[:1] in ("{", '"') or (line.location or "").endswith(TORN):
                    return
                yield line

        rows.format = name
        try:
            taken = reader.take_alike(lines())
        except UserError:  # the rows that it handed over cannot be written
            raise
        except Exception:
            taken = 0
        if taken:
            rows.taken[name] = rows.taken.get(name, 0) + taken
        self._failures = self._failures + 1 if looked_at and not taken else 0
        self._alone = min(2**self._failures // 8, _LONGEST_ALONE)
        return looked_at[:taken]

    def _read_tagged(
        self, text: bytes, ends: list[int], hits: Sequence[Hit], position: int, index: int, first: int
    ) -> list[_Delivered]:
        """Delivers lines of a tag and an object of JSON, from a hit on, where nothing else stands in them."""
        rows, anchor = self.rows, hits[position][0]
        name, tag = self._anchors.of_json[anchor], self._anchors.texts[anchor]
        lines = tagged_lines(text, ends, hits, position, index)
        texts = [text[after:end].rstrip() for _, _, after, end in lines]
        reader = cast(_JsonReader, self._readers.get(name) or self._reader(name))
        records = objects_of(texts, _decoder_of(getattr(reader, "json_record", dict[str, Any])))
        delivered: list[_Delivered] = []
        taken = 0
        rows.format, raw_head, head = name, b"", None
        for (of_line, start, after, end), of_json, record in zip(lines, texts, records, strict=True):
            number, took = first + of_line, False
            if text[start:after] != raw_head:
                raw_head = text[start:after]
                head = _clean_head(raw_head, tag)
            if record is not None and head:
                try:
                    took = reader.take_json(head, number, of_json, record)
                except Exception as error:
                    line = Line(head.text + of_json.decode("utf-8", "replace"), number, head.rank, head.location)
                    took = self._failed(error, line)
                taken += took
            if not took:
                self._took = False
                self._deliver_pieces(text[start:end], number, [anchor])
                took, rows.format = self._took, name
            delivered.append((of_line, start, end, took))
            if self._claiming:
                break
        if taken:
            rows.taken[name] = rows.taken.get(name, 0) + taken
        return delivered

    def _deliver_pieces(self, raw: bytes, number: int, anchors: list[int]) -> None:
        """Delivers what carriage returns and prefixes of mpirun divide, each piece with the anchors that it holds."""
        tagged = MPI_TAG in raw
        if b"\r" not in raw.rstrip(b"\r") and not (tagged and WITHIN.search(raw)):
            self._deliver(raw.rstrip(b"\r"), number, anchors)
            return
        label: Line | None = None  # a launcher puts its prefix before the line, not before each piece of it
        untaken: list[bytes] = []
        for piece in pieces(raw) if tagged else raw.split(b"\r"):
            hits = self._find(piece, overlapping=True) if anchors else ()
            of_piece = [anchor for anchor, _, _ in hits]
            before, self._took = self._took, False
            if of_piece or self._claiming or not label:
                label = self._deliver(piece, number, of_piece, label)
            if not self._took:
                untaken.append(piece)
            self._took |= before
        if self._took and untaken:  # a bar without a line end, which a message ends
            rest = b"\r".join(untaken)
            self.recurring.look(rest, [(0, len(rest))], number)

    def _deliver(self, raw: bytes, number: int, anchors: list[int], label: Line | None = None) -> Line:
        """Hands a line to the format that claimed it, and to those whose anchors it holds."""
        line = clean(raw, number)
        if label and line.rank is None and line.location is None:
            line = line._replace(rank=label.rank, location=label.location)
        if line.location and line.location.endswith(TORN):
            line = line._replace(location=self._place_of_claim(line.location))
        claimer = self._claimed(line) if self._claiming else None
        if anchors:
            self._offer(line, anchors, claimer, raw)
        return line

    def _offer(self, line: Line, anchors: list[int], claimer: str | None, raw: bytes) -> None:
        """Offers a line to the formats whose anchors it holds, except the one that has it by a claim."""
        if line.text[:1] in ' \t{"' and line.text.lstrip()[:1] in ("{", '"') and is_json(line.text.strip()):
            anchors = [anchor for anchor in anchors if '"' in self._anchors.texts[anchor]]
        key = tuple(anchors) if len(anchors) < 4 else tuple(sorted(set(anchors)))
        offer = self._offers.get(key)
        if offer is None:
            offer = self._offers[key] = self._anchors.offer(anchors)
        rows = self.rows
        if offer.is_header:
            rows.launched(line.rank)
        for name in offer.names:
            if name == claimer:
                continue
            reader = self._readers.get(name) or self._reader(name)
            rows.format = name
            try:
                took = reader.take(line)
            except Exception as error:
                took = self._failed(error, line)
            if took:
                self._took = True
                rows.taken[name] = rows.taken.get(name, 0) + 1
                if reader.claims:
                    self._claiming[name] = _Continuation(reader, line)
                elif form := getattr(reader, "form", None):
                    self._note_form(cast(ColumnReader, reader), form, line, raw)

    def _name_of(self, reader: Reader) -> str:
        return next(name for name, known in self._readers.items() if known is reader)

    def _note_form(self, reader: ColumnReader, form: RecordForm, line: Line, raw: bytes) -> None:
        """Notes which reader takes the records of a form, and which prefix stands before them."""
        if form is not self._noted and raw.endswith(text := line.text.encode()):
            self._by_columns, self._noted = reader, form
            self._prefix = Prefix(raw[: len(raw) - len(text)], line.rank, line.location)

    def _reader(self, name: str) -> Reader:
        reader: Reader = self._anchors.formats[name].Reader(self.rows)
        self._readers[name] = reader
        return reader

    def _place_of_claim(self, begin: str) -> str | None:
        """The place of which lines are claimed, if it begins so; it is not known where no line is claimed there."""
        places = (claim.location for claim in self._claiming.values())
        return next((place for place in places if place and place.startswith(begin)), None)

    def _claimed(self, line: Line) -> str | None:
        """Hands a line to the format that claimed it, and names it.  Lines of another prefix do not end a claim."""
        claimer = None
        for name, claim in [*self._claiming.items()]:
            claims = claim.reader.claims
            same = claim.rank == line.rank and claim.location == line.location
            if claim.left <= 0 or (same and not (claims and claims.match(line.text))):
                del self._claiming[name]
                continue
            claim.left -= 1
            if same and claimer is None:
                self.rows.format = claimer = name
                self._took = True
                try:
                    claim.reader.more(line)
                except Exception as error:
                    self._failed(error, line)
        return claimer

    def _call(self, method: str) -> None:
        """Calls a method of each reader that has it."""
        for name, reader in sorted(self._readers.items()):
            if call := getattr(reader, method, None):
                self.rows.format = name
                try:
                    call()
                except Exception as error:
                    self._failed(error)

    def _failed(self, error: Exception, line: Line | None = None) -> bool:
        """A defect of a format costs one line and becomes a problem with its place in the code; the ingest goes on."""
        if isinstance(error, UserError):  # the rows that it handed over cannot be written
            raise error
        too_large = isinstance(error, OverflowError) or "integer string conversion" in str(error)
        reason = "a number is too large to be read" if too_large else defect(self.rows.format, error)
        self.rows.problem(line and line.number, reason, line.text if line else "")
        return True


def end_of_whole_lines(text: bytes) -> int:
    """Where the last line ends that can be read without the next block; 0 where none can."""
    end = text.rfind(b"\n") + 1
    if not end:
        return (text.rfind(b"\r", 0, -1) + 1 or len(text)) if len(text) >= _LONGEST_LINE else 0
    # A line that srun cut is joined with the next one: both must be in one text.
    last = text.rfind(b"\n", 0, end - 1) + 1
    if SRUN_LABEL.match(text, last) and len(text) - (start := start_of_cut(text, last, 0)) < _LONGEST_LINE:
        return start
    return end


def _line_of_hit(text: bytes, ends: list[int], index: int, start: int, hit_end: int) -> tuple[int, int]:
    """Index in `ends`, and start, of the line that holds a hit; of the whole line where `srun -l` cut it."""
    done, index = start, bisect.bisect_left(ends, hit_end, index)
    start = ends[index - 1] + 1
    if start - SRUN_CUT > done and (begin := start_of_cut(text, start, done)) < start:
        return bisect.bisect_left(ends, begin, 0, index), begin
    return index, start


def is_json(text: str) -> bool:
    """Whether a line is an object of JSON lines, or a string within a JSON document that fills several lines."""
    if text.startswith("{"):
        try:
            return isinstance(json.loads(text), dict)
        except (ValueError, RecursionError):
            return False
    return bool(_JSON_STRING.fullmatch(text))
