"""Two values of a sentence and what it says about them: how much one is more than the other, or its share of it.

"28.8 → 17.9 ms (-38 %)", "82.1 s vs 83.2 s, 1.1 s less", "342B of 608B (56 %)", "12/15 passed (80 %)".  All usual ways
to count a change are allowed; a number is accused if none of them gives it.
"""

import re
from collections.abc import Iterator
from decimal import Decimal

from scalelens.audit.document import Document, Sentence
from scalelens.audit.finding import Finding
from scalelens.audit.forms.slips import is_short_slip, slip
from scalelens.audit.printed import Bounds, Number
from scalelens.audit.prose.bound import (
    AT,
    MYRIADS,
    Change,
    are_sizes,
    from_others,
    is_of_counts,
    is_share_of_all,
    slip_of,
    ways_of,
)
from scalelens.audit.quantities import exact, value
from scalelens.audit.units import COUNTED
from scalelens.audit.wording import about, matters, middle, with_unit
from scalelens.units import base

_MORE = (
    r"(?:faster|slower|less|more|fewer|lower|higher|better|worse|smaller|larger|bigger|shorter|longer|cheaper|reductions?|"
    r"increases?|decreases?|improvements?|gains?|speed-?ups?|drops?|savings?|overhead|boost|growth|slowdown|regression|"
    r"win|rise|uplift|cut|saved|difference|gap)\b"
)
_WORDS = r"[^<>.;:()\[\]|]"
_ARROW = r"(?:→|⟶|⇒|-+>|=+>|vs\.?|versus|against|compared (?:to|with))"
_PAIRS = (
    re.compile(rf"<(?P<a>\d+)> ?{_ARROW} ?(?:an? |the )?<(?P<b>\d+)>"),
    re.compile(r"\bfrom <(?P<a>\d+)>(?: (?:of|for|on|with) [\w-]+)? to (?:an? |the )?(?:[a-z]+ )?<(?P<b>\d+)>"),
)
_AFTER = (
    re.compile(rf" ?[(\[（][^<>()\[\]|]{{0,3}}(?P<sign>[-+−–])?<(?P<c>\d+)>(?P<tail> {_MORE}| ?[)\]）,])?"),
    re.compile(rf"{_WORDS}{{0,3}}[,:=]{_WORDS}{{0,12}}<(?P<c>\d+)> (?:\w+ )?{_MORE}"),
    re.compile(rf"{_WORDS}{{0,16}}(?<!\b[a-z])(?<!\b[a-z] ) ?[—–=] ?<(?P<c>\d+)>(?= ?[.,;)]| ?$)"),  # c=16 is a setting
)
_BEFORE = (
    re.compile(r"\bby <(?P<c>\d+)>, (?:[a-z]+ )?$"),
    re.compile(rf"<(?P<c>\d+)> (?:\w+ )?{_MORE}{_WORDS}{{0,24}}[(（]?\s?(?:from )?$"),
    re.compile(
        rf"\b(?:saves?|saved|saving|gains?|reduc\w+|improv\w+|increas\w+|decreas\w+|speed-?up|drop\w*|cuts?) "
        rf"(?:(?!over|than|from|to|in|for|at|item)\w+ ){{0,2}}(?:of |by )?<(?P<c>\d+)>{_WORDS}{{0,24}}[(（]\s?$"
    ),
    re.compile(r"<(?P<c>\d+)>(?P<times>[^<>.;:()（]{0,28}) ?[(（]\s?$"),
)
_SIGNED = re.compile(r"<(?P<c>\d+)>[^<>()|.;]{0,3} ?[(（][^<>()|.;]{0,30}$")
_LABELS = re.compile(r"[\W]*<\d+> ?(?:->|→) ?<\d+> ?:")  # "- 1.0 -> 2.0: 4.3x": versions
_FIRST = 8  # characters
_SECOND = re.compile(r"<\d+> ?(?:->|→|=>) ?\Z")  # "1.7x -> 1.9x (99.1 -> 89.8 ms)": two ratios to something else
_ABOUT = Decimal("0.1")
_SHARE_OF_MORE = 0.01  # a share so near that of the two may be one of something else
_SHARES = (
    re.compile(
        r"<(?P<a>\d+)> (?:\w+ )?(?:out )?of (?:the |all |its )?(?:total )?<(?P<b>\d+)>[^<>.;:()]{0,24} ?"
        r"\(=? ?<(?P<c>\d+)>(?: (?:success|pass|error|failure|hit|completion|detection|coverage)(?: rate)?)?\)"
    ),
    re.compile(r"\btotal\W{1,3}<(?P<b>\d+)>\W{1,3}correct\W{1,3}<(?P<a>\d+)>\W{1,3}accuracy\W{1,3}<(?P<c>\d+)>"),
    re.compile(r"<(?P<a>\d+)>[^\d\s<>(),.;/]{1,10} ?/ ?<(?P<b>\d+)>[^\d\s<>(),.;/]{1,10} ?= ?<(?P<c>\d+)>"),
    re.compile(r"<(?P<b>\d+)>[^<>.;:()]{0,24}, of which <(?P<a>\d+)>[^<>.;:()]{0,24} ?\(<(?P<c>\d+)>\)"),
    re.compile(
        r"(?:out of|of|among|from) (?:the |all |a total of )?<(?P<b>\d+)>[^<>.;:()]{0,24}, (?:only )?<(?P<a>\d+)>"
        r"[^<>.;:()]{0,24} ?\(<(?P<c>\d+)>\)"
    ),
    re.compile(
        r"<(?P<c>\d+)>(?: \w+){0,2} ?\(=? ?<(?P<a>\d+)>(?: \w+){0,2} (?:out )?of (?:the |all )?<(?P<b>\d+)>"
        r"[^<>.;:()]{0,24}\)"
    ),
    re.compile(
        r"<(?P<a>\d+)>(?: \w+){0,2} (?:out )?of (?:the |all |a total of )?<(?P<b>\d+)>"
        r"[^<>.;:()]{0,24}(?:, or|,? i\.e\.,?| =|, that is|, which is|:)"
        r" <(?P<c>\d+)>"
    ),
    re.compile(r"<(?P<a>\d+)>(?: \w+){0,3} out of (?:the |all )?<(?P<b>\d+)>(?: \w+){0,2} ?\(<(?P<c>\d+)>\)"),
    re.compile(r"<(?P<c>\d+)>(?: \w+)? ?\([=≈~]? ?<(?P<a>\d+)> ?/ ?<(?P<b>\d+)>\)"),
    re.compile(
        r"\bbefore\W+<(?P<b>\d+)>[^<>]{0,30}\bafter\W+<(?P<a>\d+)>[^<>]{0,20}"
        r"\b(?:ratio|share|left|reduction|saving)\w*\W+<(?P<c>\d+)>"
    ),
    re.compile(
        r"<(?P<b>\d+)>[次个條条项張张名件][^<>，。；]{0,10}，<(?P<a>\d+)>[次个條条项張张名件]?"
        r"[^<>，。；]{0,6} ?[(（]<(?P<c>\d+)>[)）]"
    ),
    re.compile(r"<(?P<b>\d+)>[^<>.;:()]{0,4} ?중[^<>.;:()]{0,12} ?<(?P<c>\d+)> ?\(<(?P<a>\d+)>"),
    re.compile(r"<(?P<a>\d+)> ?(?:=|≈|,|\() ?<(?P<c>\d+)> of (?:the |its )?(?:[\w-]+ ){1,4}\(?<(?P<b>\d+)>"),
    re.compile(r"<(?P<a>\d+)> ?\(=? ?<(?P<c>\d+)> of <(?P<b>\d+)>\)"),
    re.compile(r"<(?P<c>\d+)>[^<>.;:()]{0,10} ?\(=? ?<(?P<a>\d+)> ?/ ?<(?P<b>\d+)>\)"),
)
_PART = re.compile(
    r"<(?P<a>\d+)>(?: (?!instead\b)[a-z]+){0,3} (?:out )?of (?:the |all |its |their |a total of )?(?:[a-z-]+ )?"
    r"<(?P<b>\d+)>"
)
_SURE = ("swapped", "differs", "ten")
_SLASHED = re.compile(r"\d ?/ ?\d")
_FRACTION = re.compile(
    r"(?<![\w./,:-])(\d[\d,]*) ?/ ?(\d[\d,]*)(?![\w./:-])(?: [a-z]+){0,3} ?(?:[(（]=?|=|,|:) ?"
    r"(\d+(?:\.\d+)?) ?%(?P<end> ?[)）]|$|[,;.，；。]|(?: [a-z]+){1,2}\))",
    re.IGNORECASE,
)
_IN_A_LIST = re.compile(r"\([^()]*, ?$")  # "(small, none/all, 768/1024, 1%)"
_OF_FRACTION = re.compile(r"(?<![\w./,:-])(\d+(?:\.\d+)?) ?% ?[(（] ?(\d[\d,]*) ?/ ?(\d[\d,]*)(?![\w./:-])")
_MARKS = re.compile(r"\*\*|__|`")
_OTHER_QUANTITY = re.compile(
    r"\b(?:batch|accuracy|utili[sz]ation|confidence|coverage|interval|ci|std|p\d\d|quantile)\b"
)


