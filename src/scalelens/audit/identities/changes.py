"""From a to b is a change of p %, or r times.

This is about sentences with both values, in one unit, and what they amount to: "from 346.7 s to 180.8 s, 1.92 times
faster", "drops from 100 W to 80 W, by 20 %", "95 W against 100 W, 5 % less".  All ways to count are allowed (of a, of
b, points, a share, the change on top of one): only a figure that none of them gives is accused.
"""

import re
from collections.abc import Iterator

from scalelens.audit.document import Document, Sentence
from scalelens.audit.finding import Finding
from scalelens.audit.linking import FOLLOWS
from scalelens.audit.printed import Bounds, Number
from scalelens.audit.quantities import exact, value
from scalelens.audit.units import DEVICES
from scalelens.audit.wording import about, matters, middle, with_unit
from scalelens.units import base

_BETWEEN = r"(?:(?!<\d+>)[^.;:]){0,40}?"
_PAIR = (
    rf"(?:from <(?P<a>\d+)>{_BETWEEN} to <(?P<b>\d+)>|"
    r"<(?P<c>\d+)> (?:against|versus|vs\.?|compared (?:to|with)|instead of|rather than) <(?P<d>\d+)>)"
)
_AMOUNT = (
    rf"(?:{FOLLOWS}|,? by )"
    r"(?:a |an |only |just |by |it is )*"
    r"(?:(?:speed-?up|factor|increase|decrease|reduction|gain|drop|rise|improvement|change|growth|loss|slowdown) of )?"
    r"<(?P<change>\d+)>"
)
# "by 20 %, from 100 W to 80 W", "compared with 100 W it draws 80 W, 20 % less"
_CHANGE_FIRST = re.compile(
    rf"\b(?:by|of) (?:a factor of )?<(?P<change>\d+)>,? \(?from <(?P<a>\d+)>{_BETWEEN} to <(?P<b>\d+)>(?P<c>)(?P<d>)"
)
_COMPARED = re.compile(
    r"compared (?:to|with) <(?P<a>\d+)>,(?:(?!<\d+>)[^.;:]){0,60}? <(?P<b>\d+)>,? \(?(?:a |an )?<(?P<change>\d+)> "
    r"(?:more|less|higher|lower|faster|slower|speed-?up)(?P<c>)(?P<d>)"
)
_LINKED = re.compile(_PAIR + r"(?: on <\d+> devices)?" + _AMOUNT)
_SHARE = re.compile(r"(?P<c>)(?P<d>)<(?P<a>\d+)> (?:is|are|was|were) <(?P<change>\d+)> (?:of|times) <(?P<b>\d+)>")
_GOES_ON = re.compile(
    r" ?[—–]| (?!(?:\w+ )?(?:faster|slower|less|more|fewer|lower|higher|better|worse|speed|reduc|incr|decr))\w+ \w+"
)
_OF_ANOTHER = re.compile(r" (?:\w+ )?than (?!<)")
_OPENED = re.compile(r"> \([^()]*$")
_IS_RATIO = re.compile(r"(?:factor|speed-?up) of")


def find(document: Document) -> Iterator[Finding]:
    """Sentences whose change or ratio does not follow from their two values."""
    for sentence in document.sentences:
        for pattern in (_LINKED, _SHARE, _CHANGE_FIRST, _COMPARED):
            for linked in pattern.finditer(sentence.marked):
                if _OF_ANOTHER.match(sentence.marked, linked.end()):
                    continue  # "3.9x more than it could be worth"
                if _OPENED.search(linked[0]) and _GOES_ON.match(sentence.marked, linked.end()):
                    continue  # "0.795 vs 0.793 (61.4 % — barely ...": a share of something that the bracket explains
                yield from _of_pair(sentence, linked)


def _of_pair(sentence: Sentence, linked: re.Match[str]) -> Iterator[Finding]:
    groups = linked.groupdict()
    indexes = (groups["a"] or groups["c"], groups["b"] or groups["d"], groups["change"])
    first, second, change = (sentence.numbers[int(k)] for k in indexes)
    if any(number.hedge for number in (first, second, change)) or min(first.low, second.low) <= 0:
        return
    plain_factor = change.unit == "" and _IS_RATIO.search(linked[0])
    if (change.unit not in ("%", "x") and not plain_factor) or change.unit == first.unit == "x":
        return
    if first.unit == second.unit == "%" and change.unit == "x":
        return  # "97.9 % vs 95.6 %, 2.5x less energy"
    a, b = _in_one_unit(first, second)
    if not a or not b:
        return
    if second.unit in (*DEVICES, "nodes"):  # what changed is another quantity: "from 4 to 8 GPUs, 1.9 times faster"
        return
    claimed = value(change)
    ways = [a / b, b / a] if _IS_RATIO.search(linked[0]) else _ways_to_count(a, b, points=second.unit == "%")
    if not second.unit and change.unit == "%":
        ways += [each / exact(100) for each in (a - b, b - a)]  # points of values that are in per cent
    if all(claimed.apart(way) for way in ways):
        near = ways if change.unit == "%" else [max(ways[:2], key=middle)]
        best = min(near, key=lambda way: abs(middle(way) - middle(claimed)))
        size = base(change.unit)[1] if change.unit == "%" else 1
        yield Finding(
            "inconsistent",
            (change, first, second),
            f"{with_unit(first)} and {with_unit(second)} do not give {with_unit(change)}: "
            f"they give {about(middle(best) / size, 3)} {'%' if change.unit == '%' else 'times'}.",
            matters(claimed, best),
            "b / a, a / b, (b - a) / a, (b - a) / b",
        )


def _in_one_unit(first: Number, second: Number) -> tuple[Bounds | None, Bounds | None]:
    """Both values in base units; the first may have its unit from the second ("from 346.7 to 180.8 s")."""
    if first.unit == "" and second.unit:
        size = exact(base(second.unit)[1])
        return first.bounds * size, value(second)
    same = base(first.unit)[0] == base(second.unit)[0]
    return (value(first), value(second)) if same else (None, None)


def _ways_to_count(a: Bounds, b: Bounds, points: bool) -> list[Bounds]:
    """Every figure that may be called the change from a to b."""
    ratios = [a / b, b / a]
    changes = [ratio - exact(1) for ratio in ratios] + [exact(1) - ratio for ratio in ratios]
    return [*ratios, *changes, *([a - b, b - a] if points else [])]
