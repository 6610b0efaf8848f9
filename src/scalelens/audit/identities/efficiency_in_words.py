"""Speedup / devices = efficiency, in a sentence: "a speedup of 14.2 on 16 GPUs, an efficiency of 89 %".

This is about sentences with one of each.  "From 8 to 32 GPUs" has a base case: the speedup may be divided by 4 or by
32.  A sentence that names a base case in another way ("over 8 GPUs", "relative to 4 nodes") is left alone.
"""

import re
from collections.abc import Iterator

from scalelens.audit.document import Document, Sentence
from scalelens.audit.finding import Finding
from scalelens.audit.printed import Number
from scalelens.audit.quantities import exact, value
from scalelens.audit.units import DEVICES
from scalelens.audit.wording import about, matters, middle, with_unit
from scalelens.units import base

_SPEEDUP = re.compile(r"speed-?up (?:of|is) <(\d+)>|<(\d+)> speed-?up|<(\d+)> (?:as fast|faster)")
_SIZES = (*DEVICES, "nodes")
_EFFICIENCY = re.compile(
    r"efficiency (?:of|is|=) <(\d+)>|<(\d+)> (?:parallel |scaling |strong-scaling )?efficien(?:cy|t)"
)
_FROM_TO = re.compile(r"<(\d+)> to <(\d+)>")
_BASE = re.compile(
    r"relative to|compared|baseline|base case|over (?:one|a single) node|per node|\bover <|\bthan <|\bthan on <"
)


def find(document: Document) -> Iterator[Finding]:
    """Sentences whose efficiency is not their speedup divided by their devices."""
    for sentence in document.sentences:
        yield from _of_sentence(sentence)


def _of_sentence(sentence: Sentence) -> Iterator[Finding]:
    speedups, efficiencies = _named(_SPEEDUP, sentence), _named(_EFFICIENCY, sentence)
    first = _base_cases(sentence)
    sizes = [number for number in sentence.numbers if number.unit in _SIZES and number not in first]
    one_each = len(speedups) == len(efficiencies) == len(sizes) == 1 and not _BASE.search(sentence.marked)
    used = (*speedups, *efficiencies, *sizes, *first)
    if not one_each or any(number.hedge for number in used) or min(number.low for number in (*sizes, *first)) <= 0:
        return
    speedup, efficiency, devices = speedups[0], efficiencies[0], sizes[0]
    right = speedup.bounds / devices.bounds
    readings = [right, *(right * exact(middle(number.bounds)) for number in first)]
    if all(reading.apart(value(efficiency)) for reading in readings):
        right = readings[-1]
        size = base(efficiency.unit)[1]
        where = f"from {first[-1].text} to {with_unit(devices)}" if first else f"on {with_unit(devices)}"
        yield Finding(
            "inconsistent",
            (efficiency, speedup, devices),
            f"A speedup of {speedup.text} {where} is an efficiency of "
            f"{about(middle(right) / size, 3)} {efficiency.unit}".rstrip()
            + f", not {with_unit(efficiency)}.",
            matters(value(efficiency), right),
            "efficiency = speedup / devices",
        )


def _base_cases(sentence: Sentence) -> list[Number]:
    """The 8 of "from 8 to 32 GPUs"."""
    pairs = [[sentence.numbers[int(k)] for k in match.groups()] for match in _FROM_TO.finditer(sentence.marked)]
    return [first for first, last in pairs if last.unit in _SIZES and first.unit in ("", last.unit)]


def _named(pattern: re.Pattern[str], sentence: Sentence) -> list[Number]:
    indexes = [next(part for part in match.groups() if part) for match in pattern.finditer(sentence.marked)]
    return [sentence.numbers[int(k)] for k in indexes]