def find(document: Document) -> Iterator[Finding]:
    """Changes and shares that do not follow from the two values beside them."""
    for sentence in document.sentences:
        if len(sentence.numbers) > 2:
            yield from _changes(sentence)
            yield from _shares(sentence)
        yield from _fractions(sentence)


def _changes(sentence: Sentence) -> Iterator[Finding]:
    marked = sentence.marked
    if MYRIADS.search(marked):
        return
    for pattern in _PAIRS:
        for pair in pattern.finditer(marked):
            after = next((found for each in _AFTER if (found := each.match(marked, pair.end()))), None)
            before = next((found for each in _BEFORE if (found := each.search(marked[: pair.start()]))), None)
            found = after or before or _signed_before(sentence, pair.start())
            if not after and before and AT.search(marked[: before.start("c") - 1]):
                continue
            if not found or _OTHER_QUANTITY.search(found[0]) or _SECOND.search(marked[: found.start("c") - 1]):
                continue
            if not _is_said(found, sentence.numbers[int(found["c"])]):
                continue
            a, b, c = (sentence.numbers[int(k)] for k in (pair["a"], pair["b"], found["c"]))
            if not (a.unit or b.unit) and _LABELS.match(marked) and pair.start() < _FIRST:
                continue
            if (c.unit == "x" and are_sizes(a, b)) or is_share_of_all(a, b, c, found[0]):
                continue
            if from_others(Change(a, b, c), list(sentence.numbers)):
                continue
            if (finding := _of_change(a, b, c)) and _is_slip(a, b, c):
                yield finding


