"""Trace of rocprofv3 as JSON (*_results.json).

Tool: rocprofv3 --output-format json, ROCprofiler-SDK
Versions: ROCm 6.2 and later, one process per file
Yields: events, params
Source: rocprofiler-sdk/source/lib/output/generateJSON.cpp, write_json()

Names come before the records that use them: kernels by `kernel_id`, API calls by `kind` and `operation`.  Kernels are
category kernel, copies gpu_memcpy, everything else is of its kind in lower case (hip_runtime_api, rccl_api).  Of device
work `process` is the number of the GPU, `thread` the queue, `stream` the stream where the record has one, else the queue.
Times count from a clock of the node: `trace_clock` is relative.  `args` is the record itself.  A line is its number.
The rank is that of the file name (rank0), else NULL.  Samples of the program counter are not read.

Samples:
    {"rocprofiler-sdk-tool":[{"metadata":{"node":{"hostname":"nid001"},"pid":908},"agents":[],"strings":{"buffer_records":[]},
    "kernel_symbols":[],"callback_records":{},"buffer_records":{"kernel_dispatch":[{"size":184,"kind":11,"operation":2,
    "thread_id":908,"correlation_id":{"internal":1},"start_timestamp":500,"end_timestamp":740,"dispatch_info":{"kernel_id":8}}]}}]}
"""

from collections.abc import Iterator
from itertools import chain
from typing import Annotated, Any

import msgspec
import pyarrow as pa
from msgspec import Meta

from scalelens.parsing import lazy_re as re
from scalelens.parsing.chrome_trace import UNREADABLE, mend
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.trace_events import raw_texts
from scalelens.parsing.values import rank_in_name

VERSION = 1
IN_HEAD = (b'"rocprofiler-sdk-tool"',)

_RECORDS = re.compile(rb'"buffer_records"\s*:\s*\{')
_RECORD = re.compile(rb'\{\s*"size"\s*:\s*\d+\s*,\s*"kind"\s*:')
_BETWEEN = re.compile(
    rb'(?:\]\s*,\s*"\w+"\s*:\s*\[\s*){1,100}(?=\{\s*"size"|\Z)'
)  # the end of one array and the start of another
_END = re.compile(rb'(?:\A\s*"\w+"\s*:\s*\[|(?<!\s))\s*\]\s*(?:,\s*"\w+"\s*:\s*\[\s*\]\s*)*\}\s*\}\s*\]\s*\}\s*\Z')
_WINDOW = 1 << 16


_Number = Annotated[int, Meta(ge=0, le=2**63 - 1)]  # what a column holds


class _Id(msgspec.Struct, frozen=True):
    handle: _Number | None = None
    internal: _Number | None = None


class _Agent(msgspec.Struct, frozen=True):
    id: _Id = _Id()
    product_name: str = ""
    name: str = ""
    gpu_index: int = -1


class _Kernel(msgspec.Struct, frozen=True):
    kernel_id: int
    kernel_name: str = ""
    formatted_kernel_name: str = ""


class _Kind(msgspec.Struct, frozen=True):
    kind: str = ""
    operations: list[str] = []


class _Strings(msgspec.Struct, frozen=True):
    buffer_records: list[_Kind] = []


class _Metadata(msgspec.Struct, frozen=True):
    pid: int | None = None
    node: dict[str, Any] = {}


class _TracedProcess(msgspec.Struct, frozen=True):
    metadata: _Metadata = _Metadata()
    agents: list[_Agent] = []
    strings: _Strings = _Strings()
    kernel_symbols: list[_Kernel] = []


class _Dispatch(msgspec.Struct, frozen=True, gc=False):
    agent_id: _Id = _Id()
    queue_id: _Id = _Id()
    kernel_id: int | None = None


class _Record(msgspec.Struct, frozen=True, gc=False):
    kind: int
    start_timestamp: _Number
    end_timestamp: _Number
    operation: int | None = None
    thread_id: int | None = None
    correlation_id: _Id = _Id()
    stream_id: _Id = _Id()
    dst_agent_id: _Id = _Id()
    dispatch_info: _Dispatch = _Dispatch()


_DOCUMENT = msgspec.json.Decoder(dict[str, list[_TracedProcess]])
_TYPED = msgspec.json.Decoder(list[_Record])
_RAW = msgspec.json.Decoder(list[msgspec.Raw])


def recognise(head: bytes, name: str) -> bool:
    return bool(re.match(rb'\s*\{\s*"rocprofiler-sdk-tool"\s*:\s*\[', head))


