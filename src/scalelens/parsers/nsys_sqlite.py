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

from scalelens.parsing.nsight_capture import read_capture
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.sqlite_file import MAGIC, sqlite_database

VERSION = 1
IN_HEAD = (b"StringIds",)

_OWN_TABLES = (b"TARGET_INFO_", b"META_DATA_EXPORT", b"EXPORT_META_DATA", b"CUPTI_ACTIVITY_KIND_", b"NVTX_EVENTS")


def recognise(head: bytes, name: str) -> bool:
    return head.startswith(MAGIC) and b"StringIds" in head and any(table in head for table in _OWN_TABLES)


def read(source: Source, rows: Rows) -> str | None:
    notes: list[str] = []
    try:
        with sqlite_database(source) as database:
            read_capture(database, rows, source.name, notes)
    except sqlite3.Error as error:
        rows.problem(None, f"the database is cut or damaged ({error}): what was read before is kept")
    return "; ".join(notes) or None
