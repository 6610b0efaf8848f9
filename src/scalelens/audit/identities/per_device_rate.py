"""Rate of a device × devices = rate of the run.

A row of a table with a number of devices, a rate per device and a total rate is accused if most rows follow and it does
not.  So is a sentence that ties one of each together: "16,000 tokens/s on 8 GPUs, i.e. 2,000 tokens/s per GPU".
"""

import re
from collections.abc import Iterator

from scalelens.audit.agreement import MEASURED_TWICE
from scalelens.audit.columns import quotient, rows_against
from scalelens.audit.document import Document, Sentence
from scalelens.audit.finding import Finding
from scalelens.audit.linking import SAME
from scalelens.audit.printed import Bounds
from scalelens.audit.quantities import per_device, value
from scalelens.audit.units import DEVICES
from scalelens.audit.wording import about, matters, middle, with_unit

_IDENTITY = "rate per device = rate / devices"
_LINKED = re.compile(rf"<(\d+)>(?:(?:(?!<\d+>)[^.;:])*?<(\d+)>)?(?:{SAME}|,? or | \()<(\d+)>")


def find(document: Document) -> Iterator[Finding]:
    """Rows whose rate per device is not their rate divided by their devices."""
    for table in document.tables:
        rates = table.columns("rate")
        for one in (k for k in rates if per_device(table, k)):
            for total in (k for k in rates if not per_device(table, k)):
                for devices in table.columns("devices"):
                    if table.meanings[one].item == table.meanings[total].item:
                        yield from rows_against(table, [one, total, devices], quotient, _IDENTITY)
    for sentence in document.sentences:
        yield from _of_sentence(sentence)


def _of_sentence(sentence: Sentence) -> Iterator[Finding]:
    each = [number for number in sentence.numbers if number.unit.rpartition("/")[2] in DEVICES and "/s/" in number.unit]
    sizes = [number for number in sentence.numbers if number.unit in DEVICES]
    if len(each) != 1 or len(sizes) != 1:
        return
    item, _, device = each[0].unit.rpartition("/")
    total = [number for number in sentence.numbers if number.unit == item]
    used = [*each, *total, *sizes]
    linked = _LINKED.search(sentence.marked)
    tied = [sentence.numbers[int(k)] for k in linked.groups() if k] if linked else []
    one_each = len(total) == 1 and sizes[0].unit in (device, "device") and sizes[0].low > 0
    if not one_each or any(number.hedge for number in used) or tied[-1:] != each or any(n not in used for n in tied):
        return
    right = value(total[0]) / value(sizes[0])
    room = Bounds(right.low * (1 - MEASURED_TWICE), right.high * (1 + MEASURED_TWICE))
    if room.apart(value(each[0])):
        yield Finding(
            "inconsistent",
            (each[0], total[0], sizes[0]),
            f"{with_unit(total[0])} on {with_unit(sizes[0])} are {about(middle(right), 6)} {each[0].unit}, "
            f"not {with_unit(each[0])}.",
            matters(value(each[0]), right),
            _IDENTITY,
        )
