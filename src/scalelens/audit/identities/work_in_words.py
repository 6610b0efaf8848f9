"""Rate × time = work, in a sentence that ties them: "2,130 images/s for 719.4 s, 1,532,000 images in total".

A sentence that only lists the three is left alone: the rate may leave out a start-up that the time includes.
"""

import re
from collections.abc import Iterator

from scalelens.audit.agreement import MEASURED_TWICE
from scalelens.audit.document import Document, Sentence
from scalelens.audit.finding import Finding
from scalelens.audit.linking import FOLLOWS, SAME, is_hedged, is_multiplied
from scalelens.audit.printed import Bounds, Number
from scalelens.audit.quantities import value
from scalelens.audit.wording import about, matters, middle, with_unit
from scalelens.units import base

_LINKED = re.compile(
    rf"<(\d+)> (?:for|over|during|in) <(\d+)>(?:{FOLLOWS}|,? (?:processing|thus processing) (?:a total of )?)<(\d+)>"
)
_AT = re.compile(rf"\bat <(\d+)>, <(\d+)>(?: of training)?{SAME}<(\d+)>")
_INVERSE = re.compile(rf"<(\d+)> in <(\d+)>{FOLLOWS}(?:a (?:rate|throughput) of )?<(\d+)>")


def find(document: Document) -> Iterator[Finding]:
    """Sentences whose work is not their rate times their time."""
    for sentence in document.sentences:
        for pattern in (_LINKED, _AT, _INVERSE):
            for match in pattern.finditer(sentence.marked):
                if not is_multiplied(sentence.marked, match.start()):
                    first, time, last = (sentence.numbers[int(k)] for k in match.groups())
                    rate, work = (last, first) if pattern is _INVERSE else (first, last)
                    yield from _of_numbers(sentence, rate, time, work, accused=last)


def _of_numbers(sentence: Sentence, rate: Number, time: Number, work: Number, accused: Number) -> Iterator[Finding]:
    fits = base(rate.unit)[0] == f"{work.unit}/s" and base(time.unit)[0] == "s" and work.unit
    hedged = rate.hedge or work.hedge or is_hedged(sentence, sentence.numbers.index(time))
    if not fits or hedged or "each" in sentence.marked:
        return
    done = value(rate) * value(time)
    room = Bounds(done.low * (1 - MEASURED_TWICE), done.high * (1 + MEASURED_TWICE))
    if room.apart(value(work)):
        yield Finding(
            "inconsistent",
            (accused, *(number for number in (rate, time, work) if number is not accused)),
            f"{with_unit(rate)} for {with_unit(time)} are {about(middle(done), 6)} {work.unit}, not {with_unit(work)}.",
            matters(value(work), done),
            "rate × time = work",
        )
