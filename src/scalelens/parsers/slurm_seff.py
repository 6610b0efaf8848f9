"""Slurm's report of a job's efficiency, as an epilogue or a user prints it.

Tool: seff
Versions: Slurm 17 to 25
Yields: jobs, params
Source: slurm contribs/seff/seff

State, nodes and wall-clock time; of energy and GPUs it says nothing that is theirs alone.  COMPLETED says only that the
script's last command did not fail: no outcome.

Samples:
    Job ID: 471205
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.values import clock_span

VERSION = 1
ANCHORS = ("Job ID: ",)

_START = re.compile(r"[# ]{0,3}Job ID: +(\d{1,18})\s*\Z")
_FIELD = re.compile(
    r"[# ]{0,3}(Array Job ID|Cluster|User/Group|State|Nodes|Cores(?: per node)?|CPU Utilized|CPU Efficiency"
    r"|(?:Job )?Wall-clock time|Memory Utilized|Memory Efficiency): +(\S.*)\Z"
)
_OUTCOMES = {
    "FAILED": "error", "TIMEOUT": "time_limit", "OUT_OF_MEMORY": "oom", "NODE_FAIL": "node_failure",
    "BOOT_FAIL": "node_failure", "CANCELLED": "cancelled", "PREEMPTED": "cancelled", "DEADLINE": "time_limit",
}  # fmt: skip


class Reader:
    claims: re.Pattern[str] | None = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.job: str | None = None
        self.fields: dict[str, str] = {}

    def take(self, line: Line) -> bool:
        self.claims = None
        match = _START.match(line.text)
        if not match:
            return False
        self.job, self.fields, self.claims = match[1], {}, _FIELD
        return True

    def more(self, line: Line) -> None:
        match = _FIELD.match(line.text.rstrip())
        if not match or self.job is None:
            return
        self.fields[match[1].removeprefix("Job ")] = match[2]
        if match[1] == "Array Job ID" and re.fullmatch(r"\d{1,18}_\d{1,9}", match[2]):
            self.job = match[2]
        elif match[1].endswith("Wall-clock time"):  # the last line that is read: the row has its number
            self.row(self.job, line.number)
            self.job = None

    def row(self, job: str, line: int) -> None:
        state = self.fields.get("State", "").split(" ")[0] or None
        nodes = int(text) if re.fullmatch(r"\d{1,7}", text := self.fields.get("Nodes", "")) else None
        self.rows.add(
            "jobs", line, job_id=job, state=state, nodes=nodes,
            elapsed_s=clock_span(self.fields.get("Wall-clock time", "")),
        )  # fmt: skip
        facts = {"job_id": job, "job_state": state, "outcome": _OUTCOMES.get(state or ""), "nodes": nodes}
        for fact, value in {**facts, "system": self.fields.get("Cluster")}.items():
            self.rows.param(fact, value, line, origin="scheduler")
