"""Numbers of sentences that nothing around them gives, but that a slip away follow from what is around them.

A number that a sentence derives from others is a product, a quotient or a change of these.  It is accused if no such
formula of the numbers around it gives it, and one formula would give it if two digits were not swapped, one digit or
the unit not wrong.  How many formulas were tried decides whether that could be by chance.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from math import factorial, log

from scalelens.audit.document import Document, Sentence
from scalelens.audit.finding import Finding
from scalelens.audit.forms.slips import FACTORS as _FACTORS
from scalelens.audit.forms.slips import candidates
from scalelens.audit.printed import Bounds
from scalelens.audit.prose.expressions import Expression, expressions, is_efficiency
from scalelens.audit.prose.operands import Operand, around, is_keyed, operand_of, pairs_nearby, with_labels
from scalelens.audit.quantities import value
from scalelens.audit.units import COUNTED
from scalelens.audit.wording import about, matters, with_unit
from scalelens.units import base

_NARROW = 1.03  # a formula of rounded numbers that leaves more than this confirms nothing
_BELOW = 0.999  # of a bound, so that rounding hides nothing
_CLOSER = 0.02  # a formula of three that gives nearly the number shows no slip
_SURE = 0.1
_SURE_WITH_UNIT = 0.4
_SURE_OF_UNITS = 1.0  # power × time is an energy, images over images/s are seconds: units alone leave little else
_DECADE = 2.3
_CLOSE = 0.2  # logarithm: numbers of one size crowd, and so do what they give
LOG = 4  # sentences that differ in their numbers alone are records of a log
_MOST_NUMBERS = 24  # of a sentence; one with more is a listing
_MOST_COMPARED = 5  # of a sentence that compares two values
_NEARLY = 0.006  # a formula that gives nearly the number explains it: its operands may be rounded elsewhere
_CODE = re.compile(r"`[^`]*\d\.\d[^`]*`")  # numbers that are not read may give the others
_PERCENTILES = re.compile(r"\b[Pp]\d{1,2}\b|\bmedian\b|\bquantile\b")  # which follow from nothing but the values
_FEW = 10  # a digit without a unit counts something that the text does not divide by
_AT = re.compile(r"\b(?:at|for|with) [\[(~]?$")  # before a setting
_LEAST_PART = 100
_RATIO = re.compile(r"\b(?:factors?|speed-?ups?|ratio|times|fold|as (?:many|much|fast|large))\b")
_DIFFERS = re.compile(
    r"\b(?:points?|pp|differ\w*|gaps?|delta|drop\w*|gain\w*|ris\w+|rose|fell|falls?|increas\w*|decreas\w*|improv\w*|reduc\w*|"
    r"higher|lower|more|less|better|worse|above|below|left|rest|remain\w*)\b|[-=−]\s"
)
_DIVIDES = re.compile(rf"[=→]| / |\d/\d|{_RATIO.pattern}")
_OF_A_SHARE = re.compile(r"\b(?:relative\w*|retain\w*|keeps?|kept|loses?|lost|ratio)\b")
_WORD = re.compile(r"[^\W\d_]{2,}")
_MULTIPLIES = re.compile(r"[×=*]|\bx\b|\b(?:times|each|per|total\w*|altogether|in all)\b")
_DERIVES = re.compile(
    r"[=→]|\b(?:is|are|hence|thus|so|therefore|i\.e|which|gives?|giving|makes?|making|total\w*|per|each|times|factors?|"
    r"speed-?up|faster|slower|less|more|efficien\w+|of|corresponds?|yields?|keeps?|gains?|takes?|then|add|to|together)\b|%"
)


def find(document: Document) -> Iterator[Finding]:
    """Numbers of the prose that are a slip away from what their surroundings give."""
    records = Counter(sentence.form for sentence in document.sentences)
    for index, sentence in enumerate(document.sentences):
        if records[sentence.form] >= LOG or len(sentence.numbers) > _MOST_NUMBERS or _CODE.search(sentence.text):
            continue
        if not (_DERIVES.search(sentence.marked) or is_keyed(sentence)) or not sentence.numbers:
            continue
        if len({*_WORD.findall(sentence.marked)} - {"times"}) < 2 and not is_keyed(sentence):
            continue  # a cell of what was a table
        operands = around(document, index)
        for number in with_labels(sentence):
            target = operand_of(number)
            if not target:
                continue
            if found := _of_other_base(target, operands, sentence, document) or _of_slip(
                target, operands, document, sentence
            ):
                yield _finding(target, *found)


def _of_other_base(
    target: Operand, operands: list[Operand], sentence: Sentence, document: Document
) -> tuple[Expression, str] | None:
    """ "18 % less time" of 143 s and 121 s, which are 15 % less: the change was divided by the smaller value."""
    place = sentence.numbers.index(target.number) if target.number in sentence.numbers else -1
    if (
        len(sentence.numbers) > _MOST_COMPARED
        or not target.is_share
        or not re.search(rf"<{place}> (?:less|shorter|fewer|lower) ", sentence.marked)
    ):
        return None
    half = (target.high - target.low) / 2
    low, high = target.low - half, target.high + half
    given = [each for each in expressions(target, operands) if each.of_a_change]
    if any(each.text == "1 - a / b" and low <= each.high and each.low <= high for each in given):
        return None
    for each in given:
        if each.text == "a / b - 1" and low <= each.high and each.low <= high:
            ours = {id(operand) for operand in each.operands}
            for right in given:
                is_of_these = right.text == "1 - a / b" and {id(operand) for operand in right.operands} == ours
                if is_of_these and right.low > 0 and _are_compared(right, document):
                    return right, "the change was divided by the smaller of the two"
    return None


def _are_compared(expression: Expression, document: Document) -> bool:
    """Whether the values stand in one sentence, or in a table: a sentence on each of two things compares nothing."""
    numbers = [operand.number for operand in expression.operands if operand.cell is None]
    return not numbers or any(all(number in other.numbers for number in numbers) for other in document.sentences)


def _of_slip(
    target: Operand, operands: list[Operand], document: Document, sentence: Sentence
) -> tuple[Expression, str] | None:
    """A slip that no two cells of a table explain."""
    excused = _is_repeated(target, document) or _is_doubled(target, operands) or _is_rest_of_multiple(target, operands)
    found = None if excused else _slipped(target, operands)
    if found and _is_said_already(target, found[0], operands):
        return None
    if not found or is_efficiency(target, found[0]):
        return found
    return None if _follows_from_a_column(target, document, sentence) else found


def _is_said_already(target: Operand, expression: Expression, operands: list[Operand]) -> bool:
    """Whether another number of the unit is what a formula gives: then the formula is that number's."""
    used = {id(each.number) for each in (target, *expression.operands)}
    return any(
        each.number.unit == target.number.unit and expression.low <= each.high and each.low <= expression.high
        for each in operands
        if id(each.number) not in used and (each.number.unit or "." in each.number.text)
    )


