"""What the numbers of a text count and measure: tokens, steps, GPUs, seconds, joules, bytes, money, and their ratios.

Each number has a type such as tokens / step or GPU × s, from its unit, the noun after it, or its label; the cells of a
table have that of their heading.  A noun that is not known by itself counts where the text gives a rate of it: "vol/s",
"tokens per document".
"""

import functools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise

from scalelens.audit.document import Document, Sentence, TextTable, remembered
from scalelens.audit.printed import POWERS, Number
from scalelens.units import UNITS, factors

Type = tuple[tuple[str, int], ...]  # powers of atoms, sorted
Nouns = Mapping[str, str]  # words of a text that count something, and the atom of each

_ITEMS = "images? img imgs samples? sequences? seqs? examples? sentences? prompts?"
_NOUNS = {
    "item": _ITEMS,
    "token": "tokens? tok toks",
    "gpu": r"gpus? apus? cards? accelerators? devices? ranks? chips? [ahbvl]\d{2,3}s? gh200s? mi\d{3}\w?s?",
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
    "s": "s sec second", "ms": "ms", "us": "us µs", "min": "min minute", "h": "h hr hour", "d": "d day",
    "W": "w watt", "kW": "kw", "MW": "mw", "J": "j joule", "kJ": "kj", "Wh": "wh", "kWh": "kwh", "MWh": "mwh",
    "B": "byte", "kB": "kb", "MB": "mb", "GB": "gb", "TB": "tb",
    "FLOP": "flop", "GFLOP": "gflop", "TFLOP": "tflop", "PFLOP": "pflop",
}  # fmt: skip
_OTHERS = {  # what scalelens.units has no name for: the mass of CO2 and money have no other units here
    "gwh": (_KINDS["energy"], 1000 * factors("MWh")["MWh"]), "pb": (_KINDS["bytes"], 1000 * factors("TB")["TB"]),
    **dict.fromkeys(("gco2", "gco2eq", "gco2e"), ((("co2", 1),), 1.0)),
    **dict.fromkeys(("kg", "kgco2", "kgco2eq", "kgco2e"), ((("co2", 1),), 1e3)),
    **dict.fromkeys(("t", "tonne", "tco2eq", "tco2", "tco2e"), ((("co2", 1),), 1e6)),
    **dict.fromkeys(("eur", "usd", "dollar", "euro"), ((("money", 1),), 1.0)),
}  # fmt: skip
_SIZES: dict[str, tuple[Type, float]] = _OTHERS | {
    word: (_KINDS[UNITS[unit].quantity], float(UNITS[unit].factor))
    for unit, words in _WORDS.items()
    for word in words.split()
}
_TFLOPS = re.compile(r"([gtp]flop)s$")  # a rate: "312 TFLOPS"
_ONE = r"[A-Za-zµ][A-Za-z0-9µ]*"
_WHOLES = "step|second|day|hour|node|gpu|card|epoch|month|year|run"
_JOIN = rf"(?: ?/ ?| per | and (?=token\b)| an? (?=(?:{_WHOLES})\b(?! of))|-(?=(?:hours?|days?|seconds?)\b))"
_PHRASE = rf"({_ONE}(?:{_JOIN}{_ONE})*)"
_TAIL = re.compile(rf" ?{_PHRASE}", re.I)
_LATER = re.compile(
    rf" ?(?:more|such|training|nvidia|amd|dgx|a100|h100|cpu|gpu|compute|[a-z]+ing|[a-z]+ed) {_PHRASE}", re.I
)
_NAMES = r"(?:(?!(?:of|in|on|at|for|with|and|to|per|is|are|the|from|by|as|or|vs|than|an?|each|we)\b)[A-Za-z][\w-]* )"
_FARTHER = re.compile(rf" {_NAMES}{{1,2}}({_ONE})\b(?! ?/| per )", re.I)  # "26,000 time steps", "128 TPU v4 chips"
_NAME_OF_NEXT = re.compile(r" [A-Z][a-z]+ \d+ [A-Z]")  # "Loss 1.63 Epoch 20 Batch 100"
_SPLIT = re.compile(rf"({_JOIN})")
_CO2 = re.compile(r"\b(k?g|t) ?(?:of )?co2\w*", re.I)
_SPELLED = r"(?:\d|\b(?:one|two|three|four|five|six|eight|ten|twelve|sixteen))"
_OF = re.compile(rf"{_SPELLED} ?(?:million |billion |k )?(?:[\w-]+ )?(\w+) (?:of|with|each with) $")
_PLACED = "".join(rf"(?<!{word} )" for word in ("on", "at", "for", "with", "in", "of"))
_EACH = re.compile(rf"(?:{_PLACED}\b(?:each|every|an?|one)|(?:^|[,;:.(] ?)per) (\w+) (?:\w+ ){{1,3}}$")
_BATCH = re.compile(r"\bbatch(?: size)?(?: of| is|:| =|=| holds| has)? $")
_PUE = re.compile(r"\bpue(?: of| is|:| =|=)? $")
_CURRENCY = re.compile(r"[$€] ?$")
_MATH = re.compile(r"\S{0,24}\$")  # "$5 \times 10^3$"
_COUNT = re.compile(r"(?![\d,]+000$)[\d,]+")
_MARKS = re.compile(r"[*_`$\\~]+")
KEY = re.compile(r"^\W*([A-Za-z][A-Za-z0-9/ ()-]*?)(?:\s{2,}|\s*[:=]\s+|\t)(?=[\d$])")
_FILLING = re.compile(
    r"\b(?:total|mean|average|avg|number of|global|used|available|delivered|needed|consumed|in service|in total|"
    r"of the \w+|sum of|all|measured|lost|spent|saved|charged|required)\b|[()]"
)
_QUANTITY = re.compile(
    r"^(?:power|energy|memory|limit|rate|throughput|cost|emissions?|duration|bandwidth|time|size) (?=\w)"
)
_RATE_OF = re.compile(r"\b([a-z]{3,})s?(?: ?/ ?| per )(?:s\b|sec|second|[a-z]{3,})")
_COUNTED = re.compile(
    r"(?<![\w.])\d[\d,]*(?: ?(?:thousand|million|billion|k|M|B))? "
    r"(?!times\b|points\b|hours\b|percents?\b)([a-z]{4,}?)s\b"
)
_LEAST_COUNTED = 2  # places where a text counts something, or has it as a heading
_RATE_FOR = re.compile(r"(?<=[a-z])(?: ?/ ?| per )([a-z]{3,}?)s?\b")
_NOT_COUNTED = re.compile(
    r"and|the|than|then|more|les|less|for|per|with|are|was|wa|has|ha|fewer|one|two|all|each|time|about|cent|day|hour|year|"
    r"month|second|sec|min|minute|week|this|thi|that|from|into|each"
)
_PRECISIONS = {
    4: re.compile(r"\b(?:fp32|float32|full precision)\b", re.IGNORECASE),
    2: re.compile(r"\b(?:bf16|fp16|float16|bfloat16|half precision)\b", re.IGNORECASE),
    1: re.compile(r"\b(?:fp8|int8|8-bit)\b", re.IGNORECASE),
    0.5: re.compile(r"\b(?:int4|nf4|fp4|4-bit)\b", re.IGNORECASE),
}
_WEIGHTS = re.compile(r"\b(?:weights|checkpoint|parameters|model)\b", re.IGNORECASE)
_ROUND = re.compile(r"1(?:,000)*(?: ?(?:thousand|million|billion|trillion|k|M|B|T))?")
_OF_A_MODEL = re.compile(r"[ -](?:model|parameter|param)s?\b")
_ABBREVIATION, _FEW_WORDS = 4, 3
_ELLIPSIS = re.compile(r"\s?(?:,| of| to| and| or|, and|→|->| vs\.?| against| instead of)\s(?:the )?")
_PER = re.compile(r" (?:per|on each|in each|each|to a|in a|on a) (\w+)")
_BRACKETS = re.compile(r"[(\[]([^()\[\]]+)[)\]]")
_SCALES = {**POWERS, "K": 3}  # of a heading: "parameters (B)"
_BITS = 8  # of a power
_MEASURED = ("s", "J", "B", "flop", "co2", "money")


