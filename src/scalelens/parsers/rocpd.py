"""Trace of ROCm's profiler as a database, *_results.db.

Tool: rocprofv3 (ROCprofiler-SDK), whose default output it is since ROCm 7; rocpd merge
Versions: schema 3, real files at hand.  Other schemas are read if their columns are there
Yields: events, params
Source: ROCm/rocm-systems projects/rocprofiler-sdk/source/share/rocprofiler-sdk-rocpd/rocpd_tables.sql and rocpd_views.sql,
    source/lib/output/generateRocpd.cpp, which fills them

The tables are read, whose names end in a guid and of which a merged database has several, never the views over them.
Rows are joined from the outside, as the tool's own views drop a kernel that has no event.  Kernels are category kernel,
copies gpu_memcpy, API calls and markers of their domain in lower case; a marker is named by its message.  Of device
work `process` is the GPU by its number among GPUs, of the host the process id.  Instants, counters and allocations are
not read.  Times count from a clock of the node: `trace_clock` is relative.  `correlation` ties a call to what it
launches, in one process; the n-th process of a file, from 0, has n * 2^32 added to its own.  `line` counts the records
over all tables read.

The rank is that of the launcher's variables, else of the file name, where the file holds one process.  Several
processes are parts, and so runs, of their own.
"""

import json
import re
import sqlite3
from typing import Any

from scalelens.parsing.nsight_processes import RANK_VARIABLES
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.sqlite_file import MAGIC, Database, sqlite_database
from scalelens.parsing.values import integer, json_integer, rank_in_name

VERSION = 2
IN_HEAD = (b"rocpd_metadata",)

_SIZES = ("workgroup_size_x", "workgroup_size_y", "workgroup_size_z", "grid_size_x", "grid_size_y", "grid_size_z")
_NEEDED = {
    "rocpd_string": {"id", "guid", "string"},
    "rocpd_event": {"id", "guid", "category_id", "stack_id", "extdata"},
    "rocpd_info_process": {"id", "guid", "nid", "pid", "environment"},
    "rocpd_info_node": {"id", "guid", "hostname"},
    "rocpd_info_thread": {"id", "guid", "tid"},
    "rocpd_info_agent": {"id", "guid", "type", "type_index", "product_name"},
    "rocpd_info_kernel_symbol": {"id", "guid", "kernel_name", "display_name"},
    "rocpd_kernel_dispatch": {"guid", "pid", "agent_id", "kernel_id", "stream_id", "start", "end", "event_id", *_SIZES},
    "rocpd_memory_copy": {"guid", "pid", "dst_agent_id", "src_agent_id", "name_id", "stream_id", "start", "end", "size",
                          "event_id"},
    "rocpd_region": {"guid", "pid", "tid", "name_id", "start", "end", "event_id"},
}  # fmt: skip
_GUID = r"(?:_[0-9a-f]+)*"
_NAMED = "LEFT JOIN rocpd_string s ON s.id = x.name_id AND s.guid = x.guid"
_CALLED = "LEFT JOIN rocpd_event e ON e.id = x.event_id AND e.guid = x.guid"
# Each gives guid, pid, start, end, correlation, name, category, process, thread, stream and arguments.
_KERNELS = f"""
SELECT x.guid, x.pid, x.start, x."end", e.stack_id, coalesce(nullif(k.display_name, ''), k.kernel_name), 'kernel',
       a.type_index, NULL, x.stream_id, json_object({", ".join(f"'{size}', x.{size}" for size in _SIZES)})
FROM rocpd_kernel_dispatch x {_CALLED}
LEFT JOIN rocpd_info_kernel_symbol k ON k.id = x.kernel_id AND k.guid = x.guid
LEFT JOIN rocpd_info_agent a ON a.id = x.agent_id AND a.guid = x.guid"""
_COPIES = f"""
SELECT x.guid, x.pid, x.start, x."end", e.stack_id, s.string, 'gpu_memcpy',
       CASE 'GPU' WHEN d.type THEN d.type_index WHEN o.type THEN o.type_index END, NULL, x.stream_id,
       json_object('bytes', x.size)
FROM rocpd_memory_copy x {_CALLED} {_NAMED}
LEFT JOIN rocpd_info_agent d ON d.id = x.dst_agent_id AND d.guid = x.guid
LEFT JOIN rocpd_info_agent o ON o.id = x.src_agent_id AND o.guid = x.guid"""
_REGIONS = f"""
SELECT x.guid, x.pid, x.start, x."end", e.stack_id,
       coalesce(CASE WHEN json_valid(e.extdata) THEN json_extract(e.extdata, '$.message') END, s.string),
       lower(c.string), p.pid, t.tid, NULL, NULL
FROM rocpd_region x {_CALLED} {_NAMED}
LEFT JOIN rocpd_string c ON c.id = e.category_id AND c.guid = x.guid
LEFT JOIN rocpd_info_process p ON p.id = x.pid AND p.guid = x.guid
LEFT JOIN rocpd_info_thread t ON t.id = x.tid AND t.guid = x.guid"""
_PROCESSES = """
SELECT p.guid, p.id, p.environment, n.hostname FROM rocpd_info_process p
LEFT JOIN rocpd_info_node n ON n.id = p.nid AND n.guid = p.guid ORDER BY n.hostname, p.pid"""

