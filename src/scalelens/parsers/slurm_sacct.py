"""Slurm's accounting: sacct, parsable or JSON, with a header or without.

Tool: sacct
Versions: Slurm 20 to 25; --json of data_parser v0.0.37 to v0.0.44
Yields: jobs, params
Source: slurm src/sacct/print.c; src/plugins/data_parser

A row for each job and step; each job is a part of the file, which its job id joins with the job's logs.  Devices are
`gres/gpu` of what was allocated; types of them next to it say the same again.  COMPLETED says only that the script's
last command did not fail: no outcome.  Without a header only what is plain from its form is read: id, state, times,
TRES; and the elapsed time where it agrees with them.  Times are local where no zone is given (--tz); JSON's are UTC.

Samples:
    JobID|JobName|State|Submit|Start|End|Elapsed|AllocTRES|NodeList
    4711|train|COMPLETED|2026-09-21T14:00:00|2026-09-21T14:13:20|2026-09-21T14:23:20|00:10:00|cpu=64,gres/gpu=8,node=2|n[01-02]
    4711.batch|batch|COMPLETED|2026-09-21T14:13:20|2026-09-21T14:13:20|2026-09-21T14:23:20|00:10:00|cpu=32,node=1|n01
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.hostlist import expand
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.values import as_utc, clock_span, integer, iso_time, json_count

VERSION = 2

_OUTCOMES = {
    "FAILED": "error", "TIMEOUT": "time_limit", "OUT_OF_MEMORY": "oom", "NODE_FAIL": "node_failure",
    "BOOT_FAIL": "node_failure", "CANCELLED": "cancelled", "PREEMPTED": "cancelled", "DEADLINE": "time_limit",
}  # fmt: skip
_STATES = {*_OUTCOMES, "COMPLETED", "RUNNING", "PENDING", "REQUEUED", "SUSPENDED", "RESIZING"}
_ID = re.compile(r"(\d{1,18}(?:_\d+|_\[[\d,%-]+\]|\+\d+)?)(?:\.(\w+))?")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
_NAMES = {
    "ConsumedEnergy", "ConsumedEnergyRaw", "CPUTimeRAW", "State", "Elapsed", "ElapsedRaw", "Start", "End", "Submit",
    "AllocTRES", "AllocNodes", "NNodes", "NodeList", "ReqTRES", "ReqNodes", "ReqMem", "Partition", "QOS", "JobName", "NCPUS", "Timelimit",
}  # fmt: skip
_COUNT = re.compile(r"(?:^|,)(node|gres/gpu)=(\d{1,9})(?=,|$)")
_TYPED = re.compile(r"(?:^|,)gres/gpu:([\w.-]+)=(\d{1,9})(?=,|$)")
_ENERGY = re.compile(r"(?:^|,)energy=(\d{1,15})(?=,|$)")
_SCALE = {"": 1, "K": 1e3, "M": 1e6, "G": 1e9}
_Fields = dict[str, str]


def recognise(head: bytes, name: str) -> bool:
    if head.lstrip().startswith(b"{"):
        return b'"jobs"' in head and b'"tres"' in head and b'"allocated"' in head
    first = head.lstrip(b"\xef\xbb\xbf").partition(b"\n")[0][:4000].decode("utf-8", "replace").strip().split("|")
    if "JobID" in first or "JobIDRaw" in first:
        return len(first) > 1
    if len({*first} & _NAMES) > 2 and {*first} & {"ConsumedEnergy", "ConsumedEnergyRaw"}:
        return True
    return len(first) > 3 and bool(_ID.fullmatch(first[0])) and any(field.split(" ")[0] in _STATES for field in first)


def read(source: Source, rows: Rows) -> None:
    text = source.text().decode("utf-8", "replace").lstrip("\ufeff")
    names = text.partition("\n")[0].strip().split("|")
    if {*names} & {"ConsumedEnergy", "ConsumedEnergyRaw"} and not {*names} & {"JobID", "JobIDRaw"}:
        rows.problem(
            1, "there is no column JobID, which tells a job from its steps: their energies would be counted twice; "
            "sacct --format=JobID,... prints it",
        )  # fmt: skip
        return
    job = None
    for number, fields in _of_json(text, rows) if text.lstrip().startswith("{") else _of_lines(text, rows):
        match = _ID.fullmatch(fields.get("JobID") or fields.get("JobIDRaw") or "")
        if not match:
            rows.problem(number, "the record has no job id", "|".join(fields.values()))
            continue
        if job not in (None, match[1]):
            rows.new_part()
        job = match[1]
        _job_row(fields, match[1], match[2], number, rows)


def _job_row(fields: _Fields, job: str, step: str | None, line: int, rows: Rows) -> None:
    """Row of a job or a step, and of a job its facts."""
    state = fields.get("State", "").split(" ")[0].rstrip("+") or None
    tres = fields.get("AllocTRES", "")
    counts = dict(_COUNT.findall(tres))
    nodes = integer(counts.get("node") or fields.get("NNodes") or fields.get("AllocNodes"))
    typed = _TYPED.findall(tres)
    devices = integer(counts.get("gres/gpu")) or sum(int(count) for _, count in typed) or None
    names = fields.get("NodeList", "")
    joules = fields.get("ConsumedEnergyRaw") or fields.get("ConsumedEnergy") or (_ENERGY.findall(tres) or [""])[0]
    energy = re.fullmatch(r"(\d{1,15}(?:\.\d+)?)([KMG]?)", joules)
    elapsed = integer(fields.get("ElapsedRaw"))
    rows.add(
        "jobs", line, job_id=job, step_id=step, state=state, nodes=nodes, devices=devices,
        node_list=",".join(expand(names)) if re.search(r"\d", names) else None,
        submitted_at=as_utc(iso_time(fields.get("Submit")), rows.zone),
        started_at=as_utc(iso_time(fields.get("Start")), rows.zone),
        ended_at=as_utc(iso_time(fields.get("End")), rows.zone),
        elapsed_s=clock_span(fields.get("Elapsed", "")) if elapsed is None else elapsed,
        energy_j=float(energy[1]) * _SCALE[energy[2]] or None if energy else None,
    )  # fmt: skip
    if step is None:
        facts = {
            "job_id": job,
            "job_state": state,
            "outcome": _OUTCOMES.get(state or ""),
            "nodes": nodes,
            "devices": devices,
        }
        for fact, value in {**facts, "gres": typed[0][0] if typed else None, "job_name": fields.get("JobName")}.items():
            rows.param(fact, value or None, line, origin="scheduler")


def _of_lines(text: str, rows: Rows) -> Iterator[tuple[int, _Fields]]:
    """Fields of each line by name.  -p ends lines with a bar, -P does not."""
    header: list[str] | None = None
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        fields = line.rstrip("\r").split("|")
        if "JobID" in fields or "JobIDRaw" in fields:
            header = [field.split("%")[0] for field in fields]
        elif line.strip() and header and len(fields) != len(header):
            rows.problem(number, f"the line has {len(fields)} fields, the header {len(header)}", line)
        elif line.strip():
            yield number, dict(zip(header, fields, strict=True)) if header else _by_form(fields)


def _by_form(values: list[str]) -> _Fields:
    """Fields of a line without a header, as far as their form tells."""
    fields = {"JobID": values[0]}
    fields["State"] = next((value for value in values[1:] if value.split(" ")[0] in _STATES), "")
    times = [value for value in values if _TIME.fullmatch(value)]
    names = {2: ("Start", "End"), 3: ("Submit", "Start", "End"), 4: ("Submit", "Eligible", "Start", "End")}
    fields |= dict(zip(names.get(len(times), ()), times, strict=False))
    tres = {value for value in values if _COUNT.search(value) and "cpu=" in value}
    if len(tres) == 1:
        fields["AllocTRES"] = tres.pop()
    began, ended = iso_time(fields.get("Start")), iso_time(fields.get("End"))
    if began and ended:
        wanted = (ended - began).total_seconds()
        fields["Elapsed"] = next((value for value in values if clock_span(value) == wanted), "")
    return fields


def _of_json(text: str, rows: Rows) -> Iterator[tuple[int, _Fields]]:
    """Jobs and steps of sacct --json as the fields that the other output has."""
    try:
        jobs = list(json.loads(text)["jobs"])
    except (ValueError, KeyError, TypeError, RecursionError):
        rows.problem(None, "the JSON is cut or damaged, or has no jobs")
        return
    for number, job in enumerate(jobs, 1):
        try:
            parts = [_flat(part, job) for part in (job, *(job.get("steps") or []))]
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
            rows.problem(number, "the job lacks its id, or a field of it has another form", json.dumps(job))
            continue
        for part in parts:
            yield number, part


def _flat(part: dict[str, Any], job: dict[str, Any]) -> _Fields:
    """A job, or a step of it."""
    array, times, energy = job.get("array") or {}, part.get("time") or {}, part.get("statistics", {}).get("energy", {})
    task = _slurm_number(array.get("task_id"))
    job_id = str(job["job_id"]) if task is None else f"{array['job_id']}_{task}"
    state = part["state"]["current"] if isinstance(part.get("state"), dict) else part.get("state")
    nodes = part.get("nodes") or ""
    tres = (part.get("tres") or {}).get("allocated") or []
    named = {"Submit": times.get("submission"), "Start": times.get("start"), "End": times.get("end")}
    step = part.get("step", {}).get("id", "")
    step = step["step_id"] if isinstance(step, dict) else str(step).rpartition(".")[2]
    return {
        "JobID": f"{job_id}.{step}" if step else job_id,
        "JobName": str(part.get("name", "")),
        "State": str(state[0] if isinstance(state, list) and state else state or ""),
        "NodeList": str(nodes.get("range", "")) if isinstance(nodes, dict) else str(nodes),
        "AllocTRES": ",".join("/".join(filter(None, (t["type"], t.get("name")))) + f"={t['count']}" for t in tres),
        "ElapsedRaw": str(_slurm_number(times.get("elapsed")) or ""),
        "ConsumedEnergyRaw": str(_slurm_number(energy.get("consumed")) or ""),
        **{
            name: datetime.fromtimestamp(at, UTC).isoformat()
            for name, value in named.items()
            if (at := _slurm_number(value))
        },
    }


def _slurm_number(value: Any) -> int | None:
    """A number, also one in the form {set, infinite, number}; unset memory and energy have absurd values."""
    if isinstance(value, dict):
        value = value.get("number") if value.get("set") and not value.get("infinite") else None
    return json_count(value, 49)
