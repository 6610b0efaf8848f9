"""Changes and shares in a frame that leaves no other reading: there a number is accused without a slip that mends it.

"12.4 → 9.3 ms (-25 %)", "from 57.8 MB to 47.5 MB (18 % less)", "24 % faster than before (25.6 µs vs 33.7 µs)",
"28,548 chunks (was 1,136 — 25x)", "1.64 vs 1.48 — a 0.16 gap", "149 of 338 faults (44 %)".  Nothing but the noun of the
values stands within a frame.  In 4,900 documents of public repositories such a number follows from the two values next
to it in all cases but those in which it is wrong, or in which the two are sizes; each usual way to count is allowed.
"""

import re
from collections.abc import Iterator
from decimal import Decimal

from scalelens.audit.document import Document, Sentence
from scalelens.audit.finding import Finding
from scalelens.audit.printed import Bounds, Number
from scalelens.audit.prose.bound import (
    MYRIADS,
    POINTS,
    are_sizes,
    is_of_counts,
    is_share_of_all,
    size_of,
    ways_of,
    wide_of,
)
from scalelens.audit.quantities import exact, value
from scalelens.audit.units import COUNTED
from scalelens.audit.wording import about, matters, middle, with_unit
from scalelens.units import base

_MORE = (
    r"(?:faster|slower|less|more|fewer|lower|higher|better|worse|smaller|larger|bigger|longer|shorter|cheaper|reduction|"
    r"increase|decrease|improvement|drop|gain|speed-?up|saving|savings|overhead|slowdown)"
)
_CAUSE = (
    r"(?:due|because|with|at|since|despite|given|owing|using|while|and|but|plus|though|although|when|if|as|thanks)\b"
)
_NOUN = rf"(?: (?!{_CAUSE})[^\W\d_][\w/'’-]*)"
_LABEL = r"(?: ?[(（][^<>()（）]{1,24}[)）])?"  # of a value: "86.60 % (FP32) → 88.60 % (INT8) (+2.00 %)"
_FOREIGN = r" ?[^\x00-\x7f]{1,10}"  # a word of another script after a factor
_VERSUS = r"(?:→|⟶|-+>|=+>|vs\.?|versus)"
_PAIR = (
    rf"(?:(?:from (?:the )?|[从由] ?)<(?P<a>\d+)>"
    rf"(?:{_NOUN}{{0,2}} to (?:the )?|[^<>，。；()（）]{{0,8}}[到至] ?)<(?P<b>\d+)>|"
    rf"<(?P<a2>\d+)>{_NOUN}{{0,1}}{_LABEL} ?{_VERSUS} ?(?:[\w'’-]+ ){{0,2}}<(?P<b2>\d+)>)"
)
_OPEN, _CLOSE = r" ?[(（\[]", r"[)）\]]"
_CHANGES = (
    re.compile(rf"{_PAIR}{_NOUN}{{0,1}}{_LABEL}{_OPEN}[^<>\w]?<(?P<c>\d+)>(?: {_MORE}|{POINTS}|p|{_FOREIGN})?{_CLOSE}"),
    re.compile(rf"<(?P<c>\d+)> {_MORE}{_NOUN}{{0,9}}?{_OPEN}{_PAIR}{_NOUN}{{0,2}}{_CLOSE}"),
    re.compile(rf"\bby <(?P<c>\d+)>{_NOUN}{{0,4}}?{_OPEN}{_PAIR}{_NOUN}{{0,2}}{_CLOSE}"),
    re.compile(
        rf"<(?P<a>\d+)>{_NOUN}{{0,2}}{_OPEN}(?:was|up from|down from|previously|expected|before):? <(?P<b>\d+)>"
        rf"(?: ?[-—–,;:]+ <(?P<c>\d+)>(?: {_MORE})?{_CLOSE}|{_CLOSE} ?[-—–,:]+ <(?P<c2>\d+)> (?:{_MORE}|match))"
    ),
)
_NAMED = rf"{_OPEN}<(?P<a>\d+)>{_CLOSE} ?{_VERSUS} ?(?:[^\W\d][\w.'’-]* ?){{1,3}}{_OPEN}<(?P<b>\d+)>{_CLOSE}"
_SIGNED = (  # whose sign or × says that it compares
    re.compile(rf"{_PAIR}{_NOUN}{{0,1}}{_LABEL} ?(?:→|-+>|=+>|=|—|–) ?<(?P<c>\d+)>(?! ?[×x*/+=-])"),
    re.compile(rf"{_NAMED} ?(?:→|-+>|=+>|=|—|–) ?<(?P<c>\d+)>(?! ?[×x*/+=-])"),
)
_NET = re.compile(
    rf"{_OPEN}(?:net )?<(?P<c>\d+)>{_NOUN}{{0,1}}, {_PAIR}{_NOUN}{{0,1}}{_CLOSE}"
)  # "(-46 lines, 301 → 255)"
_GAP = re.compile(
    rf"<(?P<a>\d+)>{_NOUN}{{0,1}} (?:vs\.?|versus|against|compared to) (?:[\w'’-]+ ){{0,3}}<(?P<b>\d+)>{_NOUN}{{0,1}}"
    r" ?[,—–-] an? <(?P<c>\d+)> (?:gap|difference|delta)\b"
)
_OF = r"(?:/|(?:of|out of|из|dari|de|von|sur|di|van|av|af|от|від|spośród)(?: the| all| total| a total of)?)"
WHOLE = re.compile(rf"{_NOUN}{{0,2}} ?{_OF} ?(?=\d)", re.IGNORECASE)  # after a part
_SHARE = re.compile(
    rf"<(?P<a>\d+)>{_NOUN}{{0,3}} ?{_OF} ?<(?P<b>\d+)>{_NOUN}{{0,4}}{_OPEN}=? ?<(?P<c>\d+)>{_NOUN}{{0,2}}{_CLOSE}"
)
_MOST_NUMBERS = 16
_ROUGH = Decimal("0.2")  # of a change that is hedged
_LEAST_DIGITS = 3


