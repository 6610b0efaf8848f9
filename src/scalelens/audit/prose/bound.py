"""A change and its two values, which an arrow, brackets or words of comparison bind, in any order.

"+6.4 % (286.7 vs 269.4)", "533.8 → 258.3 ms, 2.07x", "32.5, an improvement of +3.6 over the best one (28.9)",
"reaches 5633, outperforming SAC (4094) by 37.6 %".  Some words may stand between the numbers, so the change may be one
of something else: it is accused only if no two numbers of the sentence give it, and a slip in one of the three would
make it right.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import combinations

from scalelens.audit.document import Document, Sentence
from scalelens.audit.finding import Finding
from scalelens.audit.forms.slips import is_short_slip, slip
from scalelens.audit.printed import Bounds, Number
from scalelens.audit.quantities import exact, value
from scalelens.audit.units import COUNTED
from scalelens.audit.wording import about, matters, middle, with_unit
from scalelens.units import base

POINTS = r" ?(?:(?:percentage )?points?\b|pp\b|pts?\b|个?百分点|個?百分點|%?포인트|(?<=%)p\b)"  # of per cent
_IS_MORE = (
    r"\b(?:faster|slower|less|more|fewer|lower|higher|better|worse|smaller|larger|bigger|shorter|longer|cheaper|reduc\w*|"
    r"increas\w*|decreas\w*|improv\w*|gains?|speed-?ups?|drop\w*|saving\w*|saves?|saved|overhead|growth|slowdown|cut|"
    r"rise|rose|boost\w*|delta|diff\w*|gap|factor|ratio|loss|compression)\b|[增减降升提快慢省少高低多倍差比幅]"
)
_MORE = re.compile(_IS_MORE)
_W = r"[^<>.;()|]"
_LINK = (
    r"(?:→|⟶|⇒|-+>|=+>|\bvs\.?|\bversus\b|\bagainst\b|\bcompared (?:to|with)\b|\brelative to\b|\binstead of\b|"
    r"\bdown from\b|\bup from\b|\brather than\b|对比|相比|比)"
)
_PAIRS = (
    re.compile(
        rf"<(?P<a>\d+)>(?: ?\([^<>()]{{0,30}}\))?{_W}{{0,36}}{_LINK}{_W}{{0,28}}(?:\([^<>()]{{0,20}}\) ?)?<(?P<b>\d+)>"
    ),
    re.compile(
        rf"\b(?:reduc|increas|rais|lower|shrink|compress|cut)\w* {_W}{{0,20}}<(?P<a>\d+)>{_W}{{0,16}}\bto\b"
        rf"{_W}{{0,10}}<(?P<b>\d+)>"
    ),
    re.compile(
        rf"\b(?:claimed|expected|predicted|reported|stated|theoretical)\b[^<>.;()]{{0,12}}<(?P<a>\d+)>{_W}{{0,16}}"
        rf"\b(?:actual|measured|observed|found|real)\b[^<>.;()]{{0,12}}<(?P<b>\d+)>"
    ),
    re.compile(rf"<(?P<a>\d+)>{_W}{{0,3}}에서{_W}{{0,20}}<(?P<b>\d+)>(?=으?로|까지)"),
    re.compile(rf"(?:\bfrom|从|由) ?{_W}{{0,20}}<(?P<a>\d+)>{_W}{{0,28}}(?:\bto\b|到|至|→|->){_W}{{0,20}}<(?P<b>\d+)>"),
)
_DISTANCE = r"(?:gap|diff|difference|delta|gain|improvement|drop|loss|increase|decrease|reduction|degradation)"
_AFTER = (
    re.compile(rf" ?\((?P<head>(?:diff|difference|delta|gap) ?[=:] ?)<(?P<c>\d+)>(?P<tail>{_W}{{0,40}})[,)/]"),
    re.compile(rf"{_W}{{0,24}}\({_W}{{0,14}}<(?P<c>\d+)>(?P<tail>{_W}{{0,40}})[,)/]"),
    re.compile(rf"{_W}{{0,24}}\(<\d+>{_W}{{0,16}}[,/] ?<(?P<c>\d+)>(?P<tail>{_W}{{0,40}})[,)/]"),
    re.compile(
        rf"(?: ?\([^<>()]{{0,20}}\))?{_W}{{0,24}}(?:[,:=→]|->|=>| [—–-] |—|\bso\b|\bis\b|\bfor\b)"
        rf"(?P<head>{_W}{{0,24}})<(?P<c>\d+)>"
        rf"(?P<tail>{_W}{{0,24}})"
    ),
    re.compile(rf"(?:으?로|까지)(?P<head>){_W}{{0,10}}<(?P<c>\d+)>(?P<tail>{_W}{{0,16}})"),
    re.compile(rf"{_W}{{0,30}}, \w+ing {_W}{{0,36}}(?P<head>\bby (?:an? )?factors? (?:of )?)<(?P<c>\d+)>(?P<tail>)"),
)
_FAR_AFTER = (
    re.compile(
        r"[^<>.;|()]{0,60}\(<(?P<c>\d+)> (?P<tail>reduction|increase|improvement|faster|slower|less|fewer|more)\)"
    ),
    re.compile(r"[^<>.;|()]{0,60}: ?<(?P<c>\d+)>(?P<tail>)(?=[.,;]? ?$)"),
)
_BEFORE = (
    re.compile(r"(?P<head>\bby) (?:an? |about |only |just )?<(?P<c>\d+)> ?[a-z]{0,10}(?P<tail> ?)\($"),
    re.compile(rf"(?P<head>\b(?:the|an?|is|within|of)) <(?P<c>\d+)>(?: [a-z]{{1,10}})?(?P<tail> {_DISTANCE} ?)\($"),
    re.compile(rf"<(?P<c>\d+)>(?P<tail>[^<>.;()|,]{{0,30}})\({_W}{{0,30}}$"),
    re.compile(rf"(?P<head>\bby|[增减降升提快慢少高低多]{_W}{{0,2}}) ?<(?P<c>\d+)>(?P<tail>[ ,:]{{0,3}})$"),
)
_WHOLE = (
    # a ... improvement of c over ... b; a, which is c higher than ... b
    re.compile(
        rf"<(?P<a>\d+)>{_W}{{0,40}}\b(?:improvement|gain|increase|decrease|reduction|drop|speed-?up) of "
        rf"{_W}{{0,12}}<(?P<c>\d+)>{_W}{{0,12}}\b(?:over|on|compared|from|vs|relative)\b{_W}{{0,60}}[(:]{_W}{{0,40}}<(?P<b>\d+)>"
    ),
    re.compile(
        rf"<(?P<a>\d+)>{_W}{{0,60}}<(?P<c>\d+)> (?:points? |times )?(?:higher|lower|better|more|less|faster|slower|"
        rf"fewer|larger|smaller|worse|above|below)\b{_W}{{0,16}}(?:than|over)?\b{_W}{{0,50}}\({_W}{{0,20}}<(?P<b>\d+)>"
    ),
    # a, c better than b
    re.compile(rf"<(?P<a>\d+)>{_W}{{0,20}}\(<(?P<c>\d+)> (?:\w+ )?(?:than|over|vs\.?) {_W}{{0,24}}<(?P<b>\d+)>"),
    # two things with their values in brackets
    re.compile(rf"\({_W}{{0,6}}<(?P<a>\d+)>\){_W}{{0,24}}<(?P<c>\d+)>{_W}{{0,40}}\({_W}{{0,6}}<(?P<b>\d+)>\)"),
    re.compile(
        rf"<(?P<c>\d+)>{_W}{{0,40}}\({_W}{{0,10}}<(?P<a>\d+)>\){_W}{{0,30}}\b(?:and|vs|than|over){_W}{{0,30}}"
        rf"\({_W}{{0,10}}<(?P<b>\d+)>\)"
    ),
)
_BEATS = re.compile(rf"<(?P<a>\d+)>(?: ?\))?{_W}{{0,60}}\b(?:outperform|surpass|beat|exceed|improv)\w*")
_BEATEN = re.compile(rf"\({_W}{{0,12}}<(?P<b>\d+)>{_W}{{0,12}}\) by {_W}{{0,10}}<(?P<c>\d+)>")
_SETTING = re.compile(
    r"\b(?:batch|size|seq\w*|length|context|epochs?|steps?|layers?|rank|bits?|window|dim\w*|tp|pp|dp|ep|nodes?|gpus?|ctx|"
    r"threads?|workers?|level|version|seeds?|[a-z])[ =:]*$"
)
_ASSIGNED = re.compile(r"\w=$")
AT = re.compile(r"\bat [-+\u2212~]?$")
_SIGNS = re.compile(r"[\s(:=→>,–—-]*")
_IS_DIFFERENCE = re.compile(rf"^by\b(?!.*\bfactor)|\b{_DISTANCE}\b")
_FACTOR = re.compile(r"\bfactors?(?: of)? $")
_ANOTHER = re.compile(
    r"\b(?:due|because|with|at|since|despite|given|owing|using|while|and|but|plus|also|thanks|though|although|when|if|as)\b|"
    r", ?(?:[a-z]+ )?[\uac00-\ud7a3]{2,} "  # "0.32 → 0.04, the scatter of another 15.7x"
)
_OTHER = re.compile(r"\b(?:confidence|interval|ci|std|p\d\d|quantile|respectively|each|correlation|p-value|bounds?)\b")
_PLAIN = str.maketrans("（），、；：【】", "(),;;:()")
_UNCERTAIN = re.compile(r" ?(?:±|\+/-)(?: ?pm)? ?<\d+>|\[[-+−]?<\d+>(?:,| to|–|-) ?[-+−]?<\d+>\]")  # and intervals
_LINKED = re.compile(r"\[([^\]]*)\]\([^)]*\)")
MYRIADS = re.compile(r"<\d+> ?[万亿千百萬億]|<\d+>k\b")  # units that are not read, and K
_FRACTION = re.compile(r"(?<![\w./])(\d{1,6})/(\d{1,6})(?![\w./])")
_LABELS = re.compile(r"[\W]*<\d+> ?(?:(?:->|→) ?<\d+> ?)?:")  # versions, and what an item is about
_COUNT = re.compile(r"(?<![\w.,])\d{1,6}(?![\d.,]*\d|\.\d| ?%)")
_NEAR, _FEW = 60, 9  # characters; a small whole
_MOST_NUMBERS = 14
_LEAST_DIGITS = 2  # of a change
_LEAST_FAR = 3  # of one with words before it
ROUGH = Decimal("1.02")  # what a change of few digits leaves open
_NEXT = re.compile(r" ?(?:→|⟶|⇒|-+>|=+>) ?")  # "6.78 → 10.0 → 12.59 %": one value after the other
_CHAINED = re.compile(r"> ?(?:→|⟶|⇒|-+>|=+>)(?= ?<\d+> ?(?:→|⟶|⇒|-+>|=+>) ?<(\d+)>)")  # the last of three
_ASIDE = re.compile(r" ?[—–]")  # "(61.4 % — barely, because ...)": a share of something that the bracket explains
_NOUN = re.compile(r"^ ?(?:[a-z]+(?=,)|\([^<>()]*\))")  # 128 dimensions, a factor of 6; 240.8 (legacy)
_PLAIN_WORDS = re.compile(
    r"[增加减少降低升提快慢省高多倍差比幅了]+|\b(?:so|is|are|for|an?|the|about|by|of|factors?|ratio|speed-?up|total|overall|only|just|almost|nearly|roughly|"
    r"approx\w*|i\.e|e2e|net|per|in|on|or|to|that|which|this|then|now|over|vs|x|ms|s|us|gb|mb|tokens?|tok|sec|"
    r"average|avg|mean|median|faster|slower|less|more|fewer|lower|higher|better|worse|smaller|larger|shorter|longer|"
    r"reduc\w*|increas\w*|decreas\w*|improv\w*|gains?|drop\w*|saving\w*|saves?|saved|overhead|delta|diff\w*|gap|"
    r"compression|growth|cut|rise|rose|boost\w*|slowdown|throughput|latency|time|memory|bandwidth|speed|size|energy|power)\b"
)
_CONTENT = re.compile(r"[a-z]{3,}|[\u4e00-\u9fff]{2,}")
_IN_ANOTHER = re.compile(
    r" ?(?:[a-z-]+ )?(?:drop|loss|gain|improvement|increase|decrease|reduction|degradation)s? (?:in|of|on) "
    r"(?:the |its |our |an? )?(?:[a-z-]+ )?(?P<name>[a-z][\w-]*)"
)
_ANY_VALUE = re.compile(
    r"(?:\w*(?:time|latency|memory|size|energy|power|speed|throughput|cost|bandwidth|footprint|storage|usage|volume|"
    r"duration|rate|traffic|consumption|length|count|loss|error)s?|vram|ram|disk|it|that|this|performance|all)$"
)
_NAME_AFTER = re.compile(r" ?[x×]?\*{0,2} (?:the )?(?P<name>[A-Za-z]*[A-Z]\w*)")
_MINUS = "\u2212"


@dataclass(frozen=True)
class Change:
    """Two values and the change between them."""

    a: Number
    b: Number
    c: Number
    is_difference: bool = False
    is_plain: bool = False  # nothing but signs stands between


def find(document: Document) -> Iterator[Finding]:
    """Changes that the two values bound to them do not give."""
    for sentence in document.sentences:
        if 2 < len(sentence.numbers) <= _MOST_NUMBERS:
            marked = _UNCERTAIN.sub("", _LINKED.sub(r"\1", sentence.marked.translate(_PLAIN)))
            if MYRIADS.search(marked) or _LABELS.match(marked):
                continue
            others = [sentence.numbers[int(k)] for k in re.findall(r"<(\d+)>", marked)]
            accused: set[int] = set()
            chained = {id(sentence.numbers[int(k)]) for k in _CHAINED.findall(marked)}
            for change in _stated(marked, sentence.numbers):
                if id(change.c) in accused | chained or is_of_a_fraction(change.c, sentence.text):
                    continue
                if _is_of_a_name(change.c, sentence):
                    continue
                if finding := _held(change, others):
                    accused.add(id(change.c))
                    yield finding


def is_of_a_fraction(share: Number, text: str) -> bool:
    """Whether counts around a slash give a share, or its rest: "drop 28/36 layers: 1.461 vs 1.465, 78 % less"."""
    fractions = [(int(a), int(b)) for a, b in _FRACTION.findall(text)]
    shares = [exact(a) / exact(b) * exact(100) for a, b in fractions if 0 < a < b] if share.unit == "%" else []
    said = Bounds(abs(share.low), abs(share.high)) if share.low > 0 else Bounds(-share.high, -share.low)
    return any(not said.apart(each) or not said.apart(exact(100) - each) for each in shares)


def is_in_another(before: str, after: str) -> bool:
    """Whether a change says what it is one of, and its values are not: "40 MB instead of 400, with 1 % drop in F1"."""
    found = _IN_ANOTHER.match(after)
    return found is not None and not _ANY_VALUE.match(found["name"]) and found["name"] not in before


def _is_of_a_name(c: Number, sentence: Sentence) -> bool:
    """Whether a ratio is one to something that only it names: "20.9 → 16.2 ms (2.03× OtherLib)"."""
    place = next((k for k, each in enumerate(sentence.numbers) if each is c), None)
    if place is None or c.unit != "x":
        return False
    start, end = sentence.positions[place]
    found = _NAME_AFTER.match(sentence.text, end)
    return found is not None and found["name"] not in re.sub(rf"[x×] {found['name']}", "", sentence.text[:start])


def is_share_of_all(a: Number, b: Number, c: Number, words: str) -> bool:
    """Whether brackets after two counts may give the share of the last one: "from 75 → 37 (0.14 %)"."""
    whole = not (a.unit or b.unit or "." in a.text + b.text)
    return whole and c.unit == "%" and c.high < 1 and not _MORE.search(words)


def is_of_counts(share: Number, own: tuple[int, ...] = ()) -> bool:
    """Whether other counts of its sentence give a share: "22 of the 25-item union wrong 3/3 (88 %)".

    `own` are the two counts next to the share: a pair that includes one of them is no other share.
    """
    before = re.split(rf"(?<![\w.]){re.escape(share.text)}[ \\]*%", share.words)[0][-_NEAR:]
    counts = sorted({int(each) for each in _COUNT.findall(before)} - {0})
    return any(
        not value(share).apart(exact(a) / exact(b))
        for a, b in combinations(counts, 2)
        if b > _FEW and not {a, b} & {*own}
    )


def _stated(marked: str, numbers: tuple[Number, ...]) -> Iterator[Change]:
    """The changes that the words of a sentence bind to two values."""
    for pattern in _PAIRS:
        for pair in pattern.finditer(marked):
            if _SETTING.search(marked[: pair.start("a") - 1]):
                continue
            after = [found for each in _AFTER if (found := each.match(marked, pair.end()))]
            before = [found for each in _BEFORE if (found := each.search(marked[: pair.start()]))]
            far = [found for each in _FAR_AFTER if (found := each.match(marked, pair.end()))]
            for found in far:
                c = numbers[int(found["c"])]
                if _significant(c) >= _LEAST_FAR and _is_said(c, found["tail"]) and not _OTHER.search(found[0]):
                    yield Change(numbers[int(pair["a"])], numbers[int(pair["b"])], c)
            for found in (*after, *before):
                if found in before and AT.search(marked[: found.start("c") - 1]):
                    continue  # "at -75 % the gap widens (63.6 vs 49.4)"
                c = numbers[int(found["c"])]
                words = found.groupdict()
                between = found[0][: found.start("c") - found.start()] if found in after else words["tail"]
                by_factor = bool(_FACTOR.search(words.get("head") or "")) and "ing " in between
                if (
                    _NEXT.fullmatch(between)
                    or _ASIDE.match(words["tail"] or "")
                    or _ANOTHER.search(between)
                    or (
                        not by_factor
                        and _CONTENT.search(_PLAIN_WORDS.sub("", _NOUN.sub("", re.sub(r"<\d+>", "", between))))
                    )
                ):
                    continue  # a change of something else
                said = f"{words['head']} {words['tail']}" if "head" in words else words["tail"] if c.unit != "%" else ""
                if (_is_said(c, said) or _IS_DIFFERENCE.search(said)) and not _OTHER.search(found[0]):
                    a, b = numbers[int(pair["a"])], numbers[int(pair["b"])]
                    if is_share_of_all(a, b, c, found[0]):
                        continue
                    if not c.unit and _FACTOR.search(words.get("head") or ""):
                        c = replace(c, unit="x")
                    yield Change(
                        a,
                        b,
                        c,
                        is_difference=bool(_IS_DIFFERENCE.search(said)),
                        is_plain=_is_plain(between, c) if found in after else False,
                    )
    for pattern in _WHOLE:
        for found in pattern.finditer(marked):
            a, b, c = (numbers[int(found[k])] for k in "abc")
            own = [numbers[int(k)] for k in re.findall(r"<(\d+)>", marked[: found.start()])[-1:]]
            if own and own[0].unit == c.unit and c.unit in ("x", "%"):
                continue  # "1.76x the base (69 µs), 2.33x the base (52 µs)": each with its own
            ahead = marked[: found.start("a") - 1]
            if _SETTING.search(ahead) or ("." not in a.text and _ASSIGNED.search(ahead)):
                continue
            bare = bool(a.unit) != bool(b.unit)  # "round 8 (9.4 s vs 7.4 s)", "2 ... 3.8x faster (100 TFLOPS)"
            if not _OTHER.search(found[0]) and not bare and _is_said(c, found[0]):
                yield Change(a, b, c)
    if beats := _BEATS.search(marked):
        for found in _BEATEN.finditer(marked, beats.end()):
            a, b, c = (numbers[int(k)] for k in (beats["a"], found["b"], found["c"]))
            yield Change(a, b, c, is_difference=not _FACTOR.search(marked[: found.start("c") - 1]))


def _is_plain(between: str, c: Number) -> bool:
    """Whether nothing but signs stands between two values and their change; a third value has no sign."""
    signs = between.rstrip("<")
    return bool(_SIGNS.fullmatch(signs)) and (c.text[0] in f"+-{_MINUS}" or not _NEXT.fullmatch(signs))


def _is_said(c: Number, words: str) -> bool:
    """Whether a number compares, by its sign, its unit or the words around it."""
    signed = c.text[0] in f"+-{_MINUS}"
    return signed or c.unit == "x" or bool(_MORE.search(words)) or (c.unit == "%" and not words.strip())


def _held(change: Change, others: list[Number]) -> Finding | None:
    """The finding if neither the two values nor other numbers of the sentence give the change, but for a slip."""
    a, b, c = change.a, change.b, change.c
    if c.text[0] in f"+-{_MINUS}" and not (a.unit or b.unit) and c.unit not in ("", "%", "x", *COUNTED):
        c = replace(c, unit="")  # "1512.63 → 1493.66 (-18.97 MW)"
        change = replace(change, c=c)
    if len({id(each) for each in (a, b, c)}) < 3 or any(each.hedge for each in (a, b)) or c.hedge == "bound":
        return None
    if (c.unit == "%" and c.text == "100") or min(a.low, b.low) <= 0 or c.low <= 0 <= c.high or are_sizes(a, b):
        return None
    if a.unit == b.unit == c.unit == "%" and not change.is_difference and c.text[0] not in f"+-{_MINUS}":
        return None  # "37 % faster (80 % in use vs 25 %)"
    if "%" in (a.unit, b.unit) and any(each.unit != "%" and "." not in each.text for each in (a, b)):
        return None  # the size of a model, a setting: "30B → +16 %", "with DP=4 +1.7 % vs +9.3 %"
    if a.unit == b.unit == "%" and c.unit == "x":
        return None  # of another quantity
    unit = a.unit or b.unit
    if (a.unit and b.unit and base(a.unit)[0] != base(b.unit)[0]) or unit in (*COUNTED, "x"):
        return None
    ways = ways_of(a, b, c, change.is_difference)
    if c.unit == "%" and not unit:
        whole = a.bounds + b.bounds  # "3200 FN and only 176 TP (5.2 % recall)": one part of both
        ways += [a.bounds / whole, b.bounds / whole]
    if not ways or any(not wide_of(c).apart(way) for way in ways) or from_others(change, others):
        return None
    found = slip_of(change, ways) or _short_slip(change, ways)
    if not found or (not c.unit and found.endswith("a hundred")):
        return None  # percentage points, which are not a unit here: "+3.32pp (0.4365 vs 0.4033)"
    best = min((way for way in ways if way.high > 0), key=lambda way: abs(middle(way) - middle(size_of(c))))
    said = "times" if c.unit == "x" else c.unit
    return Finding(
        "inconsistent",
        (c, a, b),
        f"{with_unit(a)} and {with_unit(b)} do not give {with_unit(c)}: the nearest is "
        f"{about(middle(best) / base(c.unit)[1], 3)} {said}".rstrip()
        + f" ({found}).",
        matters(size_of(c), best),
        "b / a, a / b, (b - a) / a, (b - a) / b, b - a",
    )


def size_of(number: Number) -> Bounds:
    """The values of a change without its sign, in base units."""
    size = base(number.unit)[1]
    low, high = number.low * size, number.high * size
    return Bounds(-high, -low) if high < 0 else Bounds(low, high)


def wide_of(number: Number) -> Bounds:
    """It may be cut, or come from numbers that were rounded before."""
    said = size_of(number)
    room = (said.high - said.low) * (2 if number.hedge else 1)
    return Bounds(said.low - room, said.high + room)


def _values(a: Number, b: Number) -> tuple[Bounds, Bounds]:
    """Both in base units: one without a unit has that of the other."""
    sizes = [base(each.unit or a.unit or b.unit)[1] for each in (a, b)]
    return a.bounds * exact(sizes[0]), b.bounds * exact(sizes[1])


def ways_of(a: Number, b: Number, c: Number, is_difference: bool = False) -> list[Bounds]:
    """What the change may be; none if its unit does not fit."""
    first, second = _values(a, b)
    unit = a.unit or b.unit
    differences = [first - second, second - first]
    ratios = [first / second, second / first]
    changes = [each - exact(1) for each in ratios]
    if c.unit == unit == "%" and is_difference:
        return differences
    if c.unit == "%":
        fractions = not unit and "." in a.text + b.text
        points = differences if unit == "%" else []
        points += [*differences, *(each / exact(100) for each in differences)] if fractions else []
        return [*ratios, *changes, *(exact(1) - each for each in ratios), *points]
    if c.unit == "x":
        return [*ratios, *changes]
    if not c.unit and unit == "%":
        is_points = is_difference or c.text[0] in f"+-{_MINUS}"
        return [each * exact(100) for each in differences] if is_points else []
    if "." in c.text and "." not in a.text + b.text and c.unit == a.unit == b.unit:
        return []  # whole numbers have a whole difference
    if base(c.unit)[0] == base(unit)[0] and (c.unit or is_difference or c.text[0] in f"+-{_MINUS}"):
        of_fractions = not unit and "." in a.text + b.text  # points: "0.694 → 0.510 (-18)"
        return [*differences, *(each * exact(100) for each in differences)] if of_fractions else differences
    return []


def from_others(change: Change, others: list[Number]) -> bool:
    """Whether two other numbers of the sentence give the change."""
    wide = wide_of(change.c)
    usable = [each for each in others if each is not change.c and each.low > 0]
    return any(
        not wide.apart(way)
        for a, b in combinations(usable, 2)
        if {id(a), id(b)} != {id(change.a), id(change.b)} and base(a.unit)[0] == base(b.unit)[0]
        for way in ways_of(a, b, change.c, change.is_difference)
    )


def _significant(number: Number) -> int:
    return len(re.sub(r"\D", "", number.text).strip("0"))


def _short_slip(change: Change, ways: list[Bounds]) -> str:
    """Another digit in a change of two digits, right after two values of more: "83.1 vs 82.2 → +1.1 %"."""
    a, b, c = change.a, change.b, change.c
    if not change.is_plain or c.unit not in ("%", "x") or any("." not in each.text for each in (a, b, c)):
        return ""
    if min(map(_significant, (a, b))) <= _LEAST_DIGITS:
        return ""
    shown, size = c.text.lstrip(f"+-{_MINUS}"), base(c.unit)[1]
    fits = any(is_short_slip(shown, float(way.low / size), float(way.high / size)) for way in ways if way.low > 0)
    return "one digit differs" if fits else ""


def slip_of(change: Change, ways: list[Bounds]) -> str:
    """The slip in the change or in one of its values that would make it right; "" if there is none."""
    a, b, c = change.a, change.b, change.c
    size = base(c.unit)[1]
    shown = c.text.lstrip(f"+-{_MINUS}")
    if len(re.sub(r"\D", "", shown).lstrip("0")) < _LEAST_DIGITS:
        return ""  # one digit is near to much
    for way in ways:
        if way.low > 0 and (words := _slip(shown, way, size)) and not (c.unit == "%" and words.endswith("a thousand")):
            return words
    said, unit = size_of(c), a.unit or b.unit
    for own, other in ((a, b), (b, a)):
        rest = other.bounds * exact(base(other.unit or unit)[1])
        if c.unit in ("x", "%"):
            factors = [said, exact(1) / said, exact(1) + said, exact(1) / (exact(1) + said)]
            if c.unit == "%" and said.high < 1:
                factors += [exact(1) - said, exact(1) / (exact(1) - said)]
            rights = [rest * factor for factor in factors]
        else:
            rights = []
        if c.unit not in ("x",) and base(c.unit)[0] == base(unit)[0]:
            rights += [rest + said, rest - said]
        for right in rights:
            if right.low > 0 and (words := _slip(own.text, right, base(own.unit or unit)[1])):
                if right.high > ROUGH * right.low and (words.endswith("two") or "factor" not in words):
                    continue  # many numbers are one digit away from what a rough change gives
                return f"in {with_unit(own)}: {words}"
    return ""


def _slip(text: str, right: Bounds, size: object) -> str:
    low, high = float(right.low) / float(size), float(right.high) / float(size)  # type: ignore[arg-type]
    if high > 1.1 * low:
        return ""
    words = slip(text, low, high)
    if words.endswith("a million"):
        return ""
    return words


def are_sizes(a: Number, b: Number) -> bool:
    """Whether two powers of two are sizes that something else is compared at: "512 → 1024 (4.2x)", 16 KB and 64 KB."""
    whole = [int(each.text) if each.text.isdigit() and base(each.unit)[0] in ("", "B") else 0 for each in (a, b)]
    return all(each > 1 and each & (each - 1) == 0 for each in whole)
