"""Why a number may be right although the other places of a relation say otherwise."""

import re
from itertools import permutations

from scalelens.audit.document import TextTable
from scalelens.audit.forms.mending import right_of
from scalelens.audit.forms.search import Relation
from scalelens.audit.forms.series import Interval, Series
from scalelens.audit.printed import Number
from scalelens.audit.quantities import value

_OF_A_BASE = re.compile(r"[/-] [\d.,]+(?: [-×)]|\)|$)|^\{c\} = [\d.,]+ [/-] \{0\}")
_OF_ITS_OWN = re.compile(r"\d ?% of [A-Za-z]")  # "+6 % of expert parameters"
_TOTALS = re.compile(r"\b(?:total|sum|overall|all|altogether)\b", re.IGNORECASE)
_MEANS = re.compile(r"\b(?:avg|average|mean|median|price)\b", re.IGNORECASE)
_LEAST_LABEL = 2
_TWO = 2
_LEAST_DIGITS = 3
_LEAST_PARTS = 3
_LEAST_BESIDE_ONE = 2
_PERCENT = 100.0
_ALIKE = 0.05


_PERCENTILE = re.compile(r"\bp\d\d+\b|percentile", re.IGNORECASE)
_OF_SEVERAL = re.compile(r"\bbest (?:improvement|gain|speed-?up|change|delta|reduction|saving)", re.IGNORECASE)


def is_excused(table: TextTable, relation: Relation, place: int, slipped: str, by_row: bool) -> bool:
    """Whether the number of a place was chosen, has a base of its own, or is not the sum of its parts."""
    printed = relation.target.numbers[place]
    if printed is None:
        return False
    used = [number for each in relation.operands if (number := each.numbers[place])]
    if _are_powers_of_two(relation, place, printed):
        return True
    if by_row and _OF_SEVERAL.search(relation.target.name):
        return True  # each row may have its best in another column
    if not by_row and "+" in relation.form.replace("...", "+") and _PERCENTILE.search(table.headings[place]):
        return True  # percentiles of parts add up to nothing
    if slipped.startswith("in ") and any(each.low <= 0 <= each.high for each in used):
        return True  # a digit of nothing
    if by_row and _is_of_another_column(table, relation, place, printed):
        return True
    if _mixes_statistics(relation) or _is_of_alike(relation) or is_another_change([printed, *used]):
        return True
    if _is_the_inverse(relation, printed, used) or (
        by_row and _follows_without_a_factor(table, relation, printed, used)
    ):
        return True
    if by_row and place == len(table.cells) - 1 and _is_of_a_mean(table, relation, place):
        return True
    may_be_score = not slipped or printed.unit == "%"  # ten modules are covered by 100 %, and so is all
    if "sum of {0} ... " in relation.form and may_be_score and _is_among_its_parts(relation, place, printed):
        return True
    is_change = bool(_OF_A_BASE.search(relation.form)) or (relation.fit.free and printed.unit in ("x", "%"))
    of_one = len(relation.operands) == 1
    if of_one and printed.row is not None and _OF_ITS_OWN.search(table.texts[printed.row][printed.cell or 0]):
        return True
    return by_row and is_change and of_one and _has_its_own_base(table, relation, place, printed)


def _is_of_another_column(table: TextTable, relation: Relation, place: int, printed: Number) -> bool:
    """Whether a number that is alike to another cell everywhere else follows a rule of its own where they differ.

    That cell is what the relation gives, in per cent for a fraction; or it and the operand have the number between
    them, as where a score is the mean of two; or the number is 0, so that nothing was computed.
    """
    if not printed.unit and re.fullmatch(r"0(?:\.0+)?", printed.text):
        return True
    if printed.row is None:
        return False
    low, high = right_of(relation, place)
    cells = [cell for cell in table.cells[printed.row] if cell and cell is not printed]
    used = [each.numbers[place] for each in relation.operands]
    others = [cell for cell in cells if not any(cell is each for each in used)]
    if not printed.unit and any(
        float(cell.low) / _PERCENT <= high and low <= float(cell.high) / _PERCENT for cell in others if cell.unit == "%"
    ):
        return True
    if len(used) != 1 or used[0] is None or used[0].cell is None:
        return False
    own, mine = used[0], used[0].cell
    said = (printed.low + printed.high) / (200 if used[0].unit != "%" or printed.unit == "%" else 2)
    return any(
        cell.unit == own.unit
        and min(cell.low, own.low) < said * 100 < max(cell.high, own.high)
        and all(_is_alike(table, k, mine, cell.cell) for k in relation.fit.agreeing)
        for cell in others
    )


def _is_alike(table: TextTable, row: int, one: int, other: int | None) -> bool:
    a, b = table.cells[row][one], table.cells[row][other or 0]
    return a is not None and b is not None and not a.bounds.apart(b.bounds)


def _is_the_inverse(relation: Relation, printed: Number, used: list[Number]) -> bool:
    """Whether a row has a rate where the others have times, so that its ratio is the other way round."""
    units = {number.unit for k in relation.fit.agreeing if (number := relation.target.numbers[k])}
    if len(used) != _TWO or "/" not in relation.form or printed.unit in units or min(each.low for each in used) <= 0:
        return False
    low, high = used[0].low * used[1].low, used[0].high * used[1].high
    return low <= printed.high and printed.low <= high


