"""A run: the parts of files that belong to it, its id, its name, and how it ended."""

import posixpath
import re
from datetime import timedelta
from pathlib import PurePath
from typing import NamedTuple

from scalelens.parsing.part_facts import PartFacts
from scalelens.runs.sidecar import NamedRun, Statement
from scalelens.tables import OUTCOMES

# slurm-1809577.out, name-1809577.out, name_1809577.err, 1809577.out: at least five digits that are not a date.
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
    statements: dict[str, Statement]  # facts and labels of sidecars
    named_run: NamedRun | None  # where a sidecar identifies its run
    results: tuple[str, ...] = ()  # folders of MLPerf results that it describes as their system file
    is_result: bool = False  # whether it is of an MLPerf result

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]

    @property
    def describes(self) -> list[str]:
        """Folders that the part has facts about."""
        return [posixpath.normpath(f"{self.folder}/{name}") for name in self.facts.folders]

    @property
    def job_id(self) -> str | None:
        if "job_id" in self.statements:
            return self.statements["job_id"].value
        in_name = JOB_ID.search(self.path.rpartition("/")[2])
        return self.facts.job_id or (in_name[1] if in_name else None)

    @property
    def ranks(self) -> set[int]:
        """Ranks whose steps or events it holds, or that measured its power; empty where it does not name all."""
        ranks = [*(self.facts.steps or self.facts.traced or self.facts.measured_by)]
        numbers = {int(rank) for rank in ranks if rank not in ("None", None)}
        return numbers if len(numbers) == len(ranks) else set()

    def twin(self, paths: set[str]) -> str | None:
        """The file among `paths` whose records this one repeats.

        OpenMMLab writes X.log and X.log.json.  Hugging Face's state at a checkpoint is the beginning of later states.
        Its files of results repeat the state, or the file of all results.
        """
        repeated = [self.path.removesuffix(".json")] if self.path.endswith(".log.json") else []
        if match := RESULTS.match(self.path):
            folder, is_of_all = match[1], match[2]
            repeated = [folder + "trainer_state.json", *([] if is_of_all else [folder + "all_results.json"])]
        elif match := CHECKPOINT.match(self.path):
            folder = match[1]
            states = (CHECKPOINT.match(path) for path in paths if path.startswith(folder + "checkpoint-"))
            latest = max((int(state[2]), state[0]) for state in (match, *states) if state)[1]
            repeated = [folder + "trainer_state.json", *([] if latest == self.path else [latest])]
        return next((path for path in repeated if path in paths), None)


class Run(NamedTuple):
    """Parts that belong together; the first has the steps, if any has."""

    parts: list[Part]
    why: str  # the rule that joined them

    @property
    def run_id(self) -> str:
        first = self.parts[0]
        return first.file_id[:12] + (f"-{first.part}" if first.part else "")

    def why_of(self, part: Part) -> str:
        """The rule that joined a part."""
        if part.results:
            return "system file"
        is_twin = part.twin({other.path for other in self.parts}) or repeats(part, self.parts)
        return "twin" if is_twin else self.why

    @property
    def statements(self) -> dict[str, Statement]:
        """Facts and labels that sidecars give it; each is that of the first part that has it."""
        statements: dict[str, Statement] = {}
        for part in self.parts:
            statements = {**part.statements, **statements}
        nodes, per_node = statements.get("nodes"), statements.get("devices_per_node")
        if nodes and per_node and "devices" not in statements:
            devices = str(int(nodes.value) * int(per_node.value))
            statements["devices"] = nodes._replace(value=devices, origin="inferred")
        return statements

    @property
    def outcome(self) -> tuple[str, int | None]:
        """How it ended, and the line that says so.  Of several the first in OUTCOMES counts, then the first line."""
        candidates = [
            (outcome, line) for part in self.parts for outcome, line in part.facts.outcomes if outcome in OUTCOMES
        ]
        return min(
            candidates,
            key=lambda candidate: (OUTCOMES.index(candidate[0]), candidate[1] or 0),
            default=("unknown", None),
        )

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
    """Whether a log without ranks is the launcher's copy of what the ranks log: the same steps at the same times.

    The times may differ by their zones, so by quarters of an hour.
    """
    ranked = [part for part in others if part.facts.steps and part.ranks]
    steps = launcher.facts.steps.get("None")
    spans = [span for part in ranked for span in part.facts.steps.values()]
    if not spans or not steps:
        return False
    if steps[0] < min(span[0] for span in spans) or steps[1] > max(span[1] for span in spans):
        return False
    starts_and_ends = [(part.facts.started_at, part.facts.ended_at) for part in (launcher, *ranked)]
    times = [(start, stop) for start, stop in starts_and_ends if start and stop]
    if len(times) < len(starts_and_ends):
        return False
    (begin, end), *of_ranks = times
    first, last = min(start for start, _ in of_ranks), max(stop for _, stop in of_ranks)
    zone = timedelta(minutes=15) * round((begin - first) / timedelta(minutes=15))
    return abs(zone) <= timedelta(hours=15) and first - MINUTE <= begin - zone and end - zone <= last + MINUTE
