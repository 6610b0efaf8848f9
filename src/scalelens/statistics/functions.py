"""The statistics as functions of a DuckDB connection, on Arrow columns."""

import contextlib
import itertools
from collections.abc import Callable, Container, Iterator
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from scalelens.statistics.fits import Estimate, fit_laws, gain_of_doubling
from scalelens.statistics.functions_of_runs import FUNCTIONS_OF_RUNS
from scalelens.statistics.kernel_functions import KERNEL_FUNCTIONS
from scalelens.statistics.medians import Interval, Values, median_interval, median_interval_between_runs
from scalelens.statistics.model_work import ImageWork, image_model_work
from scalelens.statistics.operator_work import Call, Tensor, Work, operator_work, operators_of
from scalelens.statistics.peers import Spread, Standing, standing, true_spread
from scalelens.statistics.pipeline_replay import Question, table_of, what_if
from scalelens.statistics.ratios import ratio_interval
from scalelens.statistics.series_functions import SERIES_FUNCTIONS
from scalelens.statistics.significance import benjamini_hochberg, binomial_tail, student_t
from scalelens.statistics.spans import class_spans, innermost, nested
from scalelens.statistics.steps import quantiles, slowest_by_step

FUNCTIONS: dict[str, Callable[[Values], Interval]] = {
    "median_interval": median_interval,
    "median_interval_between_runs": median_interval_between_runs,
}

NOTHING = Interval(None, None, None, None, None, None)

_NESTED = [
    "line", "depth", "parent_line", "self_ns", "kernels", "kernel_ns", "subtree_kernels", "subtree_kernel_ns",
]  # fmt: skip
_TEXT = ("kind", "reason", "law", "parameter")
_STRUCT = ", ".join(f"{field} {'VARCHAR' if field in _TEXT else 'DOUBLE'}" for field in Interval._fields)
_IMAGE_WORK = pa.struct([("flops", pa.float64()), ("reason", pa.string())])
_WORK = pa.struct([("flops", pa.float64()), ("moved_bytes", pa.int64())])
_FIT_STRUCT = ", ".join(f"{field} {'VARCHAR' if field in _TEXT else 'DOUBLE'}" for field in Estimate._fields)
_FIT = pa.struct([(field, pa.string() if field in _TEXT else pa.float64()) for field in Estimate._fields])
_QUESTION = pa.struct(
    [(name, pa.float64() if name.endswith("_s") else pa.string()) for name in (*Question._fields, "reason")]
)
_SPREAD = pa.struct([(field, pa.float64()) for field in Spread._fields])
_ARROW = pa.struct([(field, pa.string() if field in _TEXT else pa.float64()) for field in Interval._fields])


def _lists(column: pa.ChunkedArray) -> Iterator[npt.NDArray[Any] | None]:
    """The lists of numbers of an Arrow column, as views on its memory; None for NULL."""
    for chunk in column.chunks:
        values, ends = chunk.values.to_numpy(zero_copy_only=False), chunk.offsets.to_numpy().tolist()
        is_known = chunk.is_valid().to_pylist() if chunk.null_count else itertools.repeat(True)
        for known, first, end in zip(is_known, ends[:-1], ends[1:], strict=False):
            yield values[first:end] if known else None


def _over_lists(statistic: Callable[[Values], Interval]) -> Callable[[Any], Any]:
    """The statistic of each list of an Arrow array; NULL for NULL."""

    def apply(lists: pa.ChunkedArray) -> pa.Array:
        results = [None if values is None else statistic(values) for values in _lists(lists)]
        missing = pa.array([interval is None for interval in results])
        columns = zip(*(interval or NOTHING for interval in results), strict=True)
        arrays = [pa.array(column, field.type) for column, field in zip(columns, _ARROW, strict=True)]
        return pa.StructArray.from_arrays(arrays, fields=[*_ARROW], mask=missing)

    return apply


