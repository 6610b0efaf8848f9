"""Slurm's variables in a dump of the environment.

Tool: env, printenv, export -p, declare -x, inside a Slurm job
Versions: Slurm 17 to 25
Yields: params
Source: slurm src/common/env.c, src/srun, src/slurmd

Only assignments that stand by themselves: a trace of the shell (`+ SLURM_NTASKS=4`) shows what a script assigns, not
what Slurm did.  SLURM_NNODES is that of a step where it differs from the job's.

Samples:
    SLURM_JOB_ID=4711
    export SLURM_JOB_NUM_NODES=2
    declare -x SLURM_GPUS_ON_NODE="4"
    SLURM_JOB_NODELIST=n[08-09]
"""

import re

from scalelens.parsing.hostlist import expand
from scalelens.parsing.lines import Line
from scalelens.parsing.rows import Rows

VERSION = 2
ANCHORS = ("SLURM_",)

ASSIGNMENT = re.compile(r"\s*(?:export |declare -x )?(SLURM_\w+)=(?:\"([^\"]*)\"|'([^']*)'|(\S*))\s*\Z")
FACTS = {
    "SLURM_JOB_ID": "job_id", "SLURM_JOBID": "job_id", "SLURM_JOB_NUM_NODES": "nodes", "SLURM_NNODES": "nodes",
    "SLURM_GPUS_ON_NODE": "devices_per_node", "SLURM_GPUS_PER_NODE": "devices_per_node", "SLURM_GPUS": "devices", "SLURM_CLUSTER_NAME": "system",
    "SLURM_JOB_NODELIST": "node_list", "SLURM_NTASKS": "tasks", "SLURM_JOB_PARTITION": "partition",
    "SLURM_JOB_NAME": "job_name", "SLURM_CPUS_PER_TASK": "cpus_per_task",
}  # fmt: skip
COUNTED = ("nodes", "devices", "devices_per_node", "tasks", "cpus_per_task")


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def take(self, line: Line) -> bool:
        match = ASSIGNMENT.match(line.text)
        if not match:
            return False
        fact, value = FACTS.get(match[1]), match[2] or match[3] or match[4] or ""
        if fact in COUNTED:
            number = re.fullmatch(r"(?:[a-z]\w*:)?(\d{1,7})", value)  # SLURM_GPUS=a100:4
            if number is None:
                self.rows.problem(line.number, f"{match[1]} is not a number", line.text)
                return True
            value = number[1]
        elif fact == "node_list":
            value = ",".join(expand(value)) or value
        if fact and value:
            self.rows.param(fact, value, line.number, origin="environment")
        facts = self.rows.params
        if fact in ("nodes", "devices_per_node") and {"nodes", "devices_per_node"} <= facts.keys():
            self.product(str(facts["nodes"]), str(facts["devices_per_node"]), line.number)
        return True

    def product(self, nodes: str, per_node: str, line: int) -> None:
        if re.fullmatch(r"\d{1,7}", nodes) and re.fullmatch(r"\d{1,7}", per_node):
            self.rows.param("devices", int(nodes) * int(per_node), line, origin="inferred")
