"""What a sentence computes, by what its numbers count and measure.

"1.2 trillion tokens at 4.19 million tokens a step need 286,100 steps", "384 GPUs for 117 days are 1.08M GPU-hours",
"475 MWh at 57 gCO2/kWh are 27.1 tonnes", "48,000 images take 3.84 s" below a table with the images/s, and lines of a
report such as "steps per epoch   156".  Products and quotients of two or three numbers nearby whose types (types.py)
fit exactly are few, so that a slip away from the only one of them shows an error.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date
from functools import lru_cache
from itertools import combinations_with_replacement, product

from scalelens.audit.document import Document, Sentence, TextTable
from scalelens.audit.evidence import digits_of
from scalelens.audit.finding import Finding
from scalelens.audit.printed import Bounds
from scalelens.audit.prose.accusing import LOG
from scalelens.audit.prose.of_cells import runs_named
from scalelens.audit.prose.rarest import Way, is_given, rarest
from scalelens.audit.prose.types import (
    KEY,
    Column,
    Nouns,
    Type,
    Typed,
    bytes_of_a_parameter,
    codes_of,
    columns_of,
    multiplied,
    nouns_of,
    rows_of,
    typed_of,
)
from scalelens.audit.wording import about, matters, with_unit

_NEAR, _NEAR_LINES = 4, 14  # sentences before a number, and lines, of which numbers may explain it
_FAR = 30  # lines from a table to its sentence
_MOST, _MOST_RUNS = 12, 10  # of these numbers, and rows of a table
_BY_CHANCE = 0.03  # how many unrelated numbers a slip may be expected to mend
_OF_ONE_WAY = 0.08  # the same, where two numbers fit and no others
_WIDE = 1.06  # ends of a product that are farther apart tell nothing
_LEAST_DIGITS = 2
_PAIR, _MOST_FACTORS = 2, 3
_DATE = re.compile(r"\b(?:19|20)\d\d-\d\d-\d\d\b")
_Formula = tuple[tuple[Type, ...], tuple[int, ...]]  # types, and 1 or -1 for each: it multiplies or divides


def find(document: Document) -> Iterator[Finding]:
    """Numbers that are a slip away from what numbers of fitting types around them give."""
    nouns = nouns_of(document)
    typed = [typed_of(sentence, nouns) for sentence in document.sentences]
    records = Counter(sentence.form for sentence in document.sentences)
    runs = [(table, _runs(table, nouns)) for table in document.tables]
    for index, sentence in enumerate(document.sentences):
        if not typed[index] or records[sentence.form] >= LOG:
            continue
        is_key = bool(KEY.match(sentence.text))
        back = _NEAR_LINES if is_key else _NEAR
        own = [*typed[index], *bytes_of_a_parameter(sentence)]
        around = [
            each
            for k in range(max(0, index - back), min(len(typed), index + (back if is_key else 1)))
            if k != index and abs(document.sentences[k].line - sentence.line) <= _NEAR_LINES
            for each in typed[k]
        ]
        yield from _of_counts(own, typed[index - 1] if index else [], document)
        cells = [_near(table, each, sentence) for table, each in runs] if not is_key else []
        every = [run for each, _ in cells for run in each]
        named = [run for _, each in cells for run in each] or every
        accused = []
        for target in own:
            if target.number.hedge or document.times[target.number.text, target.number.unit] > 1:
                continue
            operands = [each for each in [*own, *around] if each is not target][:_MOST]
            beside = [each for each in [*own, *(typed[index - 1] if index else [])] if each is not target]
            if found := _accused(target, sentence, operands, beside, named, every):
                accused.append((target, found))
        for target, (given, words, _) in sorted(accused, key=_place)[-1:]:
            yield _finding(target, given, words)  # of the numbers that one error breaks, the last is the result


def _of_counts(own: list[Typed], before: list[Typed], document: Document) -> Iterator[Finding]:
    """Counts that divide without a rest, but not as the sentence says: "3,584 samples on 512 cards, 8 samples each".

    A factor that is left out, such as two halves or four steps, would leave a multiple or a divisor.
    """
    counts = [each for each in own if each.low == each.high and each.is_whole]
    for target in counts:
        if all(power > 0 for _, power in target.type):
            continue  # a sum of parts, or a part of all
        if not target.number.text[0].isdigit() or document.times[target.number.text, target.number.unit] > 1:
            continue
        others = [each for each in [*own, *before] if each is not target]
        without_step = tuple((atom, power) for atom, power in target.type if (atom, power) != ("step", -1))
        wanted = frozenset({target.type, without_step})
        ways = [way for way in products_of(target, wanted, others, []) if len(way.operands) == _PAIR]
        exact = [way for way in ways if way.low == way.high == round(way.low)]
        if len(exact) != 1 or len(ways) > 1 or target.number.hedge:
            continue
        claimed, right = target.low / target.size, exact[0].low
        if claimed % right and right % claimed:
            yield _finding(target, exact[0], "the counts divide without a rest")


def _place(accused: tuple[Typed, tuple[Way, str, float]]) -> tuple[int, int]:
    return accused[0].number.line, accused[0].number.column


def _runs(table: TextTable, nouns: Nouns) -> tuple[tuple[str, ...], list[list[Typed]]]:
    """The labels of the runs of a table, its rows or its columns, and the typed numbers of each."""
    columns, rows = columns_of(table, nouns), rows_of(table, nouns)
    if len(columns) >= len(rows):
        labels, series = tuple(texts[0] for texts in table.texts), columns
    else:
        labels, series = table.headings[1:], rows
    numbers: list[Column] = list(zip(*series, strict=True))
    return labels, [[each for each in run if each] for run in numbers]


def _near(
    table: TextTable, runs: tuple[tuple[str, ...], list[list[Typed]]], sentence: Sentence
) -> tuple[list[list[Typed]], list[list[Typed]]]:
    """The typed numbers of the runs of a table near a sentence: of all, and of those that it names."""
    labels, numbers = runs
    if not -_FAR <= sentence.line - table.line <= len(table.cells) + _FAR or len(numbers) > _MOST_RUNS:
        return [], []
    return numbers, [numbers[k] for k in sorted(runs_named(labels, sentence)) if k < len(numbers)]


def _accused(
    target: Typed,
    sentence: Sentence,
    operands: list[Typed],
    beside: list[Typed],
    named: list[list[Typed]],
    every: list[list[Typed]],
) -> tuple[Way, str, float] | None:
    """What gives the number but for a slip, the slip, and how likely it is by chance; None if that is too likely."""
    if digits_of(target.number.text) < _LEAST_DIGITS or not target.type or not target.is_whole:
        return None
    own = (target.low / target.size, target.high / target.size)
    wanted = wanted_types(target, sentence)
    stated = [*products_of(target, wanted, operands, []), *_between_dates(target, sentence)]
    of_runs = [(run, list(products_of(target, wanted, operands, run))) for run in every]
    if is_given(target.number, own, stated) or any(is_given(target.number, own, ways) for _, ways in of_runs):
        return None
    of_named = [way for run, ways in of_runs if any(run is each for each in named) for way in ways]
    of_all = [way for _, ways in of_runs for way in ways]
    near = [way for way in products_of(target, wanted, beside, []) if len(way.operands) == _PAIR]
    for ways in (near, stated, [*stated, *of_named], [*stated, *of_all]):
        limit = _OF_ONE_WAY if len(ways) == 1 and len(ways[0].operands) == _PAIR else _BY_CHANCE
        found = rarest(target.number, own, ways)
        if found and found[2] <= limit:
            return found
    return None


def wanted_types(target: Typed, sentence: Sentence) -> frozenset[Type]:
    """The types that a number may have: what it is for may be left out, and a power is that of each device."""
    wanted = {target.type}
    atoms = dict(target.type)
    if "epoch" in atoms:
        wanted.add(tuple((atom, power) for atom, power in target.type if atom != "epoch"))
    if target.type in ((("item", 1),), (("token", 1),)):
        wanted.add(tuple(sorted({**atoms, "epoch": 1}.items())))
    if "J" in atoms and "gpu" not in atoms:
        wanted.add(tuple(sorted({**atoms, "gpu": 1}.items())))
    for each in ("step", "epoch"):
        if each not in atoms and re.search(rf"\b(?:{each}|batch)\b", sentence.text):
            wanted.add(tuple(sorted({**atoms, each: -1}.items())))
    return frozenset(wanted)


def products_of(
    target: Typed, wanted: frozenset[Type], operands: Sequence[Typed], run: Sequence[Typed]
) -> Iterator[Way]:
    """Products and quotients of two or three numbers of a wanted type; with a run, those that have a number of it."""
    groups: dict[Type, list[Typed]] = {}
    for each in [*operands, *run]:
        groups.setdefault(each.type, []).append(each)
    of_run = {id(each) for each in run}
    for types, signs in _formulas(tuple(sorted(groups)), wanted):
        for chosen in product(*(groups[each] for each in types)):
            if len({id(each) for each in chosen}) < len(chosen) or any(each is target for each in chosen):
                continue
            cells = sum(id(each) in of_run for each in chosen)
            if run and (cells < len(types) - 1 or (() in types and len(types) > _PAIR)):
                continue
            low, high = multiplied(chosen, signs)
            if high < _WIDE * low:
                text = " ".join(f"{'×' if sign > 0 else '/'} {n}" for n, sign in zip("abc", signs, strict=False))
                numbers = tuple(each.number for each in chosen)
                yield Way(low / target.size, high / target.size, text.removeprefix("× "), numbers)


def _between_dates(target: Typed, sentence: Sentence) -> Iterator[Way]:
    """The days from one date of a sentence to another: with or without the last one."""
    if target.type != (("s", 1),) or target.number.unit != "d":
        return
    found = [each for match in _DATE.findall(sentence.text) if (each := _day(match))]
    if len(found) == _PAIR and found[0] < found[1]:
        days = (found[1] - found[0]).days
        yield Way(days, days + 1, "the days between two dates", ())


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


@lru_cache(maxsize=4096)
def _formulas(types: tuple[Type, ...], wanted: frozenset[Type]) -> list[_Formula]:
    """The choices of two or three types, and which of them divide, that give a wanted type without one that cancels."""
    code = codes_of((*types, *wanted))
    own = [code[each] for each in types]
    at = {each: k for k, each in enumerate(own)}
    sought = {code[each] for each in wanted}
    found: list[tuple[int, ...]] = []
    for (i, a), (j, b) in combinations_with_replacement(enumerate(own), 2):
        for s, r in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
            if i == j and s != r:
                continue
            both = s * a + r * b
            if both in sought and (s, r) != (-1, -1):
                found.append((_PAIR, i, j, 0, -s, -r, 0))
            for sign in (1, -1):
                for k in (at.get(sign * (each - both), -1) for each in sought):
                    cancels = (k == i and sign != s) or (k == j and sign != r)
                    if k >= j and not cancels and (s, r, sign) != (-1, -1, -1):
                        found.append((_MOST_FACTORS, i, j, k, -s, -r, -sign))
    return [
        (tuple(types[k] for k in each[1 : 1 + each[0]]), tuple(-sign for sign in each[4 : 4 + each[0]]))
        for each in sorted(found)
    ]


def _finding(target: Typed, given: Way, words: str) -> Finding:
    *names, last = [with_unit(each) for each in given.operands] or [given.text]
    of = f"{', '.join(names)} and {last}" if names else last
    right = Bounds(*(type(target.number.low)(str(end)) for end in (given.low, given.high)))
    return Finding(
        "inconsistent",
        (target.number, *given.operands),
        f"{with_unit(target.number)} does not follow from {of}: these give "
        f"{about((right.low + right.high) / 2)} ({words}).",
        matters(target.number.bounds, right),
        given.text,
    )
