"""Which numbers of a table the relations of its other places accuse."""

import re
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from itertools import permutations

from scalelens.audit.document import Document, TextTable
from scalelens.audit.finding import Finding
from scalelens.audit.forms.bases import changes_from_base, values_of_base
from scalelens.audit.forms.either_way import comparisons, differences
from scalelens.audit.forms.excuses import is_excused
from scalelens.audit.forms.meaning import is_measured
from scalelens.audit.forms.mending import right_of, slip_of, slip_of_operand
from scalelens.audit.forms.search import Relation, relations
from scalelens.audit.forms.series import Series, columns_of, groups_of, rows_of
from scalelens.audit.forms.slips import BY_CHANCE, OTHER_BY_CHANCE
from scalelens.audit.forms.sums import IS_SUMMARY, sums, whole_sums
from scalelens.audit.groups import own_group
from scalelens.audit.printed import Bounds, Number
from scalelens.audit.quantities import value
from scalelens.audit.wording import about, matters, table_name, with_unit
from scalelens.units import base

_SURE = 1e-5
_SURE_IF_MEANT = 3e-3
_EXPLAINS = 1e-2
# doubt, and places that agree, from which on every number beyond the digits is wrong
_CERTAIN = ((1e-9, 6), (1e-15, 5))
_MEASURED_TWICE = 0.03  # share by which two measurements may differ
_MOST_OF_NEAR = 0.07  # what a number that is nearly another one changes in a quotient of two
_LEAST_APART, _DIGITS_APART = 0.005, 5  # the least such share, and how many times the width of the printed digits
_OF_ANOTHER_RUN = 0.1  # share by which a rate and a time of two runs may differ
_LEAST_OF_SUM, _LEAST_WITHOUT_SLIP = 3, 3  # places that agree
_NEAR_SUMMARY = 0.2
_OF_A_PROGRAM = re.compile(r"[-+]?\d\.\d+[eE][-+]\d\d")
_HARDLY_BY_CHANCE = ("two digits are swapped", "it is off by a factor of ten")
_SURE_SLIPS = (*_HARDLY_BY_CHANCE, "one digit differs")
_SURE_OF_SUMMARY = 0.05
_ROUNDED_BEFORE = 1e-5  # whole numbers that come from shares with more digits
_OF_A_BASE = re.compile(r"\{0\} - [\d.]|[\d.] - \{0\}")
_MOST_ROWS = 40
_MANY = 8
_BY_MUCH = 0.5
_SUMS = ("{c} = {0} + {1}", "{c} = {0} - {1}")
_PLAIN = ("base", "{0} + {1}", "{0} - {1}", "× 100", "sign")


def find(document: Document) -> Iterator[Finding]:
    """Numbers that break a relation which the rest of their table fulfills."""
    for table in document.tables:
        accused: dict[tuple[int | None, int | None], list[tuple[Relation, int]]] = {}
        if len(table.cells) > _MOST_ROWS:
            continue
        found = list(_relations_of(table))
        explained = {
            (*_cell(by_row, relation, place), relation.fit.free)
            for relation, by_row in found
            if relation.doubt < (_EXPLAINS if not relation.fit.apart else 0 if relation.fit.free else _SURE)
            for place in relation.fit.agreeing
        }
        for relation, by_row in found:
            known = relation.meant and not relation.fit.free and len(relation.operands) > 1
            sure = _is_certain(relation) or (known and relation.doubt < _SURE)
            for place in relation.fit.apart:
                own = _cell(by_row, relation, place)
                settled = (*own, False) in explained or ((*own, True) in explained and not sure)
                if settled and not _operand_is_alone(relation, place, by_row, explained):
                    continue
                if _accuses(table, relation, place, by_row):
                    number = relation.target.numbers[place]
                    key = (number.row, None) if by_row and number else (None, number.cell if number else None)
                    accused.setdefault(key, []).append((relation, place))
        for broken in accused.values():
            yield _finding(table, broken)


def _cell(by_row: bool, relation: Relation, place: int) -> tuple[int, int]:
    """Row and column of a number."""
    return (place, relation.target.key) if by_row else (relation.target.key, place)


def _operand_is_alone(relation: Relation, place: int, by_row: bool, explained: set[tuple[int, int, bool]]) -> bool:
    """Whether the target follows from other numbers too, but the operand that a slip would mend from none."""
    if relation.doubt > _SURE or not relation.meant or relation.fit.free:
        return False
    operand, _ = slip_of_operand(relation, place)
    if operand is None:
        return False
    own = (place, operand.key) if by_row else (operand.key, place)
    return (*own, False) not in explained and (*own, True) not in explained


