"""From a warehouse to a figure in a file: ask, draw, add where the figure comes from."""

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import polars as pl
import polars.selectors as cs
from altair.utils import schemapi

from scalelens.charts import own
from scalelens.charts.layout import SINGLE, Page, page_of
from scalelens.charts.limits import CHOOSE_RUNS, check_count
from scalelens.charts.load import find, rows_of
from scalelens.charts.load import load as load_charts
from scalelens.database.texts import sql_text
from scalelens.errors import UserError
from scalelens.queries.header import Query
from scalelens.question.answer import Answer, run_ids
from scalelens.question.empty import NO_RECORD, not_understood, nothing_was_read, reasons
from scalelens.question.inputs import NEEDED_FOR_INPUTS
from scalelens.question.provenance import Provenance
from scalelens.question.question import Question, call
from scalelens.question.run_names import RUN_NAMES, in_command
from scalelens.question.session import Session, ask, in_session
from scalelens.report import fewer_runs, other_figures, rendering
from scalelens.report.provenance_in_files import renderer
from scalelens.report.text.csv_text import csv_text
from scalelens.whole_files import write_file

_Settings = Mapping[str, Any]
_NAME = "name of the run"  # what headers of queries say of it
OWN_SQL = "sql"  # stands for the name of a chart in the provenance of a figure of one's own SQL
_OF_ONE_RUN = re.compile(r"\bof one run, not of \d+;")  # what limits.check_one_run says
_MOST_TRIED = 12  # runs that are drawn to find one to name as an example
_ORDERED = re.compile(r"\bORDER\s+BY\b", re.IGNORECASE)


class _NothingToDrawError(UserError):
    """The query of a chart gave no rows, and the chart says why that is."""


class Plotted(NamedTuple):
    """A chart, the rows that it shows, where they come from, and the page that it is for."""

    chart: Any
    rows: pl.DataFrame
    provenance: Provenance
    page: Page = SINGLE
    inputs: Mapping[str, str] = {}  # names of all files that it rests on, by id

    def __repr__(self) -> str:
        return f"Plotted({self.rows.height} rows)"

    def _repr_svg_(self) -> str:
        """What notebooks show."""
        return rendering.drawing(self.chart, self.provenance, self.page)


def plot(
    root: Path, name: str, path: Path | None, parameters: Mapping[str, Any] | None = None,
    settings: _Settings | None = None, query_folders: tuple[Path, ...] = (),
    beside: Callable[[Session, Plotted], None] | None = None,
) -> Plotted:  # fmt: skip
    """Draws a chart, to `path` if there is one; its suffix says how.  `settings` are those of `charts.layout.page_of`.

    `beside` is called with the open session, for what is to be said beside the figure.

    Raises UserError for a chart, parameter, setting or suffix that does not exist, and where there is nothing to draw.
    """
    try:
        plotted = attempt(root, name, parameters, settings, query_folders, beside)
    except _NothingToDrawError as refusal:
        question = _question_of(find(name), parameters or {})
        runs = str(question.parameters.get("runs", ""))
        about = f"{question.statement}; {other_figures.about(name, runs)}"
        with Session(root, query_folders, about) as session:
            why = reasons(session, question)[0]
            other = other_figures.remedy(session, name, runs)
            advice = other or not_understood(session) or why.what_to_do
        because = "" if why.what == NO_RECORD or why.what in str(refusal) else f": {why.what}"
        raise UserError(f"{refusal}{because}", advice) from None
    if path is not None:
        save(plotted, path)
    return plotted


def attempt(
    root: Path, name: str, parameters: Mapping[str, Any] | None = None, settings: _Settings | None = None,
    query_folders: tuple[Path, ...] = (), beside: Callable[[Session, Plotted], None] | None = None,
) -> Plotted:  # fmt: skip
    """A chart as `plot` draws it, for a caller who has another one where there is nothing to draw.

    Raises UserError there with the chart's own sentence: to find out why takes as long as several charts.
    Raises UserError otherwise as `plot` does.
    """
    chart, settings = find(name), dict(settings or {})
    page = page_of(settings)
    if page.unit and not hasattr(chart, "UNITS"):
        raise UserError(f"the chart {name} cannot count devices in another unit", "--unit works with: plot throughput")
    if page.mark and not hasattr(chart, "BARS"):
        raise UserError(f"the chart {name} has marks of its own", "--mark is for --sql, and bar for: plot throughput")
    if page.facet and not hasattr(chart, "FACETS"):
        raise UserError(
            f"the chart {name} cannot be split into panels", f"it has panels of its own, or one run; {_with_facets()}"
        )
    about = f"{_question_of(chart, parameters or {}).statement}; exclusions {NEEDED_FOR_INPUTS}; {RUN_NAMES}"

    def drawn(session: Session) -> Plotted:
        figure = draw(session, name, parameters or {}, settings)
        if beside:
            beside(session, figure)
        return figure

    return in_session(root, drawn, query_folders, about, by_hand=False)


