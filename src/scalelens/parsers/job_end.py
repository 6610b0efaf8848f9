"""How a job ended: out of memory, a collective that timed out, the time limit, a node, an error, a cancellation.

Tool: Slurm, PBS, LSF, PyTorch, TensorFlow, JAX, CUDA, HIP, NCCL, Gloo, Poplar, MPI, DeepSpeed's launcher, Python
Versions: any
Yields: params
Source: slurm src/slurmd/slurmstepd; torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp; torch/distributed/elastic; the
interpreter's traceback; Open MPI's and MPICH's launchers

The rank is the launcher's, else the one that the line names, else the one that torchrun names as the first that failed;
srun's report of several tasks names none, as most of them end because one did.  What is in the log before a later
step did not end the job: only what follows the last step counts, but for what the scheduler itself says.  A step that is
cancelled after srun reported a task's failure was cancelled because of that.  Another job's id begins another run.  A
launcher that is interrupted (SIGINT, or SIGTERM to itself) was cancelled, and so was a process that SIGINT ended.  A
process killed by SIGKILL is an error: that memory was the reason is said by Slurm, PBS, LSF or the kernel, or not at all.
A traceback says what happened in its last line.  One that Python prints as ignored ends nothing.  A job is completed
where a line after its last step says that the training is complete, and no line tells of another end.

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
    Exception ignored in atexit callback: <function close at 0x7f00>
    =>> PBS: job killed: walltime 7215 exceeded limit 7200
    TERM_RUNLIMIT: job killed after reaching LSF run time limit.
    Root Cause (first observed failure):
    MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD
    mpirun noticed that process rank 2 with PID 4711 on node node08 exited on signal 9 (Killed).
    node08: rank 2 died from signal 9
    jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 4096 bytes.
    KeyboardInterrupt
    [2026-01-02 03:04:05,678] [INFO] [launch.py:328:sigkill_handler] Main process received SIGINT, exiting
    srun: sending Ctrl-C to StepId=4711.0
"""

from typing import NamedTuple

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 8
ANCHORS = (
    "CANCELLED AT", "FAILED (non-zero exit", "out of memory", "Out of memory", "OutOfMemoryError", "oom_kill event",
    "oom-kill event", "MemoryError", "OOM when allocating", "emory limit", "can't allocate memory", "std::bad_alloc",
    "memory_allocation_error", "TERM_", "PBS: job killed: ", "Exited with ", "srun: error: ",
    "caught collective operation timeout", "Timed out waiting ", "to pass monitoredBarrier", "fallen off the bus",
    "KeyboardInterrupt", "death signal, shutting", " got signal: ", "Traceback (most recent call last)",
    "Segmentation fault", "Fatal Python error: ", "Process received signal", "terminate called after", "Killed",
    "core dumped", "failed (exitcode: ", "exits with return code = ", "Root Cause (first", "MPI_ABORT was invoked",
    "noticed that process rank ", "Process name: [", "RANK ", "called MPI_Abort(", " died from signal ",
    " exited with code ", "Main process received SIG", "srun: sending Ctrl-C to ", "Signal 2 (SIGINT) received by PID ",
    "Exception ignored ", "Error in atexit._run_exitfuncs:", "raining complete", "raining finished", "raining has finished",
    "raining is complete", "raining is finished", "raining has completed", "RAINING COMPLETE", "inished training",
    "inished Training", "ompleted training", "one training", "raining done", "raining is done", "Trainer.fit` stopped: ",
    "epochs completed in ", "Training time ",
)  # fmt: skip