def _relations_of(table: TextTable) -> Iterator[tuple[Relation, bool]]:
    """Relations between columns in groups of rows, and between rows."""
    columns = columns_of(table)
    for rows in groups_of(table):
        yield from ((each, True) for each in _between(columns, rows))
    yield from ((each, False) for each in _between(rows_of(table), list(range(len(table.headings)))))


def _between(series: list[Series], places: list[int]) -> Iterator[Relation]:
    yield from relations(series, places)
    yield from sums(series, places)
    for each in (whole_sums, changes_from_base, values_of_base, comparisons, differences):
        yield from each(series, places)


def _accuses(table: TextTable, relation: Relation, place: int, by_row: bool) -> bool:
    """Whether a place that is apart must be wrong."""
    slipped = slip_of(relation, place)
    if "{0} ... " in relation.form and _is_summary(table, place, by_row) and _is_near(relation, place):
        return False  # the mean of means, where some are missing
    if is_excused(table, relation, place, slipped, by_row):
        return False
    if _is_named_summary(relation, place, slipped):
        return True
    if len(relation.fit.agreeing) < _LEAST_OF_SUM and (relation.form in _SUMS or "{0} ... " in relation.form):
        return False
    if _is_only_a_factor(relation, slipped, by_row) or _is_coincidence(relation, slipped):
        return False
    doubt = relation.doubt * (BY_CHANCE.get(slipped.rpartition(": ")[2], OTHER_BY_CHANCE) if slipped else 1)
    if doubt > (_SURE_IF_MEANT if relation.meant else _SURE):
        return False
    if by_row and _is_of_own_group(table, relation, slipped):
        return False
    if (relation.fit.free or len(relation.operands) == 1 or "/" in relation.form) and len(
        {n.text for k in relation.fit.agreeing if (n := relation.target.numbers[k])}
    ) < 2:
        return False  # any two columns that stay the same have a factor between them
    low, high = right_of(relation, place)
    printed = relation.target.numbers[place]
    if printed is None or _is_turned(relation, place) or _may_be_round(printed, low, high):
        return False
    if _may_have_cut_operands(relation, place, printed, low, high) or _is_of_a_program(relation, place):
        return False
    if _is_of_its_row(table, relation, place, low, high):
        return False
    if _is_of_no_row(printed) or abs(float(printed.low + printed.high) - low - high) < _ROUNDED_BEFORE * abs(
        low + high
    ):
        return False
    if relation.most and _may_be_cut(relation, place):
        return False
    measured = is_measured(relation.target, relation.operands)
    if _is_certain(relation):
        if len(relation.operands) == 1 and not _is_far(printed, low, high, _LEAST_APART):
            return False  # the factor comes from one number, whose last digit is open
        of_two_clocks = measured and not _is_strict(relation) and not _is_far(printed, low, high, _MEASURED_TWICE)
        return not (of_two_clocks or _is_truncated(printed, low, high))
    if low + high == 0:
        return False  # nothing to be far from
    far = _is_far(printed, low, high, _MEASURED_TWICE if measured else _room(relation, place))
    if measured and relation.fit.free and slipped.endswith("one digit differs"):
        far = _is_far(printed, low, high, _OF_ANOTHER_RUN)
    if relation.form in _SUMS and _is_not_a_sum(relation, place, slipped):
        return False
    if len(relation.fit.apart) > 1 and (relation.doubt > _SURE or _has_unexplained(relation, place)):
        return False  # one more exception: it may not be a rule
    if relation.of_equals or len(relation.operands) > 2:
        return True
    if not slipped and len(relation.fit.agreeing) < _LEAST_WITHOUT_SLIP:
        return False
    if not relation.fit.free and relation.meant and not measured:
        return far or (len(relation.operands) > 1 and _is_strict(relation))
    return far and (bool(slipped) or (_is_share_of_all(relation) and _is_far(printed, low, high, _BY_MUCH)))


def _is_of_own_group(table: TextTable, relation: Relation, slipped: str) -> bool:
    """Whether the rows apart are another kind of rows, and the form may differ from kind to kind."""
    is_sure = relation.doubt < _SURE and slipped in _SURE_SLIPS
    is_plain = _needs_no_group(relation) or (is_sure and not relation.fit.free)
    if is_plain and (slipped or relation.doubt < _SURE):
        return False
    used = [each.key for each in (relation.target, *relation.operands)]
    return own_group(table, relation.fit.apart, relation.fit.agreeing, used)


