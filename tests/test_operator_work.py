"""Work of one call of an operator, counted by hand; `test_roofline.py` asks the same through SQL."""

from collections.abc import Sequence

import duckdb
import pytest

from scalelens.statistics import functions
from scalelens.statistics.operator_work import (
    CAUSAL_AT,
    COUNT_OF_OPERATOR,
    Call,
    Tensor,
    Work,
    operator_work,
    operators_of,
)

BYTES = {"c10::BFloat16": 2, "float": 4, "double": 8, "Scalar": None}
BF16 = "c10::BFloat16"


def call(name: str, *shapes: Sequence[int], dtypes: Sequence[str] = (), concrete: Sequence[str] = ()) -> Call:
    """A call of tensors in bfloat16 where nothing else is said."""
    types = dtypes or [BF16] * len(shapes)
    inputs = [Tensor(shape, dtype, BYTES.get(dtype)) for shape, dtype in zip(shapes, types, strict=True)]
    return Call(f"aten::{name}", inputs, concrete)


def test_a_matrix_product() -> None:
    work = operator_work(call("mm", [3, 5], [5, 7]))
    assert work == Work(flops=2 * 3 * 5 * 7, moved_bytes=2 * (3 * 5 + 5 * 7 + 3 * 7))


def test_an_added_bias_is_one_operation_for_each_output() -> None:
    work = operator_work(call("addmm", [7], [3, 5], [5, 7], [], []))
    assert work == Work(2 * 3 * 5 * 7 + 3 * 7, 2 * (7 + 3 * 5 + 5 * 7 + 3 * 7))


def test_a_batch_of_products() -> None:
    assert operator_work(call("bmm", [4, 3, 5], [4, 5, 7])) == Work(4 * 2 * 3 * 5 * 7, 2 * 4 * (15 + 35 + 21))
    with_matrix = call("baddbmm", [4, 3, 7], [4, 3, 5], [4, 5, 7], [], [])
    assert operator_work(with_matrix) == Work(4 * (2 * 3 * 5 * 7 + 3 * 7), 2 * 4 * (21 + 15 + 35 + 21))


def test_an_empty_product_writes_zeros() -> None:
    assert operator_work(call("mm", [3, 0], [0, 7])) == Work(0, 2 * 3 * 7)


def test_a_convolution() -> None:
    """A kernel of 3 x 3 over 5 x 5 fits 3 x 3 times; each of 2 x 6 x 9 outputs is made of 4 x 9 weights."""
    options = ["", "", "", "[1, 1]", "[0, 0]", "[1, 1]", "False", "[0, 0]", "1"]
    work = operator_work(call("convolution", [2, 4, 5, 5], [6, 4, 3, 3], [6], concrete=options))
    assert work == Work(2 * 108 * 36 + 108, 2 * (200 + 216 + 108 + 6))


def test_a_transposed_convolution() -> None:
    """Each of 4 x 25 inputs spreads over 6 x 9 weights, with a stride of 2 to 11 x 11 outputs."""
    options = ["", "", "", "[2, 2]", "[0, 0]", "[1, 1]", "True", "[0, 0]", "1"]
    work = operator_work(call("convolution", [1, 4, 5, 5], [4, 6, 3, 3], [], concrete=options))
    assert work == Work(2 * 100 * 54, 2 * (100 + 216 + 6 * 121))


@pytest.mark.parametrize(
    ("mask", "gradients"), [("[True, True, False]", 2), ("[False, True, True]", 1), ("[False, False, True]", 0)]
)
def test_backward_a_convolution_does_the_work_for_each_gradient(mask: str, gradients: int) -> None:
    options = ["", "", "", "[0]", "[1, 1]", "[0, 0]", "[1, 1]", "False", "[0, 0]", "1", mask]
    shapes = ([2, 6, 3, 3], [2, 4, 5, 5], [6, 4, 3, 3])
    work = operator_work(call("convolution_backward", *shapes, concrete=options))
    assert work == Work(2 * 108 * 36 * gradients, 2 * (108 + 200 + 216) * gradients)


def test_attention() -> None:
    """10 queries against 20 keys of 8 numbers, whose values have 16, in 2 x 3 heads."""
    shapes = ([2, 3, 10, 8], [2, 3, 20, 8], [2, 3, 20, 16], [], [])
    work = operator_work(call("_scaled_dot_product_flash_attention", *shapes, concrete=["", "", "", "0.", "False"]))
    assert work == Work(2 * 6 * 10 * 20 * (8 + 16), 2 * 6 * (10 * 8 + 20 * 8 + 20 * 16 + 10 * 16))


def attention_work(name: str, true_at: int) -> float | None:
    shape = [2, 3, 10, 8]
    shapes = [shape] * (5 if "backward" in name else 3)
    concrete = ["True" if place == true_at else "False" for place in range(16)]
    return operator_work(call(name.removeprefix("aten::"), *shapes, concrete=concrete)).flops


@pytest.mark.parametrize("name", CAUSAL_AT)
def test_causal_attention_is_half_of_it(name: str) -> None:
    """By the argument `is_causal` alone: another one that is True, such as compute_log_sumexp, says nothing."""
    whole = 6 * 10 * 10 * 16 * (5 if "backward" in name else 2)
    for place in range(16):
        assert attention_work(name, place) == (whole / 2 if place == CAUSAL_AT[name] else whole)


