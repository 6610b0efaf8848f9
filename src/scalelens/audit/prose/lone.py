"""The only two values of one quantity in a sentence, and the only change that it states: no words need bind them.

"The unfused kernel achieves 62.3 gen/s; the fused one 135.9 gen/s, a clean 2.18x" and "Memory reduction: 25 % (9.2 GB
vs 12.3 GB)": a sentence with two values that says how much they differ says it of these.  It is accused if no numbers
of the sentence give the change, and a slip in one of the three would make it right.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from scalelens.audit.document import Document, Sentence
from scalelens.audit.finding import Finding
from scalelens.audit.printed import Number
from scalelens.audit.prose.bound import (
    IS_MORE,
    MYRIADS,
    POINTS,
    Change,
    held,
    is_in_another,
    is_of_a_fraction,
    slip_of,
    ways_of,
)
from scalelens.audit.units import COUNTED
from scalelens.units import base

_MOST_NUMBERS = 10
_TWO = 2
_POINTS = re.compile(POINTS, re.IGNORECASE)
_LEAST_DIGITS = 3  # of a whole number that is a value, not a setting
_LEAST_SIGNIFICANT = 2  # of a value; 1.0 and 2.0 may be versions
_WIDTH = 64  # of a layer, a batch: a multiple of it is chosen
_NEAR = 40  # characters
_RIGHT_AFTER = re.compile(rf" ?(?:[a-z-]+ ){{0,1}}(?:{IS_MORE})| ?\)| of (?:the |its |an? )?[a-z]")
_RIGHT_BEFORE = re.compile(
    r"(?:\bby|\bsaves?|\bsaving|\bsaved|"
    r"\b(?:reduction|improvement|increase|decrease|speed-?up|gain|drop)s?(?: of|:)?) ?~?$"
)
_COMPARED = re.compile(r"\b(?:vs|versus|against|than|statt|from|over|instead|compared|baseline)\b|→|->|相比|对比|比")
_VERSUS = re.compile(r"\W*(?:vs\.?|versus|to|against|→|->)\W*")
_WORD = re.compile(r" ?(?!(?:on|in|at|for|and|is|with|to|vs|of|by|from)\b)([A-Za-z]{2,}(?:/[A-Za-z]+)?)")
_SURE = ("two digits are swapped", "one digit differs", "factor of ten")
_IN_A_VALUE = ("two digits are swapped", "factor of ten")
_TOLERANCE = re.compile(r"(?:±|\+/-|\\pm) ?\$?$")  # "±0.05 points" is what is allowed
_MINUS = "\u2212"

_DIFFERENCE = re.compile(r" ?[A-Za-zµ/]{0,9} (?:faster|slower|less|more|fewer|lower|higher|longer|shorter)\b")


def find(document: Document) -> Iterator[Finding]:
    """Changes that the only two values of their sentence do not give."""
    for sentence in document.sentences:
        if 2 < len(sentence.numbers) <= _MOST_NUMBERS and not MYRIADS.search(sentence.marked):
            for change in _stated(sentence):
                if is_of_a_fraction(change.c, sentence.text) or not _is_slipped(change):
                    continue
                if found := held(change, list(sentence.numbers)):
                    yield found


def _stated(sentence: Sentence) -> Iterator[Change]:
    pair = _pair(sentence)
    if pair:
        for unit in ("x", "%"):
            places = [place for place, each in enumerate(sentence.numbers) if each.unit == unit]
            if len(places) == 1 and _is_said(places[0], sentence):
                yield Change(*pair, sentence.numbers[places[0]])
    yield from _points(sentence)


def _points(sentence: Sentence) -> Iterator[Change]:
    """ "A reaches 56.1 %, which is 13.6 points more than B (42.5 %)": the only two shares, and what lies between."""
    shares = [each for each in sentence.numbers if each.unit == "%"]
    said = [
        each
        for each, (start, end) in zip(sentence.numbers, sentence.positions, strict=True)
        if each.unit in ("", "%") and not each.low <= 0 <= each.high and _POINTS.match(sentence.text, end)
        if not _TOLERANCE.search(sentence.text[:start])
    ]
    others = [each for each in shares if all(each is not point for point in said)]
    if any(each.low <= 0 or each.text[0] == "+" for each in others):
        return
    if len(said) == 1 and len(others) == _TWO and others[0].text != others[1].text:
        yield Change(others[0], others[1], replace(said[0], unit="%"), is_difference=True)


def _pair(sentence: Sentence) -> tuple[Number, Number] | None:
    """The only two values of one quantity, if no other quantity has two or more."""
    groups: dict[str, list[Number]] = defaultdict(list)
    for place, each in enumerate(sentence.numbers):
        unit = each.unit or _unit_of_next(place, sentence)
        if unit in ("%", "x", *COUNTED):
            continue
        if unit:
            groups[base(unit)[0]].append(each)
        elif "." in each.text:
            groups["."].append(each)
        elif len(re.sub(r"\D", "", each.text).strip("0")) >= _LEAST_DIGITS:
            groups["0"].append(each)
    several = [(kind, group) for kind, group in groups.items() if len(group) > 1]
    if len(several) != 1 or len(several[0][1]) != 2:
        return None
    kind, (a, b) = several[0]
    digits = min(len(re.sub(r"\D", "", each.text).strip("0")) for each in (a, b))
    if digits < _LEAST_SIGNIFICANT or a.text == b.text or any(each.low <= 0 or each.text[0] == "+" for each in (a, b)):
        return None
    if kind == "0" and all(each.text.isdigit() and int(each.text) % _WIDTH == 0 for each in (a, b)):
        return None  # "width 384 → 1024 takes it to 2.106x": settings
    ends = [end for each, (_, end) in zip(sentence.numbers, sentence.positions, strict=True) if each is a or each is b]
    if all(_DIFFERENCE.match(sentence.text, end) for end in ends):
        return None  # "231 ms faster in one and 52 ms faster in the other": two changes
    return (a, b) if kind not in ".0" or _are_compared(a, b, sentence) else None


def _unit_of_next(place: int, sentence: Sentence) -> str:
    """The unit of the number right after "vs": "1840 vs 1478 TFLOPs"."""
    following = sentence.numbers[place + 1 : place + 2]
    if following and _VERSUS.fullmatch(sentence.text[sentence.positions[place][1] : sentence.positions[place + 1][0]]):
        return following[0].unit
    return ""


def _are_compared(a: Number, b: Number, sentence: Sentence) -> bool:
    """Whether words between two numbers without a known unit compare them, or the same word follows both."""
    (_, start), (begin, end) = (sentence.positions[sentence.numbers.index(each)] for each in (a, b))
    after = [_WORD.match(sentence.text, at) for at in (start, end)]
    if sentence.numbers.index(b) != sentence.numbers.index(a) + 1:
        return False
    if all(after) and len({each[1] for each in after if each}) == 1:
        return True
    between = sentence.text[start:begin].lower()
    return len(between) < _NEAR and not re.search("[=:Δ]", between) and bool(_COMPARED.search(between))


def _is_slipped(change: Change) -> bool:
    """Whether a sure slip in the change, or a surer one in a value, would make it right."""
    words = slip_of(change, ways_of(change.a, change.b, change.c, change.is_difference))
    return words.endswith(_IN_A_VALUE if words.startswith("in ") else _SURE)


def _is_said(place: int, sentence: Sentence) -> bool:
    """Whether a number compares: a factor with a point or a word near it, a share with a sign or a word next to it."""
    number, marked = sentence.numbers[place], sentence.marked
    mark = f"<{place}>"
    before, _, after = marked.partition(mark)
    if is_in_another(before, after):
        return False
    if number.unit == "x":
        return "." in number.text or bool(re.search(IS_MORE, before[-_NEAR:] + " " + after[:_NEAR]))
    return number.text[0] in f"+-{_MINUS}" or bool(_RIGHT_AFTER.match(after) or _RIGHT_BEFORE.search(before))