@dataclass(frozen=True)
class Typed:
    """A number with its values in base sizes and what it counts or measures; `is_whole` if its text is all of it."""

    number: Number
    low: float
    high: float
    type: Type
    size: float
    is_whole: bool = True


Column = tuple[Typed | None, ...]
_Place = tuple[Number, int]  # and where it begins


@remembered
def nouns_of(document: Document) -> Nouns:
    """The words of a text, besides those that are known, that it counts twice, or gives a rate of or for each of."""
    text = document.text.lower().replace("_", " ")
    found = {match[1].rstrip("s") for pattern in (_RATE_OF, _RATE_FOR) for match in pattern.finditer(text)}
    counted = Counter(match[1] for match in _COUNTED.finditer(text))
    counted.update(heading.lower().rstrip("s") for table in document.tables for heading in table.headings)
    found |= {word for word, times in counted.items() if times >= _LEAST_COUNTED and word.isalpha()}
    found = {word for word in found if not _NOT_COUNTED.fullmatch(word) and not _atom(word, {})}
    long = {word.rstrip("s") for word in re.findall(rf"[a-z]{{{_ABBREVIATION + 1},}}", text)}
    result: dict[str, str] = {}
    for word in sorted(found):
        names = {each for each in long if each.startswith(word)} if len(word) <= _ABBREVIATION else set()
        result.setdefault(word, word)
        if len(names) == 1:
            result[names.pop()] = word
    return result


