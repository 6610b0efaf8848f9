"""Terms that a sentence adds up, each with the words and the brackets around its only number.

"C (quantize, 130 us) + E (dequantize, 176 us) = 306 us": between plus signs, and after them, stands one number of one
unit.  The sum is accused if a slip in it or in one term would make it right, or one of them stands for another number
of the sentence.
"""

import re
from collections.abc import Iterator
from functools import reduce

from scalelens.audit.document import Document, Sentence
from scalelens.audit.finding import Finding
from scalelens.audit.printed import Bounds, Number
from scalelens.audit.prose.bound import MYRIADS
from scalelens.audit.prose.totals import finding_of_sum, has_slip_in_sum, wide
from scalelens.audit.quantities import value
from scalelens.audit.wording import middle

_SUM = re.compile(
    r"(?P<terms>[^=;。]*<\d+>[^=;。+]*\+[^=;。]*) ?(?<![<>!=])(?:=|≈) ?[~≈]? ?<(?P<total>\d+)>(?! ?[×x*/+^·-])"
)
_MARK = re.compile(r"<(\d+)>")
_CLAUSE = re.compile(r"[，：]|[,:] |[(（](?=[^()（）]*$)")  # what a first term begins after
_OPERATOR = re.compile(r"[×*/·^]|> ?[x–-] ?<")
_MOST_TERMS = 5
_ABOUT = 0.2  # by how much a sum of about must be off


def find(document: Document) -> Iterator[Finding]:
    """Sums that their terms do not give."""
    for sentence in document.sentences:
        if len(sentence.numbers) > 2 and "+" in sentence.marked and not MYRIADS.search(sentence.marked):
            for found in _SUM.finditer(sentence.marked):
                terms = _terms(found["terms"], sentence)
                total = sentence.numbers[int(found["total"])]
                others = {each.text for each in sentence.numbers if each not in (total, *terms)}
                if terms and (finding := _held(total, terms, others)):
                    yield finding


def _terms(text: str, sentence: Sentence) -> list[Number]:
    """The only number of each term; none if a term has several, or multiplies."""
    first, *others = text.split("+")
    parts = [_CLAUSE.split(first)[-1], *others]
    marks = [_MARK.findall(part) for part in parts]
    if any(len(each) != 1 for each in marks) or any(map(_OPERATOR.search, parts)):
        return []
    return [sentence.numbers[int(each[0])] for each in marks]


def _held(total: Number, terms: list[Number], others: set[str]) -> Finding | None:
    every = (total, *terms)
    if (
        not 2 <= len(terms) <= _MOST_TERMS
        or {each.unit for each in every} != {total.unit}
        or total.unit in ("", "%", "x")
    ):
        return None
    if any(each.hedge == "bound" or each.low <= 0 for each in every):
        return None
    right = reduce(Bounds.__add__, map(value, terms))
    said = value(total)
    is_repeated = len({each.text for each in every}) < len(every) or any(each.text in others for each in every)
    if not wide(said).apart(wide(right)) or not (has_slip_in_sum(total, tuple(terms), right) or is_repeated):
        return None
    if any(each.hedge for each in every) and abs(float(middle(said) / middle(right)) - 1) < _ABOUT:
        return None
    return finding_of_sum(total, terms, right)
