"""How a job ended: out of memory, a collective that timed out, the time limit, a node, an error, a cancellation.

Tool: Slurm, PyTorch, CUDA, HIP, NCCL, Python
Versions: any
Yields: params
Source: slurm src/slurmd/slurmstepd; torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp; the interpreter's traceback

What stands in the log before a later step did not end the job: only what follows the last step counts.

Samples:
    slurmstepd: error: *** JOB 3665238 ON nid005033 CANCELLED AT 2023-06-10T09:59:21 DUE TO TIME LIMIT ***
    slurmstepd: error: *** STEP 1809579.0 ON r8i3n1 CANCELLED AT 2021-05-23T08:45:57 ***
    torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.
    slurmstepd: error: Detected 1 oom_kill event in StepId=1.0. Some of the step tasks have been OOM Killed.
    [E ProcessGroupNCCL.cpp:607] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7)
    Traceback (most recent call last):
"""

import re

from scalelens.lines import Line
from scalelens.rows import Rows

VERSION = 1
ANCHORS = (
    "CANCELLED AT", "out of memory", "OutOfMemoryError", "oom_kill event", "oom-kill event", "caught collective operation timeout",
    "Traceback (most recent call last)", "DUE TO NODE FAILURE", "Segmentation fault",
)  # fmt: skip

CANCELLED = re.compile(r"\*\*\* (?:JOB|STEP) (\d+)\S* ON (\S+) CANCELLED AT (\S+)( DUE TO [A-Z ]+)?")
RANK = re.compile(r"\[[Rr]ank[ -]?(\d+)\]")
TEXTS = (
    (
        "oom",
        re.compile(r"(?:CUDA|HIP|XPU)(?: error:)? out of memory|OutOfMemoryError|oom[_-]kill event|std::bad_alloc"),
    ),
    ("collective_timeout", re.compile(r"caught collective operation timeout")),
    ("error", re.compile(r"^\s*(?:\w+: )?Traceback \(most recent call last\)|Segmentation fault")),
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
                rank = int(found[1]) if found else line.rank
                key = (self.rows.part, outcome)
                if key not in self.ends or self.ends[key][0] < self.rows.steps_line:
                    self.ends[key] = (line.number, rank)
                return True
        return False

    def finish(self) -> None:
        part = self.rows.part
        for (of, outcome), (number, rank) in self.ends.items():
            if of == part and number > self.rows.steps_line:
                self.rows.param("outcome", outcome, number)
                if rank is not None:
                    self.rows.param("outcome_rank", rank, number)
