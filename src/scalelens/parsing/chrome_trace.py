"""A trace's JSON as events, a slice at a time: bounded memory, and damage costs only what is damaged.

Chrome's trace event format is an array of events, alone or in an object whose other members are metadata.  Slices of
the array are decoded at once; where one does not decode, its events are looked for one by one.
"""

import contextlib
import functools
import operator
from collections.abc import Iterator
from itertools import chain
from typing import Annotated, Any, ClassVar, cast

import msgspec
from msgspec import Meta

from scalelens.parsing import lazy_re as re
from scalelens.parsing.source import Source

_SLICE = 2 << 20  # bytes decoded at once
_LARGEST = 1 << 18  # bytes of an event that is found where its neighbors are damaged
LONGEST_HEAD = 64 << 20  # bytes of metadata before or after the events
_TOKENS, _TOKENS_PER_BYTE = 100_000, 2  # of a damaged text that are looked at; a whole one has up to 0.3 a byte
_DEEPEST_JSON = 100  # objects within objects; what is deeper is damage, and its end is not worth the search

ARRAY = re.compile(rb'\A\s*\[|"traceEvents"\s*:\s*\[|\[\s*\{\s*"ph"\s*:\s*"')
_NEXT = re.compile(rb'(\})\s*,\s*(?=\{\s*"(?:ph|name|cat|pid|tid|ts|dur|id|args|s)")')
_CLOSED = re.compile(rb'\s*,?\s*\](?=\s*(?:\}|,\s*"|\Z))')
SEPARATORS = b", \t\r\n"
CORRELATION, LAUNCHES = b'"correlation"', b'"ac2g"'  # what links work of a device to the call that launched it
_LOOKED_FOR = frozenset((CORRELATION, LAUNCHES))
# Possessive groups that may backtrack match wrongly up to Python 3.11.4 (python/cpython issue 106052).
_STRING_OR_BRACKET = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[{}\[\]]', re.DOTALL)
_SOUND = rb'(?>(?:[^"niNI-]++|"[^"\\\0-\x1f]*+"|null|-(?=\d)){1,1000})'  # each of them costs memory
_MENDABLE = re.compile(_SOUND + rb'|("[^"\\]*+(?:\\.[^"\\]*+)*+")|(-?(?:nan|NaN|inf|Infinity)\b)', re.DOTALL)
_ODD = re.compile(rb'\\["\\/bfnrtu]|[\0-\x1f]|\\')
_BASE = re.compile(rb'"baseTimeNanoseconds"\s*:\s*(\d{1,19})\s*[,}]')
_JOB_RANK = re.compile(rb'"distributedInfo"\s*:\s*\{[^{}]*?"rank"\s*:\s*(\d{1,9})\s*[,}]')

UNREADABLE = (ValueError, RecursionError)  # what msgspec raises where the text is not JSON or not of the type
_ABSENT = msgspec.Raw(b"")


# Microseconds that a float holds to the nanosecond: fractions up to 2**43, whole ones up to 2**53.
_Time = Annotated[int, Meta(ge=-(2**53), le=2**53)] | Annotated[float, Meta(gt=-(2.0**43), lt=2.0**43)] | None


class Item(msgspec.Struct, gc=False):
    """What stands in the array: an event, or something whose phase alone is looked at."""

    ph: ClassVar[str] = ""


class Event(Item, gc=False):
    name: Any = None
    cat: Any = None
    pid: Any = None
    tid: Any = None
    ts: _Time = None
    dur: _Time = None
    args: msgspec.Raw = _ABSENT


class Flow(Event, gc=False):
    """An end of an arrow between events: where it starts on a thread, or ends there."""

    id: Any = None


class Other(Event, gc=False):
    """An event of any phase, or of none."""

    ph: str = ""  # type: ignore[misc]


class Exact(Other, gc=False):
    """An event among some whose times do not fit into a float: they stay text."""

    ts: msgspec.Raw = _ABSENT  # type: ignore[assignment]
    dur: msgspec.Raw = _ABSENT  # type: ignore[assignment]


def _of_phase(letter: str, base: type[Item]) -> type[Item]:
    """The type of the items of a phase."""
    kind = msgspec.defstruct(
        f"Phase_{letter}", [], bases=(base,), namespace={"ph": _ROWS.get(letter, letter)}, gc=False,
        tag_field="ph", tag=letter,
    )  # fmt: skip
    return cast(type[Item], kind)


