"""Products that a sentence explains, or whose factors have names.

"64 GEMMs per step (32 layers × 2)", "7,799,008 (7,594,208 + 204,800)", "24 blocks, embed_dim=1024, heads=16,
head_dim=64", "12,288 samples (768 iterations with GBS=16)".  They are accused if no choice of the numbers of the
sentence fulfills the relation, and a slip in one of them would.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from itertools import product
from math import prod

from scalelens.audit.document import Document
from scalelens.audit.finding import Finding
from scalelens.audit.forms.slips import slip
from scalelens.audit.printed import Bounds, Number
from scalelens.audit.prose.groups import is_short_slip
from scalelens.audit.units import COUNTED
from scalelens.audit.wording import about, matters, middle, with_unit
from scalelens.units import base

_WORDS = r"(?: [a-z][\w'/-]*){0,4}"
_EXPLAINED = (
    re.compile(
        rf"(?<![×x*/+=] )(?<![-–(])<(?P<t>\d+)>(?: [a-z][\w'/-]*){{1,4}}(?: ?\([^<>()]{{1,12}}\))?(?: ?:| ?\(=?) ?"
        rf"<(?P<a>\d+)>{_WORDS} ?(?P<by>×|x|\*) ?<(?P<b>\d+)>(?: [a-z][\w'/-]*){{0,3}} ?(?:[(),;.]|$)"
    ),
    re.compile(r"(?<![×x*/+=-] )(?<![-–(])<(?P<t>\d+)> ?\(=? ?<(?P<a>\d+)> ?(?P<by>\+) ?<(?P<b>\d+)> ?\)"),
)
_IS = r"(?: size)? ?(?:=|of|:|is)? ?"
_ROLES = {
    "width": (
        rf"(?:\b(?:embed(?:ding)?|model|hidden) ?(?:dim|dimension|channels|size|width)|"
        rf"(?<!head )\bdim|\bd ?model){_IS}<(\d+)>",
    ),
    "heads": (
        r"\b(?:attention |query |num |n )?heads? ?[=:] ?<(\d+)>",
        r"<(\d+)> (?:attention |query )?heads\b",
        r"\bh ?= ?<(\d+)>",
    ),
    "head_size": (rf"\bhead ?(?:dim|dimension|size){_IS}<(\d+)>", r"\bd h ?= ?<(\d+)>", r"<(\d+)> per head\b"),
    "samples": (r"<(\d+)> samples\b", r"\bsamples ?[=:] ?<(\d+)>"),
    "iterations": (r"<(\d+)> (?:training )?(?:iterations|steps)\b",),
    "batch": (rf"\b(?:gbs|(?:global|effective) batch){_IS}<(\d+)>",),
    "effective": (rf"\b(?:effective|total) batch{_IS}<(\d+)>",),
    "batch_each": (rf"(?<!effective )(?<!global )(?<!total )\bbatch{_IS}<(\d+)>",),
    "accumulated": (rf"\bgrad(?:ient)?[ _-]?acc(?:um(?:ulation)?)?(?: steps)?{_IS}<(\d+)>",),
    "micro": (rf"\b(?:mbs|micro[ -]?batch){_IS}<(\d+)>",),
    "replicas": (r"<(\d+)>-?way data[ -]parallel", r"\bdp ?=? ?<(\d+)>"),
    "accumulation": (r"\baccumulation (?:on|over|of|steps? of|across) <(\d+)>", r"<(\d+)> (?:gradient )?accumulation"),
    "layers": (r"<(\d+)> layers (?:over|across|on|among|with) (?:pp|<\d+> (?:stages|gpus|ranks))",),
    "stages": (
        r"layers (?:over|across|on|among|with) pp ?=? ?<(\d+)>",
        r"layers (?:over|across|on|among) <(\d+)> (?:stages|gpus|ranks)",
    ),
    "layers_each": (r"<(\d+)> layers? (?:per|on each|for each|each)\b",),
}  # fmt: skip
_PATTERNS = {role: [re.compile(each) for each in patterns] for role, patterns in _ROLES.items()}
_RELATIONS = (
    ("width", ("heads", "head_size"), "width = heads × size of a head"),
    ("samples", ("iterations", "batch"), "samples = iterations × global batch"),
    ("batch", ("micro", "replicas", "accumulation"), "global batch = micro-batch × replicas × accumulation"),
    ("effective", ("batch_each", "accumulated"), "effective batch = batch × accumulation"),
    ("layers", ("stages", "layers_each"), "layers = stages × layers of a stage"),
)
_SUPPOSED = re.compile(r"\b(?:if|could|can|may|might|maybe|unless|e\.g|instead of|rather|between|range|either|or|vs)\b")
_LONGEST = 260  # characters
_MOST_NUMBERS = 16
_LEAST_DIGITS = 3


def find(document: Document) -> Iterator[Finding]:
    """Products that are not those of their factors."""
    for sentence in document.sentences:
        if not 2 < len(sentence.numbers) <= _MOST_NUMBERS:
            continue
        marked, numbers = sentence.with_spelled
        seen: set[int] = set()
        for found in (*_explained(marked, numbers), *_named(marked, numbers)):
            if id(found.numbers[0]) not in seen:
                seen.add(id(found.numbers[0]))
                yield found


def _explained(marked: str, numbers: list[Number]) -> Iterator[Finding]:
    for pattern in _EXPLAINED:
        for match in pattern.finditer(marked):
            every = [numbers[int(match[k])] for k in "tab"]
            counted = {each.unit for each in every[1:] if each.unit in COUNTED}
            if every[0].unit in COUNTED and counted and every[0].unit not in counted:
                continue  # "16 GPU (2 domains × 2 nodes)": how many a node has is left out
            if any(_is_in_another_unit(every[0], each) for each in every[1:]):
                continue  # "400 s (5000 classes × 80 ms)"
            if all(_is_whole(each) for each in every):
                yield from _held(every[0], [every[1:]], "total = parts, as written", is_sum=match["by"] == "+")


def _is_in_another_unit(total: Number, factor: Number) -> bool:
    """Whether a total and a factor are one quantity in two units."""
    return bool(total.unit) and total.unit != factor.unit and base(total.unit)[0] == base(factor.unit)[0]


def _named(marked: str, numbers: list[Number]) -> Iterator[Finding]:
    if _SUPPOSED.search(marked) or len(marked) > _LONGEST:
        return
    roles: dict[str, list[Number]] = {}
    for role, patterns in _PATTERNS.items():
        for pattern in patterns:
            for match in pattern.finditer(marked):
                number = numbers[int(match[1])]
                if _is_whole(number) and number.text not in [each.text for each in roles.get(role, [])]:
                    roles.setdefault(role, []).append(number)
    for target, factors, identity in _RELATIONS:
        if len(roles.get(target, [])) == 1 and all(1 <= len(roles.get(role, [])) < 3 for role in factors):
            choices = [list(chosen) for chosen in product(*(roles[role] for role in factors))]
            yield from _held(roles[target][0], choices, identity)


def _is_whole(number: Number) -> bool:
    return bool(re.fullmatch(r"[\d,]+|[a-z-]+", number.text, re.IGNORECASE)) and not number.hedge and number.unit != "%"


def _held(total: Number, choices: list[list[Number]], identity: str, is_sum: bool = False) -> Iterator[Finding]:
    """The finding if no choice of factors gives the total, and a slip would make one give it."""
    claimed = middle(total.bounds)
    rights = [_of(parts, is_sum) for parts in choices]
    if identity.startswith("effective") and any(right and claimed % right == 0 for right in rights):
        return  # times the devices, which the sentence leaves out
    if any(total.low <= right <= total.high for right in rights) or len({id(each) for each in choices[0]}) < 2:
        return
    for parts, right in zip(choices, rights, strict=True):
        if any(each is total for each in parts):
            return
        if _has_slip(total, right, is_sum) or any(
            _has_slip(part, rest, is_sum)
            for k, part in enumerate(parts)
            if (rest := _other(claimed, _of(parts[:k] + parts[k + 1 :], is_sum), is_sum)) is not None
        ):
            sign = " + " if is_sum else " × "
            yield Finding(
                "inconsistent",
                (total, *parts),
                f"{sign.join(with_unit(each) for each in parts)} are {about(right, 8)}, not {with_unit(total)}.",
                matters(total.bounds, Bounds(right, right)),
                identity,
            )
            return


def _of(parts: list[Number], is_sum: bool) -> Decimal:
    values = [middle(each.bounds) for each in parts]
    return sum(values, Decimal(0)) if is_sum else prod(values, start=Decimal(1))


def _other(claimed: Decimal, rest: Decimal, is_sum: bool) -> Decimal | None:
    """What a part would have to be; None if that is not a whole number."""
    if is_sum:
        return claimed - rest
    return claimed / rest if rest and claimed % rest == 0 else None


def _has_slip(number: Number, right: Decimal, is_sum: bool) -> bool:
    """Whether a slip in a whole number would make it another one; twice as large may be that of something else."""
    digits = len(re.sub(r"\D", "", number.text))
    if right <= 1 or not digits or right != int(right):
        return False
    words = slip(number.text, float(right), float(right))
    if words.endswith("of two") or (words.startswith("it is off") and digits < _LEAST_DIGITS):
        return False
    if is_sum and digits < _LEAST_DIGITS:
        return False
    return bool(words) or is_short_slip(number.text, float(right), float(right))
