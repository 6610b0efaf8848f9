"""Operations measured by NCCL's Inspector, a JSON object in each line.

Tool: NVIDIA NCCL, the profiler plugin Inspector (NCCL_INSPECTOR_ENABLE=1); nccl-inspector-<job>/<host>-pid<pid>.log
Versions: output formats v4.0 and v4.3; no real file was at hand: by the source and its README
Yields: events, metrics
Source: NCCL, plugins/profiler/inspector/ (ext-profiler/inspector/ before 2.29), json.cc and inspector.cc

An operation is an event of category nccl_inspector that lasts as long as the Inspector says.  Its start is known only
in verbose output: there it is that of the first kernel, else of the call.  Its rank counts within the communicator and
is no rank of the job: `args` has it as `group_rank`, with the sequence number, bandwidths in bytes per second and the
source of the time.

In v4.0 each line names its communicator and process.  In v4.3 a line before the operations does, and tells how many
records were dropped: these counters are metrics, and a problem where one is above 0.

Samples:
    {"header":{"id":"0x7f8c","comm_name":"DP Group 0","rank":2,"n_ranks":8,"nnodes":1},"metadata":{"inspector_output_format_version":"v4.0","git_rev":"","rec_mechanism":"nccl_profiler_interface","dump_timestamp_us":1748030377748202,"hostname":"n1","pid":1639453},"coll_perf":{"coll":"AllReduce","coll_sn":1407,"coll_msg_size_bytes":17179869184,"coll_exec_time_us":61974,"coll_timing_source":"kernel_gpu","coll_algobw_gbs":277.210914,"coll_busbw_gbs":485.119099}}
    {"header":{"id":"0x7f8c","rank":2,"n_ranks":8,"nnodes":1},"metadata":{"inspector_output_format_version":"v4.3","hostname":"n1","pid":7},"dump_stats":{"coll_records":1,"p2p_records":0,"coll_dropped_total":3}}
    {"p2p_perf":{"p2p":"Send","p2p_sn":3,"p2p_peer":1,"p2p_msg_size_bytes":1048576,"p2p_exec_time_us":95,"p2p_timing_source":"kernel_gpu","p2p_algobw_gbs":11.04,"p2p_busbw_gbs":11.04}}
"""

import json
from typing import Any

import msgspec

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.values import json_count, json_number

VERSION = 1
ANCHORS = ('"coll_perf"', '"p2p_perf"', '"dump_stats"')

_KINDS = {"coll_perf": "coll", "p2p_perf": "p2p"}  # object of an operation, and what its fields begin with
_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")  # AllReduce is all_reduce in other traces
_DECODE = msgspec.json.Decoder().decode
_Dict = dict[str, Any]


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.header: _Dict = {}
        self.metadata: _Dict = {}

    def take(self, line: Line) -> bool:
        text = line.text.strip()
        if not text.startswith("{"):
            return False
        try:
            record = _DECODE(text)
        except (msgspec.DecodeError, RecursionError, ValueError):
            self.rows.problem(line.number, "the record is cut, or something else was printed into it", text)
            return True
        if not isinstance(record, dict):
            return False
        for name in ("header", "metadata"):
            if isinstance(found := record.get(name), dict):
                setattr(self, name, found)
        kind = next((kind for kind in _KINDS if isinstance(record.get(kind), dict)), None)
        if kind:
            self.operation(line, record[kind], _KINDS[kind])
        elif isinstance(counters := record.get("dump_stats"), dict):
            self.dropped(line, counters)
        return kind is not None or "dump_stats" in record

    def operation(self, line: Line, fields: _Dict, prefix: str) -> None:
        duration, header = json_count(fields.get(f"{prefix}_exec_time_us"), 53), self.header
        if duration is None or not isinstance(name := fields.get(prefix), str):
            self.rows.problem(line.number, "the operation has no name or no time that can be read", line.text)
            return
        args = {
            "group_rank": header.get("rank"),
            "sequence": fields.get(f"{prefix}_sn"),
            "peer": fields.get("p2p_peer"),
        }
        args |= {"nodes": header.get("nnodes"), "timed_by": fields.get(f"{prefix}_timing_source")}
        for bandwidth in ("algobw", "busbw"):
            gigabytes = json_number(fields.get(f"{prefix}_{bandwidth}_gbs"))
            args[f"{bandwidth}_bytes_per_s"] = None if gigabytes is None else gigabytes * 1e9
        args |= {key: fields.get(f"{prefix}_{key}") for key in ("algo", "proto")}
        group = header.get("comm_name") if header.get("comm_name") not in (None, "", "unknown") else header.get("id")
        host, pid = self.metadata.get("hostname"), self.metadata.get("pid")
        self.rows.add(
            "events", line.number, ph="X", name=name, category="nccl_inspector", start_ns=_start_of(fields),
            duration_ns=duration * 1000, process=f"{host}:{pid}" if host and pid else None,
            collective=_WORD.sub("_", name).lower(), process_group=group if isinstance(group, str) else None,
            group_size=json_count(header.get("n_ranks"), 32),
            message_bytes=json_count(fields.get(f"{prefix}_msg_size_bytes")),
            args=json.dumps({key: value for key, value in args.items() if isinstance(value, int | float | str)}),
        )  # fmt: skip

    def dropped(self, line: Line, counters: _Dict) -> None:
        """Counters of what was recorded and what was not."""
        numbers = [(name, value, None) for name, given in counters.items() if (value := json_number(given)) is not None]
        self.rows.metrics(line.number, None, None, None, numbers)
        lost = {name: value for name, value, _ in numbers if "dropped" in name and value > 0}
        if lost:
            said = ", ".join(f"{name} {value:.0f}" for name, value in lost.items())
            self.rows.problem(line.number, f"the Inspector dropped records, so that operations are missing ({said})")


def _start_of(fields: _Dict) -> int | None:
    """Nanoseconds since 1970 at which the first kernel began, else at which the call was made; None if not verbose."""
    prefix = "coll" if "coll" in fields else "p2p"
    trace = fields.get("event_trace_ts")
    if not isinstance(trace, dict):
        return None
    kernels = trace.get("kernel_events")
    starts = (
        [kernel.get("kernel_start_ts") for kernel in kernels if isinstance(kernel, dict)]
        if isinstance(kernels, list)
        else []
    )
    known = [start for value in starts if (start := json_count(value, 53))]
    start = min(known, default=None) or json_count(trace.get(f"{prefix}_start_ts"), 53)
    return start * 1000 if start else None