# Phases that become rows, and as what; flows and metadata are passed over without a look at what they hold.
_ROWS = {"X": "X", "B": "B", "E": "E", "C": "C", "i": "i", "I": "i", "R": "i"}
COMPLETE: Any = _of_phase("X", Event)
_OF_ROWS = [_of_phase(letter, Event) for letter in _ROWS if letter != "X"]
_OF_FLOWS = [_of_phase(letter, Item) for letter in "stf"]
_EVENT_TYPES: Any = functools.reduce(operator.or_, _OF_ROWS + _OF_FLOWS, COMPLETE)
_METADATA: Any = _of_phase("M", Item)
_NAMED_METADATA: Any = _of_phase("M", Event)
_EVENTS: Any = msgspec.json.Decoder(list[_EVENT_TYPES | _METADATA])
_NAMED: Any = msgspec.json.Decoder(list[_EVENT_TYPES | _NAMED_METADATA])
_OF_ARROWS = [_of_phase(letter, Flow) for letter in "stf"]
_LINKED: Any = msgspec.json.Decoder(
    list[functools.reduce(operator.or_, _OF_ROWS + _OF_ARROWS, COMPLETE) | _METADATA]  # type: ignore[misc]
)
# Types of sound items, whose phase is known without a look at each.
PHASE_OF = {kind: kind.ph for kind in (COMPLETE, *_OF_ROWS, *_OF_FLOWS, _METADATA, _NAMED_METADATA)}
_ANY: tuple[Any, ...] = (msgspec.json.Decoder(list[Other]), msgspec.json.Decoder(list[Exact]))

Items = list[Item | bytes]  # what stands in the array, and as bytes what should be an event


class Trace:
    """The text of a trace: its events a slice at a time, and the metadata around them."""

    def __init__(self, source: Source, named: bool = False, flows: bool = False) -> None:
        """`named` where the format looks at what metadata events hold, `flows` where at those of arrows."""
        self.source = source
        self.decoder = _LINKED if flows else _NAMED if named else _EVENTS
        self.head = self.tail = b""
        self.found: set[bytes] = set()  # of _LOOKED_FOR, what is in the text; after CORRELATION nothing is looked for
        self.has_array = self.closed = self.torn = self.mended = False

    def slices(self, only: bytes = b"") -> Iterator[Items]:
        """Events, a slice at a time; with `only`, those of slices that hold it, and of the last."""
        self.closed = self.mended = False
        blocks = self.source.utf8(_SLICE)
        text, passed = self._open(blocks), (b"", memoryview(b""))
        for block in chain(blocks, (None,)) if self.has_array else ():
            # What is left of the last slice stays apart: a copy of each slice costs as much as its decompression.
            left, text = (text, block) if block is not None else (b"", b"".join((*passed, text)))
            cut = (len(text), len(text)) if block is None else _boundary(text)
            if cut is None:
                left, text = b"", left + text
                cut = _boundary(text)
                if cut is None and len(text) < _LARGEST:
                    continue
            if only and cut and CORRELATION not in self.found:
                self.found |= {key for key in _LOOKED_FOR - self.found if _holds(key, left, text, cut[0])}
            if cut and block is not None and not _holds(only, left, text, cut[0]):
                passed, text = (left, memoryview(text)[: cut[1]]), text[cut[1] :]
                continue
            items, text = self._decode(left, text, cut, final=block is None)
            passed, left = (b"", memoryview(b"")), b""
            yield items
            items = []  # their memory serves for the next ones
            if self.closed:
                self.tail = text
                for block in blocks:
                    if len(self.tail) < LONGEST_HEAD:
                        self.tail += block
                return

    def metadata(self) -> dict[str, Any]:
        """What stands before and after the events, once they have been read."""
        metadata: dict[str, Any] = {}
        self.torn = False
        tail = self.tail.strip(SEPARATORS) if self.head.strip() else b"}"  # an array has no metadata
        for text in (b"{" + self.head.strip(SEPARATORS + b"{") + b"}", b"{" + tail):
            try:
                part = msgspec.json.decode(mend(text))
            except UNREADABLE:
                self.torn = True
                base, rank = _BASE.search(text), _JOB_RANK.search(text)
                part = {"baseTimeNanoseconds": int(base[1])} if base else {}
                part |= {"distributedInfo": {"rank": int(rank[1])}} if rank else {}
            metadata |= part if isinstance(part, dict) else {}
        return metadata

    def _open(self, blocks: Iterator[bytes]) -> bytes:
        """Reads up to the events.  Returns what was read of them."""
        text = b""
        for block in blocks:
            seen = len(text)
            text += block
            if array := ARRAY.search(text, max(seen - 64, 0)):
                self.has_array, self.head = True, text[: array.start()]
                return text[text.index(b"[", array.start()) + 1 :]
            if len(text) > LONGEST_HEAD:
                break
        return b""

    def _decode(self, left: bytes, text: bytes, cut: tuple[int, int] | None, final: bool) -> tuple[Items, bytes]:
        """Events of `left` and of the text up to the cut, and what is left of the text."""
        if cut:
            array = b"".join((b"[", left, memoryview(text)[: cut[0]], b"]"))
            with contextlib.suppress(*UNREADABLE):
                if not final:
                    return self.decoder.decode(array), text[cut[1] :]
            for piece, mended in _tries(array[1:-1]):
                try:
                    items, end = _decoded(piece, self.decoder)
                except UNREADABLE:
                    continue
                self.mended |= mended
                self.closed = end is not None
                return items, piece[end:] + text[cut[0] :] if self.closed else text[cut[1] :]
        return self._one_by_one(left + text, final)

    def _one_by_one(self, text: bytes, final: bool) -> tuple[Items, bytes]:
        """Events of a damaged text, and what is left of it."""
        items: Items = []
        search = Search(_TOKENS + _TOKENS_PER_BYTE * len(text))
        at, bad = 0, None  # up to where the text is done; where damage began that lasts until the next event
        while (start := text.find(b"{", at)) >= 0:
            if bad is None and text[at:start].strip(SEPARATORS):
                bad = at
            end = search.closing(text, start)
            if search.tokens_left < 0:  # nested so that each object would be searched again and again
                bad = start if bad is None else bad
                break
            if end is None and not final and len(text) - start < _LARGEST:
                return items + ([] if bad is None else [text[bad:start]]), text[start:]
            event = self._event(text[start:end]) if end else None
            # Within damage, an object without a phase is the arguments of the damaged event.
            if event is None or end is None or (bad is not None and not event.ph):
                at, bad = start + 1, start if bad is None else bad
                continue
            items += [event] if bad is None else [text[bad:start], event]
            at, bad = end, None
            if closed := _CLOSED.match(text, at):
                self.closed = True
                return items, text[closed.end() :]
        rest = text[at if bad is None else bad :]
        self.tail = rest[rest.rfind(b"]") + 1 :]
        return items + ([rest] if rest.strip(SEPARATORS) else []), b""

    def _event(self, text: bytes) -> Item | None:
        for piece, mended in _tries(text):
            try:
                (event,), _ = _decoded(piece, self.decoder)
            except UNREADABLE:
                continue
            self.mended |= mended
            return event if isinstance(event, Item) else None
        return None


