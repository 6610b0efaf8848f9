"""What some numbers give for another one, in all usual ways, and which of these a sentence may mean.

Products and quotients whose types fit, sums, differences, ratios, shares and changes of two values, and what follows
from a share or a factor.  All ways explain a number; only those that the words of its sentence name accuse it.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import combinations, permutations

from scalelens.audit.document import Sentence
from scalelens.audit.prose.every import BARE, FACTOR, SHARE, is_amount, total_of
from scalelens.audit.prose.rarest import Way
from scalelens.audit.prose.typed import products_of, wanted_types
from scalelens.audit.prose.types import Type, Typed
from scalelens.audit.units import COUNTED

_MOST, _MOST_SHARES, _MOST_OF_TWO_KINDS = 14, 28, 6
_WIDEST = 1.12  # ends that are farther apart tell nothing
_LONGEST_SUM, _THREE = 5, 3
_FARTHEST = 50  # times as large: what such a value is added to stays nearly the same
_MOST_EFFICIENT = 130  # per cent
_RESTS = ("a - b", "a - b - ...")
_EXPLAINS = ("mean", "100 - s", "1 / (1 - s)", "x - 1", "s × w", "w / s", "(1 ± s) × w", "w / (1 ± s)", "s × n")
SUM_OF = "the sum of"  # a column; a share of it is meant, but no difference
_SUMS, _CHANGES = ("a + b", "a + b + ..."), ("1 - a / b", "a / b - 1")
_PART = re.compile(
    r"\b(?:of|share|utili\w+|efficien\w+|account\w*|makes?|part|fraction|keeps?|kept|remain\w*|reach\w*|use[sd]?|using|at)\b"
    r"|[(\[=]"
)
_MORE = re.compile(
    r"\b(?:less|fewer|lower|more|higher|faster|slower|shorter|longer|smaller|larger|sav\w+|cuts?|reduc\w+|rais\w+|rises?|"
    r"rose|increas\w+|decreas\w+|drops?|dropped|falls?|fell|gains?|gained|shrinks?|shrank|grows?|grew|improv\w+|lower\w*|"
    r"costs?|adds?|added|overhead|gone|lost|loses?|loss|cheaper|better|worse|speed-?up|up|down)\b|[(]"
)
_ALL = re.compile(r"\b(?:together|total\w*|altogether|in all|combined|sum|add up|adds up|plus|both)\b", re.IGNORECASE)
_OF_SHARES = re.compile(r"\b(?:together|total|sum|add up)\b")
_OF_EACH = re.compile(r"\b(?:each|every|all|total\w*|together|altogether|per|thus|hence|makes?|i\.e)\b")
_POINTS = re.compile(r"\b(?:percentage )?points?\b|\bpp\b")
_COMPARES = re.compile(
    r"[\s*$~]*(?:[\w/-]+ )?(?:less|fewer|lower|more|higher|faster|slower|shorter|longer|smaller|larger|earlier|later)\b"
)
_MANY = re.compile(r"\b(?:many|more|fewer|fold)\b")
_REST = re.compile(
    r"\b(?:less|fewer|more|rest|remain\w*|left|lost|loses?|lose|difference|gap|between|saves?|saved|saving|leaving|leaves|"
    r"others?|over|longer|shorter|faster|slower|rises?|falls?|grows?|drops?|by|free)\b"
)


def ways_of(target: Typed, operands: list[Typed], sentence: Sentence, most_factors: int) -> list[Way]:
    """What the operands give for a number, in its unit, with products of at most so many factors."""
    amounts = [each for each in operands if is_amount(each)]
    if target.type == BARE:
        return _of_counts(target, amounts, sentence)
    groups: dict[Type, list[Typed]] = {}
    for each in operands:
        groups.setdefault(each.type, []).append(each)
    result = [way for group in groups.values() for way in of_pairs(target, group[:_MOST])]
    same = groups.get(target.type, [])
    result += _of_several(target, same)
    result += _with_shares(target, operands[:_MOST_SHARES])
    if target.type == SHARE:
        result += _of_efficiency(groups, amounts, operands)
    if is_amount(target):
        exact = wanted_types(target, sentence)
        result += [w for w in products_of(target, exact, amounts[:_MOST], []) if len(w.operands) <= most_factors]
        result += _of_counts(target, amounts, sentence, exact)
    return [way for way in result if way.high < _WIDEST * way.low]


def _of_counts(
    target: Typed, amounts: list[Typed], sentence: Sentence, known: frozenset[Type] = frozenset()
) -> list[Way]:
    """What products and quotients of two amounts give for a number whose noun, or what it is for, is left out."""
    found = products_of(target, _wanted(target, amounts, sentence) - known, amounts[:_MOST], [])
    return [way for way in found if len(way.operands) < _THREE and way.high < _WIDEST * way.low]


def _wanted(target: Typed, amounts: list[Typed], sentence: Sentence) -> frozenset[Type]:
    """The types that a number may have; "each", "in total" and a bare count leave out what they count."""
    counts = {each.type[0][0] for each in amounts if len(each.type) == 1 and each.low == each.high}
    if target.type == BARE:
        return frozenset({(), *(((atom, power),) for atom in counts for power in (1, -1))} if counts else ())
    if not _OF_EACH.search(sentence.marked):
        return frozenset()
    own = dict(target.type)
    return frozenset(tuple(sorted({**own, atom: power}.items())) for atom in counts - {*own} for power in (1, -1))


def of_pairs(target: Typed, values: list[Typed]) -> Iterator[Way]:
    """What any two values of one kind give: their ratio, share, change, difference and sum."""
    for (i, a), (j, b) in permutations(enumerate(values), 2):
        if a.type == b.type:
            yield from _of_pair(target, a, b, i < j)


def _of_pair(target: Typed, a: Typed, b: Typed, in_order: bool) -> Iterator[Way]:
    both = (a.number, b.number)
    low, high = a.low / b.high, a.high / b.low
    if target.type == SHARE and a.type != FACTOR:
        if high <= 1:
            yield Way(100 * low, 100 * high, "a / b", both)
            yield Way(100 * (1 - high), 100 * (1 - low), "1 - a / b", both)
        elif low > 1:
            yield Way(100 * (low - 1), 100 * (high - 1), "a / b - 1", both)
    is_value = a.type not in (FACTOR, BARE) or (a.type == BARE and "." in a.number.text + b.number.text)
    if target.type == FACTOR and is_value and low > 1:
        yield Way(low, high, "a / b", both)
    if target.type == a.type != FACTOR and a.low <= _FARTHEST * b.high:
        if a.low > b.high:
            yield Way((a.low - b.high) / target.size, (a.high - b.low) / target.size, "a - b", both)
        if in_order:
            yield Way((a.low + b.low) / target.size, (a.high + b.high) / target.size, "a + b", both)


def _of_several(target: Typed, same: list[Typed]) -> Iterator[Way]:
    """Means of two values of the kind of a number, and sums of three to five that follow one another."""
    for a, b in combinations(same, 2):
        low, high = total_of((a, b))
        yield Way(low / 2 / target.size, high / 2 / target.size, "mean", (a.number, b.number))
    if is_amount(target):
        for many in range(3, _LONGEST_SUM + 1):
            for k in range(len(same) - many + 1):
                low, high = total_of(same[k : k + many])
                numbers = tuple(each.number for each in same[k : k + many])
                yield Way(low / target.size, high / target.size, "a + b + ...", numbers)
                whole, *parts = same[k : k + many]
                low, high = total_of(parts)
                if high < whole.low:
                    yield Way(
                        (whole.low - high) / target.size, (whole.high - low) / target.size, "a - b - ...", numbers
                    )


def _with_shares(target: Typed, operands: Sequence[Typed]) -> Iterator[Way]:
    """What follows from a share or a factor."""
    counts = [each for each in operands if each.type not in (SHARE, FACTOR) and each.low == each.high]
    values = [each for each in operands if each.type == target.type and target.type not in (SHARE, FACTOR)]
    for s in operands:
        if s.type not in (SHARE, FACTOR):
            continue
        part = (s.low / 100, s.high / 100) if s.type == SHARE else (s.low, s.high)
        for w in values:
            yield from _scaled(target, s, part, w)
        if target.type == SHARE and s.type == SHARE and s.high <= 100:
            yield Way(100 - s.high, 100 - s.low, "100 - s", (s.number,))
        if target.type == SHARE and s.type == FACTOR:
            yield Way(100 * (s.low - 1), 100 * (s.high - 1), "x - 1", (s.number,))
            for n in counts:
                if s.high <= n.high:
                    yield Way(100 * s.low / n.low, 100 * s.high / n.low, "x / n", (s.number, n.number))
            for n, m in permutations(counts, 2):
                if n.type == m.type and n.low > m.low:
                    ratio = 100 * m.low / n.low
                    yield Way(ratio * s.low, ratio * s.high, "x × m / n", (s.number, n.number, m.number))
        if target.type == FACTOR and s.type == SHARE and s.high < 100:
            yield Way(1 / (1 - part[0]), 1 / (1 - part[1]), "1 / (1 - s)", (s.number,))
            yield from (Way(part[0] * n.low, part[1] * n.low, "s × n", (s.number, n.number)) for n in counts)


def _scaled(target: Typed, s: Typed, part: tuple[float, float], w: Typed) -> Iterator[Way]:
    """A value times a share or by it, and more or less by it."""
    low, high = w.low / target.size, w.high / target.size
    both = (s.number, w.number)
    yield Way(part[0] * low, part[1] * high, "s × w", both)
    yield Way(low / part[1], high / part[0], "w / s", both)
    for sign in (1, -1) if s.type == SHARE else ():
        ends = sorted(1 + sign * each for each in part)
        if ends[0] > 0:
            yield Way(ends[0] * low, ends[1] * high, "(1 ± s) × w", both)
            yield Way(low / ends[1], high / ends[0], "w / (1 ± s)", both)


def _of_efficiency(groups: dict[Type, list[Typed]], amounts: list[Typed], operands: list[Typed]) -> Iterator[Way]:
    """A ratio of two values by one of two counts, as of rates and devices."""
    kinds = [[each for each in group if each in amounts or each.type == BARE] for group in groups.values()]
    kinds = [group for group in kinds if 1 < len(group) <= _MOST_OF_TWO_KINDS]
    for values, counts in permutations(kinds, 2):
        for n, m in permutations([each for each in counts if each.low == each.high], 2):
            for a, b in permutations(values, 2) if n.low < m.low else ():
                ratio = 100 * n.low / m.low
                if a.low > b.high and ratio * a.low / b.high <= _MOST_EFFICIENT:
                    numbers = (a.number, b.number, n.number, m.number)
                    yield Way(ratio * a.low / b.high, ratio * a.high / b.low, "a / b × n / m", numbers)


def kind_of(way: Way) -> str:
    """Sums, changes, differences, and products of two or more: ways of one kind are equally likely."""
    if way.text in _SUMS:
        return "sum"
    return "change" if way.text in _CHANGES else "difference" if way.text in _RESTS else str(len(way.operands))


def _is_difference(target: Typed, sentence: Sentence) -> bool:
    """Whether a number is how much more or less something is: "6.7 s longer"."""
    places = [k for k, number in enumerate(sentence.numbers) if number is target.number]
    return bool(places and _COMPARES.match(sentence.text[sentence.positions[places[0]][1] :]))


def is_meant(target: Typed, way: Way, sentence: Sentence) -> bool:
    """Whether the words of a sentence may mean a way, and its operands stand in it or in one place of a table."""
    if any(n.hedge for n in way.operands):
        return False
    if way.text in _EXPLAINS or any(n.text[0] in "+-\u2212" or n.text == target.number.text for n in way.operands):
        return False
    sums = [n for n in way.operands if n.text.startswith(SUM_OF)]
    if sums and way.text != "a / b":
        return False
    if way.text not in _RESTS and is_amount(target) and _is_difference(target, sentence):
        return False
    cells = [n for n in way.operands if n.table is not None]
    if len({(n.table, n.row) for n in cells}) > 1 and len({(n.table, n.cell) for n in cells}) > 1:
        return False
    if cells and any(n.table is None and n not in (*sums, *sentence.numbers) for n in way.operands):
        return False
    marked = sentence.marked
    if target.type == SHARE:
        if way.text in _SUMS:
            return bool(_OF_SHARES.search(marked))
        if way.text == "a - b":
            return bool(_POINTS.search(marked))
        if (way.text == "a / b" or way.text in _CHANGES) and any(
            n.unit == "%" or (not n.unit and "." in n.text) for n in way.operands
        ):
            return False
        if way.text == "a / b":
            return bool(_PART.search(marked))
        return way.text not in _CHANGES or bool(_MORE.search(marked))
    if target.type == FACTOR and way.text == "a / b":
        are_counts = all(n.text.replace(",", "").isdigit() and n.unit in ("", *COUNTED) for n in way.operands)
        if any(n.unit == "%" or (not n.unit and n.table is None and n not in sentence.numbers) for n in way.operands):
            return False
        return not are_counts or bool(_MANY.search(marked))
    if way.text in _SUMS:
        return bool(_ALL.search(marked))
    return way.text not in _RESTS or bool(_REST.search(marked))
