"""What launchers do to lines: they put a prefix before each, and `srun -l` cuts long ones.

A prefix may name the global rank.  One that names a local rank, node, host, pod or process gives the location instead.
"""

import re
import string
from typing import NamedTuple

from scalelens.parsing.line_shapes import Known, shape_of

MPI_TAG = b"]<std"  # in the prefix of mpirun --tag-output
SRUN_CUT = 1024  # srun -l starts a new labeled line after so many bytes
_LOOKED_AT = 200  # lines that show whether all of a text have one label
_LEAST_LABELED = 3

_FIRST_OF_TIME = {*string.digits, *string.ascii_uppercase}  # characters that a _TIME_BEFORE_LINE may begin with
ANSI_START = b"\x1b"
CURSOR_UP = b"\x1b[A"  # ends the drawing of a bar below another one: what follows is another line, as after `\r`
ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[@-Z\\-_]")
_PREFIX = re.compile(
    r"""(?:\w{3}\ \w{3}\ [ \d]\d\ [\d:]{8}\ \d{4})?
        \[(?:\d+,(?:mpirank:)?)?(?P<mpi>\d{1,9})(?:,[\w.-]{1,99})?\]<std(?:out|err)>:  # horovodrun, SageMaker
        (?:\ (?=(?:\ \ )*(?!\ )))?  # mpirun --tag-output; v5 adds a blank
      | \ *(?P<srun>\d{1,6}):(?:\ |(?![\d:\t]))                                        # srun -l: not a clock time
      | \[rank(?P<rank>\d{1,9})\]:(?:\ (?=(?:\ \ )*(?!\ )))?                               # torchrun, c10d
      | \[(?!(?i:\w*(?:epoch|step|iter|iteration|batch|eval|val|test)s?)[:._-]?\d+\]:)         # a count of the training
        (?P<role>[A-Za-z_][\w.-]{0,99}?:?)(?P<local>\d{1,9})\]:                            # torchrun --role ... --tee
      | \[\d{8}\ [\d:]{8}\]\[rank-(?P<primus>\d{1,9})/\d+\]\[\w+\ *\]\s*\[-*[\w.]+:\d+\]\ :\ ?  # Primus' logger
      | \[(?P<impi>\d{1,6})\]\ (?!\[(?!\d{4}-\d\d-\d\d))                                 # Intel MPI -prepend-rank
      | (?P<host>\d+\.\d+\.\d+\.\d+|localhost|[a-z][a-z-]*\d[\w.-]*):\ (?!\d+%)        # pdsh, deepspeed's launcher
      | (?P<service>[A-Za-z][\w.-]{0,99}[-_]\d{1,4})\ {2,99}\|\                        # docker compose
      | \[pod/(?P<pod>[\w.-]{1,253})/[\w.-]{1,63}\]\                                  # kubectl logs --prefix
      | \((?P<sky>head|worker\d{1,6}),\ rank=\d{1,6},\ (?:ip=[\w.:]{1,45},\ )?pid=\d{1,9}[^()]{0,60}\)\   # SkyPilot
      | \(\w[\w.:-]{0,99},?\ (?P<ray>pid=\d{1,9}(?:,\ ip=[\w.:]{1,45})?)\)\               # Ray, SkyPilot's one node
    """,
    re.VERBOSE,
)
# Times that a launcher puts before the lines of a program.  Loggers write their own in other forms, except Poplar's.
_TIME_BEFORE_LINE = re.compile(
    r"""\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{1,9}(?:Z|[+-]\d\d:\d\d)\ (?!P[LO]:|popart:)  # kubectl, docker -t
        (?:std(?:out|err)\ [FP]\ )?                                                       # containerd, CRI-O
      | [A-Z][a-z]{2}\ [ \d]\d\ \d\d:\d\d:\d\d\ (?:[\w.-]{1,99}\ [\w.@/-]{1,99}\[\d{1,9}\]:\ )?  # ts; journald
      | \d{4}-\d\d-\d\d\ \d\d:\d\d:\d\d\.\d{6}\   # ts; ts '%F %.T'
    """,
    re.VERBOSE,
)
# A prefix of mpirun --tag-output within a line: a progress bar without a line end stands before it.  A date or another
# prefix before it means that it is where it belongs.
WITHIN = re.compile(rb'(?<=.)(?<!:)(?<!: )(?<! \d{4})(?<!\\n)(?<!": ")(?=\[\d{1,9},\d{1,9}\]<std(?:out|err)>:)')
SRUN_LABEL = re.compile(rb" *\d{1,6}: ")
# The end of torchrun's prefix, where srun put its label into it: it labels each 4,096 bytes that it reads of a pipe.
_TORN = re.compile(r"[a-z]{0,12}\d{0,4}\]:")
TORN = "/"  # ends the location of such a line
# By the shape of a line: where its prefix ends, and where the digits of the rank stand in it.
_PREFIXES: Known[tuple[int, slice | None]] = Known()