def find(document: Document) -> Iterator[Finding]:
    """Changes and shares that their frame contradicts."""
    for sentence in document.sentences:
        if 2 < len(sentence.numbers) <= _MOST_NUMBERS and not MYRIADS.search(sentence.marked):
            yield from _of_changes(sentence)
            yield from _of_shares(sentence)


def _of_changes(sentence: Sentence) -> Iterator[Finding]:
    seen: set[int] = set()
    for pattern in (*_CHANGES, *_SIGNED, _NET, _GAP):
        for found in pattern.finditer(sentence.marked):
            words = found.groupdict()
            a, b, c = (sentence.numbers[int(words.get(name) or words[f"{name}2"])] for name in "abc")
            if id(c) in seen or not _are_values(a, b) or c.hedge == "bound" or c.low <= 0 <= c.high:
                continue
            if pattern in _SIGNED and (not _is_signed(c) or any(_is_signed(each) for each in (a, b))):
                continue  # one change after the other
            if is_share_of_all(a, b, c, found[0]) or (not c.unit and len(c.text.lstrip("+-\u2212")) == 1):
                continue  # "0.7622 → 0.7927 (+5)": five more of something
            ways = _ways(a, b, c, is_gap=pattern is _GAP)
            if not ways or any(not _room(c).apart(way) for way in ways) or _is_of_others(sentence, (a, b, c)):
                continue
            seen.add(id(c))
            best = min(ways, key=lambda way: abs(abs(middle(way)) - middle(size_of(c))))
            right = f"{about(abs(middle(best)) / base(c.unit)[1], 3)} {'times' if c.unit == 'x' else c.unit}".rstrip()
            yield Finding(
                "inconsistent",
                (c, a, b),
                f"{with_unit(a)} and {with_unit(b)} do not give {with_unit(c)}: the nearest is {right}.",
                matters(size_of(c), best),
                "b / a, a / b, (b - a) / a, (b - a) / b, b - a",
            )


