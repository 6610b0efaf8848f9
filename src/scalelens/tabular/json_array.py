"""Records of a JSON array of objects, as scripts write them: `[{"nodes": 1, "step_time_s": 0.31}]`."""

import codecs
import functools
import json
from collections.abc import Iterator
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.source import HEAD, Source
from scalelens.parsing.values import number
from scalelens.tabular.cells import TableRecord, nested_values

_LONGEST_OBJECT = 1 << 20  # characters
_BEGIN = re.compile(r"\ufeff?\s*\[\s*(?=\{)")
_BETWEEN = re.compile(r"\s*,\s*")
_SOMETHING = re.compile(r"\S")
_END = re.compile(r"\s*\]\s*\Z")
_DECODER = json.JSONDecoder()
_CUT = "the array is cut or damaged here: everything before is kept"


@functools.lru_cache(maxsize=1)
def array_header(head: bytes) -> tuple[str, ...]:
    """Names in the first object of an array where it holds numbers; else nothing."""
    text = head.decode("utf-8", "replace")
    begin = _BEGIN.match(text)
    first = _decoded(text, begin.end()) if begin else None
    if first is None or not isinstance(first[0], dict):
        return ()
    values = dict(nested_values(first[0]))
    return tuple(values) if any(number(value) is not None for value in values.values()) else ()


def _decoded(text: str, start: int) -> tuple[Any, int] | None:
    """What stands at a position, and where it ends; None where it is not whole."""
    try:
        return _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None


def array_records(source: Source) -> Iterator[TableRecord]:
    """Records of an array, each with the line in which it begins.  One block or object is held in memory."""
    blocks = codecs.iterdecode(source.utf8(), "utf-8", "replace")
    text = next(blocks, "")
    while not (begin := _BEGIN.match(text)) and len(text) < HEAD and (following := next(blocks, None)) is not None:
        text += following
    at = begin.end() if begin else 0
    line = 1 + text.count("\n", 0, at)
    while True:
        found = _decoded(text, at)
        while found is None or not _SOMETHING.search(text, found[1]):
            following = next(blocks, None) if len(text) - at < _LONGEST_OBJECT else None
            if following is None:
                break
            text, at = text[at:] + following, 0
            start = len(text) - len(text.lstrip())
            line, at = line + text.count("\n", 0, start), start
            found = _decoded(text, at)
        if found is None or not isinstance(found[0], dict):
            yield TableRecord(line, {}, _CUT, text[at : at + 200])
            return
        record, end = found
        yield TableRecord(line, dict(nested_values(record)), None, text[at:end])
        separator = _BETWEEN.match(text, end)
        if separator is None:
            if not _END.match(text, end):
                yield TableRecord(line + text.count("\n", at, end), {}, _CUT, text[end : end + 200])
            return
        line += text.count("\n", at, separator.end())
        at = separator.end()