def typed_of(sentence: Sentence, nouns: Nouns) -> list[Typed]:
    """The numbers of a sentence that count or measure something that is known; those that it spells out, too."""
    key = KEY.match(sentence.text)
    label = key[1] if key else ""
    is_of_co2 = bool(re.search(r"co2|carbon|emi(?:t|ssion)", sentence.text, re.IGNORECASE))
    result: list[Typed] = []
    following: tuple[int, tuple[Type, float]] | None = None
    places = list(with_places(sentence))
    for number, start in sorted(places, key=lambda pair: -pair[1]):
        if number.low <= 0 or number.unit in ("%", "x") or number.hedge:
            continue
        end = start + len(number.text)
        is_model = number.text[-1] in "BM" and _OF_A_MODEL.match(sentence.text, end)
        found = (
            ((("parameter", 1),), 1.0)
            if is_model
            else _type_of(sentence.text[end:], _before(sentence.text[:start]), label, nouns, is_of_co2)
        )
        if not found and following and _ELLIPSIS.fullmatch(sentence.text[end : following[0]]):
            found = following[1]
        if found:
            following = start, found
            result.insert(0, _typed(number, *found, nouns))
    return _with_durations(sentence, places, _with_each(sentence, places, result, nouns))


def _typed(number: Number, kind: Type, size: float, nouns: Nouns) -> Typed:
    """A number of a type; whole numbers of things that are counted are exact."""
    low, high = float(number.low), float(number.high)
    is_set = kind in ((("step", 1),), (("epoch", 1),))  # "1.5 epochs", "20,000 steps"
    is_exact = is_set or (size == 1.0 and _COUNT.fullmatch(number.text)) or _ROUND.fullmatch(number.text)
    if is_exact and all(atom in _NOUNS or atom in nouns for atom, _ in kind):
        low = high = (low + high) / 2
    return Typed(number, low * size, high * size, kind, size)


