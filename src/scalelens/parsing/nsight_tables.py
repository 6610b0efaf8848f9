"""The tables that are read from an export of Nsight Systems, and the SQL that reads them."""

from typing import NamedTuple

_COPIES = ("Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP", "UVM HtoD",
          "UVM DtoH", "UVM DtoD")  # fmt: skip
_MEMORIES = ("Pageable", "Pinned", "Device", "Array", "Managed", "Device Static", "Managed Static", "Unknown")
_WAITS = ("Unknown", "Event Sync", "Stream Wait Event", "Stream Sync", "Context Sync")
MARK, _PUSHED, _STARTED = 34, 59, 60  # eventType in NVTX_EVENTS
_CUPTI = "CUPTI_ACTIVITY_KIND_"
KERNEL_TABLE, GRAPH_TABLE = _CUPTI + "KERNEL", _CUPTI + "GRAPH_TRACE"


class Selection(NamedTuple):
    """What is read from a table.  The name is an expression of its columns, or the number of a text."""

    category: str
    table: str
    name: str
    args: tuple[str, ...] = ()
    size: str | None = None  # column of message_bytes
    where: str = "true"


def _word(column: str, words: tuple[str, ...]) -> str:
    """SQL for the word of a number."""
    return f"CASE {column} {' '.join(f'WHEN {k} THEN {w!r}' for k, w in enumerate(words))} ELSE 'Unknown' END"


_KERNEL_ARGS = ("gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ", "registersPerThread", "staticSharedMemory",
               "dynamicSharedMemory", "contextId", "graphId", "graphNodeId")  # fmt: skip
_FROM_TO = f"{_word('srcKind', _MEMORIES)} || ' -> ' || {_word('dstKind', _MEMORIES)}"
_MEMCPY = f"'Memcpy ' || {_word('copyKind', _COPIES)} || ' (' || {_FROM_TO} || ')'"
_MEMSET = f"'Memset (' || {_word('memKind', _MEMORIES)} || ')'"
_MPI_ARGS = ("commHandle", "tag", "remoteRank", "rootRank", "recvSize", "requestHandle")
SELECTIONS = (
    Selection("kernel", KERNEL_TABLE, "coalesce(demangledName, shortName)", _KERNEL_ARGS),
    Selection("gpu_memcpy", _CUPTI + "MEMCPY", _MEMCPY, ("bytes", "contextId", "graphNodeId")),
    Selection("gpu_memset", _CUPTI + "MEMSET", _MEMSET, ("bytes", "contextId")),
    Selection("cuda_graph", GRAPH_TABLE, "'CUDA graph ' || graphId", ("graphId", "graphExecId", "contextId")),
    Selection("cuda_sync", _CUPTI + "SYNCHRONIZATION", _word("syncType", _WAITS), ("eventId", "contextId")),
    Selection("cuda_runtime", _CUPTI + "RUNTIME", "nameId", ("returnValue",)),
    Selection("nvtx", "NVTX_EVENTS", "coalesce(text, textId)", where=f"eventType IN ({MARK}, {_PUSHED}, {_STARTED})"),
    Selection("mpi", "MPI_P2P_EVENTS", "textId", _MPI_ARGS, size="size"),
    Selection("mpi", "MPI_COLLECTIVES_EVENTS", "textId", _MPI_ARGS, size="size"),
    Selection("mpi", "MPI_START_WAIT_EVENTS", "textId", _MPI_ARGS),
    Selection("mpi", "MPI_OTHER_EVENTS", "textId", _MPI_ARGS),
)  # fmt: skip

READ_TABLES = tuple(selection.table for selection in SELECTIONS)

# Columns that some schemas or tables lack: they are NULL then.
_MAY_LACK = (
    "end", "demangledName", "shortName", "copyKind", "srcKind", "dstKind", "memKind", "graphId", "syncType", "nameId",
    "text", "textId", "eventType", "eventClass", "domainId", "deviceId", "streamId", "correlationId",
)  # fmt: skip


def query(selection: Selection, columns: set[str]) -> tuple[str, list[str]]:
    """SQL for the records of a table, and what its columns are; what the table lacks is left out."""
    lacking = [f'NULL AS "{column}"' for column in _MAY_LACK if column not in columns]
    table = f"(SELECT {', '.join(['*', *lacking])} FROM {selection.table})"
    pairs = ", ".join(f"'{name}', {name}" for name in selection.args if name in columns)
    by_column = {
        "start": "start", "end": "end", "owner": "globalTid" if "globalTid" in columns else "globalPid",
        "device": "deviceId", "stream": "streamId", "correlation": "correlationId", "size": selection.size,
        "kind": {"nvtx": "eventType", "cuda_runtime": "eventClass"}.get(selection.category),
        "domain": "domainId" if selection.category == "nvtx" else None,
    }  # fmt: skip
    chosen = {name: f'"{column}"' for name, column in by_column.items() if column in columns}
    chosen["name"] = selection.name
    if pairs:
        chosen["args"] = f"json_object({pairs})"
    where = f"start IS NOT NULL AND ({selection.where})"
    return f"SELECT {', '.join(chosen.values())} FROM {table} WHERE {where}", [*chosen]