def _has_unexplained(relation: Relation, place: int) -> bool:
    """Whether no slip explains another place that is apart; one of half the devices has half the rate."""
    others = [slip_of(relation, each) for each in relation.fit.apart if each != place]
    open_ones = ("is repeated",) if relation.doubt < _SURE else ("two", "is repeated")
    return any(not each or each.endswith(open_ones) for each in others)


def _is_only_a_factor(relation: Relation, slipped: str, by_row: bool) -> bool:
    """Whether a factor of two may be meant, as between two rows that are alike, or a ratio has several bases."""
    if len(relation.operands) != 1:
        return False
    has_factor = relation.fit.free or relation.fit.factor[0] != relation.fit.factor[1]
    are_alike = not by_row and relation.form == "{c} = k × {0}"
    return (has_factor or are_alike) and (slipped.endswith("two") or _has_bases(relation))


def _is_coincidence(relation: Relation, slipped: str) -> bool:
    """Whether two columns only have the same numbers in most rows, or a sum has more digits than one of its parts."""
    agreeing = [[each.numbers[k] for k in relation.fit.agreeing] for each in (relation.target, *relation.operands)]
    if len(relation.operands) == 1 and slipped not in _HARDLY_BY_CHANCE:
        alike = all(a and b and a.text == b.text for a, b in zip(*agreeing, strict=True))
        if alike and (slipped != "one digit differs" or len({n.text for n in agreeing[0] if n}) < _LEAST_OF_SUM):
            return True
    decimals = [max((len(n.text.partition(".")[2]) for n in numbers if n), default=0) for numbers in agreeing]
    return relation.form in _SUMS and relation.doubt > _SURE and decimals[0] > min(decimals[1:])


def _has_bases(relation: Relation) -> bool:
    """Whether several numbers of a column of ratios, given or computed with, are those of a base case."""
    return any(
        sum(bool(number and re.fullmatch(r"1\.0+", number.text)) for number in each.numbers) > 1
        for each in (relation.target, *relation.operands)
    )


def _is_share_of_all(relation: Relation) -> bool:
    """Whether eight other places or more are shares of one whole: then no slip need explain the one that is not."""
    one = len(relation.operands) == 1 and relation.fit.free and relation.meant
    shares = one and "%" in (relation.target.unit, relation.operands[0].unit)
    return (
        shares
        and relation.doubt < _CERTAIN[0][0]
        and len(relation.fit.agreeing) >= _MANY
        and len(relation.fit.apart) == 1
    )


def _is_far(printed: Number, low: float, high: float, share: float) -> bool:
    return low + high != 0 and abs(float(printed.low) / ((low + high) / 2) - 1) > share


def _may_have_cut_operands(relation: Relation, place: int, printed: Number, low: float, high: float) -> bool:
    """Whether a product or a quotient is right if its operands were cut, not rounded: 4.0186 as 4.01."""
    if len(relation.operands) != 2 or not re.search("[×/]", relation.form) or min(low, float(printed.low)) <= 0:
        return False
    used = [number for each in relation.operands if (number := each.numbers[place]) and "." in number.text]
    room = sum(float((each.high - each.low) / (each.high + each.low)) for each in used if each.low > 0)
    return float(printed.low) <= high * (1 + room) and low * (1 - room) <= float(printed.high)


def _is_of_a_program(relation: Relation, place: int) -> bool:
    """Whether a number is written as only programs write it, "6.094e-01": it was computed from more than is shown."""
    numbers = [each.numbers[place] for each in (relation.target, *relation.operands)]
    return any(number and _OF_A_PROGRAM.fullmatch(number.text) for number in numbers)


def _is_of_its_row(table: TextTable, relation: Relation, place: int, low: float, high: float) -> bool:
    """Whether another cell of the row is what the relation gives, or two of them give what the base does not."""
    printed = relation.target.numbers[place]
    if printed is None or printed.row is None:
        return False
    used = [each.numbers[place] for each in relation.operands]
    cells = [cell for cell in table.cells[printed.row] if cell and cell is not printed]
    others = [cell for cell in cells if not any(cell is each for each in used)]
    alike = [cell for cell in others if cell.unit == printed.unit]
    if any(float(cell.low) <= high and low <= float(cell.high) for cell in alike if low * high > 0):
        return True
    for each in used:
        with_digits = bool(each and (each.unit or "." in each.text))
        alike = [cell for cell in others if each and with_digits and cell.unit == each.unit and _are_near(cell, each)]
        if alike and not _is_far(printed, low, high, _MOST_OF_NEAR):
            return True  # computed from another column that is nearly the same
    near = abs(float(printed.low + printed.high) / (low + high) - 1) < _MEASURED_TWICE if low + high else False
    if near and any(float(each.low) <= high and low <= float(each.high) for each in used if each):
        return True  # the peak beside the last value: alike in most rows
    if not _OF_A_BASE.search(relation.form) or printed.low <= 0 <= printed.high:
        return False
    return any(
        a.low - b.high <= printed.high and printed.low <= a.high - b.low
        for a, b in permutations(cells, 2)
        if a.unit == b.unit and "." in a.text and "." in b.text
    )


