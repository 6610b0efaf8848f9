"""Slurm's variables in a dump of the environment.

Tool: env, printenv, export -p, declare -x, inside a Slurm job, or a script that prints them with blanks around the sign
Versions: Slurm 17 to 25
Yields: params
Source: slurm src/common/env.c, src/srun, src/slurmd

Only assignments on lines of their own: a trace of the shell (`+ SLURM_NTASKS=4`) shows what a script assigns, not
what Slurm did.  SLURM_NNODES is that of a step where it differs from the job's.  The id of another job begins another run.

Samples:
    SLURM_JOB_ID=4711
    export SLURM_JOB_NUM_NODES=2
    declare -x SLURM_GPUS_ON_NODE="4"
    SLURM_JOB_NODELIST=n[08-09]
    SLURM_JOB_NAME = resnet_ddp
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.hostlist import expand
from scalelens.parsing.rows import Rows

VERSION = 4
ANCHORS = ("SLURM_",)

_ASSIGNMENT = re.compile(r"\s*(?:export |declare -x )?(SLURM_\w+) ?= ?(?:\"([^\"]*)\"|'([^']*)'|(\S*))\s*\Z")
_FACTS = {
    "SLURM_JOB_ID": "job_id", "SLURM_JOBID": "job_id", "SLURM_JOB_NUM_NODES": "nodes", "SLURM_NNODES": "nodes",
    "SLURM_GPUS_ON_NODE": "devices_per_node", "SLURM_GPUS_PER_NODE": "devices_per_node", "SLURM_GPUS": "devices", "SLURM_CLUSTER_NAME": "system",
    "SLURM_JOB_NODELIST": "node_list", "SLURM_NTASKS": "tasks", "SLURM_JOB_PARTITION": "partition",
    "SLURM_JOB_NAME": "job_name", "SLURM_CPUS_PER_TASK": "cpus_per_task",
}  # fmt: skip
_DUMP = 500  # lines that one dump may fill
_COUNTED = ("nodes", "devices", "devices_per_node", "tasks", "cpus_per_task")


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.last = 0  # line of the last variable
        self.held: list[tuple[str, str, int]] | None = None  # facts of a later dump, until it names its job

    def take(self, line: Line) -> bool:
        match = _ASSIGNMENT.match(line.text)
        if not match:
            return False
        if line.number > self.last + _DUMP:
            self.release()
            self.held = [] if "job_id" in self.rows.params else None
        self.last = line.number
        fact, value = _FACTS.get(match[1]), match[2] or match[3] or match[4] or ""
        if fact in _COUNTED:
            number = re.fullmatch(r"(?:[a-z]\w*:)?(\d{1,7})", value)  # SLURM_GPUS=a100:4
            if number is None:
                self.rows.problem(line.number, f"{match[1]} is not a number", line.text)
                return True
            value = number[1]
        elif fact == "node_list":
            value = ",".join(expand(value)) or value
        if fact == "job_id" and value:
            self.rows.job(value, line.number, "environment")
            self.release()
        elif fact and value and self.held is not None:
            self.held.append((fact, value, line.number))
        elif fact and value:
            self.fact(fact, value, line.number)
        return True

    def finish(self) -> None:
        self.release()

    def release(self) -> None:
        held, self.held = self.held or [], None
        for fact in held:
            self.fact(*fact)

    def fact(self, name: str, value: str, line: int) -> None:
        self.rows.param(name, value, line, origin="environment")
        facts = self.rows.params
        if name in ("nodes", "devices_per_node") and {"nodes", "devices_per_node"} <= facts.keys():
            self.product(str(facts["nodes"]), str(facts["devices_per_node"]), line)

    def product(self, nodes: str, per_node: str, line: int) -> None:
        if re.fullmatch(r"\d{1,7}", nodes) and re.fullmatch(r"\d{1,7}", per_node):
            self.rows.param("devices", int(nodes) * int(per_node), line, origin="inferred")