def read(source: Source, rows: Rows) -> None:
    blocks = source.utf8()
    before, text = _preamble(blocks)
    try:
        (process,) = _DOCUMENT.decode(mend(before.rstrip(b", \r\n\t")) + b"}]}")["rocprofiler-sdk-tool"]
    except (*UNREADABLE, KeyError):
        rows.problem(None, "the file is damaged or cut before its records: kernels and calls have no names")
        process = _TracedProcess()
    gpus = [agent for agent in process.agents if agent.gpu_index >= 0]
    rows.param("host_name", process.metadata.node.get("hostname"))
    rows.param("device_model", ", ".join(dict.fromkeys(gpu.product_name or gpu.name for gpu in gpus)) or None)
    rows.param("trace_clock", "relative", origin="inferred")
    rank = rank_in_name(source.name)
    names, line, closed = _Names(process), 0, False
    for piece, last in _pieces(text, blocks):
        end = _END.search(piece, max(len(piece) - _WINDOW, 0)) if last else None
        closed = end is not None
        for batch in _records(piece[: end.start()] if end else piece):
            if isinstance(batch, bytes):
                line, closed = line + 1, closed or last
                damaged = batch.decode("utf-8", "replace")
                rows.problem(line, "the record is damaged, or the trace is cut", damaged)
            elif batch:
                columns = names.columns([record for _, record in batch])
                columns["args"], _ = raw_texts([raw for raw, _ in batch])
                columns["line"] = pa.array(range(line + 1, line + 1 + len(batch)), pa.int64())
                columns["rank"] = pa.repeat(pa.scalar(rank, pa.int32()), len(batch))
                rows.put_columns("events", columns)
                line += len(batch)
    if not closed:
        rows.problem(line or None, "the records are not closed: the trace is cut")


def _preamble(blocks: Iterator[bytes]) -> tuple[bytes, bytes]:
    """What comes before the records, and what was read of them."""
    text = bytearray()
    for block in blocks:
        seen = len(text)
        text += block
        if match := _RECORDS.search(text, max(seen - 64, 0)):
            return bytes(text[: match.start()]), bytes(text[match.end() :])
    return bytes(text), b""


def _pieces(text: bytes, blocks: Iterator[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Text of whole records, and whether it is the last."""
    for block in chain(blocks, (None,)):
        if block is None:
            yield text, True
            return
        text += block
        starts = [match.start() for match in _RECORD.finditer(text, max(len(text) - _WINDOW, 0))]
        if starts and starts[-1]:
            yield text[: starts[-1]], False
            text = text[starts[-1] :]


def _records(text: bytes) -> Iterator[list[tuple[msgspec.Raw, _Record]] | bytes]:
    """Records of a text, and as bytes what should be one."""
    if not (first := _RECORD.search(text)):
        return
    whole = _BETWEEN.sub(b",", text[first.start() :]).rstrip(b", \r\n\t")
    try:
        yield _decoded(whole)
    except UNREADABLE:
        starts = [match.start() for match in _RECORD.finditer(whole)]
        for start, end in zip(starts, [*starts[1:], len(whole)], strict=True):
            record = whole[start:end].rstrip(b", \r\n\t")
            try:
                yield _decoded(mend(record))
            except UNREADABLE:
                yield record


def _decoded(text: bytes) -> list[tuple[msgspec.Raw, _Record]]:
    listed = b"[%b]" % text
    return list(zip(_RAW.decode(listed), _TYPED.decode(listed), strict=True))


class _Names:
    """What kernels, calls and devices are called."""

    def __init__(self, process: _TracedProcess) -> None:
        self.pid = None if process.metadata.pid is None else str(process.metadata.pid)
        self.kinds = process.strings.buffer_records
        self.kernels = {k.kernel_id: k.formatted_kernel_name or k.kernel_name for k in process.kernel_symbols}
        self.gpus = {agent.id.handle: str(agent.gpu_index) for agent in process.agents if agent.gpu_index >= 0}

    def columns(self, records: list[_Record]) -> dict[str, pa.Array]:
        rows = [self.row(record) for record in records]
        texts, numbers = ("name", "category", "process", "thread"), ("start_ns", "duration_ns", "stream", "correlation")
        columns = {name: pa.array([row[k] for row in rows], pa.string()) for k, name in enumerate(texts)}
        columns |= {name: pa.array([row[k] for row in rows], pa.int64()) for k, name in enumerate(numbers, len(texts))}
        return columns | {"ph": pa.repeat("X", len(rows))}

    def row(self, record: _Record) -> tuple[str | int | None, ...]:
        kind = self.kinds[record.kind] if 0 <= record.kind < len(self.kinds) else _Kind()
        work, operation = record.dispatch_info, record.operation
        process, thread, stream = self.pid, record.thread_id, None
        category = kind.kind.lower() or None
        name = kind.operations[operation] if operation is not None and 0 <= operation < len(kind.operations) else None
        if work.kernel_id is not None:
            name, category, process = self.kernels.get(work.kernel_id), "kernel", self.gpus.get(work.agent_id.handle)
            thread = work.queue_id.handle
            stream = thread if record.stream_id.handle is None else record.stream_id.handle
        elif kind.kind == "MEMORY_COPY":
            category, process, stream = "gpu_memcpy", self.gpus.get(record.dst_agent_id.handle), record.stream_id.handle
        start, duration = record.start_timestamp, record.end_timestamp - record.start_timestamp
        return (
            name, category, process, None if thread is None else str(thread),
            start, duration if duration >= 0 else None, stream, record.correlation_id.internal,
        )  # fmt: skip
