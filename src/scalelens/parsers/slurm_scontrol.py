"""Slurm's description of a job, scontrol show job.

Tool: scontrol
Versions: Slurm 17 to 25
Yields: jobs, params
Source: slurm src/api/job_info.c, slurm_sprint_job_info()

`Key=Value` in a block of indented lines, or all in one (-o).  Values may hold blanks and `=`: only keys that are known
are read, each where it comes first.  Of a job that has ended the allocation counts (AllocTRES, before Slurm 23 TRES),
never what was asked for, and says the joules where Slurm accounts for them; a pending job has a range for NumNodes, and a running one an end that is only planned.
The row is at WorkDir, which comes after all that is read.  Times are local (--tz).

Samples:
    JobId=4711 JobName=train
    JobId=4712 ArrayJobId=4700 ArrayTaskId=3 JobName=train UserId=u(1) JobState=RUNNING NumNodes=2 WorkDir=/tmp
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.hostlist import expand
from scalelens.parsing.rows import Rows
from scalelens.parsing.values import as_utc, clock_span, iso_time

VERSION = 2
ANCHORS = ("JobId=",)

_START = re.compile(r"\s*JobId=(\d{1,18}) (?:[A-Z]\w*=[\w.-]+ ){0,6}JobName=")
_FIELD = re.compile(
    r"(?<!\S)(JobId|ArrayJobId|ArrayTaskId|JobName|JobState|SubmitTime|StartTime|EndTime|RunTime|NumNodes|NodeList"
    r"|AllocTRES|TRES|TresPerNode|WorkDir)=(\S+)"
)
_TRES = re.compile(r"(?:^|,)gres/gpu=(\d{1,9})(?=,|$)")
_ENERGY = re.compile(r"(?:^|,)energy=(\d{1,15})(?=,|$)")
_PER_NODE = re.compile(r"gres[:/]gpu(?::[a-z]\w*)?[:=](\d{1,6})")
_OUTCOMES = {
    "FAILED": "error", "TIMEOUT": "time_limit", "OUT_OF_MEMORY": "oom", "NODE_FAIL": "node_failure",
    "CANCELLED": "cancelled", "PREEMPTED": "cancelled",
}  # fmt: skip
_UNENDED = ("RUNNING", "PENDING", "SUSPENDED", "CONFIGURING", "COMPLETING")


class Reader:
    claims: re.Pattern[str] | None = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.fields: dict[str, str] | None = None  # of the job being read
        self.last: str | None = None  # the job before

    def take(self, line: Line) -> bool:
        if not _START.match(line.text):
            return False
        self.finish()
        self.fields = {}
        self.claims = re.compile(r"\s+[A-Z][\w/:]*=")
        self.more(line)
        return True

    def more(self, line: Line) -> None:
        if self.fields is None:
            return
        for key, value in _FIELD.findall(line.text):
            self.fields.setdefault(key, value)
        if "WorkDir" in self.fields:
            fields, self.fields = self.fields, None
            self.job(fields, line.number)

    def finish(self) -> None:
        if self.fields:
            self.rows.problem(None, f"the description of job {self.fields.get('JobId')} is cut before its WorkDir")
        self.fields = None

    def job(self, fields: dict[str, str], line: int) -> None:
        job, state = fields["JobId"], fields.get("JobState")
        if "ArrayJobId" in fields and fields.get("ArrayTaskId", "").isdecimal():
            job = f"{fields['ArrayJobId']}_{fields['ArrayTaskId']}"
        if self.last not in (None, job) and not self.rows.last_steps:  # a list of jobs, not a job's log
            self.rows.new_part()
        self.last = job
        nodes = int(fields["NumNodes"]) if re.fullmatch(r"\d{1,7}", fields.get("NumNodes", "")) else None
        allocated, asked = _TRES.search(fields.get("AllocTRES", fields.get("TRES", ""))), fields.get("TresPerNode", "")
        devices = int(allocated[1]) if allocated else None
        joules = _ENERGY.search(fields.get("AllocTRES", fields.get("TRES", "")))
        hosts = fields.get("NodeList", "(null)")
        self.rows.add(
            "jobs", line, job_id=job, state=state, nodes=nodes, devices=devices,
            node_list=",".join(expand(hosts)) or None if hosts != "(null)" else None,
            submitted_at=as_utc(iso_time(fields.get("SubmitTime")), self.rows.zone),
            started_at=as_utc(iso_time(fields.get("StartTime")), self.rows.zone),
            ended_at=None if state in _UNENDED else as_utc(iso_time(fields.get("EndTime")), self.rows.zone),
            elapsed_s=clock_span(fields.get("RunTime", "")),
            energy_j=float(joules[1]) or None if joules else None,
        )  # fmt: skip
        per_node = _PER_NODE.search(asked)
        facts = {
            "job_id": job,
            "job_state": state,
            "outcome": _OUTCOMES.get(state or ""),
            "nodes": nodes,
            "devices": devices,
        }
        for fact, value in {**facts, "devices_per_node": per_node and int(per_node[1])}.items():
            self.rows.param(fact, value, line, origin="scheduler")
        self.rows.param("job_name", fields.get("JobName"), line, origin="scheduler")
