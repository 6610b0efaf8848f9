"""What a report holds: its subject, numbers, findings, answers, runs and files, asked but not yet laid out."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import scalelens.report.findings
from scalelens.folders import modules_of
from scalelens.queries.header import Query
from scalelens.question.question import Question
from scalelens.question.session import Session, in_session
from scalelens.report import other_figures
from scalelens.report.articles import FIRST_CHART, Article, article, headline_of, in_order
from scalelens.report.asking import Asking, ReportTable
from scalelens.report.key_numbers import SQL as READ_SQL
from scalelens.report.key_numbers import key_numbers
from scalelens.report.subject import SQL as SUBJECT_SQL
from scalelens.report.subject import Subject, subject_of
from scalelens.report.text.sentences import KeyNumber

if TYPE_CHECKING:
    import polars as pl

_RUNS_SQL = "FROM runs_overview() ORDER BY run_id"
_FILES_SQL = """
SELECT path, status, array_to_string(formats, ', ') AS formats, size_bytes, rows, problems, note
FROM files ORDER BY status = 'ok', status, path"""
_PROBLEMS_SQL = """
SELECT reason AS problem, count(*) AS lines, count(DISTINCT file_id) AS files,
       min_by(f.path, (f.path, line)) AS first_file, min_by(line, (f.path, line)) AS line,
       min_by(text, (f.path, line)) AS text
FROM problems JOIN files AS f USING (file_id) GROUP BY reason ORDER BY lines DESC, problem"""
_METRICS_SQL = "SELECT count(DISTINCT name) FROM metrics"
_TIMES_SQL = "SELECT count(step_s) FROM steps"
_POWER_SQL = "SELECT CASE WHEN count(ts) = 0 THEN count(*) ELSE 0 END FROM power"
# Lines that look like training and that no format reads: how many files have some, and the first of them.
_UNREAD_SQL = """
SELECT count(DISTINCT file_id), min_by(parse_filename(path), (path, line)), min_by(line, (path, line)),
       min_by(text, (path, line))