def _with_each(sentence: Sentence, places: list[_Place], found: list[Typed], nouns: Nouns) -> list[Typed]:
    """Also the 8 of "2,048 GPUs on 256 nodes (8 per node)": of what is counted before, for each of the others."""
    result = list(found)
    starts = {id(number): start for number, start in places}
    for number, start in places:
        per = _PER.match(sentence.text, start + len(number.text))
        whole = _atom(per[1], nouns) if per else None
        if not whole or number.low <= 0 or any(each.number is number for each in found):
            continue
        counted = [
            each
            for each in found
            if starts[id(each.number)] < start
            and each.size == 1.0
            and not set(whole[0]) & {atom for atom, _ in each.type}
        ]
        if counted and (kind := _type(_over(dict(counted[-1].type), whole[0]))):
            result.append(_typed(number, kind, 1.0 / whole[1], nouns))
    return result


def bytes_of_a_parameter(sentence: Sentence) -> list[Typed]:
    """The bytes of a parameter in the only precision that a sentence on weights names."""
    found = {size for size, words in _PRECISIONS.items() if words.search(sentence.text)}
    if len(found) != 1 or not _WEIGHTS.search(sentence.text):
        return []
    size = Decimal(str(found.pop()))
    number = Number(f"{size} bytes of a parameter", size, size, "", sentence.line, 1, sentence.text)
    return [Typed(number, float(size), float(size), (("B", 1), ("parameter", -1)), 1.0, is_whole=False)]


def with_places(sentence: Sentence) -> Iterator[tuple[Number, int]]:
    for number, (start, _) in zip(sentence.numbers, sentence.positions, strict=True):
        yield number, start
    yield from sentence.spelled


def _with_durations(sentence: Sentence, places: list[_Place], found: list[Typed]) -> list[Typed]:
    """Numbers of which "5 h 40 min" and "2 days 3 hours" are one."""
    starts = {id(number): start for number, start in places}
    joined: dict[int, Typed] = {}
    for a, b in pairwise(found):
        between = sentence.text[starts[id(a.number)] + len(a.number.text) : starts[id(b.number)]]
        if a.type == b.type == (("s", 1),) and a.size > b.size and re.fullmatch(r"\s?[a-z]+(?: and)? ", between):
            low = (a.low + a.high) / 2
            joined[id(a)] = Typed(a.number, low + b.low, low + b.high, a.type, a.size, is_whole=False)
            joined[id(b)] = b
    parts = {id(each) for key, each in joined.items() if key == id(each)}
    return [joined.get(id(each), each) for each in found if id(each) not in parts]


def _before(text: str) -> str:
    return " ".join(_MARKS.sub(lambda marks: "$" if "$" in marks[0] else " ", text).lower().split()) + (
        "" if text.endswith("$") else " "
    )


@functools.lru_cache(maxsize=4096)  # a text has the same words again and again
def _noun(lower: str) -> str | None:
    """What a word counts, by its own meaning."""
    return next((atom for atom, words in _NOUNS.items() if any(re.fullmatch(w, lower) for w in words.split())), None)


def _atom(word: str, nouns: Nouns) -> tuple[dict[str, int], float] | None:
    """What a word counts or measures."""
    lower = word.lower()
    if noun := _noun(lower):
        return {noun: 1}, 1.0
    if rate := _TFLOPS.fullmatch(lower):
        lower = rate[1]
        if word.endswith("S"):
            return {"flop": 1, "s": -1}, _SIZES[lower][1]
    found = _SIZES.get(lower) or _SIZES.get(lower.rstrip("s"))
    if found and word not in ("T", "D", "H", "S", "M", "KG", "mW", "mb", "Mb", "Gb"):
        return dict(found[0]), found[1]
    own = nouns.get(lower) or nouns.get(lower.rstrip("s"))
    return ({own: 1}, 1.0) if own and not found else None