def _is_repeated(target: Operand, document: Document) -> bool:
    """Whether the text gives the number more than once: it is meant."""
    return document.times[target.number.text, target.number.unit] > 1


def _is_doubled(target: Operand, operands: list[Operand]) -> bool:
    """Whether the number is twice or half of another quantity of its unit: of two parts, or two directions."""
    alike = [each for each in operands if each.number.unit == target.number.unit and any(each.dimension)]
    return any(
        low <= target.high and target.low <= high
        for each in alike
        for low, high in ((2 * each.low, 2 * each.high), (each.low / 2, each.high / 2))
    )


def _is_rest_of_multiple(target: Operand, operands: list[Operand]) -> bool:
    """Whether a share is what a multiple is more or less than one: "0.74x, that is 26 % faster"."""
    if not target.is_share:
        return False
    ends = [(100 * abs(1 - each.low), 100 * abs(1 - each.high)) for each in operands if each.number.unit == "x"]
    return any(min(end) <= target.high and target.low <= max(end) for end in ends)


def _follows_from_a_column(target: Operand, document: Document, sentence: Sentence) -> bool:
    """Whether two cells of a column give the number: the sentence need not name the rows of both."""
    half = (target.high - target.low) / 2
    size = 100 if target.is_share else 1
    for a, b in pairs_nearby(document, sentence):
        low, high = a.low / b.high, a.high / b.low
        if high > _NARROW * low:
            continue
        shown = [(size * low, size * high), (size / high, size / low)]
        if target.is_share:
            shown += [each for x, y in tuple(shown) for each in ((x - size, y - size), (size - y, size - x))]
        if (a.dimension, a.is_share) == (target.dimension, target.is_share):
            shown += [(a.low - b.high, a.high - b.low), (b.low - a.high, b.high - a.low)]
        if any(low <= target.high + half and target.low - half <= high for low, high in shown):
            return True
    return False


