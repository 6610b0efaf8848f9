"""Small tables: arithmetic that all rows but one fulfill to their last digits, with two such rows or more.

Sums and differences, ratios, shares and changes of two columns, and shares of a cell such as "64/90".  A rule that only
few rows show must hold in each of them to so many digits that chance is out of the question; evidence.py says how rare
that must be, given what the headings say and which slip would mend the row that breaks it.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import combinations, permutations
from math import prod

from scalelens.audit.document import Document, TextTable
from scalelens.audit.evidence import is_rare
from scalelens.audit.finding import Finding
from scalelens.audit.forms.excuses import is_another_change
from scalelens.audit.forms.series import Interval, Series, columns_of, rows_of
from scalelens.audit.forms.slips import REPEATED, slip
from scalelens.audit.forms.sums import IS_SUMMARY
from scalelens.audit.printed import Bounds, Number
from scalelens.audit.quantities import exact, value
from scalelens.audit.wording import about, matters, table_name, with_unit
from scalelens.units import base

_MOST_ROWS, _MOST_COLUMNS = 12, 9
_LEAST_ROWS, _LEAST_AGREEING = 3, 2
_LEAST_DIGITS = 2
_PAIR, _IF_ONLY, _IF_CONFIRMED = 2, 0.2, 0.1
_MEASURED_TWICE = 0.03
_LEAST_PART = 0.1  # of a sum: a smaller part is the difference of two numbers that are alike
_SIGNS = "+-\u2212"
_ONE = re.compile(r"1(?:\.0+)?")
_FRACTION = re.compile(r"[\s*`_]*(\d[\d,]*) ?/ ?(\d[\d,]*)[\s*`_]*")
_RATIO = re.compile(r"ratio|speed-?up|times|factor|\bvs\b|/|×|faster|slower", re.IGNORECASE)
_CHANGE = re.compile(
    r"delta|Δ|diff|change|gain|improv|reduc|sav|increase|decrease|drop|vs\b|%|lift|overhead|degrad|变化|提升|减少|增|降",
    re.IGNORECASE,
)
_SHARE = re.compile(
    r"%|rate|share|pct|percent|acc|ratio|pass|success|fraction|coverage|recall|precision", re.IGNORECASE
)
_DIFFERENCE = re.compile(r"delta|Δ|diff|change|gain|improv|gap|sav|drop|total|sum|all|lift|overhead|net", re.IGNORECASE)
_RANGE = re.compile(r"\b(?:swing|range|spread|gap|span)\b", re.IGNORECASE)  # between the largest and the smallest
_OF_OTHERS = re.compile(r"\b(?:best|max|min|median|p\d\d|worst)\b", re.IGNORECASE)


@dataclass(frozen=True)
class _Form:
    """Its text, whether the target has the unit of the operands, words and units of the target, and what it gives."""

    text: str
    is_sum: bool
    named: re.Pattern[str]
    units: tuple[str, ...]
    of: Callable[[Interval, Interval], Interval]
    of_base: bool = False  # one of its operands is the value of the base case in all rows


def _plus(a: Interval, b: Interval) -> Interval:
    return a[0] + b[0], a[1] + b[1]


def _minus(a: Interval, b: Interval) -> Interval:
    return a[0] - b[1], a[1] - b[0]


def _over(a: Interval, b: Interval) -> Interval:
    return a[0] / b[1], a[1] / b[0]


def _per_cent(a: Interval, b: Interval) -> Interval:
    return 100 * a[0] / b[1], 100 * a[1] / b[0]


def _more(a: Interval, b: Interval) -> Interval:
    return 100 * a[0] / b[1] - 100, 100 * a[1] / b[0] - 100


_FORMS = (
    _Form("{c} = {0} + {1}", True, _DIFFERENCE, (), _plus),
    _Form("{c} = {0} / {1}", False, _RATIO, ("x", ""), _over),
    _Form("{c} = {0} / {1} × 100", False, _SHARE, ("%",), _per_cent),
    _Form("{c} = ({0} / {1} - 1) × 100", False, _CHANGE, ("%",), _more),
)
_OF_BASE = _Form("{c} = {0} / {1}", False, _RATIO, ("x", ""), _over, of_base=True)


@dataclass(frozen=True)
class _Broken:
    """A row that a form does not fit, how likely the others fit by chance, and what the form gives."""

    form: _Form
    series: tuple[Series, Series, Series]
    place: int
    agreeing: int
    chance: float
    right: Interval
    is_confirmed: bool = False  # by another column that gives the same value


def find(document: Document) -> Iterator[Finding]:
    """Numbers that break the arithmetic which the few other rows of their table fulfill."""
    for table in document.tables:
        if len(table.cells) > _MOST_ROWS:
            continue
        for series in (columns_of(table), rows_of(table)):
            seen: set[int] = set()
            for broken in _broken(series) if _LEAST_ROWS <= len(series) <= _MOST_COLUMNS else ():
                if broken.place not in seen and (finding := _accused(table, broken, series)):
                    seen.add(broken.place)
                    yield finding
        yield from _fractions(table)


def _broken(series: list[Series]) -> list[_Broken]:
    """The forms that all places but one fulfill, the rarest first."""
    tried, found = 0, []
    for form in _FORMS:
        choose = combinations if form.of is _plus else permutations
        for target in series:
            others = [each for each in series if each.key != target.key]
            for a, b in choose(others, 2):
                places = [k for k in range(len(target.numbers)) if _is_used(form, target, a, b, k)]
                if len(places) < (_LEAST_ROWS - 1 if form.is_sum else _LEAST_ROWS):
                    continue
                tried += 1
                if broken := _held(form, (target, a, b), places):
                    found.append(broken)
    of_base, bases_tried = _against_base(series)  # whose headings say what they are
    found = [replace(each, chance=each.chance * tried) for each in found]
    found += [replace(each, chance=each.chance * bases_tried) for each in of_base]
    return sorted(found, key=lambda each: each.chance)


def _against_base(series: list[Series]) -> tuple[list[_Broken], int]:
    """Ratios to the value of the one row whose ratio is 1.00, that all other rows but one fulfill; and the trials."""
    found, tried = [], 0
    for target in series:
        ones = [k for k, number in enumerate(target.numbers) if number and _ONE.fullmatch(number.text)]
        if len(ones) != 1 or not _RATIO.search(target.name) or target.is_order_statistic:
            continue
        for other in series:
            base_value = other.numbers[ones[0]]
            if other.key == target.key or not base_value or base_value.low <= 0:
                continue
            base_case = replace(other, numbers=(base_value,) * len(other.numbers))
            for a, b in ((other, base_case), (base_case, other)):
                places = [k for k in range(len(target.numbers)) if _is_used(_OF_BASE, target, a, b, k)]
                if len(places) < _LEAST_ROWS:
                    continue
                tried += 1
                if broken := _held(_OF_BASE, (target, a, b), places):
                    found.append(broken)
    found = [each for each in found if not _is_of_another_column(each, series)]
    return [replace(each, is_confirmed=_is_confirmed(each, found)) for each in found], tried


def _is_of_another_column(broken: _Broken, series: list[Series]) -> bool:
    """Whether a ratio is that of another column to its base case."""
    target = broken.series[0]
    one = next(k for k, number in enumerate(target.numbers) if number and _ONE.fullmatch(number.text))
    for other in series:
        a, b = other.intervals[broken.place], other.intervals[one]
        if other.key == target.key or not a or not b or min(a[0], b[0]) <= 0:
            continue
        if any(_fits(_OF_BASE, broken.series, broken.place, _over(x, y)) for x, y in ((a, b), (b, a))):
            return True
    return False


def _is_confirmed(broken: _Broken, found: list[_Broken]) -> bool:
    """Whether two columns, a rate and a time, give one ratio where a third says another: then that one is wrong."""
    return any(
        each.series[0].key == broken.series[0].key
        and each.place == broken.place
        and {s.key for s in each.series} != {s.key for s in broken.series}
        and each.right[0] <= broken.right[1]
        and broken.right[0] <= each.right[1]
        for each in found
    )


def _is_used(form: _Form, target: Series, a: Series, b: Series, place: int) -> bool:
    """Whether a place has three numbers in units that fit a form, none of which makes it hold by itself."""
    numbers = [each.numbers[place] for each in (target, a, b)]
    if not all(numbers):
        return False
    c, x, y = (each for each in numbers if each)
    units = ["%" if each.unit == "%" else base(each.unit)[0] for each in (c, x, y)]
    is_bare = form.is_sum and len({*units} - {""}) == 1 and bool(_RANGE.search(f"{target.name} {a.name} {b.name}"))
    if not is_bare and (units[1] != units[2] or (units[0] != units[1] if form.is_sum else c.unit not in form.units)):
        return False
    if form.is_sum:
        return all(each.low > 0 or each.high < 0 for each in (c, x, y))
    if form.of is _over and units[1] in ("", "x", "%") and c.unit != "x" and not form.named.search(target.name):
        return False
    return min(x.low, y.low) > 0 and x.text != y.text and c.text.strip(_SIGNS) not in ("0", "1", "100")


def _held(form: _Form, series: tuple[Series, Series, Series], places: list[int]) -> _Broken | None:
    """The only place where a form does not hold; None if there is none or more than one."""
    target, a, b = series
    is_range = form.is_sum and any(_RANGE.search(each.name) for each in series)
    if not is_range and any(each.is_order_statistic or _OF_OTHERS.search(each.name) for each in series):
        return None
    agreeing: list[int] = []
    apart: list[int] = []
    rights: dict[int, Interval] = {}
    for place in places:
        x, y, c = a.intervals[place], b.intervals[place], target.intervals[place]
        assert x and y and c
        rights[place] = _sharp(form, series, place) or form.of(x, y)
        (agreeing if _fits(form, series, place, rights[place]) else apart).append(place)
        if len(apart) > 1:
            return None
    texts = {number.text for place in agreeing if (number := target.numbers[place])}
    if len(apart) != 1 or len(texts) < (_LEAST_AGREEING if len(places) >= _LEAST_ROWS else 1):
        return None
    chance = prod([_by_chance(form, series, place, rights, agreeing) for place in agreeing], start=1.0)
    return _Broken(form, series, apart[0], len(agreeing), float(chance), rights[apart[0]])


def _sharp(form: _Form, series: tuple[Series, Series, Series], place: int) -> Interval | None:
    """What a form gives exactly, if it adds counts."""
    numbers = [each.numbers[place] for each in series]
    if not form.is_sum or not all(each and not each.unit and re.fullmatch(r"[\d,]+", each.text) for each in numbers):
        return None
    x, y = (float(each.text.replace(",", "")) for each in numbers[1:] if each)
    return form.of((x, x), (y, y))


def _fits(form: _Form, series: tuple[Series, Series, Series], place: int, right: Interval) -> bool:
    """Whether a number is what a form gives, or was cut instead of rounded; either sign of a change will do."""
    printed, number = series[0].intervals[place], series[0].numbers[place]
    assert printed and number
    if right[0] == right[1] and form.is_sum:
        return right[0] == float(number.text.replace(",", ""))
    half = (printed[1] - printed[0]) / 2
    low, high = printed[0] - half, printed[1] + half
    ways = [right] if form.is_sum else [right, (-right[1], -right[0])]
    return any(way[0] <= high and low <= way[1] for way in ways)


def _by_chance(
    form: _Form, series: tuple[Series, Series, Series], place: int, rights: dict[int, Interval], agreeing: list[int]
) -> float:
    """How likely a place agrees by chance: the room of the printed digits within that of values which are usual."""
    intervals = [interval for each in series if (interval := each.intervals[place])]
    width = intervals[0][1] - intervals[0][0] + rights[place][1] - rights[place][0]
    if form.is_sum:
        sizes = [abs(sum(each)) / 2 for each in intervals]
        room = max(sizes) / 2 if min(sizes) > _LEAST_PART * max(sizes) else min(sizes)
        signs = any(n and n.text[0] in _SIGNS for each in series if (n := each.numbers[place]))
        return min(1.0, width / room) / (2 if signs else 1)
    middles = [abs(sum(rights[each])) / 2 for each in agreeing]
    room = min(max(middles), max(middles) - min(middles))
    return min(1.0, 2 * width / room) if room > 0 else 1.0


def _accused(table: TextTable, broken: _Broken, series: list[Series]) -> Finding | None:
    """The finding of a row, if its evidence is enough and nothing else explains the number."""
    target, a, b = broken.series
    numbers = [each.numbers[broken.place] for each in broken.series]
    c, x, y = (each for each in numbers if each)
    low, high = broken.right
    size = float(base(c.unit)[1]) if c.unit != "%" else 1.0
    if low <= 0 <= high or _is_of_another(broken, series) or _has_summary(table, broken, c):
        return None
    if is_another_change([c, x, y]):
        return None
    is_near = abs((float(c.low + c.high) / 2 * size) / ((low + high) / 2) - 1) < _MEASURED_TWICE
    found = _slip(c.text.lstrip("+") if low > 0 else c.text, low / size, high / size) or _slip_of_operand(broken, x, y)
    found = "" if found.endswith("two") or (broken.form.of_base and found.startswith("in ")) else found
    is_exact = low == high and broken.form.is_sum
    if is_near and not is_exact and not found.endswith("swapped"):
        return None
    if not found and _is_repeated(broken):
        found = REPEATED
    if broken.form.is_sum and found == "one digit differs" and abs(c.low) * Decimal(size) > max(abs(low), abs(high)):
        return None  # a third part may be in it
    if not found and not broken.is_confirmed:
        return None  # without a slip the row may be the exception of a rule
    if found.endswith("sign is wrong") and not broken.form.is_sum:
        return None
    named = (target, a, b) if broken.form.is_sum else (target,)
    is_ratio = broken.form.of is _over and c.unit == "x"
    is_named = (
        is_ratio
        or any(_RANGE.search(each.name) for each in named)
        or any(broken.form.named.search(each.name) for each in named)
    )
    kind = found.rpartition(": ")[2]
    chance = broken.chance * (_IF_CONFIRMED if broken.is_confirmed else 1.0)
    if not is_rare(chance, kind, is_named) and not (
        is_named and is_rare(_of_only_pair(broken, series), kind, is_named)
    ):
        return None
    right = f"{about(Decimal((low + high) / 2 / size), 5)} {'times' if c.unit == 'x' else c.unit}".rstrip()
    return Finding(
        "inconsistent",
        (c, x, y),
        f"{with_unit(c)} does not follow from {with_unit(x)} and {with_unit(y)} as in {broken.agreeing} other places "
        f"of {table_name(table)}: these give {right}" + (f" ({found})." if found else "."),
        matters(value(c), Bounds(Decimal(low), Decimal(high))),
        broken.form.text.format(*(_short(each) for each in (a, b)), c=_short(target)),
    )


def _of_only_pair(broken: _Broken, series: list[Series]) -> float:
    """The chance of a ratio that its heading names, of the only two columns of one unit: no other pair can be meant."""
    target, a, _ = broken.series
    alike = [each for each in series if each.unit == a.unit]
    if broken.form.of is not _over or broken.form.of_base or not a.unit or len(alike) != _PAIR:
        return 1.0
    intervals = [interval for k, interval in enumerate(target.intervals) if interval and k != broken.place]
    room = max(abs(sum(each) / 2 - 1) for each in intervals)
    return _IF_ONLY * prod([min(1.0, 2 * (each[1] - each[0]) / room) if room else 1.0 for each in intervals], start=1.0)


def _slip(text: str, low: float, high: float) -> str:
    """The slip between a number and the values that it should have; a digit too many at the end is a power of ten."""
    found = slip(text, low, high)
    if not found and re.fullmatch(r"-?\d{2,}0", text):
        shorter = float(text[:-1])
        found = "it is off by a factor of ten" if shorter - 0.5 <= high and low <= shorter + 0.5 else ""
    return found


def _slip_of_operand(broken: _Broken, x: Number, y: Number) -> str:
    """The slip in one of the two operands that would make the form hold."""
    target, a, b = (each.intervals[broken.place] for each in broken.series)
    assert target and a and b
    for number, solved in ((x, _solved(broken.form, target, b, 0)), (y, _solved(broken.form, target, a, 1))):
        size = float(base(number.unit)[1]) if number.unit != "%" else 1.0
        if solved and solved[0] > 0:
            found = slip(number.text, solved[0] / size, solved[1] / size)
            if found and not found.endswith("two"):
                return f"in {with_unit(number)}: {found}"
    return ""


def _solved(form: _Form, c: Interval, other: Interval, place: int) -> Interval | None:
    """What an operand must be, given the target and the other operand."""
    if form.of is _plus:
        return _minus(c, other)
    if form.of is _over:
        factor: Interval = c
    elif form.of is _per_cent:
        factor = (c[0] / 100, c[1] / 100)
    else:
        factor = (1 + c[0] / 100, 1 + c[1] / 100)
    if min(factor) <= 0 or min(other) <= 0:
        return None
    return (factor[0] * other[0], factor[1] * other[1]) if place == 0 else _over(other, factor)


def _is_repeated(broken: _Broken) -> bool:
    """Whether one of the numbers stands in another place of its series, too, with three digits or more."""
    for each in broken.series:
        if len({n.text for n in each.numbers if n}) == 1:
            continue  # the base case
        own = each.numbers[broken.place]
        digits = re.sub(r"\D", "", own.text).lstrip("0") if own else ""
        digits = digits if own and "." in own.text else digits.rstrip("0")
        alike = any(n and own and n.text == own.text for k, n in enumerate(each.numbers) if k != broken.place)
        if alike and len(digits) > _LEAST_DIGITS:
            return True
    return False


def _is_of_another(broken: _Broken, series: list[Series]) -> bool:
    """Whether another column in place of an operand gives the number, or it is one of another kind of change."""
    target, *operands = broken.series
    values = [each.intervals[broken.place] for each in operands]
    others = [each.intervals[broken.place] for each in series if all(each.key != own.key for own in broken.series)]
    pairs = [pair for other in others for pair in ((other, values[1]), (values[0], other))]
    pairs += [(values[1], values[0])] if not broken.form.is_sum else []
    for x, y in pairs:
        if x and y and min(x[0], y[0]) > 0 and _fits(broken.form, broken.series, broken.place, broken.form.of(x, y)):
            return True
    x, y = values
    number = target.numbers[broken.place]
    if broken.form.units == ("%",) and x and y and number and number.unit == "%":
        ways = [form.of(x, y) for form in _FORMS if form.units == ("%",)]
        ways += [_minus(x, y), (100 * (x[0] - y[1]), 100 * (x[1] - y[0]))]
        return any(_fits(broken.form, broken.series, broken.place, way) for way in ways)
    return False


def _has_summary(table: TextTable, broken: _Broken, c: Number) -> bool:
    """Whether a row is a mean or a total, whose ratio may be a mean of ratios."""
    if broken.form.is_sum or c.row is None or c.cell is None:
        return False
    return bool(IS_SUMMARY.search(table.texts[c.row][0]) or IS_SUMMARY.search(table.headings[c.cell]))


def _short(series: Series) -> str:
    return (series.name or "the row")[:40].replace("{", "(").replace("}", ")")


def _fractions(table: TextTable) -> Iterator[Finding]:
    """Shares beside a cell that counts them, "64/90" and "71.1 %", as in other rows of the table."""
    columns = range(len(table.headings))
    counts = {
        (row, k): found
        for row, texts in enumerate(table.texts)
        for k in columns
        if (found := _FRACTION.fullmatch(texts[k])) and int(found[2].replace(",", "")) > 1
    }
    for of, share in permutations(columns, 2):
        rows = [row for row in range(len(table.cells)) if (row, of) in counts and _is_share(table.cells[row][share])]
        broken = []
        for row in rows:
            number = table.cells[row][share]
            part, whole = (int(counts[row, of][k].replace(",", "")) for k in (1, 2))
            assert number
            right = exact(part) / exact(whole)
            said = value(number)
            room = said.high - said.low
            if Bounds(said.low - room, said.high + room).apart(right) and part:
                broken.append((number, part, whole, right))
        agreeing = len(rows) - len(broken)
        if len(broken) == 1 and agreeing >= _LEAST_AGREEING:
            number, part, whole, right = broken[0]
            words = f"{table.headings[share]} = {table.headings[of]}"
            yield Finding(
                "inconsistent",
                (number,),
                f"{part:,} of {whole:,} are {about(right.low * 100, 4)} %, not {with_unit(number)}, and in {agreeing} "
                f"other rows of {table_name(table)} the shares follow from the counts.",
                matters(value(number), right),
                words,
            )


def _is_share(number: Number | None) -> bool:
    return number is not None and number.unit == "%" and not number.hedge