def _follows_without_a_factor(table: TextTable, relation: Relation, printed: Number, used: list[Number]) -> bool:
    """Whether an operand and another cell of the row, even its label, give what a factor of other rows does not."""
    if not relation.fit.free or printed.row is None or printed.low <= 0:
        return False
    right = value(printed)
    others = [
        cell
        for cell in table.cells[printed.row]
        if cell and cell is not printed and all(cell is not each for each in used) and cell.low > 0
    ]
    return any(
        not right.apart(way)
        for operand in used
        if operand.low > 0
        for cell in others
        if len(re.sub(r"\D", "", cell.text).strip("0")) >= _LEAST_DIGITS
        for way in (value(cell) / value(operand), value(cell) * value(operand))
    )


def _mixes_statistics(relation: Relation) -> bool:
    """Whether a percentile follows from another one and a ratio that may be one of means."""
    ordered = [each.is_order_statistic for each in (relation.target, *relation.operands)]
    return len(ordered) == 3 and sum(ordered) == 2 and relation.form.count("×") + relation.form.count("/") == 1


def is_another_change(numbers: list[Number]) -> bool:
    """Whether a table of shares has its changes in points here and in per cent there: this row has the other kind."""
    if len(numbers) != 3 or {each.unit for each in numbers} != {"%"}:
        return False
    for a, b, change in permutations(numbers):
        if min(a.low, b.low) > 0 and change.text[0] in "+-\u2212":
            low, high = 100 * a.low / b.high - 100, 100 * a.high / b.low - 100
            differences = a.low - b.high, a.high - b.low
            if any(x <= change.high and change.low <= y for x, y in ((low, high), differences)):
                return True
    return False


def _is_of_a_mean(table: TextTable, relation: Relation, place: int) -> bool:
    """Whether a row of totals has a price or another mean beside its sums, which need not be their quotient."""
    label = table.texts[place][0].strip(" *")
    series = (relation.target, *relation.operands)
    return (not label or bool(_TOTALS.search(label))) and any(_MEANS.search(each.name) for each in series)


def _is_of_alike(relation: Relation) -> bool:
    """Whether one factor is nearly 1 wherever it counts, so that the other and the product are alike by themselves.

    Three columns of shares near 100 % fulfill each product of theirs within their digits.  Where one is exactly 1,
    100 % or 0, or two of the three are the same, nothing was multiplied.
    """
    if len(relation.operands) != 2 or not re.search("[×/]", relation.form):
        return False
    series = (relation.target, *relation.operands)
    target = relation.target.intervals
    ones = [
        any(_is_none_or_all(each, k) for each in series) or len({each.intervals[k] for each in series}) < len(series)
        for k in relation.fit.agreeing
    ]
    if ones.count(False) < _LEAST_BESIDE_ONE:
        return True
    for each in relation.operands:
        pairs = [(each.intervals[k], target[k]) for k in relation.fit.agreeing]
        if all(a and b and abs(sum(a) - sum(b)) <= _ALIKE * abs(sum(b)) for a, b in pairs):
            return True
    return False


def _is_none_or_all(series: Series, place: int) -> bool:
    """Whether a number is 0, or the 1 or 100 % of a factor that changes nothing."""
    interval = series.intervals[place]
    whole = _PERCENT if series.unit == "%" else 1.0
    return interval is not None and sum(interval) / 2 in (0, whole)


def _are_powers_of_two(relation: Relation, place: int, printed: Number) -> bool:
    """Whether all are powers of two: a batch is chosen, whatever the devices and the micro-batch of a row are."""
    right = sum(right_of(relation, place)) / 2
    used = [number for each in relation.operands if (number := each.numbers[place])]
    return _is_power_of_two(right) and all(
        re.fullmatch(r"[\d,]+", each.text) and _is_power_of_two(float(each.text.replace(",", "")))
        for each in (printed, *used)
    )


def _is_power_of_two(size: float) -> bool:
    return size >= 1 and abs(size - round(size)) < 1e-6 * size and not round(size) & (round(size) - 1)


def _is_among_its_parts(relation: Relation, place: int, printed: Number) -> bool:
    """Whether a "total" is between the smallest and the largest part: a share or a score of all."""
    parts = [sum(interval) / 2 for each in relation.operands if (interval := each.intervals[place])]
    own = relation.target.intervals[place]
    return own is not None and len(parts) >= _LEAST_PARTS and min(parts) <= sum(own) / 2 <= max(parts)


def _has_its_own_base(table: TextTable, relation: Relation, place: int, printed: Number) -> bool:
    """Whether a row names another row, or its change is one since the row before."""
    if printed.row is None:
        return False
    own = table.texts[printed.row]
    words = " ".join(text for k, text in enumerate(own) if table.cells[printed.row][k] is None or k == printed.cell)
    for row, texts in enumerate(table.texts):
        label = texts[0].strip(" *`")
        is_there = row != printed.row and len(label) >= _LEAST_LABEL and label in words
        if is_there and re.search(rf"(?<!\w){re.escape(label)}(?!\w)", words):
            return True
    values = relation.operands[0].intervals
    before = values[place - 1] if 0 < place <= len(values) else None
    after, shown = values[place], relation.target.intervals[place]
    return before is not None and after is not None and shown is not None and _is_change(before, after, shown)


def _is_change(before: Interval, after: Interval, shown: Interval) -> bool:
    """Whether a number is the change from one to the other, as a difference, a ratio or in per cent."""
    low, high = sorted(abs(end) for end in shown)
    if min(before[0], after[0]) <= 0:
        return False
    ratio = (after[0] / before[1], after[1] / before[0])
    ways = [
        (after[0] - before[1], after[1] - before[0]),
        ratio,
        (1 / ratio[1], 1 / ratio[0]),
        (100 * ratio[0] - 100, 100 * ratio[1] - 100),
        (100 / ratio[1] - 100, 100 / ratio[0] - 100),
    ]
    sizes = [sorted(abs(end) for end in way) for way in ways]
    return any(a <= high and low <= b for a, b in sizes)
