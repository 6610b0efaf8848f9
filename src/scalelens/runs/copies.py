"""Files that repeat the records of other files: they belong to the same run, and their rows do not count."""

import re
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import NamedTuple

from scalelens.parsing.part_facts import PartFacts
from scalelens.runs.lookups import Lookup, Tie
from scalelens.runs.part import Part

_RESULTS = re.compile(r"(.*/)(?:(all)|train|eval|test|predict)_results\.json\Z")
# What one program writes to several files of a folder, with the same records: Stable-Baselines3; StyleGAN and EDM.
_WRITERS = ("/progress.csv", "/progress.json", "/stats.jsonl", "/log.txt")
# What ms-swift writes besides what it prints, with more digits, into the folder of the log or below it.
_RECORDS = "/logging.jsonl"
_TABLES = (".jsonl", ".json", ".csv", ".tsv")  # that people make of a log have its steps as well
_DEEPEST = 3  # folders between the two
_CHECKPOINT = re.compile(r"(.*/)checkpoint-(\d{1,15})/trainer_state\.json\Z")

MINUTE, QUARTER = timedelta(minutes=1), timedelta(minutes=15)
_FARTHEST_ZONE = timedelta(hours=15)  # between two clocks
_END = timedelta(seconds=10)  # between what ranks and their launcher write last
_MOST_STEPS = 0.75


class Originals:
    """Files that others may repeat under another name.

    OpenMMLab writes X.log and X.log.json.  Hugging Face's state at a checkpoint is the beginning of later states.  Its
    files of results repeat the state, or the file of all results.  Of the files that Stable-Baselines3 writes in a
    folder, those with the same steps repeat the first.
    """

    def __init__(self, parts: Iterable[Part], ties: list[Tie]) -> None:
        self._paths = Lookup[str]("path", ties)
        self._checkpoints = Lookup[tuple[int, str]]("checkpoints", ties)
        self._writers = Lookup[Part]("writers", ties)
        self._records = Lookup[Part]("records", ties)  # by each folder above them
        self._logs = Lookup[Part]("logs", ties)
        for part in parts:
            if not part.facts.steps and not part.path.endswith("/all_results.json"):
                continue
            self._paths.offer(part.path, part.path, part)
            if part.facts.steps and part.path.endswith(_WRITERS):
                self._writers.offer(part.folder, part, part)
            if part.facts.steps and part.path.endswith(_RECORDS):
                for folder in part.folders_above[: _DEEPEST + 1]:
                    self._records.offer(folder, part, part)
            elif part.facts.steps and not part.path.endswith(_TABLES):
                self._logs.offer(part.folder, part, part)
            if checkpoint := _CHECKPOINT.match(part.path):
                self._checkpoints.offer(checkpoint[1], (int(checkpoint[2]), part.path), part)
        for _, checkpoints in self._checkpoints.groups():
            checkpoints.sort()

    def repeated_by(self, part: Part) -> str | None:
        """The path of the file whose records a part repeats."""
        return next((path for path in self._candidates(part) if self._paths.seek(path, part)), None)

    def _candidates(self, part: Part) -> list[str]:
        """Paths of files that a part may repeat; the first that exists counts."""
        if part.facts.steps and not part.path.endswith(_TABLES) and (records := self._records_below(part)):
            return [records.path]
        if part.path.endswith(_WRITERS[1:]):
            others = [other for other in self._writers.seek(part.folder, part) if _writer(other) < _writer(part)]
            return [other.path for other in sorted(others, key=_writer) if _have_same_steps(other, part)]
        if part.path.endswith(".log.json"):
            return [part.path.removesuffix(".json")]
        if results := _RESULTS.match(part.path):
            folder, is_of_all = results[1], results[2]
            return [folder + "trainer_state.json", *([] if is_of_all else [folder + "all_results.json"])]
        if checkpoint := _CHECKPOINT.match(part.path):
            folder, own = checkpoint[1], (int(checkpoint[2]), part.path)
            latest = max([own, *self._checkpoints.seek(folder, part)[-1:]])
            return [folder + "trainer_state.json", *([] if latest == own else [latest[1]])]
        return []

    def _records_below(self, log: Part) -> Part | None:
        """The records that a log repeats, where it is clear which."""
        records = [other for other in self._records.seek(log.folder, log) if _have_same_steps(other, log)]
        if len(records) != 1:
            return None
        logs = [other for other in self._logs.seek(log.folder, log) if _have_same_steps(records[0], other)]
        return records[0] if len(logs) == 1 else None


def _writer(part: Part) -> int:
    """Which of the files that one logger writes it is."""
    return next(k for k, name in enumerate(_WRITERS) if part.path.endswith(name))


def _have_same_steps(part: Part, other: Part) -> bool:
    """Whether two parts hold the same steps, as many of them; one may lack the last, where the run was ended."""
    if part.part != other.part or part.facts.steps.keys() != other.facts.steps.keys():
        return False
    shorter, longer = sorted((part.facts, other.facts), key=lambda facts: facts.rows.get("steps", 0))
    missing = longer.rows.get("steps", 0) - shorter.rows.get("steps", 0)
    if missing == 0:
        return shorter.steps == longer.steps
    begin_alike = all(shorter.steps[rank][0] == first for rank, (first, _) in longer.steps.items())
    return missing == len(longer.steps) and begin_alike and _ends(shorter) < _ends(longer)


def _ends(facts: PartFacts) -> list[int]:
    """The last step of each rank."""
    return [last for _, (_, last) in sorted(facts.steps.items())]


class RankLogs(NamedTuple):
    """The first and last step and time in logs of ranks; a launcher prints the same steps at the same times."""

    steps: tuple[int, int]
    times: tuple[datetime, datetime]
    clocks: set[str]

    @classmethod
    def of(cls, parts: Iterable[Part]) -> "RankLogs | None":
        """None if no part logs ranks, or if one that does has no times."""
        logs = [part.facts for part in parts if part.logs_ranks]
        spans = [span for facts in logs for span in facts.steps.values()]
        times = [(facts.started_at, facts.ended_at) for facts in logs if facts.started_at and facts.ended_at]
        if not logs or len(times) < len(logs):
            return None
        steps = min(first for first, _ in spans), max(last for _, last in spans)
        clocks = {clock for facts in logs for clock in facts.clocks}
        return cls(steps, (min(start for start, _ in times), max(end for _, end in times)), clocks)

    def repeated_by(self, part: Part) -> bool:
        """Whether a log without ranks is the launcher's copy: of most steps, from within their time to its end.

        Times of two clocks may differ by a zone, in quarters of an hour.
        """
        steps, start, end = part.facts.steps.get("None"), part.facts.started_at, part.facts.ended_at
        if not steps or not start or not end or steps[0] < self.steps[0] or steps[1] > self.steps[1]:
            return False
        first, last = self.times
        is_of_one_clock = len(self.clocks) == 1 and self.clocks == {*part.facts.clocks}
        zone = timedelta() if is_of_one_clock else QUARTER * round((start - first) / QUARTER)
        counts_most = steps[1] - steps[0] >= _MOST_STEPS * (self.steps[1] - self.steps[0])
        ends_together = abs(end - last - zone) <= _END
        return abs(zone) <= _FARTHEST_ZONE and start - first >= zone - MINUTE and counts_most and ends_together