_STOPPED = re.compile(r"\*\*\* (JOB|STEP) (\d+)\S* ON (\S+) (?:CANCELLED AT (\S+)( DUE TO [A-Z ]+)?|FAILED \(non-zero)")
_AGAIN = re.compile("PREEMPTION|NODE FAIL|REQUEUE")  # Slurm may start the same job once more
_RANK = re.compile(
    r"(?:\[(?:PG [^\]]{1,80} )?[Rr]ank[ -]?|: task |\b(?:on|process) rank |\(rank |(?:^|: )rank |^= +RANK |\bRank "
    r"|^\s*Process name: \[(?:\[\d+,\d+\]|\S{1,80}@\d+),)(\d{1,9})\b"
)
_TASK = r"srun: error: \S+: tasks? [\d,-]+: "
_FAILED = re.compile(rf"{_TASK}(?!Terminated|Out Of Memory)")
_SCHEDULER = (
    ("time_limit", re.compile(r"PBS: job killed: walltime |TERM_(?:RUNLIMIT|DEADLINE): job killed")),
    ("oom", re.compile(r"PBS: job killed: p?v?mem |TERM_(?:MEMLIMIT|SWAP): job killed")),
    ("cancelled", re.compile(r"TERM_(?:OWNER|FORCE_OWNER|ADMIN|FORCE_ADMIN|PREEMPT): job killed")),
    ("error", re.compile(r"^Exited with (?:exit code [1-9]\d*|signal termination: .{1,40})\.\s*\Z|PBS: job killed: ")),
)
_TEXTS = (  # the worst first
    (
        "oom",
        re.compile(
            rf"(?:CUDA|HIP|XPU|NPU|HPU|MPS backend)(?: error:)? out of memory|^\s*[\w.]*MemoryError\b|OutOfMemoryError"
            rf"|oom[_-]kill event|{_TASK}Out Of Memory|RESOURCE_EXHAUSTED: Out of memory|OOM when allocating tensor"
            r"|slurmstepd: error: .{0,80}xceeded (?:job )?memory limit|can't allocate memory: you tried"
            r"|(?<!THROW \()(?<!throw\()(?<!throw \()(?<!catch \()(?<!const )std::bad_alloc"  # not a source's own line
            r"|graph_memory_allocation_error|Out of memory: (?:Killed process|Cannot fit)"
        ),
    ),
    (
        "collective_timeout",
        re.compile(
            r"caught collective operation timeout|Timed out waiting \d+ms for (?:recv|send) operation to complete"
            r"|Rank \d+ failed to pass monitoredBarrier"
        ),
    ),
    ("node_failure", re.compile(r"srun: error: Node failure on \S|GPU has fallen off the bus")),
    (
        "cancelled",
        re.compile(
            r"^KeyboardInterrupt\b|Received \S{1,20} death signal, shutting down workers"
            r"|SignalException: Process \d+ got signal: |Main process received SIG(?:INT|TERM), exiting"
            r"|srun: sending Ctrl-C to |Signal 2 \(SIGINT\) received by PID |exits with return code = -2\b"
            r"|failed \(exitcode: -2\)|exited on signal 2 \(|(?:^|: )rank \d+ died from signal 2\b"
        ),
    ),
    (
        "error",
        re.compile(
            rf"^\s*(?:\w+: )?Traceback \(most recent call last\)|Segmentation fault|{_FAILED.pattern}|^Killed\s*\Z"
            r"|^\s*Fatal Python error: |\*\*\* Process received signal|terminate called after throwing"
            r"|: line \d+: +\d+ (?:Killed|Aborted|Bus error)\b|failed \(exitcode: -?\d+\) local_rank: "
            r"|exits with return code = -?[1-9]|MPI_ABORT was invoked on rank \d|noticed that process rank \d.*exited on "
            r"|^\s*Process name: \[\S{1,80},\d+\]|^= +RANK \d+ PID |application called MPI_Abort\("
            r"|(?:^|: )rank \d+ (?:died from signal|exited with code) [1-9]"
        ),
    ),
)
# A sentence that says that the training is over: behind what a logger prints, and perhaps a name of two words.
_COMPLETED = re.compile(
    r"(?:^|[\]>|:-]|\d\s\s)[^\w\n]{0,12}(?:\w[\w-]{0,30} {1,4}){0,2}(?:training (?:has |is |was )?(?:been )?(?:successfully )?"
    r"(?:completed?|finished|done)|(?:finished|completed|done) (?:the )?training"
    r"|`Trainer\.fit` stopped: `max_(?:epochs|steps)=\d+` reached|\d+ epochs completed in \d[\d.]* hours)"
    r"(?![\w-])(?P<rest>.{0,200})",
    re.IGNORECASE,
)
# Meta's vision code prints it once, behind its last epoch; some loops print such a line in each.
_WHOLE_TIME = re.compile(r"(?:^|[ :])Training time (?:\d+ days?, )?\d+:\d\d:\d\d(?P<rest>\s*)\Z")
_OF_A_PART = re.compile(
    r"(?<![a-z])(?:not|pre|epoch|fold|stage|phase|step|round|iteration|trial|client|agent|batch|task|seed|if|when|once|until|after"
    r"|before|while|previous|resum\w*|already)(?![a-z])",
    re.IGNORECASE,
)
_OF_PART_IN_REST = re.compile(
    r"\s*(?:(?:for|of|on|in) )?(?:the )?(?:epoch|fold|stage|phase|round|client|agent|task|seed|trial)", re.IGNORECASE
)
_ROOT = re.compile(r"\s*Root Cause \(first observed failure\)")
_CAUSE = re.compile(r"\s*(?:\[\d+\]:|(time|host|rank|exitcode|error_file|traceback) *: (\S+))")
_TERMINATED = "-15"  # torchrun ended it, as another rank had failed
_BEGINS = re.compile(r"(?:\w+: )?\s*Traceback \(most recent call last\):\s*\Z")  # the message comes after it
_MESSAGE = re.compile(r"(?:[A-Z]\w*|(?:\w+\.)+\w+)(?::\s|\s*\Z)")
_OF_TRACEBACK = re.compile(rf"\s+\S|{_MESSAGE.pattern}")
_IGNORED = re.compile(r"\s*(?:Exception ignored (?:in|on)\b|Error in atexit\._run_exitfuncs:)")
_OF_IGNORED = re.compile(rf"{_BEGINS.pattern}|{_OF_TRACEBACK.pattern}")
_RECORD = re.compile(r"\s*:::\w+ \{")  # a structured line says itself how the job ended, to the format that reads it
_LONGEST_TEXT = 200  # characters of the line that says how the job ended
_MOST_ENDS = 1000  # lines of one part and outcome that are kept


