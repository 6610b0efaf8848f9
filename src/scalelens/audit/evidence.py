"""What an accusation is worth: the one place where the findings of all rules get their verdict.

A rule says that numbers do not fit together, and which slip would explain it.  Unrelated numbers do not fit together
either, and often a slip would seem to explain that too: changing one digit turns a number of two digits into a fifth of
all others.  So each finding is weighed by how often such a slip would make unrelated numbers fit that are printed with
as many digits, in any of the ways that were tried.  How rare that must be depends on what shows that the author meant
the relation: other rows of a table in which it holds, signs that write it out, words that say it, or only that the
numbers stand near each other.  Nothing is accused that another usual relation of the same numbers explains.
"""

import re
from collections.abc import Iterator
from math import comb, log10

from scalelens.audit.finding import Finding
from scalelens.audit.forms.slips import FACTORS, REPEATED
from scalelens.audit.printed import Bounds, Number
from scalelens.audit.quantities import exact, value
from scalelens.units import base

_TWICE = "a number that is given twice"
_TOTAL = "total = sum of the parts"
_SWAPPED, _DIGIT, _SIGN, _FACTOR = (
    "two digits are swapped",
    "one digit differs",
    "the sign is wrong",
    "it is off by a factor of ",
)
_SLIP = re.compile(rf"\((?:in (?P<of>[^:()]+): )?(?P<kind>{_SWAPPED}|{_DIGIT}|{_SIGN}|{_FACTOR}[\w, ]+)\)\.$")
_EXPONENT = re.compile(r"[eE][-+]?\d+$")
_FACTORS = len(FACTORS) - 1  # that a slip is tried with, besides ten
_DIGITS = 10

# How many coincidences a finding may be expected to be, by what shows that its relation is meant.
_SAID = 0.06  # words bind the numbers, and other words stand between
_NAMED = 0.02  # a sentence names the row and the column of a cell
_NEAR = 0.0015  # only that a number stands near another one, which it would multiply or divide
_SHARE = 0.01  # that it is a share of two numbers of one unit
_OF_BARE = 0.004  # the same, but none of them has a unit
_SHARE_OF_BARE = 0.002
_LIMITS = dict.fromkeys(("repeated", "neighbors"), _NAMED)
_MOST_IN_SIGHT = 5  # numbers of a sentence: in a longer one, two values of one quantity need not be compared
_NUMERAL = re.compile(r"\d[\d.,]*")
_IS_TOTAL = re.compile(
    r"\b(?:total\w*|sum\w*|altogether|overall|combined|together|all|free|used|includ\w*|consist\w*)\b|[总總合共計计]",
    re.IGNORECASE,
)
_RULE, _NAMED_RULE = 1e-4, 1e-3  # how rarely unrelated rows may agree, and another one break their rule
_OF_A_ROW = {_SWAPPED: 0.02, _SIGN: 0.02, _DIGIT: 0.1, _FACTOR: 0.05, REPEATED: 0.1}
_FEW = 0.025  # other numbers of a text that a slip turns into one by chance
_PER_TENFOLD = 3.0  # so much more must be shown where there are ten times as many


def by_chance(kind: str, digits: int) -> float:
    """The share of numbers of so many digits that a slip of this kind would turn into a given one; "" is any slip."""
    every = 9.0 * float(_DIGITS) ** (digits - 1)
    shares = {_DIGIT: 9 * digits / every, _SWAPPED: comb(digits, 2) / every, _SIGN: 2 / every, _FACTOR: 2 / every}
    if kind in shares:
        return shares[kind]
    if kind.startswith(_FACTOR):
        return shares[_FACTOR] * (1 if kind.endswith(" ten") else _FACTORS)
    return sum(shares.values()) + _FACTORS * shares[_FACTOR]


def needed_of_a_pair(kind: str, digits: int, alike: int) -> float:
    """How much more must be shown of two numbers that differ by a slip, in a text with so many that are printed alike.

    Two of them differ so by chance, too: the more there are, and the fewer digits they have, the more pairs do.
    """
    return max(0.0, _PER_TENFOLD * log10(alike * by_chance(kind, digits) / _FEW)) if alike else 0.0


def is_rare(chance: float, kind: str, is_named: bool) -> bool:
    """Whether rows that agree by chance and a row that breaks their rule by such a slip are too rare to be unrelated.

    `kind` is the slip that would mend the row; "" without one.  A heading may name the rule.
    """
    return chance * _OF_A_ROW.get(kind, _OF_A_ROW[_FACTOR] if kind else 1.0) < (_NAMED_RULE if is_named else _RULE)


