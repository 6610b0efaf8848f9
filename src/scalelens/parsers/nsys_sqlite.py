"""Capture of Nsight Systems, exported as SQLite.

Tool: NVIDIA Nsight Systems (nsys export --type sqlite, nsys stats)
Versions: 2022 to 2026, schemas 2.9 to 3.25; read by the names of columns, not by the version
Yields: events, params
Source: closed; read from real files of 2022.2, 2025.3 and 2026.2.  The tables of MPI and of whole CUDA graphs follow
    NVIDIA's documentation of the export: no real file holds them

Kernels are category kernel, copies gpu_memcpy, fills gpu_memset, waits cuda_sync, calls cuda_runtime and cuda_driver,
MPI's tables mpi, and ranges and marks of NVTX nvtx, whose `args` name a domain other than the default one.  PyTorch's
ranges are named without their numbers, which stay in `args`.  A launch of a whole CUDA graph is category cuda_graph.
Of device work `process` is the GPU, of the host the process id.  Times are UTC by the start of the session.

A correlation is unique in one process only: the n-th process of a file, from 0, has n * 2^32 added to its own.
parsing/nsight_processes.py says how processes become ranks.  `line` counts the records over all tables read.
"""

import sqlite3

from scalelens.parsing.nsight_events import Capture
from scalelens.parsing.nsight_processes import captured_environment, processes_of
from scalelens.parsing.nsight_tables import GRAPH_TABLE, KERNEL_TABLE, SELECTIONS
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.sqlite_file import MAGIC, Database, sqlite_database

VERSION = 1

_OWN_TABLES = (b"TARGET_INFO_", b"META_DATA_EXPORT", b"EXPORT_META_DATA", b"CUPTI_ACTIVITY_KIND_", b"NVTX_EVENTS")
_OF_TARGET = {"Hostname": "host_name", "NvDriverVersion": "driver_version", "CpuDescription": "cpu_model"}
_WARNING, _ERROR = 2, 3  # severities of a diagnostic event
_GRAPHS = (
    "launches of whole CUDA graphs count as compute; what ran inside of them was not recorded (--cuda-graph-trace)"
)
_NO_KERNELS = "the capture holds no kernel: CUDA was not traced, or its trace failed"
_NO_RANKS = "nothing says which ranks its processes are: each is a run of its own"


def recognise(head: bytes, name: str) -> bool:
    return head.startswith(MAGIC) and b"StringIds" in head and any(table in head for table in _OWN_TABLES)


def read(source: Source, rows: Rows) -> str | None:
    notes: list[str] = []
    try:
        with sqlite_database(source) as database:
            _facts(database, rows)
            processes, known = processes_of(database, captured_environment(database, rows), source.name)
            notes += [] if known else [_NO_RANKS]
            capture = Capture(database, rows, processes)
            counts = {selection.table: capture.read(selection) for selection in SELECTIONS}
            _diagnostics(database, rows)
        if graphs := counts[GRAPH_TABLE]:
            rows.problem(None, f"{graphs} {_GRAPHS}")
        elif not counts[KERNEL_TABLE]:
            notes.append(_NO_KERNELS)
    except sqlite3.Error as error:
        rows.problem(None, f"the database is cut or damaged ({error}): what was read before is kept")
    return "; ".join(notes) or None


def _facts(database: Database, rows: Rows) -> None:
    """Facts about the capture and the machine."""
    of_export = next((t for t in ("META_DATA_EXPORT", "EXPORT_META_DATA") if t in database.columns), None)
    if of_export:
        version = f"SELECT value FROM {of_export} WHERE name = 'EXPORT_PRODUCT_VERSION'"
        rows.param("nsight_systems_version", next((value for (value,) in database.rows(version)), None))
    if "TARGET_INFO_SYSTEM_ENV" in database.columns:
        for name, value in database.rows("SELECT name, value FROM TARGET_INFO_SYSTEM_ENV"):
            if name in _OF_TARGET and value and value != "unknown":
                rows.param(_OF_TARGET[name], value)
    if "TARGET_INFO_GPU" in database.columns:
        models = [name for (name,) in database.rows("SELECT DISTINCT name FROM TARGET_INFO_GPU WHERE name <> ''")]
        rows.param("device_model", ", ".join(models) or None)


def _diagnostics(database: Database, rows: Rows) -> None:
    """What the profiler warned of: a trace may lack what it could not record."""
    if {"severity", "text"} <= database.columns.get("DIAGNOSTIC_EVENT", set()):
        said = f"SELECT text, count(*) FROM DIAGNOSTIC_EVENT WHERE severity IN ({_WARNING}, {_ERROR}) GROUP BY text"
        for text, count in database.rows(f"{said} ORDER BY min(timestamp)"):
            rows.problem(None, f"Nsight Systems warned while it recorded ({count} times)", str(text))