def _are_near(one: Number, other: Number) -> bool:
    """Whether two numbers differ, but by no more than two measurements may."""
    total = other.low + other.high
    return one.text != other.text and bool(total) and abs((one.low + one.high) / total - 1) < _MEASURED_TWICE


def _is_of_no_row(printed: Number) -> bool:
    """Whether a number says that nothing was computed: a share of zero, or the 1.00x of one more base."""
    return (printed.unit in ("%", "x") and printed.low <= 0 <= printed.high and "." in printed.text) or (
        printed.unit == "x" and printed.low <= 1 <= printed.high and "." in printed.text
    )


def _is_strict(relation: Relation) -> bool:
    """Whether all places that agree do so within their digits: a total of two clocks is a little off everywhere."""
    for place in relation.fit.agreeing:
        printed = relation.target.intervals[place]
        ends = [end * factor for end in relation.predicted[place] for factor in relation.fit.factor]
        if printed is None or min(ends) > printed[1] or printed[0] > max(ends):
            return False
    return True


def _is_near_largest(relation: Relation, place: int) -> bool:
    """Whether a sum or a difference is off by less than two measurements of its largest term may differ."""
    terms = [abs(sum(i)) / 2 for each in (relation.target, *relation.operands) if (i := each.intervals[place])]
    printed = relation.target.intervals[place]
    gap = abs(sum(printed or (0.0, 0.0)) - sum(relation.predicted[place])) / 2
    return gap < _MEASURED_TWICE * max(terms)


def _is_not_a_sum(relation: Relation, place: int, slipped: str) -> bool:
    if not _is_strict(relation) and _is_near_largest(relation, place):
        return True
    return not slipped.endswith("sign is wrong") and _is_less_than_its_parts(relation, place)


def _is_less_than_its_parts(relation: Relation, place: int) -> bool:
    """Whether what should be a sum is less than each of its parts, unlike all others: it is not a sum."""
    own = (relation.target, *relation.operands)
    whole, *parts = own if relation.form == _SUMS[0] else (own[1], own[0], own[2])
    total, *others = (each.intervals[place] for each in (whole, *parts))
    return total is not None and all(part is not None and total[1] < part[0] for part in others)


def _is_turned(relation: Relation, place: int) -> bool:
    """Whether a change was counted from the other value, or with the other sign: a definition, not a slip."""
    if "× 100" not in relation.form or len(relation.operands) != 2:
        return False
    printed, (a, b) = relation.target.intervals[place], (each.intervals[place] for each in relation.operands)
    if printed is None or a is None or b is None or min(a[0], b[0]) <= 0:
        return False
    sizes = sorted(abs(end) for end in printed)
    changes = [(100 * x[0] / y[1] - 100, 100 * x[1] / y[0] - 100) for x, y in ((a, b), (b, a))]
    return any(min(abs(low), abs(high)) <= sizes[1] and sizes[0] <= max(abs(low), abs(high)) for low, high in changes)


def _is_summary(table: TextTable, place: int, by_row: bool) -> bool:
    """Whether the place of a sum or a mean is a sum or a mean itself."""
    return bool(IS_SUMMARY.search(table.texts[place][0] if by_row else table.headings[place]))


def _is_near(relation: Relation, place: int) -> bool:
    """Whether a summary is within a fifth of what the form gives."""
    low, high = right_of(relation, place)
    number = relation.target.numbers[place]
    return number is None or low + high == 0 or abs(float(number.low + number.high) / (low + high) - 1) < _NEAR_SUMMARY


def _is_named_summary(relation: Relation, place: int, slipped: str) -> bool:
    """Whether two places and a heading say "mean" or "total", and a third one is far off by a slip: small tables."""
    low, high = right_of(relation, place)
    number = relation.target.numbers[place]
    if "{0} ... " not in relation.form or number is None or not slipped or low <= 0 or number.low <= 0:
        return False
    few = len(relation.fit.agreeing) == 2 and relation.doubt < _SURE_OF_SUMMARY
    few |= slipped in _HARDLY_BY_CHANCE and _is_a_total_of_all(relation)
    return few and abs(float(number.low + number.high) / (low + high) - 1) > _room(relation, place)


