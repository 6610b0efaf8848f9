"""Spans of time behind a line, as many as are visible: a run may have more phases than a figure has columns."""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple


class Span(NamedTuple):
    """A span of time with a name."""

    begins: float
    ends: float
    label: str


def by_slots(spans: Sequence[Span], begins: float, ends: float, slots: int) -> list[Span]:
    """The spans in slots of equal length, each with the name visible for most of it; equal neighbors are joined.

    A slot that shows nothing for most of its time has no span.  `spans` are in the order of their starts, and later
    ones cover earlier ones.
    """
    length = (ends - begins) / slots
    seen: list[dict[str, float]] = [{} for _ in range(slots)]
    for span in _seen(spans):
        low, high = max(span.begins, begins) - begins, min(span.ends, ends) - begins
        for slot in range(int(low / length), min(int(high / length) + 1, slots)):
            part = min(high, (slot + 1) * length) - max(low, slot * length)
            seen[slot][span.label] = seen[slot].get(span.label, 0) + max(part, 0)
    joined: list[Span] = []
    for slot, parts in enumerate(seen):
        label = _longest(parts, length)
        start, end = begins + slot * length, begins + (slot + 1) * length
        if joined and joined[-1].label == label:
            joined[-1] = joined[-1]._replace(ends=end)
        else:
            joined.append(Span(start, end, label))
    return [span for span in joined if span.label]


def _longest(parts: dict[str, float], length: float) -> str:
    """The name that takes most of a slot, or an empty one if nothing takes more."""
    shares = {"": length - sum(parts.values())} | parts
    # Rounded, so that equal shares are equal whatever their last bits; the first in the alphabet wins.
    return min(shares, key=lambda label: (-round(shares[label] / length, 6), label))


def _seen(spans: Iterable[Span]) -> list[Span]:
    """The visible parts of spans that are drawn over each other, without overlaps."""
    seen: list[Span] = []
    below: list[Span] = []  # spans that began before, the topmost last
    at = float("-inf")
    for span in chain(spans, (Span(float("inf"), float("inf"), ""),)):
        while below and at < span.begins:
            if below[-1].ends <= at:
                below.pop()
                continue
            until = min(below[-1].ends, span.begins)
            seen.append(Span(at, until, below[-1].label))
            at = until
        at = span.begins
        below.append(span)
    return seen