def _ratio_interval(firsts: pa.ChunkedArray, seconds: pa.ChunkedArray) -> pa.Array:
    """`ratio_interval` of Arrow columns of lists; NULL where one is NULL."""
    rows = zip(firsts.to_pylist(), seconds.to_pylist(), strict=True)
    results = [None if None in row else ratio_interval(*map(np.array, row))._asdict() for row in rows]
    return pa.array(results, type=_ARROW)


def _slowest_by_step(steps: pa.ChunkedArray, times: pa.ChunkedArray) -> pa.Array:
    """`slowest_by_step` of Arrow columns of lists; NULL where one is NULL."""
    rows = zip(_lists(steps), _lists(times), strict=True)
    series = [None if k is None or t is None else slowest_by_step(k, t) for k, t in rows]
    known = [values for values in series if values is not None]
    ends = np.cumsum([0, *(0 if values is None else len(values) for values in series)], dtype=np.int32)
    missing = pa.array([values is None for values in series])
    return pa.ListArray.from_arrays(ends, np.concatenate(known) if known else np.zeros(0), mask=missing)


def _fit_laws(devices: pa.ChunkedArray, times: pa.ChunkedArray) -> pa.Array:
    """`fit_laws` of Arrow columns of lists."""
    rows = zip(devices.to_pylist(), times.to_pylist(), strict=True)
    fits = [[found._asdict() for found in fit_laws(*(np.array(side, dtype=float) for side in row))] for row in rows]
    return pa.array(fits, type=pa.list_(_FIT))


def _gain_of_doubling(devices: pa.ChunkedArray, times: pa.ChunkedArray, gains: pa.ChunkedArray) -> pa.Array:
    """`gain_of_doubling` of Arrow columns: two of lists, one of numbers."""
    rows = zip(devices.to_pylist(), times.to_pylist(), gains.to_pylist(), strict=True)
    return pa.array(
        [gain_of_doubling(np.array(n, dtype=float), np.array(t), g)._asdict() for n, t, g in rows], type=_FIT
    )


def _quantiles(lists: pa.ChunkedArray, shares: pa.ChunkedArray) -> pa.Array:
    """`quantiles` of Arrow columns of lists; NULL where a list is NULL."""
    rows = zip(_lists(lists), _lists(shares), strict=True)
    results = [None if values is None or at is None else quantiles(values, at) for values, at in rows]
    return pa.array(results, type=pa.list_(pa.float64()))


def _binomial_tail(successes: pa.ChunkedArray, trials: pa.ChunkedArray, rate: pa.ChunkedArray) -> pa.Array:
    """`binomial_tail` of Arrow columns; NULL where there is no trial or a value is NULL."""
    columns = (column.to_numpy(zero_copy_only=False).astype(float) for column in (successes, trials, rate))
    return pa.array(binomial_tail(*columns), type=pa.float64(), from_pandas=True)


def _benjamini_hochberg(p_values: pa.ChunkedArray) -> pa.Array:
    """`benjamini_hochberg` of each list of an Arrow array; NULL stays NULL."""
    rows = [None if row is None else np.array(row, dtype=float) for row in p_values.to_pylist()]
    adjusted = [None if row is None else pa.array(benjamini_hochberg(row), from_pandas=True) for row in rows]
    return pa.array(adjusted, type=pa.list_(pa.float64()))


def _image_model_work(models: pa.ChunkedArray, sizes: pa.ChunkedArray, channels: pa.ChunkedArray) -> pa.Array:
    """`image_model_work` of Arrow columns; a run without a model has none."""
    rows = zip(models.to_pylist(), sizes.to_pylist(), channels.to_pylist(), strict=True)
    works = [
        ImageWork(None, None) if model is None else image_model_work(model, size, width) for model, size, width in rows
    ]
    return pa.array([work._asdict() for work in works], type=_IMAGE_WORK)