def _is_slip(a: Number, b: Number, c: Number) -> bool:
    """Whether a slip would make c the change of a and b; it may be one of something else."""
    if slip_of(Change(a, b, c), ways_of(a, b, c)):
        return True
    if c.unit != "x" or base(a.unit or b.unit)[0].startswith("B/"):
        return False  # a bandwidth leaves out how many bytes there are
    ratios = [a.bounds / b.bounds, b.bounds / a.bounds] if a.unit == b.unit or not (a.unit and b.unit) else []
    return any(way.low > 1 and is_short_slip(c.text, float(way.low), float(way.high)) for way in ratios)


def _is_said(found: re.Match[str], number: Number) -> bool:
    """Whether the words or a sign say that a number compares: one that only stands near the two does not."""
    groups = found.groupdict()
    if "times" in groups:
        return number.unit == "x"
    return "tail" not in groups or bool(groups["tail"] or groups["sign"] or number.text[0] in "+-\u2212")


def _signed_before(sentence: Sentence, end: int) -> re.Match[str] | None:
    """ "-74 (average crossing, 2741 → 2667)"."""
    found = _SIGNED.search(sentence.marked[:end])
    return found if found and sentence.numbers[int(found["c"])].text[0] in "+-\u2212" else None


def _of_change(a: Number, b: Number, c: Number) -> Finding | None:
    """The finding if no way to count gives the change c from a to b."""
    if any(each.hedge for each in (a, b, c)) or min(a.low, b.low) <= 0 or c.low <= 0 <= c.high:
        return None
    unit = a.unit or b.unit
    if (a.unit and b.unit and base(a.unit)[0] != base(b.unit)[0]) or unit in (*COUNTED, "x"):
        return None
    if unit == "%" and any(each.unit != "%" and "." not in each.text for each in (a, b)):
        return None  # the size of a model: "30B → +16 %", a count: "12.5 % vs 8/320"
    if unit == "%" and c.unit == "x":
        return None  # "97.9 % vs 95.6 %, 2.5x less energy"
    first, second = (value(each) if each.unit else each.bounds * exact(base(unit)[1]) for each in (a, b))
    said = value(c)
    said = Bounds(-said.high, -said.low) if said.high < 0 else said
    ratios = [first / second, second / first]
    if c.unit == "%":
        ways = [*ratios, *(each - exact(1) for each in ratios), *(exact(1) - each for each in ratios)]
        points = [first - second, second - first]
        ways += points if unit == "%" else [each / exact(100) for each in points] if not unit else []
        ways += points if not unit and max(a.high, b.high) < 1 else []  # of fractions
    elif c.unit == "x":
        ways = [*ratios, *(each - exact(1) for each in ratios)]
    elif base(c.unit)[0] == base(unit)[0] and unit != "%" and (c.unit or c.text[0] in "+-\u2212"):
        if "." in c.text and "." not in a.text + b.text:
            return None  # whole numbers have a whole difference: "2 → 5 epochs = -0.231"
        ways = [first - second, second - first]
        if not unit and "." in a.text + b.text:
            ways += [each * exact(100) for each in ways]  # points of fractions: "0.694 → 0.510 (-18)"
    else:
        return None
    room = said.high - said.low  # it may be cut, or come from numbers that were rounded before
    if any(not Bounds(said.low - room, said.high + room).apart(way) for way in ways):
        return None
    best = min((way for way in ways if way.high > 0), key=lambda way: abs(middle(way) - middle(said)))
    right = about(middle(best) / base(c.unit)[1], 3)
    return Finding(
        "inconsistent",
        (c, a, b),
        f"{with_unit(a)} and {with_unit(b)} do not give {with_unit(c)}: the nearest is {right} "
        f"{'times' if c.unit == 'x' else c.unit}.",
        matters(said, best),
        "b / a, a / b, (b - a) / a, (b - a) / b, b - a",
    )


