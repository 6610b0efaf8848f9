"""Which launch of a run printed a record, where ranks are not labeled.

Several ranks print to one file, and a run that failed is launched again into the same file.  In both cases a step is
repeated.  A repeated or slightly older step is another rank's record.  A restart needs evidence:

    a header         the launch printed its banner or its arguments since the last record
    a gap in time    ten step times or more passed, and the step is not a later one
    the first step   it is repeated after a later one, in a file that shows neither headers nor times

A model of the writers decides the remaining cases: each prints its steps in order, and all begin with the first step
of the launch.  A record that no writer can have printed begins a launch.  Where launches seem to follow each other
within a few steps, the same lines may come from ranks that are not in step: then the part is ambiguous.
"""

import bisect
import itertools
import statistics
from collections import Counter, deque
from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple

# What each rank or node of a launch prints before its first step, regardless of the format that reads the records.
HEADERS = (
    "[before the start of training step]",  # Megatron-LM
    "Initializing distributed: GLOBAL_RANK: ", "initializing distributed: GLOBAL_RANK: ",  # Lightning, LitGPT, NeMo
    "Verifying settings ...",  # LitGPT
    "***** Running training *****",  # transformers
    "Setting OMP_NUM_THREADS environment variable for each process",  # torchrun
    "=> creating model '", "=> using pre-trained model '",  # pytorch/examples, imagenet
    "| distributed init (rank ",  # torchvision's references and what was made from them
)  # fmt: skip
_STEPS_OF_A_GAP = 10  # a pause of as many step times is a launch
_SKEW = 3  # records, or step times, that one rank may be ahead of another
_SURE = 8  # records of different steps that show whether there is one writer
KEPT = 256  # steps and writers of a launch that are remembered
AMBIGUOUS = "ambiguous: it is unknown whether several launches or several ranks wrote these records; no statistics"

_Stream = tuple[
    Any, ...
]  # who printed, as far as that is known: format, rank, location, and what else distinguishes records


class Position(NamedTuple):
    """Where a record stands."""

    attempt: int
    begins: bool  # the first record of its attempt
    before: Any  # the largest earlier step of the attempt that is known; None where there is none
    repeated: bool  # another record of the attempt has the same step


class Launch:
    """What is known of the current launch, from its records."""

    def __init__(self, step: Any, ts: datetime | None, step_s: float | None) -> None:
        self.steps = [step]  # different ones, ascending
        self.first = step
        self.distinct = 1
        self.writers = [step]  # the last step of each, ascending
        self.repeated = False
        self.shown: dict[Any, datetime | None] = {step: ts}  # time of the first record of a step
        self.latest = ts
        self.whole_seconds = ts is None or ts.microsecond == 0
        self.step_times: deque[float] = deque([step_s] if step_s else [], 32)

    @property
    def top(self) -> Any:
        return self.steps[-1]

    def later(self, step: Any) -> int:
        """How many different steps beyond this one were seen."""
        return len(self.steps) - bisect.bisect_right(self.steps, step)

    def has_writer_for(self, step: Any) -> bool:
        return bool(self.writers[0] < step)

    def span_of(self, steps: int) -> float | None:
        """Seconds that steps take; None where no time of a step is known."""
        if not self.step_times:
            return None
        return steps * statistics.median(self.step_times) + (1 if self.whole_seconds else 0)

    def paused(self, ts: datetime | None) -> bool:
        """Whether there is a gap in time before a record."""
        gap = self.span_of(_STEPS_OF_A_GAP)
        return bool(ts and self.latest and gap is not None and _seconds(self.latest, ts) >= gap)

    def is_late(self, step: Any, ts: datetime | None) -> bool | None:
        """Whether a step comes later than another rank would print it; None where the times do not show that."""
        shown, skew = self.shown.get(step), self.span_of(_SKEW)
        return None if ts is None or shown is None or skew is None else _seconds(shown, ts) > skew

    def add(self, step: Any, ts: datetime | None, step_s: float | None) -> tuple[Any, bool]:
        """Takes a record.  Returns the largest earlier step, and whether there was a record of the same step."""
        steps, latest = self.steps, self.latest
        at = bisect.bisect_left(steps, step)
        known = at < len(steps) and steps[at] == step
        before = steps[at - 1] if at else None
        if ts is not None:
            self.whole_seconds &= ts.microsecond == 0
            if step_s is None and latest is not None and step > steps[-1]:
                step_s = max(_seconds(latest, ts), 0) / _distance(steps[-1], step)
            if latest is None or ts > latest:
                self.latest = ts
        if step_s:
            self.step_times.append(step_s)
        self.assign(step)
        if known:
            self.repeated = True
        else:
            steps.insert(at, step)
            self.distinct += 1
            self.shown[step] = ts
            if len(steps) > KEPT:
                self.shown.pop(steps.pop(0))
        return before, known

    def extend(
        self, steps: list[int], times: list[datetime], step_s: list[float], whole_seconds: bool, latest: datetime | None
    ) -> None:
        """`add` of records whose steps rise, from beyond all that were seen.  The last KEPT of them are enough.

        `times` is empty where records have none; `whole_seconds` and `latest` are about all of them.
        """
        if latest:
            self.whole_seconds &= whole_seconds
            self.latest = max(latest, self.latest or latest)
        self.step_times.extend(time for time in step_s if time)
        self.writers[-1:] = steps[-1:]
        self.distinct += len(steps)
        self.steps += steps
        self.shown |= dict(zip(steps, times or itertools.repeat(None), strict=False))
        for step in self.steps[:-KEPT]:
            self.shown.pop(step, None)
        del self.steps[:-KEPT]

    def assign(self, step: Any) -> None:
        """Gives a record to the writer that is the furthest below its step, or to a new writer."""
        at = bisect.bisect_left(self.writers, step)
        if at:
            self.writers[at - 1] = step
        elif len(self.writers) < KEPT:
            self.writers.insert(0, step)


