"""Work of PyTorch's operators: how many operations a call makes and how many bytes it moves, from its shapes alone.

Places of arguments are those of the operators' schemas in aten/src/ATen/native/native_functions.yaml of PyTorch 2.13.
A multiply-add is two operations.  Every tensor moves once, as if no cache kept it from one operator to the next.
"""

from collections.abc import Callable, Sequence
from itertools import zip_longest
from math import prod
from typing import NamedTuple

_LARGEST_BIGINT = 2**63 - 1  # BIGINT


class Tensor(NamedTuple):
    """An argument of a call.  What is not a tensor has the shape []: its one element is the number."""

    shape: Sequence[int]
    dtype: str  # as the trace names it: `c10::BFloat16`, `Scalar` for a number
    element_bytes: int | None  # None for a type that is not known

    @property
    def elements(self) -> int:
        return prod(self.shape)

    @property
    def is_float(self) -> bool:
        return any(kind in self.dtype.lower() for kind in ("float", "half", "double", "complex"))


class Call(NamedTuple):
    """A call of an operator, as a trace with record_shapes=True holds it."""

    name: str  # `aten::mm`
    inputs: Sequence[Tensor]
    concrete: Sequence[str]  # arguments as text, '' for a tensor; empty where the trace lacks them


class Work(NamedTuple):
    """What a call does; None for what cannot be known."""

    flops: float | None
    moved_bytes: int | None


# Operations, and what is moved: numbers of elements, each with the bytes of an element.
_Counted = tuple[float, Sequence[tuple[int, int | None]]]


def operators_of(family: str) -> list[str]:
    """Operators whose work is counted: gemm convolution attention normalization reduction elementwise."""
    return [f"aten::{name}" for its_family, _, names in _COUNTED if its_family == family for name in names.split()]


def operator_work(call: Call) -> Work:
    """Operations and bytes of one call; None where its shapes or arguments are not those of the operator."""
    if call.name not in COUNT_OF_OPERATOR:
        return Work(None, None)
    try:
        operations, moved = COUNT_OF_OPERATOR[call.name](call)
        flops = float(operations)
    except (IndexError, ValueError, ArithmeticError):  # an argument is missing, or is not what its place asks for
        return Work(None, None)
    moved_bytes = 0
    for elements, element_bytes in moved:
        if element_bytes is None:
            return Work(flops, None)
        moved_bytes += elements * element_bytes
    return Work(flops, moved_bytes if moved_bytes <= _LARGEST_BIGINT else None)


def _matrix_product(call: Call) -> _Counted:
    """2 M N K, and M N where a matrix is added."""
    is_added = "add" in call.name
    operands = call.inputs[:3] if is_added else call.inputs[:2]
    left, right = operands[-2:]
    outputs = prod(left.shape[:-1]) * right.shape[-1]
    moved = [(operand.elements, operand.element_bytes) for operand in operands]
    return 2 * outputs * left.shape[-1] + is_added * outputs, [*moved, (outputs, left.element_bytes)]


def _convolution(call: Call) -> _Counted:
    """2 times the outputs times the weights of one output, and one for each output where a bias is added.

    A transposed convolution spreads each input over the outputs: there the inputs take the place of the outputs.
    """
    data, weight, bias = call.inputs[:3]
    stride, padding, dilation = (_arguments(call.concrete[index]) for index in (3, 4, 5))
    is_transposed, output_padding = call.concrete[6] == "True", _arguments(call.concrete[7])
    outputs = data.shape[0] * (weight.shape[1] * int(call.concrete[8]) if is_transposed else weight.shape[0])
    for axis in range(len(stride)):
        length, reach = data.shape[axis + 2], dilation[axis] * (weight.shape[axis + 2] - 1)
        if is_transposed:
            outputs *= (length - 1) * stride[axis] - 2 * padding[axis] + reach + output_padding[axis] + 1
        else:
            outputs *= (length + 2 * padding[axis] - reach - 1) // stride[axis] + 1
    has_bias = len(bias.shape) > 0
    operations = 2 * (data.elements if is_transposed else outputs) * _weights_of_one(weight) + has_bias * outputs
    elements = data.elements + weight.elements + outputs + has_bias * bias.elements
    return operations, [(elements, data.element_bytes)]


