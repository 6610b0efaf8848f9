"""The job id that sbatch prints, as JUBE's benchmarks print it into the job's own output.

Tool: sbatch; CARAML and other JUBE benchmarks
Versions: any
Yields: params
Source: slurm src/sbatch/sbatch.c; CARAML llm_training/*.yaml, preprocess

A file that names one job is of that job.  One that names several is the output of a script that submitted them: none.

Samples:
    Submitted batch job 4712001
    Submitted batch job 4712001 on cluster lumi
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 1
ANCHORS = ("Submitted batch job ",)

_JOB = re.compile(r"^\s*Submitted batch job (\d{1,12})(?: on cluster \S+)?\s*\Z")


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.jobs: dict[str, int] = {}

    def take(self, line: Line) -> bool:
        if match := _JOB.match(line.text):
            self.jobs.setdefault(match[1], line.number)
        return match is not None

    def finish(self) -> None:
        if len(self.jobs) == 1 and self.rows.part == 0:
            for job, line in self.jobs.items():
                self.rows.param("job_id", job, line, origin="scheduler")
