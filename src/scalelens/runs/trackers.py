"""What a tracker kept of a run whose log is elsewhere: both are one run, and the same step counts once.

The log counts, as it is what the training printed, unless only the tracker has times of steps.  The other is a twin,
and so are the printed lines that the tracker kept as well (W&B's output.log), and a history that was exported from the
tracker beside its own record: its first time stamp is that of the record, to the microsecond.
"""

import posixpath
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from scalelens.runs.copies import MINUTE, QUARTER
from scalelens.runs.lookups import Lookup, Tie
from scalelens.runs.part import Part
from scalelens.runs.run import Run
from scalelens.runs.settings import Settings
from scalelens.runs.times import span_of

_FOLDER = re.compile(r"(.*)/wandb/[^/]+\Z")  # of the folder of a W&B run, that in which the training was started
_RECORD = ".wandb"  # which may hold the printed lines as well, as a part of their own
_END = timedelta(seconds=15)  # between the last record of a log and of a tracker
_FARTHEST_ZONE = timedelta(hours=15)


def with_twins(parts: list[Part]) -> list[Part]:
    """The parts of one run; where a log and a tracker have its steps, one of them is a twin, and comes later."""
    logs = [part for part in parts if part.facts.steps and (part.facts.of_tracker or part.joined_by != "twin")]
    if not any(part.facts.of_tracker for part in logs) or all(part.facts.of_tracker for part in logs):
        return sorted(parts, key=lambda part: not part.facts.steps)
    tracker_counts = not any(part.facts.timed for part in logs if not part.facts.of_tracker) and any(
        part.facts.timed for part in logs if part.facts.of_tracker
    )

    others = any(not part.facts.of_tracker and not part.path.endswith(_RECORD) for part in logs)

    def is_twin(part: Part) -> bool:
        is_copy = others and not part.facts.of_tracker and part.path.endswith(_RECORD)
        return bool(part.facts.steps) and (is_copy or part.facts.of_tracker != tracker_counts)

    marked = [part._replace(joined_by="twin") if is_twin(part) else part for part in parts]
    return sorted(marked, key=lambda part: (not part.facts.steps, part.joined_by == "twin"))


def attach_exports(runs: list[Run], ties: list[Tie]) -> list[Run]:
    """The runs, with each exported history moved to the run whose record it was exported from.

    The record counts, unless it ends before the export does, as that of a killed run may.
    """
    alike = Lookup[Run]("exported", ties)
    for run in runs:
        if (part := _history_of(run)) and _is_exact(part):
            alike.gather((part.root, str(part.facts.started_at)), run, part)
    joined: dict[str, list[Part]] = {}  # by the id of the run of the record
    moved: set[str] = set()
    for _, group in alike.groups():
        records = [run for run in group if _is_record(run)]
        exports = [run for run in group if not _is_record(run) and len(run.parts) == 1]
        if len(records) == 1 and exports:
            joined[records[0].run_id] = _latest_first(records[0], exports)
            moved |= {run.run_id for run in exports}
    return [run._replace(parts=joined.get(run.run_id, run.parts)) for run in runs if run.run_id not in moved]


def _latest_first(record: Run, exports: list[Run]) -> list[Part]:
    """The parts of a record and its exports.  The history that ends last counts, the others are twins."""
    of_record = _history_of(record)
    histories = [part for part in (of_record, *map(_history_of, exports)) if part]
    ends = {(part.file_id, part.part): str(part.facts.ended_at) for part in histories}
    kept = max(histories, key=lambda part: (ends[part.file_id, part.part], part is of_record))
    parts = [*record.parts, *(part for run in exports for part in run.parts)]
    marked = [part._replace(joined_by="twin") if part in histories and part != kept else part for part in parts]
    return sorted(marked, key=lambda part: (not part.facts.steps, part.joined_by == "twin"))


def _is_exact(part: Part) -> bool:
    """Whether the first time stamp is finer than a second: two runs may begin in the same one."""
    return bool(part.facts.started_at and part.facts.started_at.microsecond)


def _history_of(run: Run) -> Part | None:
    """The only part with steps of a run of a tracker."""
    histories = [part for part in run.parts if part.facts.steps and part.facts.of_tracker and part.named_run is None]
    return histories[0] if len(histories) == 1 else None