@pytest.mark.parametrize("name", CAUSAL_AT)
def test_causal_stands_where_the_schema_has_it(name: str) -> None:
    torch = pytest.importorskip("torch")
    arguments = getattr(torch.ops.aten, name.removeprefix("aten::")).default._schema.arguments
    assert arguments[CAUSAL_AT[name]].name == "is_causal"


def test_normalization() -> None:
    data, channels = [2, 4, 5], [4]
    assert operator_work(call("native_batch_norm", data, channels, channels)) == Work(5 * 40 + 6 * 4, 2 * (80 + 24))
    layer = call("native_layer_norm", [2, 4, 5], [], [5], [5], [])
    assert operator_work(layer) == Work(5 * 40 + 6 * 5, 2 * (80 + 30))
    backward = call("native_layer_norm_backward", [2, 4, 5], [2, 4, 5], [], [2, 4, 1], [2, 4, 1], [5], [5], [])
    assert operator_work(backward) == Work(9 * 40, 2 * (3 * 40 + 4 * 5))


@pytest.mark.parametrize(
    ("axes", "written"), [("[-1, 0]", 5), ("[1]", 24), ("[]", 1), ("1", 1), ("", 1), ("[0, 1, 2]", 1)]
)
def test_a_reduction_reads_all_and_writes_what_its_axes_leave(axes: str, written: int) -> None:
    work = operator_work(call("mean", [4, 5, 6], [], [], concrete=["", axes, "False"]))
    assert work == Work(120, 2 * (120 + written))


def test_a_running_sum_writes_every_element() -> None:
    assert operator_work(call("cumsum", [4, 5], [], concrete=["", "1"])) == Work(20, 2 * 40)


def test_elementwise() -> None:
    assert operator_work(call("relu", [4, 5])) == Work(20, 2 * 40)
    assert operator_work(call("add", [4, 1, 5], [3, 1])) == Work(60, 2 * (20 + 3 + 60))
    number = call("mul", [4, 5], [], dtypes=[BF16, "Scalar"])
    assert operator_work(number) == Work(20, 2 * 20 + 4 + 2 * 20)
    assert operator_work(call("pow", [4, 5], [], dtypes=[BF16, "Scalar"])) == Work(20, 2 * 40)
    assert operator_work(call("copy_", [4, 5], [4, 5], dtypes=[BF16, "float"])) == Work(20, 2 * 20 + 4 * 20)


def test_an_operator_that_is_not_counted_has_no_work() -> None:
    assert operator_work(call("embedding", [3, 5], [5])) == Work(None, None)


def test_an_element_of_unknown_size_leaves_the_operations() -> None:
    work = operator_work(call("mm", [3, 5], [5, 7], dtypes=["c10::Float4", "c10::Float4"]))
    assert work == Work(2 * 3 * 5 * 7, None)


@pytest.mark.parametrize("name", COUNT_OF_OPERATOR)
@pytest.mark.parametrize(
    "shapes", [(), ([],), ([3],), ([3], [4]), ([], [], []), ([0, 0],) * 12, ([2**62, 2**62],) * 12]
)
def test_shapes_that_are_not_those_of_the_operator_raise_nothing(name: str, shapes: Sequence[Sequence[int]]) -> None:
    for concrete in ([], [""] * 16, ["x"] * 16, ["[0, 0]"] * 16, ["[True"] * 16, ["[null, x]"] * 16):
        operator_work(call(name.removeprefix("aten::"), *shapes, concrete=concrete))


def test_work_too_large_to_be_counted_is_not_known() -> None:
    assert operator_work(call("mm", [2**40, 2**40], [2**40, 2**40])).moved_bytes is None


def test_every_family_has_operators() -> None:
    families = ("gemm", "convolution", "attention", "normalization", "reduction", "elementwise")
    assert sorted(name for family in families for name in operators_of(family)) == sorted(COUNT_OF_OPERATOR)
    assert operators_of("embedding") == []


@pytest.mark.parametrize(
    ("shapes", "dtypes", "element_bytes", "concrete", "expected"),
    [
        ([[3, 5], [5, 7]], [BF16, BF16], [2, 2], ["", ""], (210.0, 142)),
        ([[3, 5], [5, 7]], None, None, None, (210.0, None)),
        ([[3, 5], [5, 7]], [BF16], [2], [None], (210.0, None)),
        ([[3, None], [5, 7]], [BF16, BF16], [2, 2], None, (None, None)),
        ([None, [5, 7]], [BF16, BF16], [2, 2], None, (None, None)),
        ([], [], [], [], (None, None)),
        (None, None, None, None, (None, None)),
    ],
)
def test_from_sql_what_is_missing_is_not_known(
    shapes: object, dtypes: object, element_bytes: object, concrete: object, expected: tuple[float | None, int | None]
) -> None:
    with duckdb.connect() as connection:
        functions.register(connection)
        (work,) = connection.execute(
            "SELECT operator_work('aten::mm', ?::BIGINT[][], ?::VARCHAR[], ?::BIGINT[], ?::VARCHAR[])",
            [shapes, dtypes, element_bytes, concrete],
        ).fetchall()[0]
    assert (work["flops"], work["moved_bytes"]) == expected