def _slipped(target: Operand, operands: list[Operand]) -> tuple[Expression, str] | None:
    """The formula that gives the number but for a slip, and the slip; None if another explains it, or by chance."""
    if _digits(target) < (3 if target.number.unit == "x" and "." not in target.number.text else 2):
        return None
    every = [
        each
        for each in expressions(target, operands)
        if each.low > 0 and _fits_item(target, each) and not _by_one(each)
    ]
    if not any(target.dimension) and _is_multiple(target, operands):
        return None
    if _digits(target) < 3:
        every = [each for each in every if each.text != "1 / a"]
    half = (target.high - target.low) / 2
    tried = candidates(target.number.text, any(target.dimension))
    two = [each for each in every if len(each.operands) < 3]
    of_speedup = [each for each in two if each.text == "a / b" and is_efficiency(target, each)]
    if of_speedup:
        two = every = of_speedup
    three = every if any(target.dimension) or _digits(target) > 3 else []
    if _PERCENTILES.search(target.number.words):
        three = []
    three = [each for each in three if each.high < (1 - _CLOSER) * target.low or each.low > (1 + _CLOSER) * target.high]
    shown = [each for each in two if _is_of_one_quantity(target, each)]
    for given in ([each for each in shown if each.of_units], shown, three):
        nearly = 0.0 if given is three else _NEARLY
        low, high = (target.low - half) * (1 - nearly), (target.high + half) * (1 + nearly)
        if any(low <= each.high and each.low <= high for each in (given if given is three else two)):
            return None
        if (found := _likeliest(target, given, tried)) and _are_comparable(target, found[0]):
            return found
    return None


def _fits_item(target: Operand, expression: Expression) -> bool:
    """Whether what is counted fits: epochs times devices are not images."""
    own = target.number.unit
    units = [each.number.unit for each in expression.operands]
    return own not in COUNTED or any(unit in ("", "x") or own in unit.split("/") for unit in units)


def _by_one(expression: Expression) -> bool:
    """Whether a number is multiplied or divided by one: another number, not a formula ("mean of reading 1 = ...")."""
    plain = (each for each in expression.operands if not (any(each.dimension) or each.is_share))
    return expression.text in ("a × b", "a / b") and any(each.low == each.high == 1 for each in plain)


def _are_comparable(target: Operand, expression: Expression) -> bool:
    """Whether a ratio may be one of two values: not of a digit and a number with a point, nor of two settings."""
    if "a / b" not in expression.text or len(expression.operands) != 2 or any(target.dimension):
        return True
    units = {each.number.unit for each in expression.operands}
    if "1" in expression.text and "x" in units and len(units) > 1:
        return False  # a change from a factor to something else
    if units == {"x"} == {target.number.unit}:
        return False  # "2.08x, 1.91x and 1.74x": one after the other
    plain = [each for each in expression.operands if not (any(each.dimension) or each.number.unit)]
    settings = [
        each for each in plain if _AT.search(each.number.words.partition(each.number.text)[0]) and not each.cell
    ]
    if settings and len(plain) > 1:
        return False
    few = [each for each in plain if _digits(each) < 2 and "." not in each.number.text]
    has_points = [each for each in plain if "." in each.number.text]
    return not few or not (has_points or (len(few) > 1 and _digits(target) > 2))


def _is_of_one_quantity(target: Operand, expression: Expression) -> bool:
    """Whether a factor or a share compares two numbers of one unit; bare ones of a digit show nothing."""
    if expression.text == "a - b" and target.is_share:
        return bool(_DIFFERS.search(target.number.words.lower()))
    if expression.text != "a / b":
        return True
    a, b = expression.operands
    if any(target.dimension):
        return any(b.dimension) or bool(b.number.unit) or bool(b.cell) or b.low >= _FEW
    if not target.is_share and target.number.unit != "x":
        return bool((_RATIO if any(a.dimension) else _DIVIDES).search(target.number.words.lower()))
    if a.is_share:
        return bool(_OF_A_SHARE.search(target.number.words.lower()))
    if is_efficiency(target, expression) or any(a.dimension) or a.cell:
        return True
    return a.number.unit == b.number.unit and min(_digits(a), _digits(b)) > 1


def _is_multiple(target: Operand, operands: list[Operand]) -> bool:
    """Whether a count is a whole multiple of another one: so many of something that the text does not give."""
    own = target.low
    others = [each.low for each in operands if each.low == each.high and not any(each.dimension) and not each.is_share]
    return target.low == target.high and any(_LEAST_PART <= each < own and own % each == 0 for each in others)


def _digits(target: Operand) -> int:
    return len(re.sub(r"\D", "", target.number.text).strip("0"))