def _is_record(run: Run) -> bool:
    return any(part.path.endswith(_RECORD) for part in run.parts if part.facts.of_tracker)


class _Place(NamedTuple):
    """Where runs may be those of one training: below a folder, or in one job."""

    kind: str
    root: str
    name: str


def attach_trackers(runs: list[Run], ties: list[Tie]) -> list[Run]:
    """The runs, with each tracker's moved to the run whose log it keeps, if it is clear which one that is."""
    nearby = Lookup[Run]("tracker", ties)
    for run in runs:
        places = {place: part for part in run.parts for place in _places(part)}
        for place, of_place in places.items():
            nearby.gather(place, run, of_place)
    joined: dict[str, tuple[Run, str]] = {}  # the run of the log, and the rule, by the id of the tracker's run
    for place, group in nearby.groups():
        trackers = [run for run in group if _is_tracked(run)]
        logs = [run for run in group if not _is_tracked(run)] if trackers else []
        pairs = [(tracker, log) for tracker in trackers for log in logs if _are_one(tracker, log, place.kind)]
        for tracker, log in pairs:
            alike = [pair for pair in pairs if pair[0] is tracker or pair[1] is log]
            if len(alike) == 1:
                joined.setdefault(tracker.run_id, (log, "job id" if place.kind == "job" else "times"))
    of_log: dict[str, list[Part]] = {}
    for run in runs:
        if found := joined.get(run.run_id):
            of_log.setdefault(found[0].run_id, []).extend(_joined(part, found[1]) for part in run.parts)
    return [
        run._replace(parts=with_twins([*run.parts, *of_log.get(run.run_id, [])])) if run.run_id in of_log else run
        for run in runs
        if run.run_id not in joined
    ]


def _joined(part: Part, rule: str) -> Part:
    """A part of a tracker's run, beside the log.  What the tracker kept of the printed lines repeats the log."""
    if part.facts.of_tracker:
        return part._replace(joined_by=rule)
    return part._replace(joined_by="twin" if part.facts.steps else part.joined_by or rule)


def _places(part: Part) -> Iterator[_Place]:
    if part.named_run is None and (part.facts.of_tracker or (part.is_log and part.facts.steps)):
        if part.job_id:
            yield _Place("job", part.root, part.job_id)
        above = _FOLDER.match(part.folder) if part.facts.of_tracker else None
        yield _Place("folder", part.root, above[1] if above else part.folder)
        if part.facts.of_tracker and not above:  # a database in a folder of its own
            yield _Place("folder", part.root, posixpath.dirname(part.folder))


def _is_tracked(run: Run) -> bool:
    return any(part.facts.of_tracker for part in run.parts)


def _are_one(tracker: Run, log: Run, kind: str) -> bool:
    """Whether a tracker's run and one with a log are of one training."""
    settings = Settings(log.parts)
    jobs = {job for part in (*tracker.parts, *log.parts) if (job := part.job_id)}
    if len(jobs) > 1 or not all(settings.agree_with(part, ignored="model") for part in tracker.parts):
        return False
    spans = span_of(tracker.parts), span_of(log.parts)
    if kind == "job":
        return spans[0] is None or not spans[0].is_apart(spans[1])
    return _are_of_one_time(_times(tracker), _times(log))


def _times(run: Run) -> tuple[datetime, datetime] | None:
    """The first and the last time of the steps of a run: of a tracker's those that it noted, in its own clock."""
    tracked = _is_tracked(run)
    facts = [part.facts for part in run.parts if part.facts.steps and part.facts.of_tracker == tracked]
    starts, ends = [one.started_at for one in facts if one.started_at], [one.ended_at for one in facts if one.ended_at]
    return (min(starts), max(ends)) if starts and ends else None


def _are_of_one_time(one: tuple[datetime, datetime] | None, other: tuple[datetime, datetime] | None) -> bool:
    """Whether both began and ended together.  Their clocks may differ by a zone, in quarters of an hour."""
    if one is None or other is None or one[0] == one[1]:
        return False
    zone = QUARTER * round((one[1] - other[1]) / QUARTER)
    began, ended = (abs(one[k] - other[k] - zone) for k in (0, 1))
    return abs(zone) <= _FARTHEST_ZONE and began <= MINUTE and ended <= _END
