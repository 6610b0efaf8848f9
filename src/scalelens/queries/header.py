"""A query file: a comment header, which is its documentation page, and one SELECT.

    -- Steps slower than a limit.
    --
    -- Answers: Which steps took too long?
    --
    -- Sources: step_times
    --
    -- Parameters:
    --   slowest := 1.0    seconds
    --
    -- Columns:
    --   run_id    VARCHAR     run
    --   step_s    DOUBLE s    time of the step
    SELECT run_id, step_s FROM step_times WHERE step_s > slowest

Fields of a parameter or column are two spaces apart or more; a line indented further goes on with the last meaning.
Parameters that mean the same in every query stand beside the heading, `Parameters: runs, epochs, warmup, exclude`
(shared_parameters.py).  A source in brackets is read only where some parameter is given a text.  A query that is there
for other queries, not for people, has a heading `Helper:` that names them.  `Partition: run_id` says that the rows of a
run rest on this run alone, and stand together in the order of run_id: a large warehouse is then asked some of the runs
at a time; ten times as many with `Partition: run_id, light`, of a query that holds little of each row that it reads.
`Partition: run_id, unordered`, of a helper, says the first alone: where a session has its rows of all runs as a table,
those of some runs are read there.
`Needs: power, steps.energy_j` says that there are no rows where the one table is empty, and this column of the other:
the query is then not planned.
`Pays from: 10000 steps`, of a helper, says that its callers read elsewhere what it leaves out, and that up to so many
rows of a table planning it takes longer than it saves: with fewer it has no rows for those that call it.  With `of runs
without CONDITION` after it, a run counts only if the condition holds for none of its rows.
`When empty: not_compared metric=t_ep; no log times an epoch` gives a query that lists the reasons when there are no
rows, with its parameters, and a sentence to print if that has no rows either.  Either part may be left out.

`Glance` names the columns that a terminal and LaTeX show, the most important first; a share with % behind it is shown
in per cent.  Rows that differ only in columns with ~ behind them are shown as one, with the range of those.  A query
that computes a statistic says more below the headings `Formula`, `Reference`, `Assumptions` and `Limits`, in indented
lines: `scalelens explain` prints each of them as a part of its page.

    -- Glance: run_id devices step_s efficiency%
    --
    -- Formula:
    --   E = (W / t) / ((n / n0) (W0 / t0))
    --
    -- Limits: one run per size has no interval
"""

import os
import re
from collections.abc import Container, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from scalelens.errors import UserError
from scalelens.queries.shared_parameters import SHARED_PARAMETERS, Parameter

QUERIES_FOLDER = Path(__file__).parent
_BUILTIN = f"{QUERIES_FOLDER}{os.sep}"
NOTES = ("Formula", "Reference", "Assumptions", "Limits")  # what a header may say of a statistic
_QUERY_HEADINGS = (
    "Answers", *NOTES, "Glance", "When empty", "Helper", "Partition", "Needs", "Pays from", "Sources", "Parameters",
    "Columns",
)  # fmt: skip
_LIGHT, _UNORDERED = "run_id, light", "run_id, unordered"  # Partitions
_HEADING = re.compile(r"([A-Z]\w*(?: [a-z]+)?):(?: +(.*))?$")
_OLD_HEADINGS = {"Otherwise": "When empty"}  # of 1.0, for one version
_QUERY_NAME = re.compile(r"[a-z][a-z0-9_]*$")
_PARAMETER = re.compile(r"  (\w+) := (\S.*?)  +(\S.*)$")
_COLUMN = re.compile(r"  (\w+)  +([A-Z_]+(?:\[\])*)(?: (\S+))?  +(\S.*)$")
_CONTINUED = re.compile(r"   +(\S.*)$")


class QueryColumn(NamedTuple):
    name: str
    type: str  # as DuckDB names it
    unit: str | None
    meaning: str


class _LeastRows(NamedTuple):
    """From how many rows on something pays."""

    rows: int
    table: str
    spoiled_by: str | None = None  # a condition: rows of runs in which it holds for any row do not count


