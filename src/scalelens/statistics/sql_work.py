"""Operations and bytes of operators and models as functions of SQL, on Arrow columns."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from scalelens.statistics.model_work import ImageWork, image_model_work
from scalelens.statistics.operator_work import Call, Tensor, Work, operator_work, operators_of

_IMAGE_WORK = pa.struct([("flops", pa.float64()), ("is_known", pa.bool_()), ("reason", pa.string())])
_WORK = pa.struct([("flops", pa.float64()), ("moved_bytes", pa.int64())])


def _image_model_work(models: pa.ChunkedArray, sizes: pa.ChunkedArray, channels: pa.ChunkedArray) -> pa.Array:
    """`image_model_work` of Arrow columns; a run without a model has none."""
    rows = zip(models.to_pylist(), sizes.to_pylist(), channels.to_pylist(), strict=True)
    works = [
        ImageWork(None, False, None) if model is None else image_model_work(model, size, width)
        for model, size, width in rows
    ]
    return pa.array([work._asdict() for work in works], type=_IMAGE_WORK)


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


SQL_WORK: dict[str, tuple[Callable[..., Any], list[Any], str]] = {
    "image_model_work": (
        _image_model_work,
        ["VARCHAR", "VARCHAR", "BIGINT"],
        "STRUCT(flops DOUBLE, is_known BOOLEAN, reason VARCHAR)",
    ),
    "operator_work": (
        _operator_work,
        ["VARCHAR", "BIGINT[][]", "VARCHAR[]", "BIGINT[]", "VARCHAR[]"],
        "STRUCT(flops DOUBLE, moved_bytes BIGINT)",
    ),
    "operators_of": (_operators_of, ["VARCHAR"], "VARCHAR[]"),
}