FROM (SELECT file_id, f.path, p.line, p.text FROM problems AS p JOIN files AS f USING (file_id) WHERE format IS NULL)"""
_UNKNOWN_SQL = "SELECT count(*) FROM files WHERE status = 'unknown'"
_ANSWERS_OF_LOGS = (
    "scaling", "batch_stats", "throughput", "mfu", "epoch_times", "elbow", "steady_state", "outlier_gpus",
    "energy_efficiency", "goodput", "waterfall",
)  # fmt: skip
_ANSWERS_OF_TRACES = (
    "temporal_breakdown", "efficiency_tree", "comm_overlap", "idle_causes", "kernel_summary", "collectives",
    "collective_skew", "op_summary", "annotation_summary", "memory_copies", "launch_stats",
)  # fmt: skip
# Columns that say which run a row is of, or why it has no answer.
_NO_ANSWERS = {"run_id", "name", "model", "system", "framework", "precision", "nodes", "devices", "device",
               "device_model", "global_batch_size", "reason", "note"}  # fmt: skip


class _Unread(NamedTuple):
    """Lines that look like training and that no format reads: how many files have some, and the first line."""

    n_files: int
    file: str
    line: int
    text: str


class Content(NamedTuple):
    subject: Subject
    numbers: list[KeyNumber]
    headline: str  # name of the article whose chart is on the first screen
    articles: list[Article]
    runs: ReportTable
    answers: list[tuple[Query, ReportTable]]
    files: ReportTable
    problems: ReportTable
    counts: dict[str, int]  # of runs by outcome
    n_metrics: int = 0  # names of metrics, counted where nothing was found
    n_unknown: int = 0  # files that were not understood
    n_power: int = 0  # readings, none of which has a time, counted where nothing was found
    n_times: int = 0  # of steps, counted where nothing was found
    unread: _Unread | None = None  # looked for where nothing was found
    place: str = ""  # of the warehouse, for commands


def content_of(root: Path, traces_alone: bool = False, query_folders: tuple[Path, ...] = ()) -> Content:
    """Asks a warehouse for all that a report holds.  With `traces_alone` only what concerns traces."""
    return in_session(root, lambda session: _content_in(session, traces_alone), query_folders)


def _content_in(session: Session, traces_alone: bool) -> Content:
    modules = sorted(modules_of(scalelens.report.findings).items(), key=lambda pair: pair[1].PLACE)
    modules = [pair for pair in modules if not traces_alone or getattr(pair[1], "ABOUT_TRACES", False)]
    named = _answers_asked(session, traces_alone)
    statements = (_RUNS_SQL, *(module.SQL for _, module in modules), *map(_statement_of, named))
    statements += () if traces_alone else (other_figures.about(FIRST_CHART),)
    session.share(*(Question(sql=statement) for statement in statements))
    asking = Asking(session)
    overview = asking.rows(_RUNS_SQL)
    outcomes = overview["outcome"].value_counts(sort=True).sort(["count", "outcome"], descending=[True, False])
    counts = dict(outcomes.iter_rows())
    rows = {name: asking.rows(module.SQL) for name, module in modules}
    modules = [(name, one) for name, one in modules if rows[name].height or not getattr(one, "ONLY_WITH_ROWS", False)]
    headline, first = headline_of(asking, modules, rows)
    articles = [
        article(asking, name, module, rows[name], first if name == headline else None) for name, module in modules
    ]
    has_findings = any(one.sentences and not one.is_minor for one in articles)
    return Content(
        subject_of(asking.rows(SUBJECT_SQL)),
        key_numbers(overview, asking.names, modules, rows, asking.rows(READ_SQL).row(0, named=True)),
        headline,
        in_order(articles),
        asking.table(_RUNS_SQL, session.queries["runs_overview"].glance, overview),
        _answers(asking, named),
        asking.table(_FILES_SQL, ("path", "status", "formats", "size_bytes", "rows", "problems", "note")),
        asking.table(_PROBLEMS_SQL, ("problem", "lines", "files", "first_file", "line", "text")),
        counts,
        0 if has_findings else asking.rows(_METRICS_SQL).item(),
        asking.rows(_UNKNOWN_SQL).item(),
        0 if has_findings else asking.rows(_POWER_SQL).item(),
        0 if has_findings else asking.rows(_TIMES_SQL).item(),
        None if has_findings else _unread(asking),
        str(session.root),
    )


def _unread(asking: Asking) -> _Unread | None:
    found = _Unread(*asking.rows(_UNREAD_SQL).row(0))
    return found if found.n_files else None


def _answers_asked(session: Session, traces_alone: bool) -> list[str]:
    """Queries that most people ask, and those of traces where there are any."""
    has_traces = session.ask(Question(sql="SELECT 1 FROM events LIMIT 1")).table.num_rows > 0
    of_traces = _ANSWERS_OF_TRACES if has_traces else ()
    of_logs = () if traces_alone else _ANSWERS_OF_LOGS
    return sorted({*of_traces, *of_logs}, key=lambda name: (session.queries[name].topic, name))


def _answers(asking: Asking, names: Sequence[str]) -> list[tuple[Query, ReportTable]]:
    """Tables of queries that have rows with more than reasons: why there is no answer stands under Also checked."""
    made = []
    for name in names:
        query, sql = asking.session.queries[name], _statement_of(name)
        rows = asking.rows(sql)
        if _has_answers(query, rows):
            made.append((query, asking.table(sql, query.glance, rows)))
    return made


def _has_answers(query: Query, rows: "pl.DataFrame") -> bool:
    """Whether a column that people see has a value, other than the facts of runs and reasons."""
    shown = [name.rstrip("%~") for name in query.glance] or rows.columns
    return any(rows[name].count() for name in shown if name in rows.columns and name not in _NO_ANSWERS)


def _statement_of(name: str) -> str:
    return f"FROM {name}()"