def _type_of(tail: str, before: str, label: str, nouns: Nouns, is_of_co2: bool) -> tuple[Type, float] | None:
    """The type of a number and the size of its unit, from what follows it, stands before it, or is its label."""
    if _PUE.search(before) or label.lower() == "pue":
        return (), 1.0
    tail = _CO2.sub(r"\1co2", tail)
    if _CURRENCY.search(before) and not _MATH.match(tail):
        tail = " usd" + re.sub(r"^ (?!per |an? |/)", "; ", tail)
    if is_of_co2:
        tail = re.sub(r"^ ?g(?= ?/| per )", " gco2", tail)
    match = _phrase(tail, nouns)
    powers: dict[str, int] = {}
    size = 1.0
    if match:
        joined = _joined(match, nouns)
        if not joined:
            return None
        powers, size = joined
        each = _OF.search(before) if len(match) == 1 else None
        each = each or _EACH.search(before)
        if each and (whole := _atom(each[1], nouns)) and not set(whole[0]) & set(powers):
            powers = _over(powers, whole[0])
        if _BATCH.search(before) and powers in ({"item": 1}, {"token": 1}):
            powers["step"] = -1
    elif label:
        return _type_of_label(label, nouns)
    elif _BATCH.search(before):
        powers = {"item": 1, "step": -1}
    if label and powers and (per := _type_of_label(label, nouns, dict(powers))):
        return per[0], size
    kind = _type(powers)
    return (kind, size) if kind else None


def _phrase(tail: str, nouns: Nouns) -> list[str]:
    """The words after a number that say what it counts, split at what joins them; [] if they say nothing."""
    if _NAME_OF_NEXT.match(tail):
        return []
    for pattern in (_TAIL, _LATER):
        words = _SPLIT.split(match[1]) if (match := pattern.match(tail)) else []
        if words and (first := _atom(words[0], nouns)):
            if len(words) > 1 and words[1].strip() in ("a", "an") and first[0] in ({"gpu": 1}, {"node": 1}):
                words = words[:1]  # "on 4 nodes an epoch takes"
            later = _LATER.match(tail) if pattern is _TAIL and len(words) == 1 else None
            more = _SPLIT.split(later[1]) if later else []
            return more if more and _atom(more[0], nouns) else words
    farther = _FARTHER.match(tail)
    return [farther[1]] if farther and farther[1][-1] == "s" and _noun(farther[1].lower()) else []


def _joined(words: list[str], nouns: Nouns) -> tuple[dict[str, int], float] | None:
    """The powers and the size of words joined by `/`, `per` or a hyphen; None if one of them is not a unit."""
    powers, size, sign = dict[str, int](), 1.0, 1
    for k in range(0, len(words), 2):
        found = _atom(words[k], nouns)
        if not found:
            return None
        if k and not words[k - 1].startswith("-"):
            sign = -1  # a hyphen binds: of "$2.20 per GPU-hour", both divide
        _multiply(powers, found[0].items(), sign)
        size *= found[1] ** sign
    return powers, size


def _multiply(powers: dict[str, int], by: Iterable[tuple[str, int]], sign: int) -> None:
    for atom, power in by:
        powers[atom] = powers.get(atom, 0) + sign * power


def _type(powers: dict[str, int]) -> Type:
    return tuple(sorted((atom, power) for atom, power in powers.items() if power))


def _type_of_label(label: str, nouns: Nouns, unit: dict[str, int] | None = None) -> tuple[Type, float] | None:
    """The type that a label such as "images/s per GPU", "steps per epoch" or "step time" gives."""
    plain = _FILLING.sub(" ", label.lower().replace("_", " "))
    plain = _CO2.sub(r"\1co2", " ".join(plain.split()))
    if plain in ("pue", "cost", "costs", "price"):
        return ((), 1.0) if plain == "pue" else ((("money", 1),), 1.0)
    if re.fullmatch(r"batch(?: size)?(?:(?: per | ?/ ?)gpu)?", plain) and not unit:
        powers = {"item": 1, "step": -1, **({"gpu": -1} if "gpu" in plain else {})}
        return tuple(sorted(powers.items())), 1.0
    if unit:
        found = re.fullmatch(r"(?:time per |time / )?(step|epoch|iteration)(?: time)?", plain)
        if found and unit == {"s": 1}:
            return tuple(sorted({"s": 1, "step" if found[1] == "iteration" else found[1]: -1}.items())), 1.0
        if found := re.search(r"(?:\bper |/ ?)(\w+)$", plain):
            whole = _atom(found[1], nouns)
            if not whole or set(whole[0]) & set(unit):
                return None
            return tuple(sorted(_over(unit, whole[0]).items())), 1.0
        return None
    for text in (plain, _QUANTITY.sub("", plain)):
        if joined := _joined(_SPLIT.split(text), nouns):
            return _type(joined[0]), joined[1]
    if (found := re.fullmatch(r"(step|epoch) (ms|s|h|min)", plain)) and (own := _atom(found[2], nouns)):
        return tuple(sorted({"s": 1, found[1]: -1}.items())), own[1]
    return None