class _End(NamedTuple):
    """A line that tells how the job ended, if no step comes after it."""

    line: int
    rank: int | None
    by_srun: bool
    text: str


class Reader:
    claims: re.Pattern[str] | None = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.ends: dict[tuple[int, str], list[_End]] = {}  # by part and outcome
        self.whole_times = 0  # lines that tell how long the training took
        self.failed = 0  # line in which srun reported that a task had failed
        self.said: list[tuple[int, int, str, str]] = []  # by a scheduler: line, part, outcome, text
        self.stopped: dict[tuple[int, str], tuple[int, int, str]] = {}  # that line, and one in which Slurm ends a step
        self.cause: dict[str, str] = {}  # that torchrun names, being read
        self.causes: list[tuple[str, int, int, int]] = []  # their time, line, rank and part
        self.opened: _End | None = None  # a traceback whose message has not come yet

    def take(self, line: Line) -> bool:
        self.claims = None
        if _RECORD.match(line.text):
            return False
        if stopped := _STOPPED.search(line.text):
            self.rows.job(stopped[2], line.number, "scheduler")
            reason = stopped[5] or ""
            outcome = "time_limit" if "TIME LIMIT" in reason else "node_failure" if "NODE" in reason else "cancelled"
            outcome = outcome if stopped[4] else "error"
            if reason or stopped[1] == "JOB" or self.failed <= self.rows.last_step_line:
                self.said.append((line.number, self.rows.part, outcome, line.text))
            else:
                self.stopped[self.rows.part, outcome] = self.failed, line.number, line.text
            if stopped[1] == "JOB" and not _AGAIN.search(reason):
                self.rows.job_ended(line.number)
            return True
        for outcome, pattern in _SCHEDULER:
            if pattern.search(line.text):
                self.said.append((line.number, self.rows.part, outcome, line.text))
                return True
        if _IGNORED.match(line.text):
            self.claims = _OF_IGNORED
            return True
        whole = _WHOLE_TIME.search(line.text)
        self.whole_times += whole is not None
        if completed := whole or _COMPLETED.search(line.text):
            begun = line.text[: completed.start("rest")]
            if not _OF_A_PART.search(begun) and not _OF_PART_IN_REST.match(completed["rest"]):
                self.keep("completed", _End(line.number, line.rank, False, line.text))
            return False
        if end := self.told(line):
            if _BEGINS.fullmatch(line.text):
                self.opened, self.claims = end, _OF_TRACEBACK
            return True
        if _ROOT.match(line.text):
            self.cause, self.claims = {}, _CAUSE
            return True
        return False

    def told(self, line: Line) -> _End | None:
        """What a line tells of the end of a process, kept."""
        for outcome, pattern in _TEXTS:
            if pattern.search(line.text):
                match = _RANK.search(line.text)
                end = _End(line.number, int(match[1]) if match else line.rank, "srun: " in line.text, line.text)
                self.keep(outcome, end)
                if _FAILED.search(line.text):
                    self.failed = line.number
                return end
        return None

    def tell(self, outcome: str, line: int, text: str, origin: str = "log") -> None:
        """How the job ended, and the line that says so."""
        self.rows.param("outcome", outcome, line, origin=origin)
        if outcome != "completed" and not _BEGINS.match(text):
            self.rows.param("outcome_text", text.strip()[:_LONGEST_TEXT], line, origin=origin)

    def keep(self, outcome: str, end: _End) -> None:
        """Keeps a line, as rows of steps that follow it may come last, in a second reading of the file."""
        ends = self.ends.setdefault((self.rows.part, outcome), [])
        if ends and ends[-1].line < self.last_step(self.rows.part):
            ends.clear()
        elif len(ends) >= _MOST_ENDS:
            del ends[1:-1:2]
        ends.append(end)

    def more(self, line: Line) -> None:
        if self.claims is _OF_IGNORED:
            return
        if self.claims is _OF_TRACEBACK:
            self.message(line)
            return
        match = _CAUSE.match(line.text)
        if not match or not match[1]:
            return
        self.cause.setdefault(match[1], match[2])
        code, rank = self.cause.get("exitcode"), self.cause.get("rank", "")
        if match[1] == "exitcode" and code != _TERMINATED and re.fullmatch(r"\d{1,9}", rank):
            self.causes.append((self.cause.get("time", ""), line.number, int(rank), self.rows.part))

    def message(self, line: Line) -> None:
        """The last line of a traceback, as far to the left as its first: an outcome of its own, or what its error was."""
        indent = len(self.opened.text) - len(self.opened.text.lstrip()) if self.opened else 0
        said = line.text[indent:]
        if said[:1].isspace():
            return
        self.claims = None
        ends = self.ends.get((self.rows.part, "error"), [])
        if not self.told(line) and self.opened in ends and _MESSAGE.match(said):
            ends[ends.index(self.opened)] = self.opened._replace(text=said)

    def last_step(self, part: int) -> int:
        """The line of the last step of a part; 0 where it has none."""
        last = self.rows.last_steps.get(part)
        return last.line if last else 0

    def conclude(self) -> None:
        here = self.rows.part
        self.find_parts()
        for line, part, outcome, text in self.said:
            self.rows.part = part
            self.tell(outcome, line, text, "scheduler")
        for (part, outcome), (failed, stopped, text) in self.stopped.items():
            self.rows.part = part
            if any(failed < last.line < stopped for last in self.rows.last_steps.values()):
                self.tell(outcome, stopped, text, "scheduler")
        for part in sorted({part for part, _ in self.ends}):
            self.rows.part = part
            self.end(part, self.last_step(part))
        self.rows.part = here

    def find_parts(self) -> None:
        """Puts each line into the part that it has after all readings."""
        part_of, kept, self.ends = self.rows.part_of, self.ends, {}
        for (part, outcome), ends in kept.items():
            for end in ends:
                self.ends.setdefault((part_of(end.line, part), outcome), []).append(end)
        self.said = [(line, part_of(line, part), outcome, text) for line, part, outcome, text in self.said]
        self.causes = [(time, line, rank, part_of(line, part)) for time, line, rank, part in self.causes]
        self.stopped = {(part_of(told[1], part), outcome): told for (part, outcome), told in self.stopped.items()}

    def end(self, part: int, last_step: int) -> None:
        """How a part of the file ended: by what follows its last step."""
        # In the line of the last step it comes after that: a bar has no line end of its own, a message has one.
        after = (
            (name, [end for end in self.ends.get((part, name), ()) if end.line >= last_step]) for name, _ in _TEXTS
        )
        outcomes = [(outcome, ends) for outcome, ends in after if ends]
        if not outcomes and last_step:
            ends = [end for end in self.ends.get((part, "completed"), ()) if end.line >= last_step]
            for done in [end for end in ends if self.whole_times < 2 or not _WHOLE_TIME.search(end.text)][:1]:
                self.tell("completed", done.line, done.text, "inferred")
        for outcome, ends in outcomes:
            self.tell(outcome, ends[0].line, ends[0].text)
        if not outcomes:
            return
        first, *later = outcomes[0][1]
        # Where the first line names no rank, a later one says whose end it was, or torchrun does.
        ranks = [first.rank, *(end.rank for end in later if not end.by_srun)]
        causes = sorted(cause for cause in self.causes if cause[1] >= last_step and cause[3] == part)
        if (rank := next((rank for rank in ranks if rank is not None), None)) is not None:
            self.rows.param("outcome_rank", rank, first.line)
        elif causes:
            self.rows.param("outcome_rank", causes[0][2], causes[0][1])
