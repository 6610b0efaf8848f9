"""Text as lines offered to line formats: one pass, bounded memory, each line to the formats whose anchor it holds.

The text is searched for the literal anchors of all formats at once (Aho-Corasick); only lines that hold one, or that
a format has claimed, become Python strings.  ANSI codes, carriage returns and the prefixes that launchers put before
a line are taken off; the rank they name is kept.
"""

import bisect
import functools
import json
import re
from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import NamedTuple, Protocol

import ahocorasick_rs
import numpy as np

from scalelens.errors import UserError
from scalelens.parsing.format_file import defect, name_of
from scalelens.parsing.launcher_prefixes import (
    ANSI,
    SRUN_CUT,
    SRUN_LABEL,
    WITHIN,
    joined_again,
    pieces,
    start_of_cut,
    without_prefix,
)
from scalelens.parsing.rows import Rows

LONGEST = 1 << 20  # a "line" longer than this is offered in pieces
CLAIM_LIMIT = 5_000  # lines of one claim, those of other prefixes in between included
LINE_FEED = ord("\n")
# A line of JSON: what it holds in strings was said elsewhere.  Anchors with quotes of their own are not of that kind,
# as a string would have a backslash before each.
JSON_STRING = re.compile(r'(?:"(?:[^"\\]|\\.)*"\s*:\s*)?"(?:[^"\\]|\\.)*",?')


class Line(NamedTuple):
    """One line: its text without decoration, its number in the file, and whose it is."""

    text: str
    number: int
    rank: int | None = None
    place: str | None = None


class Reader(Protocol):
    """State of one line format for one file."""

    claims: re.Pattern[str] | None

    def __init__(self, rows: Rows) -> None: ...
    def take(self, line: Line) -> bool: ...
    def more(self, line: Line) -> None: ...


def clean(raw: bytes, number: int) -> Line:
    """A line without ANSI codes, carriage return and up to two nested launcher prefixes."""
    text = raw.decode("utf-8", "replace")
    if "\x1b" in text:
        text = ANSI.sub("", text)
    if text.startswith(" ["):
        return Line(text, number)  # Megatron's records, by far the most: no prefix begins so
    text, rank, place = without_prefix(text)
    return Line(text, number, rank, place)


class Continuation:
    """A format's claim on the lines that follow under the same prefix."""

    __slots__ = ("left", "place", "rank", "reader")

    def __init__(self, reader: Reader, line: Line) -> None:
        self.reader, self.rank, self.place, self.left = reader, line.rank, line.place, CLAIM_LIMIT


