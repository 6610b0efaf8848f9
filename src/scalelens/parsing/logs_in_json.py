"""Logs that stand whole in a document of JSON, as scripts that launch others keep what these printed.

    {"runs": [{"command": "torchrun ...", "returncode": 0, "stdout": "step 10 loss 2.3\\nstep 20 loss 2.2\\n..."}]}

A text of a document is a log if it has several lines and some of them recur with other numbers.  A list of lines is
a text, too, and so is what a cell of a notebook printed.  Each log is read like a file in an archive, under the name
of its place in the document: `study.json!runs/0.out`.  The command that stands beside it is its first line.
"""

import io
import json
import re
import shlex
from collections import Counter
from collections.abc import Iterator
from typing import Any

from scalelens.parsing.source import Source

_MOST_BYTES = 64 << 20  # of a document
_MOST_LOGS = 1_000
_FEWEST_LINES, _RECUR = 5, 3
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_LINE_END = re.compile(r"\r\n|\r|\n")
_NO_NAME = re.compile(r"[^\w.+-]+")
_LONGEST_NAME = 80
_SUFFIXES = {"stdout": ".out", "stderr": ".err"}  # as a scheduler names the two outputs of one job
_SOURCES = ("source", "code", "script", "prompt", "config", "source_code")  # what a program is, not what it printed


def logs_in(source: Source) -> list[Source]:
    """The logs in a document, each under a name that no other has; none where it is too large or not JSON."""
    if source.size_bytes > _MOST_BYTES or source.text_head().lstrip()[:1] not in (b"{", b"["):
        return []
    try:
        document = json.loads(source.text())
        found = [*_logs_of(document, ())]
    except (ValueError, RecursionError):
        return []
    names: Counter[str] = Counter()
    logs = []
    for name, text in found[:_MOST_LOGS]:
        names[name] += 1
        unique = f"{name}-{names[name]}" if names[name] > 1 else name
        printed = text.encode("utf-8", "replace")
        logs.append(Source(f"{source.path}!{unique}", io.BytesIO(printed), len(printed), source.modified_ns))
    return logs


def _logs_of(value: Any, place: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """The logs in a value, with names."""
    if place[-1:] and place[-1].lower() in _SOURCES:
        return
    text = _text_of(value)
    if text is not None:
        if _is_log(text):
            yield _name_of(place), text
    elif isinstance(value, dict) and isinstance(cells := value.get("cells"), list):
        for number, cell in enumerate(cells, 1):
            if _is_log(printed := _printed_by(cell)):
                yield f"cell{number}.out", printed
    elif isinstance(value, dict | list):
        command = _command_in(value) if isinstance(value, dict) else ""
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            for name, text in _logs_of(part, (*place, str(key))):
                yield name, (command + text if _text_of(part) is not None else text)


def _command_in(run: dict[str, Any]) -> str:
    """The line of the command that an object states, as a text or as a list of its words; empty without one."""
    for key in ("command", "cmd"):
        stated = run.get(key)
        if isinstance(stated, list) and stated and all(isinstance(word, str) for word in stated):
            stated = shlex.join(stated)
        if isinstance(stated, str) and stated.strip() and not _LINE_END.search(stated.strip()):
            return f"Command: {stated.strip()}\n"
    return ""


def _text_of(value: Any) -> str | None:
    """A text, or the lines of one in a list; None for any other value."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(line, str) for line in value):
        return "".join(value) if any(line.endswith("\n") for line in value) else "\n".join(value) + "\n"
    return None


def _printed_by(cell: Any) -> str:
    """What a cell of a notebook printed."""
    outputs = cell.get("outputs") if isinstance(cell, dict) else None
    streams = (output for output in outputs or () if isinstance(output, dict) and output.get("output_type") == "stream")
    return "".join(_text_of(stream.get("text")) or "" for stream in streams)


def _is_log(text: str) -> bool:
    """Whether some lines of a text recur with other numbers."""
    lines = [line for line in _LINE_END.split(text) if line.strip()]
    forms = Counter(form for line in lines if (form := _NUMBER.sub("#", line)) != line)
    return len(lines) >= _FEWEST_LINES and max(forms.values(), default=0) >= _RECUR


def _name_of(place: tuple[str, ...]) -> str:
    """The name of a log by the keys that lead to it: `runs/0.out` for the standard output of a run."""
    parts = [_NO_NAME.sub("_", part)[:_LONGEST_NAME] or "_" for part in place]
    suffix = _SUFFIXES.get(parts[-1].lower()) if len(parts) > 1 else None
    return "/".join(parts[:-1]) + suffix if suffix else "/".join(parts) or "log"
