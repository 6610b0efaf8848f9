"""A run, as the parts of files that belong to it: its id, its name, how it ended."""

import posixpath
import re
from datetime import timedelta
from pathlib import PurePath
from typing import Any, NamedTuple

from scalelens.parsing.part_facts import PartFacts
from scalelens.runs.sidecar import Said
from scalelens.tables import OUTCOMES

# slurm-1809577.out, name-1809577.out, name_1809577.err, 1809577.out: at least five digits, and no date.
# PBS: name.o1809577, name.e1809577.
JOB_ID = re.compile(r"(?:(?:^|[-_.])(?!(?:19|20)\d{6}[._-])(?=\d{5,}\.(?:out|err|log|txt)$)|\.[oe](?=\d{4,18}$))(\d+)")
SAYS_NOTHING = re.compile(
    r".*/(?:(?:rank|worker|stdout|stderr|out|output|log|train|main|job|result|meta)?[-_]?\d{0,4}"
    r"|trainer_state|(?:all|train|eval|test|predict)_results)\.[^/]*$"
)
RESULTS = re.compile(r"(.*/)(?:(all)|train|eval|test|predict)_results\.json\Z")
CHECKPOINT = re.compile(r"(.*/)checkpoint-(\d{1,15})/trainer_state\.json\Z")

MINUTE = timedelta(minutes=1)


class Part(NamedTuple):
    """A part of a file, and what is known of it without reading its rows."""

    file_id: str
    part: int
    path: str
    root: str
    facts: PartFacts
    said: dict[str, Said]  # by sidecars
    named_run: tuple[Any, ...] | None  # what names its run, where a sidecar does

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]

    @property
    def describes(self) -> list[str]:
        """Folders that the part says something of, where it names them."""
        return [posixpath.normpath(f"{self.folder}/{name}") for name in self.facts.folders]

    @property
    def job_id(self) -> str | None:
        named = JOB_ID.search(self.path.rpartition("/")[2])
        if "job_id" in self.said:
            return self.said["job_id"].value
        return self.facts.job_id or (named[1] if named else None)

    @property
    def ranks(self) -> set[int]:
        """Ranks whose steps or events it holds, or that measured its power; empty where it does not say."""
        ranks = [*(self.facts.steps or self.facts.traced or self.facts.measured_by)]
        numbers = {int(rank) for rank in ranks if rank not in ("None", None)}
        return numbers if len(numbers) == len(ranks) else set()

    def twin(self, paths: set[str]) -> str | None:
        """The file whose records this one repeats.

        OpenMMLab writes X.log and X.log.json.  Hugging Face's state at a checkpoint is the beginning of later ones, and
        its files of results say again what the state or the one of all results says.
        """
        others = [self.path.removesuffix(".json")] if self.path.endswith(".log.json") else []
        if of := RESULTS.match(self.path):
            others = [of[1] + "trainer_state.json", *([] if of[2] else [of[1] + "all_results.json"])]
        elif of := CHECKPOINT.match(self.path):
            states = (CHECKPOINT.match(path) for path in paths if path.startswith(of[1] + "checkpoint-"))
            later = max((int(state[2]), state[0]) for state in (of, *states) if state)[1]
            others = [of[1] + "trainer_state.json", *([] if later == self.path else [later])]
        return next((path for path in others if path in paths), None)


class Run(NamedTuple):
    """Parts that belong together; the first carries the steps, if any does."""

    parts: list[Part]
    why: str

    @property
    def run_id(self) -> str:
        first = self.parts[0]
        return first.file_id[:12] + (f"-{first.part}" if first.part else "")

    def why_of(self, part: Part) -> str:
        """The rule that joined a part."""
        said_again = part.twin({other.path for other in self.parts}) or repeats(part, self.parts)
        return "twin" if said_again else self.why

    @property
    def said(self) -> dict[str, Said]:
        """What sidecars say of it: of each fact and label what they say of the first part that has it."""
        said: dict[str, Said] = {}
        for part in self.parts:
            said = {**part.said, **said}
        nodes, per_node = said.get("nodes"), said.get("devices_per_node")
        if nodes and per_node and "devices" not in said:
            devices = str(int(nodes.value) * int(per_node.value))
            said["devices"] = nodes._replace(value=devices, origin="inferred")
        return said

    @property
    def outcome(self) -> tuple[str, int | None]:
        """How it ended, and the line that says so."""
        said = [
            (OUTCOMES.index(what), line)
            for part in self.parts
            for what, line in part.facts.outcomes
            if what in OUTCOMES
        ]
        gravest, line = min(said, key=lambda one: (one[0], one[1] or 0), default=(OUTCOMES.index("unknown"), None))
        return OUTCOMES[gravest], line

    @property
    def name(self) -> str:
        first = self.parts[0]
        if described := next((folder for part in self.parts for folder in part.describes), None):
            return PurePath(described).name
        logs = {part.path for part in self.parts if part.facts.steps and self.why_of(part) != "twin"}
        if len(logs) > 1 or SAYS_NOTHING.match(first.path):
            return PurePath(first.folder).name
        stem = first.path.rpartition("/")[2].split(".", 1)[0] or first.path.rpartition("/")[2]
        return f"{stem} ({first.part + 1})" if first.part else stem


def repeats(launcher: Part, others: list[Part]) -> bool:
    """Whether a log without ranks is the launcher's, that says again what the ranks log: no other steps, no other time.

    The times may differ by their zones, which are quarters of an hour.
    """
    ranked = [part for part in others if part.facts.steps and part.ranks]
    steps = launcher.facts.steps.get("None")
    spans = [span for part in ranked for span in part.facts.steps.values()]
    if not spans or not steps:
        return False
    if steps[0] < min(span[0] for span in spans) or steps[1] > max(span[1] for span in spans):
        return False
    spanned = [(part.facts.started_at, part.facts.ended_at) for part in (launcher, *ranked)]
    times = [(start, stop) for start, stop in spanned if start and stop]
    if len(times) < len(spanned):
        return False
    (begin, end), *of_ranks = times
    first, last = min(start for start, _ in of_ranks), max(stop for _, stop in of_ranks)
    zone = timedelta(minutes=15) * round((begin - first) / timedelta(minutes=15))
    return abs(zone) <= timedelta(hours=15) and first - MINUTE <= begin - zone and end - zone <= last + MINUTE
