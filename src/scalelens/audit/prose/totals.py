"""Totals, and figures for one item, that a sentence gives with their parts.

"1836 MiB and 2280 MiB, for a total of 4116 MiB", "size = 1504 MiB, K: 752 MiB, V: 752 MiB", and
"132 s / 2 runs (66 s per run, 0.015 runs per second)".
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import reduce
from itertools import combinations

from scalelens.audit.document import Document, Sentence
from scalelens.audit.finding import Finding
from scalelens.audit.forms.slips import slip
from scalelens.audit.printed import POWERS, Bounds, Number
from scalelens.audit.quantities import exact, value
from scalelens.audit.wording import about, matters, middle, with_unit
from scalelens.units import base

_TOTAL = re.compile(
    r"\b(?:for|giving|makes?|making|=|is|are|to) a(?: grand)? total of <(\d+)>|"
    r"<(\d+)> (?:\w+ )?(?:in total|altogether)\b"
)
_LISTED = re.compile(
    r"(?:\btotal(?:l?ing|s)?\b|\bsum(?:s|ming)?(?: up)? to\b|\bcombined\b|合计|总计|共计|总共|合計)"
    r"(?:[:=]| of| is| to|为|约|：| ?~| ?≈){0,3} ?<(\d+)>"
)
_NAME = re.compile(r"\b(total|[a-z]+) (tokens|samples|images|seconds|bytes|requests)['\"]? ?[:=] ?<(\d+)>")
_KEYED = re.compile(r"\b(?:size|total|sum)\s?[=:]\s*<(\d+)>((?:\s?[,;(]\s?(?:\w+[\w ^()-]*)[=:]\s*<\d+>){2,})")
_INCLUDES = re.compile(
    r"<(\d+)>[^<>.;:]{0,12} (?:which (?:includes?|consists? of|comprises?)|consisting of|comprising|made up of) <(\d+)>"
    r"[^<>.;:]{0,60} and <(\d+)>(?! ?[.\d])"
)
_IN_BRACKETS = re.compile(r"<(\d+)>[^<>().;:,]{0,20} ?\(([^()]*<\d+>[^()]*<\d+>[^()]*)\)")
_NOT_PARTS = re.compile(
    r"\b(?:vs|versus|than|from|to|was|were|min|max|peak|mean|avg|average|median|per|each|p\d\d|std|limit|before|after|up|"
    r"down|budget|of|target|expected|range|for|at|with|same|both)\b|[→×±*=]|->|\d ?[–-] ?<"
)
_FOR = re.compile(r"<(\d+)> (?:/|for|in|over) <(\d+)>[^<>.;]{0,12}\(\s?<(\d+)>(?:,\s?<(\d+)>)?")
_RATE = re.compile(r"(?<! of )<(\d+)> (?:in|over) <(\d+)> ?(?:=|→|≈) ?<(\d+)>")
_FREE = re.compile(
    r"<(\d+)>(?: \w+)? ?(?:/|of|out of) ?<(\d+)>(?: \w+)?[,;:(] ?(?:and |with )?<(\d+)> "
    r"(?:free|left|remaining|unused|available)\b"
)
_COMPARED = re.compile(
    r"\b(?:vs|versus|than|from|compared|instead|against|out of|limit|budget|capacity|up to|available)\b|[→/]"
)
_LIST = re.compile(r"<\d+> [\w-]+(?:,| and) <\d+> [\w-]+(?:,| and|, and) <\d+> [\w-]+")
_BOTH = re.compile(r"\(\s?<(\d+)>,\s?<(\d+)>")
_INVERSE_ROOM = Decimal("0.01")
_MOST_PARTS = 5
_MORE_PARTS = re.compile(
    r"\b(?:other|another|also|plus|including|already|remaining|rest|etc|both|each|per|every|of which)\b"
)


def find(document: Document) -> Iterator[Finding]:
    """Totals that no choice of the parts gives, and figures for one item that do not follow from work and time."""
    for sentence in document.sentences:
        if len(sentence.numbers) > 2:
            yield from _totals(sentence)
            yield from _listed(sentence)
            yield from _keyed(sentence)
            yield from _named(sentence)
            yield from _included(sentence)
            yield from _in_brackets(sentence)
            yield from _items(sentence)
            yield from _rates(sentence)
            yield from _free(sentence)


def _totals(sentence: Sentence) -> Iterator[Finding]:
    for found in _TOTAL.finditer(sentence.marked):
        place = int(found[1] or found[2])
        total = sentence.numbers[place]
        name = base(total.unit)[0]
        parts = [each for each in sentence.numbers[:place] if base(each.unit)[0] == name]
        if not name and found[2] and _is_sum_of_counts(sentence, place, parts):
            yield _finding_of_sum(total, parts, reduce(Bounds.__add__, map(value, parts)))
        sure = name and not total.hedge and not any(each.hedge or each.low <= 0 for each in parts)
        if not sure or not 2 <= len(parts) <= _MOST_PARTS or _MORE_PARTS.search(sentence.marked):
            continue
        if len(parts) < place and any(not each.unit for each in sentence.numbers[:place]):
            continue  # a number of something may multiply
        sums = [
            reduce(Bounds.__add__, map(value, chosen))
            for count in range(2, len(parts) + 1)
            for chosen in combinations(parts, count)
        ]
        if all(_wide(value(total)).apart(each) for each in sums):
            yield _finding_of_sum(total, parts, sums[-1])


def _is_sum_of_counts(sentence: Sentence, place: int, parts: list[Number]) -> bool:
    """Whether a list of counts ends with their total, which a slip keeps from adding up."""
    total = sentence.numbers[place]
    counts = [total, *parts]
    if len(parts) < place or not 2 < len(parts) <= _MOST_PARTS or _MORE_PARTS.search(sentence.marked):
        return False
    if any(each.hedge or not re.fullmatch(r"\d[\d,]*", each.text) for each in counts):
        return False
    right = sum((middle(each.bounds) for each in parts), Decimal(0))
    is_off = right != middle(total.bounds)
    return (
        is_off
        and _has_slip_in_sum(total, tuple(parts), Bounds(right, right))
        and _LIST.search(sentence.marked) is not None
    )


def _listed(sentence: Sentence) -> Iterator[Finding]:
    """ "CPU 120.00 W, GPU 0.00 W, RAM 10.00 W, total 130.00 W"; it may say "about", for a slip must mend it."""
    for found in _LISTED.finditer(sentence.marked):
        place = int(found[1])
        total, parts = sentence.numbers[place], sentence.numbers[:place]
        name = base(total.unit)[0]
        if not name or not 2 <= len(parts) <= _MOST_PARTS or any(base(each.unit)[0] != name for each in parts):
            continue
        if "bound" in (total.hedge, *(each.hedge for each in parts)) or _MORE_PARTS.search(sentence.marked):
            continue
        if _COMPARED.search(sentence.marked) or total.unit in ("%", "x") or total.low <= 0:
            continue
        sums = [
            reduce(Bounds.__add__, map(value, chosen))
            for count in range(1, len(parts) + 1)
            for chosen in combinations(parts, count)
        ]
        if all(_wide(value(total)).apart(_wide(each)) for each in sums) and _has_slip_in_sum(total, parts, sums[-1]):
            yield _finding_of_sum(total, list(parts), sums[-1])


def _has_slip_in_sum(total: Number, parts: tuple[Number, ...], right: Bounds) -> bool:
    """Whether a slip in the total or in one part would make the sum right."""
    rights = [(total, right)]
    for each in parts:
        rest = reduce(Bounds.__add__, [value(part) for part in parts if part is not each])
        rights.append((each, value(total) - rest))
    for number, meant in rights:
        size = float(base(number.unit)[1]) * 10.0 ** POWERS.get(number.text[-1], 0)
        text = number.text.rstrip("kMBT")
        words = slip(text, float(meant.low) / size, float(meant.high) / size) if meant.low > 0 else ""
        if words and not words.endswith("two"):
            return True
    return False


def _keyed(sentence: Sentence) -> Iterator[Finding]:
    for found in _KEYED.finditer(sentence.marked):
        total = sentence.numbers[int(found[1])]
        parts = [sentence.numbers[int(k)] for k in re.findall(r"<(\d+)>", found[2])]
        if all(
            part.unit == total.unit and part.unit not in ("", "%") and not part.hedge and part.low > 0 for part in parts
        ):
            right = reduce(Bounds.__add__, map(value, parts))
            largest = max(middle(value(part)) for part in parts)
            if _wide(value(total)).apart(right) and middle(value(total)) != largest:
                yield _finding_of_sum(total, parts, right)


def _named(sentence: Sentence) -> Iterator[Finding]:
    """ "prompt_tokens: 5215, completion_tokens: 1332, total_tokens: 6547"."""
    named: dict[str, dict[str, Number]] = {}
    for found in _NAME.finditer(sentence.marked):
        named.setdefault(found[2], {})[found[1]] = sentence.numbers[int(found[3])]
    for parts in named.values():
        total = parts.pop("total", None)
        if total is None or not 2 <= len(parts) <= _MOST_PARTS or any(each.hedge for each in parts.values()):
            continue
        right = reduce(Bounds.__add__, map(value, parts.values()))
        if _wide(value(total)).apart(right) and _has_slip_in_sum(total, tuple(parts.values()), right):
            yield _finding_of_sum(total, list(parts.values()), right)


def _included(sentence: Sentence) -> Iterator[Finding]:
    """ "685B, which includes 671B of one and 14B of the other"."""
    for found in _INCLUDES.finditer(sentence.marked):
        total, *parts = (sentence.numbers[int(k)] for k in found.groups())
        every = (total, *parts)
        endings = {(re.sub(r"[\d.,]", "", each.text), base(each.unit)[0]) for each in every}
        if len(endings) == 1 and endings != {("", "")} and not any(each.hedge or each.low <= 0 for each in every):
            right = reduce(Bounds.__add__, map(value, parts))
            if _wide(value(total)).apart(right):
                yield _finding_of_sum(total, parts, right)


def _in_brackets(sentence: Sentence) -> Iterator[Finding]:
    """ "5.208 ns (logic 1.910 ns / 36.7 %, route 3.298 ns / 63.3 %)": a slip must mend it."""
    for found in _IN_BRACKETS.finditer(sentence.marked):
        total, parts = (
            sentence.numbers[int(found[1])],
            [sentence.numbers[int(k)] for k in re.findall(r"<(\d+)>", found[2])],
        )
        shares = [each for each in parts if each.unit in ("%", "x")]
        parts = [each for each in parts if each not in shares]
        if total.unit in ("", "%", "x") or not 2 <= len(parts) <= _MOST_PARTS or _NOT_PARTS.search(found[2]):
            continue
        if {each.unit for each in parts} != {total.unit} or any(
            each.hedge or each.low <= 0 for each in (total, *parts)
        ):
            continue
        right = reduce(Bounds.__add__, map(value, parts))
        if _wide(value(total)).apart(_wide(right)) and _has_slip_in_sum(total, tuple(parts), right):
            yield _finding_of_sum(total, parts, right)


def _wide(bounds: Bounds) -> Bounds:
    """With room for a number that was cut, or rounded before."""
    room = bounds.high - bounds.low
    return Bounds(bounds.low - room, bounds.high + room)


def _finding_of_sum(total: Number, parts: list[Number], right: Bounds) -> Finding:
    """The finding of a total that its parts do not give."""
    shown = " and ".join(with_unit(part) for part in parts)
    return Finding(
        "inconsistent",
        (total, *parts),
        f"{shown} are {about(middle(right) / base(total.unit)[1], 6)} {total.unit}".rstrip()
        + f" together, not {with_unit(total)}.",
        matters(value(total), right),
        "total = sum of the parts",
    )


def _items(sentence: Sentence) -> Iterator[Finding]:
    numbers = sentence.numbers
    for found in _FOR.finditer(sentence.marked):
        whole, count, *given = (numbers[int(k)] for k in found.groups() if k)
        if base(whole.unit)[0] != "s" and base(count.unit)[0] == "s":
            whole, count = count, whole
        name, item = base(whole.unit)[0], base(count.unit)[0]
        if name != "s" or not item or "/" in item or min(whole.low, count.low) <= 0:
            continue
        for each in given:
            unit = base(each.unit)[0]
            if each.hedge or not (unit.startswith("s/") or unit.endswith("/s")):
                continue
            right = value(whole) / value(count) if unit.startswith("s/") else value(count) / value(whole)
            if _wide(value(each)).apart(_roomy(right)) and _has_slip(each, whole, right):
                yield _of_item(each, whole, count, right)
                return
    for found in _BOTH.finditer(sentence.marked):
        a, b = (numbers[int(k)] for k in found.groups())
        units = base(a.unit)[0].split("/"), base(b.unit)[0].split("/")
        if len(units[0]) == 2 and units[0] == units[1][::-1] and "s" in units[0] and min(a.low, b.low) > 0:
            right = exact(1) / value(a)
            if _wide(value(b)).apart(_roomy(right)) and _has_slip(b, a, right):
                yield _of_item(b, a, None, right)


def _rates(sentence: Sentence) -> Iterator[Finding]:
    """ "1.75 GB in 20.1 ms = 87.6 GB/s"."""
    for found in _RATE.finditer(sentence.marked):
        work, time, rate = (sentence.numbers[int(k)] for k in found.groups())
        units = [base(each.unit)[0] for each in (work, time, rate)]
        if units[1] != "s" or not units[0] or units[2] != f"{units[0].split('/')[0]}/s":
            continue
        if min(work.low, time.low) > 0 and not (work.hedge or time.hedge or rate.hedge):
            right = value(work) / value(time)
            if _wide(value(rate)).apart(_roomy(right)) and _has_slip(rate, work, right):
                yield _of_item(rate, work, time, right)


def _free(sentence: Sentence) -> Iterator[Finding]:
    """ "30.92 GiB / 31.25 GiB, 0.33 GiB free"."""
    for found in _FREE.finditer(sentence.marked):
        used, whole, free = (sentence.numbers[int(k)] for k in found.groups())
        if not (used.unit == whole.unit == free.unit != "" and not any(each.hedge for each in (used, whole, free))):
            continue
        left, right = value(used) + value(free), value(whole)
        if not _wide(right).apart(_wide(left)):
            continue
        ways = ((whole, left), (used, right - value(free)), (free, right - value(used)))
        size = float(base(whole.unit)[1])
        if any(x.low > 0 and slip(each.text, float(x.low) / size, float(x.high) / size) for each, x in ways):
            yield _finding_of_sum(whole, [used, free], left)


def _has_slip(number: Number, given: Number, right: Bounds) -> bool:
    """Whether a slip in a quotient, or in what was divided or divides, would make it right."""
    ratio = right / value(number)
    for each, meant in ((number, right), (given, value(given) / ratio), (given, value(given) * ratio)):
        size = float(base(each.unit)[1])
        if slip(each.text, float(meant.low) / size, float(meant.high) / size):
            return True
    return False


def _roomy(bounds: Bounds) -> Bounds:
    return Bounds(bounds.low * (1 - _INVERSE_ROOM), bounds.high * (1 + _INVERSE_ROOM))


def _of_item(number: Number, whole: Number, count: Number | None, right: Bounds) -> Finding:
    given = f"{with_unit(whole)} for {with_unit(count)}" if count else with_unit(whole)
    return Finding(
        "inconsistent",
        (number, whole, *([count] if count else [])),
        f"{given} gives {about(middle(right) / base(number.unit)[1], 5)} {number.unit}, not {with_unit(number)}.",
        matters(value(number), right),
        "time / work, work / time",
    )
