"""A share of a small count is a whole number of its items (the GRIM test of Brown and Heathers, 2017).

"37 % of 16 GPUs" is impossible: 5 of 16 are 31 %, 6 are 38 %.  This is about sentences with a percentage of a count of
devices, nodes, runs or steps, up to 1,000, if both are exact.  The same test for work: n steps of one batch size
process a multiple of it: "12 steps of 256 images, 3,000 images in total" is wrong.
"""

import re
from collections.abc import Iterator
from decimal import ROUND_FLOOR

from scalelens.audit.document import Document, Sentence
from scalelens.audit.finding import Finding
from scalelens.audit.linking import FOLLOWS, SAME, is_multiplied
from scalelens.audit.printed import Number
from scalelens.audit.quantities import value
from scalelens.audit.units import DEVICES
from scalelens.audit.wording import about, matters, middle, with_unit

_SHARE = re.compile(r"<(\d+)> of (?:the |all |its |our )?<(\d+)>(?![\w'’]| ?(?:peak|memory|power|hours))")
_WORK = re.compile(
    r"<(\d+)> (?:of|with|at) (?:a )?(?:global )?(?:batch size of |batch size )?<(\d+)>"
    rf"(?:{FOLLOWS}<(\d+)>(?: in total| altogether)|{SAME}<(\d+)>)"
)
_COUNTS = (*DEVICES, "nodes", "runs", "steps", "batches", "epochs")
_SMALLEST, _LARGEST = 3, 1000  # "66 % of 1 epoch" is a part of one


def find(document: Document) -> Iterator[Finding]:
    """Shares that no whole number of items gives, and work that is not a multiple of its batch."""
    for sentence in document.sentences:
        yield from _shares(sentence)
        yield from _work(sentence)


def _shares(sentence: Sentence) -> Iterator[Finding]:
    for match in _SHARE.finditer(sentence.marked):
        share, count = (sentence.numbers[int(k)] for k in match.groups())
        if share.unit == "%" and count.unit in _COUNTS and not (share.hedge or count.hedge) and _is_small(count):
            span = value(share)
            below = (span.high * count.high).to_integral_value(ROUND_FLOOR)
            if below < span.low * count.low:
                around = [f"{items} are {about(100 * items / count.low, 3)} %" for items in (below, below + 1)]
                yield Finding(
                    "inconsistent",
                    (share, count),
                    f"{with_unit(share)} of {with_unit(count)} is not a whole number: {' and '.join(around)}.",
                    "slip",
                    "share × count is a whole number",
                )


def _is_small(count: Number) -> bool:
    return count.low == count.high and _SMALLEST <= count.low <= _LARGEST


def _work(sentence: Sentence) -> Iterator[Finding]:
    for match in _WORK.finditer(sentence.marked):
        steps, batch, total = (sentence.numbers[int(k)] for k in match.groups() if k)
        right = steps.bounds * batch.bounds
        known = steps.unit in ("steps", "batches") and not (steps.hedge or batch.hedge or total.hedge)
        known &= not is_multiplied(sentence.marked, match.start())
        known &= bool(match[3]) or total.unit in ("samples", "images", "sequences", batch.unit or "samples")
        if known and right.apart(total.bounds):
            yield Finding(
                "inconsistent",
                (total, steps, batch),
                f"{with_unit(steps)} of {with_unit(batch)} are {about(middle(right), 7)}, not {with_unit(total)}.",
                matters(total.bounds, right),
                "work = steps × batch size",
            )
