"""Plain containers out of a pickle, without Python's unpickler: nothing is imported, called or allocated on demand.

A pickle is a program, and a hostile one may do anything when Python runs it.  Here texts, numbers, lists, tuples and
dicts are made, and every other instruction is refused.
"""

import re
from collections.abc import Callable, Iterator
from itertools import chain
from struct import Struct, error, iter_unpack
from typing import Any

_Take = Callable[[bytes, int], tuple[Any, int]]  # the value of an instruction at a place, and where the next one is
_NUMBERS = {"K": "<B", "M": "<H", "J": "<i", "G": ">d"}
_TEXTS = {"\x8c": "<B", "X": "<I", "\x8d": "<Q", "U": "<B", "T": "<I"}  # the number in which the length stands
_CONSTANTS = {"N": None, "\x88": True, "\x89": False, ")": ()}
_CONTAINERS = {"}": dict, "]": list}
_OF_TUPLE = {0x85: 1, 0x86: 2, 0x87: 3}
_BINPUT, _LONG_BINPUT, _MEMOIZE, _BINGET, _LONG_BINGET = b"qr\x94hj"
_MARK, _TUPLE, _APPEND, _APPENDS, _SETITEM, _SETITEMS, _STOP, _PROTO, _FRAME = b"(taesu.\x80\x95"
_LOADS = re.compile(rb"(?:j.{4})+", re.DOTALL)  # stacks of calls are long rows of them
_COUNT = Struct("<I")
_KEYS = {str, int, float, bool, type(None)}  # to look at a tuple of tuples may take a stack, or a time, without an end
_LONGEST_NUMBER = 9  # bytes of an instruction that is not a text


def filled_dicts(content: bytes) -> Iterator[dict[Any, Any]]:
    """Each dict of a pickle as soon as it is filled, inner ones first.

    Raises ValueError where the pickle is cut, damaged, or holds more than plain containers.
    """
    reader = _Reader(content)
    try:
        yield from reader.dicts()
    except (IndexError, KeyError, AttributeError, TypeError, OverflowError, UnicodeError, error) as reason:
        is_cut = len(content) - reader.at < _LONGEST_NUMBER or isinstance(reason, OverflowError)
        raise ValueError(f"the pickle is {'cut' if is_cut else f'damaged ({type(reason).__name__})'}") from None


class _Reader:
    """The stack, the marks on it and the memo of a pickle that is read."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.at = 0
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}

    def dicts(self) -> Iterator[dict[Any, Any]]:
        content, stack, memo = self.content, self.stack, self.memo
        code = content[self.at]
        while code != _STOP:
            at = self.at + 1
            if take := _TAKES[code]:
                value, self.at = take(content, at)
                stack.append(value)
            elif code == _MEMOIZE:
                memo[len(memo)] = stack[-1]
                self.at = at
            elif code == _BINGET:
                stack.append(memo[content[at]])
                self.at = at + 1
            elif code == _LONG_BINGET:
                self._load_row()
            elif code in (_SETITEM, _SETITEMS):
                items = self._taken(2 if code == _SETITEM else None)
                if not {*map(type, items[::2])} <= _KEYS:
                    raise ValueError("the pickle holds a dict whose keys are neither texts nor numbers")
                filled = stack[-1]
                filled.update(zip(items[::2], items[1::2], strict=True))
                self.at = at
                yield filled
            else:
                self._other(code, at)
            code = content[self.at]

    def _load_row(self) -> None:
        row = _LOADS.match(self.content, self.at)
        if not row:
            raise OverflowError
        memo = self.memo
        self.stack += [memo[place] for place in chain.from_iterable(iter_unpack("<xI", row[0]))]
        self.at = row.end()

    def _taken(self, count: int | None) -> list[Any]:
        """Takes values from the stack: so many, or those above the last mark."""
        stack = self.stack
        start = self.marks.pop() if count is None else len(stack) - count
        if not 0 <= start <= len(stack) or (count and self.marks and start < self.marks[-1]):
            raise IndexError
        items = stack[start:]
        del stack[start:]
        return items

    def _other(self, code: int, at: int) -> None:
        stack = self.stack
        self.at = at
        if code == _MARK:
            self.marks.append(len(stack))
        elif code in (_APPEND, _APPENDS):
            items = self._taken(1 if code == _APPEND else None)
            stack[-1].extend(items)
        elif code in _OF_TUPLE or code == _TUPLE:
            stack.append(tuple(self._taken(_OF_TUPLE.get(code))))
        elif code == _BINPUT:
            self.memo[self.content[at]] = stack[-1]
            self.at += 1
        elif code == _LONG_BINPUT:
            self.memo[_COUNT.unpack_from(self.content, at)[0]] = stack[-1]
            self.at += 4
        elif code == _PROTO:
            self.at += 1
        elif code == _FRAME:
            self.at += 8
        else:
            raise ValueError(f"the pickle contains more than plain containers ({_name_of(code)})")


def _number(form: str) -> _Take:
    of = Struct(form)
    return lambda content, at: (of.unpack_from(content, at)[0], at + of.size)


def _text(form: str) -> _Take:
    of = Struct(form)

    def take(content: bytes, at: int) -> tuple[str, int]:
        start = at + of.size
        end = start + int(of.unpack_from(content, at)[0])
        if end > len(content):
            raise OverflowError
        return content[start:end].decode("utf-8", "surrogatepass"), end

    return take


def _long(content: bytes, at: int) -> tuple[int, int]:
    end = at + 1 + content[at]
    return int.from_bytes(content[at + 1 : end], "little", signed=True), end


def _constant(value: Any) -> _Take:
    return lambda content, at: (value, at)


def _empty(kind: type) -> _Take:
    return lambda content, at: (kind(), at)


def _name_of(code: int) -> str:
    """What Python calls an instruction."""
    import pickletools  # a long list, which only a refusal needs

    return next((operation.name for operation in pickletools.opcodes if ord(operation.code) == code), str(code))


_TAKES: list[_Take | None] = [None] * 256
_TAKES[ord("\x8a")] = _long
for _code, _form in _NUMBERS.items():
    _TAKES[ord(_code)] = _number(_form)
for _code, _form in _TEXTS.items():
    _TAKES[ord(_code)] = _text(_form)
for _code, _value in _CONSTANTS.items():
    _TAKES[ord(_code)] = _constant(_value)
for _code, _kind in _CONTAINERS.items():
    _TAKES[ord(_code)] = _empty(_kind)