def _shares(sentence: Sentence) -> Iterator[Finding]:
    seen: set[int] = set()
    for a, b, c, aside, is_lone in _stated_shares(sentence):
        if id(c) not in seen and (finding := _held_share(a, b, c, aside, is_lone)):
            seen.add(id(c))
            yield finding


def _stated_shares(sentence: Sentence) -> Iterator[tuple[Number, Number, Number, bool, bool]]:
    """Part, whole and share; whether the share comes first; and whether only being alone binds the share to them."""
    marked, numbers = sentence.marked, sentence.numbers
    for pattern in _SHARES:
        for found in pattern.finditer(marked):
            a, b, c = (numbers[int(found[k])] for k in "abc")
            yield a, b, c, found.start("c") < found.start("a"), False
    parts = [found for found in _PART.finditer(marked) if numbers[int(found["a"])].unit != "%"]
    places = [place for place, each in enumerate(numbers) if each.unit == "%"]
    if len(parts) == len(places) == 1 and not (_SLASHED.search(sentence.text) or _OTHER_QUANTITY.search(marked)):
        a, b, c = (numbers[int(k)] for k in (parts[0]["a"], parts[0]["b"], places[0]))
        if a.high < b.low and ("." in a.text) >= ("." in b.text):
            yield a, b, c, int(parts[0]["a"]) > places[0], True