def is_enough(finding: Finding, rule: str) -> bool:
    """Whether what a rule of prose/ or forms/ found is more than a coincidence, and nothing else explains it."""
    room, _, name = rule.rpartition(".")
    if room in ("forms", "identities", "rows"):
        return not _is_explained(finding)
    limit = _limit(finding, name) if room == "prose" else None
    return limit is None or _coincidences(finding) <= limit


def _limit(finding: Finding, rule: str) -> float | None:
    """How many coincidences are too many; None if what the text says leaves no doubt that the relation is meant."""
    number, *others = finding.numbers
    if rule == "totals":
        return None if finding.evidence != _TOTAL or _IS_TOTAL.search(number.words) else _SAID
    if rule == "pairs":
        return None if len(_NUMERAL.findall(number.words)) <= _MOST_IN_SIGHT else _SAID
    if rule == "accusing":
        bare = [each for each in others if not each.unit]
        if number.unit == "%" and len({each.unit for each in others}) == 1 and _SLIP.search(finding.sentence):
            return _SHARE_OF_BARE if bare else _SHARE
        if not bare or number.unit == "%" or finding.evidence not in ("a × b", "a / b"):
            return None
        return _NEAR if len(bare) < len(others) else _OF_BARE
    return _LIMITS.get(rule) if finding.evidence != _TWICE or _SLIP.search(finding.sentence) else None


def _coincidences(finding: Finding) -> float:
    """How many slips of numbers that have nothing to do with each other would mend what is broken."""
    found = _SLIP.search(finding.sentence)
    kind = found["kind"] if found else ""
    numbers = finding.numbers
    if finding.evidence == _TWICE:
        return by_chance(kind, digits_of(numbers[0].text))
    if found and found["of"]:
        slipped = [each for each in numbers[1:] if found["of"].startswith(each.text)][:1]
    else:
        slipped = [numbers[0]] if found else list(numbers)
    ways = finding.evidence.count(", ") + 1
    return ways * sum(_fitting(each, numbers) * by_chance(kind, digits_of(each.text)) for each in slipped)


def digits_of(text: str) -> int:
    """How many digits of a printed number say something: 2 of "0.045" and of "4,500"."""
    plain = re.sub(r"[^\d.]", "", _EXPONENT.sub("", text))
    plain = plain if "." in plain else plain.rstrip("0")
    return len(plain.replace(".", "").lstrip("0")) or 1


def _fitting(number: Number, numbers: tuple[Number, ...]) -> float:
    """How many printed numbers the others leave room for: one, or more if these have fewer digits."""
    room = sum((_width(each) for each in numbers if each is not number), 0.0)
    own = _width(number) or 1 / max(1.0, abs(float(number.low)))
    return max(1.0, room / own)


def _width(number: Number) -> float:
    if number.text.isdigit() and not number.unit:
        return 0.0  # a count
    middle = abs(float(number.low + number.high)) / 2
    return float(number.high - number.low) / middle if middle else 1.0


def _is_explained(finding: Finding) -> bool:
    """Whether another usual relation of the same three numbers holds, such as a ratio where a difference was tried.

    A sign is wrong or right by how the other rows have it.
    """
    if len(finding.numbers) != 3 or finding.sentence.endswith(f"({_SIGN})."):
        return False
    c, a, b = finding.numbers
    if min(a.low, b.low) <= 0:
        return False
    return any(not value(c).apart(way) for way in (*_ratios(c, a, b), *_parts(c, a, b)))


def _ratios(c: Number, a: Number, b: Number) -> Iterator[Bounds]:
    """What quotients, changes and products of two numbers give in the unit of a third one."""
    units = [base(each.unit)[0] for each in (c, a, b)]
    if units[1] == units[2] and c.unit in ("x", "%"):
        for ratio in (value(a) / value(b), value(b) / value(a)):
            yield from (ratio, ratio - exact(1), exact(1) - ratio)
    for whole, factor, unit in ((a, b, units[1]), (b, a, units[2])):
        if factor.unit == "x" and unit == units[0]:
            yield from (value(whole) * value(factor), value(whole) / value(factor))


def _parts(c: Number, a: Number, b: Number) -> Iterator[Bounds]:
    """Sums and differences, if all three have one unit."""
    if len({base(each.unit)[0] for each in (c, a, b)}) == 1:
        yield from (value(a) + value(b), value(a) - value(b), value(b) - value(a))
