"""Performance log of ReFrame: a line for each run of a test, or for each of its performance variables.

Tool: ReFrame, perflogs/SYSTEM/PARTITION/TEST.log
Versions: lines of one variable, of ReFrame 3; records with a line of names above them, of ReFrame 4 with `|` between the
    cells.  Both forms follow real lines that tutorials quote; a whole file was not found.  What a site's own format
    names otherwise, or divides by commas, is not read here.
Yields: metrics, jobs, params
Source: reframe-hpc/reframe, reframe/core/logging.py: CheckFieldFormatter, and handlers_perflog in core/settings.py

Each run of a test is a part of the file, and so a run of its own.  A performance variable is a metric of its name, with
its unit.  References and their bounds are not kept.  The time names no zone and is when the job ended or was noticed to
have ended: it is left out.

Samples:
    2026-01-02T03:04:05|reframe 3.9.2|StreamTest on hpc:gpu using gnu|jobid=77|Copy=6606.1|ref=0 (l=null, u=null)|MB/s
    job_completion_time|version|info|jobid|num_tasks|flops_value|flops_unit|flops_ref|flops_lower_thres|flops_upper_thres|system|partition|environ
    2026-01-02T03:04:05|reframe 4.3.2|Stream %tasks=2 /de04c10b @hpc:gpu+gnu|4323431|2|1.31|Gflops/seconds|1.2|-0.2|None|hpc|gpu|gnu
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.values import integer, number
from scalelens.tabular.cells import lines_of

VERSION = 1
IN_HEAD = (b"|reframe ", b"_ref")

_RECORD = re.compile(
    r"\d{4}-\d\d-\d\dT[\d:]{8}[^|]{0,9}\|reframe [^|]{1,60}\|(?P<info>[^|]{1,999})\|jobid=(?P<jobid>[^|]{0,60})\|"
    r"(?:num_tasks=(?P<num_tasks>\d{1,9})\|)?(?P<name>[^|=]{1,200})=(?P<value>[^|]{0,60})\| ?ref=[^|]{0,200}\|(?P<unit>[^|]{0,60})"
)
_BEGINS = re.compile(rb"(?:\xef\xbb\xbf)?\d{4}-\d\d-\d\dT[\d:]{8}[^|\n]{0,9}\|reframe \d")
_ON = re.compile(r"(?P<test>.{1,500}?)(?: /\w+)? (?:@(?P<at>\S+)|on (?P<on>\S+) using (?P<environ>.{1,200}))")
_COUNTED = ("num_tasks", "num_tasks_per_node", "num_cpus_per_task", "num_gpus_per_node")
_OUTCOMES = {
    "pass": "completed",
    "xpass": "completed",
    "fail": None,
    "abort": "cancelled",
}  # `fail` may be of a bound alone
_NOTHING = ("", "null", "None")
_MOST_CELLS = 2000


def recognise(head: bytes, name: str) -> bool:
    return bool(_BEGINS.match(head)) or _is_header(head.split(b"\n", 1)[0].decode("utf-8-sig", "replace"))


def _is_header(line: str) -> bool:
    """Whether a line names cells, and among them a variable with its reference."""
    names = set(line.strip().split("|"))
    if not names & {"info", "display_name", "jobid"}:
        return False
    return any(f"{name.removesuffix('_value')}_ref" in names for name in names if name.endswith("_value"))


def read(source: Source, rows: Rows) -> str | None:
    names: list[str] = []
    test: tuple[str, str] | None = None  # the test and the job of the part that is open
    for line_number, line, is_whole in lines_of(source):
        if not is_whole:
            rows.problem(line_number, "the line has no end: it may be cut and is not read", line)
        elif _is_header(line):
            names = line.strip().split("|")
        elif match := _RECORD.fullmatch(line):
            if test is not None and test != (match["info"], match["jobid"]):
                rows.new_part()
            if test != (match["info"], match["jobid"]):
                test = match["info"], match["jobid"]
                _facts(line_number, match.groupdict(), rows)
            _measured(line_number, match["name"], match["value"], match["unit"], rows)
        elif names and len(cells := line.split("|", _MOST_CELLS)) == len(names):
            if test is not None:
                rows.new_part()
            said = dict(zip(names, cells, strict=True))
            test = said.get("info", ""), ""
            _facts(line_number, said, rows)
            for name in names:
                if name.endswith("_value") and said[name] not in _NOTHING:
                    variable = name.removesuffix("_value")
                    _measured(line_number, variable, said[name], said.get(f"{variable}_unit", ""), rows)
        else:
            rows.problem(line_number, "the line is not a record of a performance log", line)
    return None


def _facts(line: int, said: dict[str, str], rows: Rows) -> None:
    """Which test ran where, and how it ended."""
    known = {key: value for key, value in said.items() if value not in (*_NOTHING, None)}
    where = _ON.match(known.get("info", ""))
    place, _, environment = (where["at"] or "").partition("+") if where else ("", "", "")
    system, _, partition = ((where and where["on"]) or place).partition(":")
    environment = (where and where["environ"]) or environment
    rows.param("reframe_test", known.get("display_name") or (where and where["test"]) or known.get("info"), line)
    rows.param("system", known.get("system") or system or None, line)
    rows.param("partition", known.get("partition") or partition or None, line)
    rows.param("environment", known.get("environ") or environment or None, line)
    for key in _COUNTED:
        rows.param(key, integer(known.get(key, "")), line)
    rows.param("outcome", _OUTCOMES.get(known.get("result", "")), line)
    job_id = known.get("jobid", "")
    if job_id.isdecimal() and len(job_id) <= 20:
        rows.param("job_id", job_id, line, origin="scheduler")
        rows.add("jobs", line, job_id=job_id)


def _measured(line: int, name: str, value: str, unit: str, rows: Rows) -> None:
    if (found := number(value)) is None:
        rows.problem(line, f"the value of {name} is not a number", value)
    else:
        rows.metric(line, None, None, None, name, found, unit.strip() if unit.strip() not in _NOTHING else None)
