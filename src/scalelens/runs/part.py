"""A part of a file, the smallest thing that belongs to a run: most files are one part, some hold several runs."""

import posixpath
import re
from typing import NamedTuple

from scalelens.parsing.part_facts import PartFacts
from scalelens.runs.sidecar import NamedRun, Statement

# slurm-1809577.out, name-1809577.out, name_1809577.err, 1809577.out: at least five digits that are not a date.
# PBS: name.o1809577, name.e1809577.
_JOB_ID = re.compile(r"(?:(?:^|[-_.])(?!(?:19|20)\d{6}[._-])(?=\d{5,}\.(?:out|err|log|txt)$)|\.[oe](?=\d{4,18}$))(\d+)")


class Part(NamedTuple):
    """A part of a file, and what is known about it without reading its rows."""

    file_id: str
    part: int
    path: str
    root: str
    facts: PartFacts
    statements: dict[str, Statement]  # facts and labels from sidecars
    named_run: NamedRun | None  # set if a sidecar identifies its run
    results: tuple[str, ...] = ()  # folders of MLPerf results, if it is the system file that describes them
    is_result: bool = False  # whether it belongs to an MLPerf result

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]

    @property
    def folders_above(self) -> list[str]:
        """Folders that contain the file, the nearest first."""
        names = self.path.split("/")
        return ["/".join(names[:k]) for k in range(len(names) - 1, 1, -1)]

    @property
    def describes(self) -> list[str]:
        """Folders that the part has facts about."""
        return [posixpath.normpath(f"{self.folder}/{name}") for name in self.facts.folders]

    @property
    def job_id(self) -> str | None:
        if "job_id" in self.statements:
            return self.statements["job_id"].value
        in_name = _JOB_ID.search(self.path.rpartition("/")[2])
        return self.facts.job_id or (in_name[1] if in_name else None)

    @property
    def ranks(self) -> set[int]:
        """Ranks whose steps or events it holds, or that measured its power; empty unless it names all of them."""
        ranks = [*(self.facts.steps or self.facts.traced or self.facts.measured_by)]
        numbers = {int(rank) for rank in ranks if rank not in ("None", None)}
        return numbers if len(numbers) == len(ranks) else set()

    @property
    def logs_ranks(self) -> bool:
        """Whether it holds steps, each with its rank."""
        return bool(self.facts.steps and self.ranks)
