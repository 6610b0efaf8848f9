"""Two values of a sentence, and what it says of one against the other, with words between them.

"The tiled kernel uses 75.93 J, a 20.3 % improvement over the naive one (95.27 J)", "one node has 482 GB/s against
369 GB/s of four, so leaving it costs 1.31x".  A sentence must have two values of a unit, no third one, and a word that
holds them against each other.  It is accused if no way to compare them gives a factor or share of it, and a slip would.
"""

import re
from collections import defaultdict
from collections.abc import Iterator

from scalelens.audit.document import Document, Sentence
from scalelens.audit.finding import Finding
from scalelens.audit.forms.slips import slip
from scalelens.audit.printed import Bounds, Number
from scalelens.audit.prose.bound import ROUGH, are_sizes, is_in_another
from scalelens.audit.quantities import exact, value
from scalelens.audit.units import COUNTED
from scalelens.audit.wording import about, matters, middle, with_unit
from scalelens.units import base

_MORE = (
    r"(?:faster|slower|less|more|fewer|lower|higher|better|worse|smaller|larger|bigger|shorter|longer|cheaper|"
    r"reductions?|increases?|decreases?|improvements?|gains?|speed-?ups?|drops?|savings?|overhead|growth|slowdown)\b"
)
_LINK = (
    r"(?:→|⟶|⇒|->|=>|\bvs\.?|\bversus\b|\bagainst\b|\bcompared (?:to|with)\b|\brelative to\b|\bover\b|\bthan\b|"
    r"\binstead of\b|\bdown from\b|\bup from\b|\brather than\b)"
)
_SAID = rf"<c> (?:(?!due|because|with|at|and|since|than|for)\w+ )?{_MORE}"
_G = r"[^<>.;]"
_FORMS = (
    # a ... c more than ... b
    re.compile(rf"<a>{_G}{{0,60}}{_SAID}{_G}{{0,12}}(?:over|than|compared|relative|vs|against|from){_G}{{0,50}}<b>"),
    # c more than ... b ... a
    re.compile(rf"{_SAID}{_G}{{0,40}}[(:]{_G}{{0,24}}<a>{_G}{{0,30}}{_LINK}{_G}{{0,30}}<b>"),
    # a against b, c more
    re.compile(rf"<a>{_G}{{0,60}}{_LINK}{_G}{{0,60}}<b>{_G}{{0,40}}[,:(—–-]{_G}{{0,30}}<c> (?:\w+ )?{_MORE}"),
    # a against b, so ... costs c
    re.compile(
        rf"<a>{_G}{{0,60}}(?:against|vs\.?|versus|compared (?:to|with)|→|->|instead of){_G}{{0,60}}<b>{_G}{{0,20}}"
        rf"[,(—–:]{_G}{{0,34}}<c>(?! of)"
    ),
    # increases by c from a to b
    re.compile(
        rf"\b(?:increas|reduc|improv|decreas|drop|fall|fell|ris|rose|grow|grew|cut|sav|shrink|shrank)\w*{_G}{{0,40}}<c>"
        rf"{_G}{{0,40}}\bfrom{_G}{{0,16}}<a>{_G}{{0,24}}\bto\b{_G}{{0,16}}<b>"
    ),
)
_OTHER = re.compile(r"\b(?:accuracy|confidence|interval|quantile|percentile|respectively|each|average|mean|median)\b")
_MOST_NUMBERS = 9
_NEXT_RATIO = re.compile(r"<(\d+)>(?: ?(?:→|->|=>) ?|\*{0,2} (?:[a-z]+ )?into an? \*{0,2})<(\d+)>")


def find(document: Document) -> Iterator[Finding]:
    """Factors and changes that two values of their sentence do not give."""
    for sentence in document.sentences:
        if 2 < len(sentence.numbers) <= _MOST_NUMBERS and not _OTHER.search(sentence.marked):
            for a, b in _values(sentence):
                if finding := _of_values(sentence, a, b):
                    yield finding


