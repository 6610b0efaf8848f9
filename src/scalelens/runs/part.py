"""A part of a file, the smallest thing that belongs to a run: most files are one part, some hold several runs."""

import posixpath
from typing import Any, NamedTuple

from scalelens.parsing import lazy_re as re
from scalelens.parsing.launcher_folders import rank_file
from scalelens.parsing.part_facts import PartFacts
from scalelens.runs.sidecar import NamedRun, Statement

# slurm-1809577.out, name-1809577.out, name_1809577.err, 1809577.out: at least five digits that are not a date.
# PBS: name.o1809577, name.e1809577.  A time of day after a date, a fraction of a second and a Unix time are none.
_NODE = r"[-_.]nid\d{6}"  # as HPE Cray calls its nodes, which Slurm's %N gives
_JOB_ID = re.compile(
    rf"(?:(?:^|[-_.])(?!(?:19|20)\d{{6}}[._-])(?=\d{{5,}}(?:{_NODE})?\.(?:out|err|log|txt)$)|\.[oe](?=\d{{4,18}}$))(\d+)"
)
_DATE = r"(?:20\d\d[-_.]?\d\d[-_.]?\d\d|\d\d[-_.]?\d\d[-_.]?20\d\d|2\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01]))"
_TIME_OF_A_DAY = re.compile(rf"(?<!\d){_DATE}[-_. T]*(?:[01]\d|2[0-3])[0-5]\d[0-5]\d\Z")
_FRACTION = re.compile(r"\d\d[-:_.h]\d\d[-:_.m]\d\d\.\d+\Z")
_UNIX_S = range(1_300_000_000, 2_200_000_000)

_PACKED = re.compile(r"\.(?:gz|zst|xz|bz2)\Z")
_RANK = re.compile(r"(?<![A-Za-z])(?:local_rank|rank|worker)[-_.]?\d+", re.IGNORECASE)
_DETAILS = re.compile(
    rf"(?:(?:^|[-_.]){_RANK.pattern}|[-_.](?:gpu[-_.]?)?(?:power|energy|trace)){{1,40}}\Z", re.IGNORECASE
)
_EXPORT = re.compile(r"run-(.+)-tag-[^/]+\.(?:csv|json)\Z")  # of a scalar, by TensorBoard's page
# The two outputs of a process: standard output and standard error, by the suffix or the whole name of a file.
_ERRORS = re.compile(r"(?:^|\.)(?:err|stderr)\Z|\.e(?=\d+\Z)", re.IGNORECASE)
_SENSED = {"power", "energy", "params", "metrics", "problems"}  # tables that a file of power or energy may fill
_TABLES_OF_OTHERS = {"power", "energy", "jobs", "events"}  # what is not a training log


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
    namesakes_job: str | None = None  # the only job id in other files with its base
    is_table: bool = False  # whether anyone may have made it of a log: a table that no format knows
    is_power_table: bool = False  # whether it is a table of power of nobody's format
    joined_by: str = ""  # the rule that joined it to its run, if another one than that of the run
    repeats: str | None = None  # path of the file whose power readings it repeats

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]

    @property
    def launch_folder(self) -> str:
        """The folder of its launch, where each rank has a folder of its own in it; else its folder."""
        of_rank = rank_file(self.path)
        return of_rank.launch if of_rank else self.folder

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
        return self.facts.job_id or job_in_name(self.path.rpartition("/")[2]) or self.namesakes_job

    @property
    def exported_run(self) -> str | None:
        """The run that TensorBoard names in the file that it exported a scalar to."""
        if not set(self.facts.rows) <= {"metrics", "problems"}:
            return None
        export = _EXPORT.match(_PACKED.sub("", self.path.rpartition("/")[2]))
        return export[1] if export else None

    @property
    def base(self) -> str:
        """Its path without suffixes, rank and what it measures: files of one job often have it in common."""
        folder, _, name = self.path.rpartition("/")
        if rank_file(self.path):
            return f"{folder}/std"
        stem = posixpath.splitext(_PACKED.sub("", name))[0]
        return f"{folder}/{_DETAILS.sub('', stem) or _RANK.sub('#', stem)}"

    @property
    def is_error_output(self) -> bool:
        if of_rank := rank_file(self.path):
            return of_rank.is_errors
        return _ERRORS.search(posixpath.basename(_PACKED.sub("", self.path))) is not None

    @property
    def is_log(self) -> bool:
        """Whether it is the output of a training, with or without steps."""
        facts = self.facts
        if facts.steps:
            return True
        return facts.of_lines and facts.of_training and _TABLES_OF_OTHERS.isdisjoint(facts.rows)

    @property
    def ranks(self) -> set[int]:
        """Ranks whose steps or events it holds, or that measured its power; empty unless it names all of them."""
        ranks: list[Any] = [*(self.facts.steps or self.facts.traced or self.facts.measured_by)]
        if ranks == ["None"] and (of_rank := rank_file(self.path)):
            ranks = [of_rank.local_rank]
        numbers = {int(rank) for rank in ranks if rank not in ("None", None)}
        return numbers if len(numbers) == len(ranks) else set()

    @property
    def logs_ranks(self) -> bool:
        """Whether it holds steps, each with its rank."""
        return bool(self.facts.steps and self.ranks)

    @property
    def is_of_rank(self) -> bool:
        """Whether it is the log of a rank: by its steps or, where it has none, by its name."""
        return self.logs_ranks if self.facts.steps else _RANK.search(posixpath.basename(self.path)) is not None

    @property
    def is_sensed(self) -> bool:
        """Whether it contains power or energy, and nothing but measurements."""
        return bool({"power", "energy"} & set(self.facts.rows)) and set(self.facts.rows) <= _SENSED


def job_in_name(name: str) -> str | None:
    """The id of the job that the name of a file ends with; the first of its nodes may come after it."""
    match = _JOB_ID.search(name)
    if not match or int(match[1]) in _UNIX_S:
        return None
    before = name[: match.end()]
    return None if _TIME_OF_A_DAY.search(before) or _FRACTION.search(before) else match[1]