def _over(powers: dict[str, int], whole: dict[str, int]) -> dict[str, int]:
    result = dict(powers)
    _multiply(result, whole.items(), -1)
    return dict(_type(result))


def codes_of(types: Iterable[Type]) -> dict[Type, int]:
    """A number for each type, so that the type of a product has the sum of theirs, and of a quotient the difference."""
    places: dict[str, int] = {}
    return {each: sum(power << _BITS * places.setdefault(atom, len(places)) for atom, power in each) for each in types}


def multiplied(operands: Iterable[Typed], signs: Iterable[int]) -> tuple[float, float]:
    """The ends of a product in base sizes; a sign of -1 divides."""
    low = high = 1.0
    for each, sign in zip(operands, signs, strict=True):
        low *= each.low if sign > 0 else 1 / each.high
        high *= each.high if sign > 0 else 1 / each.low
    return low, high


def columns_of(table: TextTable, nouns: Nouns) -> list[Column]:
    """The columns that have a type."""
    every = range(len(table.headings))
    return [c for k in every if (c := _typed_series(table.headings[k], [row[k] for row in table.cells], nouns))]


def rows_of(table: TextTable, nouns: Nouns) -> list[Column]:
    """The rows that have a type, by their labels."""
    rows = zip(table.texts, table.cells, strict=True)
    return [c for texts, row in rows if (c := _typed_series(texts[0], list(row[1:]), nouns))]


def _sized(joined: tuple[dict[str, int], float]) -> tuple[Type, float]:
    return _type(joined[0]), joined[1]


def _counted(label: str, nouns: Nouns) -> tuple[Type, float] | None:
    """What "concurrent users" counts: the last of a few words."""
    words = label.lower().split()
    found = _atom(words[-1], nouns) if 1 < len(words) <= _FEW_WORDS and not re.search(r"/|\bper\b", label) else None
    kind = _type(found[0]) if found else ()
    return (kind, 1.0) if found and all(atom not in _MEASURED for atom, _ in kind) else None


def _typed_series(label: str, numbers: list[Number | None], nouns: Nouns) -> Column:
    """Numbers below a heading (or beside the label of a row) with the type that it gives; () without one."""
    inner = _BRACKETS.findall(label)
    units = {n.unit for n in numbers if n}
    scale = 10.0 ** next((_SCALES[each] for each in inner if each in _SCALES), 0)
    outer = _BRACKETS.sub(" ", label).strip()
    given = (*inner, outer, *(units if len(units) == 1 else ()))
    kinds = [_sized(joined) for each in inner if (joined := _joined(_SPLIT.split(each), nouns))]
    kinds += [found for each in given if (found := _type_of_label(each, nouns))]
    measured = [kind for kind in kinds if any(atom in _MEASURED for atom, _ in kind[0])]
    found = measured[0] if measured else _type_of_label(outer, nouns) or _counted(outer, nouns)
    if not found:
        return ()
    kind, size = found[0], found[1] * scale
    if per := _type_of_label(outer, nouns, dict(kind)):
        kind = per[0] if len(per[0]) > len(kind) else kind
    return tuple(_typed(n, kind, size, nouns) if n and n.low > 0 and not n.hedge else None for n in numbers)
