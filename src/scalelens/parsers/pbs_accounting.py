"""PBS' accounting log: the record of a job's end.

Tool: pbs_server; tracejob and scripts that copy its lines
Versions: OpenPBS and PBS Professional 13 to 2022, Torque 2 to 6
Yields: jobs, params
Source: openpbs src/server/accounting.c, account_record()

`time;E;job;key=value ...`.  The other records (queued, started, deleted) say nothing that this one does not, and are
passed over.  Times are seconds since 1970.  Nodes are those that the job ran on, GPUs those that were asked for.
resources_used.energy is in kilowatt-hours, of whole nodes (see pbs_job).  Each job is a part of the file.

Samples:
    03/04/2026 06:10:11;E;471208.pbs-server;user=me queue=workq ctime=1772600767 start=1772600888 exec_host=n1/0*64 end=1772604611 Exit_status=0 resources_used.energy=4.25 resources_used.walltime=01:02:03
"""

from datetime import UTC, datetime
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.pbs_fields import energy_of_job, outcome_of, why_no_energy
from scalelens.parsing.rows import Rows

VERSION = 1
ANCHORS = (";E;",)

_RECORD = re.compile(r"\s*\d\d/\d\d/\d{4} \d\d:\d\d:\d\d;E;(\d{1,18}(?:\[\d*\])?)(?:\.[\w.-]+)?;(.+)")
_FIELD = re.compile(r'(?<![A-Za-z_])([A-Za-z_]+(?:\.\w+)?)=("[^"]*"|\S*)')
_HOST = re.compile(r"(?:^|\+)([\w.-]+)")
_SPAN = re.compile(r"(\d{1,6}):(\d\d):(\d\d)")
_TIMES = {"ctime": "submitted_at", "start": "started_at", "end": "ended_at"}
_COUNTS = {"Resource_List.ngpus": "devices", "Resource_List.nodect": "nodes"}


class Reader:
    claims: re.Pattern[str] | None = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def take(self, line: Line) -> bool:
        match = _RECORD.match(line.text)
        if not match:
            return False
        self.rows.job(match[1], line.number, "scheduler")
        row: dict[str, Any] = {"job_id": match[1]}
        for name, value in _FIELD.findall(match[2]):
            self._field(row, name, value, line)
        self.rows.add("jobs", line.number, **row)
        self.rows.job_ended(line.number)
        return True

    def _field(self, row: dict[str, Any], name: str, value: str, line: Line) -> None:
        if name in _TIMES and re.fullmatch(r"\d{9,11}", value):
            row[_TIMES[name]] = datetime.fromtimestamp(int(value), UTC).replace(tzinfo=None)
        elif name in _COUNTS and re.fullmatch(r"\d{1,7}", value) and int(value):
            row[_COUNTS[name]] = int(value)
            self.rows.param(_COUNTS[name], int(value), line.number, origin="scheduler")
        elif name == "exec_host":
            hosts = dict.fromkeys(_HOST.findall(re.sub(r"/[^+]*", "", value)))
            row["node_list"] = ",".join(hosts) or None
            row.setdefault("nodes", len(hosts) or None)
        elif name == "resources_used.walltime" and (span := _SPAN.fullmatch(value)):
            hours, minutes, seconds = map(int, span.groups())
            row["elapsed_s"] = (hours * 60 + minutes) * 60.0 + seconds
        elif (joules := energy_of_job(name, value)) is not None:
            row["energy_j"] = joules
        elif why := why_no_energy(name, value):
            self.rows.problem(line.number, why, line.text)
        elif name == "jobname":
            self.rows.param("job_name", value, line.number, origin="scheduler")
        elif name == "Exit_status" and re.fullmatch(r"-?\d{1,6}", value):
            self.rows.param("outcome", outcome_of(int(value)), line.number, origin="scheduler")
