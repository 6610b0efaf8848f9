"""What is asked of the events of a thread, or of a table of operations, as functions of SQL, on Arrow columns."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from scalelens.statistics.spans import class_spans, innermost, launch_paths, nested, time_beside

_NESTED = [
    "line", "depth", "parent_line", "self_ns", "kernels", "kernel_ns", "subtree_kernels", "subtree_kernel_ns",
]  # fmt: skip


def _innermost(starts: pa.ChunkedArray, ends: pa.ChunkedArray, times: pa.ChunkedArray) -> pa.Array:
    """`innermost` of Arrow columns of lists."""
    rows = zip(starts.to_pylist(), ends.to_pylist(), times.to_pylist(), strict=True)
    return pa.array([innermost(*row) if all(row) else None for row in rows], type=pa.list_(pa.int64()))


def _launch_paths(
    lines: pa.ChunkedArray,
    starts: pa.ChunkedArray,
    ends: pa.ChunkedArray,
    names: pa.ChunkedArray,
    times: pa.ChunkedArray,
) -> pa.Array:
    """`launch_paths` of Arrow columns of lists: of each thread a list with the path of each time, in words."""
    threads = []
    for line, start, end, name, time in zip(lines, starts, ends, names, times, strict=True):
        coded = name.values.dictionary_encode()
        line, start, end, time = (column.values.to_numpy() for column in (line, start, end, time))
        path_of_time, paths = launch_paths(line, start, end, coded.indices.to_numpy(), time)
        words, texts = coded.dictionary.to_pylist(), list[str]()
        for before, last in paths:
            texts.append(f"{texts[before]} / {words[last]}" if before >= 0 else words[last])
        threads.append(pa.array(texts, pa.string()).take(pa.array(path_of_time, mask=path_of_time < 0)))
    ends_of = np.cumsum([0, *map(len, threads)], dtype=np.int32)
    return pa.ListArray.from_arrays(ends_of, pa.concat_arrays([pa.array([], pa.string()), *threads]))


def _nested(
    lines: pa.ChunkedArray,
    starts: pa.ChunkedArray,
    durations: pa.ChunkedArray,
    kernels: pa.ChunkedArray,
    kernel_ns: pa.ChunkedArray,
) -> pa.Array:
    """`nested` of Arrow columns of lists: of each thread a list with an entry for each call."""
    rows = zip(lines, starts, durations, kernels, kernel_ns, strict=True)
    threads = [nested(*(column.values.to_numpy() for column in row)) for row in rows]
    entries = [np.concatenate([np.zeros(0, np.int64), *(thread[name] for thread in threads)]) for name in _NESTED]
    ends = np.cumsum([0, *(len(thread["line"]) for thread in threads)], dtype=np.int32)
    return pa.ListArray.from_arrays(ends, pa.StructArray.from_arrays(entries, _NESTED))


def _class_spans(starts: pa.ChunkedArray, ends: pa.ChunkedArray, classes: pa.ChunkedArray) -> pa.Array:
    """`class_spans` of Arrow columns of lists."""
    rows = zip(starts, ends, classes, strict=True)
    return pa.array(
        [class_spans(*(column.values.to_numpy() for column in row)) for row in rows], type=pa.list_(pa.int64())
    )


def _time_beside(starts: pa.ChunkedArray, ends: pa.ChunkedArray, others: pa.ChunkedArray) -> pa.Array:
    """`time_beside` of Arrow columns of lists: of each list a list with an entry for each span."""
    rows = zip(starts, ends, others, strict=True)
    lists = [time_beside(*(column.values.to_numpy(zero_copy_only=False) for column in row)) for row in rows]
    places = np.cumsum([0, *map(len, lists)], dtype=np.int32)
    return pa.ListArray.from_arrays(places, pa.array(np.concatenate([np.zeros(0, np.int64), *lists])))


def _pipeline_what_if(
    stages: pa.ChunkedArray,
    replicas: pa.ChunkedArray,
    steps: pa.ChunkedArray,
    names: pa.ChunkedArray,
    starts: pa.ChunkedArray,
    durations: pa.ChunkedArray,
) -> pa.Array:
    """`what_if` of Arrow columns of lists: of each table a list with an entry a question, or the reason for none."""
    from scalelens.statistics.pipeline_replay import Question, table_of, what_if  # few questions need it

    fields = (*Question._fields, "reason")
    columns = pa.struct([(name, pa.float64() if name.endswith("_s") else pa.string()) for name in fields])
    answers: list[list[dict[str, Any]]] = []
    for stage, replica, step, name, start, duration in zip(
        stages, replicas, steps, names, starts, durations, strict=True
    ):
        stage, replica, step, start, duration = (
            column.values.to_numpy(zero_copy_only=False) for column in (stage, replica, step, start, duration)
        )
        try:
            table = table_of(stage, replica, step, np.array(name.values.to_pylist()), start, duration)
            answers.append([question._asdict() for question in what_if(table)])
        except ValueError as error:
            answers.append([{"reason": str(error)}])
    return pa.array(answers, type=pa.list_(columns))


SQL_TRACES: dict[str, tuple[Callable[..., Any], list[Any], str]] = {
    "class_spans": (_class_spans, ["BIGINT[]"] * 3, "BIGINT[]"),
    "innermost": (_innermost, ["BIGINT[]"] * 3, "BIGINT[]"),
    "launch_paths": (_launch_paths, [*["BIGINT[]"] * 3, "VARCHAR[]", "BIGINT[]"], "VARCHAR[]"),
    "nested": (_nested, ["BIGINT[]"] * 5, f"STRUCT({' BIGINT, '.join(_NESTED)} BIGINT)[]"),
    "pipeline_what_if": (
        _pipeline_what_if,
        [*["BIGINT[]"] * 3, "VARCHAR[]", *["BIGINT[]"] * 2],
        "STRUCT(question VARCHAR, healed VARCHAR, measured_s DOUBLE, replayed_s DOUBLE, what_if_s DOUBLE, "
        "reason VARCHAR)[]",
    ),
    "time_beside": (_time_beside, ["BIGINT[]", "BIGINT[]", "BOOLEAN[]"], "BIGINT[]"),
}
