"""Arithmetic that a line writes out, as tokens and as the values that it may have."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from operator import add, mul, sub, truediv

from scalelens.audit.printed import bounds_of

_TOKEN = re.compile(
    r"(?P<number>(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?(?:[eE][-+]?\d{1,2}(?![\w.]))?)(?P<suffix>(?:[kKMGBT]i?B?|%)(?![\w/]))?"
    r"|(?P<power>\*\*|\^)|(?P<operator>\\times|\\cdot|[×·*÷+/\u2212]|(?<=[\s)])[-–x](?=[\s(])|(?<=\d)x(?=\d))"
    r"|(?P<bracket>[()])|(?P<word>[A-Za-zµ%$]+(?:\s?/\s?[A-Za-z]+)*)|(?P<other>\S)"
)
_PLAIN = {"\\times": "*", "\\cdot": "*", "×": "*", "·": "*", "x": "*", "÷": "/", "\u2212": "-", "–": "-"}
_UNITS = "shWJB%$"  # of one letter; another one is a name
_OPERATIONS: dict[str, Callable[[float, float], float]] = {"+": add, "-": sub, "*": mul, "/": truediv}
_MOST_WORDS = 3
_SUFFIXES = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "B": 1e9, "T": 1e12}


@dataclass(frozen=True)
class Token:
    """A piece of a line: kind (number, operator, power, open, close, word, other), its text, and where it begins."""

    kind: str
    text: str
    start: int
    suffix: str = ""


@dataclass(frozen=True)
class Value:
    """What an expression may be: its bounds, numbers, operators, whether units stand between them, and words after."""

    low: float
    high: float
    numbers: tuple[Token, ...]
    operators: tuple[str, ...]
    has_words: bool
    after: tuple[str, ...] = ()


def tokens_of(text: str) -> list[Token]:
    """The tokens of a part of a line."""
    result = []
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or ""
        if match["number"]:
            result.append(Token("number", match["number"], match.start(), match["suffix"] or ""))
        elif kind == "bracket":
            result.append(Token("open" if match[0] == "(" else "close", match[0], match.start()))
        elif kind == "word" and len(match[0]) == 1 and match[0] not in _UNITS:
            result.append(Token("other", match[0], match.start()))  # a name
        else:
            result.append(Token(kind, _PLAIN.get(match[0], match[0]), match.start()))
    return result


def value_at_end(tokens: list[Token]) -> Value | None:
    """The longest expression that ends the tokens; None if a name is one of its operands."""
    for start, token in enumerate(tokens):
        if token.kind not in ("number", "open"):
            continue
        before = tokens[start - 1] if start else None
        if before and before.kind in ("operator", "power", "number"):
            return None  # an operand that is not a number comes first, or a group of digits
        parser = _Parser(tokens[start:])
        value = parser.expression()
        if value and parser.rest_is_words():
            value = replace(value, after=parser.words())
            opening = tokens[start - 2] if start > 1 and before and before.kind == "open" else None
            called = _touch(before, token) or (before and _touch(opening, before))
            if not value.operators and any(each.kind == "operator" for each in tokens[:start]):
                return None  # the last operand of something else
            return None if called or (before and before.text in "-[{<>") else value
    return None


def _touch(word: Token | None, token: Token) -> bool:
    """Whether a word ends where the token begins: a name with a number, or a function."""
    return bool(
        word
        and word.kind in ("word", "other")
        and word.text[-1].isalnum()
        and word.start + len(word.text) == token.start
    )


def value_at_start(tokens: list[Token]) -> Value | None:
    """The expression that begins the tokens."""
    parser = _Parser(tokens)
    value = parser.expression()
    grouped = parser.at < len(tokens) and tokens[parser.at].kind == "number"
    return None if parser.broken or grouped or not value else replace(value, after=parser.words())


class _Parser:
    """Products before sums; words and units between numbers and operators are passed over."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.at = 0
        self.broken = False

    def expression(self) -> Value | None:
        return self._chain(("+", "-"), lambda: self._chain(("*", "/"), self._power))

    def rest_is_words(self) -> bool:
        rest = self.tokens[self.at :]
        return not self.broken and len(rest) <= _MOST_WORDS and all(token.kind == "word" for token in rest)

    def words(self) -> tuple[str, ...]:
        """The words right after what was read."""
        return tuple(token.text for token in self.tokens[self.at : self.at + _MOST_WORDS] if token.kind == "word")

    def _chain(self, operators: tuple[str, ...], operand: Callable[[], Value | None]) -> Value | None:
        value = operand()
        while value:
            words = self._words()
            token = self._peek(words)
            if not token or token.kind != "operator" or token.text not in operators:
                break
            self.at += words + 1
            if token.text in "*/":
                self.at += self._words()
            right = operand()
            if not right:
                self.broken = True
                return None
            value = _combined(value, token.text, right, bool(words))
        return value

    def _power(self) -> Value | None:
        value = self._primary()
        token = self._peek(0)
        if value and token and token.kind == "power":
            self.at += 1
            exponent = self._primary()
            if not exponent or exponent.high != exponent.low or exponent.high > 64:
                self.broken = True
                return None
            ends = (value.low**exponent.low, value.high**exponent.low)
            return Value(*ends, (*value.numbers, *exponent.numbers), (*value.operators, "^"), value.has_words)
        return value

    def _primary(self) -> Value | None:
        token = self._peek(0)
        if token and token.kind == "number":
            self.at += 1
            return _value_of(token)
        if token and token.kind == "open":
            self.at += 1
            self.at += self._words()
            value = self.expression()
            words = self._words()
            token = self._peek(words)
            if value and token and token.kind == "close":
                self.at += words + 1
                return replace(value, has_words=value.has_words or bool(words))
            self.broken = True
        return None

    def _peek(self, ahead: int) -> Token | None:
        return self.tokens[self.at + ahead] if self.at + ahead < len(self.tokens) else None

    def _words(self) -> int:
        """How many words come next; a unit has only a few."""
        count = 0
        while (token := self._peek(count)) and token.kind == "word":
            count += 1
        return count if count <= _MOST_WORDS else 0


def _value_of(token: Token) -> Value:
    whole = "." not in token.text and "e" not in token.text.lower()
    span = bounds_of(token.text)
    low, high = float(span.low), float(span.high)
    room = -(high - low) / 2 if whole and not token.suffix else (high - low) / 2  # whole ones are exact, others cut
    size = _SUFFIXES.get(token.suffix[:1], 1.0)
    return Value((low - room) * size, (high + room) * size, (token,), (), bool(token.suffix))


def _combined(a: Value, operator: str, b: Value, words: bool) -> Value | None:
    if operator == "/" and b.low <= 0 <= b.high:
        return None
    of = _OPERATIONS[operator]
    ends = [of(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
    words = words or a.has_words or b.has_words
    return Value(min(ends), max(ends), (*a.numbers, *b.numbers), (*a.operators, operator, *b.operators), words)


def scales(percent: bool, binary: bool) -> Iterator[float]:
    """Factors between units that a line may leave out: powers of a thousand or of 1,024, bits, hours, per cent."""
    for power in range(-4, 5):
        yield from (10.0 ** (3 * power) * 1.024**each for each in (range(-4, 5) if binary else (0,)))
        for factor in (8.0, 24.0, 60.0, 3600.0, *((100.0,) if percent else ())):
            yield factor * 10.0 ** (3 * power)
            yield 10.0 ** (3 * power) / factor