def _is_signed(c: Number) -> bool:
    """Whether a sign or a unit says that a number compares."""
    return c.text[0] in "+-\u2212" or c.unit == "x"


def _are_values(a: Number, b: Number) -> bool:
    """Whether two numbers are of one quantity, not sizes at which something else is compared."""
    if a.hedge or b.hedge or min(a.low, b.low) <= 0 or are_sizes(a, b) or {a.unit, b.unit} & {*COUNTED}:
        return False
    if a.unit and b.unit:
        return base(a.unit)[0] == base(b.unit)[0] and ("%" in (a.unit, b.unit)) == (a.unit == b.unit == "%")
    decimals = ["." in each.text for each in (a, b)]
    return all(decimals) or (
        not any(decimals)
        and not (a.unit or b.unit)
        and all(len(re.sub(r"\D", "", each.text)) >= _LEAST_DIGITS for each in (a, b))
    )


def _ways(a: Number, b: Number, c: Number, is_gap: bool) -> list[Bounds]:
    """What the change may be."""
    if is_gap:
        differences = [a.bounds - b.bounds, b.bounds - a.bounds]
        return differences if c.unit in ("", a.unit) and a.unit == b.unit else []
    if c.unit == "x" and base(a.unit or b.unit)[0].startswith("B/"):
        return []  # a bandwidth leaves out how many bytes there are
    ways = ways_of(a, b, c)
    if a.unit == b.unit == "%" and not c.unit:
        ways += [a.bounds - b.bounds, b.bounds - a.bounds]  # points
    return ways


def _room(c: Number) -> Bounds:
    """The values of a change: it may be cut, come from numbers that were rounded before, or be about."""
    wide = wide_of(c)
    rough = middle(wide) * _ROUGH if c.hedge else Decimal(0)
    return Bounds(min(wide.low, middle(wide) - rough), max(wide.high, middle(wide) + rough))


def _is_of_others(sentence: Sentence, change: tuple[Number, Number, Number]) -> bool:
    """Whether another pair of numbers of the sentence gives the change."""
    c = change[2]
    rest = [each for each in sentence.numbers if each is not c and each.low > 0]
    return any(
        not wide_of(c).apart(way)
        for k, a in enumerate(rest)
        for b in rest[k + 1 :]
        if {id(a), id(b)} != {id(each) for each in change[:2]} and base(a.unit)[0] == base(b.unit)[0]
        for way in ways_of(a, b, c)
    )


def _of_shares(sentence: Sentence) -> Iterator[Finding]:
    for found in _SHARE.finditer(sentence.marked):
        a, b, c = (sentence.numbers[int(found[name])] for name in "abc")
        units = {a.unit, b.unit} - {"", *COUNTED}
        nouns = [part.strip(" /*_(（[=") for part in re.split(r"<\d+>", found[0])[1:3]]
        if "/" in found[0] and all(nouns) and nouns[0] != nouns[1]:
            continue  # "90k train / 10k validation (10 %)": two parts
        if c.unit != "%" or any(each.hedge for each in (a, b, c)) or min(a.low, b.low, c.low) <= 0:
            continue
        if units & {"%", "x"} or len({base(unit)[0] for unit in units}) > 1 or c.text[0] in "+-\u2212":
            continue
        unit = next(iter(units), "")
        first, second = (each.bounds * exact(base(each.unit or unit)[1]) for each in (a, b))
        share, room = first / second, wide_of(c)
        if room.apart(share) and room.apart(exact(1) - share) and not is_of_counts(c):
            yield Finding(
                "inconsistent",
                (c, a, b),
                f"{with_unit(a)} of {with_unit(b)} are {about(middle(share) * 100, 4)} %, not {with_unit(c)}.",
                matters(value(c), share),
                "share = part / whole",
            )
