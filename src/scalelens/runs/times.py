"""Times of files as evidence: what was written at the same time by the same clock.

Without a zone, a time may be hours from what another clock says.  So times count only between files of one clock:
`utc`, or `naive`, the local time of machines in one place.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

from scalelens.parsing.values import nanoseconds_since_1970
from scalelens.runs.part import Part

MINUTE_NS = 60 * 10**9
_CLOCKS = {"utc", "naive"}
_ZONES_NS = [quarter * 15 * MINUTE_NS for quarter in range(-60, 61)]  # that may lie between two clocks


class Span(NamedTuple):
    """From the first time in some files to the last one, in nanoseconds since 1970."""

    clock: str
    begin: int
    end: int

    def is_apart(self, other: "Span | None", margin_ns: int = 0) -> bool:
        """Whether both are of one clock, and more than a margin lies between them."""
        if other is None or other.clock != self.clock:
            return False
        return self.begin > other.end + margin_ns or other.begin > self.end + margin_ns


def span_of(parts: Iterable[Part]) -> Span | None:
    """The span of parts; None if none has a time, or not all times are of one clock."""
    spans = [span for part in parts for span in _spans_of(part)]
    if len({span.clock for span in spans}) != 1:
        return None
    return Span(spans[0].clock, min(span.begin for span in spans), max(span.end for span in spans))


def _spans_of(part: Part) -> list[Span]:
    facts = part.facts
    spans = [Span("utc", *facts.traced_at)] if facts.traced_at else []
    times = [facts.measured] if facts.measured else []
    if facts.started_at and facts.ended_at:
        times.append((nanoseconds_since_1970(facts.started_at), nanoseconds_since_1970(facts.ended_at)))
    if times and len(facts.clocks) == 1 and facts.clocks[0] in _CLOCKS:
        spans += [Span(facts.clocks[0], begin, end) for begin, end in times]
    return spans


def started_together(parts: Sequence[Part], within_ns: int) -> list[list[Part]]:
    """Parts by the time at which their first record was written.

    Names that differ only in the rank are together if their times overlap.  Parts without times are together, and with
    the others if these are one group.
    """
    by_name: dict[str, list[Part]] = defaultdict(list)
    for part in parts:
        by_name[part.base].append(part)
    timed: list[tuple[Span, list[Part]]] = []
    untimed: list[Part] = []
    for namesakes in by_name.values():
        with_span = [(span, part) for part in namesakes if (span := span_of([part]))]
        untimed += [part for part in namesakes if not span_of([part])]
        timed += _chained(((span, [part]) for span, part in with_span), lambda last, span: span.begin <= last.end)
    groups = [group for _, group in _chained(timed, lambda last, span: span.begin - last.begin <= within_ns)]
    if untimed and len(groups) == 1:
        groups[0] += untimed
    elif untimed:
        groups.append(untimed)
    places = {(part.file_id, part.part): k for k, part in enumerate(parts)}
    return [sorted(group, key=lambda part: places[part.file_id, part.part]) for group in groups]


def _chained(
    groups: Iterable[tuple[Span, list[Part]]], follows: Callable[[Span, Span], bool]
) -> list[tuple[Span, list[Part]]]:
    """Groups in the order of their times, each added to the one before if it follows that."""
    chained: list[tuple[Span, list[Part]]] = []
    for span, group in sorted(groups, key=lambda pair: pair[0]):
        last, members = chained[-1] if chained else (None, [])
        if last and last.clock == span.clock and follows(last, span):
            members.extend(group)
            chained[-1] = last._replace(end=max(last.end, span.end)), members
        else:
            chained.append((span, [*group]))
    return chained


class SpansByClock:
    """Numbered spans, among which the one that overlaps another span is found without comparing all of them."""

    def __init__(self, spans: Iterable[Span | None]) -> None:
        numbered = list(enumerate(spans))
        self.unknown = [k for k, span in numbered if span is None]
        by_clock: dict[str, list[tuple[int, Span]]] = defaultdict(list)
        for k, span in numbered:
            if span:
                by_clock[span.clock].append((k, span))
        self._of_clock = {clock: _OneClock(of_clock) for clock, of_clock in by_clock.items()}
        self._spans = dict(numbered)

    def only_overlapping(self, span: Span) -> int | None:
        """The number of the only span that overlaps; None if there is none, or one of another clock may overlap too."""
        others = [spans for clock, spans in self._of_clock.items() if clock != span.clock]
        in_zones = [Span("", span.begin + zone - MINUTE_NS, span.end + zone + MINUTE_NS) for zone in _ZONES_NS]
        if span.clock not in self._of_clock or any(spans.overlap(shifted) for spans in others for shifted in in_zones):
            return None
        return self._of_clock[span.clock].only_overlapping(span)

    def is_mostly_within(self, number: int, span: Span) -> bool:
        """Whether a span covers at least half of the one with a number."""
        other = self._spans[number]
        if other is None:
            return False
        covered = min(span.end, other.end) - max(span.begin, other.begin)
        return 2 * covered >= other.end - other.begin


class _OneClock:
    """Spans by their begin and by their end, with the sums of their numbers.

    Those that begin before the end of a span, without those that end before its begin, are the ones that overlap it.
    If it is one, the difference of the sums is its number.
    """

    def __init__(self, numbered: list[tuple[int, Span]]) -> None:
        by_begin = sorted(numbered, key=lambda pair: pair[1].begin)
        by_end = sorted(numbered, key=lambda pair: pair[1].end)
        self._begins, self._ends = [span.begin for _, span in by_begin], [span.end for _, span in by_end]
        self._begin_sums = list(accumulate((k for k, _ in by_begin), initial=0))
        self._end_sums = list(accumulate((k for k, _ in by_end), initial=0))

    def only_overlapping(self, span: Span) -> int | None:
        begun, ended = self._begun_and_ended(span)
        return self._begin_sums[begun] - self._end_sums[ended] if begun - ended == 1 else None

    def overlap(self, span: Span) -> bool:
        begun, ended = self._begun_and_ended(span)
        return begun > ended

    def _begun_and_ended(self, span: Span) -> tuple[int, int]:
        """How many begin before a span ends, and how many end before it begins."""
        return bisect_right(self._begins, span.end), bisect_left(self._ends, span.begin)
