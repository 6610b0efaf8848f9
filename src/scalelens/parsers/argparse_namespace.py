"""The settings of a training, as `print(args)` shows them.

Tool: Python's argparse and types.SimpleNamespace, in scripts that print what they were called with
Versions: any
Yields: params
Source: cpython Lib/argparse.py, _AttributeHolder.__repr__(); Lib/types.py, SimpleNamespace

Each value becomes a row of `params` under its own name; lists, None and objects are passed over.  What `runs` asks for
gets its name there where the setting can mean nothing else, and nothing else of the file says it.  A `world_size` is
passed over: many scripts count nodes in it, or leave its default.

Settings belong to the step records that follow them.  A file without such records gives none: it may have prepared the
data, or evaluated a model.  Each rank may print its settings; those that only tell the ranks apart are left out.  A
setting in which the launches of one file differ is not used, and a problem names it.  A file with several runs gives
none, since nothing tells whose settings they are.

Samples:
    Namespace(model='resnet50', batch_size=64, lr=0.1, betas=[0.9, 0.999], amp=True, resume=None)
    2026-01-02 03:04:05,678 - INFO - Namespace(arch='vit_b_16', epochs=90, local_rank=0, output_dir='out')
    args: namespace(data=namespace(root='data', workers=8), seed=1)
"""

import ast
from collections.abc import Iterator
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.configurations import write_configuration
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 1
ANCHORS = ("Namespace(", "namespace(")
SETTINGS_ALONE = True  # a text of which no other format takes a line is asked about as if these were not there

_HEAD = re.compile(r"(?<!\w)(?<!Experiment args: )(?:Simple)?[Nn]amespace\(")  # those are of cscs_course
_NAME = re.compile(r"\s*([A-Za-z_]\w*)=")
_PLAIN = re.compile(r"[^'\"()\[\]{}<>,]*")
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_LONGEST = 50_000  # characters of a line
_MOST_LAUNCHES = 1_000  # settings that are kept of one file
_DEEPEST = 20
_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}
_OF_A_RANK = {
    "local_rank", "rank", "gpu", "gpu_id", "node_rank", "global_rank", "device", "is_master", "world_size",
}  # fmt: skip
_MOST_NAMED = 5


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.printed: list[tuple[int, dict[str, Any]]] = []  # line and settings

    def take(self, line: Line) -> bool:
        head = _HEAD.search(line.text) if len(line.text) <= _LONGEST else None
        settings = _settings_of(line.text, head.end()) if head else {}
        if settings and len(self.printed) < _MOST_LAUNCHES:
            self.printed.append((line.number, settings))
        return bool(settings)

    def conclude(self) -> None:
        followed = [one for one in self.printed if one[0] < self.rows.last_step_line]
        if not followed or self.rows.part:
            return
        first, settings = followed[0]
        differing: dict[str, int] = {}  # names, each with the first line that says otherwise
        for line, others in followed[1:]:
            for key in settings.keys() & others.keys():
                if settings[key] != others[key]:
                    differing.setdefault(key, line)
        if differing:
            names = sorted(differing)
            more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
            named = f"{', '.join(names[:_MOST_NAMED])}{more}"
            self.rows.problem(
                min(differing.values()), f"the settings that this file prints differ in {named}: not used"
            )
        settings = {key: value for key, value in settings.items() if key not in differing}
        write_configuration(settings, self.rows, first, known={*self.rows.params})


def _settings_of(text: str, start: int, depth: int = 0) -> dict[str, Any]:
    """Names and values of a namespace whose bracket opens before `start`; those of nested ones with their names."""
    settings: dict[str, Any] = {}
    for name, value in _pairs(text, start):
        if name in _OF_A_RANK:
            continue
        head = _HEAD.match(value)
        if head and depth < _DEEPEST:
            settings[name] = _settings_of(value, head.end(), depth + 1)
        elif (plain := _value_of(value)) is not None:
            settings[name] = plain
    return settings


def _pairs(text: str, start: int) -> Iterator[tuple[str, str]]:
    """Each name with the text of its value, up to the closing bracket.  The last value of a line that is cut is left out."""
    while name := _NAME.match(text, start):
        end = _end_of_value(text, name.end())
        if end is None:
            return
        yield name[1], text[name.end() : end].strip()
        if text[end] != ",":
            return
        start = end + 1


def _end_of_value(text: str, start: int) -> int | None:
    """Where the comma or the bracket stands that ends a value; None where the line ends before."""
    place, closing = start, list[str]()
    while (place := _PLAIN.match(text, place).end()) < len(text):  # type: ignore[union-attr]
        mark = text[place]
        if mark in "'\"" and (quoted := _QUOTED.match(text, place)):
            place = quoted.end()
            continue
        if not closing and mark in ",)":
            return place
        if closing and mark == closing[-1]:
            closing.pop()
        elif mark in _CLOSING:
            closing.append(_CLOSING[mark])
        place += 1
    return None


def _value_of(text: str) -> str | int | float | bool | None:
    """A plain value: a word that is quoted, a number, True or False."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return value if isinstance(value, str | int | float) else None