def _convolution_backward(call: Call) -> _Counted:
    """As forward, for the gradient of the input and for that of the weight, where they are asked for."""
    gradient, data, weight = call.inputs[:3]
    of_data, of_weight, *_ = _arguments(call.concrete[10])
    gradients = bool(of_data) + bool(of_weight)
    spread = data if call.concrete[7] == "True" else gradient
    elements = gradient.elements + data.elements + weight.elements
    return 2 * spread.elements * _weights_of_one(weight) * gradients, [(elements * gradients, gradient.element_bytes)]


def _weights_of_one(weight: Tensor) -> int:
    """Weights that make up one output, or that spread one input where transposed: all axes but the first."""
    return prod(weight.shape[1:])


def _attention(call: Call) -> _Counted:
    """2 (D + Dv) B H Sq Sk, half of that where causal; the scores do not leave the chip."""
    query, key, value = call.inputs[:3]
    rows = prod(query.shape[:-1])
    operations = 2 * rows * (query.shape[-1] + value.shape[-1]) * key.shape[-2]
    elements = query.elements + key.elements + value.elements + rows * value.shape[-1]
    return operations / (2 if _is_causal(call) else 1), [(elements, query.element_bytes)]


def _attention_backward(call: Call) -> _Counted:
    """2.5 times the operations of forward; inputs and output are read, and a gradient of each is read or written."""
    gradient, query, key, value = call.inputs[:4]
    rows = prod(query.shape[:-1])
    operations = 5 * rows * (query.shape[-1] + value.shape[-1]) * key.shape[-2]
    elements = gradient.elements + query.elements + key.elements + value.elements
    return operations / (2 if _is_causal(call) else 1), [(2 * elements, gradient.element_bytes)]


def _is_causal(call: Call) -> bool:
    """Whether a query attends to what came before it alone; taken as no where the trace lacks the arguments."""
    index = CAUSAL_AT[call.name]
    return list(call.concrete[index : index + 1]) == ["True"]


def _normalization(call: Call) -> _Counted:
    """5 operations for each element and 6 for each channel; input and output are moved, and 6 numbers of a channel."""
    data, channels = call.inputs[0], call.inputs[2 if "layer" in call.name else 1].elements  # those of the weight
    return 5 * data.elements + 6 * channels, [(2 * data.elements + 6 * channels, data.element_bytes)]


def _normalization_backward(call: Call) -> _Counted:
    """9 operations for each element; three tensors are moved, and 4 numbers of a channel."""
    gradient, third, sixth = call.inputs[0], call.inputs[2], call.inputs[5]
    channels = max(third.elements, sixth.elements)  # the weight is the sixth of layer_norm, the third of batch_norm
    return 9 * gradient.elements, [(3 * gradient.elements + 4 * channels, gradient.element_bytes)]


def _reduction(call: Call) -> _Counted:
    """1 for each element read; the axes that it is not over are written."""
    data, axes = call.inputs[0], _reduced_axes(call)
    n = len(data.shape)
    results = prod(data.shape[axis] for axis in range(n) if axis not in axes and axis - n not in axes) if axes else 1
    return data.elements, [(data.elements + results, data.element_bytes)]


def _reduced_axes(call: Call) -> list[int]:
    """Axes that a reduction is over, -1 the last; empty where it is over all, or where a number names the axis."""
    try:
        return _arguments(call.concrete[1])
    except (IndexError, ValueError):
        return []


def _running_sum(call: Call) -> _Counted:
    """1 for each element, and as many are written."""
    data = call.inputs[0]
    return data.elements, [(2 * data.elements, data.element_bytes)]


def _copy(call: Call) -> _Counted:
    """1 for each element; what is read may have another type than what is written."""
    written, read = call.inputs[:2]
    return written.elements, [(written.elements, written.element_bytes), (read.elements, read.element_bytes)]


