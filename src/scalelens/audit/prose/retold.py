"""Numbers that two sentences state differently, such as a summary and the text that it sums up.

The sentences are about the same thing if the words around both numbers are the same, or if they share another number.
A number is accused if neither of the two stands anywhere else, and a slip would make one of the other.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from scalelens.audit.document import Document, Sentence
from scalelens.audit.finding import Finding
from scalelens.audit.printed import Number
from scalelens.audit.prose.bound import is_of_a_fraction
from scalelens.audit.prose.restated import given_twice, is_given
from scalelens.audit.quantities import value
from scalelens.audit.tokens import tokens

_LEAST_DIGITS = 3
_MANY_DIGITS = 4
_NEAR, _FAR = 0.02, 0.05
_MOST_NUMBERS = 16
_PAIR = 2
_MOST_ALIKE = 4  # numbers with one signature
_RARE = 4  # sentences with a word
_WORDS_BEFORE, _WORDS_AFTER = 8, 5
_COMMON_WORDS, _COMMON_WITH_NUMBER = 3, 2
_CODED = re.compile(r".*(?:[a-z].*\d|\d.*[a-z])")
_CHANGE = re.compile(
    r"→|->|\b(?:from|vs|versus|before|after|previous\w*|earlier|old|was|were|than|reran|rerun|instead)\b"
)
_ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s")
_QUOTED = re.compile(r"`([^`]*[^\W\d_]{2}[^`]*)`")


@dataclass(frozen=True)
class _Said:
    """A number, its sentence, and the words and numbers near it."""

    index: int
    place: int
    sentence: Sentence
    number: Number
    near: frozenset[str]
    beside: frozenset[str]  # digits of the numbers before and after that at most one other sentence has


def find(document: Document) -> Iterator[Finding]:
    """Pairs of numbers, of two sentences, that differ by a slip."""
    said = _said(document)
    in_sentences = Counter(word for sentence in document.sentences for word in tokens(sentence.text))
    seen: set[tuple[int, int]] = set()
    for words, group in _alike(said):
        for a, b in combinations(group, 2):
            if (a.index, a.place) in seen or not _is_about_one(a, b, words, in_sentences):
                continue
            if any(
                is_given(document, each.index, each.number) or is_of_a_fraction(each.number, each.sentence.text)
                for each in (a, b)
            ):
                continue
            seen.add((a.index, a.place))
            yield given_twice(b.number, a.number, f"line {a.number.line}", words)


def _said(document: Document) -> list[_Said]:
    """Numbers of the prose that stand once in the document."""
    times = Counter(_digits(number) for number in document.numbers)
    forms = Counter(sentence.form for sentence in document.sentences)
    in_sentences = Counter(digits for sentence in document.sentences for digits in {*map(_digits, sentence.numbers)})
    return [
        _Said(index, place, sentence, number, _near(sentence, place), _beside(sentence, place, in_sentences))
        for index, sentence in enumerate(document.sentences)
        if len(sentence.numbers) <= _MOST_NUMBERS and forms[sentence.form] == 1
        for place, number in enumerate(sentence.numbers)
        if not number.hedge and number.low > 0 and times[_digits(number)] == 1
        and len(_digits(number).strip("0")) >= _LEAST_DIGITS
    ]  # fmt: skip


def _digits(number: Number) -> str:
    return re.sub(r"\D", "", number.text)


def _near(sentence: Sentence, place: int) -> frozenset[str]:
    """Words of the clause around a number."""
    start, end = sentence.positions[place]
    before = re.split(r"[;:](?=\s)", sentence.text[:start])[-1].split()[-_WORDS_BEFORE:]
    after = re.split(r"[;:](?=\s)", sentence.text[end:])[0].split()[:_WORDS_AFTER]
    return tokens(" ".join([*before, "|", *after]))


def _alike(said: list[_Said]) -> Iterator[tuple[str, list[_Said]]]:
    """Groups of numbers that a slip turns into each other."""
    groups: dict[tuple[str, str, str], list[_Said]] = defaultdict(list)
    for each in said:
        digits, unit = _digits(each.number), each.number.unit
        shape = f"{unit} {re.sub(r'[0-9]', '0', each.number.text)}"
        groups["two digits are swapped", "".join(sorted(digits)), shape].append(each)
        groups["it is off by a factor of ten", digits.strip("0"), unit].append(each)
        for k in range(len(digits)):
            groups["one digit differs", f"{digits[:k]}?{digits[k + 1 :]}", shape].append(each)
    for (words, *_), group in groups.items():
        if 1 < len(group) <= _MOST_ALIKE:
            yield words, group


def _is_about_one(a: _Said, b: _Said, words: str, in_sentences: Counter[str]) -> bool:
    """Whether both numbers are of one thing, and the slip between them is sure."""
    if a.index == b.index or a.sentence.form == b.sentence.form or _are_neighbors_in_a_list(a, b):
        return False
    if not _is_bound(a, b, in_sentences):
        return False
    same = _digits(a.number) == _digits(b.number)
    if "factor" in words or same:
        return "factor" in words and value(a.number).apart(value(b.number))
    if "swapped" in words and sum(map(_differs, _digits(a.number), _digits(b.number))) != 2:
        return False
    if _are_labels(a.number, b.number):
        return False
    if _are_beside_the_same(a, b):
        return True
    away = abs(float(a.number.low / b.number.low) - 1)
    has_many = len(_digits(a.number).strip("0")) >= _MANY_DIGITS
    if "swapped" in words:
        return away > (_NEAR if has_many else _FAR)
    is_beside = bool(a.beside & b.beside) and len(a.near & b.near) >= _COMMON_WITH_NUMBER
    return (has_many or is_beside) and away > _FAR


def _are_neighbors_in_a_list(a: _Said, b: _Said) -> bool:
    """Whether two items of a list, one below the other, say this of two things: "- GPU is steady: p95/p50 = 1.009"."""
    first, second = (re.split(r":(?=\s)", each.sentence.text)[0] for each in (a, b))
    is_next = abs(a.sentence.line - b.sentence.line) == 1 and all(_ITEM.match(each.sentence.text) for each in (a, b))
    return is_next and tokens(first) != tokens(second)


def _are_labels(a: Number, b: Number) -> bool:
    """Whether both may be numbers of jobs: whole numbers without a unit that differ in their last digit alone."""
    return not (a.unit or b.unit or "." in a.text + b.text) and _digits(a)[:-1] == _digits(b)[:-1]


def _differs(a: str, b: str) -> bool:
    return a != b


def _is_bound(a: _Said, b: _Said, in_sentences: Counter[str]) -> bool:
    common = a.near & b.near
    mine, theirs = tokens(a.sentence.text), tokens(b.sentence.text)
    if any(_CODED.match(word) for word in a.near - theirs) and any(_CODED.match(word) for word in b.near - mine):
        return False
    if _others_of_unit(a, b) and _others_of_unit(b, a):
        return False
    if _names_another(a, b):
        return False
    shared = _shared(a, b)
    rare = any(in_sentences[word] <= _RARE for word in common)
    if _CHANGE.search(a.sentence.marked) and _CHANGE.search(b.sentence.marked) and not shared:
        return False
    if _are_beside_the_same(a, b):
        return True
    return (bool(shared) and len(common) >= _COMMON_WITH_NUMBER) or (rare and len(common) >= _COMMON_WORDS)


def _names_another(a: _Said, b: _Said) -> bool:
    """Whether the last thing named in code before each number is another one: two files have two numbers of lines."""
    names = [_QUOTED.findall(each.sentence.text[: each.sentence.positions[each.place][0]])[-1:] for each in (a, b)]
    return (
        all(names)
        and names[0] != names[1]
        and not any(name in other.sentence.text for (name,), other in zip(names, (b, a), strict=True))
    )


def _shared(a: _Said, b: _Said) -> set[str]:
    """Digits of the numbers of two digits or more that stand in both sentences."""
    mine, theirs = ({_digits(n) for n in each.sentence.numbers if _is_telling(n)} for each in (a, b))
    return mine & theirs


def _is_telling(number: Number) -> bool:
    return len(_digits(number).strip("0")) > 1


def _are_beside_the_same(a: _Said, b: _Said) -> bool:
    """Whether the number next to both is the same, and it has many digits or is not the only one."""
    beside = a.beside & b.beside
    return bool(beside) and (len(_shared(a, b)) > 1 or any(len(each.strip("0")) >= _MANY_DIGITS for each in beside))


def _beside(sentence: Sentence, place: int, in_sentences: Counter[str]) -> frozenset[str]:
    """Digits of the numbers before and after, if they are telling and no list has them in each of its items."""
    near = [sentence.numbers[k] for k in (place - 1, place + 1) if 0 <= k < len(sentence.numbers)]
    return frozenset(_digits(each) for each in near if _is_telling(each) and in_sentences[_digits(each)] <= _PAIR)


def _others_of_unit(a: _Said, b: _Said) -> bool:
    """Whether the sentence of a has further numbers of the unit that the one of b has not."""
    theirs = {_digits(number) for number in b.sentence.numbers}
    return any(
        number.unit == a.number.unit and number is not a.number and _digits(number) not in theirs
        for number in a.sentence.numbers
    )
