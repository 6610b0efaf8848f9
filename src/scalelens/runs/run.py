"""A run: the parts of files that belong to it, its id, its name, and how it ended."""

from pathlib import PurePath
from typing import NamedTuple

from scalelens.parsing import lazy_re as re
from scalelens.runs.copies import Originals, RankLogs
from scalelens.runs.own_names import is_of_a_host, recognizable, tells_something
from scalelens.runs.part import Part
from scalelens.runs.sidecar import Statement
from scalelens.tables import OUTCOMES

_RANK = re.compile(r"(?:^|[^a-z])rank[-_]?\d+(?![a-z\d])", re.IGNORECASE)
_END = re.compile(r"(?:^|(?<![-_ ])[-_ ]+)(?:rank[-_]?)?[^-_ ]*$", re.IGNORECASE)  # a word that may not be whole
_JOB_ON_NODE = re.compile(r"[-_.]\d{5,}[-_.]nid\d{6}\Z")  # Slurm's %j and %N, on HPE Cray
_ARCHIVE = re.compile(r"\A.*\.(?:tar(?:\.\w+)?|tgz|tbz2?|txz|zip)!", re.IGNORECASE)  # before the name of a folder in it
_FEWEST_RANKS = 2


class Run(NamedTuple):
    """Parts that belong together; the first one has the steps, if any has."""

    parts: list[Part]
    why: str  # the rule that joined them

    @property
    def run_id(self) -> str:
        first = self.parts[0]
        return first.file_id[:12] + (f"-{first.part}" if first.part else "")

    @property
    def reasons(self) -> list[str]:
        """The rule that joined each part, in the order of the parts."""
        originals, ranks = Originals(self.parts, []), RankLogs.of(self.parts)
        alone = "folder" if any(part.joined_by == "folder" for part in self.parts) else self.why
        own = alone if self.why == "file" else self.why

        def reason(part: Part) -> str:
            if part.results:
                return "system file"
            if part.joined_by:
                return part.joined_by
            is_twin = originals.repeated_by(part) or (ranks and ranks.repeated_by(part))
            return "twin" if is_twin else own

        return [reason(part) for part in self.parts]

    @property
    def statements(self) -> dict[str, Statement]:
        """Facts and labels from sidecars; for each, the first part that has it counts."""
        statements: dict[str, Statement] = {}
        for part in self.parts:
            statements = {**part.statements, **statements}
        return statements

    @property
    def outcome(self) -> tuple[str, int | None]:
        """How it ended, and the line that says so; of several, the first in OUTCOMES counts, then the first line."""
        candidates = [
            (outcome, line) for part in self.parts for outcome, line in part.facts.outcomes if outcome in OUTCOMES
        ]
        return min(
            candidates,
            key=lambda candidate: (OUTCOMES.index(candidate[0]), candidate[1] or 0),
            default=("unknown", None),
        )

    @property
    def name(self) -> str | None:
        """What a tracker calls it, else the name of its file or folder, if people would recognize the run by it."""
        first = self.parts[0]
        if described := next((folder for part in self.parts for folder in part.describes), None):
            return PurePath(described).name
        stated = next((part.facts.run_name for part in self.parts if part.facts.run_name), "")
        if stated:
            return stated if recognizable(stated) else f"{self._stem} {stated}"
        has_facts = bool(first.facts.steps)
        if (shared := self._stem_of_ranks()) is not None:
            if tells_something(shared, has_facts):
                return shared
        elif (
            not self._has_several_logs()
            and not is_of_a_host(self._file_name)
            and tells_something(self._stem, has_facts)
        ):
            return f"{self._stem} ({first.part + 1})" if first.part else self._stem
        folder = _ARCHIVE.sub("", PurePath(first.folder).name)
        return folder if tells_something(folder, has_facts) else None

    @property
    def name_of_place(self) -> str:
        """What to call it where neither its file nor its facts give a name: a folder above, else its file."""
        first = self.parts[0]
        above = [folder for folder in first.folders_above if folder.startswith(first.root)]
        names = [PurePath(folder).name for folder in above]
        return next(filter(tells_something, names), self._stem)

    @property
    def _stem(self) -> str:
        if exported := self.parts[0].exported_run:
            return exported
        return _JOB_ON_NODE.sub("", self._file_name.split(".", 1)[0]) or self._file_name

    @property
    def _file_name(self) -> str:
        return self.parts[0].path.rpartition("/")[2]

    def _stem_of_ranks(self) -> str | None:
        """What the names of its files have in common where each is that of a rank; None where they are not so named."""
        stems = {part.path.rpartition("/")[2].split(".", 1)[0] for part in self.parts}
        if len(stems) < _FEWEST_RANKS or not all(map(_RANK.search, stems)):
            return None
        first, last = min(stems), max(stems)
        n_shared = next((k for k, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(map(len, stems)))
        return _END.sub("", first[:n_shared])

    def _has_several_logs(self) -> bool:
        logs = {part.path for part in self.parts if part.facts.steps}
        if len(logs) > 1:
            reasons = zip(self.parts, self.reasons, strict=True)
            logs = {part.path for part, reason in reasons if part.facts.steps and reason != "twin"}
        return len(logs) > 1