class _History:
    """The launches of one stream of records."""

    def __init__(self) -> None:
        self.attempt = 0
        self.launch: Launch | None = None
        self.headers = 0  # of the file, when the last record came
        self.headed = False  # this launch printed a header
        self.proven = True  # there was evidence of this launch
        self.doubted = 0  # restarts in a row, each of which may be a rank that is not in step


class Writers:
    """Tells the formats of one file which attempt a record belongs to."""

    def __init__(self, ambiguous: Callable[[int | None], None]) -> None:
        self.headers = 0
        self._ambiguous = ambiguous
        self._told = False
        self._headers_by_rank: Counter[int | None] = Counter()
        self._streams: dict[_Stream, _History] = {}

    def launched(self, rank: int | None = None) -> None:
        """Notes the header of a launch: a banner, arguments, the start of a process."""
        self.headers += 1
        self._headers_by_rank[rank] += 1

    def headers_for(self, rank: int | None) -> int:
        """Headers that concern a rank: its own, where it prints them, and those that name no rank."""
        if rank is None or rank not in self._headers_by_rank:
            return self.headers
        return self._headers_by_rank[rank] + self._headers_by_rank[None]

    def position_of(
        self, whose: _Stream, step: Any, line: int, rank: int | None = None, ts: datetime | None = None,
        step_s: float | None = None, once: bool = True,
    ) -> Position:  # fmt: skip
        """The attempt of a record of training.  `step` grows within an attempt: a number, or epoch and iteration.

        A rank that is named prints a step `once`, so that the same step again is a restart.  Many tools repeat it.
        """
        stream = (*whose, rank)
        history = self._streams.get(stream) or self._streams.setdefault(stream, _History())
        launch, proven, headers = history.launch, True, self.headers_for(rank)
        if launch is None or headers != history.headers:
            begins = True
        elif step > (top := launch.steps[-1]):
            begins = False
        elif rank is not None:
            begins = step < top or once
        else:
            proven = launch.paused(ts)
            begins = proven or self._goes_back(history, launch, step, line, ts)
        if history.doubted and launch and not begins:
            self._resolve(history, launch, step, line)
        if not begins and launch:
            history.headers = headers
            return Position(history.attempt, False, *launch.add(step, ts, step_s))
        history.attempt += launch is not None
        history.headed, history.proven, history.headers = headers != history.headers, proven, headers
        history.doubted *= not proven
        history.launch = Launch(step, ts, step_s)
        return Position(history.attempt, True, None, False)

    def following(self, whose: _Stream, rank: int | None) -> tuple[int, Launch] | None:
        """Attempt and launch of a stream that a later step goes on with; None where it may begin a launch."""
        history = self._streams.get((*whose, rank))
        if not history or not history.launch or history.doubted or history.headers != self.headers_for(rank):
            return None
        return history.attempt, history.launch

    def begins_launch(self, whose: _Stream, rank: int | None, step: Any) -> bool:
        """Whether a step belongs to a new launch, where it is known that the previous one ended."""
        history = self._streams.get((*whose, rank))
        launch = history.launch if history else None
        return launch is not None and (step == launch.first or launch.later(step) > _SKEW)

    def _goes_back(self, history: _History, launch: Launch, step: Any, line: int, ts: datetime | None) -> bool:
        """Whether a repeated or older step begins a launch, without a header or a gap in time before it."""
        late = launch.is_late(step, ts)
        if late is not None:
            return late
        if step == launch.top or launch.has_writer_for(step):
            return False
        steps_behind = launch.later(step)
        if history.headed and steps_behind <= _SKEW and step in launch.shown:
            return False
        near = steps_behind <= (1 if step == launch.first else _SKEW)
        may_be_a_rank = near and step in launch.shown and (launch.repeated or launch.distinct < _SURE)
        between = not history.proven and launch.distinct <= _SKEW and step > launch.first and step not in launch.shown
        if may_be_a_rank or between or history.doubted:
            history.doubted += 1
            if history.doubted > _SKEW:  # ranks or launches are interleaved: counting them shows nothing
                self._say(line)
                return False
        return True

    def _resolve(self, history: _History, launch: Launch, step: Any, line: int) -> None:
        """One writer alone for some time: the doubtful step was a restart.  Several: it may have been a rank."""
        if step <= launch.top:
            self._say(line)
        elif launch.distinct >= _SURE and history.doubted <= _SKEW:
            history.doubted = 0

    def _say(self, line: int | None) -> None:
        if not self._told:
            self._told = True
            self._ambiguous(line)


def _distance(step: Any, later: Any) -> float:
    """Steps between two records; 1 where only their order is known."""
    if isinstance(step, tuple):
        return _distance(step[-1], later[-1]) if step[:-1] == later[:-1] else 1
    return float(later - step) if isinstance(step, int) else 1


def _seconds(earlier: datetime, later: datetime) -> float:
    return (later - earlier).total_seconds()
