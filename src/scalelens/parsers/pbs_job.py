"""PBS' description of a job, qstat -f, and the report of it that an epilogue prints after the job's output.

Tool: qstat -f, qstat -xf; the epilogue of NCI's Gadi
Versions: OpenPBS and PBS Professional 13 to 2022, Torque 2 to 6
Yields: jobs, params
Source: openpbs src/cmds/qstat.c, display_single_job()

`Key = Value` in lines indented by blanks; a value goes on in lines indented by a tab.  Nodes and GPUs are those that
were asked for, which PBS gives.  A walltime used is without suspensions.  An exit status from 256 on is a signal,
which qdel and limits send alike: why, job_end reads.  Times are local (--tz), the end is that of the report.
resources_used.energy is in kilowatt-hours, of whole nodes, from PBS' power hook or Cray's RUR; 0 was not measured.
Torque's energy_used has no stated unit: where it is not 0, it is a problem.

Samples:
    Job Id: 471208.pbs-server
                      Resource Usage on 2026-05-06 07:08:09:
"""

from datetime import datetime
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.pbs_fields import energy_of_job, outcome_of, why_no_energy
from scalelens.parsing.rows import Rows
from scalelens.parsing.stamps import formed_time
from scalelens.parsing.values import UNREADABLE_TIME, as_utc, iso_time

VERSION = 3
ANCHORS = ("Job Id", "Resource Usage on ")
LATER = (
    "state", "nodes", "node_list", "devices", "submitted_at", "started_at", "ended_at", "elapsed_s", "energy_j",
)  # fmt: skip

_START = re.compile(r"\s*Job Id ?: +(\d{1,18}(?:\[\d+\])?)(?:\.[\w.-]+)?\s*\Z")
_REPORT = re.compile(r"\s*Resource Usage on (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d):\s*\Z")
_FIELD = re.compile(r"    ([A-Za-z_]+(?:\.\w+)?) = (.*)\Z")
_REPORTED = re.compile(r"(?:^\s*|(?<=\s\s))(Exit Status|NGPUs Requested|Walltime Used): +(\S+)")
_SPAN = re.compile(r"(\d{1,6}):(\d\d):(\d\d)")
_HOST = re.compile(r"(?:^|\+)([\w-]+)")
_TIMES = {
    "ctime": "submitted_at", "stime": "started_at", "start_time": "started_at", "comp_time": "ended_at",
    "obittime": "ended_at",
}  # fmt: skip
_COUNTS = {"Resource_List.nodect": "nodes", "Resource_List.ngpus": "devices", "NGPUs Requested": "devices"}


class Reader:
    claims: re.Pattern[str] | None = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.row: dict[str, Any] = {}
        self.ended: datetime | None = None
        self.hosts: str | None = None  # a value that may go on

    def take(self, line: Line) -> bool:
        self.claims = None
        if report := _REPORT.match(line.text):
            self.ended = self.time(report[1])
            return True
        match = _START.match(line.text)
        if not match:
            return False
        self.rows.job(match[1], line.number, "scheduler")
        self.hosts, self.claims = None, re.compile(r"[ \t]+\S")
        self.row = {"job_id": match[1], "ended_at": self.ended}
        self.rows.put("jobs", line.number, self.row)
        if self.ended:  # an epilogue, after the output of the job
            self.rows.job_ended(line.number)
        self.ended = None
        return True

    def more(self, line: Line) -> None:
        if match := _FIELD.match(line.text.rstrip()):
            self.hosts = match[2] if match[1] == "exec_host" else None
            self.field(match[1], match[2], line)
        elif line.text.startswith("\t"):
            self.hosts = None if self.hosts is None else self.hosts + line.text.strip()
        else:
            for name, value in _REPORTED.findall(line.text):
                self.field(name, value, line)
        if self.hosts is not None:
            self.row["node_list"] = ",".join(dict.fromkeys(_HOST.findall(self.hosts))) or None

    def field(self, name: str, value: str, line: Line) -> None:
        rows = self.rows
        if name in _TIMES:
            self.row[_TIMES[name]] = self.time(value)
            if self.row[_TIMES[name]] is None:
                rows.problem(line.number, UNREADABLE_TIME, line.text)
        elif name in _COUNTS and re.fullmatch(r"\d{1,7}", value) and int(value):
            self.row[_COUNTS[name]] = int(value)
            rows.param(_COUNTS[name], int(value), line.number, origin="scheduler")
        elif name in ("resources_used.walltime", "Walltime Used") and (span := _SPAN.fullmatch(value)):
            hours, minutes, seconds = map(int, span.groups())
            self.row["elapsed_s"] = (hours * 60 + minutes) * 60.0 + seconds
        elif (joules := energy_of_job(name, value)) is not None:
            self.row["energy_j"] = joules
        elif why := why_no_energy(name, value):
            rows.problem(line.number, why, line.text)
        elif name == "job_state":
            self.row["state"] = value
            rows.param("job_state", value, line.number, origin="scheduler")
        elif name == "Job_Name":
            rows.param("job_name", value, line.number, origin="scheduler")
        elif name.lower().replace("_", " ") == "exit status" and re.fullmatch(r"-?\d{1,6}", value):
            rows.param("outcome", outcome_of(int(value)), line.number, origin="scheduler")

    def time(self, text: str) -> datetime | None:
        """A time in UTC where the zone is known; OpenPBS and Altair's qstat print other forms."""
        time = iso_time(text) if text[:1].isdigit() else formed_time(text[4:], "%b %d %H:%M:%S %Y")
        return as_utc(time, self.rows.zone)