def _held_share(a: Number, b: Number, c: Number, aside: bool, is_lone: bool) -> Finding | None:
    """The finding if part and whole do not give the share; one that comes first may explain, not derive."""
    if (
        c.unit != "%"
        or any(each.hedge == "bound" for each in (a, b, c))
        or min(a.low, b.low) <= 0
        or c.low <= 0  # "recall: 0 % (17/502 positive)": of something else
        or (a.unit == "%") != (b.unit == "%")
        or (a.unit and b.unit and base(a.unit)[0] != base(b.unit)[0] and b.unit not in COUNTED)
        or ("/" in a.unit and not b.unit)  # "50 tokens/s = 22 % of the 32k ceiling"
    ):
        return None
    unit = a.unit or b.unit
    first, second = (each.bounds * exact(base(each.unit or unit)[1]) for each in (a, b))
    share = float(100 * middle(first) / middle(second))
    if c.high < 1 <= middle(a.bounds) and not slip(c.text, share, share).endswith(_SURE):
        return None
    room = sum(float((x.high - x.low) / (x.high + x.low)) for x, n in ((first, a), (second, b)) if not n.text.isdigit())
    if aside and slip(c.text, share * (1 - room), share * (1 + room))[-3:] in ("", "two"):
        return None  # "2.1 % (3 of 285 layers)"
    if any(each.hedge for each in (a, b, c)) and (
        abs(middle(c.bounds) / Decimal(share) - 1) < _ABOUT or not slip(c.text, 0.99 * share, 1.01 * share)
    ):
        return None
    is_near = abs(float(middle(c.bounds)) / share - 1) < _SHARE_OF_MORE
    if is_lone and (is_near or not slip(c.text, share * (1 - room), share * (1 + room)).endswith(_SURE)):
        return None  # "326 of 331 were easy, which is why it scored 98.8 %"
    texts = [re.sub(r"[^\d.,]", "", each.text) for each in (c, a, b)]
    same = a.unit == b.unit and {each.text[-1:].isalpha() for each in (a, b)} == {False}
    return _of_share(first / second, a, b, c) if not same or _has_slip_of_share(*texts) else None


def _of_share(share: Bounds, a: Number, b: Number, c: Number, own: tuple[int, ...] = ()) -> Finding | None:
    said = value(c)
    room = said.high - said.low
    wide = Bounds(said.low - room, said.high + room)
    if not all(wide.apart(each) for each in (share, exact(1) - share)) or is_of_counts(c, own):
        return None
    return Finding(
        "inconsistent",
        (c, a, b),
        f"{with_unit(a)} of {with_unit(b)} are {about(middle(share) * 100, 4)} %, not {with_unit(c)}.",
        matters(said, share),
        "share = part / whole",
    )


def _fractions(sentence: Sentence) -> Iterator[Finding]:
    """ "12/15 (80 %)": the sentence does not count digits around a slash as numbers."""
    text = _MARKS.sub("", sentence.text)
    for found in _FRACTION.finditer(text):
        if _IN_A_LIST.search(text[: found.start()]) and "," in text[found.end(2) : found.start(3)]:
            continue
        part, whole = (int(found[k].replace(",", "")) for k in (1, 2))
        claimed = next((n for n in sentence.numbers if n.unit == "%" and n.text == found[3]), None)
        is_sure = ("." in found[3] or part > whole) and _has_slip_of_share(found[3], found[1], found[2])
        if (
            claimed
            and claimed.low > 0
            and whole > 1
            and part
            and (is_sure or (part <= whole and not found["end"][:-1].strip()))
        ):
            shown = [
                Number(found[k], exact(size).low, exact(size).low, "", claimed.line, claimed.column, sentence.text)
                for k, size in ((1, part), (2, whole))
            ]
            if finding := _of_share(exact(part) / exact(whole), shown[0], shown[1], claimed, (part, whole)):
                yield finding
    for found in _OF_FRACTION.finditer(text):
        part, whole = (int(found[k].replace(",", "")) for k in (2, 3))
        claimed = next((n for n in sentence.numbers if n.unit == "%" and n.text == found[1]), None)
        if (
            claimed
            and claimed.low > 0
            and whole > 1
            and part
            and not claimed.hedge
            and _has_slip_of_share(found[1], found[2], found[3])
        ):
            shown = [
                Number(found[k], exact(size).low, exact(size).low, "", claimed.line, claimed.column, sentence.text)
                for k, size in ((2, part), (3, whole))
            ]
            if finding := _of_share(exact(part) / exact(whole), shown[0], shown[1], claimed, (part, whole)):
                yield finding


def _has_slip_of_share(share: str, part: str, whole: str) -> bool:
    """Whether a slip in a share or in one of its counts would make it right: "81% (29/36)"."""
    said, a, b = (float(each.replace(",", "")) for each in (share, part, whole))
    half = 0.5 if "." not in share else 0.5 * 10.0 ** -len(share.partition(".")[2])
    low, high = (said - half) / 100, (said + half) / 100
    rights = (
        (share, 100 * a / b, 100 * a / b),
        (part, low * b, high * b),
        (whole, a / high, a / low if low else a / high),
    )
    return any(
        (bool(found := slip(text, x, y)) and not found.endswith("two")) or is_short_slip(text, x, y)
        for text, x, y in rights
    )
