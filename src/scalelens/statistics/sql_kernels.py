"""The replay of kernel traces as a function of a DuckDB connection."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from scalelens.statistics.kernel_path import paths_of
from scalelens.statistics.kernel_replay import Trace, what_if
from scalelens.statistics.kernel_trace import ROLES, Events

_STEP_TIMES = pa.list_(
    pa.struct([
        ("question", pa.string()), ("healed", pa.int64()), ("rank", pa.int64()), ("train_step", pa.int64()),
        ("measured_s", pa.float64()), ("replayed_s", pa.float64()), ("what_if_s", pa.float64()),
        ("reason", pa.string()),
    ])
)  # fmt: skip
_PIECES = pa.list_(
    pa.struct([
        ("train_step", pa.int64()), ("kind", pa.string()), ("event", pa.int64()), ("begin_ns", pa.int64()),
        ("end_ns", pa.int64()), ("reason", pa.string()),
    ])
)  # fmt: skip
_EVENT = (
    "STRUCT(position BIGINT, role VARCHAR, begin_ns BIGINT, end_ns BIGINT, thread VARCHAR, stream BIGINT, "
    "correlation BIGINT, wait_stream BIGINT, recorded_ns BIGINT, call BIGINT, communicates BOOLEAN, train_step BIGINT, "
    "node BIGINT, stage BIGINT)"
)


def trace_of(events: pa.StructArray) -> Trace:
    """The events of a run, sorted by rank and start, as arrays; -1 for NULL."""

    def integers(name: str) -> Any:
        return events.field(name).fill_null(-1).to_numpy(zero_copy_only=False)

    def times(name: str) -> Any:
        return events.field(name).to_numpy(zero_copy_only=False).astype(float)

    def codes(name: str) -> Any:
        return events.field(name).fill_null("").dictionary_encode()

    role = codes("role")
    role_of_code = np.array([ROLES.index(name) for name in role.dictionary.to_pylist()])
    return Trace(
        integers("position"),
        Events(
            role_of_code[role.indices.to_numpy()],
            times("begin_ns"),
            times("end_ns"),
            codes("thread").indices.to_numpy(),
            integers("stream"),
            integers("correlation"),
            integers("wait_stream"),
            times("recorded_ns"),
        ),
        integers("call"),
        events.field("communicates").to_numpy(zero_copy_only=False).astype(bool),
        integers("train_step"),
        integers("node"),
        integers("stage"),
    )


def _kernel_what_if(runs: pa.ChunkedArray) -> pa.Array:
    """`what_if` of each run, a list of its events: an entry a question and step of a rank, or the reason for none."""
    answers: list[list[dict[str, Any]]] = []
    for events in runs:
        try:
            answers.append([time._asdict() for time in what_if(trace_of(events.values))])
        except ValueError as error:
            answers.append([{"reason": str(error)}])
    return pa.array(answers, type=_STEP_TIMES)


def _kernel_paths(runs: pa.ChunkedArray) -> pa.Array:
    """`paths_of` each run, a list of its events: the pieces of the critical path of each step, or why there is none."""
    answers: list[list[dict[str, Any]]] = []
    for events in runs:
        try:
            answers.append([piece._asdict() for piece in paths_of(trace_of(events.values))])
        except ValueError as error:
            answers.append([{"reason": str(error)}])
    return pa.array(answers, type=_PIECES)


_PATH = "STRUCT(train_step BIGINT, kind VARCHAR, event BIGINT, begin_ns BIGINT, end_ns BIGINT, reason VARCHAR)[]"
_GIVES = (
    "STRUCT(question VARCHAR, healed BIGINT, rank BIGINT, train_step BIGINT, measured_s DOUBLE, replayed_s DOUBLE, "
    "what_if_s DOUBLE, reason VARCHAR)[]"
)
SQL_KERNELS: dict[str, tuple[Callable[..., Any], list[Any], str]] = {
    "kernel_paths": (_kernel_paths, [f"{_EVENT}[]"], _PATH),
    "kernel_what_if": (_kernel_what_if, [f"{_EVENT}[]"], _GIVES),
}
