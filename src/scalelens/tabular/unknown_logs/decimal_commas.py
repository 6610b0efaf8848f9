"""Numbers with a comma for the point, as programs print them in a locale that has it: `loss 2,0312, time 0,431 s`.

Which it is shows only over the whole text: `1,431` may be more than a thousand.  Where numbers such as `0,431` or
`2,0312` stand in several lines, and a point stands in none of them, each comma between digits is one.
"""

import itertools
from collections.abc import Callable, Iterator
from weakref import WeakKeyDictionary

from scalelens.parsing import lazy_re as re
from scalelens.parsing.source import Source

_MOST_BYTES = 4 << 20  # of a text, by which it is told
_MOST_LINES = 2_000  # with a comma between digits
_LEAST_LINES = 5
_MOSTLY = 0.9
_BETWEEN_DIGITS = re.compile(rb"\d,\d")
# No thousands begin with a zero, or have four digits.  `00:00,012` is a stamp, `[0,12]` a list, and `1,0,12` more than
# one number; `epoch 0,12` may be two counts.
_SURE = re.compile(rb"(?<![\w,.\[({-])(?:0,\d{2,12}|\d{1,3},\d{4,12})(?!\d|[,.]\d)")
_COUNTED = re.compile(rb"(?:epoch|step|iter|iteration|batch|it)\W{0,3}\Z", re.IGNORECASE)
_BEFORE = 14  # bytes before a number, in which such a word stands
_POINT = re.compile(rb"(?<![\w.])\d{1,12}\.\d{1,12}(?![\w.])")
_COMMA = re.compile(r"(?<![\d,.\[({])(?<!\d:)(\d{1,12}),(\d{1,12})(?!\d|[,.]\d)")

_KNOWN: WeakKeyDictionary[Source, bool] = WeakKeyDictionary()


def with_points(source: Source) -> Callable[[str], str] | None:
    """What replaces the commas of a line by points; None where they are none."""
    if source not in _KNOWN:
        _KNOWN[source] = _has_decimal_commas(source)
    return _replaced if _KNOWN[source] else None


def _replaced(text: str) -> str:
    return _COMMA.sub(r"\1.\2", text) if "," in text else text


def _has_decimal_commas(source: Source) -> bool:
    """Whether several lines have such numbers, and hardly any of those with a comma a point."""
    sure = points = 0
    lines = (line for line in _first_lines(source) if _BETWEEN_DIGITS.search(line))
    for line in itertools.islice(lines, _MOST_LINES):
        hits = _SURE.finditer(line)
        sure += any(not _COUNTED.search(line, max(hit.start() - _BEFORE, 0), hit.start()) for hit in hits)
        points += _POINT.search(line) is not None
    return sure >= _LEAST_LINES and points <= (1 - _MOSTLY) * sure


def _first_lines(source: Source) -> Iterator[bytes]:
    """The lines of the beginning of a text."""
    rest, left = b"", _MOST_BYTES
    for block in source.utf8():
        *lines, rest = (rest + block).split(b"\n")
        yield from lines
        left -= len(block)
        if left <= 0:
            return
    yield rest
