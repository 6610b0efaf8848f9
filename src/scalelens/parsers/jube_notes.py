"""JUBE's notes on a benchmark, which hold no number that its results lack.

Tool: JUBE
Versions: JUBE 2.0 to 2.7
Yields: nothing; a note in `files`
Source: jube/benchmark.py, jube/log.py, jube/conf.py

configuration.xml and the benchmark's own script (XML or YAML), timestamps, done, and the logs of its commands: run.log,
parse.log, analyse.log, result.log.  Times in them are local and of the benchmark as a whole, not of a run.

Samples:
    [2026-11-21 05:25:40,727]:DEBUG: Command: jube run benchmark.yaml
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source

VERSION = 1

_STAMP = rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"
_KINDS = (  # a text that each of them holds, where it is found faster than its pattern; the pattern; the note
    (b"<jube", re.compile(rb"\s*(?:<\?[^>]*>\s*|<!--.*?-->\s*)*<jube[\s>]", re.DOTALL), "a JUBE benchmark's configuration: its values are in workpackages.xml"),
    (b"outpath:", re.compile(rb"(?=.*^outpath:)(?=.*^(?:parameterset|step):).*^name:", re.DOTALL | re.MULTILINE), "a JUBE benchmark's script: its values are in workpackages.xml"),
    (b"start: ", re.compile(rb"start: " + _STAMP + rb"\s+(?:change: " + _STAMP + rb"\s*)?\Z"), "JUBE's time stamps of a benchmark, in local time"),
    (b"", re.compile(_STAMP + rb"\s*\Z"), "JUBE's mark of a finished step, in local time"),
    (b"]:", re.compile(rb"\[" + _STAMP + rb",\d{3}\]:[A-Z]+: (?:Command: jube|Create initial workpackages|No data found for analyser|Run analyser|[ #]*benchmark:|Version: )"), "JUBE's log of its own commands: results are in analyse.xml and result/"),
)  # fmt: skip


def recognise(head: bytes, name: str) -> bool:
    return _note_of(head[:4096]) is not None


def _note_of(head: bytes) -> str | None:
    return next((note for sign, kind, note in _KINDS if sign in head and kind.match(head)), None)


def read(source: Source, rows: Rows) -> str:
    return _note_of(source.text_head()[:4096]) or "JUBE's own"
