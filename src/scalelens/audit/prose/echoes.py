"""A number that stands in two places and differs by a slip, where words show that both are one measurement.

How much is needed follows from the slip: two numbers of four digits that are the same but for the place of the point
hardly ever stand in one text by chance; two that differ in one of three digits do so in most.  How much words and
numbers around show is weighed in likeness.py.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import partial
from itertools import combinations

from scalelens.audit.document import Document
from scalelens.audit.finding import Finding
from scalelens.audit.prose.bound import is_of_a_fraction
from scalelens.audit.prose.likeness import DIGIT, POINT, SWAPPED, Likeness, are_beside_one, has_another, is_coded
from scalelens.audit.prose.places import Place, middle_of, places_of
from scalelens.audit.prose.restated import given_twice, is_given

_PLAIN = re.compile(r"\d[\d,]*(?:\.\d+)?")
_MOST_ALIKE = 12
_COMMON_NAMES, _FAR, _LEAST_SWAPPED = 2, 1.05, 2
_LEAST_DIGITS, _MANY, _LONG = 3, 4, 5


def find(document: Document) -> Iterator[Finding]:
    """Pairs of numbers that should be the same."""
    places = places_of(document)
    times = Counter(place.plain for place in places)
    likeness = Likeness(places)
    seen: set[int] = set()
    for words, a, b in _alike(places):
        if min(times[a.plain], times[b.plain]) > 1 or {id(a.number), id(b.number)} & seen:
            continue
        if document.is_of_a_log(a.number) or document.is_of_a_log(b.number):
            continue
        if likeness.is_one(words, a, b, partial(_follows, document, a, b)):
            seen |= {id(a.number), id(b.number)}
            once, other = sorted((a, b), key=lambda each: (times[each.plain], -each.number.line))
            yield given_twice(once.number, other.number, f"line {other.number.line}", words)


def _alike(places: list[Place]) -> Iterator[tuple[str, Place, Place]]:
    """Pairs of places whose numbers a slip turns into each other, the surest slips first."""
    groups: dict[tuple[str, ...], list[Place]] = defaultdict(list)
    for place in places:
        digits, shape = place.digits, place.shape
        if (
            place.significant < _LEAST_DIGITS
            or place.number.low <= 0
            or not _PLAIN.fullmatch(place.number.text.lstrip("+"))
        ):
            continue
        groups[POINT, digits.strip("0")].append(place)
        groups[SWAPPED, "".join(sorted(digits)), shape].append(place)
        for k in range(len(digits)):
            groups[DIGIT, f"{digits[:k]}?{digits[k + 1 :]}", shape].append(place)
    for slip in (POINT, SWAPPED, DIGIT):
        for (words, *_), group in groups.items():
            if words == slip and 1 < len(group) <= _MOST_ALIKE:
                yield from ((words, a, b) for a, b in combinations(group, 2) if _may_be_one(words, a, b))


def _may_be_one(words: str, a: Place, b: Place) -> bool:
    """Whether two numbers may be of one measurement, and differ by just this slip."""
    if a.source == b.source or a.form == b.form or len({a.number.unit, b.number.unit} - {""}) > 1:
        return False
    if a.table is not None and b.table is not None and (a.table is b.table or len(a.near & b.near) < _COMMON_NAMES):
        return False
    if words != POINT and a.whole and a.whole == b.whole:
        return False  # two parts of it
    if a.number.text in b.printed or b.number.text in a.printed:
        return False  # there they are two
    if is_coded(a, b) and is_coded(b, a) and words == POINT:
        return False
    larger, smaller = sorted((middle_of(a.number), middle_of(b.number)), reverse=True)
    few, has_units = min(a.significant, b.significant) < _MANY, a.number.unit == b.number.unit
    if words == POINT:
        whole = "." not in a.number.text + b.number.text
        same = whole or a.digits.lstrip("0") == b.digits.lstrip("0")
        is_sure = (has_units or min(a.significant, b.significant) >= _LONG) and not _are_scaled(a, b)
        has_whole = "." not in a.number.text or "." not in b.number.text
        return same and is_sure and abs(larger / smaller - 10) < 1e-6 and not (has_whole and _are_sizes(a, b))
    if a.digits == b.digits or (few and (not has_units or not _is_far(a, b, larger / smaller))):
        return False
    if words == DIGIT:
        if a.digits[:-1] == b.digits[:-1] and abs(int(a.digits[-1]) - int(b.digits[-1])) == 1:
            return False  # the next job, the next point of a grid
        counts = few and not a.number.unit and "." not in a.number.text
        return not counts and not any(
            x.table is None and y.table is not None and has_another(x, y) for x, y in ((a, b), (b, a))
        )
    differ = [k for k, (x, y) in enumerate(zip(a.digits, b.digits, strict=True)) if x != y]
    whole = "." not in a.number.text + b.number.text
    return len(differ) == _LEAST_SWAPPED and differ[1] - differ[0] == 1 and not (whole and _are_sizes(a, b))


def _are_scaled(a: Place, b: Place) -> bool:
    """Whether another number differs by a factor of ten as well: "50 of them in 13.6 days, 500 in 136 days"."""
    less, more = sorted((a, b), key=lambda each: middle_of(each.number))
    scaled = {f"{text}0" for text in less.printed - {less.number.text} if "." not in text}
    return not scaled.isdisjoint(more.printed - {more.number.text})


def _is_far(a: Place, b: Place, ratio: float) -> bool:
    """Whether two measurements of one kind would hardly differ so; a number beside both that is the same shows more."""
    if has_another(a, b) and has_another(b, a):
        return False
    return ratio > _FAR or are_beside_one(a, b)


def _are_sizes(a: Place, b: Place) -> bool:
    """Whether one is a power of two: 128 and 1,280 are both usual sizes."""
    return any((size := int(each.digits)) & (size - 1) == 0 for each in (a, b))


def _follows(document: Document, a: Place, b: Place) -> bool:
    """Whether what stands around one of them gives it."""
    return any(
        each.index is not None
        and (
            is_given(document, each.index, each.number)
            or is_of_a_fraction(each.number, document.sentences[each.index].text)
        )
        for each in (a, b)
    )