def without_prefix(text: str, shape: bytes = b"") -> tuple[str, int | None, str | None]:
    """A line without up to two nested prefixes; the global rank that they name, else the location.

    Of an inner prefix that is torn nothing is known but what is before it: the location ends with `TORN`.  With the
    shape of the line, a prefix that names a rank alone, or nothing, is looked for once in all lines of this shape.
    """
    if known := _PREFIXES.get(shape):
        end, digits = known
        return text[end:], int(text[digits]) if digits else None, None
    end, digits, location = _prefix_of(text)
    if location is None:
        _PREFIXES.keep(shape, (end, digits))
    return text[end:], int(text[digits]) if digits else None, location


def _prefix_of(text: str) -> tuple[int, slice | None, str | None]:
    """Where the prefixes of a line end, where the digits of a global rank stand in them, else the location."""
    stamp = _TIME_BEFORE_LINE.match(text) if text[:1] in _FIRST_OF_TIME else None
    end = stamp.end() if stamp else 0
    prefix = _PREFIX.match(text, end)
    if not prefix:
        return end, None, None
    digits: slice | None = None
    outer = location = None
    for _ in range(2):
        if not prefix:
            break
        end = prefix.end()
        kind = prefix.lastgroup or ""
        label = prefix[kind]
        if kind == "local":
            label = f"{prefix['role']}{label}"
        location = f"{outer}/{label}" if outer else label
        # The outer one of two labels names the node or the task that started the ranks, not the rank.
        names_rank = outer is None and kind in ("srun", "rank", "mpi", "impi", "primus")
        digits = slice(*prefix.span(kind)) if names_rank else None
        outer = location
        if text[end : end + 1] in _FIRST_OF_TIME and (stamp := _TIME_BEFORE_LINE.match(text, end)):
            end = stamp.end()
        if kind not in ("srun", "host", "mpi", "service", "pod", "sky", "ray"):
            break
        prefix = _PREFIX.match(text, end)
        if kind == "srun" and not prefix and (torn := _TORN.match(text, end)):
            return torn.end(), None, f"{location}{TORN}"
    return end, digits, None if digits else location


class _Label(NamedTuple):
    """What a launcher put before each line of a text, and whose lines they are."""

    text: bytes
    rank: int | None
    location: str | None

    def taken_off(self, line: bytes) -> bytes:
        """A line without the label."""
        return b"" if line.rstrip() == self.text.rstrip() else line.removeprefix(self.text)


def label_of_all(head: bytes) -> _Label | None:
    """The label that all lines of a text have, by its first lines; None where they differ or have none."""
    raw = _first_line(head)
    first = raw.decode("utf-8", "replace")
    text, rank, location = without_prefix(first, shape_of(raw))
    if (rank, location) == (None, None):  # most texts
        return None
    label = _Label(first.removesuffix(text).encode(), rank, location)
    lines = [line for line in head.splitlines()[:_LOOKED_AT] if line.strip()]
    labeled = all(line.startswith(label.text.rstrip()) for line in lines)
    return label if labeled and len(lines) >= _LEAST_LABELED else None


def _first_line(text: bytes) -> bytes:
    """The first line that is not blank."""
    start = len(text) - len(text.lstrip())
    begin = max(text.rfind(b"\n", 0, start), text.rfind(b"\r", 0, start)) + 1
    return text[begin:].partition(b"\n")[0].partition(b"\r")[0]


def pieces(raw: bytes) -> list[bytes]:
    """Pieces of a line, divided at carriage returns and before prefixes of mpirun within the line."""
    return [part for piece in raw.split(b"\r") for part in WITHIN.sub(b"\r", piece).split(b"\r")]


def start_of_cut(text: bytes, start: int, earliest: int) -> int:
    """Start of the whole line whose last piece begins at `start`; `start` itself where `srun -l` did not cut it."""
    while start - SRUN_CUT > earliest:
        before = max(text.rfind(b"\n", earliest, start - 1) + 1, earliest)
        if start - 1 - before < SRUN_CUT or not (label := SRUN_LABEL.match(text, start)):
            break
        if not _is_cut(text, before, start - 1, label[0]):
            break
        start = before
    return start


def joined_again(text: bytes, start: int, end: int) -> tuple[bytes, int]:
    """A line with all pieces into which `srun -l` cut it, without their labels, and the end of the last piece."""
    label = SRUN_LABEL.match(text, start)
    raw = text[start:end]
    while label and _is_cut(text, start, end, label[0]) and text.startswith(label[0], end + 1):
        start = end + 1
        end = text.find(b"\n", start)
        end = len(text) if end < 0 else end
        raw = raw.removesuffix(b"\r") + text[start + len(label[0]) : end]
    return raw, end


def _is_cut(text: bytes, start: int, end: int, label: bytes) -> bool:
    """Whether the line from `start` to `end` has the label and is as long as the pieces that `srun -l` cuts."""
    return end - start - text.endswith(b"\r", start, end) == len(label) + SRUN_CUT and text.startswith(label, start)
