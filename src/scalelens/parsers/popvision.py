"""Reports of PopVision and Poplar: known, and read as far as that goes without Graphcore's SDK.

Tool: PopVision, Poplar (autoReport), PopTorch, PopART
Versions: Poplar SDK 1.4 to 3.3
Yields: params; else a problem that says what would read it
Source: PopVision Analysis Library (libpva), its documentation

framework.json and app.json give params `popvision.*`.  archive.a is an archive of binaries, one for each tile: their
number and size; a library is an archive as well, with other members, and is passed over.  Those two are known by
their content, the others by their names: profile.pop, debug.cbor and .pvti need the SDK:
`scalelens.parsers.popvision_events` reads what the script in docs/popvision.md writes of them where `import pva` works.

Samples:
    {"popvision": {"version": "3.3"}, "poptorch": {"version": "3.3.0"}}
"""

import json
import sqlite3
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import HEAD, Source
from scalelens.parsing.sqlite_file import MAGIC, sqlite_database

VERSION = 2

_ARCHIVE = b"!<arch>\n"
_OF_A_TILE = re.compile(rb"tile\d{1,5}\.elf/")
_KEYS = re.compile(rb'"(?:poptorch|popart|popxl|popvision|poplar(?:_?[Vv]ersion)?)"\s*:')
_SUFFIXES = {
    "pvti": (".pvti",), "profile": ("profile.pop", "serialized_graph.capnp"), "cbor": ("debug.cbor",),
}  # fmt: skip
_NEEDS_SDK = "needs Graphcore's SDK: docs/popvision.md has a script that exports it where `import pva` works"
_LIMIT = 1 << 20
_LONGEST_PATH = 500  # letters of the names around a value


def recognise(head: bytes, name: str) -> bool:
    return _kind(head, name) is not None


def _kind(head: bytes, name: str) -> str | None:
    """What a file is, from its content; the files that only the SDK reads have no sign that is known, but a name."""
    if head.startswith(_ARCHIVE) and (_OF_A_TILE.search(head) or name == "archive.a"):  # libraries are archives as well
        return "archive"
    if head.lstrip()[:1] == b"{" and _KEYS.search(head) and b'"traceEvents"' not in head:
        return "json"
    return next((what for what, suffix in _SUFFIXES.items() if name.endswith(suffix)), None)


def read(source: Source, rows: Rows) -> str | None:
    head = b""
    for block in source.utf8():
        head += block
        if len(head) >= HEAD:
            break
    what = _kind(head[:HEAD], source.name) or ""
    if what == "archive":
        _archive(source, rows)
    elif what == "json":
        _description(source, rows)
    elif head.startswith(MAGIC):
        _tables(source, rows)
    else:
        rows.problem(None, f"{_NAMES[what]} {_NEEDS_SDK}")
    return _NAMES[what]


_NAMES = {
    "archive": "binaries of an IPU's tiles", "json": "PopVision's description of a program", "pvti": "PopVision's trace",
    "profile": "Poplar's profile", "cbor": "Poplar's debug information",
}  # fmt: skip


def _archive(source: Source, rows: Rows) -> None:
    """An ar archive: names and sizes of its members."""
    content = source.text()
    at, count, size = len(_ARCHIVE), 0, 0
    while at + 60 <= len(content):
        header = content[at : at + 60]
        length = header[48:58].strip()
        if header[58:60] != b"`\n" or not re.fullmatch(rb"\d{1,12}", length):
            rows.problem(None, f"the archive is damaged after {count} members")
            return
        if not header.startswith(b"/"):  # the tables of names and symbols
            count, size = count + 1, size + int(length)
        at += 60 + int(length) + int(length) % 2
    if at > len(content) + 1:
        rows.problem(None, "the archive is cut")
    rows.param("popvision.binaries", count)
    rows.param("popvision.binary_bytes", size, unit="bytes")


def _description(source: Source, rows: Rows) -> None:
    """framework.json or app.json: numbers and short texts, by their path."""
    try:
        content = json.loads(source.text()[: 16 * _LIMIT])
    except (ValueError, RecursionError):
        rows.problem(None, "the description is cut, or its JSON is damaged")
        return
    waiting: list[tuple[str, Any]] = [("popvision", content)]
    for _ in range(1000):
        if not waiting:
            break
        path, value = waiting.pop(0)
        if isinstance(value, dict) and len(path) <= _LONGEST_PATH:
            waiting += [(f"{path}.{key}", inner) for key, inner in value.items()]
        elif isinstance(value, str | int | float) and len(str(value)) <= 200:
            rows.param(path, value)


def _tables(source: Source, rows: Rows) -> None:
    """A trace that is a database: its layout is not public, so that its tables are named and no more."""
    try:
        with sqlite_database(source) as database:
            names = sorted(database.columns)
    except sqlite3.Error as error:
        rows.problem(None, f"the database is damaged ({error})")
        return
    rows.problem(None, f"PopVision's trace (tables {', '.join(names) or 'none'}) {_NEEDS_SDK}")
