"""Which slip would mend a place that breaks a relation, and what the relation gives there."""

from scalelens.audit.forms.catalog import SOLVED
from scalelens.audit.forms.meaning import is_measured
from scalelens.audit.forms.search import Relation
from scalelens.audit.forms.series import Interval, Series
from scalelens.audit.forms.slips import REPEATED, slip
from scalelens.audit.wording import with_unit
from scalelens.units import base

_LEAST_REPEATED = 3  # characters


def slip_of(relation: Relation, place: int) -> str:
    """The slip of the number at a place, or of what it follows from, that would mend it; "" if there is none."""
    number = relation.target.numbers[place]
    low, high = right_of(relation, place)
    if not number:
        return ""
    repeated = len(number.text) > _LEAST_REPEATED and any(
        each and each.text == number.text for k, each in enumerate(relation.target.numbers) if k != place
    )
    found = slip(number.text, low, high)
    if found.endswith("two") and (relation.fit.free or is_measured(relation.target, relation.operands)):
        found = ""  # other work, another number of devices
    found = found or (REPEATED if repeated else "")
    return found or slip_of_operand(relation, place)[1]


def slip_of_operand(relation: Relation, place: int) -> tuple[Series | None, str]:
    """The operand that a slip of it would make the form hold, and the slip."""
    target = relation.target.intervals[place]
    operands = [each.intervals[place] for each in relation.operands]
    factor = relation.fit.factor
    if target is None or relation.fit.free or factor[0] != factor[1] or any(each is None for each in operands):
        return None, ""
    known = [each for each in operands if each]
    if "{0} ... " in relation.form:
        return _slip_of_part(relation, place, target, known)
    target = (target[0] / factor[0], target[1] / factor[0])
    for k, solve in enumerate(SOLVED.get(relation.form, ())):
        number = relation.operands[k].numbers[place]
        right = solve(target, known)
        if number and right and right[0] > 0:
            size = float(base(number.unit)[1]) if number.unit != "%" else 1.0
            if found := slip(number.text, right[0] / size, right[1] / size):
                return relation.operands[k], f"in {with_unit(number)}: {found}"
    return None, ""


def _slip_of_part(relation: Relation, place: int, target: Interval, parts: list[Interval]) -> tuple[Series | None, str]:
    """The part of a sum or a mean that a slip of it would mend, and the slip."""
    count = len(parts) if "mean" in relation.form else 1
    gap = sum(target) / 2 - sum(sum(part) / 2 for part in parts) / count
    room = (target[1] - target[0]) / 2 * count
    for series, part in zip(relation.operands, parts, strict=True):
        number = series.numbers[place]
        middle = sum(part) / 2 + gap * count
        if number and middle > room:
            size = float(base(number.unit)[1]) if number.unit != "%" else 1.0
            if found := slip(number.text, (middle - room) / size, (middle + room) / size):
                return series, f"in {with_unit(number)}: {found}"
    return None, ""


def right_of(relation: Relation, place: int) -> tuple[float, float]:
    """What the target should be, in the unit in which it is printed."""
    number = relation.target.numbers[place]
    size = float(base(number.unit)[1]) if number and number.unit != "%" else 1.0
    ends = [end * factor / size for end in relation.predicted[place] for factor in relation.fit.factor]
    return min(ends), max(ends)
