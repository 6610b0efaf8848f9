"""A JSON object in a line of a log, written out so that its numbers can be read like those of any line.

[09/15 10:04:08][INFO] {"_type": "train_iter", "epoch": "1/300", "loss": 5.1, "iter": "50/1000", "perf": {"dt": 0.6}}
[09/15 10:04:08][INFO] _type: train iter, epoch: 1/300, iter: 50/1000, loss: 5.1, perf/dt: 0.6
"""

import json
from collections.abc import Iterator
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.tabular.column_names import read_name

_LONGEST = 4_000  # characters of a line
_LONGEST_TEXT = 60  # of a value
_FOR_PROGRAMS = (":::MLLOG", "DLLL ")  # their steps follow from several lines, or are lists
_COUNTS = ("epoch", "step", "batch")
_HAS_DIGIT = re.compile(r"\d")
_STAMP = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d")


def json_written_out(text: str) -> str | None:
    """A line with its object written out: words first, then what counts, then what is measured; None without one."""
    start = text.find('{"')
    if start < 0 or len(text) > _LONGEST or any(mark in text for mark in _FOR_PROGRAMS):
        return None
    try:
        found, end = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    if text[end:].strip():
        return None  # what follows an object is not of it
    values = list(_values_in(found, ""))
    stamp = next((value for _, value in values if isinstance(value, str) and _STAMP.match(value)), "")
    words, counts, others = list[str](), list[str](), list[str]()
    for name, value in values:
        if isinstance(value, str) and not _HAS_DIGIT.search(value):
            words.append(f"{name}: {value.replace('_', ' ')}")
        elif value is not stamp:
            (counts if read_name(name).role in _COUNTS else others).append(f"{name}: {value}")
    counts.sort(key=lambda pair: not pair.lower().startswith("epoch"))
    return " ".join(part for part in (stamp, text[:start].rstrip(), ", ".join((*words, *counts, *others))) if part)


def is_record(text: str) -> bool:
    """Whether a line is an object that counts epochs or steps, and holds numbers and words without digits alone."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return False
    values = found.items() if isinstance(found, dict) else ()
    counts = any(read_name(name).role in _COUNTS and isinstance(value, int) for name, value in values)
    return counts and all(
        isinstance(value, int | float | None) or (isinstance(value, str) and not _HAS_DIGIT.search(value))
        for _, value in values
    )


def _values_in(found: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Numbers and short texts of an object and of those in it, with their names."""
    for key, value in found.items():
        name = f"{path}{key}"
        if isinstance(value, dict):
            yield from _values_in(value, f"{name}/")
        elif isinstance(value, str):
            if 0 < len(value) <= _LONGEST_TEXT and value.isprintable():
                yield name, value
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield name, value