class LineDispatcher:
    """Offers the lines of one file to the readers of all line formats."""

    def __init__(self, formats: Sequence[ModuleType], rows: Rows) -> None:
        self.rows = rows
        self.lines = 0
        self._readers: dict[str, Reader] = {}  # of the formats that were offered a line
        self._formats, self._finder, self._words, self._takers = anchors_of(tuple(formats))
        self._offers: dict[tuple[int, ...], list[str]] = {}  # formats by the anchors of a line
        self._claiming: dict[str, Continuation] = {}

    def read(self, blocks: Iterable[bytes]) -> None:
        """All lines of a text, given as blocks of UTF-8 bytes."""
        rest = b""
        for block in blocks:
            text = rest + block
            cut = text.rfind(b"\n") + 1
            # srun's cut lines are joined with the next one, which must be at hand.
            last = text.rfind(b"\n", 0, cut - 1) + 1 if cut else 0
            if cut and SRUN_LABEL.match(text, last) and len(text) - (start := start_of_cut(text, last, 0)) < LONGEST:
                cut = start
            elif not cut and len(text) >= LONGEST:
                cut = text.rfind(b"\r", 0, -1) + 1 or len(text)
            rest = text[cut:]
            if cut:
                self._read(text[:cut])
        if rest:
            self._read(rest)
            self.lines += not rest.endswith(b"\n")
        for name, reader in sorted(self._readers.items()):
            if finish := getattr(reader, "finish", None):
                self.rows.format = name
                try:
                    finish()
                except Exception as error:
                    self._failed(error)

    def _read(self, text: bytes) -> None:
        """The lines of `text`: those that hold an anchor, and those that are claimed."""
        hits = iter(self._finder.find_matches_as_indexes(text, overlapping=True))
        hit = next(hits, None)
        if hit is None and not self._claiming:
            self.lines += text.count(b"\n")
            return
        ends: list[int] = np.flatnonzero(np.frombuffer(text, np.uint8) == LINE_FEED).tolist()
        first, place = self.lines + 1, 0  # number of the first line, and the place of the next one
        self.lines += len(ends)
        if not text.endswith(b"\n"):
            ends.append(len(text))
        while place < len(ends):
            start = ends[place - 1] + 1 if place else 0
            if not self._claiming:
                if hit is None:
                    break
                if ends[place] < hit[1]:
                    done, place = start, bisect.bisect_left(ends, hit[1], place)
                    start = ends[place - 1] + 1
                    if start - SRUN_CUT > done and (begun := start_of_cut(text, start, done)) < start:
                        start, place = begun, bisect.bisect_left(ends, begun, 0, place)
            number, end = first + place, ends[place]
            raw = text[start:end]
            if end - start > SRUN_CUT:
                raw, end = joined_again(text, start, end)
                place = bisect.bisect_left(ends, end, place)
            place += 1
            found: list[int] = []
            while hit is not None and hit[1] < end:
                found.append(hit[0])
                hit = next(hits, None)
            tagged = b"]<std" in raw
            if b"\r" not in raw and not tagged:
                self._deliver(raw, number, found)
            elif b"\r" in raw.rstrip(b"\r") or (tagged and WITHIN.search(raw)):
                label: Line | None = None  # a launcher puts its prefix before the line, not before each piece of it
                for piece in raw.split(b"\r") if not tagged else pieces(raw):
                    pairs = self._finder.find_matches_as_indexes(piece, overlapping=True) if found else ()
                    words = [word for word, _, _ in pairs]
                    if words or self._claiming or not label:
                        label = self._deliver(piece, number, words, label)
            else:
                self._deliver(raw.rstrip(b"\r"), number, found)

    def _deliver(self, raw: bytes, number: int, found: list[int], label: Line | None = None) -> Line:
        """Hands a line to the format that claimed it, and to those whose anchors, given by index, it holds."""
        line = clean(raw, number)
        if label and line.rank is None and line.place is None:
            line = line._replace(rank=label.rank, place=label.place)
        claimer = self._claimed(line) if self._claiming else None
        if not found:
            return line
        if line.text[:1] in ' \t{"' and line.text.lstrip()[:1] in ("{", '"') and is_json(line.text.strip()):
            found = [word for word in found if '"' in self._words[word]]
        key = tuple(found) if len(found) < 4 else tuple(sorted(set(found)))
        offered = self._offers.get(key)
        if offered is None:
            offered = self._offers[key] = list(dict.fromkeys(name for word in found for name in self._takers[word]))
        rows = self.rows
        for name in offered:
            if name == claimer:
                continue
            reader = self._readers.get(name) or self._reader(name)
            rows.format = name
            try:
                took = reader.take(line)
            except Exception as error:
                took = self._failed(error, line)
            if took:
                rows.taken[name] = rows.taken.get(name, 0) + 1
                if reader.claims:
                    self._claiming[name] = Continuation(reader, line)
        return line

    def _reader(self, name: str) -> Reader:
        reader: Reader = self._formats[name].Reader(self.rows)
        self._readers[name] = reader
        return reader

    def _claimed(self, line: Line) -> str | None:
        """Hands a line to the format that claimed it.  Lines of other prefixes in between do not end a claim."""
        claimer = None
        for name, claim in [*self._claiming.items()]:
            claims = claim.reader.claims
            same = claim.rank == line.rank and claim.place == line.place
            if claim.left <= 0 or (same and not (claims and claims.match(line.text))):
                del self._claiming[name]
                continue
            claim.left -= 1
            if same and claimer is None:
                self.rows.format = claimer = name
                try:
                    claim.reader.more(line)
                except Exception as error:
                    self._failed(error, line)
        return claimer

    def _failed(self, error: Exception, line: Line | None = None) -> bool:
        """A defect of a format costs one line, and is a problem with its place; it never ends an ingest."""
        if isinstance(error, UserError):  # the rows that it handed over cannot be written
            raise error
        too_large = isinstance(error, OverflowError) or "integer string conversion" in str(error)
        reason = "a number is too large to be one" if too_large else defect(self.rows.format, error)
        self.rows.problem(line and line.number, reason, line.text if line else "")
        return True


@functools.lru_cache(maxsize=8)
def anchors_of(
    formats: tuple[ModuleType, ...],
) -> tuple[dict[str, ModuleType], ahocorasick_rs.BytesAhoCorasick, list[str], list[list[str]]]:
    """Formats by name, what finds all anchors in one pass, the anchors by index, and the formats that each calls."""
    named = {name_of(format): format for format in formats}
    anchors = sorted({(anchor, name) for name, format in named.items() for anchor in format.ANCHORS})
    words = sorted({anchor for anchor, _ in anchors})
    finder = ahocorasick_rs.BytesAhoCorasick(
        [word.encode() for word in words],
        implementation=ahocorasick_rs.Implementation.DFA,  # twice as fast; its table is a few megabytes
    )
    return named, finder, words, [[name for anchor, name in anchors if anchor == word] for word in words]


def is_json(text: str) -> bool:
    """Whether a line is an object of JSON lines, or a string of a JSON document that was laid out over lines."""
    if text.startswith("{"):
        try:
            return isinstance(json.loads(text), dict)
        except (ValueError, RecursionError):
            return False
    return bool(JSON_STRING.fullmatch(text))
