"""What units and headings say about a form: which one is meant, and which cannot be."""

import re

from scalelens.audit.forms.catalog import Form
from scalelens.audit.forms.fitting import Fit
from scalelens.audit.forms.series import Series
from scalelens.audit.tokens import tokens

_QUANTITIES = ("time", "rate", "energy", "power", "flops", "bytes")
_NEGLIGIBLE = 0.02
_LEAST_SOME = 3  # places where an operand of a sum is not zero

_RATIO = re.compile(
    r"ratio|speed.?up|efficien|%|percent|improve|gain|scal|relative|faster|saving|reduc|increase|vs\.?\b|kept|\bx\b|mfu|"
    r"hfu|utili[sz]|overhead|diff|delta|Δ|change|share|fraction|\w\s?/\s?(?!s\b|sec|h\b|step|gpu|epoch|iter)\w",
    re.IGNORECASE,
)
_SPREAD = re.compile(r"\b(?:range|spread|gap|delta|diff\w*)\b|Δ", re.IGNORECASE)
_WRITTEN = ("{c} = {0} / {1}", "{c} = {0} - {1}", "{c} = ({0} / {1} - 1) × 100", "{c} = (1 - {0} / {1}) × 100")
_BETWEEN = re.compile(r"\s*(?:/|\bvs\.?|\bover\b|\u2212|→)\s*|\s+-\s+")
_UNIT = re.compile(r"[(\[][^()\[\]]*[)\]]|Δ|\bspeed-?up\b|\bratio\b", re.IGNORECASE)
_FACTOR = re.compile(
    r"\b(?:gpus?|devices?|nodes?|micro|mbs|accum\w*|ga|seq\w*|length|len|tp|pp|dp|cp|ep|dgx|per|batch\w*|gbs|replicas?|heads?)\b"
)
_COUNT_OF = re.compile(
    r"global|total|tokens|\bbatch|\bgbs\b|world|devices|gpus|d.?model|hidden|embed|^dim\b", re.IGNORECASE
)
_TRIPLES = {
    ("energy", "power", "time"), ("work", "rate", "time"), ("rate", "rate", "devices"), ("flops", "flops", "devices"),
    ("energy", "energy", "devices"), ("power", "power", "devices"), ("rate", "batch", "time"),
    ("rate", "micro_batch", "time"),
}  # fmt: skip


def allowed(form: Form, target: Series, operands: tuple[Series, ...]) -> bool:
    """Whether the form may be meant at all.

    Settings are chosen: they follow from others only if they are named so.  Two measures in one unit, such as two
    latencies, have no ratio that is shared, and percentiles add up to nothing.
    """
    if target.is_setting:
        plain = form.text in ("{c} = {0} × {1}", "{c} = {0} × {1} × {2}")
        return plain and bool(_COUNT_OF.search(target.name)) and all(is_factor(each) for each in operands)
    if form.text == "{c} = {0} - {1}" and _SPREAD.search(target.name) and operands[0].unit == operands[1].unit != "?":
        return True  # the best less the worst
    if target.is_order_statistic or any(each.is_order_statistic for each in operands):
        alike = form.operands == 2 and operands[0].is_order_statistic == operands[1].is_order_statistic
        return alike and quotient_of_equals(form, operands)
    if form.text.endswith("100"):
        return (target.unit == "%" or bool(_RATIO.search(target.name))) and operands[0].unit == operands[1].unit != "?"
    if form.text in ("{c} = {0} + {1}", "{c} = {0} - {1}"):
        of_shares = target.unit == "" and operands[0].unit == "%" and form.text.endswith("{1}") and may_be_ratio(target)
        return operands[0].unit == operands[1].unit != "?" and (target.unit == operands[0].unit or of_shares)
    if form.operands == 1:
        return operands[0].unit != target.unit or _is_share(target)
    return True


def names_operands(form: Form, target: Series, operands: tuple[Series, ...]) -> bool:
    """Whether a heading is the form written out with the names of two other columns: "V3/triton", "B vs A"."""
    if form.operands != 2 or form.text not in _WRITTEN:
        return False
    sides = [tokens(side) for side in _BETWEEN.split(_UNIT.sub("", target.name))]
    names = [tokens(_UNIT.sub("", each.name)) for each in operands]
    if len(sides) != 2 or not all(sides) or sides[0] == sides[1]:
        return False
    return any(
        a <= names[0] and b <= names[1] and not (a <= names[1] or b <= names[0]) for a, b in (sides, sides[::-1])
    )


def may_be_ratio(series: Series) -> bool:
    """Whether unit or name allow that the numbers compare others."""
    return series.unit in ("%", "x") or bool(_RATIO.search(series.name))


def is_factor(series: Series) -> bool:
    """Whether a count of this name is a factor of another: a number of devices, a micro-batch, a length."""
    return series.is_setting and bool(_FACTOR.search(_words(series)))


