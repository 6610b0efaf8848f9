"""Lines that name the cause of a failure: a GPU's fault, a file system, a network connection of NCCL.

Tool: NVIDIA's and AMD's kernel drivers, CUDA, Lustre and other file systems, NCCL, RCCL
Versions: any
Yields: params
Source: NVIDIA, Xid Errors (docs.nvidia.com/deploy/xid-errors); linux, include/uapi/asm-generic/errno.h; nccl src/debug.cc

They do not say by themselves that a job ended: a warning of NCCL may be followed by a thousand steps.  How a job ended
is read by job_end; `failed_runs` looks for the first such line after the last step of a run that failed.  Messages of
Python's tracebacks belong to job_end, too.

Samples:
    [ 4711.123456] NVRM: Xid (PCI:0000:8a:00): 48, pid=4711, name=python, DBE (double bit error) ECC error
    NVRM: Xid (PCI:0000:8a:00): 94, Contained: SM (0x1). RST: No, D-RST: No
    n1:101:202 [0] misc/socket.cc:483 NCCL WARN socketProgress: Connection closed by remote peer n2<41310>
    cp: error writing 'ckpt/rank3.pt': No space left on device
    tee: train.log: Stale file handle
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 1
ANCHORS = (
    "NVRM: Xid (", "ECC error", "CCL WARN ", "No space left on device", "Stale file handle", "Disk quota exceeded",
    "Transport endpoint is not connected", "Input/output error",
)  # fmt: skip

_CAUSE = re.compile(
    r"NVRM: Xid \(.{1,40}?\): \d+|[Uu]ncorrectable ECC error|[Dd]ouble bit .{0,20}ECC error|\bECC error encountered"
    r"|: (?:No space left on device|Stale file handle|Disk quota exceeded|Transport endpoint is not connected"
    r"|Input/output error)"
)
# By itself, as a pattern that begins with a text is found several times faster, and such lines come in thousands.
_WARNING = re.compile(r"CCL WARN .{0,200}?(?:[Ff]ailed|[Ee]rror|[Cc]losed|[Tt]imed? ?out|[Rr]efused|[Uu]nhandled)")
_LOST, _RAISED = "GPU has fallen off the bus", re.compile(r"\s*(?:[A-Z]\w*|(?:\w+\.)+\w+)(?:Error|Exception): ")
_LONGEST_TEXT = 200  # characters
_MOST = 200  # lines of one part that are kept


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.kept: dict[int, int] = {}

    def take(self, line: Line) -> bool:
        text = line.text
        if not (_WARNING.search(text) or _CAUSE.search(text)) or _LOST in text or _RAISED.match(text):  # of `job_end`
            return False
        part = self.rows.part
        self.kept[part] = self.kept.get(part, 0) + 1
        if self.kept[part] <= _MOST:
            self.rows.param("failure_text", line.text.strip()[:_LONGEST_TEXT], line.number)
        return True
