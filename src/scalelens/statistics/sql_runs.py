"""The statistics on runs as functions of SQL, on Arrow columns: the name, the types that it takes and gives."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from scalelens.statistics.comparisons import GroupRatio, RunValue, compare_groups
from scalelens.statistics.histories import ChangePoint, shifts_between_runs
from scalelens.statistics.noise import Noise, noise, runs_to_see
from scalelens.statistics.repeats import Plan, repeats_to_settle, repeats_to_size

_RUN = "STRUCT(value DOUBLE, low DOUBLE, high DOUBLE, kind VARCHAR, n_eff DOUBLE, quantile DOUBLE)[]"
_TEXT = ("kind", "reason", "unit")
_NUMBER = ("position",)


def _sql(fields: tuple[str, ...]) -> str:
    """Type in SQL of a result with these fields."""
    kinds = ((field, "VARCHAR" if field in _TEXT else "BIGINT" if field in _NUMBER else "DOUBLE") for field in fields)
    return "STRUCT(" + ", ".join(" ".join(kind) for kind in kinds) + ")"


def _arrow(fields: tuple[str, ...]) -> Any:
    """The same type in Arrow."""
    kinds = {**dict.fromkeys(_TEXT, pa.string()), **dict.fromkeys(_NUMBER, pa.int64())}
    return pa.struct([(field, kinds.get(field, pa.float64())) for field in fields])


def _runs(rows: list[dict[str, Any]] | None) -> list[RunValue]:
    return [RunValue(**row) for row in rows or []]


def _compare_groups(firsts: pa.ChunkedArray, seconds: pa.ChunkedArray) -> pa.Array:
    """`compare_groups` of Arrow columns of lists of runs."""
    rows = zip(firsts.to_pylist(), seconds.to_pylist(), strict=True)
    found = [compare_groups(_runs(first), _runs(second))._asdict() for first, second in rows]
    return pa.array(found, type=_arrow(GroupRatio._fields))


def _repeats(plan: Callable[..., Plan]) -> Callable[..., pa.Array]:
    """A plan of repeats of Arrow columns: lists of runs on both sides, and the share to settle."""

    def apply(firsts: pa.ChunkedArray, seconds: pa.ChunkedArray, shares: pa.ChunkedArray) -> pa.Array:
        rows = zip(firsts.to_pylist(), seconds.to_pylist(), shares.to_pylist(), strict=True)
        found = [plan(_runs(first), _runs(second), share)._asdict() for first, second, share in rows]
        return pa.array(found, type=_arrow(Plan._fields))

    return apply


def _shifts_between_runs(series: pa.ChunkedArray) -> pa.Array:
    """`shifts_between_runs` of each list of an Arrow array: a list with an entry for each point."""
    found = [shifts_between_runs(np.array(values or [], float)) for values in series.to_pylist()]
    kind = pa.list_(_arrow(ChangePoint._fields))
    return pa.array([[point._asdict() for point in points] for points in found], type=kind)


def _noise_of_runs(series: pa.ChunkedArray) -> pa.Array:
    """`noise` of each list of an Arrow array."""
    found = [noise(np.array(values or [], float))._asdict() for values in series.to_pylist()]
    return pa.array(found, type=_arrow(Noise._fields))


def _runs_to_see(differences: pa.ChunkedArray, least: pa.ChunkedArray) -> pa.Array:
    """`runs_to_see` of Arrow columns; NULL where a number is not known."""
    rows = zip(differences.to_pylist(), least.to_pylist(), strict=True)
    found = [
        None if difference is None or not limits or None in limits else runs_to_see(difference, limits)
        for difference, limits in rows
    ]
    return pa.array(found, type=pa.int64())


SQL_RUNS: dict[str, tuple[Callable[..., Any], list[str], str]] = {
    "shifts_between_runs": (_shifts_between_runs, ["DOUBLE[]"], _sql(ChangePoint._fields) + "[]"),
    "noise_of_runs": (_noise_of_runs, ["DOUBLE[]"], _sql(Noise._fields)),
    "runs_to_see": (_runs_to_see, ["DOUBLE", "DOUBLE[]"], "BIGINT"),
    "compare_groups": (_compare_groups, [_RUN, _RUN], _sql(GroupRatio._fields)),
    "repeats_to_settle": (_repeats(repeats_to_settle), [_RUN, _RUN, "DOUBLE"], _sql(Plan._fields)),
    "repeats_to_size": (_repeats(repeats_to_size), [_RUN, _RUN, "DOUBLE"], _sql(Plan._fields)),
}
