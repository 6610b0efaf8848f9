"""`scalelens.toml`: what a user says of the logs in its folder and below that they do not say themselves.

    templates = ["{system}/{precision}/n{nodes}"]            facts and labels in the names of folders and files
    runs = ["logs/train-{job}.out", "power/{job}/*"]         files of which the named parts are equal are one run
    tz = "Europe/Berlin"                                     zone of times that name none
    [facts]                                                  columns of `runs`
    devices_per_node = 8
    [labels]                                                 anything else
    cooling = "water"

Paths are relative to the sidecar's folder.  A sidecar nearer to a file has the last word, key by key, and within one
a template before [facts] and [labels].  What holds counts, what does not is a fault with its line.
"""

import difflib
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime, time
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from scalelens.runs.templates import FACTS, LABEL, WORDS, Template, compiled

NAME = "scalelens.toml"
LIMIT = 1 << 20  # bytes; no sidecar is larger
KEYS = ("templates", "runs", "tz", "facts", "labels")
Complain = Callable[[int, str], None]  # told of a line and what is wrong with it

LARGEST_COUNT = 10**9 - 1
IN_ARCHIVE = re.compile(r"(\.tar(?:\.(?:gz|zst|xz|bz2))?|\.tgz)!")


class Fault(NamedTuple):
    """What a sidecar says that is not understood."""

    path: str
    line: int
    reason: str
    text: str  # of the line

    def __str__(self) -> str:
        return f"{self.path}, line {self.line}: {self.reason}"


class Said(NamedTuple):
    """A fact or label, and where it is said."""

    value: str
    is_int: bool
    path: str
    line: int
    origin: str = "sidecar"


class Sidecar(NamedTuple):
    """One file."""

    path: str
    templates: tuple[Template, ...] = ()
    runs: tuple[Template, ...] = ()
    always: Mapping[str, Said] = {}  # facts and labels that hold for all files
    zone: str | None = None

    @property
    def statements(self) -> int:
        """How many things it says."""
        return len(self.templates) + len(self.runs) + len(self.always) + bool(self.zone)

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]

    def inside(self, path: str) -> str:
        """A path as seen from the folder; an archive is a folder too."""
        return IN_ARCHIVE.sub(r"\1/", path.removeprefix(self.folder + "/"))

    def fit(self, path: str) -> tuple[Template, dict[str, str]] | None:
        """The first template that fits a file, and the values of its named parts."""
        inside = self.inside(path)
        fits = ((template, template.match(inside)) for template in self.templates)
        return next(((template, values) for template, values in fits if values is not None), None)

    def said_of(self, path: str) -> dict[str, Said]:
        """Facts and labels of a file."""
        template, values = self.fit(path) or (None, {})
        named = {
            name: Said(worded(name, value), template.kinds[name] in ("int", "count"), self.path, template.line)
            for name, value in values.items()
            if template
        }
        return {**self.always, **named}

    def run_of(self, path: str) -> tuple[tuple[str, str], ...] | None:
        """What names the run that a file belongs to, None where the sidecar does not say."""
        inside = self.inside(path)
        named = next((found for one in self.runs if (found := one.match(inside)) is not None), None)
        return None if named is None else tuple(sorted(named.items()))


class Sidecars:
    """All sidecars of a warehouse or a folder, by path, and what is wrong with them."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.faults: list[Fault] = []
        self.by_folder: dict[str, Sidecar] = {}
        for path, text in sorted(texts.items()):
            sidecar, faults = sidecar_of(path, text)
            self.faults += faults
            self.by_folder[sidecar.folder] = sidecar

    def over(self, path: str) -> Iterator[Sidecar]:
        """Sidecars in and above the folder of a file, the nearest first."""
        end = len(path)
        while self.by_folder and (end := path.rfind("/", 0, end)) >= 0:
            if sidecar := self.by_folder.get(path[:end]):
                yield sidecar

    def said_of(self, path: str) -> dict[str, Said]:
        """Facts and labels of a file: of each the nearest sidecar's."""
        said: dict[str, Said] = {}
        for sidecar in self.over(path):
            said = {**sidecar.said_of(path), **said}
        return said

    def run_of(self, path: str) -> tuple[Any, ...] | None:
        """What names the run of a file, with the sidecar that says so."""
        named = ((sidecar.path, sidecar.run_of(path)) for sidecar in self.over(path))
        return next((one for one in named if one[1] is not None), None)

    def zone_of(self, path: str) -> str | None:
        """Zone of the naive times of a file."""
        return next((sidecar.zone for sidecar in self.over(path) if sidecar.zone), None)