def _decoded(text: bytes, first: Any = _EVENTS) -> tuple[Items, int | None]:
    """Events of a piece of the array, and where in it the array ends.  A piece cut inside an event does not decode."""
    for decoder in (first, *_ANY):
        try:
            return decoder.decode(b"[%b]" % text), None
        except msgspec.ValidationError:
            continue
        except msgspec.DecodeError as error:
            trailing = re.search(r"trailing characters \(byte (\d+)\)", str(error))
            end = text.rfind(b"]", 0, int(trailing[1]) if trailing else 0)
            if end < 0 or not _CLOSED.match(text, end):
                raise
            return decoder.decode(b"[" + text[: end + 1]), end + 1
    raise ValueError("the text is not a list of events")


def _holds(only: bytes, left: bytes, text: bytes, end: int) -> bool:
    """Whether something stands in `left` and the text up to an end, which follows it."""
    return text.rfind(only, 0, end) >= 0 or only in left + text[: min(len(only), end)]


def _boundary(text: bytes) -> tuple[int, int] | None:
    """Where the second to last event ends, and where the last begins."""
    for window in (1 << 14, len(text)):
        gaps = [*_NEXT.finditer(text, max(len(text) - window, 0))]
        for before, last in zip(gaps[-2::-1], gaps[:0:-1], strict=True):
            with contextlib.suppress(*UNREADABLE):
                (event,), _ = _decoded(text[before.end() : last.end(1)])
                if isinstance(event, Item) and event.ph:  # not the arguments of one
                    return last.end(1), last.end()
    return None


class Search:
    """Looks for the ends of objects in a text, and for no more than so many tokens."""

    def __init__(self, tokens: int) -> None:
        self.tokens_left = tokens

    def closing(self, text: bytes, start: int) -> int | None:
        """Where the object ends that begins at `start`."""
        depth = 0
        for token in _STRING_OR_BRACKET.finditer(text, start, start + _LARGEST):
            self.tokens_left -= 1
            depth += {b"{": 1, b"[": 1, b"}": -1, b"]": -1}.get(token[0], 0)
            if depth == 0:
                return token.end()
            if depth > _DEEPEST_JSON or self.tokens_left < 0:
                break
        return None


def _tries(text: bytes) -> Iterator[tuple[bytes, bool]]:
    """A text as it is, then repaired."""
    yield text, False
    yield mend(text), True


def mend(text: bytes) -> bytes:
    """JSON whose control characters and stray backslashes are escaped, and in which a bare nan is null."""

    def mended(match: re.Match[bytes]) -> bytes:
        if match[1]:
            return _ODD.sub(lambda odd: odd[0] if len(odd[0]) == 2 else b"\\u%04x" % ord(odd[0]), match[1])
        return b"null" if match[2] else match[0]

    return _MENDABLE.sub(mended, text.decode("utf-8", "replace").encode())
