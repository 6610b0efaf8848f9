"""Work of operators from their shapes, reckoned by hand, and which kernels are theirs."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from little_warehouse import Row, Warehouse

BF16, FP32 = "c10::BFloat16", "float"


@pytest.fixture
def warehouse(warehouse: Warehouse) -> Warehouse:
    warehouse.insert("runs", [{"run_id": "r"}])
    return warehouse


def event(line: int, name: str, category: str, start: int, end: int, args: Any = None, **columns: Any) -> Row:
    """An event from start to end in microseconds."""
    return {
        "run_id": "r", "file_id": "f", "rank": 0, "ph": "X", "line": line, "name": name, "category": category,
        "start_ns": 1000 * start, "duration_ns": 1000 * (end - start), "process": "1", "thread": "1",
        "args": args if args is None or isinstance(args, str) else json.dumps(args), **columns,
    }  # fmt: skip


def call(
    warehouse: Warehouse, name: str, shapes: Sequence[Any], dtype: str = BF16, types: Sequence[str] | None = None,
    concrete: Sequence[str] = (),
) -> Row:  # fmt: skip
    """An operator of 10 us whose kernel takes 4 us: what `op_work` makes of it."""
    args: Row = {"Input Dims": shapes, "Input type": types or [dtype if shape else "Scalar" for shape in shapes]}
    if concrete:
        args["Concrete Inputs"] = concrete
    warehouse.insert(
        "events",
        [
            event(1, name, "cpu_op", 0, 10, args),
            event(2, "cudaLaunchKernel", "cuda_runtime", 5, 6, correlation=1),
            event(3, "k", "kernel", 20, 24, correlation=1, stream=7, process="0", thread="7"),
        ],
    )
    (row,) = warehouse.ask("FROM op_work()")
    assert (row["kernels"], row["kernel_ns"]) == (1, 4000)
    return row


def work(row: Row) -> tuple[float | None, float | None]:
    return row["flops"], row["moved_bytes"]


@pytest.mark.parametrize(
    ("name", "shapes", "flops", "elements"),
    [
        ("aten::mm", [[3, 5], [5, 7]], 2 * 3 * 5 * 7, 3 * 5 + 5 * 7 + 3 * 7),
        ("aten::addmm", [[7], [3, 5], [5, 7], [], []], 2 * 3 * 5 * 7 + 3 * 7, 7 + 3 * 5 + 5 * 7 + 3 * 7),
        ("aten::bmm", [[4, 3, 5], [4, 5, 7]], 4 * 2 * 3 * 5 * 7, 4 * (3 * 5 + 5 * 7 + 3 * 7)),
        ("aten::baddbmm", [[4, 3, 7], [4, 3, 5], [4, 5, 7], [], []], 4 * (2 * 3 * 5 * 7 + 3 * 7), 4 * (21 + 15 + 35 + 21)),
    ],
)  # fmt: skip
def test_matrix_products(warehouse: Warehouse, name: str, shapes: Any, flops: float, elements: int) -> None:
    assert work(call(warehouse, name, shapes)) == (flops, 2 * elements)


@pytest.mark.parametrize(
    ("given", "weight", "bias", "options", "flops", "elements"),
    [
        # 5 x 5 input, 3 x 3 kernel: 3 x 3 outputs; stride 2 and padding 1: 3 x 3 again
        ([2, 4, 5, 5], [6, 4, 3, 3], [], ("[1, 1]", "[0, 0]", "[1, 1]", "False", "[0, 0]", "1"),
         2 * (2 * 6 * 9) * 36, 200 + 216 + 108),
        ([2, 4, 5, 5], [6, 4, 3, 3], [6], ("[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"),
         2 * (2 * 6 * 9) * 36 + 108, 200 + 216 + 108 + 6),
        # dilation 2: a kernel of 5 x 5, one output; two groups: two channels a weight
        ([1, 4, 5, 5], [6, 2, 3, 3], [], ("[1, 1]", "[0, 0]", "[2, 2]", "False", "[0, 0]", "2"),
         2 * 6 * 18, 100 + 108 + 6),
        # transposed: each of 4 x 25 inputs spreads over 6 x 3 x 3; 11 x 11 outputs
        ([1, 4, 5, 5], [4, 6, 3, 3], [], ("[2, 2]", "[0, 0]", "[1, 1]", "True", "[0, 0]", "1"),
         2 * 100 * 54, 100 + 216 + 6 * 121),
        # one dimension
        ([1, 2, 10], [3, 2, 4], [], ("[3]", "[1]", "[1]", "False", "[0]", "1"), 2 * (3 * 3) * 8, 20 + 24 + 9),
    ],
)  # fmt: skip
def test_convolutions(
    warehouse: Warehouse, given: Any, weight: Any, bias: Any, options: Any, flops: float, elements: int
) -> None:
    shapes = [given, weight, bias, [], [], [], [], [], []]
    row = call(warehouse, "aten::convolution", shapes, FP32, [FP32] * 3 + ["x"] * 6, ["", "", "", *options])
    assert work(row) == (flops, 4 * elements)


@pytest.mark.parametrize(("mask", "gradients"), [("[True, True, False]", 2), ("[False, True, True]", 1)])
def test_convolution_backward_counts_the_gradients_asked_for(warehouse: Warehouse, mask: str, gradients: int) -> None:
    shapes = [[2, 6, 3, 3], [2, 4, 5, 5], [6, 4, 3, 3], [], [], [], [], [], [], [], []]
    options = ["", "", "", "[0]", "[1, 1]", "[0, 0]", "[1, 1]", "False", "[0, 0]", "1", mask]
    row = call(warehouse, "aten::convolution_backward", shapes, concrete=options)
    assert work(row) == (2 * 108 * 36 * gradients, 2 * (108 + 200 + 216) * gradients)


def test_convolution_without_its_options_has_no_work(warehouse: Warehouse) -> None:
    assert work(call(warehouse, "aten::convolution", [[2, 4, 5, 5], [6, 4, 3, 3], [], [], [], [], [], [], []])) == (
        None, None,
    )  # fmt: skip
    assert warehouse.ask("FROM roofline()") == []


@pytest.mark.parametrize(("causal", "half"), [("False", 1), ("True", 0.5)])
def test_attention(warehouse: Warehouse, causal: str, half: float) -> None:
    shapes = [[2, 3, 10, 8], [2, 3, 20, 8], [2, 3, 20, 16], [], [], [], []]
    options = ["", "", "", "0.", causal, "False", "0.125"]
    row = call(warehouse, "aten::_scaled_dot_product_flash_attention", shapes, concrete=options)
    assert row["flops"] == 2 * 6 * 10 * 20 * (8 + 16) * half
    assert row["moved_bytes"] == 2 * 6 * (10 * 8 + 20 * 8 + 20 * 16 + 10 * 16)


def test_attention_backward(warehouse: Warehouse) -> None:
    shapes = [[2, 3, 10, 8], [2, 3, 10, 8], [2, 3, 20, 8], [2, 3, 20, 8], [2, 3, 10, 8], [2, 3, 10], [], [], [], [], []]
    options = [""] * 8 + ["10", "20", "0.", "True"]
    row = call(warehouse, "aten::_scaled_dot_product_flash_attention_backward", shapes, concrete=options)
    assert row["flops"] == 2.5 * 2 * 6 * 10 * 20 * 16 / 2


@pytest.mark.parametrize(
    ("name", "shapes", "types", "flops", "moved"),
    [
        ("aten::add", [[4, 1, 5], [3, 1], []], [BF16, BF16, "Scalar"], 60, 2 * (20 + 3 + 60)),
        ("aten::mul", [[4, 5], []], [BF16, "double"], 20, 2 * 20 + 8 + 2 * 20),
        ("aten::mul", [[4, 5], [4, 5]], [BF16, "int"], 20, 2 * 20 + 4 * 20 + 2 * 20),
        ("aten::add", [[4, 5], [4, 5], []], [BF16, FP32, "Scalar"], 20, 2 * 20 + 4 * 20 + 4 * 20),
        ("aten::add_", [[4, 5], [4, 5], []], [BF16, FP32, "Scalar"], 20, 2 * 20 + 4 * 20 + 2 * 20),
        ("aten::copy_", [[4, 5], [4, 5], []], [BF16, FP32, "Scalar"], 20, 2 * 20 + 4 * 20),
        ("aten::sigmoid", [[4, 5]], [BF16], 20, 2 * 20 * 2),
        ("aten::clamp_min_", [[4, 5], []], [BF16, "Scalar"], 20, 2 * 20 * 2),
        ("aten::sum", [[4, 5], [], [], []], [FP32, "", "Scalar", ""], 20, 4 * 21),
    ],
)
def test_elementwise(warehouse: Warehouse, name: str, shapes: Any, types: Any, flops: float, moved: int) -> None:
    assert work(call(warehouse, name, shapes, types=types)) == (flops, moved)


def test_a_reduction_over_some_axes(warehouse: Warehouse) -> None:
    shapes, options = [[4, 5, 6], [], [], []], ["", "[-1, 0]", "False", ""]
    assert work(call(warehouse, "aten::mean", shapes, FP32, concrete=options)) == (120, 4 * (120 + 5))


def test_kernels_belong_to_the_innermost_operator(warehouse: Warehouse) -> None:
    shapes = {"Input Dims": [[8], [8], []], "Input type": [FP32, FP32, "Scalar"]}
    product = {"Input Dims": [[2, 2], [2, 2]], "Input type": [FP32, FP32]}

    def launch(number: int, start: int, kernel: tuple[int, int]) -> list[Row]:
        device: Row = {"stream": 7, "process": "0", "thread": "7"}
        return [
            event(10 + number, "cudaLaunchKernel", "cuda_runtime", start, start + 1, correlation=number),
            event(20 + number, "k", "kernel", *kernel, correlation=number, **device),
        ]

    warehouse.insert(
        "events",
        [
            event(1, "aten::add", "cpu_op", 0, 50, shapes),
            event(2, "aten::copy_", "cpu_op", 10, 20, shapes),  # within, and over before the other launches
            event(3, "aten::mm", "cpu_op", 60, 70, product),
            event(4, "aten::mm", "cpu_op", 60, 70, product, thread="2"),  # another thread: launches nothing
            *launch(1, 12, (100, 110)),
            *launch(2, 30, (120, 130)),
            *launch(3, 32, (125, 140)),  # beside the one before: 20 us are busy
            *launch(4, 65, (150, 157)),
            *launch(5, 90, (160, 170)),  # of no operator here
        ],
    )
    rows = warehouse.ask("SELECT line, kernels, kernel_ns / 1000 AS us FROM op_work()")
    assert rows == [
        {"line": 1, "kernels": 2, "us": 20}, {"line": 2, "kernels": 1, "us": 10}, {"line": 3, "kernels": 1, "us": 7},
    ]  # fmt: skip


def test_shapes_that_are_no_shapes_have_no_work(warehouse: Warehouse) -> None:
    assert work(call(warehouse, "aten::mm", [[[3, 5]], [5, 7]])) == (None, None)
    warehouse.insert("events", [event(9, "aten::mm", "cpu_op", 0, 10, '{"Input Dims": [[3, 5], ')])
    assert len(warehouse.ask("FROM op_work()")) == 1


def test_roofline(warehouse: Warehouse) -> None:
    call(warehouse, "aten::mm", [[3000, 5000], [5000, 7000]])
    (row,) = warehouse.ask("FROM roofline(peak_tflops := 100, bandwidth_gb_per_s := 1000)")
    flops, moved = 2 * 3000 * 5000 * 7000, 2 * (15 + 35 + 21) * 1e6
    assert (row["bound"], row["roofline_us"]) == ("compute", pytest.approx(flops / 100e12 * 1e6))
    assert row["roofline_share"] == pytest.approx(flops / 100e12 / 4e-6)
    assert row["tflops_per_s"] == pytest.approx(flops / 4e-6 / 1e12)
    assert row["gb_per_s"] == pytest.approx(moved / 4e-6 / 1e9)
    assert row["intensity"] == pytest.approx(flops / moved)
    (row,) = warehouse.ask("FROM roofline(peak_tflops := 1e6, bandwidth_gb_per_s := 1000)")
    assert (row["bound"], row["roofline_us"]) == ("memory", pytest.approx(moved / 1e12 * 1e6))
    (row,) = warehouse.ask("FROM roofline()")
    assert (row["bound"], row["roofline_us"], row["roofline_share"]) == (None, None, None)
    device = {"place": 1, "device": "Grand GPU", "pattern": "grand", "bf16_tflops": 100.0, "bandwidth_gb_per_s": 1000.0}
    warehouse.insert("devices_catalog", [device])
    warehouse.connection.execute("UPDATE runs SET device_model = 'Grand GPU 80GB'")
    (row,) = warehouse.ask("FROM roofline()")
    assert (row["peak"], row["bandwidth"], row["bound"]) == (100, 1000, "compute")
    (row,) = warehouse.ask("FROM roofline(bandwidth_gb_per_s := 1)")
    assert (row["peak"], row["bandwidth"], row["bound"]) == (100, 1, "memory")


def test_the_bias_of_a_convolution_counts_once(warehouse: Warehouse) -> None:
    """MIOpen adds it by a call of its own within: its kernel is the convolution's, its operations are counted there."""
    shapes = [[2, 3, 8, 8], [4, 3, 3, 3], [4], [], [], [], [], [], []]
    concrete = ["", "", "", "[1, 1]", "[0, 0]", "[1, 1]", "False", "[0, 0]", "1"]
    convolved = {"Input Dims": shapes, "Input type": [BF16] * 3 + ["Scalar"] * 6, "Concrete Inputs": concrete}
    outputs = {"Input Dims": [[2, 4, 6, 6], [1, 4, 1, 1], []], "Input type": [BF16, BF16, "Scalar"]}
    warehouse.insert("events", [
        event(1, "aten::convolution", "cpu_op", 0, 30, convolved),
        event(2, "hipLaunchKernel", "cuda_runtime", 5, 6, correlation=1),
        event(3, "aten::add_", "cpu_op", 10, 20, outputs),
        event(4, "hipLaunchKernel", "cuda_runtime", 15, 16, correlation=2),
        event(5, "aten::add_", "cpu_op", 40, 50, outputs),
        event(6, "hipLaunchKernel", "cuda_runtime", 45, 46, correlation=3),
        *(event(6 + n, "k", "kernel", 100 * n, 100 * n + 7, correlation=n, stream=7, process="0") for n in (1, 2, 3)),
    ])  # fmt: skip
    rows = warehouse.ask("SELECT name, flops, kernels, kernel_ns FROM op_work()")
    n = 2 * 4 * 6 * 6
    assert [tuple(row.values()) for row in rows] == [
        ("aten::convolution", 2 * n * 27 + n, 2, 14_000), ("aten::add_", n, 1, 7_000),
    ]  # fmt: skip
