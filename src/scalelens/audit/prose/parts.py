"""Parts of one whole, each with its share: "of 139 TWh, 61 TWh (44 %) are water and 65 TWh (47 %) nuclear".

The whole stands in the sentence, or follows from two parts that agree on it.  A part is accused if it does not fit the
whole that two other ones fit, or that the words call the whole, and if a slip would make it fit.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from scalelens.audit.document import Document, Sentence
from scalelens.audit.finding import Finding
from scalelens.audit.forms.slips import is_short_slip, slip
from scalelens.audit.printed import Bounds, Number
from scalelens.audit.quantities import exact, value
from scalelens.audit.wording import about, matters, middle, with_unit
from scalelens.units import base

_PART = re.compile(r"<(?P<a>\d+)>(?: [^<>.;:(),]{0,24})? ?\((?:=|i\.e\.,? )?<(?P<c>\d+)>(?: of [^<>()]{0,20})?\)")
_WHOLE = re.compile(
    r"\b(?:total|out of|of|among|from)\b[^<>.;:()]{0,40}<(?P<b>\d+)>|"
    r"<(?P<b2>\d+)>[^<>.;()]{0,30}\b(?:in total|of which|total)\b"
)
_SURE = re.compile(r"\b(?:in total|total of|out of|of the|of all|of which)\b")
_OTHER = re.compile(r"\b(?:than|vs|versus|compared|faster|slower|more|less|respectively|confidence|accuracy|ci)\b|[→±]")
_MOST_NUMBERS = 16
_EXACT = 1e-6  # a quotient of counts need not be whole


# "118.3 GB/s (59.1 % of 200 GB/s)"
_OF_PEAK = re.compile(
    r"<(?P<a>\d+)>[^<>.;]{0,40}(?:\([^<>()]{0,20}(?:<\d+>)?[^<>()]{0,12}\) ?)?[(,=≈]=? ?<(?P<c>\d+)> of "
    r"(?:the |its |a |our |one )?(?:[a-z-]+ ){0,3}\(?<(?P<b>\d+)>"
)


@dataclass(frozen=True)
class _Part:
    """A part and its share of the whole in per cent."""

    amount: Number
    share: Number

    def fits(self, whole: Bounds) -> bool:
        said = value(self.share)
        room = (said.high - said.low) / 2
        return not Bounds(said.low - room, said.high + room).apart(_of(self.amount) / whole)


def find(document: Document) -> Iterator[Finding]:
    """Parts whose share of the whole is another one."""
    for sentence in document.sentences:
        if not 3 <= len(sentence.numbers) <= _MOST_NUMBERS or _OTHER.search(sentence.marked):
            continue
        numbers = sentence.numbers
        parts = [_Part(numbers[int(m["a"])], numbers[int(m["c"])]) for m in _PART.finditer(sentence.marked)]
        parts = [part for part in parts if _is_share(part)]
        inside = {id(number) for part in parts for number in (part.amount, part.share)}
        wholes = [numbers[int(m["b"] or m["b2"])] for m in _WHOLE.finditer(sentence.marked)]
        wholes = [number for number in wholes if id(number) not in inside and not number.hedge and number.low > 0]
        yield from _held(parts, wholes, bool(_SURE.search(sentence.marked)))
        yield from _of_peaks(sentence)


def _of_peaks(sentence: Sentence) -> Iterator[Finding]:
    """Shares of a peak in the unit of what they are the share of."""
    for found in _OF_PEAK.finditer(sentence.marked):
        amount, share, whole = (sentence.numbers[int(found[k])] for k in "acb")
        part = _Part(amount, share)
        if not _is_share(part) or whole.hedge or whole.low <= 0 or not whole.unit:
            continue
        if base(amount.unit)[0] != base(whole.unit)[0] or part.fits(_of(whole)):
            continue
        others = [n for n in sentence.numbers if base(n.unit)[0] == base(whole.unit)[0] and n.low > 0]
        if any(_Part(a, share).fits(_of(b)) for a in others for b in others if a is not b):
            continue
        if _has_slip(part, _of(whole), whole):
            yield _finding(part, whole)


def _is_share(part: _Part) -> bool:
    hedged = part.amount.hedge or part.share.hedge
    return part.share.unit == "%" and part.amount.unit not in ("%", "x") and not hedged and part.amount.low > 0


def _held(parts: list[_Part], wholes: list[Number], is_sure: bool) -> Iterator[Finding]:
    """The one part that does not fit the whole that the others fit; or the whole, if only it does not fit."""
    for whole in wholes:
        alike = [part for part in parts if base(part.amount.unit)[0] == base(whole.unit)[0]]
        wrong = [part for part in alike if not part.fits(_of(whole))]
        others_fit = len(alike) > len(wrong) == 1
        alone = len(alike) == len(wrong) == 1 and len(wholes) == 1 and is_sure and len(whole.text) > 1
        if (others_fit and _has_slip(wrong[0], _of(whole))) or (alone and _has_slip(wrong[0], _of(whole), whole)):
            yield _finding(wrong[0], whole)
        elif len(alike) == len(wrong) > 1 and len(wholes) == 1:
            meant = [_of(part.amount) / value(part.share) for part in alike]
            low, high = max(each.low for each in meant), min(each.high for each in meant)
            size = base(whole.unit)[1]
            if low <= high and slip(whole.text, float(low / size), float(high / size)):
                yield _finding(alike[0], whole)


def _of(number: Number) -> Bounds:
    """A whole number without a dimension is exact."""
    bounds = value(number)
    if not number.unit and number.text.isdigit():
        return Bounds(middle(bounds), middle(bounds))
    return bounds


def _has_slip(part: _Part, whole: Bounds, printed: Number | None = None) -> bool:
    """Whether a slip in the share, the part or the whole would make them fit."""
    share = _of(part.amount) / whole
    amount = whole * value(part.share)
    rights = [(part.share, share), (part.amount, amount)]
    if printed:
        rights.append((printed, _of(part.amount) / value(part.share)))
    for number, right in rights:
        size = base(number.unit)[1]
        low, high = float(right.low / size) * (1 - _EXACT), float(right.high / size) * (1 + _EXACT)
        short = printed is None and is_short_slip(number.text, low, high)
        if slip(number.text, low, high) or short:
            return True
    return False


def _finding(part: _Part, whole: Number) -> Finding:
    right = _of(part.amount) / _of(whole)
    return Finding(
        "inconsistent",
        (part.share, part.amount, whole),
        f"{with_unit(part.amount)} of {with_unit(whole)} are {about(middle(right) * 100, 4)} %, "
        f"not {with_unit(part.share)}.",
        matters(value(part.share), right * exact(1)),
        "share = part / whole",
    )