def quotient_of_equals(form: Form, operands: tuple[Series, ...]) -> bool:
    """Whether this is the ratio of two measures in one unit, whose factor cannot be free."""
    a, b = operands[0], operands[-1]
    return form.text == "{c} = {0} / {1}" and (a.unit, a.kind) == (b.unit, b.kind)


def contribute(form: Form, target: Series, operands: tuple[Series, ...], result: Fit) -> bool:
    """Whether every operand of a sum matters, and no operand of a product with a free factor is constant.

    Of a difference that a heading or its signs name as one, a value may be zero in some places.
    """
    may_be_zero = form.text == "{c} = {0} - {1}" and target.is_derived
    for each in operands:
        intervals = [interval for place in result.agreeing if (interval := each.intervals[place])]
        constant = len(operands) > 1 and len({sum(interval) for interval in intervals}) < 2
        if constant and result.free and not is_factor(each):
            return False
        if form.text in ("{c} = {0} + {1}", "{c} = {0} - {1}"):
            sizes = [abs(sum(interval)) / 2 for interval in intervals]
            others = [
                abs(sum(i)) / 2 for o in operands if o is not each for p in result.agreeing if (i := o.intervals[p])
            ]
            some = [a > _NEGLIGIBLE * b for a, b in zip(sizes, others, strict=False) if a or not may_be_zero]
            if not all(some) or len(some) < min(_LEAST_SOME, len(sizes)):
                return False
    return True


def is_one_change(form: str, target: Series, result: Fit) -> bool:
    """Whether a form of changes gives one value in all places: 100 % less follows from any two unlike columns."""
    return "× 100" in form and len({number.text for place in result.agreeing if (number := target.numbers[place])}) < 2


def is_measured(target: Series, operands: tuple[Series, ...]) -> bool:
    """Whether all are measures of different quantities, which may come from two clocks."""
    if any(_are_time_and_rate(target, each) or _are_time_and_rate(each, target) for each in operands):
        return True
    return target.kind in _QUANTITIES and any(each.kind not in (target.kind, "devices", "nodes") for each in operands)


def _are_time_and_rate(time: Series, rate: Series) -> bool:
    return time.unit in ("µs", "ms", "s", "min", "h") and rate.unit.endswith("/s")


def _is_share(target: Series) -> bool:
    return target.kind in ("speedup", "efficiency", "ratio", "share") or target.unit in ("x", "%")


def fits_units(form: Form, target: Series, operands: tuple[Series, ...]) -> bool:
    """Whether units and headings say that this form is meant."""
    units = [each.unit for each in operands]
    kinds = [each.kind for each in operands]
    is_ratio = target.unit in ("", "%", "x") and bool(_RATIO.search(target.name) or target.unit)
    if form.operands == 3:
        return True
    if form.text.endswith("100"):
        return is_ratio
    if target.unit == "%" and _are_counts(form, operands):
        return is_ratio
    if quotient_of_equals(form, operands) and units[0] != "?" and kinds[0] == kinds[1]:
        return is_ratio and bool(units[0] or _names(operands[0]) & _names(operands[1]))
    if form.text in ("{c} = {0} + {1}", "{c} = {0} - {1}"):
        return True
    if form.operands == 2:
        trio = sorted([target.kind, *kinds])
        return (
            _of_one_count(target, operands)
            or any(trio == sorted(each) for each in _TRIPLES)
            or (target.kind in ("speedup", "efficiency") and kinds[1] in ("devices", "nodes"))
        )
    if re.search(r"mfu|hfu|utili[sz]", target.name, re.IGNORECASE):
        return kinds[0] == "flops" or bool(re.search("flop", operands[0].name, re.IGNORECASE))
    if target.kind == "power" and kinds[0] == "devices":
        return bool(re.search("limit|tdp|max", target.name, re.IGNORECASE))
    known = bool(units[0] or kinds[0])
    return (known and _is_share(target)) or bool(_RATIO.search(target.name) and kinds[0] in ("rate", "time"))


def _are_counts(form: Form, operands: tuple[Series, ...]) -> bool:
    """Whether this is a share of two columns of whole numbers without a unit."""
    numbers = [number for each in operands for number in each.numbers if number]
    plain = all("." not in number.text and not number.unit for number in numbers)
    return plain and quotient_of_equals(form, operands)


def _of_one_count(target: Series, operands: tuple[Series, ...]) -> bool:
    """Whether a rate, a time and the count that both names hold belong together: `PP`, `T_PP s`, `S_PP t/s`."""
    every = (target, *operands)
    if sorted(each.kind for each in every) != ["", "rate", "time"]:
        return False
    count = next(each for each in every if not each.kind)
    own = set(re.findall(r"[a-z]+", count.name.lower()))
    return bool(own) and all(own <= set(re.findall(r"[a-z]+", each.name.lower())) for each in every)


def _words(series: Series) -> str:
    return re.sub(r"[_#()\[\]/-]+", " ", series.name.lower())


def _names(series: Series) -> set[str]:
    """Words of a heading that may name a quantity."""
    return set(re.findall(r"[a-z]{3,}", _words(series)))
