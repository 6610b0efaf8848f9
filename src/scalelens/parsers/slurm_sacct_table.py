"""Slurm's accounting as sacct prints it for people: a table, pasted or printed into a log.

Tool: sacct
Versions: Slurm 20 to 25
Yields: jobs, params
Source: slurm src/common/print_fields.c; src/sacct/print.c

A header of names, a line of dashes as wide as the columns, a row for each job and step; which columns there are is the
caller's choice.  A cell that is too long is cut and ends in `+`: of a state what is left names it, of a list of nodes or
resources nothing is taken.  COMPLETED says only that the script's last command did not fail: no outcome.  Facts of the
run are taken where all tables of the log speak of one job.  Times are local (--tz).

Samples:
    JobID           JobName  Partition    Account  AllocCPUS      State ExitCode
           JobID    Elapsed      State ConsumedEnergy               Start                 End
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.hostlist import expand
from scalelens.parsing.rows import Rows
from scalelens.parsing.values import as_utc, clock_span, integer, iso_time

VERSION = 1
ANCHORS = ("JobID ", "JobIDRaw ")

_HEADER = re.compile(r"\s*JobID(?:Raw)?(?:\s+[A-Z][A-Za-z]+){2,}\s*\Z")
_TABLE = re.compile(r"\s*(?:-{3,}[ -]*\Z|\d{1,18}[\w.+\[\],%-]*\s)")
_ID = re.compile(r"(\d{1,18}(?:_\d+|_\[[\d,%-]+\]|\+\d+)?)(?:\.(\w+\+?))?\Z")
_STEPS = ("batch", "extern", "interactive")  # steps that have a name instead of a number; the table cuts it
_OUTCOMES = {
    "FAILED": "error", "TIMEOUT": "time_limit", "OUT_OF_MEMORY": "oom", "NODE_FAIL": "node_failure",
    "BOOT_FAIL": "node_failure", "CANCELLED": "cancelled", "PREEMPTED": "cancelled", "DEADLINE": "time_limit",
}  # fmt: skip
_STATES = (*_OUTCOMES, "COMPLETED", "RUNNING", "PENDING", "REQUEUED", "SUSPENDED", "RESIZING")
_COUNT = re.compile(r"(?:^|,)(node|gres/gpu)=(\d{1,9})(?=,|$)")
_ENERGY = re.compile(r"(\d{1,15}(?:\.\d+)?)([KMG]?)")
_SCALE = {"": 1, "K": 1e3, "M": 1e6, "G": 1e9}


class Reader:
    claims: re.Pattern[str] | None = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.names: list[str] = []
        self.spans: list[tuple[int, int]] = []  # of the columns
        self.facts: dict[str, dict[str, tuple[str | int | None, int]]] = {}  # by job

    def take(self, line: Line) -> bool:
        self.claims = None
        if not _HEADER.match(line.text):
            return False
        self.names, self.spans, self.claims = line.text.split(), [], _TABLE
        return True

    def more(self, line: Line) -> None:
        if line.text.lstrip().startswith("---"):
            self.spans = [match.span() for match in re.finditer(r"-+", line.text)]
            return
        if len(self.spans) != len(self.names):
            return  # no dashes: another program's table
        cells = {name: line.text[start:end].strip() for name, (start, end) in zip(self.names, self.spans, strict=True)}
        match = _ID.match(cells.get("JobIDRaw") or cells.get("JobID", ""))
        step = match[2] if match else None
        if step and step.endswith("+"):
            step = next((name for name in _STEPS if name.startswith(step[:-1])), None)
        if not match or (match[2] and not step):
            self.rows.problem(line.number, "the row of the table does not begin with a whole job id", line.text)
            return
        self.job_row(cells, match[1], step, line.number)

    def job_row(self, cells: dict[str, str], job: str, step: str | None, line: int) -> None:
        """Row of a job or a step."""
        word = cells.get("State", "").split(" ")[0].rstrip("+")
        state = next((state for state in _STATES if word and state.startswith(word)), word or None)
        tres, names = (cells.get(name, "") for name in ("AllocTRES", "NodeList"))
        counts = {} if tres.endswith("+") else dict(_COUNT.findall(tres))
        nodes = integer(counts.get("node") or cells.get("NNodes") or cells.get("AllocNodes", ""))
        devices = integer(counts.get("gres/gpu", ""))
        energy = _ENERGY.fullmatch(cells.get("ConsumedEnergyRaw") or cells.get("ConsumedEnergy", ""))
        self.rows.add(
            "jobs", line, job_id=job, step_id=step, state=state, nodes=nodes, devices=devices,
            node_list=",".join(expand(names)) if re.search(r"\d", names) and not names.endswith("+") else None,
            submitted_at=as_utc(iso_time(cells.get("Submit")), self.rows.zone),
            started_at=as_utc(iso_time(cells.get("Start")), self.rows.zone),
            ended_at=as_utc(iso_time(cells.get("End")), self.rows.zone),
            elapsed_s=integer(cells.get("ElapsedRaw", "")) or clock_span(cells.get("Elapsed", "")),
            energy_j=float(energy[1]) * _SCALE[energy[2]] or None if energy else None,
        )  # fmt: skip
        facts = self.facts.setdefault(job, {})
        if step is None:
            outcome = _OUTCOMES.get(state or "")
            said_of_job = {"job_state": state, "outcome": outcome, "nodes": nodes, "devices": devices}
            facts |= {fact: (value, line) for fact, value in {"job_id": job, **said_of_job}.items() if value}

    def finish(self) -> None:
        if len(self.facts) == 1:
            for facts in self.facts.values():
                for fact, (value, line) in facts.items():
                    self.rows.param(fact, value, line, origin="scheduler")
