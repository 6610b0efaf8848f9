"""Why a question has no rows, and what would give it some: an empty answer is never a header alone."""

import shlex
from collections.abc import Mapping
from typing import Any, NamedTuple

from scalelens.database.connect import needed_tables
from scalelens.queries.header import Query
from scalelens.queries.load import needed_by
from scalelens.queries.parameter_values import words
from scalelens.question.question import Question, call
from scalelens.question.run_names import RUN_NAMES, with_names
from scalelens.question.session import Session

# Tables of measurements: what a file of each kind is, and an example of what writes it.
_MEASURED = {
    "steps": "training log with steps (one that prints a step time, a rate or a loss)",
    "events": "profiler trace (of PyTorch, Nsight Systems or rocprof)",
    "power": "file of power readings (of jpwr, nvidia-smi or a BMC)",
    "energy": "file of energies (of jpwr, Zeus, CodeCarbon or Slurm)",
    "collective_benchmarks": "output of nccl-tests or its like",
    "metrics": "log with metrics of its own",
}
# What queries of a topic cannot do without; those of the others need one of the tables that they read.
_NEEDED = {"trace": {"events"}, "energy": {"power", "energy"}}
# Choices of what is counted: where the default has no rows, another may.
_COUNTED = ("per",)


class _Reason(NamedTuple):
    """What keeps a question without rows, the commands of `remedy` among it, and the runs that it is true of."""

    reason: str
    remedy: str
    n_runs: int = 0  # 0: it is true of the warehouse
    one_run: str = ""  # the run that the remedy is for, where each has its own

    @property
    def what(self) -> str:
        return f"{self.n_runs} run{'s' if self.n_runs > 1 else ''}: {self.reason}" if self.n_runs else self.reason

    @property
    def what_to_do(self) -> str:
        return f"for {self.one_run}, {self.remedy}" if self.one_run else self.remedy


NO_RECORD = "nothing to report, or no record has what this query needs"


def reasons(session: Session, question: Question) -> list[_Reason]:
    """Why a query has no rows, that of most runs first; at least one.  The session is about the question."""
    assert question.query
    if without_runs := reasons_without_runs(session):
        return [without_runs]
    runs = str(question.parameters.get("runs", "")).strip()
    if runs and not _has_rows(session, call("selected_runs", {"runs": runs})):
        return [_Reason(f"no run matches {runs}", "see the runs with: scalelens query runs_overview")]
    query = session.queries[question.query]
    found = _of_runs(session, question, query) if query.when_empty else []
    found = found or _missing(session, query) or _counted_otherwise(session, question, query)
    return found or [_Reason(query.reason_when_empty or NO_RECORD, _explained(query))]


def not_understood(session: Session) -> str:
    """Advice where some files of no known format were named beside those of runs; empty if there are none."""
    if not _has_rows(session, "selected_runs()"):
        return ""  # the reason says it
    statement = (
        "SELECT sum(n), arg_max(name, (n, size, name)) FROM (SELECT parse_filename(path) AS name, count(*) AS n, "
        "sum(size_bytes) AS size FROM files WHERE status = 'unknown' GROUP BY ALL)"
    )
    with Session(session.root, session.folders, statement) as further:
        ((files, example),) = further.connection.execute(statement).fetchall()
    if not files:
        return ""
    which = f"{files} files, such as {example}, were" if files > 1 else f"{example} was"
    return f"{which} not understood; see why: scalelens sql \"SELECT path, note FROM files WHERE status = 'unknown'\""


def reasons_without_runs(session: Session) -> _Reason | None:
    """That there are no runs, where there are none: nothing was read yet, or nothing of it was understood."""
    if _has_rows(session, "selected_runs()"):
        return None
    with Session(session.root, session.folders, "FROM files") as further:
        ((files,),) = further.connection.execute("SELECT count(*) FROM files").fetchall()
    if not files:
        return _Reason(f"there are no runs in {session.root}", "read some with: scalelens ingest logs/")
    which = f"none of its {files} files is" if files > 1 else "its one file is not"
    what = f"there are no runs in {session.root}: {which} of a run{_most_are(session, files)}"
    if problem := _first_problem(session):
        table = "problems JOIN files USING (file_id)"
        return _Reason(f"{what}; {problem}", f'see all: scalelens sql "SELECT path, reason FROM {table}"')
    return _Reason(what, 'see why: scalelens sql "SELECT path, note FROM files"')


def _most_are(session: Session, files: int) -> str:
    """In brackets, what is said of most of the files that are no documents; empty where nothing is said of most."""
    statement = (
        "SELECT count(*) AS n, regexp_extract(any_value(note), '^[^(;]*[^(; ]') AS what FROM files "
        "WHERE note IS NOT NULL AND status NOT IN ('document', 'duplicate') AND note NOT LIKE 'not text%' "  # pictures
        "GROUP BY regexp_extract(note, '^[^(;]*') ORDER BY n DESC, what"
    )
    with Session(session.root, session.folders, statement) as further:
        rows = further.connection.execute(statement).fetchall()
    if not rows or 2 * rows[0][0] <= sum(n for n, _ in rows):
        return ""
    n, what = rows[0]
    return f" ({what})" if files == 1 else f" ({n} of them: {what})"