class Query(NamedTuple):
    name: str
    title: str
    is_helper: bool  # other queries read it; it is not a question of its own
    is_by_run: bool  # Partition, and in order
    is_unordered: bool  # of the Partition
    is_light: bool  # of the Partition
    needs: tuple[str, ...]  # tables, and columns of tables; it has no rows where none of them has a value
    pays_from: _LeastRows | None  # with fewer its callers are not given its rows
    when_empty: str | None  # query that says why this one has no rows: columns `reason` and `remedy`, same parameters
    settings_when_empty: Mapping[str, str]  # parameters of that query that it is asked with
    reason_when_empty: str | None  # why this one has no rows where no query says it
    sources: tuple[str, ...]
    optional: frozenset[str]  # the sources in brackets
    parameters: tuple[Parameter, ...]
    columns: tuple[QueryColumn, ...]
    glance: tuple[str, ...]  # columns to show, % behind a share; empty shows all
    answers: str  # text below `Answers:`, without its indentation
    notes: dict[str, str]  # the same of each of NOTES that the header has
    header: str  # the comment without its dashes
    sql: str
    text: str  # the whole file
    path: Path

    @property
    def topic(self) -> str:
        """Name of its folder."""
        return self.path.parent.name

    @property
    def question(self) -> str:
        """The first sentence of what it answers."""
        return re.split(r"(?<=[.?])\s", " ".join(self.answers.split()), maxsplit=1)[0]

    @property
    def explained_when_empty(self) -> str:
        """The words of the query that says why this one has no rows; empty where none does."""
        settings = (f"{key}={value}" for key, value in self.settings_when_empty.items())
        return " ".join([self.when_empty, *settings]) if self.when_empty else ""

    def is_asked_by_run(self, given: Container[str]) -> bool:
        """Whether its runs can be asked apart with the `given` parameters.  A table that one names has rows of all."""
        of_tables = (parameter.name for parameter in self.parameters if parameter.meaning.startswith("table"))
        return self.is_by_run and not any(name in given for name in of_tables)

    @property
    def signature(self) -> str:
        """Its name with its parameters and their defaults, as a macro has them."""
        return f"{self.name}({', '.join(f'{parameter.name} := {parameter.default}' for parameter in self.parameters)})"

    @property
    def definition(self) -> str:
        """What decides its rows."""
        return f"CREATE OR REPLACE MACRO {self.signature} AS TABLE\n{self.sql}"

    def reads(self, asked: str | None = None) -> set[str]:
        """Tables and queries that it may read for a statement.  A test holds our own headers to what the SQL reads."""
        if not is_builtin(self.path):
            return names_in(self.sql)
        return {*self.sources} - (self.optional if asked is not None and "'" not in asked else frozenset())


def is_builtin(path: Path) -> bool:
    """Whether a query file is one of the package."""
    return str(path).startswith(_BUILTIN)  # asked some hundred times for a question, and `is_relative_to` is slow


def names_in(sql: str) -> set[str]:
    """Words of a statement in lower case, as SQL compares names: every table and query in it is among them."""
    return {*re.findall(r"\w+", sql.lower())}


