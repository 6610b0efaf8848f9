"""What a report holds: findings, answers, runs and files of a warehouse, asked but not yet laid out."""

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

import scalelens.report.findings
from scalelens.errors import UserError
from scalelens.folders import modules_of
from scalelens.queries.header import Query, QueryColumn
from scalelens.question.question import Question
from scalelens.question.session import Session, in_session
from scalelens.report import rendering
from scalelens.report.columns import Columns
from scalelens.report.glance import GlanceBlock, blocks
from scalelens.report.plotting import draw
from scalelens.report.text.sentences import FindingSentence

if TYPE_CHECKING:
    import polars as pl

MOST_ROWS = 500  # of a table; more are counted
_MOST_CHART_BYTES = 400_000  # a drawing that is larger would make the page slow
_LAST_FAULT = 50  # findings up to this place are about what went wrong
_RUNS_SQL = "FROM runs_overview() ORDER BY run_id"
_FILES_SQL = """
SELECT path, status, array_to_string(formats, ', ') AS formats, size_bytes, rows, problems, note
FROM files ORDER BY status = 'ok', status, path"""
_PROBLEMS_SQL = """
SELECT reason AS problem, count(*) AS lines, count(DISTINCT file_id) AS files,
       min_by(f.path, (f.path, line)) AS first_file, min_by(line, (f.path, line)) AS line,
       min_by(text, (f.path, line)) AS text
FROM problems JOIN files AS f USING (file_id) GROUP BY reason ORDER BY lines DESC, problem"""
_WIDE = {"width": "double"}  # settings of the charts
_ANSWERS_OF_LOGS = (
    "scaling", "batch_stats", "throughput", "mfu", "epoch_times", "elbow", "steady_state", "outlier_gpus",
    "energy_efficiency", "goodput", "waterfall",
)  # fmt: skip
_ANSWERS_OF_TRACES = (
    "temporal_breakdown", "efficiency_tree", "comm_overlap", "idle_causes", "kernel_summary", "collectives",
    "collective_skew", "op_summary", "annotation_summary", "memory_copies", "launch_stats",
)  # fmt: skip


class ReportTable(NamedTuple):
    """Rows as people see them, and the SQL that gives them."""

    blocks: list[GlanceBlock]
    n_rows: int  # more than the blocks have, where they were cut
    sql: str


class _Chart(NamedTuple):
    """A drawing, or why there is none."""

    svg: str
    refusal: str


class Article(NamedTuple):
    """A question with what was found."""

    question: str
    sentences: list[FindingSentence]
    nothing: str  # said where there are no sentences
    chart: _Chart | None
    table: ReportTable
    inputs_sha256: str
    n_inputs: int
    is_fault: bool  # about what went wrong


class Content(NamedTuple):
    articles: list[Article]
    runs: ReportTable
    answers: list[tuple[Query, ReportTable]]
    files: ReportTable
    problems: ReportTable
    counts: dict[str, int]  # of runs by outcome


class _Asking:
    """An open warehouse, and what every table of the page needs of it."""

    def __init__(self, session: Session) -> None:
        self.session, self.names = session, session.run_names
        self.members: list[tuple[str, str]] = [
            *self.rows("SELECT run_id, file_id FROM members ORDER BY ALL").iter_rows()
        ]
        self.columns = {column.name: column for query in session.queries.values() for column in query.columns}
        self.columns["size_bytes"] = QueryColumn("size_bytes", "BIGINT", "bytes", "size of the file")

    def rows(self, sql: str) -> "pl.DataFrame":
        return self.session.ask(Question(sql=sql)).frame

    def table(self, sql: str, glance: Sequence[str], rows: "pl.DataFrame | None" = None) -> ReportTable:
        """The answer to a statement; `rows` are its rows where they are known."""
        rows = self.rows(sql) if rows is None else rows
        shown = Columns(rows.head(MOST_ROWS).to_arrow())
        made = blocks(shown, glance, self.columns, self.names) if rows.height else []
        return ReportTable(made, rows.height, sql.strip())

    def inputs(self, runs: Iterable[str] | None) -> list[str]:
        """Files of these runs, by id; of all where there is no `runs`."""
        wanted = None if runs is None else set(runs)
        return sorted({file for run, file in self.members if wanted is None or run in wanted})


