"""`scalelens.toml`, the sidecar: facts about the logs in its folder and below that the logs do not contain.

    templates = ["{system}/{precision}/n{nodes}"]            facts and labels in the names of folders and files
    runs = ["logs/train-{job}.out", "power/{job}/*"]         files with equal named parts are one run
    tz = "Europe/Berlin"                                     zone of times without one
    [facts]                                                  columns of `runs`
    devices_per_node = 8
    [labels]                                                 anything else
    cooling = "water"
    [numbers]                                                for `scalelens numbers`; not read here
    effFull = "scaling.efficiency[devices=256]"
    [figure.scaling]                                         settings of a figure; `plot` reads and checks them
    width = "ieee-single"

Paths are relative to the sidecar's folder.  If several sidecars are above a file, the nearest takes precedence, key by
key.  Within one, a template takes precedence over [facts] and [labels].  A line that cannot be understood is a fault;
the rest counts.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from scalelens.runs.sidecar_values import fact_text, in_message, is_zone, label_text, normalized, suggestion
from scalelens.runs.templates import Template, compiled

SIDECAR_NAME = "scalelens.toml"
SIDECAR_LIMIT_BYTES = 1 << 20
KEYS = ("templates", "runs", "tz", "facts", "labels", "numbers", "figure")
_IN_ARCHIVE = re.compile(r"(\.tar(?:\.(?:gz|zst|xz|bz2))?|\.tgz)!")

_AddFault = Callable[[int, str], None]  # takes a line and what is wrong with it


class _Fault(NamedTuple):
    """A line of a sidecar that is not understood, and why."""

    path: str
    line: int
    reason: str
    text: str  # of the line

    def __str__(self) -> str:
        return f"{self.path}, line {self.line}: {self.reason}"


class Statement(NamedTuple):
    """A fact or label, and the sidecar and line that state it."""

    value: str
    is_int: bool  # written as an integer
    path: str
    line: int
    origin: str = "sidecar"


class NamedRun(NamedTuple):
    """What identifies a run: the sidecar that names it, and the named parts of its template with their values."""

    sidecar: str
    values: tuple[tuple[str, str], ...]


class _Sidecar(NamedTuple):
    """One sidecar."""

    path: str
    templates: tuple[Template, ...] = ()
    runs: tuple[Template, ...] = ()
    always: Mapping[str, Statement] = {}  # facts and labels of all files
    zone: str | None = None
    figures: Mapping[str, Mapping[str, Any]] = {}

    @property
    def statement_count(self) -> int:
        """Number of templates, facts and labels; the time zone counts as one."""
        return len(self.templates) + len(self.runs) + len(self.always) + bool(self.zone)

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]

    def inside(self, path: str) -> str:
        """A path relative to the folder; an archive counts as a folder."""
        return _IN_ARCHIVE.sub(r"\1/", path.removeprefix(self.folder + "/"))

    def fit(self, path: str) -> tuple[Template, dict[str, str]] | None:
        """The first template that fits a file, and the values of its named parts."""
        inside = self.inside(path)
        fits = ((template, template.match(inside)) for template in self.templates)
        return next(((template, values) for template, values in fits if values is not None), None)

    def statements_on(self, path: str) -> dict[str, Statement]:
        """Facts and labels of a file."""
        template, values = self.fit(path) or (None, {})
        in_path = {
            name: Statement(normalized(name, value), template.kinds[name] in ("int", "count"), self.path, template.line)
            for name, value in values.items()
            if template
        }
        return {**self.always, **in_path}

    def run_of(self, path: str) -> NamedRun | None:
        """What identifies the run of a file; None if no template of `runs` fits it."""
        inside = self.inside(path)
        fits = (template.match(inside) for template in self.runs)
        values = next((values for values in fits if values is not None), None)
        return None if values is None else NamedRun(self.path, tuple(sorted(values.items())))


class Sidecars:
    """All sidecars of a warehouse or a folder, and what is wrong with them."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.faults: list[_Fault] = []
        self.by_folder: dict[str, _Sidecar] = {}
        for path, text in sorted(texts.items()):
            sidecar, faults = sidecar_of(path, text)
            self.faults += faults
            self.by_folder[sidecar.folder] = sidecar

    def over(self, path: str) -> Iterator[_Sidecar]:
        """Sidecars in and above the folder of a file, the nearest first."""
        end = len(path)
        while self.by_folder and (end := path.rfind("/", 0, end)) >= 0:
            if sidecar := self.by_folder.get(path[:end]):
                yield sidecar

    def statements_on(self, path: str) -> dict[str, Statement]:
        """Facts and labels of a file, each from the nearest sidecar that has it."""
        statements: dict[str, Statement] = {}
        for sidecar in self.over(path):
            statements = {**sidecar.statements_on(path), **statements}
        return statements

    def run_of(self, path: str) -> NamedRun | None:
        """What identifies the run of a file, from the nearest sidecar that does."""
        runs = (sidecar.run_of(path) for sidecar in self.over(path))
        return next((run for run in runs if run is not None), None)

    def zone_of(self, path: str) -> str | None:
        """Time zone for times of a file that have none."""
        return next((sidecar.zone for sidecar in self.over(path) if sidecar.zone), None)


