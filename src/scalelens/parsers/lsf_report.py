"""LSF's report of a job, before or after the job's own output.

Tool: bsub
Versions: LSF 9 to 10
Yields: jobs, params
Source: IBM Spectrum LSF, the job report of bsub -o

Why a job ended is read by job_end.  Hosts are those that were given slots, without the launch node where more than one host
follows it.  Times are local (--tz).

Samples:
    Subject: Job 471207: <pretrain> in cluster <summit> Done
"""

from datetime import datetime

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.stamps import formed_time
from scalelens.parsing.values import as_utc

VERSION = 2
ANCHORS = ("Subject: Job ", "Started at ", "Terminated at ", "Results reported ", "Job was executed on host(s) <")

_SUBJECT = re.compile(r"Subject: Job (\d{1,18}(?:\[\d+\])?): <(.{0,200})> in cluster <([\w.-]+)> (Done|Exited)\s*\Z")
_HOST = re.compile(r"(?:Job was executed on host\(s\)|\s+) <(?:(\d{1,6})\*)?([\w.-]+)>(?:,|\s*\Z)")
_TIME = re.compile(
    r"(Started|Terminated|Results reported) (?:at|on) \w{3} (\w{3}) +(\d\d?) (\d\d:\d\d:\d\d) (\d{4})\s*\Z"
)


class Reader:
    claims: re.Pattern[str] | None = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.subject: re.Match[str] | None = None
        self.hosts: list[str] = []
        self.started: datetime | None = None

    def take(self, line: Line) -> bool:
        self.claims = None
        if match := _SUBJECT.match(line.text):
            self.subject, self.hosts, self.started = match, [], None
        elif self.subject is None:
            return False
        elif match := _HOST.match(line.text):
            self.hosts, self.claims = [match[2]], _HOST
        elif match := _TIME.match(line.text):
            named = formed_time(f"{match[3]} {match[2]} {match[5]} {match[4]}", "%d %b %Y %H:%M:%S")
            time = as_utc(named, self.rows.zone)
            if match[1] == "Started":
                self.started = time
            else:
                self.job(self.subject, time, line.number)
        else:
            return False
        return True

    def more(self, line: Line) -> None:
        if match := _HOST.match(line.text):
            self.hosts.append(match[2])

    def job(self, subject: re.Match[str], ended: datetime | None, line: int) -> None:
        """The row's line is that of the end's time, the last line that is read."""
        hosts = self.hosts[1:] if len(self.hosts) > 2 else self.hosts
        hosts = list(dict.fromkeys(hosts))
        self.rows.job(subject[1], line, "scheduler")
        self.rows.add(
            "jobs", line, job_id=subject[1], state=subject[4].upper(), nodes=len(hosts) or None,
            node_list=",".join(hosts) or None, started_at=self.started, ended_at=ended,
            elapsed_s=(ended - self.started).total_seconds() if ended and self.started else None,
        )  # fmt: skip
        facts = {"job_name": subject[2], "system": subject[3], "nodes": len(hosts) or None}
        for fact, value in facts.items():
            self.rows.param(fact, value, line, origin="scheduler")
        self.subject = None