def _standing(levels: pa.ChunkedArray, noise: pa.ChunkedArray, typical: pa.ChunkedArray) -> pa.Array:
    """`standing` of each list of levels of an Arrow array, none of them NULL: a list with an entry a level."""
    rows = zip(levels, noise.to_pylist(), typical, strict=True)
    said = [
        standing(level.values.to_numpy(), error, of.values.to_numpy(zero_copy_only=False)) for level, error, of in rows
    ]
    entries = [np.concatenate([np.zeros(0), *(getattr(one, field) for one in said)]) for field in Standing._fields]
    ends = np.cumsum([0, *(len(one.p) for one in said)], dtype=np.int32)
    columns = [pa.array(entry, from_pandas=True) for entry in entries]
    return pa.ListArray.from_arrays(ends, pa.StructArray.from_arrays(columns, list(Standing._fields)))


def _true_spread(levels: pa.ChunkedArray, noise: pa.ChunkedArray, steps: pa.ChunkedArray) -> pa.Array:
    """`true_spread` of each list of levels of an Arrow array, none of them NULL."""
    rows = zip(levels, noise.to_pylist(), steps.to_pylist(), strict=True)
    said = [true_spread(row.values.to_numpy(), error, count)._asdict() for row, error, count in rows]
    return pa.array(said, type=_SPREAD, from_pandas=True)


def _pipeline_what_if(
    stages: pa.ChunkedArray,
    replicas: pa.ChunkedArray,
    steps: pa.ChunkedArray,
    names: pa.ChunkedArray,
    starts: pa.ChunkedArray,
    durations: pa.ChunkedArray,
) -> pa.Array:
    """`what_if` of Arrow columns of lists: of each table a list with an entry a question, or the reason for none."""
    told: list[list[dict[str, Any]]] = []
    for stage, replica, step, name, start, duration in zip(
        stages, replicas, steps, names, starts, durations, strict=True
    ):
        stage, replica, step, start, duration = (
            column.values.to_numpy(zero_copy_only=False) for column in (stage, replica, step, start, duration)
        )
        try:
            table = table_of(stage, replica, step, np.array(name.values.to_pylist()), start, duration)
            told.append([question._asdict() for question in what_if(table)])
        except ValueError as error:
            told.append([{"reason": str(error)}])
    return pa.array(told, type=pa.list_(_QUESTION))


def _operators_of(families: pa.ChunkedArray) -> pa.Array:
    """`operators_of` of an Arrow column."""
    return pa.array([operators_of(family) for family in families.to_pylist()], type=pa.list_(pa.string()))


def _operator_work(
    names: pa.ChunkedArray,
    shapes: pa.ChunkedArray,
    dtypes: pa.ChunkedArray,
    element_bytes: pa.ChunkedArray,
    concrete: pa.ChunkedArray,
) -> pa.Array:
    """`operator_work` of Arrow columns: of each call the name, and lists with an entry for each of its arguments."""
    columns = (column.to_pylist() for column in (names, shapes, dtypes, element_bytes, concrete))
    works = [_work_of(*row) for row in zip(*columns, strict=True)]
    return pa.array([work._asdict() for work in works], type=_WORK)


def _work_of(
    name: str,
    shapes: list[list[int] | None] | None,
    dtypes: list[str | None] | None,
    element_bytes: list[int | None] | None,
    concrete: list[str | None] | None,
) -> Work:
    """Work of one call, as the trace holds it: unknown where a shape is; a list may be missing or short."""
    if shapes is None or any(shape is None or None in shape for shape in shapes):
        return Work(None, None)
    unknown = [None] * len(shapes)
    columns = zip(shapes, [*(dtypes or []), *unknown], [*(element_bytes or []), *unknown], strict=False)
    inputs = [Tensor(shape or [], dtype or "", size) for shape, dtype, size in columns]
    return operator_work(Call(name, inputs, [text or "" for text in concrete or []]))


def _innermost(starts: pa.ChunkedArray, ends: pa.ChunkedArray, times: pa.ChunkedArray) -> pa.Array:
    """`innermost` of Arrow columns of lists."""
    rows = zip(starts.to_pylist(), ends.to_pylist(), times.to_pylist(), strict=True)
    return pa.array([innermost(*row) if all(row) else None for row in rows], type=pa.list_(pa.int64()))


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