def sidecar_of(path: str, text: str) -> tuple[_Sidecar, list[_Fault]]:
    """A sidecar from its text, and what is wrong with it."""
    lines = text.split("\n")
    faults: list[_Fault] = []

    def fault(line: int, reason: str) -> None:
        faults.append(_Fault(path, line, reason, lines[line - 1].strip() if line <= len(lines) else ""))

    import tomllib  # many warehouses have no sidecar

    content: dict[str, Any] = {}
    try:
        if len(text) > SIDECAR_LIMIT_BYTES:
            raise ValueError("it is larger than 1 MB")
        content = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        where = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)$", str(error))
        reason = str(error)[: where.start()] if where else str(error)
        fault(int(where[1] or len(lines)) if where else 1, f"not TOML: {reason}")
    for key in content:
        if key not in KEYS:
            fault(_line_of(lines, key), f"'{key}' is not a key of a sidecar; {suggestion(key, KEYS)}")
    zone = content.get("tz")
    if zone is not None and not is_zone(zone):
        fault(_line_of(lines, "tz"), f"unknown time zone {in_message(zone)}; use a name such as Europe/Berlin or UTC")
        zone = None
    templates, runs = (_templates_of(content.get(key, []), key, lines, fault) for key in ("templates", "runs"))
    always = {
        key: Statement(value, is_int, path, line)
        for table in ("facts", "labels")
        for key, value, is_int, line in _constants_of(content.get(table, {}), table, lines, fault)
    }
    figures = content.get("figure", {})
    if not isinstance(figures, dict) or not all(isinstance(table, dict) for table in figures.values()):
        fault(_line_of(lines, "figure"), "figure is not a table of tables; write [figure.NAME]")
        figures = {}
    return _Sidecar(path, tuple(templates), tuple(runs), always, zone, figures), faults


def _templates_of(given: Any, key: str, lines: list[str], fault: _AddFault) -> list[Template]:
    """Templates of the list `key`."""
    if not isinstance(given, list) or not all(isinstance(text, str) for text in given):
        fault(_line_of(lines, key), f'{key} is not a list of texts; write {key} = ["..."]')
        return []
    templates = []
    for text in given:
        holding = (k for k, line in enumerate(lines, 1) if text and text in line and line.lstrip()[:1] != "#")
        line = next(holding, _line_of(lines, key))
        try:
            templates.append(compiled(text, line))
        except ValueError as error:
            fault(line, str(error))
    return templates


def _constants_of(given: Any, table: str, lines: list[str], fault: _AddFault) -> Iterator[tuple[str, str, bool, int]]:
    """Facts or labels in a table: name, value as text, whether it is an integer, line."""
    if not isinstance(given, dict):
        fault(_line_of(lines, table), f"{table} is not a table; write [{table}], and key = value below it")
        return
    for key, value in given.items():
        line = _line_of(lines, key, table)
        try:
            text = fact_text(key, value) if table == "facts" else label_text(key, value)
            yield key, text, isinstance(value, int) and not isinstance(value, bool), line
        except ValueError as error:
            fault(line, str(error))


def _line_of(lines: list[str], key: str, table: str = "") -> int:
    """Line of a key, found by a search because tomllib does not report lines."""
    inside = ""
    word = re.escape(key)
    for number, line in enumerate(lines, 1):
        if header := re.match(r"\s*\[+\s*[\"']?([^\]\"']*?)[\"']?\s*\]", line):
            inside = header[1]
            if not table and re.match(rf"{word}(?:\W|$)", inside):
                return number
        elif inside == table and re.match(rf"\s*[\"']?{word}[\"']?\s*[=.]", line):
            return number
    named = (k for k, line in enumerate(lines, 1) if re.search(rf"(?<!\w){word}(?!\w)", line.partition("#")[0]))
    return next(named, _line_of(lines, table) if table else 1)