_Owners = dict[tuple[str, int], int]


def recognise(head: bytes, name: str) -> bool:
    return head.startswith(MAGIC) and b"rocpd_metadata" in head


def read(source: Source, rows: Rows) -> str | None:
    try:
        with sqlite_database(source) as database:
            lacking = _united(database)
            if lacking:
                rows.problem(None, f"the database lacks columns of schema 3 in {', '.join(lacking)}: it is not read")
                return None
            owners, rank = _processes_of(database, source.name, rows)
            line = 0
            for query in (_KERNELS, _COPIES, _REGIONS):
                for batch in database.batches(query):
                    for record in batch:
                        line += 1
                        _event(line, record, owners, rank, rows)
            rows.part = 0
    except sqlite3.Error as error:
        rows.problem(None, f"the database is cut or damaged ({error}): what was read before is kept")
        return None
    return "the ranks of its processes are unknown: each is taken for a separate run" if len(owners) > 1 else None


def _united(database: Database) -> list[str]:
    """Gives the tables of each kind one name; returns the kinds that lack columns."""
    lacking = []
    for kind, needed in _NEEDED.items():
        tables = [table for table in database.columns if re.fullmatch(kind + _GUID, table, re.IGNORECASE)]
        if tables and all(needed <= database.columns[table] for table in tables):
            database.unite(kind, tables, needed)
        else:
            lacking.append(kind)
    return lacking


def _processes_of(database: Database, name: str, rows: Rows) -> tuple[_Owners, int | None]:
    """The number of each process, from 0, and the rank where there is one process.

    Of the environment only the launcher's variables are kept: others may be secrets.
    """
    found = database.rows(_PROCESSES)
    environment = _variables(found[0][2]) if len(found) == 1 else {}
    told = next((environment[key] for key in RANK_VARIABLES if environment.get(key, "").isdecimal()), None)
    rank = (integer(told) if told else rank_in_name(name)) if len(found) == 1 else None
    rows.param("job_id", environment.get("SLURM_JOB_ID"), origin="environment")
    rows.param("devices", environment.get("WORLD_SIZE"), origin="environment")
    gpus = "SELECT DISTINCT guid, product_name FROM rocpd_info_agent WHERE type = 'GPU' AND product_name <> ''"
    models = database.rows(gpus)
    for part, (guid, _, _, host) in enumerate(found):
        rows.part = part
        rows.param("trace_clock", "relative", origin="inferred")
        rows.param("host_name", host)
        rows.param("device_model", ", ".join(str(model) for of, model in models if of == guid) or None)
    rows.part = 0
    return {(guid, key): number for number, (guid, key, _, _) in enumerate(found)}, rank


def _variables(environment: Any) -> dict[str, str]:
    try:
        found = json.loads(environment)
    except (TypeError, ValueError, RecursionError):
        return {}
    return {key: value for key, value in found.items() if isinstance(value, str)} if isinstance(found, dict) else {}


def _event(line: int, record: tuple[Any, ...], owners: _Owners, rank: int | None, rows: Rows) -> None:
    guid, pid, start, end, correlation, name, category, process, thread, stream, args = record
    if json_integer(start) is None or json_integer(end) is None or end < start:
        rows.problem(line, "the start or the end is not a time, or the end is before the start", str(record))
        return
    rows.part = number = owners.get((guid, pid), 0)
    related = json_integer(correlation, 32)
    rows.put("events", line, {
        "rank": rank, "ph": "X", "name": None if name is None else str(name), "category": category, "start_ns": start,
        "duration_ns": end - start, "correlation": None if related is None else related + (number << 32),
        "process": None if process is None else str(process), "thread": None if thread is None else str(thread),
        "stream": json_integer(stream), "args": args,
    })  # fmt: skip