def save(plotted: Plotted, path: Path) -> None:
    """Writes a figure to a file, whose suffix says how.  Raises UserError for a suffix that does not exist."""
    rendering.save(plotted.chart, path, plotted.provenance, plotted.page)


def draw(
    session: Session, name: str, parameters: Mapping[str, Any], settings: _Settings,
    ask_for: Callable[[Question], Answer] | None = None,
) -> Plotted:  # fmt: skip
    """A chart of an open warehouse; not yet a file.  `ask_for` may know answers already; else the session is asked.

    Raises UserError where nothing is to draw.
    """
    chart, page, ask_for = find(name), page_of(settings), ask_for or session.ask
    query = session.queries.get(chart.QUERY)
    further = _columns_of_facet(session, chart, query, page.facet) if page.facet and query else ()
    question = _question_of(chart, parameters, further)
    if hasattr(chart, "MOST_RUNS"):
        _check_runs(session, name, parameters, chart.MOST_RUNS)
    answer = ask_for(question)
    for other in _instead(session, chart, query, answer):
        if not answer.table.num_rows and not other.keys() & parameters.keys():
            question = _question_of(chart, {**parameters, **other}, further)
            answer = ask_for(question)
    left_out = _left_out_of(ask_for, session, run_ids(answer.table), question.parameters)
    texts = {key: str(value) for key, value in question.parameters.items()}
    rows = _with_names(session, chart, answer.frame)
    page = page._replace(run=_only_run(session, run_ids(answer.table)))

    def drawn(rows: pl.DataFrame) -> Any:
        with schemapi.debug_mode(False):  # Altair checks each part against its schema; the tests do that
            return chart.draw(rows, left_out, texts, page)

    try:
        figure = drawn(rows)
    except UserError as refusal:
        if not answer.table.num_rows:
            raise _NothingToDrawError(str(refusal).partition("; ")[0]) from None
        runs = run_ids(answer.table)
        example = ""
        if "{run}" in str(refusal):

            def drawn_of(selected: str) -> Any:
                asked = replace(question, parameters={**question.parameters, "runs": selected})
                return drawn(_with_names(session, chart, session.ask(asked).frame))

            if "run_id" in rows.columns:
                runs = drawable_first(runs, rows, drawn)
            if not _OF_ONE_RUN.search(str(refusal)):
                example = fewer_runs.example(session, rows, runs, str(parameters.get("runs", "")), drawn, drawn_of)
        raise UserError(_with_runs(str(refusal), session, runs, name, parameters, example)) from None
    made = {"chart": name, "parameters": texts, "settings": dict(settings), "renderer": renderer()}
    return Plotted(figure, answer.frame, answer.provenance(made), page, answer.inputs)


def _instead(session: Session, chart: ModuleType, query: Query | None, answer: Answer) -> Sequence[Mapping[str, Any]]:
    """Other parameters with which the chart may have rows, where its answer has none."""
    others: Sequence[Mapping[str, Any]] = getattr(chart, "INSTEAD", ())
    if answer.table.num_rows or not others or (query and nothing_was_read(session, query)):
        return ()
    return others


def drawable_first(runs: Sequence[str], rows: pl.DataFrame, draw_rows: Callable[[pl.DataFrame], Any]) -> list[str]:
    """The runs, one that the chart can draw first: a refusal names it as an example."""
    for run in runs[:_MOST_TRIED]:
        try:
            draw_rows(rows.filter(pl.col("run_id") == run))
        except UserError:
            continue
        return [run, *(other for other in runs if other != run)]
    return list(runs)


