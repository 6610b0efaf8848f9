"""Shares of a peak, against the dense and sparse peaks of the device that the text names and against 100 %; the
bandwidth of its memory, and the power that it draws."""

import re
from collections.abc import Iterator
from decimal import Decimal

from scalelens.audit.document import Document, Sentence
from scalelens.audit.finding import Finding
from scalelens.audit.printed import Number
from scalelens.audit.prose.operands import devices_named, peaks
from scalelens.audit.quantities import value
from scalelens.audit.wording import matters, with_unit
from scalelens.units import base

_SHARE_OF_PEAK = r"(?:[mh]?fu|flops? utili[sz]ation|gpu utili[sz]ation)"
_OF_PEAK = re.compile(
    r"<(\d+)> (?:of|\w+ of) (?:the |its |their )?(?:\w+ ){0,2}peak|"
    rf"\b{_SHARE_OF_PEAK}(?: and [mh]fu)? (?:of|is|=) <(\d+)>|<(\d+)> (?:[mh]fu|gpu utili[sz]ation)"
)
_KEPT = re.compile(r"\b(?:(keeps?|kept|retains?|retained)|loses?|lost) <(\d+)>")
_MOST_KEPT = 125  # percent: an accuracy that is kept may be a little better than before
_OF_MEMORY = re.compile(
    r"\b(?:hbm|memory) bandwidth (?:of|is|reaches|=) <(\d+)>|<(\d+)> (?:of )?(?:hbm|memory) bandwidth"
)
_OF_POWER = re.compile(
    r"\b(?:each|a) (?:gpu|device|card|accelerator) (?:draws|drew|uses|used|consumes|consumed) <(\d+)>|"
    r"<(\d+)> (?:per|for each|on each) (?:gpu|device|card|accelerator)\b"
)
_OF_SEVERAL = re.compile(r"aggregate|total|sum|cache|\bl2\b|combined|together|nodes?\b|servers?\b|peak|maximum|boost")
_OF_ALL = re.compile(r"\b(?:aggregate\w*|in total|total|combined|together)\b")
_LIMIT = 1.1  # readings of power and clocks above the nominal one
_SPARSE = 2
_NEARLY = 0.03


def find(document: Document) -> Iterator[Finding]:
    """Shares of a peak that are above 100 %, or that no peak of the named device gives."""
    for index, sentence in enumerate(document.sentences):
        if not sentence.numbers:
            continue
        yield from _beyond(document, index, _OF_MEMORY, "bandwidth_gb_per_s", "GB/s", "the bandwidth of its memory")
        yield from _beyond(document, index, _OF_POWER, "tdp_w", "W", "its power limit")
        for match in _OF_PEAK.finditer(sentence.marked):
            share = sentence.numbers[int(next(part for part in match.groups() if part))]
            if share.hedge or share.unit != "%":
                continue
            if share.low > 100:
                yield _above(share)
            else:
                yield from _against_peaks(sentence, share, document, index)
        for match in _KEPT.finditer(sentence.marked):
            share = sentence.numbers[int(match[2])]
            if share.unit == "%" and share.low > (_MOST_KEPT if match[1] else 100) and not share.hedge:
                yield Finding(
                    "inconsistent",
                    (share,),
                    f"Nothing keeps or loses {with_unit(share)} of what it had: that is more than all.",
                    "conclusion",
                    "share ≤ 100 %",
                )


def _beyond(
    document: Document, index: int, pattern: re.Pattern[str], column: str, unit: str, what: str
) -> Iterator[Finding]:
    """A number above what the largest device has that the sentence or the one before it names."""
    sentence = document.sentences[index]
    matches = list(pattern.finditer(sentence.marked))
    if not matches or _OF_SEVERAL.search(sentence.marked):
        return
    named = devices_named((sentence,)) or devices_named(document.sentences[max(0, index - 1) : index])
    limits = [(float(row[column]), row["device"]) for row in named if row[column]]
    if not limits:
        return
    most, device = max(limits)
    for match in matches:
        number = sentence.numbers[int(next(part for part in match.groups() if part))]
        if number.hedge or base(number.unit)[0] != base(unit)[0]:
            continue
        limit = Decimal(most) * base(unit)[1]
        if value(number).low > limit * Decimal(_LIMIT):
            yield Finding(
                "inconsistent",
                (number,),
                f"{with_unit(number)} are above {most:g} {unit}, {what} ({device}).",
                "conclusion",
                f"{what.removeprefix('its ').removeprefix('the ')} of the {device}",
            )


def _against_peaks(sentence: Sentence, share: Number, document: Document, index: int) -> Iterator[Finding]:
    """A sentence with one rate of operations and one share, and a device that it or one before it names."""
    rates = [number for number in sentence.numbers if number.unit.startswith(("TFLOP/s", "PFLOP/s", "GFLOP/s"))]
    shares = [number for number in sentence.numbers if number.unit == "%"]
    known = peaks((sentence,)) or peaks(document.sentences[max(0, index - 2) : index + 1])
    if len(rates) != 1 or len(shares) != 1 or rates[0].hedge or not known or _OF_ALL.search(sentence.marked):
        return
    given = value(rates[0])
    right = [given / value(peak) for peak in known]
    every = [(each.low / n, each.high / n) for each in right for n in (1, _SPARSE)]
    claimed = value(share)
    low, high = float(claimed.low) * (1 - _NEARLY), float(claimed.high) * (1 + _NEARLY)
    if any(low <= float(b) and float(a) <= high for a, b in every):
        return
    if not any(float(a) < 1 for a, _ in every):
        return
    nearest = min(right, key=lambda each: abs(each.low - claimed.low))
    peak = known[right.index(nearest)]
    yield Finding(
        "inconsistent",
        (share, rates[0]),
        f"{with_unit(rates[0])} are {100 * float(nearest.low + nearest.high) / 2:.3g} % of {peak.text} TFLOP/s, a peak "
        f"of the {peak.words}; no peak of this device makes them {with_unit(share)}.",
        matters(claimed, nearest),
        "share = rate / peak",
    )


def _above(share: Number) -> Finding:
    return Finding(
        "inconsistent",
        (share,),
        f"{with_unit(share)} of a peak is not possible: the rate counts other operations than the peak, or is that of "
        "several devices.",
        "conclusion",
        "share of the peak ≤ 100 %",
    )
