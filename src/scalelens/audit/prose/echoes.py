"""A number that stands in two places and differs by a slip, where words show that both are one measurement.

How much is needed follows from the slip: two numbers of four digits that are the same but for the place of the point
hardly ever stand in one text by chance; two that differ in one of three digits do so in most.  How much words and
numbers around show is weighed in likeness.py.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache, partial
from itertools import combinations

from scalelens.audit.document import Document, Sentence, TextTable
from scalelens.audit.finding import Finding
from scalelens.audit.printed import Number
from scalelens.audit.prose.bound import is_of_a_fraction
from scalelens.audit.prose.given import given_twice, is_given
from scalelens.audit.prose.likeness import Likeness, are_beside_one
from scalelens.audit.prose.places import Place, middle_of, places_of
from scalelens.audit.prose.repeated import MEAN, QUOTED, is_joined
from scalelens.audit.prose.weights import DIGIT, POINT, SWAPPED

_PLAIN = re.compile(r"\d[\d,]*(?:\.\d+)?[kMBT]?")
_NAME = re.compile(r"[kMBT]?$")  # of a power of ten
_MARKS, _UNIT = re.compile(r"[\W_]+"), re.compile(r"[(\[][^()\[\]]*[)\]]")
_ANOTHER = re.compile(
    r"\b(?:another|other|second|previous|earlier) (?:run|attempt|seed|machine)s?\b|\bre-?run\b", re.IGNORECASE
)
_MEANS = {"mean", "average", "avg", "median", "geomean"}
_MOST_ALIKE = 12
_MUCH_SHARED = 2
_DIGITS = re.compile(r"\d+")
_OR_LATER = re.compile(r"\+(?!\s?\d)|,? (?:or|and) (?:later|newer|above|higher)\b| ?LTS\b|及以上|以上")
_REFERENCE = re.compile(r"\s*\\(?:newblock|bibitem)\b")  # years, volumes and pages of other papers
_ABOUT = re.compile(r"[~≈]\W{0,3}$")
_TEN = Decimal("9.99"), Decimal("10.01")
_LISTED, _ONE_SIZE = 2, 2  # numbers beside one, and how much larger one may be
_COMMON_NAMES, _LEAST_SWAPPED = 2, 2
_LEAST_DIGITS, _MANY, _LONG = 3, 4, 5
_FAR_OF_FEW, _FAR = 1.05, 1.005  # two measurements of one kind may be nearer


def find(document: Document) -> Iterator[Finding]:
    """Pairs of numbers that should be the same."""
    places = places_of(document)
    times = Counter(place.plain for place in places)
    likeness = Likeness(document, places)
    alike = list(_alike(places))
    pairs = Counter((words, id(each)) for words, *pair in alike for each in pair)
    seen: set[int] = set()
    for words, a, b in alike:
        if min(times[a.plain], times[b.plain]) > 1 or {id(a.number), id(b.number)} & seen:
            continue
        if min(likeness.printed[a.plain], likeness.printed[b.plain]) > 1:
            continue
        if any(document.is_of_a_log(each.number) or _is_of_a_reference(document, each) for each in (a, b)):
            continue
        if _is_a_least(document, a) or _is_a_least(document, b) or _is_of_other_sizes(document, words, a, b):
            continue
        if _is_share_of_its_row(a) or _is_share_of_its_row(b):
            continue
        if _is_of_a_combination(document, a, b) or _tells_of_another_run(document, words, a, b):
            continue
        if likeness.is_one(
            words, a, b, pairs[words, id(a)] + pairs[words, id(b)] - 1, partial(_follows, document, a, b)
        ):
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
            or place.number.low <= 0 <= place.number.high
            or not _PLAIN.fullmatch(place.number.text.lstrip("+-\u2212"))
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
    if a.source == b.source or (words != POINT and a.form == b.form) or len({a.number.unit, b.number.unit} - {""}) > 1:
        return False
    few = min(a.significant, b.significant) < _MANY
    is_mixed, has_points = (a.table is None) != (b.table is None), ["." in each.number.text for each in (a, b)]
    if a.table is not None and b.table is not None and (a.table is b.table or len(a.near & b.near) < _COMMON_NAMES):
        return False
    if (is_mixed or (few and words != POINT)) and _is_of_a_mean(a) != _is_of_a_mean(b):
        return False
    if (words != POINT or has_points[0] != has_points[1]) and _are_of_two_runs(a, b):
        return False
    if len({(_NAME.findall(each.number.text)[0], each.number.low < 0) for each in (a, b)}) > 1:
        return False
    if is_mixed and (_is_in_column_of(a, b) or _is_in_column_of(b, a)):
        return False  # the value of another row
    if words != POINT and a.whole and a.whole == b.whole:
        return False  # two parts of it
    if a.number.text in b.printed or b.number.text in a.printed:
        return False  # there they are two
    larger, smaller = sorted((middle_of(a.number), middle_of(b.number)), reverse=True)
    whole = "." not in a.number.text + b.number.text
    if words == POINT:
        same = whole or a.digits.lstrip("0") == b.digits.lstrip("0")
        units = {a.number.unit, b.number.unit}  # a cell may leave out a unit that a sentence gives
        is_sure = len(units) == 1 or (is_mixed and units.isdisjoint("%x")) or min(a.significant, b.significant) >= _LONG
        is_sure &= not _are_scaled(a, b) and (_fits_no_worse(a, b) or _fits_no_worse(b, a))
        is_sure &= len(a.digits.strip("0")) > 1
        return same and is_sure and abs(larger / smaller - 10) < 1e-6 and (all(has_points) or not _are_sizes(a, b))
    if a.digits == b.digits or (a.digits[:2] == b.digits[:2] and _is_a_name(a) and _is_a_name(b)):
        return False
    if words == DIGIT:
        if _are_among_the_same(a, b):
            return True
        if few and whole and (_are_sizes(a, b) or not (a.number.unit or b.number.unit)):
            return False  # counts of two things
        return larger / smaller > (_FAR_OF_FEW if few else _FAR) and not set(a.digits + b.digits) <= set("01")
    differ = [k for k, (x, y) in enumerate(zip(a.digits, b.digits, strict=True)) if x != y]
    return len(differ) == _LEAST_SWAPPED and differ[1] - differ[0] == 1


def _is_a_least(document: Document, place: Place) -> bool:
    """Whether what follows a number says "or later": "20.04+" is a version."""
    line = document.lines[place.number.line - 1]
    return bool(_OR_LATER.match(line, place.number.column - 1 + len(place.number.text)))


def _is_of_a_reference(document: Document, place: Place) -> bool:
    return bool(_REFERENCE.match(document.lines[place.number.line - 1]))


def _is_of_other_sizes(document: Document, words: str, a: Place, b: Place) -> bool:
    """Whether a power of ten is right: other numbers differ by it, too, or the number is one of a list of its size."""
    if words != POINT:
        return False
    around = [[] if each.index is None else _others_in(document.sentences[each.index], each) for each in (a, b)]
    if all(_is_about(document, each) and "." not in each.number.text for each in (a, b)):
        return True
    less, more = around if middle_of(a.number) < middle_of(b.number) else around[::-1]
    if any(
        len(x.text) > 1 and x.unit == y.unit and x.low > 0 and _TEN[0] < (y.low + y.high) / (x.low + x.high) < _TEN[1]
        for x in less
        for y in more
    ):
        return True  # "2.5M a day: 1250 of them", "250k a day: 125"
    return any(
        sum(_is_of_one_size(x, each.number) for x in own) >= _LISTED
        and not any(_is_of_one_size(x, other.number) for x in own)
        for own, each, other in ((around[0], a, b), (around[1], b, a))
    )


def _is_about(document: Document, place: Place) -> bool:
    return bool(_ABOUT.search(document.lines[place.number.line - 1][: place.number.column - 1]))


def _others_in(sentence: Sentence, place: Place) -> list[Number]:
    return [each for each in sentence.numbers if each is not place.number]


def _is_of_one_size(a: Number, b: Number) -> bool:
    """Whether two numbers have as many digits after the point, one unit and nearly one size."""
    alike = a.unit == b.unit and len(a.text.partition(".")[2]) == len(b.text.partition(".")[2])
    return alike and min(a.low, b.low) > 0 and max(a.low, b.low) < _ONE_SIZE * min(a.low, b.low)


def _is_in_column_of(a: Place, cell: Place) -> bool:
    """Whether the number of a sentence stands in the table of a cell, too, with as many digits or more."""
    if cell.table is None:
        return False
    return any(
        each.text == a.number.text
        if k == cell.number.cell
        else a.significant >= _LEAST_DIGITS and _is_same(a.number, each)
        for row in cell.table.cells
        for k, each in enumerate(row)
        if each
    )


def _is_same(number: Number, cell: Number) -> bool:
    """Whether a cell is a number, with as many digits or more: 19.2 and 19.20."""
    return (not cell.unit or number.unit == cell.unit) and number.low <= cell.low and cell.high <= number.high


def _are_among_the_same(a: Place, b: Place) -> bool:
    """Whether two numbers of three digits stand around both, or the same one right before or after both."""
    shared = sum(len(digits.strip("0")) >= _LEAST_DIGITS for digits in a.others & b.others)
    labels = [each.table.texts[each.number.row or 0][0] for each in (a, b) if each.table]
    if len({tuple(_DIGITS.findall(label)) for label in labels}) > 1:
        return False  # "heavy 2 %" and "heavy 5 %"
    is_measured = "." in a.number.text or bool(a.number.unit)  # 8102 and 8103 are ports
    return is_measured and (shared >= _MUCH_SHARED or are_beside_one(a, b))


def _tells_of_another_run(document: Document, words: str, a: Place, b: Place) -> bool:
    """Whether a sentence says that its number is wrong, or of another run."""
    texts = [document.sentences[each.index].text for each in (a, b) if each.index is not None]
    return any(QUOTED.search(text) or (words != POINT and _ANOTHER.search(text)) for text in texts)


def _is_of_a_combination(document: Document, a: Place, b: Place) -> bool:
    """Whether a sentence joins the label of a row to another one: "endian + wide" is not "endian"."""
    cell, said = (a, b) if a.table is not None else (b, a)
    if cell.table is None or said.index is None:
        return False
    return is_joined(cell.table.texts[cell.number.row or 0][0], document.sentences[said.index], said.number)


def _is_share_of_its_row(place: Place) -> bool:
    """Whether a fraction in the row of a share gives it: "1933/2045 ... 94.5 %"."""
    return place.table is not None and is_of_a_fraction(
        place.number, " | ".join(place.table.texts[place.number.row or 0])
    )


def _is_of_a_mean(place: Place) -> bool:
    """Whether the words before a number, or the label and the heading of its cell, say that it is a mean."""
    if place.table is None:
        return not _MEANS.isdisjoint(place.around[0])
    row, column = place.number.row or 0, place.number.cell or 0
    texts, cells = place.table.texts[row], place.table.cells[row]
    words = [place.table.headings[column], *(text for text, cell in zip(texts, cells, strict=True) if cell is None)]
    return MEAN.search(" ".join(words)) is not None


def _are_of_two_runs(a: Place, b: Place) -> bool:
    """Whether two rows have other numbers below the same heading, or two tables differ where their names agree."""
    if a.table is None or b.table is None:
        return False
    mine, theirs = (
        {
            heading.strip(" *").lower(): cell.text
            for heading, cell in zip(each.table.headings, each.table.cells[each.number.row or 0], strict=True)
            if cell and cell is not each.number
        }
        for each in (a, b)
        if each.table
    )
    if any(mine[heading] != theirs[heading] for heading in mine.keys() & theirs.keys()):
        return True
    return sum(x.text != y.text for x, y in _cells_of_one_name(a.table, b.table)) > 1


def _is_a_name(place: Place) -> bool:
    """Whether a number may be that of a job: many digits without a comma, a point or a unit."""
    return place.significant >= _LONG and place.number.text.isdigit() and not place.number.unit


def _are_scaled(a: Place, b: Place) -> bool:
    """Whether another number differs by a factor of ten as well: "50 of them in 13.6 days, 500 in 136 days"."""
    less, more = sorted((a, b), key=lambda each: middle_of(each.number))
    if any(
        x != y and x and y and (x.startswith(y) or y.startswith(x)) for x, y in zip(a.beside, b.beside, strict=True)
    ):
        return True  # "99.9 %: 43.8 minutes", "99.99 %: 4.38 minutes"
    own = {each.replace(",", "") for each in (less.number.text, more.number.text)}
    small, large = ({text.replace(",", "") for text in each.printed} - own for each in (less, more))
    return any(f"{text}0" in large for text in small if "." not in text)


def _fits_no_worse(place: Place, other: Place) -> bool:
    """Whether the number of another table lies no farther from the column of a cell than its own does."""
    if place.table is None or other.table is None:
        return True
    cells = [row[place.number.cell or 0] for row in place.table.cells]
    column = [middle_of(cell) for cell in cells if cell and cell is not place.number and middle_of(cell)]
    if not column:
        return True
    away, of_other = (
        max(min(column) / size, size / max(column), 1.0) for size in (middle_of(place.number), middle_of(other.number))
    )
    return of_other <= away


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


@lru_cache(maxsize=256)
def _cells_of_one_name(a: TextTable, b: TextTable) -> list[tuple[Number, Number]]:
    """Cells of two tables whose rows and columns have the same two names."""
    own, others = _named(a), _named(b)
    return [(cell, others[names]) for names, cell in own.items() if names in others]


def _named(table: TextTable) -> dict[frozenset[str], Number]:
    """The numbers of a table by the names of row and column; not those whose names stand twice."""
    found: dict[frozenset[str], list[Number]] = defaultdict(list)
    labels = [_label(texts, cells) for texts, cells in zip(table.texts, table.cells, strict=True)]
    for row, cells in enumerate(table.cells):
        for k, cell in enumerate(cells):
            names = frozenset((labels[row], _without_unit(table.headings[k])))
            if k and cell and not cell.hedge and "" not in names:
                found[names].append(cell)
    return {names: cells[0] for names, cells in found.items() if len(cells) == 1}


def _label(texts: tuple[str, ...], cells: tuple[Number | None, ...]) -> str:
    """The cells of a row that are words; the first one, if there are none."""
    words = [_without_unit(text) for text, cell in zip(texts, cells, strict=True) if cell is None and text]
    return " ".join(words) or _without_unit(texts[0])


def _without_unit(text: str) -> str:
    return _MARKS.sub(" ", _UNIT.sub("", text).lower()).strip()
