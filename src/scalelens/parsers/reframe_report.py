"""Report of ReFrame: one test of a system after the other, with its performance values.

Tool: ReFrame, --report-file (reports/run-report.json)
Versions: data versions 3.0 to 4.2 of the report; real files of 3.1, later ones by the writer's source
Yields: metrics, jobs, params
Source: reframe-hpc/reframe, reframe/frontend/reporting/__init__.py: RunReport.update_run_stats(); before 4.7
    reframe/frontend/statistics.py: TestStats.json()

Each test that ran is a job, and so a part of the file and a run of its own.  A line is the number of the test, over all
rounds: later rounds are retries.  A performance variable is a metric of its name, with the unit that the test states.
`time_run` holds the time that the job waited in the queue: no time of the report becomes a time of a step.
Job ids of the scheduler `local` are process ids, which are no ids of jobs.  References and their bounds are not kept.

A test that fails its performance check has run to its end.  One that was expected to fail says not how it ended.

Samples:
    {"session_info": {"data_version": "4.2", "hostname": "login1", "time_elapsed": 61.5}, "runs": [{"num_cases": 1,
    "testcases": [{"name": "Stream", "system": "hpc", "partition": "gpu", "environ": "gnu", "jobid": "77", "scheduler": "slurm",
    "result": "pass", "fail_phase": null, "perfvalues": {"hpc:gpu:copy": [812.5, 800.0, -0.1, null, "GB/s", "pass"]}}]}]}
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.values import amount, json_count, json_number

VERSION = 1
IN_HEAD = (b'"session_info"',)

_PASSED = ("pass", "success", "xpass")
_FAILED = ("fail", "failure")
_NEVER_RAN = ("skip", "fail_deps")
_SPANS = ("time_setup", "time_compile", "time_run", "time_sanity", "time_performance", "time_total")
_FACTS = {
    "unique_name": "reframe_test",
    "partition": "partition",
    "environ": "environment",
    "environment": "environment",
}
_COUNTED = ("num_tasks", "num_tasks_per_node", "num_cpus_per_task", "num_gpus_per_node")

_Dict = dict[str, Any]


def recognise(head: bytes, name: str) -> bool:
    return head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") and all(
        key in head for key in (b'"session_info"', b'"data_version"')
    )


def read(source: Source, rows: Rows) -> str | None:
    text = source.text().decode("utf-8-sig", "replace")
    try:
        report = json.loads(text)
    except (ValueError, RecursionError) as error:
        rows.problem(getattr(error, "lineno", None), "the report is cut, or its JSON is damaged")
        return None
    skipped, begun = 0, False
    for number, case in enumerate(_cases_of(report), 1):
        if not isinstance(case, dict) or not isinstance(case.get("result"), str):
            rows.problem(number, "the test has no result", str(case)[:200])
        elif case["result"] in _NEVER_RAN:
            skipped += 1
        else:
            if begun:
                rows.new_part()
            begun = True
            _facts(number, case, rows)
            _values(number, case, rows)
    return f"{skipped} tests were skipped" if skipped else None


def _cases_of(report: Any) -> Iterator[Any]:
    """Tests of all rounds, in the order of the file."""
    for round_ in _list_of(report, "runs"):
        yield from _list_of(round_, "testcases")


def _list_of(holder: Any, key: str) -> list[Any]:
    return found if isinstance(holder, dict) and isinstance(found := holder.get(key), list) else []


def _facts(number: int, case: _Dict, rows: Rows) -> None:
    """What ran where, and how it ended."""
    variables = case.get("check_vars")
    said = {**(variables if isinstance(variables, dict) else {}), **case}
    system, _, partition = str(said.get("system") or "").partition(":")
    rows.param("system", system or None, number)
    rows.param("partition", partition or None, number)
    for key, fact in _FACTS.items():
        rows.param(fact, text if isinstance(text := said.get(key), str) and text != "<undefined>" else None, number)
    for key in _COUNTED:
        rows.param(key, json_count(said.get(key)), number)
    hosts = [str(host) for host in _list_of(said, "nodelist") or _list_of(said, "job_nodelist")]
    rows.param("nodes", len({*hosts}) or None, number)
    rows.param("outcome", _outcome(case), number)
    job_id = said.get("jobid")
    if said.get("scheduler") == "local" or not str(job_id or "").split("_")[0].isdecimal():
        return
    rows.param("job_id", str(job_id), number, origin="scheduler")
    ended = amount(said.get("job_completion_time_unix"))
    ended_at = datetime.fromtimestamp(ended, UTC) if ended and ended < 1 << 33 else None
    rows.add(
        "jobs", number, job_id=str(job_id), nodes=len({*hosts}) or None, node_list=",".join(hosts) or None,
        ended_at=ended_at,
    )  # fmt: skip


def _outcome(case: _Dict) -> str | None:
    if case["result"] in _PASSED or (case["result"] in _FAILED and case.get("fail_phase") == "performance"):
        return "completed"
    return "cancelled" if case["result"] == "abort" else "error" if case["result"] in _FAILED else None


def _values(number: int, case: _Dict, rows: Rows) -> None:
    """Performance variables and times of the stages."""
    named = case.get("perfvalues")
    measured = [
        (name.rpartition(":")[2], value[0], value[4])
        for name, value in (named.items() if isinstance(named, dict) else ())
        if isinstance(value, list) and len(value) >= 5
    ]
    measured += [
        (str(variable.get("name")), variable.get("value"), variable.get("unit"))
        for variable in _list_of(case, "perfvars")
        if isinstance(variable, dict)
    ]
    for name, value, unit in measured:
        if (found := json_number(value)) is None:
            rows.problem(number, f"the value of {name} is not a number", str(value))
        else:
            rows.metric(number, None, None, None, name, found, unit if isinstance(unit, str) and unit else None)
    for name in _SPANS:
        if (span := amount(case.get(name))) is not None:
            rows.metric(number, None, None, None, name, span, "s")