def read_query(path: Path) -> Query:
    """Reads one query file.  Raises UserError with what is wrong with it."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read: {error}", "a query is a text file in UTF-8") from None
    if not _QUERY_NAME.match(path.stem) or (not is_builtin(path) and _is_table(path.stem)):
        raise UserError(
            f"{path}: '{path.stem}' cannot be the name of a query",
            "use lower-case letters, digits and _, and not the name of a table",
        )
    lines = text.splitlines()
    header = _header(lines)
    title, sections = _sections(path, header)
    for required in ("Answers", "Sources", "Columns"):
        if not any(sections.get(required, [])):
            raise UserError(
                f"{path}: the header has no '{required}:'", f"add it; see {QUERIES_FOLDER / 'steps' / 'exclusions.sql'}"
            )
    sources = " ".join(sections["Sources"])
    return Query(
        name=path.stem,
        title=title,
        is_helper="Helper" in sections,
        is_by_run="Partition" in sections and _partition(sections) != _UNORDERED,
        is_unordered=_partition(sections) == _UNORDERED,
        is_light=_partition(sections) == _LIGHT,
        needs=tuple(re.findall(r"[\w.]+", " ".join(sections.get("Needs", [])))),
        pays_from=_pays_from(path, " ".join(sections.get("Pays from", []))),
        **_when_empty(" ".join(sections.get("When empty", [])).strip()),
        sources=tuple(re.findall(r"\w+", sources)),
        optional=frozenset(re.findall(r"\[(\w+)\]", sources)),
        parameters=_parameters(path, *sections.get("Parameters", [""])),
        columns=tuple(QueryColumn(*fields) for fields in _entries(path, sections["Columns"], _COLUMN)),
        glance=tuple(" ".join(sections.get("Glance", [])).split()),
        answers=_text(path, "Answers", sections["Answers"]),
        notes={heading: _text(path, heading, sections[heading]) for heading in NOTES if heading in sections},
        header="\n".join(header),
        sql=_select(path, "\n".join(lines[len(header) :])),
        text=text,
        path=path,
    )


def _pays_from(path: Path, text: str) -> _LeastRows | None:
    """A number of rows.  Raises UserError where there is another text."""
    if not text:
        return None
    rows, _, spoiled_by = text.strip().partition(" of runs without ")
    if not (found := re.fullmatch(r"(\d+) (\w+)", rows)):
        raise UserError(f"{path}: 'Pays from: {rows}' is not a number of rows", "write for example 10000 steps")
    return _LeastRows(int(found[1]), found[2], spoiled_by.strip() or None)


def _when_empty(text: str) -> dict[str, Any]:
    """What says why a query has no rows: another query with its settings, a sentence, or both after each other."""
    named = re.match(r"(\w+)((?: \w+=\S+?)*)(?:; |$)", text)
    return {
        "when_empty": named[1] if named else None,
        "settings_when_empty": dict(pair.split("=", 1) for pair in named[2].split()) if named else {},
        "reason_when_empty": text[named.end() :] or None if named else text or None,
    }


def parameters_of(path: Path) -> tuple[Parameter, ...]:
    """The parameters of a query file, of which nothing else is looked at.  Raises UserError as `read_query` does."""
    _, sections = _sections(path, _header(path.read_text(encoding="utf-8-sig").splitlines()))
    return _parameters(path, *sections.get("Parameters", [""]))


def _header(lines: list[str]) -> list[str]:
    """The comment that a query file begins with, without its dashes."""
    end = next((number for number, line in enumerate(lines) if not line.startswith("--")), len(lines))
    return [line[2:].removeprefix(" ").rstrip() for line in lines[:end]]


def _is_table(name: str) -> bool:
    """Whether a table has this name.  Our queries may have one: in SQL the brackets tell the two apart."""
    from scalelens.tables import documented  # what it needs takes long to load

    return name in documented()


def _partition(sections: dict[str, list[str]]) -> str:
    return " ".join(sections.get("Partition", [])).strip()


def _sections(path: Path, header: list[str]) -> tuple[str, dict[str, list[str]]]:
    """Title of a header, and the lines below each heading."""
    if not header or not header[0]:
        raise UserError(f"{path}: the first line must be a title", "begin the file with a comment: -- What it shows.")
    sections: dict[str, list[str]] = {}
    for number, line in enumerate(header[1:], start=2):
        if heading := _HEADING.match(line):
            name = _OLD_HEADINGS.get(heading[1], heading[1])
            if name not in _QUERY_HEADINGS:
                raise UserError(f"{path}, line {number}: unknown heading '{name}'", f"use {', '.join(_QUERY_HEADINGS)}")
            sections[name] = [heading[2] or ""]
        elif sections:
            sections[next(reversed(sections))].append(line)
    if "Partition" in sections and _partition(sections) not in ("run_id", _LIGHT, _UNORDERED):
        raise UserError(f"{path}: 'Partition:' is not run_id", f"write run_id, or {_LIGHT}")
    return header[0], sections


def _parameters(path: Path, shared: str, *own: str) -> tuple[Parameter, ...]:
    """The shared parameters that are named beside the heading, then those that are described below it."""
    names = [name for name in re.split(r"[,\s]+", shared) if name]
    if unknown := [name for name in names if name not in SHARED_PARAMETERS]:
        raise UserError(
            f"{path}: '{unknown[0]}' is not a shared parameter",
            f"describe it below 'Parameters:', or name some of {', '.join(SHARED_PARAMETERS)}",
        )
    described = (Parameter(*fields) for fields in _entries(path, [*own], _PARAMETER))
    return (*(SHARED_PARAMETERS[name] for name in names), *described)


def _text(path: Path, heading: str, lines: list[str]) -> str:
    """Text below a heading: the words beside it, then the lines indented below.  A line may be indented further."""
    text = "\n".join(line.removeprefix("  ") for line in lines).strip()
    if not text:
        raise UserError(f"{path}: '{heading}:' is empty", "write it, or leave the heading out")
    return text


def _entries(path: Path, lines: list[str], pattern: re.Pattern[str]) -> list[list[str]]:
    """Fields of each entry of a section.  Lines that are indented further continue the meaning of the entry above."""
    entries: list[list[str]] = []
    for line in filter(None, lines):
        if entry := pattern.match(line):
            entries.append(list(entry.groups()))
        elif (more := _CONTINUED.match(line)) and entries:
            entries[-1][-1] += " " + more[1]
        else:
            shape = "name := default  meaning" if pattern is _PARAMETER else "name  TYPE unit  meaning"
            raise UserError(f"{path}: '{line.strip()}' is not an entry", f"write it as '  {shape}', two spaces between")
    return entries


def _select(path: Path, sql: str) -> str:
    """The one SELECT of a query file."""
    if is_builtin(path):  # a test has parsed ours; to parse them all takes longer than most of them take to run
        return sql.strip().rstrip(";").rstrip()
    import duckdb  # our own queries, and what the shell completes, do without

    try:
        statements = duckdb.extract_statements(sql)
    except duckdb.Error as error:
        raise UserError(f"{path}: {str(error).strip().splitlines()[0]}", "correct the SQL") from None
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise UserError(f"{path}: a query must be a single SELECT after its header", "put the parts into WITH")
    return sql.strip().rstrip(";").rstrip()
