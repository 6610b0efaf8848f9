"""Where a program asked for memory: the frame of a stack that its author can change."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from scalelens.parsing import lazy_re as re

MOST_FRAMES = 512  # of a stack that are looked at
_MOST_KEPT = 24  # innermost frames outside of the framework that a path names
_LONGEST_NAME, _LONGEST_PATH = 200, 2000

# Folders and files of PyTorch and of what it generates, wherever it is installed or built.
_FRAMEWORK = re.compile(
    r"(?:site|dist)-packages/(?:torch|torchgen|triton|functorch)/|"
    r"(?:^|/)torch/(?:_\w+|accelerator|amp|ao|autograd|backends|compiler|csrc|cpu|cuda|distributed|distributions|fft|func|fx|"
    r"jit|library|linalg|masked|multiprocessing|nested|nn|onnx|optim|package|profiler|quantization|signal|sparse|special|"
    r"testing|utils|xpu)(?:/|\.py)|(?:^|/)torch/(?:__init__|functional|hub|overrides|random|serialization|storage)\.py|"
    r"/lib(?:64)?/python[\d.]+/(?!site-packages|dist-packages)|torchinductor_|/torch_compile_debug/"
)
_PYTHON = re.compile(r"\.(?:py|pyx|ipynb)$|^(?:/tmp/)?ipykernel_|^<ipython-input|^<stdin>$")
# Backward functions have no Python frame of their own: the C++ class says which it is.
_BACKWARD = re.compile(r"torch::autograd::(?:generated::)?(\w*(?:Backward\d*|AccumulateGrad))\b")


class CallSite(NamedTuple):
    site: str  # train.py:42 forward
    path: str  # frames outside of the framework, the outermost first: main.py:9 main / train.py:42 forward


def call_site(frames: Any) -> CallSite | None:
    """The innermost frame outside of PyTorch, and the path to it; None where no frame says anything.

    `frames` are dicts of filename, line and name, the innermost first.  A stack without a Python frame of the program
    is named by the backward function that runs, in C++, else by PyTorch's own innermost Python frame.
    """
    if not isinstance(frames, Sequence) or isinstance(frames, str):
        return None
    read = [frame for frame in frames[:MOST_FRAMES] if isinstance(frame, dict)]
    own = [frame for frame in read if _PYTHON.search(_file(frame)) and not _FRAMEWORK.search(_file(frame))]
    if own:
        named = [_named(frame) for frame in own[:_MOST_KEPT]]
        return CallSite(named[0], " / ".join(reversed(named)))
    for frame in read:
        if found := _BACKWARD.search(_text(frame.get("name"))[: 4 * _LONGEST_NAME]):
            return CallSite(f"backward: {found[1]}", f"backward: {found[1]}")
    for frame in read:
        if _PYTHON.search(_file(frame)):
            return CallSite(_named(frame), _named(frame))
    return None


def _file(frame: dict[Any, Any]) -> str:
    return _text(frame.get("filename"))[-_LONGEST_PATH:].replace("\\", "/")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _named(frame: dict[Any, Any]) -> str:
    """`train.py:42 forward`: the last part of the path, line and function."""
    line = frame.get("line")
    place = _file(frame).rpartition("/")[2][-_LONGEST_NAME:]
    return f"{place}:{line if isinstance(line, int) else '?'} {_text(frame.get('name'))[:_LONGEST_NAME]}".strip()