def _with_names(session: Session, chart: ModuleType, rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with the names by which tables call the runs, which no two runs share.

    The column `name` of some queries is that of a kernel or an operator.  A chart that may put runs together by their
    folders has their paths as well; these are not in its provenance, as they change when a folder is moved.
    """
    meanings = {column.name: column.meaning for column in session.queries[chart.QUERY].columns}
    if "run_id" not in rows.columns or "name" not in rows.columns or meanings.get("name", _NAME) != _NAME:
        return rows
    named = rows.with_columns(name=pl.col("run_id").replace(session.run_names))
    if not hasattr(chart, "BY_FOLDER"):
        return named
    paths = dict(session.ask(Question(sql="SELECT run_id, path FROM runs")).frame.iter_rows())
    return named.with_columns(path=pl.col("run_id").replace_strict(paths, default=None, return_dtype=pl.String))


def _only_run(session: Session, runs: Sequence[str]) -> str:
    """The name of the run of a figure that has one, where the warehouse has more; else empty."""
    return session.run_names.get(runs[0], "") if len(runs) == 1 and len(session.run_names) > 1 else ""


def _question_of(chart: ModuleType, given: Mapping[str, Any], further: Sequence[str] = ()) -> Question:
    """What a chart asks, with the given parameters, else the chart's own."""
    return Question(
        chart.QUERY, parameters=getattr(chart, "PARAMETERS", {}) | dict(given), select=rows_of(chart, further)
    )


def _with_facets() -> str:
    return f"these take one: {', '.join(name for name, chart in load_charts().items() if hasattr(chart, 'FACETS'))}"


def _columns_of_facet(session: Session, chart: ModuleType, query: Query, facet: str) -> tuple[str, ...]:
    """The column of `runs` to join to the rows for a facet; none where the rows have it.

    Raises UserError for a column that is in neither.
    """
    known = {column.name for column in query.columns} | set(getattr(chart, "FACTS", ()))
    if facet in known:
        return ()
    of_runs = session.ask(Question(sql="FROM runs LIMIT 0")).table.column_names
    if facet not in of_runs or "run_id" not in known:
        names = sorted(known | set(of_runs if "run_id" in known else ()))
        raise UserError(f"there is no column '{facet}' to split the figure by", f"there are: {', '.join(names)}")
    return (f'"{facet}"',)


def plot_sql(
    root: Path, statement: str, marks: own.Marks, path: Path, settings: _Settings | None = None,
    query_folders: tuple[Path, ...] = (),
) -> Plotted:  # fmt: skip
    """Draws the rows of an SQL statement to `path`.  Raises UserError as `plot` does, and for columns that are not."""
    settings = dict(settings or {})
    page = page_of(settings)
    if page.mark:
        raise UserError("mark is not a setting of a figure of your own SQL", "draw it with --mark")
    if page.unit:
        raise UserError("--unit does not apply to SQL of your own", "leave it out, or convert the devices in the SQL")
    answer = ask(root, Question(sql=statement), query_folders, also=NEEDED_FOR_INPUTS)
    rows = answer.frame
    if not _ORDERED.search(statement):  # threads of DuckDB hand rows over in any order
        rows = rows.sort(rows.select(~cs.nested()).columns, nulls_last=True)
    figure = own.draw(rows, marks, page)
    texts = {key: value for key, value in marks._asdict().items() if value}
    made = {"chart": OWN_SQL, "parameters": texts, "settings": settings, "renderer": renderer()}
    plotted = Plotted(figure, rows, answer.provenance(made), page, answer.inputs)
    save(plotted, path)
    return plotted


def _check_runs(session: Session, name: str, parameters: Mapping[str, Any], most: int) -> None:
    """Raises UserError where more runs have times of steps than the chart can show, before these are asked for."""
    runs = parameters.get("runs", "")
    timed = session.ask(Question(sql=(
        "SELECT DISTINCT run_id FROM steps WHERE phase = 'train' AND value_kind IN ('instant', 'interval_mean') "
        f"AND step_s > 0 AND run_id IN (FROM {call('selected_runs', {'runs': runs})}) ORDER BY run_id"
    )))  # fmt: skip
    try:
        check_count(timed.frame.height, most, "runs with times of steps", CHOOSE_RUNS)
    except UserError as refusal:
        raise UserError(_with_runs(str(refusal), session, timed.frame["run_id"].to_list(), name, parameters)) from None


def _with_runs(
    refusal: str, session: Session, runs: Sequence[str], name: str, parameters: Mapping[str, Any],
    example: str = "",
) -> str:  # fmt: skip
    """A refusal with names of runs where a chart leaves room for them.

    Where it advises to choose runs, with the command that draws those of `example`, else the first.
    """
    first, other = [*(in_command(session.run_names, run) for run in runs[:2]), "", ""][:2]
    given = [f"{key}={shlex.quote(str(value))}" for key, value in parameters.items() if key != "runs"]
    command = " ".join(["scalelens plot", name, *given, f'runs="{example or first}"', "-o", f"{name}.pdf"])
    refusal = refusal.replace(CHOOSE_RUNS, f"choose runs, for example: {command}")
    return refusal.replace("{run}", first).replace("{other}", other)


def _left_out_of(
    ask_for: Callable[[Question], Answer], session: Session, runs: Sequence[str], parameters: Mapping[str, Any]
) -> dict[str, int]:
    """How many records of `runs` the query left out, by rule.

    `exclusions` takes some of the chart's parameters.  With the same values it finds the records that were left out,
    from what a session may have computed for the chart already.
    """
    if not runs:
        return {}
    taken = {parameter.name for parameter in session.queries["exclusions"].parameters}
    shared = {key: value for key, value in parameters.items() if key in taken}
    of_runs = f"run_id IN ({', '.join(map(sql_text, runs))})"
    counts = f"rule, count(*) AS records FROM {{}} WHERE {of_runs} GROUP BY rule ORDER BY rule"
    return dict(ask_for(Question("exclusions", parameters=shared, select=counts)).frame.iter_rows())


def save_beside(plotted: Plotted, data: Path | None, caption: Path | None) -> None:
    """Writes the rows of a figure as CSV and its caption as text, each where a path is given.

    Nothing is written unasked: a file of that name beside the figure may be the user's own.
    """
    if data:
        write_file(data, csv_text(plotted.rows.to_arrow()).encode())
    if caption:
        write_file(caption, f"{plotted.chart.description}\n".encode())