def sidecar_of(path: str, text: str) -> tuple[Sidecar, list[Fault]]:
    """A sidecar, and what is wrong with it: the rest counts."""
    lines = text.split("\n")
    faults: list[Fault] = []

    def fault(line: int, reason: str) -> None:
        faults.append(Fault(path, line, reason, lines[line - 1].strip() if line <= len(lines) else ""))

    whole: dict[str, Any] = {}
    try:
        if len(text) > LIMIT:
            raise ValueError("it is larger than 1 MB")
        whole = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        at = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)$", str(error))
        fault(int(at[1] or len(lines)) if at else 1, "not TOML: " + (str(error)[: at.start()] if at else str(error)))
    for key in whole:
        if key not in KEYS:
            fault(line_of(lines, key), f"'{key}' is no key of a sidecar; {suggestion(key, KEYS)}")
    zone = whole.get("tz")
    if zone is not None and not is_zone(zone):
        fault(line_of(lines, "tz"), f"there is no time zone {shown(zone)}; name one such as Europe/Berlin or UTC")
        zone = None
    templates, runs = (templates_of(whole.get(key, []), key, lines, fault) for key in ("templates", "runs"))
    always = {
        key: Said(value, is_int, path, line)
        for table in ("facts", "labels")
        for key, value, is_int, line in constants_of(whole.get(table, {}), table, lines, fault)
    }
    return Sidecar(path, tuple(templates), tuple(runs), always, zone), faults


def templates_of(given: Any, key: str, lines: list[str], fault: Complain) -> list[Template]:
    """Templates of a list."""
    if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
        fault(line_of(lines, key), f'{key} is no list of texts; write {key} = ["..."]')
        return []
    templates = []
    for one in given:
        quoted = (k for k, other in enumerate(lines, 1) if one and one in other and other.lstrip()[:1] != "#")
        line = next(quoted, line_of(lines, key))
        try:
            templates.append(compiled(one, line))
        except ValueError as error:
            fault(line, str(error))
    return templates


def constants_of(given: Any, table: str, lines: list[str], fault: Complain) -> Iterator[tuple[str, str, bool, int]]:
    """Facts or labels of a table: name, value, whether it is a whole number, line."""
    if not isinstance(given, dict):
        fault(line_of(lines, table), f"{table} is no table; write [{table}], and key = value below it")
        return
    for key, value in given.items():
        line = line_of(lines, key, table)
        try:
            checked = fact(key, value) if table == "facts" else label(key, value)
            yield key, checked, isinstance(value, int) and not isinstance(value, bool), line
        except ValueError as error:
            fault(line, str(error))


def fact(key: str, value: Any) -> str:
    """Value of a fact as text.  Raises ValueError for what is none."""
    if key not in FACTS:
        raise ValueError(f"'{key}' is no fact; {suggestion(key, tuple(FACTS))}, or put it under [labels]")
    kind = FACTS[key]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind == "text":
        if not isinstance(value, str) or not value.strip():
            raise ValueError(f'{key} is no text: {shown(value)}; write {key} = "..."')
        if key in WORDS and value not in WORDS[key]:
            raise ValueError(f"{key} is {shown(value)}; it is one of {' '.join(WORDS[key])}")
        return worded(key, value)
    if kind == "count" and not (is_number and isinstance(value, int) and 0 < value <= LARGEST_COUNT):
        raise ValueError(f"{key} is no whole number above 0: {shown(value)}")
    if not is_number or not 0 < value < 1e300:
        raise ValueError(f"{key} is no number above 0: {shown(value)}")
    return str(value)


def label(key: str, value: Any) -> str:
    """Value of a label as text.  Raises ValueError for what is none."""
    if key in FACTS:
        raise ValueError(f"'{key}' is a fact, no label; put it under [facts]")
    if not LABEL.fullmatch(key):
        raise ValueError(f"'{key}' is no name of a label; take lower-case letters, digits and _")
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str | int | float | date | datetime | time) or not str(value).strip():
        raise ValueError(f"the label {key} is no text or number: {shown(value)}")
    return str(value)


def worded(key: str, value: str) -> str:
    """A text as the formats write it: precisions are bf16 and fp32, not BF16."""
    return value.lower() if key == "precision" else value


def suggestion(key: str, known: tuple[str, ...]) -> str:
    near = difflib.get_close_matches(key, known, 1)
    return f"write '{near[0]}'" if near else f"take one of {', '.join(known)}"


def shown(value: Any) -> str:
    if isinstance(value, int) and abs(value) > 10**18:
        return "a number of that size"  # Python refuses to print the longest
    return f"'{value}'" if isinstance(value, str) else str(value)[:60]


def is_zone(name: Any) -> bool:
    """Whether there is a time zone of that name."""
    try:
        return isinstance(name, str) and bool(name) and ZoneInfo(name) is not None
    except (KeyError, ValueError, OSError):
        return False


def line_of(lines: list[str], key: str, table: str = "") -> int:
    """Line of a key, by search: tomllib does not tell."""
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
    return next(named, line_of(lines, table) if table else 1)