def _values(sentence: Sentence) -> Iterator[tuple[int, int]]:
    """The places of two values in one unit that no third one has."""
    units: dict[str, list[int]] = defaultdict(list)
    for place, number in enumerate(sentence.numbers):
        units[base(number.unit)[0] if number.unit != "%" else "%"].append(place)
    for unit, places in units.items():
        if len(places) == 2 and unit not in ("", "x", "%", *COUNTED):
            yield places[0], places[1]


def _of_values(sentence: Sentence, a: int, b: int) -> Finding | None:
    first, second = sentence.numbers[a], sentence.numbers[b]
    if first.hedge or second.hedge or min(first.low, second.low) <= 0 or are_sizes(first, second):
        return None
    said = [k for k, number in enumerate(sentence.numbers) if number.unit in ("x", "%") and not number.hedge]
    ways = {k: _ways(value(first), value(second), sentence.numbers[k].unit) for k in said}
    if any(not _wide(value(sentence.numbers[k])).apart(way) for k in said for way in ways[k]):
        return None
    for k in said:
        chained = [tuple(map(int, found.groups())) for found in _NEXT_RATIO.finditer(sentence.marked)]
        if any(k == second or (k == first and second in said) for first, second in chained):
            continue  # "the ratio went 1.49× → 1.33×", "turned a 1.7× win into a 0.73× loss"
        before, _, after = sentence.marked.partition(f"<{k}>")
        if is_in_another(before, after):
            continue
        marked = _named(sentence.marked, {a: "<a>", b: "<b>", k: "<c>"})
        if any(form.search(marked) or form.search(_turned(marked)) for form in _FORMS) and (
            found := _slipped(sentence.numbers[k], first, second, ways[k])
        ):
            way, words = found
            number = sentence.numbers[k]
            unit = "times" if number.unit == "x" else number.unit
            return Finding(
                "inconsistent",
                (number, first, second),
                f"{with_unit(first)} and {with_unit(second)} do not give {with_unit(number)}: the nearest is "
                f"{about(middle(way) / base(number.unit)[1], 3)} {unit} ({words}).",
                matters(value(number), way),
                "b / a, a / b, (b - a) / a, (b - a) / b",
            )
    return None


def _named(marked: str, names: dict[int, str]) -> str:
    """The sentence with names for three of its numbers, and # for each other one."""
    return re.sub(r"<(\d+)>", lambda found: names.get(int(found[1]), "#"), marked)


def _turned(marked: str) -> str:
    """The sentence with its two values exchanged."""
    return marked.replace("<a>", "<?>").replace("<b>", "<a>").replace("<?>", "<b>")


def _ways(a: Bounds, b: Bounds, unit: str) -> list[Bounds]:
    ratios = [a / b, b / a]
    less = [exact(1) - each for each in ratios] if unit == "%" else []
    return [*ratios, *(each - exact(1) for each in ratios), *less]


def _wide(bounds: Bounds) -> Bounds:
    room = bounds.high - bounds.low
    return Bounds(bounds.low - room, bounds.high + room)


def _slipped(number: Number, a: Number, b: Number, ways: list[Bounds]) -> tuple[Bounds, str] | None:
    """The way that a slip of the number, or of one of the two values, would give."""
    size = base(number.unit)[1]
    for way in ways:
        if way.low > 0 and (words := slip(number.text, float(way.low / size), float(way.high / size))):
            return way, words
    said = value(number)
    for own, other in ((a, b), (b, a)):
        unit, rest = base(own.unit)[1], value(other)
        factors = [said, exact(1) / said, exact(1) + said, exact(1) / (exact(1) + said)]
        if number.unit == "%" and said.high < 1:
            factors += [exact(1) - said, exact(1) / (exact(1) - said)]
        for factor in factors:
            right = rest * factor
            words = slip(own.text, float(right.low / unit), float(right.high / unit))
            if right.high > ROUGH * right.low and (words.endswith("two") or "factor" not in words):
                continue
            if words:
                nearest = min((way for way in ways if way.high > 0), key=lambda way: abs(middle(way) - middle(said)))
                return nearest, f"in {with_unit(own)}: {words}"
    return None