def _first_problem(session: Session) -> str:
    """The first problem of the files, after the name of its file; empty where there is none."""
    statement = (
        "SELECT parse_filename(path), reason FROM problems JOIN files USING (file_id) ORDER BY path, line LIMIT 1"
    )
    with Session(session.root, session.folders, statement) as further:
        rows = further.connection.execute(statement).fetchall()
    return "".join(f"{name}: {reason}" for name, reason in rows)


def told_reasons(session: Session, question: Question) -> list[dict[str, str]]:
    """The same for programs.  A sentence may name what a log says."""
    return [
        {"untrusted_reason": reason.what, "untrusted_remedy": reason.what_to_do}
        for reason in reasons(session, question)
    ]


def _of_runs(session: Session, question: Question, query: Query) -> list[_Reason]:
    """What the query named in the header says of the runs."""
    of_reason: dict[str, list[Mapping[str, Any]]] = {}
    about = f"{question.statement}; {query.when_empty}; {RUN_NAMES}"
    with Session(session.root, session.folders, about, session.unsafe, known=session) as further:
        asked = run_by_run(further.queries, question)
        for row in further.ask(asked).table.to_pylist():
            of_reason.setdefault(row["reason"], []).append(row)
        by_number = sorted(of_reason.items(), key=lambda told: -len(told[1]))
        return [reason_of(reason, rows, further.run_names) for reason, rows in by_number]


def run_by_run(queries: Mapping[str, Query], question: Question) -> Question:
    """The question that says of each run why a query has no rows; the query names one."""
    query = queries[question.query or ""]
    other = queries[query.when_empty or ""]
    takes = {parameter.name for parameter in other.parameters}
    given = {key: value for key, value in question.parameters.items() if key in takes}
    return Question(other.name, parameters={**given, **query.settings_when_empty})


def reason_of(reason: str, rows: list[Mapping[str, Any]], names: Mapping[str, str]) -> _Reason:
    """A reason that holds for several runs, and what to do about it, in commands with the names of runs."""
    remedy = rows[0]["remedy"]
    is_of_one = any(row["remedy"] != remedy for row in rows)
    return _Reason(reason, with_names(remedy, names), len(rows), names.get(rows[0]["run_id"], "") if is_of_one else "")


def nothing_was_read(session: Session, query: Query) -> bool:
    """Whether all tables are empty from which a query takes its rows, so that other parameters give it none either."""
    tables = _tables_of(session, query) & {*_MEASURED, "phases"}
    return not any(_has_rows(session, f"main.{table}") for table in sorted(tables))


def _missing(session: Session, query: Query) -> list[_Reason]:
    """That no file was read of the kinds that the query needs, if none was."""
    tables = _tables_of(session, query)
    needed = [table for table in _MEASURED if table in tables & _NEEDED.get(query.topic, {*_MEASURED})]
    of_epochs = ["phases"] if "phases" in tables and "steps" in needed else []  # a log may time nothing else
    if not needed or any(_has_rows(session, f"main.{table}") for table in (*needed, *of_epochs)):
        return []
    kinds = " and no ".join(_MEASURED[table] for table in (needed if query.topic in _NEEDED else needed[:1]))
    return [_Reason(f"no {kinds} was read", _explained(query))]


def _tables_of(session: Session, query: Query) -> set[str]:
    """The tables that a query reads, itself and through those that it calls."""
    return needed_tables(query.name, needed_by(query.name, session.queries))


def _counted_otherwise(session: Session, question: Question, query: Query) -> list[_Reason]:
    """That another choice of what is counted has rows: energy was measured of whole nodes, not of devices."""
    for parameter in (parameter for parameter in query.parameters if parameter.name in _COUNTED):
        now = str(question.parameters.get(parameter.name, words(parameter)[0]))
        for other in (word for word in words(parameter) if word != now):
            parameters = {**question.parameters, parameter.name: other}
            about = Question(query.name, parameters=parameters)
            with Session(session.root, session.folders, about.statement, session.unsafe) as further:
                has_rows = bool(further.ask(about).table.num_rows)
            if has_rows:
                given = " ".join(shlex.quote(f"{key}={value}") for key, value in parameters.items())
                reason = f"nothing was measured per {now}, but per {other}"
                return [_Reason(reason, f"see it with: scalelens query {query.name} {given}")]
    return []


def _explained(query: Query) -> str:
    return f"what {query.name} needs: scalelens explain {query.name}"


def _has_rows(session: Session, rows: str) -> bool:
    return bool(session.ask(Question(sql=f"SELECT 1 AS one FROM {rows} LIMIT 1")).table.num_rows)
