"""Totals of equal groups: "3 batches of 4,096 frames (12,288 frames)", "192 rows are split into 3 parts of 64".

Three numbers of a sentence are tied by its words: how many groups, how many in each, and in all.  A total that only
stands near the groups must count the same things as they do, or be called a total.  They are accused if they do not
multiply, and if a slip in one of them would make them.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from scalelens.audit.document import Document
from scalelens.audit.finding import Finding
from scalelens.audit.forms.slips import is_short_slip, slip
from scalelens.audit.printed import Bounds, Number
from scalelens.audit.quantities import value
from scalelens.audit.units import COUNTED
from scalelens.audit.wording import about, matters, middle, with_unit
from scalelens.units import base

_WORDS = r"(?:[a-z%/]*(?:[ -][a-z][\w'/-]*){0,4})"
_GAP = r"[^<>.;:()]"
_GIVES = (
    r"(?:=|≈|i\.e\.,?|or|so|thus|hence|giving|gives?|making|makes?|yield(?:s|ing)?|equals?|totall?(?:s|ing)|"
    r"amount(?:s|ing) to|for|provid(?:es?|ing)|results? in|resulting in|that is,?|which is|is|are|=\s?a)"
)
_TOTAL = rf"{_GIVES}(?: only)?(?: an?| the)?(?: grand| combined| aggregate)?(?: total| amount| sum)?(?: of)?"
_SPLIT = (
    r"(?:split|divided|partitioned|chunked|sharded|broken|grouped|distributed|organi[sz]ed|arranged|spread|composed|"
    r"consist(?:s|ing)|made|cut)(?: up| evenly| equally| down)? (?:in|into|across|over|among|as|of)"
)
_OF = r"(?:of|with|containing|holding|having|has|have|at|×|x|by|times)"
# a groups of b each are t in all; "sure" ones need no noun in common
_SURE = (
    re.compile(rf"<(?P<a>\d+)>{_WORDS} ?(?:×|x|·) ?<(?P<b>\d+)>{_WORDS},? ?{_TOTAL} ?<(?P<t>\d+)>(?! ?[×x·*/+-])"),
    re.compile(rf"<(?P<t>\d+)>{_WORDS}(?: and)? {_SPLIT} <(?P<a>\d+)>{_WORDS} (?:of|with|×|x) <(?P<b>\d+)>"),
    re.compile(
        rf"<(?P<a>\d+)>{_WORDS}{_GAP}{{0,30}},?(?: and)? each\b{_GAP}{{0,60}}<(?P<b>\d+)>{_GAP}{{0,40}}"
        rf"(?:amounting to|totall?ing|for a total of|giving a total of|for|giving|making)(?: a total of)? <(?P<t>\d+)>"
    ),
    re.compile(
        rf"<(?P<t>\d+)>{_GAP}{{0,24}}\(=? ?<(?P<a>\d+)> (?:nodes?|servers?|racks?|machines?|hosts?|boxes|pods?) "
        rf"(?:of|with|×|x) <(?P<b>\d+)>{_GAP}{{0,14}}\)"
    ),
)
_LIKELY = (
    re.compile(
        rf"<(?P<t>\d+)>(?P<what>{_WORDS}) ?\(=? ?<(?P<a>\d+)>{_WORDS} ?(?:×|x|·) ?"
        rf"<(?P<b>\d+)>(?P<of>{_WORDS}[a-z]{{3,}})\)"
    ),
    re.compile(
        rf"<(?P<a>\d+)>{_WORDS}(?: each)? {_OF} <(?P<b>\d+)>(?P<of>{_WORDS}){_GAP}{{0,30}}"
        rf"(?:\( ?(?:=|i\.e\.,?|for a total of|total(?: of)?:?|so|or)? ?|,? {_TOTAL} )<(?P<t>\d+)>(?P<what>{_WORDS})"
    ),
    re.compile(rf"<(?P<a>\d+)> <(?P<b>\d+)>(?P<of> [a-z][\w ]{{2,30}}?) \(<(?P<t>\d+)>(?P<what>{_WORDS})\)"),
    re.compile(
        rf"<(?P<t>\d+)>(?P<what>{_WORDS}) ?\((?:all |from |on |over |across |i\.e\.,? )?<(?P<a>\d+)>{_WORDS}"
        rf"(?:,| {_OF}| per) <(?P<b>\d+)>(?P<of>{_WORDS})\)"
    ),
)
_SHARED = re.compile(
    rf"<(?P<t>\d+)>{_GAP}{{0,20}} (?:with|over|across|divided by|on) {_GAP}{{0,12}}<(?P<a>\d+)>{_GAP}{{0,16}}"
    rf"(?:gives?|giving|yields?|leaves|leaving|makes?) {_GAP}{{0,14}}<(?P<b>\d+)>(?: [a-z]+)?"
    rf"(?: per| each| a\b|{_GAP}{{0,14}}(?:[.,;)]|$))"
)
_NAMED = re.compile(
    r"= ?<(?P<t>\d+)>[^<>.;]{0,24}= ?<(?P<a>\d+)>[^<>.;]{0,12}"
    r"\b(?:then|so|thus|hence|gives?|则|所以)[^<>.;]{0,20}= ?<(?P<b>\d+)>"
)
_FACTOR_BEFORE = re.compile(r"[×x·*/^+] ?\(?$")
_DIVIDED = re.compile(r"[^<>.;()]{0,30} [/÷×] ?(?:<|\d)| ?[–-] ?(?:<|\d)")  # or a range: "3–4×"
_SIZE = re.compile(r"(?: ?([kmgt]i?b?)\b)?")
_HYPOTHETICAL = re.compile(r"\b(?:either|between|if|could|can|may|might|maybe|unless|e\.g|instead of|not|rather)\b")
_PART_OF = re.compile(r"\b(?:usable|available|effective|net|formatted)\b")  # less than what the parts have
_MOST_NUMBERS = 12
_KIBI = Decimal("1.024")
_DOUBLED = "two"


@dataclass(frozen=True)
class _Groups:
    """total = number × each."""

    total: Number
    number: Number
    each: Number
    is_sure: bool


def find(document: Document) -> Iterator[Finding]:
    """Totals that are not the number of groups times what each has."""
    for sentence in document.sentences:
        if not 1 < len(sentence.numbers) <= _MOST_NUMBERS:
            continue
        if _PART_OF.search(sentence.marked):
            continue
        supposed = bool(_HYPOTHETICAL.search(sentence.marked))
        marked, numbers = sentence.with_spelled
        seen: set[int] = set()
        for groups in _stated(marked, numbers):
            if (supposed and not groups.is_sure) or _has_one_more(groups, numbers):
                continue
            if id(groups.total) not in seen and (found := _held(groups)):
                seen.add(id(groups.total))
                yield found


def _stated(marked: str, numbers: list[Number]) -> Iterator[_Groups]:
    """The groups that a sentence states."""
    for patterns, is_sure in (((*_SURE, _SHARED, _NAMED), True), (_LIKELY, False)):
        for pattern in patterns:
            for match in pattern.finditer(marked):
                if _FACTOR_BEFORE.search(marked[: match.start()]):
                    continue  # one more factor
                if pattern is _SURE[0] and _is_per_another(match[0]):
                    continue  # "3 per budget × 2 tiers": how many budgets is left out
                if pattern is _SURE[0] and _DIVIDED.match(marked, match.end()):
                    continue  # "4 layers × 2 queries = 32 queries / 4"
                if pattern is _SURE[0] and re.search(r"[a-z_]=$", marked[: match.start("t") - 1]):
                    continue  # "64 × 128 leaves M=512"
                if len({_SIZE.match(marked, match.end(part) + 1)[1] for part in "tb"}) > 1:  # type: ignore[index]
                    continue  # "61 × 1536 = 93KB"
                if re.search(r"<\d+>k\b", match[0]):
                    continue  # thousands in capitals, which are not read
                total, number, each = (numbers[int(match[k])] for k in "tab")
                if total.text == each.text:
                    continue  # "8x 400 Gbit/s, i.e. 400 Gbit/s for each"
                if each.unit not in ("", *COUNTED) and not total.unit and number.unit in ("", *COUNTED):
                    continue  # "1024 × 1.68 TB/s = 1.72 PB/s": its unit is not read
                if total.unit and total.unit == number.unit != each.unit:
                    continue  # "30 runs for each size of 500, totaling 120 runs"
                if pattern is _SURE[0] and _is_doubled(total, number, each):
                    continue  # "8 rows × 3 vectors = 48 columns": what each has is left out
                if number.unit not in ("", *COUNTED) and each.unit in ("", *COUNTED):
                    number, each = each, number  # 30 min × 3
                of = match.groupdict().get("of")
                if is_sure or _of_one_kind(of or "", match["what"], each, total) or "total" in match[0]:
                    yield _Groups(total, number, each, is_sure)


def _has_one_more(groups: _Groups, numbers: list[Number]) -> bool:
    """Whether one more count makes the total: "5 runs with 30 checkpoints of 0.8 TB each are 120 TB"."""
    of_three = (groups.total, groups.number, groups.each)
    size = base(groups.each.unit)[1] / base(groups.total.unit)[1]
    right = middle(groups.number.bounds) * middle(groups.each.bounds) * size
    return any(
        groups.total.low <= right * middle(number.bounds) <= groups.total.high
        for number in numbers
        if all(number is not each for each in of_three) and number.text.isdigit() and int(number.text) > 1
    )


def _is_per_another(text: str) -> bool:
    """Whether the first number is for each of something that the second one does not count."""
    per = re.match(r"<\d+>[^<>]* (?:per|each|a) ([a-z]+)", text)
    return per is not None and per[1].rstrip("s") not in text[per.end() :]


def _is_doubled(total: Number, number: Number, each: Number) -> bool:
    right = middle(number.bounds) * middle(each.bounds)
    return any(total.low <= right * factor <= total.high for factor in (Decimal(2), Decimal("0.5")))


def _of_one_kind(of: str, what: str, each: Number, total: Number) -> bool:
    """Whether a total counts what its groups count: by its unit or by a noun."""
    if base(each.unit)[0] != base(total.unit)[0]:
        return False
    first, second = (set(re.findall(r"[a-z]+", words.replace("ies", "y"))) for words in (of, what))
    same = {word.rstrip("s") for word in first} & {word.rstrip("s") for word in second}
    return bool(
        same - {"", "of", "in", "the", "a", "per", "each", "for", "on", "and", "with"}
        | (same & {"a"} if of[:1] == "a" else set())
    )


def _held(groups: _Groups) -> Finding | None:
    every = (groups.total, groups.number, groups.each)
    if any(each.hedge or each.low <= 0 or each.unit in ("%", "x") for each in every):
        return None
    if base(groups.total.unit)[0] != base(groups.each.unit)[0] and groups.total.unit and groups.each.unit:
        return None
    if groups.total.unit not in ("", *COUNTED) and not (groups.each.unit or groups.number.unit):
        return None  # "61 × 1536 = 93 KB"
    if middle(groups.total.bounds) < min(
        middle(groups.number.bounds), middle(groups.each.bounds)
    ) and groups.total.unit in ("", groups.each.unit):
        return None  # less than each of the two: it counts something else
    whole = ["." not in part.text for part in every]
    if whole[1] and whole[2] and not whole[0] and not groups.total.unit:
        return None  # a number of a heading
    if middle(groups.total.bounds) == middle(groups.number.bounds) + middle(groups.each.bounds):
        return None  # "40 speakers (21 of one kind, 19 of another)"
    total, number, each = (_value(part) for part in every)
    if not groups.total.unit or not groups.each.unit:
        total, each = (_value(part, plain=True) for part in (groups.total, groups.each))
    right = number * each
    room = total.high - total.low
    wide = Bounds(total.low - room, total.high + room)
    factors = [Decimal(1)]
    if base(groups.total.unit)[0].startswith("B"):
        factors += [_KIBI**power for power in (-4, -3, -2, -1, 1, 2, 3, 4)]
    if number.high <= 1 or any(not wide.apart(Bounds(right.low * each, right.high * each)) for each in factors):
        return None
    size = base(groups.total.unit)[1] if groups.total.unit and groups.each.unit else Decimal(1)
    if _has_a_prefix(groups, wide, right):
        return None
    if not _has_slip(groups, total, number, each, size):
        return None
    names = " × ".join(with_unit(part) for part in every[1:])
    return Finding(
        "inconsistent",
        every,
        f"{names} are {about(middle(right) / size, 7)} {groups.total.unit}".rstrip()
        + f", not {with_unit(groups.total)}.",
        matters(total, right),
        "total = number of groups × what each has",
    )


def _has_a_prefix(groups: _Groups, total: Bounds, right: Bounds) -> bool:
    """Whether a factor is written with a power of ten, which the total has as a prefix: "2 × 7 × 10^9 = 14 GB"."""
    powers = [bool(re.search(r"10 ?\^|\de[+-]?\d", each.text)) for each in (groups.total, groups.number, groups.each)]
    if powers[0] or not any(powers[1:]):
        return False
    sizes = (Decimal(10) ** power for power in (3, 6, 9, 12, 15))
    return any(not total.apart(Bounds(right.low / size, right.high / size)) for size in sizes)


def _value(number: Number, plain: bool = False) -> Bounds:
    """A whole number without a dimension is exact."""
    bounds = number.bounds if plain else value(number)
    if re.fullmatch(r"(?!\d+000$)[\d,]+|[A-Za-z-]+", number.text) and not number.unit:
        return Bounds(middle(bounds), middle(bounds))
    room = (bounds.high - bounds.low) / 2 if "." in number.text else Decimal(0)  # it may be cut
    return Bounds(bounds.low - room, bounds.high + room)


def _has_slip(groups: _Groups, total: Bounds, number: Bounds, each: Bounds, size: Decimal) -> bool:
    """Whether a slip in one of the three would make them multiply."""
    unit_of_each = base(groups.each.unit)[1] if size != 1 or groups.total.unit else Decimal(1)
    rights = (
        (groups.total, number * each, size),
        (groups.number, total / each, Decimal(1)),
        (groups.each, total / number, unit_of_each),
    )
    for printed, right, unit in rights:
        low, high = float(right.low / unit), float(right.high / unit)
        found = slip(printed.text, low, high)
        if found and not found.endswith(_DOUBLED):
            return True
        long = len(re.sub(r"\D", "", groups.total.text)) > 2
        if (groups.is_sure or long) and is_short_slip(printed.text, low, high):
            return True
    return False
