"""Counts of steps that no word names: a number at the beginning of each line that grows by the same amount.

    10: loss 2.31, 0.52 s/it           (1, 100) loss=2.31 time=0.52s
    20: loss 2.12, 0.51 s/it           (1, 200) loss=2.12 time=0.51s

Looked for only where no line of a log names its count.  One that grows by one may be of epochs as well as of steps: it
is taken only where the line has the time of a step.  Of two, the second restarts where the first grows by one.
"""

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import NamedTuple

from scalelens.parsing import lazy_re as re
from scalelens.parsing.progress_bars import OF_BATCHES
from scalelens.parsing.recurring_lines import ELSEWHERE, RECURS
from scalelens.parsing.source import Source
from scalelens.tabular.unknown_logs.clock import stamp_in
from scalelens.tabular.unknown_logs.lines import log_lines

_MOST_LINES = 20_000
_MOST_KINDS = 200
_FRONT = 60  # characters of a line in which its counts stand
_BEFORE = 25  # of these, that tell kinds of lines apart
_MOSTLY = 0.9
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:[eE][-+]?\d+)?%?")
_MEASURES = re.compile(r"loss|(?<![a-z])(?:acc|ppl|perplexity)", re.IGNORECASE)
_OTHER = re.compile(
    r"(?<![a-z])(?:eps|episode|reward|return|score|fold|trial|seed|val|valid|test|layer|rank|gpu|game)", re.IGNORECASE
)
_NAMED = re.compile(r"(?:epoch|step|iter\w{0,7}|batch|round|it)\W*\Z", re.IGNORECASE)  # what a number counts
_GLOG = re.compile(r"\s+\d+ [\w./-]{1,80}:\d+\] ")  # after its stamp: the thread, and the line of the source
_OF_A_STEP = re.compile(
    r"/(?:itr?|iter|iteration|step|batch)\b|(?:it|iter|iteration|step|batch)s?[_ ]?time"
    r"|(?:it|iters|iterations|steps|batches)/s",
    re.IGNORECASE,
)  # fmt: skip


class _Place(NamedTuple):
    """The counts of a line, and what stands around them."""

    key: tuple[str, str]  # before the first number, and between it and the second
    starts: tuple[int, ...]
    values: tuple[int, ...]


def namer_of_counts(source: Source) -> Callable[[str], str] | None:
    """What names the counts of those lines of a log that count without a word for it; None where there are none."""
    kinds: defaultdict[tuple[str, str], list[tuple[int, ...]]] = defaultdict(list)
    of_a_step: Counter[tuple[str, str]] = Counter()
    for line, whole in itertools.islice(log_lines(source), _MOST_LINES):
        place = _place_in(line.text) if whole and line.rank is None and line.location is None else None
        if place is None or not _MEASURES.search(line.text) or ELSEWHERE.search(line.text) or _OTHER.search(line.text):
            continue
        if place.key in kinds or len(kinds) < _MOST_KINDS:
            kinds[place.key].append(place.values)
            of_a_step[place.key] += _OF_A_STEP.search(line.text) is not None
    found = [
        (key, roles)
        for key, values in kinds.items()
        if (roles := _roles_of(values, of_a_step[key] >= _MOSTLY * len(values)))
    ]
    if len(found) != 1:
        return None
    key, roles = found[0]

    def named(text: str) -> str:
        place = _place_in(text)
        if place is None or place.key != key:
            return text
        for start, role in reversed(list(zip(place.starts, roles, strict=False))):
            text = f"{text[:start]} {role} {text[start:]}"
        return text

    return named


def _place_in(text: str) -> _Place | None:
    """The first one or two numbers of a line, if they are whole."""
    stamp = stamp_in(text)
    begin = stamp.span[1] if stamp else 0
    if stamp and (logger := _GLOG.match(text, begin)):
        begin = logger.end()
    numbers = list(itertools.islice(_NUMBER.finditer(text, begin, begin + _FRONT), 2))
    if not numbers or not numbers[0][0].isdecimal():
        return None
    lead = text[begin : numbers[0].start()][-_BEFORE:]
    if _NAMED.search(lead):
        return None
    whole = [match for match in numbers if match[0].isdecimal()]
    between = text[numbers[0].end() : numbers[1].start()] if len(whole) > 1 else ""
    if len(between) > _BEFORE or ":" in lead[-1:]:
        whole, between = whole[:1], ""
    return _Place((lead, between), tuple(match.start() for match in whole), tuple(int(match[0]) for match in whole))


def _roles_of(values: Sequence[tuple[int, ...]], of_a_step: bool) -> tuple[str, ...]:
    """What the numbers of lines of one kind count; empty where they count nothing."""
    if len(values) < RECURS:
        return ()
    pairs = list(itertools.pairwise(values))
    first = Counter(later[0] - value[0] for value, later in pairs)
    leap, often = first.most_common(1)[0]
    if leap > 0 and often >= _MOSTLY * len(pairs):
        return ("step",) if (leap > 1 and leap % OF_BATCHES) or of_a_step else ()
    if any(len(value) < 2 for value in values) or not set(first) <= {0, 1} or not first[1]:
        return ()
    within = Counter(later[1] - value[1] for value, later in pairs if later[0] == value[0])
    restarts = all(later[1] < value[1] for value, later in pairs if later[0] > value[0])
    leap, often = within.most_common(1)[0]
    steady = leap > 0 and often >= _MOSTLY * sum(within.values()) and (leap == 1 or leap % OF_BATCHES)
    return ("epoch", "batch") if steady and restarts else ()
