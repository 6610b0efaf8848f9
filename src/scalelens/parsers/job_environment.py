"""A job's id, name and nodes in a dump of the environment: PBS, LSF, Flux, Cobalt, Fujitsu's PJM.

Tool: env, printenv, export -p, declare -x, inside a job
Versions: OpenPBS and PBS Professional 13 to 2022, Torque 2 to 6, LSF 9 and 10, Flux, Cobalt, PJM
Yields: params
Source: openpbs src/resmom/start_exec.c; IBM Spectrum LSF, environment variables; flux-core src/shell/task.c

Only assignments on lines of their own: a trace of the shell (`+ PBS_JOBID=4`) shows what a script assigns.  PBS' ids
are kept without the server's name, with the index of an array.

Samples:
    PBS_JOBID=471208.pbs-server
    export LSB_JOBID=471208
    declare -x FLUX_JOB_ID="f2nWdvGKq"
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 2
ANCHORS = ("PBS_", "LSB_", "FLUX_JOB_", "COBALT_", "PJM_")

_ASSIGNMENT = re.compile(
    r"\s*(?:export |declare -x )?((?:PBS|LSB|FLUX_JOB|COBALT|PJM)_\w+)=(?:\"([^\"]*)\"|'([^']*)'|(\S*))\s*\Z"
)
_NODES = re.compile(r"\d{1,7}")
_FACTS = {
    "PBS_JOBID": ("job_id", re.compile(r"(\d{1,18}(?:\[\d+\])?)(?:\.[\w.-]+)?")),
    "LSB_JOBID": ("job_id", re.compile(r"(\d{1,18})")), "FLUX_JOB_ID": ("job_id", re.compile(r"([\wƒ]{2,20})")),
    "COBALT_JOBID": ("job_id", re.compile(r"(\d{1,18})")), "PJM_JOBID": ("job_id", re.compile(r"(\d{1,18})")),
    "PBS_JOBNAME": ("job_name", None), "LSB_JOBNAME": ("job_name", None), "PJM_JOBNAME": ("job_name", None),
    "PBS_NUM_NODES": ("nodes", _NODES), "FLUX_JOB_NNODES": ("nodes", _NODES), "COBALT_JOBSIZE": ("nodes", _NODES),
    "PJM_NODE": ("nodes", _NODES), "PBS_QUEUE": ("partition", None),
}  # fmt: skip


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def take(self, line: Line) -> bool:
        match = _ASSIGNMENT.match(line.text)
        if not match:
            return False
        value = match[2] or match[3] or match[4] or ""
        fact, form = _FACTS.get(match[1], (None, None))
        if fact is None or not value:
            return True
        fits = form.fullmatch(value) if form else None
        if form and not fits:
            self.rows.problem(line.number, f"{match[1]} is not what it should be", line.text)
            return True
        value = fits[fits.re.groups] if fits else value
        if fact == "job_id":
            self.rows.job(value, line.number, "environment")
        else:
            self.rows.param(fact, value, line.number, origin="environment")
        return True
