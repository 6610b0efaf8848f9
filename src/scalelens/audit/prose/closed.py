"""A number that follows from nothing around it, in a text whose other numbers do.

A report of a job or a benchmark derives most of its numbers from others that it prints: shares, speedups, energies,
totals.  In such a text a number that its surroundings do not give, but would give after a slip, is an error; in a text
whose numbers stand for themselves it is a measurement.  So each number counts as given or not, and how sure a slip must
be follows from how many others are not given: the same weighing that finds the one row of a table that breaks its rule.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from scalelens.audit.document import Document, Sentence, TextTable
from scalelens.audit.evidence import by_chance, digits_of
from scalelens.audit.finding import Finding
from scalelens.audit.forms.slips import replaced, swapped
from scalelens.audit.printed import POWERS, Bounds, Number
from scalelens.audit.prose.accusing import LOG
from scalelens.audit.prose.derived import SUM_OF, is_meant, kind_of, of_pairs, ways_of
from scalelens.audit.prose.every import BARE, FACTOR, SHARE, cells_of, is_amount, numbers_of, total_of
from scalelens.audit.prose.of_cells import runs_named
from scalelens.audit.prose.rarest import Way, distinct, is_given
from scalelens.audit.prose.types import KEY, Typed, nouns_of
from scalelens.audit.wording import about, matters, with_unit

_LIMIT, _LIMIT_FAR = 0.06, 0.03  # of chance times the share of numbers that follow from nothing
_IF_GIVING = 0.02  # the limit of a number that itself gives another one, times this
_IF_FEW, _LEAST_GIVEN = 0.01, 3  # the same, where fewer numbers are given
_FAR_LINES, _NEAR_LINES, _MOST_ROWS, _MOST_NUMBERS, _FEW_ROWS = 25, 10, 16, 16, 4
_BACK, _BACK_OF_LINES, _BEFORE = 1, 8, 4  # sentences, lines of a report, and sentences whose numbers explain
_OF_NAMED, _OF_NEXT = 1.5, 3.0  # how much less likely cells, and the sentence after, are meant
_CONFIRMED = 0.1  # of the chance, where two ways without a number in common give the same
_DECADE, _AROUND, _NEARLY = 12, 0.3, 0.012
_MEASURED = 0.1  # a number so near, of which only a digit differs, may be another measurement
_LEAST_DIGITS = 2
_LEAST_OF_BARE = 3
_PARTS = 3
_TELLING = 0.1  # likelihood by chance, below which what gives a number is right
_WHOLE, _ABOUT_ALL = 100.0, 1.5  # per cent
_TIME = (("s", 1),)
_NAMED_POWER = re.compile(rf"([\d.,]+) ?({'|'.join(POWERS)})")
_TOTAL = re.compile(r"\W*(?:total|sum|all|altogether|overall)\b", re.IGNORECASE)
_TOGETHER = re.compile(r"\b(?:together|total|all|in all|sum)\b")
_NO_SUM = re.compile(r"/|\bper\b|mean|average|median|max|min|peak", re.IGNORECASE)
_ITEM = re.compile(r"\s*[-*+•] ")
_RANGE = re.compile(r"(?:\d ?%? ?(?:to|or|and|–|-) ?$)")


@dataclass(frozen=True)
class _Slip:
    chance: float
    way: Way
    words: str


@dataclass(frozen=True)
class _Seen:
    """A number, whether its neighborhood gives it ("near"), or only numbers farther away ("far"), and its slip.

    `by_chance` is how likely the numbers farther away would give any number of this size, `gives` what gives it.
    """

    target: Typed
    given: str
    by_chance: float = 1.0
    slip: _Slip | None = None
    gives: tuple[Number, ...] = ()


@dataclass(frozen=True)
class _Around:
    """Numbers before and after a sentence, cells that it names, and the tables near it."""

    before: list[Typed]
    after: list[Typed]
    earlier: list[Typed]
    named: list[Typed]
    tables: list[list[list[Typed | None]]]


def find(document: Document) -> Iterator[Finding]:
    """Numbers that do not follow from those around them in a text whose other numbers do."""
    seen = list(_seen(document))
    given = sum(bool(each.given) for each in seen)
    giving = {id(number) for each in seen for number in each.gives}
    for each in seen:
        if each.given == "near" or not each.slip:
            continue
        if given < _LEAST_GIVEN and each.slip.words.endswith("two"):
            continue  # a factor may be left out: two halves, two runs
        others = len(seen) - given - (not each.given)
        doubt = each.slip.chance * (others + 1) / (given + 1) / each.by_chance
        limit = (_LIMIT_FAR if each.given else _LIMIT) * (1.0 if given >= _LEAST_GIVEN else _IF_FEW)
        if doubt <= limit * (_IF_GIVING if id(each.target.number) in giving else 1):
            yield _finding(each.target, each.slip)


def _seen(document: Document) -> Iterator[_Seen]:
    """Each number that something nearby may give."""
    nouns = nouns_of(document)
    every = [numbers_of(sentence, nouns) for sentence in document.sentences]
    tables = [(table, cells_of(table, nouns)) for table in document.tables]
    records = Counter(sentence.form for sentence in document.sentences)
    for index, sentence in enumerate(document.sentences):
        if every[index] and records[sentence.form] < LOG and len(sentence.numbers) <= _MOST_NUMBERS:
            around = _around(document, index, every, tables)
            for target in every[index]:
                if _may_follow(target, sentence, document, [*every[index], *around.before, *around.after]):
                    yield from _looked_at(target, sentence, every[index], around)
    for table, rows in tables:
        yield from _totals(table, rows)


def _around(
    document: Document,
    index: int,
    every: list[list[Typed]],
    tables: list[tuple[TextTable, list[list[Typed | None]]]],
) -> _Around:
    sentence = document.sentences[index]
    is_line = bool(KEY.match(sentence.text) or _ITEM.match(sentence.text))
    back = _BACK_OF_LINES if is_line else _BACK

    def of(places: Sequence[int]) -> list[Typed]:
        return [
            each for k in places if abs(document.sentences[k].line - sentence.line) <= _NEAR_LINES for each in every[k]
        ]

    near = [
        (table, rows)
        for table, rows in tables
        if -_FAR_LINES <= sentence.line - table.line <= len(rows) + _FAR_LINES and len(rows) <= _MOST_ROWS
    ]
    words = " ".join(each.marked for each in document.sentences[max(0, index - 1) : index + 1])
    return _Around(
        of(range(max(0, index - back), index)),
        of(range(index + 1, min(len(every), index + 1 + back))),
        [] if is_line else [each for k in range(max(0, index - _BEFORE), index - 1) for each in every[k]],
        [each for table, rows in near for each in _named(table, rows, sentence, words)],
        [rows for _, rows in near],
    )


def _named(table: TextTable, rows: list[list[Typed | None]], sentence: Sentence, words: str) -> Iterator[Typed]:
    """The cells of the rows that a sentence names and of the total, and the sums of the columns that it speaks of."""
    labels = tuple(texts[0] for texts in table.texts)
    runs = runs_named(labels, sentence)
    columns = {k + 1 for k in runs_named(table.headings[1:], sentence)}
    totals = {k for k, label in enumerate(labels) if _TOTAL.match(label)}
    is_turned = not runs and len(rows) <= _FEW_ROWS
    for r, row in enumerate(rows):
        yield from (cell for c, cell in enumerate(row) if cell and (r in runs | totals or (is_turned and c in columns)))
    for c in range(1, len(table.headings)) if not totals and len(rows) > 1 else ():
        column = [cell for row in rows if (cell := row[c])]
        is_sum = len(column) == len(rows) and len({each.type for each in column}) == 1 and is_amount(column[0])
        if is_sum and (c in columns or _TOGETHER.search(words)):
            low, high = total_of(column)
            number = replace(column[0].number, text=f"{SUM_OF} {table.headings[c]!r}", unit="", table=None)
            yield replace(column[0], number=number, low=low, high=high)


def _may_follow(target: Typed, sentence: Sentence, document: Document, near: list[Typed]) -> bool:
    """Whether a number may follow from others; one that stands in two places may be given in the other."""
    number = target.number
    if number.hedge or number not in sentence.numbers or not number.text[0].isdigit():
        return False
    if target.type == BARE and (digits_of(number.text) < _LEAST_OF_BARE or number.unit):
        return False
    start = sentence.positions[sentence.numbers.index(number)][0]
    if _RANGE.search(sentence.text[:start]):
        return False
    if document.times[number.text, number.unit] == 1:
        return True
    alike = [each for each in near if each is not target and each.type == target.type]
    return digits_of(number.text) <= _LEAST_DIGITS and all(each.number.text != number.text for each in alike)


def _looked_at(target: Typed, sentence: Sentence, numbers: list[Typed], around: _Around) -> Iterator[_Seen]:
    """Whether a number is given, and the rarest slip if not; nothing if no numbers may give it."""
    own = [each for each in numbers if each is not target]
    of_own = ways_of(target, own, sentence, 3)
    of_before = ways_of(target, [*own, *around.before], sentence, 3) if around.before else of_own
    of_named = ways_of(target, [*own, *around.before, *around.named], sentence, 3) if around.named else of_before
    of_after = ways_of(target, [*own, *around.before, *around.after], sentence, 2) if around.after else of_before
    near = [*of_named, *of_after]
    if not near:
        return
    of_earlier = ways_of(target, [*own, *around.before, *around.earlier], sentence, 2) if around.earlier else []
    values = (target.low / target.size, target.high / target.size)
    meant = [way for way in (*near, *of_earlier) if is_meant(target, way, sentence)]
    if is_given(target.number, values, meant):
        giving = [way for way in meant if len(way.operands) < _PARTS and is_given(target.number, values, [way])]
        is_telling = _share_given(target, meant) < _TELLING
        yield _Seen(target, "near", gives=tuple(n for way in giving for n in way.operands) if is_telling else ())
        return
    far = [way for way in (*near, *of_earlier) if not is_meant(target, way, sentence)]
    for rows in around.tables:
        far += _of_a_table(target, own, rows, sentence)
    given = "far" if is_given(target.number, values, far) else ""
    sets = ((of_own, 1.0), (of_before, 1.0), (of_named, _OF_NAMED), (of_after, _OF_NEXT), (of_earlier, _OF_NEXT))
    slips = [found for ways, less in sets if (found := _rarest(target, ways, less, sentence))]
    slip = min(slips, key=lambda each: each.chance) if slips else None
    yield _Seen(target, given, _share_given(target, far) if given else 1.0, slip)


def _of_a_table(target: Typed, own: list[Typed], rows: list[list[Typed | None]], sentence: Sentence) -> Iterator[Way]:
    """What any two cells of a column give, and the cells of a row with the numbers of the sentence."""
    for column in zip(*rows, strict=True):
        cells = [cell for cell in column if cell]
        yield from of_pairs(target, cells)
    for row in rows:
        yield from ways_of(target, [*own, *(cell for cell in row if cell)], sentence, 2)


def _share_given(target: Typed, ways: list[Way]) -> float:
    """How likely so many ways give a number of this size by chance."""
    middle = float(target.number.low + target.number.high) / 2
    width = max(2 * float(target.number.high - target.number.low), _NEARLY * middle)
    low, high = (1 - _AROUND) * middle, (1 + _AROUND) * middle
    many = distinct((way.low, way.high) for way in ways if low <= way.high and way.low <= high)
    return min(1.0, max(1, many) * width / (2 * _AROUND * middle))


def _rarest(target: Typed, ways: list[Way], less: float, sentence: Sentence) -> _Slip | None:
    """The slip of a number that is the least likely by chance, among so many ways of its kind."""
    number = target.number
    digits = digits_of(number.text)
    meant = [way for way in ways if is_meant(target, way, sentence)]
    if digits < _LEAST_DIGITS or not meant:
        return None
    low, high = float(number.low), float(number.high)
    kinds = len({kind_of(way) for way in meant})
    found = [(way, words) for way in meant if (words := _slip(target, way))]
    result = []
    for way, words in found:
        if words.endswith("differs") and way.low * (1 - _MEASURED) <= high and low <= way.high * (1 + _MEASURED):
            continue
        is_unit = words.endswith(("thousand", "60", "3,600"))
        rivals = distinct(
            (each.low, each.high)
            for each in ways
            if kind_of(each) == kind_of(way)
            and (is_unit or (each.low <= _DECADE * high and each.high * _DECADE >= low))
        )
        chance = less * rivals * kinds * _by_chance(words, digits) * max(1.0, (way.high - way.low) / (high - low or 1))
        sources = [{id(n) for n in each.operands} for each, _ in found if each.low <= way.high and way.low <= each.high]
        is_confirmed = any(not (a & b) for a, b in combinations(sources, 2))
        result.append(_Slip(chance * (_CONFIRMED if is_confirmed else 1.0), way, words))
    return min(result, key=lambda each: each.chance) if result else None


def _by_chance(words: str, digits: int) -> float:
    """The share of numbers of so many digits that such a slip would turn into a given one."""
    return 2 * by_chance("it is off by a factor of ten", digits) if words.endswith("two") else by_chance(words, digits)


def _slip(target: Typed, way: Way) -> str:
    """The slip between a number and what a way gives; units are mistaken only in a product or a quotient of two."""
    found = _NAMED_POWER.fullmatch(target.number.text)
    size = 10.0 ** POWERS[found[2]] if found else 1.0
    low, high = way.low / size, way.high / size
    half = float(target.number.high - target.number.low) / 2 / size
    plain = re.sub(r"[,\s$*]", "", found[1] if found else target.number.text)
    if not re.fullmatch(r"\d+(?:\.\d+)?", plain):
        return ""

    def fits(value: float, room: float = half) -> bool:
        return low - room <= value <= high + room

    def fit(texts: list[str]) -> bool:
        return any(fits(float(each)) for each in texts if (each[0] == "0") == (plain[0] == "0"))

    if fit(swapped(plain)):
        return "two digits are swapped"
    value = float(plain)
    may_be_half = target.type != SHARE or (value > _WHOLE) == (high > _WHOLE)  # 150 % may be a change, but not a part
    factors = {10: "ten", 2: "two"} if may_be_half else {10: "ten"}
    if kind_of(way) == "2" and any(atom in ("s", "J", "B", "flop") for atom, _ in target.type):
        factors |= {60: "60", 3600: "3,600"} if target.type == _TIME else {1000: "a thousand"}
    for factor, words in factors.items():
        if fits(value * factor, half * factor) or fits(value / factor, half if factor == 2 else half / factor):
            return f"it is off by a factor of {words}"
    return "one digit differs" if fit(replaced(plain)) else ""


def _totals(table: TextTable, rows: list[list[Typed | None]]) -> Iterator[_Seen]:
    """The total of each column: given by its rows, or not; then a slip in the total or in one row would mend it."""
    if len(rows) <= _PARTS or not _TOTAL.match(table.texts[-1][0]):
        return
    for k in range(1, len(table.headings)):
        column = [cell for row in rows if (cell := row[k])]
        if len(column) < len(rows) or len({each.type for each in column}) > 1 or _NO_SUM.search(table.headings[k]):
            continue
        *parts, total = column
        if total.type == FACTOR or (total.type == SHARE and abs(total.low - 100) > _ABOUT_ALL):
            continue
        low, high = total_of(parts)
        numbers = tuple(each.number for each in parts)
        way = Way(low / total.size, high / total.size, "a + b + ...", numbers)
        if is_given(total.number, (total.low / total.size, total.high / total.size), [way]):
            yield _Seen(total, "near")
            continue
        wrong = [(total, way)]
        for part in parts:
            rest = [each for each in parts if each is not part]
            low, high = total_of(rest)
            others = (total.number, *(each.number for each in rest))
            ends = (total.low - high) / part.size, (total.high - low) / part.size
            wrong.append((part, Way(*ends, "a - b - ...", others)))
        yield _slipped(wrong)


def _slipped(wrong: list[tuple[Typed, Way]]) -> _Seen:
    """The number of a sum whose slip is the rarest."""
    found = [
        (each, _Slip(len(wrong) * _by_chance(words, digits_of(each.number.text)), way, words))
        for each, way in wrong
        if way.low > 0 and digits_of(each.number.text) >= _LEAST_DIGITS and (words := _slip(each, way))
    ]
    if not found:
        return _Seen(wrong[0][0], "")
    target, slip = min(found, key=lambda pair: pair[1].chance)
    return _Seen(target, "", 1.0, slip)


def _finding(target: Typed, slip: _Slip) -> Finding:
    *names, last = [with_unit(each) for each in slip.way.operands]
    of = f"{', '.join(names)} and {last}" if names else last
    right = Bounds(*(type(target.number.low)(str(end)) for end in (slip.way.low, slip.way.high)))
    return Finding(
        "inconsistent",
        (target.number, *slip.way.operands),
        f"{with_unit(target.number)} does not follow from {of}, as most numbers of this text follow from those around "
        f"them: these give {about((right.low + right.high) / 2)} ({slip.words}).",
        matters(target.number.bounds, right),
        slip.way.text,
    )
