"""Small exports of Nsight Systems, written as SQLite databases by hand.

Two processes, 100 and 101, on one node.  Each launches kernels within NVTX ranges; both use the same correlation ids.
Times are in nanoseconds since the session began.
"""

import sqlite3
from collections.abc import Sequence
from pathlib import Path

UTC_NS = 1_790_000_000_000_000_000  # start of the session
ANTE, POST = "EXPORT_META_DATA", "META_DATA_EXPORT"  # names of the table before schema 3, and since
TEXTS = ("step 1", "step 2", "gemm_kernel(float*)", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(args)", "cudaLaunchKernel_v7000",
         "cuLaunchKernel", "cudaMemcpyAsync_v3020", "MPI_Allreduce")  # fmt: skip
STEP_1, STEP_2, GEMM, NCCL, LAUNCH, DRIVER_LAUNCH, COPY, ALLREDUCE = range(1, 9)
KERNEL = (
    "start, end, deviceId, contextId, streamId, correlationId, globalPid, demangledName, shortName, gridX, graphNodeId"
)
COLUMNS = {
    "StringIds": "id INTEGER PRIMARY KEY, value TEXT",
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs INTEGER, utcTime TEXT",
    "META_DATA_CAPTURE": "name TEXT, value TEXT",
    "CUPTI_ACTIVITY_KIND_KERNEL": KERNEL,
    "CUPTI_ACTIVITY_KIND_MEMCPY": "start, end, deviceId, streamId, correlationId, globalPid, bytes, copyKind, srcKind, dstKind",
    "CUPTI_ACTIVITY_KIND_MEMSET": "start, end, deviceId, streamId, correlationId, globalPid, bytes, memKind",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "start, end, eventClass, globalTid, correlationId, nameId, returnValue",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": "start, end, deviceId, streamId, correlationId, globalPid, graphId, graphExecId",
    "NVTX_EVENTS": "start, end, eventType, text, globalTid, textId, domainId",
    "MPI_COLLECTIVES_EVENTS": "start, end, globalTid, textId, rootRank, size, recvSize",
    "MPI_RANKS": "globalTid, rank",
}  # fmt: skip


def tid(pid: int) -> int:
    return 1 << 48 | pid << 24 | pid


def capture(path: Path, tables: dict[str, Sequence[Sequence[object]]], of_export: str = POST) -> Path:
    """Writes the given tables and those that every export has."""
    always = {"StringIds": list(enumerate(TEXTS, 1)), "TARGET_INFO_SESSION_START_TIME": [(UTC_NS, "")]}
    connection = sqlite3.connect(path)
    connection.execute(f"CREATE TABLE {of_export} (name TEXT, value TEXT)")
    connection.execute(f"INSERT INTO {of_export} VALUES ('EXPORT_PRODUCT_VERSION', '2026.2.1.210')")
    for table, rows in (always | tables).items():
        connection.execute(f"CREATE TABLE {table} ({COLUMNS[table]})")
        places = ", ".join("?" * (COLUMNS[table].count(",") + 1))
        connection.executemany(f"INSERT INTO {table} VALUES ({places})", rows)
    connection.commit()
    connection.close()
    return path


def two_processes() -> dict[str, Sequence[Sequence[object]]]:
    """Each process runs two steps of a GEMM and an all-reduce; in its first it copies."""
    tables: dict[str, list[tuple[object, ...]]] = {name: [] for name in COLUMNS if name.startswith(("CUPTI", "NVTX"))}
    for device, pid in enumerate((100, 101)):
        thread, process = tid(pid), tid(pid) & ~0xFFFFFF
        for step in (1, 2):
            begin, first = 1000 * step + 10 * device, 10 * step  # the first correlation id of the step
            name = (None, STEP_1) if step == 1 else ("step 2", None)
            tables["NVTX_EVENTS"] += [
                (begin, begin + 900, 59, name[0], thread, name[1], 0),
                (begin + 10, begin + 100, 59, f"aten::mm, seq = {step}, op_id = 7", thread, None, 0),
                (begin + 200, begin + 260, 60, "ncclAllReduce", thread, None, 2),
            ]
            tables["CUPTI_ACTIVITY_KIND_RUNTIME"] += [
                (begin + 20, begin + 30, 0, thread, first, LAUNCH, 0),
                (begin + 22, begin + 28, 1, thread, first, DRIVER_LAUNCH, 0),
                (begin + 210, begin + 220, 0, thread, first + 1, LAUNCH, 0),
            ]
            tables["CUPTI_ACTIVITY_KIND_KERNEL"] += [
                (begin + 50, begin + 350, device, 1, 7, first, process, GEMM, GEMM, 8, None),
                (begin + 400, begin + 500, device, 1, 9, first + 1, process, NCCL, NCCL, 2, None),
            ]
        tables["CUPTI_ACTIVITY_KIND_RUNTIME"].append((1110, 1120, 0, thread, 12, COPY, 0))
        tables["CUPTI_ACTIVITY_KIND_MEMCPY"].append((1600, 1700, device, 7, 12, process, 4096, 1, 1, 2))
        tables["NVTX_EVENTS"] += [(900, None, 75, "NCCL", thread, None, 2), (950, None, 34, "mark", thread, None, 0)]
    return {name: rows for name, rows in tables.items() if rows}


ONE_NODE = [(f"PROCESS_0:{name}", value) for name, value in (("COMMAND", "torchrun"), ("ARGUMENT_0", "--nnodes=1"))]