def _elementwise(call: Call) -> _Counted:
    """1 for each element written; the operands and the result are moved."""
    first, *others = call.inputs
    if not others:
        return first.elements, [(2 * first.elements, first.element_bytes)]
    second = others[0]
    lengths = zip_longest(reversed(first.shape), reversed(second.shape), fillvalue=0)  # as shapes broadcast
    outputs = prod(max(pair) for pair in lengths)
    if call.name in _ONE_OPERAND or (second.dtype == "Scalar" and call.name not in _NUMBER_IS_OPERAND):
        return outputs, [(2 * first.elements, first.element_bytes)]
    return outputs, [
        (first.elements, first.element_bytes),
        (second.elements, _NUMBER_BYTES if second.element_bytes is None else second.element_bytes),
        (outputs, _result_bytes(first, second, in_place=call.name.endswith("_"))),
    ]


def _result_bytes(first: Tensor, second: Tensor, in_place: bool) -> int | None:
    """Bytes of an element of the result: a tensor's type counts before a number's, a float before an integer."""
    if in_place or first.element_bytes is None or second.element_bytes is None or not second.shape:
        return first.element_bytes
    if not first.shape:
        return second.element_bytes
    if first.is_float == second.is_float:
        return max(first.element_bytes, second.element_bytes)
    return first.element_bytes if first.is_float else second.element_bytes


def _arguments(text: str) -> list[int]:
    """An argument that is a list, from its text: `[1, 1]`; of `[True, False]` it is [1, 0]."""
    if not (text.startswith("[") and text.endswith("]")):
        raise ValueError(f"{text} is not a list")
    entries = text[1:-1].replace("True", "1").replace("False", "0").split(",")
    return [int(entry) for entry in entries if entry.strip()]


CAUSAL_AT = {
    "aten::scaled_dot_product_attention": 5,
    "aten::_scaled_dot_product_flash_attention": 4,
    "aten::_scaled_dot_product_flash_attention_backward": 11,
    "aten::_scaled_dot_product_efficient_attention": 6,
    "aten::_scaled_dot_product_efficient_attention_backward": 11,
    "aten::_scaled_dot_product_cudnn_attention": 6,
    "aten::_scaled_dot_product_cudnn_attention_backward": 14,
}
_NUMBER_IS_OPERAND = ("aten::add", "aten::mul", "aten::div", "aten::sub")
_ONE_OPERAND = ("aten::clamp_min", "aten::clamp_min_")  # what follows is a limit
_NUMBER_BYTES = 4  # of a number, and of what has no type

_COUNTED: tuple[tuple[str, Callable[[Call], _Counted], str], ...] = (
    ("gemm", _matrix_product, "mm addmm bmm baddbmm"),
    ("convolution", _convolution, "convolution"),
    ("convolution", _convolution_backward, "convolution_backward"),
    ("attention", _attention, "scaled_dot_product_attention _scaled_dot_product_flash_attention"
        " _scaled_dot_product_efficient_attention _scaled_dot_product_cudnn_attention"),
    ("attention", _attention_backward, "_scaled_dot_product_flash_attention_backward"
        " _scaled_dot_product_efficient_attention_backward _scaled_dot_product_cudnn_attention_backward"),
    ("normalization", _normalization,
        "batch_norm layer_norm native_batch_norm native_layer_norm cudnn_batch_norm miopen_batch_norm"),
    ("normalization", _normalization_backward, "native_batch_norm_backward native_layer_norm_backward"),
    ("reduction", _reduction, "sum mean linalg_norm max min amax prod"),
    ("reduction", _running_sum, "cumsum"),
    ("elementwise", _copy, "copy_"),
    ("elementwise", _elementwise, "add add_ sub sub_ mul mul_ div div_ pow neg abs exp exp_ sqrt rsqrt sigmoid sigmoid_"
        " tanh tanh_ relu relu_ gelu silu silu_ clamp_min clamp_min_ threshold_backward gelu_backward silu_backward"
        " sigmoid_backward tanh_backward"),
)  # fmt: skip
COUNT_OF_OPERATOR = {f"aten::{name}": count for _, count, names in _COUNTED for name in names.split()}
