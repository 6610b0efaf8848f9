"""Work, time and rate of one sentence: "128 tokens took 0.81 s (157 tokens/s)", "650 W for 2.0 h are 1.30 kWh".

A sentence must have one number of each, in units that multiply, and words that tie them.  The three are accused if they
differ by more than two clocks would, and a slip in one of them would make them multiply.
"""

import re
from collections.abc import Iterator
from decimal import Decimal

from scalelens.audit.document import Document, Sentence
from scalelens.audit.finding import Finding
from scalelens.audit.forms.slips import slip
from scalelens.audit.printed import Bounds, Number
from scalelens.audit.quantities import value
from scalelens.audit.units import ITEMS, canonical
from scalelens.audit.wording import about, matters, middle, with_unit
from scalelens.units import base

_TIES = re.compile(
    r"\b(?:in|over|at|for|during|took|takes?|taking|i\.e|so|thus|gives?|giving|makes?|which is|that is|"
    r"consum\w+|us(?:es|ed|ing)|process\w*|generat\w*|complet\w*|this is|corresponds?)\b|[=→(]"
)
_OTHER = re.compile(
    r"\b(?:peak|max\w*|min\w*|up to|limit\w*|tdp|idle|warm-?up|first|concurren\w*|users?|each|parallel|gpus?|devices?|"
    r"cards?|nodes?|prefill|prompt|vs|versus|compared|than|instead|from|between|target|capacity|budget|window|context|if|would|"
    r"could|rated|nominal|theoretical|bandwidth)\b"
)
_NOUN = re.compile(rf" (?:[a-z-]+ )?({'|'.join(ITEMS)})\b")
_MOST_NUMBERS = 5
_TWO_CLOCKS = Decimal("0.03")


def find(document: Document) -> Iterator[Finding]:
    """Sentences whose work is not their rate times their time."""
    for sentence in document.sentences:
        if 3 <= len(sentence.numbers) <= _MOST_NUMBERS and not _OTHER.search(sentence.marked):
            for work, rate, time in _triples(sentence):
                if finding := _held(work, rate, time):
                    yield finding


def _triples(sentence: Sentence) -> Iterator[tuple[Number, Number, Number]]:
    """The one work, rate and time of a sentence whose units multiply, if words stand between them that tie."""
    if not _TIES.search(sentence.marked):
        return
    by_unit: dict[str, list[Number]] = {}
    for place, number in enumerate(sentence.numbers):
        by_unit.setdefault(_unit(sentence, place, number), []).append(number)
    if len(by_unit.get("s", [])) != 1:
        return
    for unit, rates in by_unit.items():
        of = "J" if unit == "W" else unit.removesuffix("/s") if unit.endswith("/s") else ""
        works = by_unit.get(of, []) if of and "/" not in of and of != "s" else []  # "1.5 s/s" counts nothing
        if len(rates) == len(works) == 1:
            yield works[0], rates[0], by_unit["s"][0]


def _unit(sentence: Sentence, place: int, number: Number) -> str:
    """The base unit of a number, or what it counts after one more word: "128 generated tokens"."""
    noun = _NOUN.match(sentence.marked, sentence.marked.find(f"<{place}>") + len(f"<{place}>"))
    return base(number.unit or (canonical(noun[1]) if noun else ""))[0]


def _held(work: Number, rate: Number, time: Number) -> Finding | None:
    every = (work, rate, time)
    if any(each.hedge or each.low <= 0 for each in every):
        return None
    right = value(rate) * value(time)
    if not _roomy(value(work)).apart(right):
        return None
    rights = ((work, right), (rate, value(work) / value(time)), (time, value(work) / value(rate)))
    for printed, meant in rights:
        size = base(printed.unit)[1]
        if words := slip(printed.text, float(meant.low / size), float(meant.high / size)):
            return Finding(
                "inconsistent",
                (printed, *(each for each in every if each is not printed)),
                f"{with_unit(rate)} for {with_unit(time)} are {about(middle(right) / base(work.unit)[1], 5)} "
                f"{work.unit}".rstrip()
                + f", not {with_unit(work)} (in {with_unit(printed)}: {words}).",
                matters(value(work), right),
                "rate × time = work",
            )
    return None


def _roomy(bounds: Bounds) -> Bounds:
    return Bounds(bounds.low * (1 - _TWO_CLOCKS), bounds.high * (1 + _TWO_CLOCKS))