def register(connection: duckdb.DuckDBPyConnection, called: Container[str] | None = None) -> None:
    """Makes the functions known to SQL, or those called alone: `median_interval(list(step_s ORDER BY step)).low`."""
    lists: list[Any] = ["BIGINT[]"] * 3
    functions: dict[str, tuple[Callable[..., Any], list[Any], str]] = {
        name: (_over_lists(statistic), ["DOUBLE[]"], f"STRUCT({_STRUCT})") for name, statistic in FUNCTIONS.items()
    }
    functions |= (
        FUNCTIONS_OF_RUNS
        | KERNEL_FUNCTIONS
        | SERIES_FUNCTIONS
        | {
            "benjamini_hochberg": (_benjamini_hochberg, ["DOUBLE[]"], "DOUBLE[]"),
            "binomial_tail": (_binomial_tail, ["BIGINT", "BIGINT", "DOUBLE"], "DOUBLE"),
            "class_spans": (_class_spans, lists, "BIGINT[]"),
            "image_model_work": (
                _image_model_work,
                ["VARCHAR", "VARCHAR", "BIGINT"],
                "STRUCT(flops DOUBLE, reason VARCHAR)",
            ),
            "fit_laws": (_fit_laws, ["DOUBLE[]"] * 2, f"STRUCT({_FIT_STRUCT})[]"),
            "gain_of_doubling": (_gain_of_doubling, ["DOUBLE[]", "DOUBLE[]", "DOUBLE"], f"STRUCT({_FIT_STRUCT})"),
            "innermost": (_innermost, lists, "BIGINT[]"),
            "nested": (_nested, ["BIGINT[]"] * 5, f"STRUCT({' BIGINT, '.join(_NESTED)} BIGINT)[]"),
            "operator_work": (
                _operator_work,
                ["VARCHAR", "BIGINT[][]", "VARCHAR[]", "BIGINT[]", "VARCHAR[]"],
                "STRUCT(flops DOUBLE, moved_bytes BIGINT)",
            ),
            "operators_of": (_operators_of, ["VARCHAR"], "VARCHAR[]"),
            "quantiles": (_quantiles, ["DOUBLE[]"] * 2, "DOUBLE[]"),
            "ratio_interval": (_ratio_interval, ["DOUBLE[]"] * 2, f"STRUCT({_STRUCT})"),
            "slowest_by_step": (_slowest_by_step, ["BIGINT[]", "DOUBLE[]"], "DOUBLE[]"),
            "student_t": (lambda n: pa.array(student_t(n.to_numpy())), ["DOUBLE"], "DOUBLE"),
            "pipeline_what_if": (
                _pipeline_what_if,
                [*["BIGINT[]"] * 3, "VARCHAR[]", *["BIGINT[]"] * 2],
                "STRUCT(question VARCHAR, healed VARCHAR, measured_s DOUBLE, replayed_s DOUBLE, what_if_s DOUBLE, "
                "reason VARCHAR)[]",
            ),
            "standing": (_standing, ["DOUBLE[]", "DOUBLE", "BOOLEAN[]"], "STRUCT(middle DOUBLE, p DOUBLE)[]"),
            "true_spread": (
                _true_spread,
                ["DOUBLE[]", "DOUBLE", "BIGINT"],
                "STRUCT(share DOUBLE, low DOUBLE, high DOUBLE, p DOUBLE)",
            ),
        }
    )
    arrow: Any = {"type": "arrow", "null_handling": "special"}  # as text: the enums move between versions
    for name, (function, takes, gives) in functions.items():
        if called is not None and name not in called:
            continue
        with contextlib.suppress(duckdb.NotImplementedException, duckdb.CatalogException):  # known already
            connection.create_function(name, function, takes, gives, **arrow)
