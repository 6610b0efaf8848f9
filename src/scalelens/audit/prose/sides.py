"""Whether a side of an equation holds nothing but numbers, signs, units and things that are counted.

A line is only accused where every word of both sides is understood: a name may stand for another number, a word such as
"at" or "across" says that the number before it is of something else, and `name=8` sets a name.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

from scalelens.audit.prose.arithmetic import Token, Value
from scalelens.audit.units import COUNTED, canonical

_MACRO = re.compile(r"\\(?!times\b|cdot\b|approx\b)[A-Za-z]+")
_TEXT_OF_MATH = re.compile(r"\\(?:mathrm|mathbf|text|textbf|textrm|operatorname)\s?\{([^{}]*)\}")
_SPACE_OF_MATH = re.compile(r"\\[ ,;:!]")
# What comes right before an expression that is only a part of what the line speaks of.
_OF_SOMETHING_ELSE = {
    "at", "across", "for", "shape", "on", "in", "per", "by", "from", "to", "step", "about", "over", "after", "within",
    "than", "each", "every", "into", "between", "under", "above", "below",
}  # fmt: skip
_ASSIGNED = re.compile(r"[A-Za-z_]\Z")
_COLUMNS = re.compile(r"\s{3,}\Z")  # columns of equations below each other
_SHAPE = re.compile(r"(?<![\w.,])\d+[×x]\d+(?![\w.,])")  # 2×3 × 3×4
_SPACED = re.compile(r"\d\s+[×x*]\s+\d")
_TIMES_A_DEVICE = re.compile(r"\d[×x] \d")  # 4× 5090
_LIST_OF_SHARES = re.compile(r"%\s*/\s*[\d.]+\s?%")
_NOT_READ = re.compile(
    r"\b\d{1,2}:\d{2}\b|[⁰¹²³⁴-⁹⁻]|\d,\d{1,2}(?!\d)|\d\s?[万亿億千百]|\d\s?(?:lakh|crore)|\d[acefijlnopqruvyzD](?!\w)"
)  # nor a decimal comma, a time of day, 4D
_SHARE_OF = re.compile(r"\s*[~≈]?\s*[\d.,]+\s?%\s+of\b")
_USED_OF = re.compile(r"\s*\d+/\d+(?!\d)")  # 8×3 = 28/32 registers
_SET = re.compile(r"[A-Za-z_]=\Z")
_NOUN = re.compile(r"[a-zµ$%]+\Z")
_TIMES = {"ns", "µs", "ms", "s", "min", "h", "d"}
_LESS = ("less", "fewer", "smaller", "lower", "cheaper", "shorter")
_BYTES = {"B", "kB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB"}
OF_ELEMENTS = (2.0, 4.0, 8.0, 0.5)  # bytes of each, which a product of dimensions leaves out


def without_macros(line: str) -> str:
    """A line with the texts of its formulas as texts, each in its place."""
    line = _TEXT_OF_MATH.sub(lambda found: found[1].ljust(len(found[0])), line)
    return _SPACE_OF_MATH.sub("  ", line).replace("{,}", ",")


def are_understood(
    left: Value, left_text: str, left_tokens: list[Token], right: Value, right_text: str, right_tokens: list[Token]
) -> bool:
    """Whether both sides are, and may be compared."""
    if is_unread(left_text) or is_unread(right_text):
        return False
    if "/" not in left.operators and (_SHARE_OF.match(right_text) or _USED_OF.match(right_text)):
        return False
    if _COLUMNS.search(left_text) or (_ASSIGNED.search(left_text) and not _ends_with_a_unit(left_text)):
        return False
    if any(_LIST_OF_SHARES.search(text) or _TIMES_A_DEVICE.search(text) for text in (left_text, right_text)):
        return False
    if any(_SHAPE.search(text) and (_SPACED.search(text) or other) for text, other in _shapes(left_text, right_text)):
        return False
    if _goes_on(right, right_tokens) or any(map(_has_word_before_a_number, (left_tokens, right_tokens))):
        return False
    return _begins_by_itself(left, left_text, left_tokens) and _in_like_units(left, left_tokens, right)


def is_unread(text: str) -> bool:
    """Whether a side has a macro, or digits in a notation that is not read."""
    return bool(_MACRO.search(text) or _NOT_READ.search(text))


def _shapes(left_text: str, right_text: str) -> Iterator[tuple[str, bool]]:
    """Both sides, and whether the other one is a shape and nothing else."""
    for text, other in ((left_text, right_text), (right_text, left_text)):
        yield text, bool(_SHAPE.fullmatch(other.strip()))


def _ends_with_a_unit(text: str) -> bool:
    last = re.search(r"[\w/%µ]+\Z", text)
    return bool(last and canonical(last[0]) and (last[0].islower() or canonical(last[0]) == last[0]))


def _begins_by_itself(value: Value, text: str, tokens: list[Token]) -> bool:
    """Whether nothing before an expression makes it a part of something else, and no name stands in it."""
    first = value.numbers[0].start
    before = [token for token in tokens if token.start < first]
    if any(token.kind in ("operator", "power") for token in before):
        return False  # a part of a product: "32 × grad-accum 8 × seq 1024"
    opened = 0
    while before and before[-1].kind == "open":
        before.pop()
        opened += 1
    if before and before[-1].kind == "word" and before[-1].text.lower() in _OF_SOMETHING_ELSE:
        return False
    if opened and before and before[-1].kind in ("word", "number") and text.rstrip().endswith(")"):
        return False  # "~1 ms/tok (200 kernels × 5 µs) ≈": the brackets explain what stands before them
    words = [token.text for token in tokens if token.start > first and token.kind in ("word", "other")]
    return all(_NOUN.match(word) or canonical(word) for word in words)


def is_setting(line: str, begin: int, left: Value) -> bool:
    """Whether a side is the value of a name: the 4 of `PP=8 × VP=4 = 32 chunks × 1 layer`."""
    return bool(_SET.search(line, 0, begin)) and not left.operators


def may_be_upside_down(left: Value, left_tokens: list[Token], right: Value) -> bool:
    """Whether a quotient of two unlike units may be meant the other way: "16.7 GiB/tok ÷ 608 GB/s = 36 tok/s"."""
    if left.operators != ("/",) or not right.after:
        return False
    may_be = left.after or right.after[0] in _LESS
    if may_be and left.low > 0 and right.low <= 1 / left.low and 1 / left.high <= right.high:
        return True  # "1276 classes / 3601 samples = 2.8 samples per class", "16/1024 = 64x less memory"
    over = next(place for place, token in enumerate(left_tokens) if token.text == "/" and token.kind == "operator")
    above, below = (
        {token.text for token in part if token.kind == "word" and "/" in token.text}
        for part in (left_tokens[:over], left_tokens[over:])
    )
    return bool(above) and bool(below) and not above & below


def room_of_measured(tokens: list[Token]) -> float:
    """By which share a product may be off because whole numbers in it are measured times: 4 × 175 us."""
    return sum(
        0.5 / max(float(token.text.replace(",", "")), 1.0)
        for token, unit in pairwise(tokens)
        if token.kind == "number" and token.text.isdigit() and _kind(canonical(unit.text)) == "time"
    )


def is_cut(left: Value, right: Value) -> bool:
    """Whether a division of whole numbers may have lost its rest: 223 / 2 + 1 = 112."""
    numbers = (*left.numbers, *right.numbers)
    return "/" in left.operators and "+" in left.operators and all(number.text.isdigit() for number in numbers)


def _goes_on(value: Value, tokens: list[Token]) -> bool:
    """Whether something that was not read stands between an expression and a further sign: 4 × 16 节点 × 4."""
    rest = [token.kind for token in tokens if token.start > value.numbers[-1].start]
    sign = next((place for place, kind in enumerate(rest) if kind in ("operator", "power")), None)
    return sign is not None and "other" in rest[:sign]


def _has_word_before_a_number(tokens: list[Token]) -> bool:
    """Whether a word follows a slash: `seq 8192/pdbs 4` names two settings."""
    triples = zip(tokens, tokens[1:], tokens[2:], strict=False)
    return any(a.text == "/" and (b.kind, c.kind) == ("word", "number") for a, b, c in triples)


def _in_like_units(left: Value, left_tokens: list[Token], right: Value) -> bool:
    """Whether no side is a time where the other one is of bytes or a share, as far as products and sums go."""
    if "/" in (*left.operators, *right.operators):
        return True
    first = left.numbers[0].start
    units = {canonical(token.text) for token in left_tokens if token.kind == "word" and token.start > first} - {""}
    others = {canonical(word) for word in right.after[:1]} - {""} | {"%" for n in right.numbers if n.suffix == "%"}
    counted = {unit for unit in units if unit in COUNTED}
    if counted and others and others <= set(COUNTED) and not others & counted:
        return False  # "2 domains × 18 nodes = 144 GPUs": how many a node has is left out
    if "%" in others and "%" not in units and all(number.suffix != "%" for number in left.numbers):
        return False
    kinds = [{_kind(unit) for unit in each} for each in (units, others)]
    return not kinds[0] or not kinds[1] or bool(kinds[0] & kinds[1]) or "" in kinds[0] | kinds[1]


def _kind(unit: str) -> str:
    return "time" if unit in _TIMES else "bytes" if unit in _BYTES else "share" if unit == "%" else ""


def is_of_elements(value: Value, other: Value, other_in_bytes: bool) -> bool:
    """Whether a side counts elements, by no unit of its own, that the other one has in bytes."""
    return other_in_bytes and not value.has_words and not value.after and "*" in value.operators and not other.operators