def _is_a_total_of_all(relation: Relation) -> bool:
    """Whether the last row is called "total", and is the sum of all others in another column that is not zero."""
    whole = re.fullmatch(r"\W*(?:grand )?total\W*", relation.target.name, re.IGNORECASE)
    is_last = relation.target.key == len(relation.operands) and relation.operands[0].key == 0
    others = [interval for k in relation.fit.agreeing if (interval := relation.target.intervals[k])]
    return bool(whole and is_last and "sum" in relation.form and any(sum(each) > 0 for each in others))


def _room(relation: Relation, place: int) -> float:
    """The share by which two measurements may differ: less if all other places agree to many digits."""
    widths = [
        (interval[1] - interval[0]) / abs(sum(interval)) * 2
        for other in (*relation.fit.agreeing, place)
        if (interval := relation.target.intervals[other]) and sum(interval)
    ]
    precise = len(widths) > 3 and relation.doubt < _SURE_IF_MEANT
    return min(_MEASURED_TWICE, max(_LEAST_APART, _DIGITS_APART * max(widths))) if precise else _MEASURED_TWICE


def _needs_no_group(relation: Relation) -> bool:
    """Whether a form has nothing that could differ from system to system: a sum, a mean, a difference, a change."""
    return (
        relation.meant and not relation.fit.free and (relation.form.endswith(_PLAIN) or " of {0} ... " in relation.form)
    )


def _is_certain(relation: Relation) -> bool:
    """Whether two columns give a third one in so many rows, without a factor, that nothing else is possible."""
    known = not relation.fit.free and len(relation.operands) in (1, 2)
    return known and any(relation.doubt < doubt and len(relation.fit.agreeing) >= least for doubt, least in _CERTAIN)


def _may_be_cut(relation: Relation, place: int) -> bool:
    """Whether the number follows if all numbers of the row may be cut instead of rounded."""
    printed = relation.target.intervals[place]
    if not relation.most or printed is None or place not in relation.most:
        return False
    half = (printed[1] - printed[0]) / 2
    ends = [end * factor for end in relation.most[place] for factor in relation.fit.factor]
    return min(ends) <= printed[1] + half and printed[0] - half <= max(ends)


def _may_be_round(printed: Number, low: float, high: float) -> bool:
    """Whether a whole number that ends in 0 may be rounded to tens: 600 of 1,024 nodes are "60 %"."""
    middle = float(printed.low + printed.high) / 2
    return bool(re.fullmatch(r"\d0", printed.text)) and low <= middle + 5 and high >= middle - 5


def _is_truncated(printed: Number, low: float, high: float) -> bool:
    """Whether the number is what follows with its last digits left out: 1.4064 as 1.40."""
    middle, half = float(printed.low + printed.high) / 2, float(printed.high - printed.low) / 2
    first, last = sorted((middle, middle + 2 * half if middle > 0 else middle - 2 * half))
    return low <= last and first <= high


def _finding(table: TextTable, broken: list[tuple[Relation, int]]) -> Finding:
    """The finding of a row: the number that all its broken relations have in common comes first."""
    counts = Counter(
        id(number)
        for relation, place in broken
        for number in (each.numbers[place] for each in (relation.target, *relation.operands))
        if number
    )
    relation, place = min(broken, key=lambda each: (-counts[id(each[0].target.numbers[each[1]])], each[0].doubt))
    target = relation.target.numbers[place]
    assert target
    operands = [number for each in relation.operands if (number := each.numbers[place])]
    low, high = right_of(relation, place)
    right = about(Decimal((low + high) / 2), 5)
    slipped = slip_of(relation, place)
    formula = relation.form.format(*(_short(each) for each in relation.operands), c=_short(relation.target))
    others = len(relation.fit.agreeing)
    broken_by = (
        f"does not follow from {_listed(operands)} as in {others} other places"
        if operands
        else f"is not the base of the changes in {others} other places"
    )
    return Finding(
        "inconsistent",
        (target, *operands),
        f"{with_unit(target)} {broken_by} of {table_name(table)}: these give {right} "
        f"{target.unit if target.unit != 'x' else 'times'}".rstrip()
        + (f" ({slipped})." if slipped else "."),
        matters(value(target), _bounds(target, low, high)),
        formula,
    )


def _bounds(target: Number, low: float, high: float) -> Bounds:
    size = base(target.unit)[1]
    return Bounds(Decimal(low) * size, Decimal(high) * size)


def _listed(operands: list[Number]) -> str:
    shown = [with_unit(number) for number in operands]
    return " and ".join(shown) if len(shown) < 4 else f"{', '.join(shown[:2])} ... {shown[-1]}"


def _short(series: Series) -> str:
    return (series.name or "the row")[:40].replace("{", "(").replace("}", ")")
