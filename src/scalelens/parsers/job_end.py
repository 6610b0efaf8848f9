"""How a job ended: out of memory, a collective that timed out, the time limit, a node, an error, a cancellation.

Tool: Slurm, PyTorch, CUDA, HIP, NCCL, Python
Versions: any
Yields: params
Source: slurm src/slurmd/slurmstepd; torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp; the interpreter's traceback

The rank is the launcher's, else the one that the line names; srun's report of several tasks names none, as most of them
end because one did.  What stands in the log before a later step did not end the job: only what follows the last step counts.

Samples:
    slurmstepd: error: *** JOB 4711002 ON node08 CANCELLED AT 2026-01-02T04:05:06 DUE TO TIME LIMIT ***
    slurmstepd: error: *** STEP 4711001.0 ON node07 CANCELLED AT 2026-01-02T03:04:05 ***
    torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.
    slurmstepd: error: *** JOB 4711002 ON node08 CANCELLED AT 2026-01-02T04:05:06 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***
    srun: error: Node failure on nid005034
    srun: error: nid005033: task 5: Out Of Memory
    srun: error: nid005033: tasks 8-15: Exited with exit code 1
    slurmstepd: error: Detected 1 oom_kill event in StepId=1.0. Some of the step tasks have been OOM Killed.
    [rank3]:[E1206 10:11:12.345678 ProcessGroupNCCL.cpp:629] [PG 0 Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7)
    [E ProcessGroupNCCL.cpp:607] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7)
    Traceback (most recent call last):
"""

import re

from scalelens.lines import Line
from scalelens.rows import Rows

VERSION = 2
ANCHORS = (
    "CANCELLED AT", "out of memory", "OutOfMemoryError", "oom_kill event", "oom-kill event", "Out Of Memory",
    "caught collective operation timeout", "Traceback (most recent call last)", "Segmentation fault",
    "srun: error: Node failure on ", "Exited with exit code ",
)  # fmt: skip

CANCELLED = re.compile(r"\*\*\* (?:JOB|STEP) (\d+)\S* ON (\S+) CANCELLED AT (\S+)( DUE TO [A-Z ]+)?")
RANK = re.compile(r"\[(?:PG [^\]]{1,80} )?[Rr]ank[ -]?(\d{1,9})\]|: task (\d{1,9}): ")
TASK = r"srun: error: \S+: tasks? [\d,-]+: "
TEXTS = (
    (
        "oom",
        re.compile(
            rf"(?:CUDA|HIP|XPU)(?: error:)? out of memory|OutOfMemoryError|oom[_-]kill event|{TASK}Out Of Memory"
        ),
    ),
    ("node_failure", re.compile(r"srun: error: Node failure on \S")),
    ("collective_timeout", re.compile(r"caught collective operation timeout")),
    ("error", re.compile(rf"^\s*(?:\w+: )?Traceback \(most recent call last\)|Segmentation fault|{TASK}Exited with")),
)


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.ends: dict[tuple[int, str], tuple[int, int | None]] = {}  # line and rank by part and outcome

    def take(self, line: Line) -> bool:
        if cancelled := CANCELLED.search(line.text):
            reason = cancelled[4] or ""
            outcome = (
                "time_limit" if "TIME LIMIT" in reason else "node_failure" if "NODE FAIL" in reason else "cancelled"
            )
            self.rows.param("outcome", outcome, line.number, origin="scheduler")
            self.rows.param("job_id", cancelled[1], line.number, origin="scheduler")
            return True
        for outcome, pattern in TEXTS:
            if pattern.search(line.text):
                found = RANK.search(line.text)
                rank = int(found[1] or found[2]) if found else line.rank
                key = (self.rows.part, outcome)
                if key not in self.ends or self.ends[key][0] < self.rows.steps_line:
                    self.ends[key] = (line.number, rank)
                return True
        return False

    def finish(self) -> None:
        for outcome, _ in TEXTS:  # the rank is that of the gravest
            number, rank = self.ends.get((self.rows.part, outcome), (0, None))
            if number > self.rows.steps_line:
                self.rows.param("outcome", outcome, number)
                if rank is not None:
                    self.rows.param("outcome_rank", rank, number)
