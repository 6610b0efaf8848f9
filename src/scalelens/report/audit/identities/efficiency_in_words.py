"""Speedup / devices = efficiency, in a sentence: "a speedup of 14.2 on 16 GPUs, an efficiency of 89 %".

Said of a sentence with one of each.  Where the sentence names a base case ("over 8 GPUs", "relative to 4 nodes") there
are two numbers of devices, and it is left alone.
"""

import re
from collections.abc import Iterator

from scalelens.report.audit.document import Document, Sentence
from scalelens.report.audit.finding import Finding
from scalelens.report.audit.printed import Number
from scalelens.report.audit.quantities import value
from scalelens.report.audit.units import DEVICES, base
from scalelens.report.audit.wording import about, matters, middle, shown

SPEEDUP = re.compile(r"speed-?up of <(\d+)>|<(\d+)> speed-?up|<(\d+)> (?:as fast|faster)")
EFFICIENCY = re.compile(
    r"efficiency (?:of|is|=) <(\d+)>|<(\d+)> (?:parallel |scaling |strong-scaling )?efficien(?:cy|t)"
)
BASE = re.compile(
    r"relative to|compared|baseline|base case|over (?:one|a single) node|per node|\bover <|\bthan <|\bthan on <"
)


def find(document: Document) -> Iterator[Finding]:
    """Sentences whose efficiency is not their speedup over their devices."""
    for sentence in document.sentences:
        yield from of_sentence(sentence)


def of_sentence(sentence: Sentence) -> Iterator[Finding]:
    speedups, efficiencies = named(SPEEDUP, sentence), named(EFFICIENCY, sentence)
    sizes = [number for number in sentence.numbers if number.unit in (*DEVICES, "nodes")]
    exact = len(speedups) == len(efficiencies) == len(sizes) == 1 and not BASE.search(sentence.marked)
    if not exact or sizes[0].low <= 0 or any(number.hedge for number in (*speedups, *efficiencies, *sizes)):
        return
    speedup, efficiency, devices = speedups[0], efficiencies[0], sizes[0]
    right = speedup.interval / devices.interval
    if right.apart(value(efficiency)):
        size = base(efficiency.unit)[1]
        yield Finding(
            "inconsistent",
            (efficiency, speedup, devices),
            f"A speedup of {speedup.text} on {shown(devices)} is an efficiency of "
            f"{about(middle(right) / size, 3)} {efficiency.unit}".rstrip()
            + f", not {shown(efficiency)}.",
            matters(value(efficiency), right),
            "efficiency = speedup / devices",
        )


def named(pattern: re.Pattern[str], sentence: Sentence) -> list[Number]:
    places = [next(part for part in match.groups() if part) for match in pattern.finditer(sentence.marked)]
    return [sentence.numbers[int(place)] for place in places]
