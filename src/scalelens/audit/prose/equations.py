"""Equations between numbers that a text writes out: "8 nodes × 4 GPUs = 32 GPUs", "512 + 4 = 516".

Words and units may stand between the numbers, and a factor between units may be left out where they do.  An equation
with a name in place of a number is not checked.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal

from scalelens.audit.document import Document
from scalelens.audit.finding import Finding
from scalelens.audit.forms.slips import slip
from scalelens.audit.printed import Bounds, Number, bounds_of
from scalelens.audit.prose.arithmetic import Token, Value, scales, tokens_of, value_at_end, value_at_start
from scalelens.audit.prose.sides import (
    OF_ELEMENTS,
    are_understood,
    is_cut,
    is_of_elements,
    is_setting,
    is_unread,
    may_be_upside_down,
    room_of_measured,
    without_macros,
)
from scalelens.audit.units import COUNTED, canonical
from scalelens.audit.wording import about, matters

_EQUALS = re.compile(r"(?<![=<>!:+*/-])\s*(=|≈|≃|\\approx|~=|=\s?~|==>|=>)(?![=>])\s*")
_ABOUT = re.compile(r"\s*(?:~|≈|about|approximately|approx\.?|around|roughly|circa|ca\.)\s*")
_BULLET = re.compile(r"^\s*(?:[-*+•>]|\d{1,2}[.)]|#+)\s+")
_MARKUP = re.compile(
    r"(?<![\w)])\*\*|\*\*(?=\d+\*\*)|\*\*(?![\w(])|(?<![\d\s*])\*(?![\s*])|(?<![\s*])\*(?![\d\s*])|[`_{}]|\$(?!\d)|\$(?=[^$=]*=[^$]*\$)|\\[,;]|https?://\S+|<[^<>]*>|"
    r"\((?=[A-Za-z])[A-Za-z][\w ,/-]*\)|(?<=\d)-(?=[A-Za-z]{2})(?![A-Za-z]+\))"  # (GAT), 128-dim; not (3-phi)
)
_EUROPEAN = re.compile(r"[$€£]\s?\d{1,3}\.\d{3}(?!\d)|\d{1,3}\.\d{3}\.\d{3}")  # ten thousand as 10.000
_EXPONENT = re.compile(r"\^\s?\{[^{}]*[^\d{}\s.-][^{}]*\}")  # more than a number
_SIGN_OF_MONEY = re.compile(r"[$€£](?=\d)")
_QUOTIENT = re.compile(
    r"(?<![\d.,+*/-])(?<![+*/×·-] )[\d.,]+ ?([A-Za-zµ%]*(?:/[A-Za-z]+)?) *[/÷] *"
    r"[\d.,]+ ?([A-Za-zµ%]*(?:/[A-Za-z]+)?) *$"
)
_BARE = re.compile(r" *[\d.,]*\d *(?:$|[),;:—–])")
_PREFIXED = re.compile(
    r"[kKMGTP](?:i?B|[A-Z][A-Za-z/]*)$|(?:kilo|mega|giga|tera)bytes?$|(?:m|b|tr)illions?$", re.IGNORECASE
)
_PURE = re.compile(r" *[\d.,]+ ?(?:%|[xX×])(?!\w)")
_OF_A_NAME = re.compile(  # BKV*D*2, (BKV + D) * 2
    r"(?:[A-Za-z_\]]|\([^()]*[A-Za-z_][^()]*\)|[A-Za-z_(]\([^()]*\)|\)\))\s?[*×·+/-]\s?[\d.,]+\s*$"
)
_FUNCTION = re.compile(r"\b(?:sqrt|log2?|ln|exp|ceil|floor|round|max|min|cdiv|pow|abs|mod|sum|mean)\s?\(|→|->")
_TIMES_A_NAME = re.compile(  # 0.476× AR at block 4
    r"[×*] ?(?:the|its|an?|that)\s|[×*] ?(?:[A-Za-z]\w*\s+)+(?:at|for|on|in|with|from|of)\s"
)
_OF_ITEMS = re.compile(
    r"\b(?:floats?|ints?|halfs?|elements?|elems|values?|params?|parameters|weights?|entries|doubles?|bf16|fp16|fp32|int\d+)\b|"
    r"\d[BM] ?[x×*]|[x×*] ?\d+[BM]\b"  # of some bytes each; B may be bytes, too
)
_EACH = re.compile(r"(?<=\d)\s?/\s?[A-Za-z]{2,}(?!\w|\s?[\^*(])")  # "1,780/month"
_EXPLAINED = re.compile(
    r"(?<![\w.,/×*+=~≈-])(?<![×*/+=-] )(?<!\d )(?P<t>\d[\d.,]*\d? ?(?:%|x\b|×)?[A-Za-zµ/]*)"
    r"\*{0,2},? \(\*{0,2}(?:= ?|i\.e\.,? )?"
    r"(?P<e>[^()=≈<>→;:]*\d[^()=≈<>→;:]* ?[/×*÷+·] ?\d[^()=≈<>→;:,]*?)(?:, [a-z][^()]*)?\)"
)
_COMPARED = re.compile(r"^\W*(?:vs\.?|versus|than|against|instead of|was|from|not)\s", re.IGNORECASE)
_SLASHED = re.compile(
    r"[\d.]+(?: [^\W\d]+)? ?/ ?[\d.]+(?: [^\W\d]+)? ?/ ?[\d.]+(?: [^\W\d]+)? *$"
)  # "1/2/4/8 = 0.77/0.87/0.96/1.00": one for each
_LISTED = re.compile(r"(?<=[\w%]),\s|\d ?(?P<a>[A-Za-z]{2,}) / [\d.,]+ ?(?P<b>[A-Za-z]{2,})")
_EXPLAINS = re.compile(r"\w *\([^()]*\)\W*$")
_VERSUS = re.compile(r"\b(?:vs\.?|versus|against)\s[^=]*$|→[^=]*$")
_FRACTION = re.compile(r"(?:(?<=\s)|^)\d+/\d+(?:\s*$| [A-Za-z])")
_RATE = re.compile(r"[\d.,]+ [a-z]+/(?:s|sec|second|min|minute|h|hour|day)\b")  # "3 × 30 = 36.7 games/min": measured
_END = re.compile(r"[,;:|?!\"]\s|\.\s|[;|]")
_NEARLY = 0.06  # what "about" allows
_NOISE = 1e-9  # of numbers that are not exact in binary
_ROUNDED = 0.01  # where words stand between the numbers
_FAR_MORE = 3  # digits
_OF_A_MEAN = re.compile(r"\b(?:average|avg|mean)\b")  # a whole number that was rounded
_SPANS = re.compile(r"\b[A-Z]\w*[- ](?:hours?|days?|years?)\b|\b(?:days?|years?)\b")
_BYTES = re.compile(r"[kKMGT]i?B\b|\bbytes?\b")
_OTHER = {"and", "or", "with", "for", "at", "to", "then", "if", "on", "lr", "while"}  # something else begins
_LONGEST = 2000  # characters
_LEAST_DIGITS, _MANY_DIGITS = 2, 3
_IN_DIGITS = ("two digits are swapped", "one digit differs")
_OFTEN = ("two", "60", "3,600", "a thousand", "a million")  # factors that a text may leave out
_QUOTED = re.compile(r"\b(?:incorrect|wrong|bug|typo|expected)\b", re.IGNORECASE)
_NAMED = re.compile(r"^\S+$|\d\s+[A-Za-z_]\w*$")  # the value of a name alone, or with the next name
_GLUED = re.compile(r"[A-Za-z_]\w*=$")
_SHOWN = 60
_POWERS = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_CHANNELS = (3, 4)
_MUCH = 100


def find(document: Document) -> Iterator[Finding]:
    """Equations of which both sides are numbers and differ."""
    for index, line in enumerate(document.lines, 1):
        if (
            ("=" not in line and "≈" not in line)
            or len(line) > _LONGEST
            or _EUROPEAN.search(line)
            or _EXPONENT.search(line)
            or _QUOTED.search(line)
        ):
            continue
        line = without_macros(line)
        plain = _SIGN_OF_MONEY.sub(" ", line)
        plain = _MARKUP.sub(lambda found: " " * len(found[0]), _BULLET.sub(lambda found: " " * len(found[0]), plain))
        signs = list(_EQUALS.finditer(plain))
        for k, sign in enumerate(signs):
            begin = signs[k - 1].end() if k else 0
            end = signs[k + 1].start() if k + 1 < len(signs) else len(plain)
            is_chain = k + 1 < len(signs)
            if found := _of_sides(plain, begin, sign, end, is_chain):
                yield _finding(index, *found)
                break
    yield from _in_brackets(document)


def _in_brackets(document: Document) -> Iterator[Finding]:
    """Numbers that the brackets after them compute: "87.5 kg/year (350 kg / 4 years)"."""
    for index, line in enumerate(document.lines, 1):
        if "(" not in line or len(line) > _LONGEST or _EUROPEAN.search(line) or _QUOTED.search(line):
            continue
        for match in _EXPLAINED.finditer(line):
            if _COMPARED.match(match["e"]) or _is_a_list(match["e"], line[: match.start("e")]):
                continue
            equation = f"{match['e']} = {match['t']}"
            equation = _MARKUP.sub(lambda found: " " * len(found[0]), _SIGN_OF_MONEY.sub(" ", equation))
            if not (sign := _EQUALS.search(equation)):
                continue
            found = _of_sides(equation, 0, sign, len(equation), is_chain=False)
            if found and _is_slipped(*found[:2]):
                yield _finding(index, *found[:3], match.start("t") - found[1].numbers[0].start)
                break


def _is_a_list(text: str, before: str) -> bool:
    """Whether brackets list what is used, "2 hours, 8 cores / 32 GB": a text names the unit that it divides by."""
    found = _LISTED.search(text)
    if not found or not found["a"]:
        return bool(found)
    return found["a"] != found["b"] and found["b"].lower().rstrip("s") not in before.lower()


def _of_sides(
    line: str, begin: int, sign: re.Match[str], end: int, is_chain: bool
) -> tuple[Value, Value, str, int] | None:
    """Both sides of an equals sign, and where the right one begins, if they contradict each other."""
    parts = list(_END.finditer(line, begin, sign.start()))
    left_text = line[parts[-1].end() if parts else begin : sign.start()]
    hedge = _ABOUT.match(line, sign.end())
    start = hedge.end() if hedge else sign.end()
    cut = _END.search(line, start, end)
    right_text = _EACH.sub(lambda found: " " * len(found[0]), line[start : cut.start() if cut else end])
    if _FUNCTION.search(left_text + "=" + right_text) or _SLASHED.search(left_text):
        return None
    if _TIMES_A_NAME.search(left_text) or _TIMES_A_NAME.search(right_text) or _OF_A_NAME.search(left_text):
        return None
    is_measured = "/" not in left_text and _RATE.match(line, start, end)
    if is_measured or (_SPANS.search(right_text) and not _SPANS.search(left_text)):
        return None  # a quotient in seconds, as hours of devices
    if _OF_ITEMS.search(left_text) and _BYTES.search(right_text):
        return None
    left_tokens, right_tokens = tokens_of(left_text), tokens_of(right_text)
    left, right = value_at_end(left_tokens), value_at_start(right_tokens)
    if not left or not right or not (left.operators or right.operators):
        return None
    understood = are_understood(left, left_text, left_tokens, right, right_text, right_tokens)
    unsure = is_unread(left_text) or is_unread(right_text) or "~" in left_text + right_text
    slipped = not unsure and _is_slipped(left, right)
    if not (understood or slipped) or _names_something_else(left, left_text, right_text, slipped):
        return None
    if is_chain and not left.operators:
        return None  # "at 245 GB/s = 36 × 4 / 245 = 0.59": what is named first
    if any(_is_mixed(side, other) for side, other in ((left, right), (right, left))):
        return None
    if _is_ambiguous(left) or _is_ambiguous(right) or _is_of_pixels(left, right) or _is_of_pixels(right, left):
        return None
    if sign[1] != "=" and any(_is_power_of_ten(side) for side in (left, right)):
        return None
    if left.has_words and not right.operators and _is_of_a_model(left, right):
        return None  # "4 layers × 4 heads × 200 dim = 1.99M params"
    if is_setting(line, begin, left) or may_be_upside_down(left, left_tokens, right):
        return None
    if _is_of_names(line, begin, sign, left) or _is_a_proverb(left, right):
        return None
    if not cut and right.operators and line.count("(") > line.count(")"):
        return None  # it goes on in the next line
    if begin and sign[1].endswith(">") and not left.operators:
        return None  # "DP=2 => 4 × 2": what is named first
    if right.operators and not _first_differs(left, right):
        return None  # "16 + 12 = 28 racks × 2 nodes"
    same = bool(left.after) and left.after == right.after[: len(left.after)]
    suffixes = {token.suffix for token in left.numbers}
    same |= "" not in suffixes and suffixes == {right.numbers[0].suffix or "".join(right.after[:1])}
    same |= slipped or "*" in left.operators
    if _OTHER & set(left.after) or not (same or all(canonical(word) for word in left.after)):
        return None  # a name: "step 150 / 4000 loss = 6.25"
    derived = (left_text if left.operators else right_text).strip()
    right = _in_full(right, right_tokens)
    in_bytes = bool(_BYTES.search(left_text + right_text))
    alike = _of_two_alike(left_text, right_text)
    room = _room(bool(hedge) or sign[1] != "=", left_text, (left_tokens, right_tokens))
    return (left, right, derived, start) if _differ(left, right, room, in_bytes, alike) else None


def _room(is_about: bool, text: str, tokens: tuple[list[Token], list[Token]]) -> float:
    """By how much two sides may differ: measured numbers, and a mean, are rounded."""
    room = _NEARLY if is_about else max(map(room_of_measured, tokens))
    return max(room, _ROUNDED) if _OF_A_MEAN.search(text) else room


def _in_full(side: Value, tokens: list[Token]) -> Value:
    """A number with the name of a power of ten after a space: "53 M operations"."""
    size = _POWERS.get(tokens[1].text, 1.0) if len(tokens) > 1 and not side.operators else 1.0
    return replace(side, low=side.low * size, high=side.high * size)


def _names_something_else(left: Value, left_text: str, right_text: str, slipped: bool) -> bool:
    """Whether an equals sign gives a ratio of two values, how many names there are, or what brackets explain.

    "109.4 vs 68.8 tok/s = 1.59x", "seeds 2345/3456 = 5/5 empty", "50 screenings (6 models × 200 clips) = 2.81 h".
    """
    if _VERSUS.search(left_text) and not left.operators:
        return True
    if _FRACTION.search(left_text) and _FRACTION.match(right_text):
        return True
    return bool(_EXPLAINS.search(left_text)) and not slipped


def _is_of_names(line: str, begin: int, sign: re.Match[str], left: Value) -> bool:
    """Whether an equals sign stands among names: "A=2/16=4/32=8", "matched=500/500 confidence=0.945"."""
    is_quotient = set(left.operators) == {"/"}
    if is_quotient and _GLUED.search(line[begin : sign.end()]) and not line[sign.end() : sign.end() + 1].isspace():
        return True  # "epoch 100/150 loss=0.93"
    if not begin or line[begin - 1] != "=":
        return False
    is_named = set(left.operators) == {"/"} and _NAMED.search(line[begin : sign.start()])
    return bool(is_named) or not re.search(r"\s", line[begin : sign.end()])


def _is_a_proverb(left: Value, right: Value) -> bool:
    """Whether no number has two digits: 2 + 2 = 5 is hardly a measurement."""
    return all(len(re.sub(r"\D", "", each.text)) == 1 for each in (*left.numbers, *right.numbers))


def _is_slipped(left: Value, right: Value) -> bool:
    """Whether a slip in the result of a calculation would mend it: then a word that is not understood hides nothing."""
    result, derived = (right, left) if left.operators else (left, right)
    text = result.numbers[0].text
    if result.operators or len(re.sub(r"\D", "", text).strip("0")) < _LEAST_DIGITS:
        return False
    words = slip(text, derived.low, derived.high)
    return (bool(words) and not words.endswith(_OFTEN)) or _has_slipped_factor(derived, result)


def _has_slipped_factor(derived: Value, result: Value) -> bool:
    """Whether a slip in one factor of three digits or more would give the result, if that has as many."""
    if (
        set(derived.operators) - {"*", "/"}
        or min(derived.low, result.low) <= 0
        or len(re.sub(r"\D", "", result.numbers[0].text)) < _MANY_DIGITS
    ):
        return False
    low, high = result.low / derived.high, result.high / derived.low
    for each in derived.numbers:
        if len(re.sub(r"\D", "", each.text)) >= _MANY_DIGITS:
            size = float(sum((bounds_of(each.text).low, bounds_of(each.text).high))) / 2
            for ends in ((size * low, size * high), (size / high, size / low)):
                if slip(each.text, *ends) in _IN_DIGITS:
                    return True
    return False


def _is_ambiguous(side: Value) -> bool:
    """Whether a product follows a quotient: 6 / 2 × 3 may be 6 / (2 × 3)."""
    operators = "".join(side.operators)
    if side.numbers[-1].text == "100" and operators.count("*") == 1 and operators.endswith("*"):
        return False  # per cent
    return "/" in operators and "*" in operators[operators.index("/") :]


def _is_of_a_model(product: Value, size: Value) -> bool:
    """Whether counts beside each other have a size in millions, which they do not multiply to."""
    small = not any(token.suffix for token in product.numbers) and set(product.operators) == {"*"}
    return small and size.numbers[0].suffix in ("M", "B") and size.low > _MUCH * product.high


def _is_of_pixels(area: Value, result: Value) -> bool:
    """Whether a square has some channels that its product leaves out: "8 × 8 = 192 values of a patch"."""
    if area.operators != ("*",) or result.operators or area.numbers[0].text != area.numbers[1].text:
        return False
    return any(area.low * each <= result.high and result.low <= area.high * each for each in _CHANNELS)


def _is_mixed(side: Value, other: Value) -> bool:
    """Whether a sum has a share beside a number, or numbers in thousands beside a result in another unit."""
    suffixes = {token.suffix for token in side.numbers}
    if suffixes & {"B", "M"} and "" in suffixes and not {"+", "-"} & set(side.operators):
        return not other.numbers[0].suffix and not other.after  # 1.5B is the size of a model
    if not suffixes - {""} or not {"+", "-"} & set(side.operators):
        return False
    named = other.after[:1] and not other.numbers[0].suffix
    return ("%" in suffixes and len(suffixes) > 1) or bool(named and suffixes & {"k", "K", "M"})


def _is_power_of_ten(side: Value) -> bool:
    return side.operators == ("^",) and side.numbers[0].text == "10"


def _first_differs(left: Value, right: Value) -> bool:
    """Whether a side is not the first number of the other one."""
    low, high = (float(each) for each in (bounds_of(right.numbers[0].text).low, bounds_of(right.numbers[0].text).high))
    return left.high < low or high < left.low


def _differ(left: Value, right: Value, room: float, in_bytes: bool, alike: bool) -> bool:
    """Whether no reading of the two sides makes them equal; by `room` they may differ."""
    if min(left.low, right.low) <= 0:
        return False
    words = (*left.after, *right.after[:1])
    has_units = (
        left.has_words
        or right.has_words
        or any(canonical(each) or _PREFIXED.match(each.split("/")[0].strip()) for each in words)
    )
    exact = "/" not in (*left.operators, *right.operators)
    low, high = _rounded(left, exact, in_bytes)
    other_low, other_high = _rounded(right, exact, in_bytes)
    room = max(room, _ROUNDED if has_units and not exact and not alike else 0.0)
    room = max(room, _NOISE, _rounded_divisor(left, right), _rounded_divisor(right, left))
    low, high = low * (1 - room), high * (1 + room)
    if is_cut(left, right):
        low -= 1
    if alike and any(
        low - 1 <= each / 100 <= high - 1 or low <= 1 - each / 100 <= high for each in (other_low, other_high)
    ):
        return False  # a change
    if _is_rest(left, right, (other_low, other_high)) or _is_rest(right, left, (low, high)):
        return False
    parts = max(left, right, key=lambda side: len(side.operators))
    if len(parts.operators) > 1 and set(parts.operators) == {"+"} and all("." not in n.text for n in parts.numbers):
        low, high = low - 1, high + 1  # parts that were rounded one by one
    factors = (1.0, 100.0, 0.01) if alike else _factors(left, right, in_bytes) if has_units else (1.0,)
    of_elements = is_of_elements(left, right, in_bytes) or is_of_elements(right, left, in_bytes)
    with_elements = [factor * each for factor in factors for each in (1.0, *OF_ELEMENTS * of_elements)]
    return not any(low * factor <= other_high and other_low <= high * factor for factor in with_elements)


def _rounded_divisor(quotient: Value, result: Value) -> float:
    """How far a quotient may be off whose whole divisor was rounded: it has far more digits than that."""
    if quotient.operators != ("/",) or result.operators:
        return 0.0
    divisor, shown = (re.sub(r"[^\d.]", "", each.text) for each in (quotient.numbers[1], result.numbers[0]))
    is_rounded = (
        divisor.isdigit() and len(divisor) >= _FAR_MORE and len(shown.replace(".", "")) >= len(divisor) + _FAR_MORE
    )
    return 0.5 / int(divisor) if is_rounded and int(divisor) else 0.0


def _is_rest(quotient: Value, share: Value, ends: tuple[float, float]) -> bool:
    """Whether a share is what a quotient leaves: "74/128 = 42 % zeros"."""
    if quotient.operators != ("/",) or share.operators or share.numbers[0].suffix != "%":
        return False
    return any(1 - ends[1] / size <= quotient.high and quotient.low <= 1 - ends[0] / size for size in (1, 100))


def _factors(left: Value, right: Value, in_bytes: bool) -> Iterator[float]:
    """The factors that the units of both sides leave open: none between counts."""
    suffixes = [token.suffix for token in (*left.numbers, *right.numbers) if token.suffix]
    units = [canonical(word) for word in (*left.after, *right.after[:1])]
    if not suffixes and len(units) > 1 and units[0] == units[-1] != "" and right.after:
        return iter((1.0,))
    prefixed = any(_PREFIXED.match(word.split("/")[0].strip()) for word in (*left.after, *right.after[:1]))
    if set(suffixes) == {"%"} and not units and not (left.has_words and right.has_words):
        return iter((1.0, 100.0, 0.01))
    if not suffixes and not prefixed and units and all(unit.split("/")[0] in COUNTED for unit in units if unit):
        return iter((1.0,))
    return scales("%" in (*suffixes, *units), bool(suffixes) or in_bytes)


def _of_two_alike(text: str, result: str) -> bool:
    """Whether a text ends with the quotient of two numbers in one unit: no factor between units is left out."""
    found = _QUOTIENT.search(text)
    if not found or found[1] != found[2]:
        return False
    return bool(_PURE.match(result) or (found[1] and _BARE.match(result)))


def _rounded(side: Value, exact: bool, in_bytes: bool) -> tuple[float, float]:
    """The bounds of a side; a single number may be rounded, or cut after a division."""
    if side.operators == ("*", "^") and side.numbers[1].text == "10":
        span = bounds_of(side.numbers[0].text)  # 4 × 10^12 has one digit
        room = float((span.high - span.low) / (span.high + span.low))
        return side.low * (1 - room), side.high * (1 + room)
    if len(side.numbers) > 1:
        return side.low, side.high
    token = side.numbers[0]
    middle = (side.low + side.high) / 2
    span = bounds_of(token.text)
    half = float(span.high - span.low) / 2 * middle / (float(span.high + span.low) / 2)
    exact &= "." not in token.text and not token.suffix and not in_bytes
    return middle - (1 if exact else 2) * half, middle + (1 if exact else 2) * half


def _finding(line: int, left: Value, right: Value, text: str, start: int) -> Finding:
    claimed, derived = (right, left) if left.operators else (left, right)
    shown = _number(claimed.numbers[0], line, start)
    operands = tuple(_number(token, line, start) for token in derived.numbers)
    given, result = (about(Decimal((each.low + each.high) / 2), 6) for each in (derived, claimed))
    claim = result if claimed.operators else claimed.numbers[0].text + claimed.numbers[0].suffix
    return Finding(
        "inconsistent",
        (shown, *operands),
        f"{' '.join(text.split())[-_SHOWN:]} is {given}, not {claim}.",
        matters(
            Bounds(Decimal(claimed.low), Decimal(claimed.high)), Bounds(Decimal(derived.low), Decimal(derived.high))
        ),
        "the arithmetic that the line writes out",
    )


def _number(token: Token, line: int, start: int) -> Number:
    span = bounds_of(token.text)
    return Number(token.text, span.low, span.high, "", line, start + token.start + 1, "")
