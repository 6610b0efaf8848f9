"""One quantity in two units: "3.2 TB (3,200 GB)", "1.5 h = 90 min", "8,030,261,248 parameters (8.0B)".

Accused if the two differ beyond their digits, and a slip in one of them would make them equal: what stands in brackets
may be another quantity in its own right.
"""

import re
from collections.abc import Iterator
from decimal import Decimal

from scalelens.audit.document import Document, Sentence
from scalelens.audit.finding import Finding
from scalelens.audit.forms.slips import slip
from scalelens.audit.numerals import numerals
from scalelens.audit.printed import Bounds, Number, bounds_of
from scalelens.audit.prose.copied import line_of
from scalelens.audit.quantities import value
from scalelens.audit.wording import about, matters, middle, with_unit
from scalelens.units import base

_PAIR = re.compile(
    r"<(\d+)>(?: [a-z]+)? ?"
    r"(?:[(\[] ?(?:=|≈|~|i\.e\.,?|or|about|approximately|roughly|that is,?)? ?<(\d+)>(?: [a-z]+)? ?[)\]]|"
    r"(?:=|≈|, i\.e\.,?|, that is,?|, or) <(\d+)>(?= ?[.,;)]| ?$))"
)
_IN_BRACKETS = re.compile(r"[\d,.]+ ?[A-Za-z]+ \(\D{0,3}[\d,.]+ ?[A-Za-z]+\)$")
_FACTOR = re.compile(r"(?:[×·/+]|\bx) ?\(?$")
_POWER = re.compile(r"(?:[kMBT]|thousand|million|billion|trillion)$")
_SCIENTIFIC = re.compile(r"[eE](?=[-+]?\d)|\s?(?:\\times|×|·)\s?10\s?\^")
_LEAST_DIGITS = 4
_LEAST = 10_000  # a plain number that may be written as 10K
_BINARY = (Decimal(1), Decimal("1.024"), Decimal("1.048576"), Decimal("1.073741824"), Decimal("1.099511627776"))


def find(document: Document) -> Iterator[Finding]:
    """Quantities that are not what they are in another unit."""
    for sentence in (*document.sentences, *_cells(document)):
        for found in _PAIR.finditer(sentence.marked):
            a, b = (sentence.numbers[int(k)] for k in found.groups() if k)
            if _FACTOR.search(sentence.marked[: found.start()]):
                continue  # a product: "20 runs × 30 s = 10 min"
            if len(a.text) == 1:
                continue  # "120x (1 minute ≈ 0.5 seconds)"
            if (finding := _of_digits(a, b)) or (_is_one_quantity(a, b) and (finding := _of_two(a, b))):
                yield finding


def _cells(document: Document) -> Iterator[Sentence]:
    """Cells that give one quantity in two units, "4,323 s (72 min)", as sentences."""
    for table in document.tables:
        for row, texts in enumerate(table.texts):
            for column, text in enumerate(texts):
                if not _IN_BRACKETS.match(text):
                    continue
                found = numerals(text)
                line = line_of(document, table, (row, column))
                bounds = [bounds_of(each.text) for each in found]
                numbers = tuple(
                    Number(each.text, ends.low, ends.high, each.unit, line, 1, text, hedge=each.hedge)
                    for each, ends in zip(found, bounds, strict=True)
                )
                yield Sentence(text, line, numbers, tuple((each.start, each.end) for each in found))


def _of_digits(a: Number, b: Number) -> Finding | None:
    """ "989.43, or 9.8943 × 10^12 FLOP/s": the same digits, but no prefix of a unit lies between the two."""
    if bool(a.unit) == bool(b.unit) or min(a.low, b.low) <= 0 or not _SCIENTIFIC.search(a.text + b.text):
        return None
    if _digits(a) != _digits(b) or len(_digits(a)) < _LEAST_DIGITS:
        return None
    ratio = (middle(a.bounds) * base(a.unit)[1]) / (middle(b.bounds) * base(b.unit)[1])
    power = round(float(ratio.log10()))
    if power % 3 == 0 or abs(ratio / Decimal(10) ** power - 1) > Decimal("0.01"):
        return None
    return Finding(
        "inconsistent",
        (b, a),
        f"{with_unit(a)} and {with_unit(b)} have the same digits, but differ by 10^{abs(power)}, which no unit does.",
        "conclusion",
        "one quantity in two units",
    )


def _digits(number: Number) -> str:
    """The digits of a number without its exponent and without zeros at the ends."""
    return re.sub(r"\D", "", _SCIENTIFIC.split(number.text)[0]).strip("0")


def _is_one_quantity(a: Number, b: Number) -> bool:
    if min(a.low, b.low) <= 0 or "bound" in (a.hedge, b.hedge):
        return False
    if a.unit and b.unit:
        return base(a.unit)[0] == base(b.unit)[0] and a.unit != b.unit and a.unit not in ("%", "x")
    named = [bool(_POWER.search(each.text)) for each in (a, b)]
    plain = b if named[0] else a
    return not a.unit and not b.unit and sum(named) == 1 and plain.low > _LEAST


def _of_two(a: Number, b: Number) -> Finding | None:
    first, second = value(a), value(b)
    room = Decimal("0.05") if "about" in (a.hedge, b.hedge) else Decimal("0.01")
    plain = a if b.text[-1:].isalpha() else b
    binary = base(a.unit)[0].startswith("B") or (not a.unit and middle(plain.bounds) % 2**16 == 0)  # 1.5M as 1.5 × 2^20
    factors = _BINARY if binary else _BINARY[:1]
    if any(not _roomy(first, room).apart(_times(second, each)) for factor in factors for each in (factor, 1 / factor)):
        return None
    size, other = base(a.unit)[1], base(b.unit)[1]
    found = slip(b.text, float(first.low / other), float(first.high / other)) or slip(
        a.text, float(second.low / size), float(second.high / size)
    )
    named = Decimal(10) ** {"k": 3, "M": 6, "B": 9, "T": 12}.get(b.text[-1:], 0)
    if not found and not a.unit and first.low > named:
        found = slip(re.sub(r"[A-Za-z ]", "", b.text), float(first.low / named), float(first.high / named))
    if not found or found.endswith("two"):
        return None
    right = f"{about(middle(first) / other / named, 6)}{b.text[-1:] if named > 1 else ''} {b.unit}".rstrip()
    return Finding(
        "inconsistent",
        (b, a),
        f"{with_unit(a)} are {right}, not {with_unit(b)} ({found}).",
        matters(second, first),
        "one quantity in two units",
    )


def _roomy(bounds: Bounds, room: Decimal) -> Bounds:
    return Bounds(bounds.low * (1 - room), bounds.high * (1 + room))


def _times(bounds: Bounds, factor: Decimal) -> Bounds:
    return Bounds(bounds.low * factor, bounds.high * factor)