def content_of(root: Path, traces_alone: bool = False, query_folders: tuple[Path, ...] = ()) -> Content:
    """Asks a warehouse for all that a report holds.  With `traces_alone` only what concerns traces."""
    return in_session(root, lambda session: _content_in(session, traces_alone), query_folders)


def _content_in(session: Session, traces_alone: bool) -> Content:
    modules = sorted(modules_of(scalelens.report.findings).values(), key=lambda module: module.PLACE)
    modules = [module for module in modules if not traces_alone or getattr(module, "ABOUT_TRACES", False)]
    named = _answers_asked(session, traces_alone)
    statements = (_RUNS_SQL, *(module.SQL for module in modules), *map(_statement_of, named))
    session.share(*(Question(sql=statement) for statement in statements))
    asking = _Asking(session)
    overview = asking.rows(_RUNS_SQL)
    outcomes = overview["outcome"].value_counts(sort=True).sort(["count", "outcome"], descending=[True, False])
    return Content(
        [_article(asking, module) for module in modules],
        asking.table(_RUNS_SQL, session.queries["runs_overview"].glance, overview),
        _answers(asking, named),
        asking.table(_FILES_SQL, ("path", "status", "formats", "size_bytes", "rows", "problems", "note")),
        asking.table(_PROBLEMS_SQL, ("problem", "lines", "files", "first_file", "line", "text")),
        dict(outcomes.iter_rows()),
    )


def _article(asking: _Asking, module: ModuleType) -> Article:
    """Asks what a finding asks, and draws its chart where something was found."""
    rows = asking.rows(module.SQL)
    sentences = module.sentences(rows, asking.names)
    name = getattr(module, "CHART", "")
    inputs = asking.inputs(rows["run_id"] if "run_id" in rows.columns else None)
    return Article(
        (module.__doc__ or "").strip(),
        sentences,
        "" if sentences else module.nothing(rows),
        chart(asking, name) if name and sentences else None,
        asking.table(module.SQL, module.GLANCE, rows),
        hashlib.sha256("\n".join(inputs).encode()).hexdigest(),
        len(inputs),
        module.PLACE <= _LAST_FAULT,
    )


def chart(asking: _Asking, name: str) -> _Chart:
    """Draws a chart.  One that refuses, or would be too large, says why."""
    try:
        drawn = draw(asking.session, name, {}, _WIDE)
    except UserError as refusal:
        return _Chart("", f"No chart {name}: {refusal}. The command is: scalelens plot {name} -o {name}.pdf")
    svg = rendering.drawing(drawn.chart, drawn.provenance)
    if len(svg) > _MOST_CHART_BYTES:
        return _Chart("", f"The chart {name} is too large for this page: scalelens plot {name} -o {name}.pdf")
    return _Chart(svg, "")


def _answers_asked(session: Session, traces_alone: bool) -> list[str]:
    """Queries that most people ask, and those of traces where there are any."""
    has_traces = session.ask(Question(sql="SELECT 1 FROM events LIMIT 1")).table.num_rows > 0
    of_traces = _ANSWERS_OF_TRACES if has_traces else ()
    of_logs = () if traces_alone else _ANSWERS_OF_LOGS
    return sorted({*of_traces, *of_logs}, key=lambda name: (session.queries[name].topic, name))


def _answers(asking: _Asking, names: Sequence[str]) -> list[tuple[Query, ReportTable]]:
    """Tables of queries that have rows."""
    made = []
    for name in names:
        query, sql = asking.session.queries[name], _statement_of(name)
        rows = asking.rows(sql)
        if rows.height:
            made.append((query, asking.table(sql, query.glance, rows)))
    return made


def _statement_of(name: str) -> str:
    return f"FROM {name}()"