def _likeliest(
    target: Operand, given: list[Expression], tried: list[tuple[float, float, str]]
) -> tuple[Expression, str] | None:
    """The slip that most independent formulas confirm, if so many would not by chance."""
    size = 1.0 if target.is_share else float(base(target.number.unit)[1])
    best: tuple[float, Expression, str] | None = None
    if not given:
        return None
    sure = _SURE_WITH_UNIT if any(target.dimension) and _digits(target) > 2 else _SURE
    sure = _SURE_OF_UNITS if all(each.of_units for each in given) and any(target.dimension) else sure
    narrow = sorted((e.low, k) for k, e in enumerate(given) if e.high < _NARROW * e.low)
    for v, w, words in tried:
        near_by = narrow[
            bisect_left(narrow, ((v - w) * size / _NARROW * _BELOW, -1)) : bisect_left(
                narrow, ((v + w) * size, len(given))
            )
        ]
        fits = [given[k] for k in sorted(k for _, k in near_by) if (v - w) * size <= given[k].high]
        if v <= 0 or not fits:
            continue
        widths = [2 * w / v + 2 * (e.high - e.low) / (e.high + e.low) for e in given]
        near = [
            width for e, width in zip(given, widths, strict=True) if abs(log((e.low + e.high) / 2 / v / size)) < _CLOSE
        ]
        expected = max(sum(widths) / _DECADE, sum(near) / (2 * _CLOSE))
        used: set[int] = set()
        independent = 0
        for each in sorted(fits, key=lambda e: len(e.operands)):
            own = {id(o.number) for o in each.operands}
            if not own & used:
                independent += 1
                used |= own
        if independent and not _is_the_slip(fits, words):
            doubt = len(tried) * expected**independent / factorial(independent)
            if best is None or doubt < best[0]:
                best = (doubt, min(fits, key=lambda e: len(e.operands)), words)
    elsewhere = best is not None and best[1].operands[0].number.words != target.number.words
    if best and elsewhere and best[1].text == "1 / a":
        return None  # the rate of many things beside the time of all, or of another phase
    if best and target.is_share and all(_is_bare_elsewhere(each, target) for each in best[1].operands):
        return None  # "drops from 0.685 to 0.490.  The rate is 17.6 %": of something else
    plain = not any(target.dimension) and not target.is_share and not target.number.unit
    if plain and _digits(target) < 4 and not all(each.cell for each in given[0].operands):
        return None  # a version, a number of something
    if best and any(target.dimension) and any(_is_bare_fraction(each) for each in best[1].operands):
        return None
    if best and best[1].text == "a × b" and (not best[1].of_units or _of_a_count(best[1])):
        if not _MULTIPLIES.search(target.number.words.lower()):
            return None
        sure = _SURE  # some number of something
    return (best[1], best[2]) if best and best[0] < sure else None


def _is_bare_elsewhere(operand: Operand, target: Operand) -> bool:
    """Whether an operand has no unit and stands in another sentence than the target."""
    bare = not any(operand.dimension) and not operand.number.unit and operand.cell is None
    return bare and operand.number.words != target.number.words


def _is_bare_fraction(operand: Operand) -> bool:
    """Whether a factor is below 1 and has no unit: a score rather than a share."""
    return not any(operand.dimension) and not operand.is_share and operand.high < 1


def _of_a_count(expression: Expression) -> bool:
    """Whether one of the operands counts something."""
    return any(not any(each.dimension) for each in expression.operands)


def _is_the_slip(fits: list[Expression], words: str) -> bool:
    """Whether the factor of the slip is an operand itself: 18.3 is 10 × 18.2, but for a factor of ten."""
    sizes = [size for size, name in _FACTORS.items() if words.endswith(f"factor of {name}")]
    return bool(sizes) and all(any(o.low <= sizes[0] <= o.high for o in each.operands) for each in fits)


def _finding(target: Operand, expression: Expression, words: str) -> Finding:
    number = target.number
    size = 1.0 if target.is_share else float(base(number.unit)[1])
    right = about(Decimal((expression.low + expression.high) / 2 / size), 5)
    operands = [each.number for each in expression.operands]
    names = " and ".join(with_unit(each) for each in operands)
    unit = "times" if number.unit == "x" else number.unit
    scale = base(number.unit)[1] / (1 if not target.is_share else Decimal(1))
    bounds = Bounds(Decimal(expression.low / size) * scale, Decimal(expression.high / size) * scale)
    return Finding(
        "inconsistent",
        (number, *operands),
        f"{with_unit(number)} does not follow from {names}, which give {right} {unit}".rstrip() + f" ({words}).",
        matters(value(number), bounds),
        expression.text,
    )
