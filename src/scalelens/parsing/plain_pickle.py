"""Plain containers out of a pickle, without Python's unpickler: nothing is imported, called or allocated on demand.

A pickle is a program, and a hostile one may do anything when Python runs it.  Here texts, numbers, lists, tuples and
dicts are made, and every other instruction is refused.
"""

import pickletools
from collections.abc import Iterator
from typing import Any

_VALUES = {
    "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "BINSTRING", "SHORT_BINSTRING", "BININT", "BININT1", "BININT2",
    "LONG1", "BINFLOAT",
}  # fmt: skip
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}
_CONTAINERS = {"EMPTY_DICT": dict, "EMPTY_LIST": list}
_OF_TUPLE = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_STORES = ("BINPUT", "LONG_BINPUT", "PUT", "MEMOIZE")
_LOADS = ("BINGET", "LONG_BINGET", "GET")
_MARK = object()


def filled_dicts(content: bytes) -> Iterator[dict[Any, Any]]:
    """Each dict of a pickle as soon as it is filled, inner ones first.

    Raises ValueError where the pickle is cut, damaged, or holds more than plain containers.
    """
    stack: list[Any] = []
    memo: dict[int, Any] = {}
    ended = False
    try:
        argument: Any
        for operation, argument, _ in pickletools.genops(content):
            name = operation.name
            if name in _VALUES:
                stack.append(argument)
            elif name in _CONSTANTS:
                stack.append(_CONSTANTS[name])
            elif name in _CONTAINERS:
                stack.append(_CONTAINERS[name]())
            elif name in _STORES:
                memo[len(memo) if name == "MEMOIZE" else int(argument)] = stack[-1]
            elif name in _LOADS:
                stack.append(memo[int(argument)])
            elif name == "MARK":
                stack.append(_MARK)
            elif name in _OF_TUPLE:
                stack[-_OF_TUPLE[name] :] = [tuple(stack[-_OF_TUPLE[name] :])]
            elif name == "TUPLE":
                stack.append(tuple(_above_mark(stack)))
            elif name in ("APPEND", "APPENDS"):
                items = [stack.pop()] if name == "APPEND" else _above_mark(stack)
                stack[-1].extend(items)
            elif name in ("SETITEM", "SETITEMS"):
                items = [stack.pop(-2), stack.pop()] if name == "SETITEM" else _above_mark(stack)
                stack[-1].update(zip(items[::2], items[1::2], strict=True))
                yield stack[-1]
            elif name not in ("PROTO", "FRAME", "STOP"):
                raise ValueError(f"the pickle holds more than plain containers ({name})")
            ended = name == "STOP"
    except (IndexError, KeyError, AttributeError, TypeError, OverflowError) as error:
        raise ValueError(f"the pickle is damaged ({type(error).__name__})") from None
    if not ended:
        raise ValueError("the pickle is cut")


def _above_mark(stack: list[Any]) -> list[Any]:
    """Takes what was put on a stack since the last mark."""
    items: list[Any] = []
    while (item := stack.pop()) is not _MARK:
        items.append(item)
    return items[::-1]
