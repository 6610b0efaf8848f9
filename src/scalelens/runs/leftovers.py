"""Files without a run of their own, such as power files, join a run nearby, or each other, or stay alone.

The log of a training that has no steps joins a run if its name or its times say so, and because of its folder only
where it is what the launcher printed beside the logs of the ranks.  Other files join the only run in their folder; of
several, the only one at whose time they were written.
"""

import posixpath
from collections import Counter

from scalelens.runs.lookups import Lookup, Tie
from scalelens.runs.part import Part
from scalelens.runs.power_launches import launches
from scalelens.runs.run import Run
from scalelens.runs.settings import Settings
from scalelens.runs.times import MINUTE_NS, Span, SpansByClock, span_of

_TRACE_MARGIN_NS = 15 * MINUTE_NS  # a trace of the first steps may end before the first record of a log
_Found = tuple[Run | None, str]  # a run, and the rule by which it was found; a rule alone if several runs were


def attach_leftovers(leftovers: list[list[Part]], runs: list[Run], ties: list[Tie]) -> None:
    """Adds each group of leftovers to a run, or to the list of runs as a new one."""
    nearby = _RunsNearby(runs, ties)
    without_log = Lookup[Part]("folder without log", ties)
    traces = Counter(parts[0].folder for parts in leftovers if parts[0].facts.traced)  # groups of traces by folder
    launched = Counter(parts[0].folder for parts in leftovers if parts[0].is_log and not parts[0].is_of_rank)
    for parts in sorted(leftovers, key=_turn):
        first = parts[0]
        if first.is_log:
            run, rule = nearby.run_of_log(first, is_only=launched[first.folder] == 1)
        elif first.facts.traced:
            run, rule = nearby.run_of_traces(parts, is_only=traces[first.folder] == 1)
        else:
            run, rule = nearby.run_of_other(first)
        if run:
            run.parts.extend(part._replace(joined_by=rule) for part in parts)
        elif rule or not first.is_sensed:
            runs.append(Run(parts, "folder" if len({part.path for part in parts}) > 1 else "file"))
            if first.is_log or first.facts.traced:
                nearby.add(runs[-1])
        else:
            without_log.gather(first.folder, first, first)
    for _, group in without_log.groups():
        runs += launches(group)


def _turn(parts: list[Part]) -> tuple[bool, bool, bool]:
    """Logs come first, those of ranks before others, then traces."""
    return not parts[0].is_log, not parts[0].is_of_rank, not parts[0].facts.traced


class _RunsNearby:
    """Runs by the folders and names of their files."""

    def __init__(self, runs: list[Run], ties: list[Tie]) -> None:
        self._by_folder = Lookup[Run]("folder", ties)
        self._by_log = Lookup[Run]("log", ties)  # by the base of a log
        self._spans: dict[str, SpansByClock] = {}  # of the runs in a folder
        for run in runs:
            self.add(run)

    def add(self, run: Run) -> None:
        for folder in {part.folder: part for part in run.parts}:
            self._by_folder.offer(folder, run, run.parts[0])
            self._spans.pop(folder, None)
        for part in {part.base: part for part in run.parts if {"steps", "phases"} & set(part.facts.rows)}.values():
            self._by_log.offer(part.base, run, part)

    def run_of_log(self, part: Part, is_only: bool) -> _Found:
        """The run of a training log without steps; `is_only` if no other log of its folder but those of ranks."""
        if named := self._named(part):
            return named, "name"
        nearby = self._by_folder.seek(part.folder, part)
        if is_only and len(nearby) == 1 and _is_launchers(part, nearby[0]):
            return nearby[0], "folder"
        run = self._at_the_time_of(span_of([part]), part.folder, nearby)
        is_another = run and _is_scored(part) and any(_is_scored(other) for other in run.parts)
        return None if is_another else run, "times"

    def run_of_traces(self, parts: list[Part], is_only: bool) -> _Found:
        """The run of traces; `is_only` if no others are in their folder.  It has no other traces of their ranks."""
        run, rule = self._run_of(parts, parts[0].folder, _TRACE_MARGIN_NS)
        ranks = set().union(*(part.ranks for part in parts))
        if run and any(not ranks.isdisjoint(part.ranks) for part in run.parts if part.facts.traced):
            return None, rule
        return (None, rule) if rule == "folder" and not is_only else (run, rule)

    def run_of_other(self, part: Part) -> _Found:
        """The run of another file.

        Runs with a log named like the part's folder come first; if there are none, those in its folder, then the one
        above.
        """
        upper, name = posixpath.split(part.folder)
        for path in (f"{upper}/{name}", f"{posixpath.dirname(upper)}/{name}"):
            if named := self._by_log.seek(path, part):
                return (named[0], "folder") if len(named) == 1 else (None, "folder")
        run, rule = self._run_of([part], part.folder)
        if rule or not part.is_sensed:
            return run, rule
        return self._run_of([part], upper)

    def _run_of(self, parts: list[Part], folder: str, margin_ns: int = 0) -> _Found:
        """The run with the name of the parts, the only one in a folder, or the only one of several at their time."""
        if named := self._named(parts[0]):
            return named, "name"
        nearby, span = self._by_folder.seek(folder, parts[0]), span_of(parts)
        if len(nearby) != 1:
            return self._at_the_time_of(span, folder, nearby), "times" if nearby else ""
        is_apart = span and span.is_apart(span_of(nearby[0].parts), margin_ns)
        return (None, "") if is_apart else (nearby[0], "folder")

    def _named(self, part: Part) -> Run | None:
        """The run whose log has the name of a part; of several in one file, the last one."""
        named = self._by_log.seek(part.base, part)
        is_of_one_file = len({run.parts[0].file_id for run in named}) == 1
        return named[-1] if is_of_one_file else None  # how a job ended is a fact about its last launch

    def _at_the_time_of(self, span: Span | None, folder: str, nearby: list[Run]) -> Run | None:
        """The only run in a folder at the time of a span, if the times of all that have steps are known.

        A log without steps and times may be that of a job that ended early: then the span must cover most of the run.
        """
        if span is None or not nearby:
            return None
        if folder not in self._spans:
            self._spans[folder] = SpansByClock(
                span_of([part for part in run.parts if part.is_log] or run.parts) for run in nearby
            )
        spans = self._spans[folder]
        k = spans.only_overlapping(span)
        if k is None or any(nearby[other].parts[0].facts.steps for other in spans.unknown):
            return None
        return nearby[k] if not spans.unknown or spans.is_mostly_within(k, span) else None


def _is_scored(part: Part) -> bool:
    """Whether it is the log of a whole training without steps, by its phases and scores: a result of MLPerf."""
    is_log = part.is_log and not part.is_of_rank and not part.facts.steps
    return is_log and {"phases", "metrics"} <= set(part.facts.rows)


def _is_launchers(part: Part, run: Run) -> bool:
    """Whether a log without steps may be what the launcher of a run printed: ranks alone logged it, nothing differs.

    A run that was completed has no part in how another one ended.
    """
    logs = [other for other in run.parts if other.is_log]
    outcomes = [{outcome for outcome, _ in one.facts.outcomes} for one in (part, *logs)]
    is_contradicted = outcomes[0] and outcomes[0] != {"completed"} and {"completed"} in outcomes[1:]
    return (
        not part.is_of_rank
        and bool(logs)
        and all(other.is_of_rank for other in logs)
        and Settings(logs).agree_with(part, ignored="model")
        and not is_contradicted
    )
