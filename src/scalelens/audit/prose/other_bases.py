"""Changes that a text repeats, since a number that it repeats: "60.67 ms" ... "54.94 → 45.39 ms (-25.2 %)" in all."""

from collections import Counter

from scalelens.audit.document import Document
from scalelens.audit.printed import Number
from scalelens.audit.prose.bound import ways_of, wide_of

CHANGE = "b / a, a / b"  # how the evidence of such a finding begins
_TWICE = 2


def is_of_another_base(document: Document, change: Number, values: tuple[Number, ...]) -> bool:
    """Whether a change follows from one of two values and a further number, if the text gives each of them twice."""
    times = Counter(number.text for number in document.numbers)
    if any(times[each.text] < _TWICE for each in (change, *values)):
        return False
    own, units = {each.text for each in values}, {each.unit for each in values} - {""}
    wide = wide_of(change)
    return any(
        not wide.apart(way)
        for base in document.numbers
        if base.low > 0 and base.text not in own and {base.unit} == units and times[base.text] >= _TWICE
        for end in values
        for way in ways_of(base, end, change)
    )
