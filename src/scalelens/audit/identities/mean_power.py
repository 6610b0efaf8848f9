"""Energy / time = mean power.

A row of a table is accused if most rows follow, up to a number of devices that all share, and it does not.  A sentence
is accused if it ties the three together, as in "350 Wh in 2 h, a mean power of 175 W" or "ran for 2 h and used 350 Wh
(175 W on average)".  If it only lists the three, its energy may be that of another part of the run.
"""

import re
from collections.abc import Iterator

from scalelens.audit.agreement import MEASURED_TWICE
from scalelens.audit.columns import quotient, rows_against
from scalelens.audit.document import Document, Sentence
from scalelens.audit.finding import Finding
from scalelens.audit.linking import is_hedged, is_multiplied
from scalelens.audit.printed import Bounds
from scalelens.audit.quantities import unit_is, value
from scalelens.audit.wording import about, matters, middle, with_unit

_MEAN = (
    r"(?:[^.;]*?(?:mean|average)(?:d)? (?:power|draw)[^<>;]{0,20}<(?P<power>\d+)>|,? averaging <(?P<averaged>\d+)>|"
    r",? \(?<(?P<bracketed>\d+)> on average)"
)
_IN = r"(?:in|over|during|within|for) (?:the |a |its )?(?:\w+ )?"
_LINKED = re.compile(rf"<(?P<energy>\d+)> (?:\w+ ){{0,2}}?{_IN}<(?P<time>\d+)>{_MEAN}")
_TIME_FIRST = re.compile(
    rf"{_IN}<(?P<time>\d+)>,? (?:and |it |they )?(?:consum|us|draw|drew|need|took)\w* <(?P<energy>\d+)>{_MEAN}"
)
_IDENTITY = "energy / time = mean power"


def find(document: Document) -> Iterator[Finding]:
    """Rows and sentences whose power is not their energy divided by their time."""
    for table in document.tables:
        for power in table.columns("power"):
            for energy in table.columns("energy"):
                for time in table.columns("time"):
                    yield from rows_against(table, [power, energy, time], quotient, _IDENTITY, MEASURED_TWICE)
    for sentence in document.sentences:
        yield from _of_sentence(sentence)


def _of_sentence(sentence: Sentence) -> Iterator[Finding]:
    for linked in (*_LINKED.finditer(sentence.marked), *_TIME_FIRST.finditer(sentence.marked)):
        power_index = linked["power"] or linked["averaged"] or linked["bracketed"]
        energy, time, power = (sentence.numbers[int(k)] for k in (linked["energy"], linked["time"], power_index))
        if is_multiplied(sentence.marked, linked.start()):
            continue
        if unit_is(energy, "J") and unit_is(time, "s") and unit_is(power, "W") and value(time).low > 0:
            right = value(energy) / value(time)
            room = Bounds(right.low * (1 - MEASURED_TWICE), right.high * (1 + MEASURED_TWICE))
            exact = not (energy.hedge or power.hedge or is_hedged(sentence, int(linked["time"])))
            if exact and room.apart(value(power)):
                yield Finding(
                    "inconsistent",
                    (power, energy, time),
                    f"{with_unit(energy)} in {with_unit(time)} are {about(middle(right))} W, not {with_unit(power)}.",
                    matters(value(power), right),
                    _IDENTITY,
                )
