"""What a sentence computes, by what its numbers count and measure: tokens, steps, GPUs, seconds, joules, bytes, money.

"1.2 trillion tokens at 4.19 million tokens a step need 286,100 steps", "384 GPUs for 117 days are 1.08M GPU-hours",
"475 MWh at 57 gCO2/kWh are 27.1 tonnes", and lines of a report such as "steps per epoch   156".  Each number has a type
such as tokens / step or GPU × s, from its unit, the noun after it, or its label.  Products and quotients of two or
three numbers nearby whose types fit exactly are few, so that a slip away from the only one of them shows an error.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations, product

from scalelens.audit.document import Document, Sentence
from scalelens.audit.evidence import by_chance, digits_of
from scalelens.audit.finding import Finding
from scalelens.audit.forms.slips import slip
from scalelens.audit.printed import Bounds, Number
from scalelens.audit.prose.accusing import LOG
from scalelens.audit.prose.of_cells import distinct, is_measured_twice
from scalelens.audit.wording import about, matters, with_unit
from scalelens.units import UNITS, factors

Type = tuple[tuple[str, int], ...]  # powers of atoms, sorted

_ITEMS = "images? img imgs samples? sequences? seqs? examples? sentences? prompts?"
_NOUNS = {
    "item": _ITEMS,
    "token": "tokens? tok toks",
    "gpu": r"gpus? cards? accelerators? devices? ranks? chips? [ahbvl]\d{2,3}s? gh200s? mi\d{3}\w?s?",
    "gcd": "gcds? stacks? tiles?",
    "node": "nodes? servers? hosts? machines?",
    "step": "steps? iterations? iters?",
    "epoch": "epochs?",
    "parameter": "parameters? params? weights?",
    "request": "requests? req reqs queries query",
    "layer": "layers?",
}
_KINDS: dict[str, Type] = {
    "time": (("s", 1),), "power": (("J", 1), ("s", -1)), "energy": (("J", 1),), "bytes": (("B", 1),),
    "operations": (("flop", 1),),
}  # fmt: skip
_WORDS = {
    "s": "s sec second", "ms": "ms", "us": "us", "min": "min minute", "h": "h hr hour", "d": "d day",
    "W": "w watt", "kW": "kw", "MW": "mw", "J": "j joule", "kJ": "kj", "Wh": "wh", "kWh": "kwh", "MWh": "mwh",
    "B": "byte", "kB": "kb", "MB": "mb", "GB": "gb", "TB": "tb",
    "FLOP": "flop", "GFLOP": "gflop", "TFLOP": "tflop", "PFLOP": "pflop",
}  # fmt: skip
_OTHERS = {  # what scalelens.units has no name for: the mass of CO2 and money have no other units here
    "gwh": (_KINDS["energy"], 1000 * factors("MWh")["MWh"]), "pb": (_KINDS["bytes"], 1000 * factors("TB")["TB"]),
    **dict.fromkeys(("gco2", "gco2eq", "gco2e"), ((("co2", 1),), 1.0)),
    **dict.fromkeys(("kg", "kgco2", "kgco2eq"), ((("co2", 1),), 1e3)),
    **dict.fromkeys(("t", "tonne", "tco2eq", "tco2"), ((("co2", 1),), 1e6)),
    **dict.fromkeys(("eur", "usd"), ((("money", 1),), 1.0)),
}  # fmt: skip
_SIZES: dict[str, tuple[Type, float]] = _OTHERS | {
    word: (_KINDS[UNITS[unit].quantity], float(UNITS[unit].factor))
    for unit, words in _WORDS.items()
    for word in words.split()
}
_TFLOPS = re.compile(r"([gtp]flop)s$")  # a rate: "312 TFLOPS"
_ONE = r"[A-Za-zµ][A-Za-z0-9µ]*"
_JOIN = r"(?: ?/ ?| per | a (?=(?:step|second|day|node|gpu|epoch)\b)|-(?=(?:hours?|days?|seconds?)\b))"
_TAIL = re.compile(
    rf" ?(?:(?:more|such|training|nvidia|amd|dgx|a100|h100|[a-z]+ing) )?({_ONE}(?:{_JOIN}{_ONE})*)", re.I
)
_SPLIT = re.compile(rf"({_JOIN})")
_OF = re.compile(r"\d ?(?:million |billion |k )?(?:[\w-]+ )?(\w+) (?:of|with|each with) $")
_EACH = re.compile(r"\b(?:each|every|per|an?|one) (\w+) (?:\w+ ){1,3}$")
_BATCH = re.compile(r"\bbatch(?: size)?(?: of| is|:| =|=| holds| has)? $")
_PUE = re.compile(r"\bpue(?: of| is|:| =|=)? $")
_COUNT = re.compile(r"(?![\d,]+000$)[\d,]+")
_MARKS = re.compile(r"[*_`$\\~]+")
_KEY = re.compile(r"^\W*([A-Za-z][A-Za-z0-9/ ()-]*?)(?:\s{2,}|\s*[:=]\s+|\t)(?=[\d$])")
_NEAR, _NEAR_LINES = 4, 14  # sentences before a number, and lines, of which numbers may explain it
_MOST = 12  # of these numbers
_BY_CHANCE = 0.03  # how many unrelated numbers a slip may be expected to mend
_CONFIRMED = 0.1  # of that, where two ways without a number in common give the same
_WIDE = 1.06  # ends of a product that are farther apart tell nothing
_NEARLY = 0.006  # by which rounded operands may miss
_LEAST_DIGITS = 2
_SLIPS = ("swapped", "ten", "a thousand", "60", "3,600", "differs")


@dataclass(frozen=True)
class Typed:
    """A number with its values in base sizes and what it counts or measures."""

    number: Number
    low: float
    high: float
    type: Type
    size: float


def find(document: Document) -> Iterator[Finding]:
    """Numbers that are a slip away from what numbers of fitting types around them give."""
    typed = [typed_of(sentence) for sentence in document.sentences]
    forms = [sentence.form for sentence in document.sentences]
    for index, sentence in enumerate(document.sentences):
        if not typed[index] or forms.count(sentence.form) >= LOG:
            continue
        is_key = bool(_KEY.match(sentence.text))
        back = _NEAR_LINES if is_key else _NEAR
        own = typed[index]
        around = [
            each
            for k in range(max(0, index - back), min(len(typed), index + (back if is_key else 1)))
            if k != index and abs(document.sentences[k].line - sentence.line) <= _NEAR_LINES
            for each in typed[k]
        ]
        accused = []
        for target in own:
            if target.number.hedge or document.times[target.number.text, target.number.unit] > 1:
                continue
            operands = [each for each in [*own, *around] if each is not target][:_MOST]
            if found := _accused(target, operands):
                accused.append((found[2], target, found))
        for _, target, (given, words, _) in sorted(accused, key=lambda each: each[0])[:1]:
            yield _finding(target, given, words)


def typed_of(sentence: Sentence) -> list[Typed]:
    """The numbers of a sentence that count or measure something that is known."""
    key = _KEY.match(sentence.text)
    label = key[1] if key else ""
    result = []
    for number, (start, _) in zip(sentence.numbers, sentence.positions, strict=True):
        if number.low <= 0 or number.unit in ("%", "x"):
            continue
        before = _before(sentence, number)
        tail = sentence.text[start + len(number.text) :]
        found = _type_of(tail, before, label)
        if found:
            kind, size = found
            low, high = float(number.low), float(number.high)
            if _COUNT.fullmatch(number.text) and all(atom in _NOUNS for atom, _ in kind):
                low = high = (low + high) / 2
            result.append(Typed(number, low * size, high * size, kind, size))
    return result


def _before(sentence: Sentence, number: Number) -> str:
    start = sentence.positions[sentence.numbers.index(number)][0]
    return " ".join(_MARKS.sub(" ", sentence.text[:start]).lower().split()) + " "


def _atom(word: str) -> tuple[dict[str, int], float] | None:
    """What a word counts or measures."""
    lower = word.lower()
    for atom, words in _NOUNS.items():
        if any(re.fullmatch(each, lower) for each in words.split()):
            return {atom: 1}, 1.0
    if rate := _TFLOPS.fullmatch(lower):
        lower = rate[1]
        if word.endswith("S"):
            return {"flop": 1, "s": -1}, _SIZES[lower][1]
    found = _SIZES.get(lower) or _SIZES.get(lower.rstrip("s"))
    if not found or word in ("T", "D", "H", "S", "M", "KG"):
        return None
    if word in ("mW", "mb", "Mb", "Gb"):
        return None
    return dict(found[0]), found[1]


def _type_of(tail: str, before: str, label: str) -> tuple[Type, float] | None:
    """The type of a number and the size of its unit, from what follows it, stands before it, or is its label."""
    powers: dict[str, int] = {}
    size = 1.0
    if _PUE.search(before) or label.lower() == "pue":
        return (), 1.0
    match = _TAIL.match(tail)
    words = _SPLIT.split(match[1]) if match else []
    if words and _atom(words[0]):
        joined = _joined(words)
        if not joined:
            return None
        powers, size = joined
        each = (_OF.search(before) or _EACH.search(before)) if len(words) == 1 else None
        if each and (whole := _atom(each[1])):
            powers = _over(powers, whole[0])
    elif label:
        return type_of_label(label)
    elif _BATCH.search(before):
        powers = {"item": 1, "step": -1}
    if label and powers and (per := type_of_label(label, dict(powers))):
        return per[0], size
    kind = _type(powers)
    return (kind, size) if kind else None


def _joined(words: list[str]) -> tuple[dict[str, int], float] | None:
    """What words give with a `/`, a `per` or a hyphen between any two, and its size; None if one of them is no unit."""
    powers, size = dict[str, int](), 1.0
    for k in range(0, len(words), 2):
        found = _atom(words[k])
        if not found:
            return None
        sign = -1 if k and not words[k - 1].startswith("-") else 1
        _multiply(powers, found[0].items(), sign)
        size *= found[1] ** sign
    return powers, size


def _multiply(powers: dict[str, int], by: Iterable[tuple[str, int]], sign: int) -> None:
    for atom, power in by:
        powers[atom] = powers.get(atom, 0) + sign * power


def _type(powers: dict[str, int]) -> Type:
    return tuple(sorted((atom, power) for atom, power in powers.items() if power))


def type_of_label(label: str, unit: dict[str, int] | None = None) -> tuple[Type, float] | None:
    """The type that a label such as "images/s per GPU", "steps per epoch" or "step time" gives."""
    plain = re.sub(r"\b(?:total|mean|average|number of|global)\b|[()]", " ", label.lower())
    plain = re.sub(r"\b(k?g|t) ?co2\w*", r"\1co2", " ".join(plain.split()))
    if plain == "pue":
        return (), 1.0
    if re.fullmatch(r"batch(?: size)?(?: per gpu)?", plain) and not unit:
        powers = {"item": 1, "step": -1, **({"gpu": -1} if "gpu" in plain else {})}
        return tuple(sorted(powers.items())), 1.0
    if unit:
        if (found := re.fullmatch(r"(?:time per )?(step|epoch|iteration)(?: time)?", plain)) and unit == {"s": 1}:
            return tuple(sorted({"s": 1, "step" if found[1] == "iteration" else found[1]: -1}.items())), 1.0
        if found := re.search(r"\bper (\w+)$", plain):
            whole = _atom(found[1])
            return (tuple(sorted(_over(unit, whole[0]).items())), 1.0) if whole else None
        return None
    joined = _joined(_SPLIT.split(plain))
    return (_type(joined[0]), joined[1]) if joined else None


def _over(powers: dict[str, int], whole: dict[str, int]) -> dict[str, int]:
    result = dict(powers)
    _multiply(result, whole.items(), -1)
    return dict(_type(result))


def combined(operands: tuple[Typed, ...], signs: tuple[int, ...]) -> Type:
    """The type of a product; a sign of -1 divides."""
    powers: dict[str, int] = {}
    for each, sign in zip(operands, signs, strict=True):
        _multiply(powers, each.type, sign)
    return _type(powers)


def multiplied(operands: Iterable[Typed], signs: tuple[int, ...]) -> tuple[float, float]:
    """The ends of a product in base sizes; a sign of -1 divides."""
    low = high = 1.0
    for each, sign in zip(operands, signs, strict=True):
        low *= each.low if sign > 0 else 1 / each.high
        high *= each.high if sign > 0 else 1 / each.low
    return low, high


@dataclass(frozen=True)
class _Given:
    low: float
    high: float
    operands: tuple[Typed, ...]
    text: str


def _expressions(target: Typed, operands: list[Typed]) -> Iterator[_Given]:
    """Products and quotients of two or three numbers of the type of the target; a power is that of each device."""
    wanted = {target.type}
    atoms = dict(target.type)
    if "epoch" in atoms:
        wanted.add(tuple((atom, power) for atom, power in target.type if atom != "epoch"))
    if "J" in atoms and "gpu" not in atoms:
        wanted.add(tuple(sorted({**atoms, "gpu": 1}.items())))
    for many in (2, 3):
        for chosen in combinations(operands, many):
            for signs in product((1, -1), repeat=many):
                if signs.count(-1) == many or combined(chosen, signs) not in wanted or _cancel(chosen, signs):
                    continue
                low, high = multiplied(chosen, signs)
                text = " ".join(f"{'×' if sign > 0 else '/'} {n}" for n, sign in zip("abc", signs, strict=False))
                if high < _WIDE * low:
                    yield _Given(low / target.size, high / target.size, chosen, text.removeprefix("× "))


def _cancel(chosen: tuple[Typed, ...], signs: tuple[int, ...]) -> bool:
    """Whether two numbers of one type are divided: a third one would only be scaled."""
    up, down = ({each.type for each, own in zip(chosen, signs, strict=True) if own == sign} for sign in (1, -1))
    return bool(up & down)


def _accused(target: Typed, operands: list[Typed]) -> tuple[_Given, str, float] | None:
    """What gives the number but for a slip, the slip, and how likely it is by chance; None if that is too likely."""
    if digits_of(target.number.text) < _LEAST_DIGITS or not target.type:
        return None
    number = target.number
    given = list(_expressions(target, operands))
    own_low, own_high = target.low / target.size, target.high / target.size
    half = (float(number.high) - float(number.low)) / 2
    if any(e.low * (1 - _NEARLY) <= own_high + half and own_low - half <= e.high * (1 + _NEARLY) for e in given):
        return None
    plain, scale = _plain(number.text)
    found = [(each, words) for each in given if (words := slip(plain, each.low / scale, each.high / scale))]
    found = [pair for words in _SLIPS for pair in found if pair[1].endswith(words)]
    found = [pair for pair in found if pair[1] == found[0][1]]
    if not found:
        return None
    each, words = min(found, key=lambda pair: pair[0].high - pair[0].low)
    if is_measured_twice(words, (own_low, own_high), (each.low, each.high)):
        return None
    width = max(1.0, (each.high - each.low) / max(2 * half, 1e-12)) if half else 1.0
    many = distinct((one.low, one.high) for one in given)
    sources = [{id(o) for o in pair[0].operands} for pair in found]
    chance = many * by_chance(words, digits_of(number.text)) * width
    chance *= _CONFIRMED if any(not (a & b) for a, b in combinations(sources, 2)) else 1.0
    return (each, words, chance) if chance <= _BY_CHANCE else None


def _plain(text: str) -> tuple[str, float]:
    """The digits of a number such as "1.02 million", and the size of the word."""
    found = re.fullmatch(r"([\d.,]+) ?(thousand|million|billion|trillion|k|M|B|T)", text)
    sizes = {"thousand": 1e3, "k": 1e3, "million": 1e6, "M": 1e6, "billion": 1e9, "B": 1e9, "trillion": 1e12, "T": 1e12}
    return (found[1], sizes[found[2]]) if found else (text, 1.0)


def _finding(target: Typed, given: _Given, words: str) -> Finding:
    number, operands = target.number, [each.number for each in given.operands]
    *names, last = [with_unit(each) for each in operands]
    of = f"{', '.join(names)} and {last}"
    right = Bounds(Decimal(str(given.low)), Decimal(str(given.high)))
    return Finding(
        "inconsistent",
        (number, *operands),
        f"{with_unit(number)} does not follow from {of}: these give {about((right.low + right.high) / 2)} ({words}).",
        matters(number.bounds, right),
        given.text,
    )
