"""The articles of a report: each a question with its sentences, its chart and its table."""

import hashlib
import shlex
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

from scalelens.database.texts import sql_text
from scalelens.errors import UserError
from scalelens.question.empty import reasons
from scalelens.question.question import Question
from scalelens.question.session import Session
from scalelens.report import other_figures, rendering
from scalelens.report.asking import Asking, ReportTable
from scalelens.report.findings.step_times import PLACE as PLACE_OF_STEPS
from scalelens.report.plotting import draw
from scalelens.report.text.commands import as_sentence, in_warehouse
from scalelens.report.text.sentences import FindingSentence

if TYPE_CHECKING:
    import polars as pl

Modules = Sequence[tuple[str, ModuleType]]
FIRST_CHART = "scaling"  # that `plot` draws without a name
LEAST_WEIGHT = 0.03  # a finding changes a conclusion from a difference on that jobs of one system seldom show
_MOST_CHART_BYTES = 400_000  # a drawing that is larger would make the page slow
_WIDE = {"width": "double"}  # settings of the charts
_HEADLINE = ({"width": "150mm"}, {"width": "single"})  # of the chart on the first screen: of wide and of narrow ones


class _Chart(NamedTuple):
    """A drawing for wide screens, one for narrow ones where they differ, or why there is none."""

    svg: str
    refusal: str
    narrow: str = ""
    command: str = ""  # that draws it alone
    run: str = ""  # the only one that it shows


class Article(NamedTuple):
    """A question with what was found."""

    name: str
    question: str
    sentences: list[FindingSentence]
    nothing: str  # said where there are no sentences
    chart: _Chart | None
    table: ReportTable
    inputs_sha256: str
    n_inputs: int
    is_minor: bool  # its question changes no conclusion by itself

    @property
    def weight(self) -> float:
        return max((sentence.weight for sentence in self.sentences), default=0.0)

    @property
    def changes_conclusions(self) -> bool:
        return self.weight >= LEAST_WEIGHT

    @property
    def is_a_remark(self) -> bool:
        """Whether it stands last: it says nothing, or nothing that changes a conclusion."""
        return not self.sentences or (self.is_minor and not self.changes_conclusions)


def headline_of(asking: Asking, modules: Modules, rows: Mapping[str, "pl.DataFrame"]) -> tuple[str, _Chart | None]:
    """The first answer whose own chart can be drawn, else one of its other charts: its finding, in two widths.

    How long a step takes is answered by the chart that `plot` draws without a name.
    """
    found = [(name, module) for name, module in modules if hasattr(module, "CHARTS")]
    found = [(name, module) for name, module in found if module.sentences(rows[name], asking.names)]
    of_their_own = [(name, module, _charts_of(module, rows[name])[:1]) for name, module in found]
    others = [(name, module, _charts_of(module, rows[name])[1:]) for name, module in found]
    before = [entry for entry in of_their_own if entry[1].PLACE < PLACE_OF_STEPS]
    plotted = _plotted(asking, found, rows) if len(before) < len(of_their_own) else []
    for name, module, charts in (*before, *plotted, *of_their_own[len(before) :], *others):
        narrow = _first_chart(asking, module, charts, rows[name], _HEADLINE[1])
        if narrow.svg:
            asking.drawn.clear()
            wide = _first_chart(asking, module, charts, rows[name], _HEADLINE[0])
            return name, wide._replace(narrow=narrow.svg)
    return "", None


def _plotted(
    asking: Asking, found: Modules, rows: Mapping[str, "pl.DataFrame"]
) -> list[tuple[str, ModuleType, tuple[str, ...]]]:
    """The charts that `plot` would try, each with the first finding that has it, where any has the first of them."""
    chosen: list[tuple[str, ModuleType, tuple[str, ...]]] = []
    for command in other_figures.shown_by(asking.session, FIRST_CHART):
        verb, chart_name, *further = shlex.split(command)
        settings = [word for word in further if "=" in word]
        spec = " ".join([chart_name, *(setting for setting in settings if not setting.startswith("runs="))])
        owner = next(((name, module) for name, module in found if spec in _charts_of(module, rows[name])), None)
        if verb != "plot" or owner is None:
            break
        chosen.append((owner[0], owner[1], (shlex.join([chart_name, *settings]),)))
    return chosen


def in_order(articles: list[Article]) -> list[Article]:
    """What changes a conclusion first, by weight; then answers; what changes none last."""
    return sorted(articles, key=lambda one: (-one.weight if one.changes_conclusions else 0, one.is_a_remark))


def article(asking: Asking, name: str, module: ModuleType, rows: "pl.DataFrame", drawn: _Chart | None) -> Article:
    """A finding with its chart, which is drawn where something was found."""
    place = _place(asking)
    sentences = [
        sentence._replace(doubt=in_warehouse(sentence.doubt, place))
        for sentence in module.sentences(_first_of(rows, drawn.run if drawn else ""), asking.names)
    ]
    inputs = asking.inputs(rows["run_id"] if "run_id" in rows.columns else None)
    shown = drawn or (
        _first_chart(asking, module, _charts_of(module, rows), rows, _WIDE)
        if sentences and hasattr(module, "CHARTS")
        else None
    )
    return Article(
        name,
        module.question(rows) if hasattr(module, "question") else (module.__doc__ or "").strip(),
        sentences,
        "" if sentences else in_warehouse(_why_nothing(asking, module, rows), place),
        shown,
        asking.table(module.SQL, module.GLANCE, rows),
        hashlib.sha256("\n".join(inputs).encode()).hexdigest(),
        len(inputs),
        getattr(module, "IS_REMARK", False),
    )


def _first_of(rows: "pl.DataFrame", run: str) -> "pl.DataFrame":
    """The rows, those of the run that the figure above them shows first: the first sentence is about that run."""
    if not run or "run_id" not in rows.columns:
        return rows
    is_shown = rows["run_id"] == run
    return rows.filter(is_shown).extend(rows.filter(~is_shown))


def _why_nothing(asking: Asking, module: ModuleType, rows: "pl.DataFrame") -> str:
    """Why a finding has no sentences: the reason that its query gives, where it names one."""
    if rows.height or not hasattr(module, "QUERY"):
        return str(module.nothing(rows))
    asked = Question(module.QUERY)
    with Session(asking.session.root, asking.session.folders, asked.statement, asking.session.unsafe) as session:
        first, *others = reasons(session, asked)
    why = f"{first.what[:1].upper()}{first.what[1:]}{f'; {others[0].what}' if others else ''}"
    run_by_run = asking.session.queries[module.QUERY].when_empty
    return f"{why}.{f' Run by run: scalelens query {run_by_run}' if run_by_run else ''}"


def _charts_of(module: ModuleType, rows: "pl.DataFrame") -> tuple[str, ...]:
    return tuple(module.charts(rows) if hasattr(module, "charts") else module.CHARTS)


def _drawn(
    asking: Asking, chosen: str, module: ModuleType, rows: "pl.DataFrame", settings: Mapping[str, str]
) -> _Chart:
    """A chart of all runs; else, where it shows one run only, of the run that the finding is most about."""
    name, *pairs = shlex.split(chosen)
    parameters = dict(pair.split("=", 1) for pair in pairs)
    of_all = chart(asking, name, parameters, settings)
    if of_all.svg or not hasattr(module, "run_to_draw") or rows.is_empty():
        return of_all._replace(command=_command(name, parameters))
    run = module.run_to_draw(rows)
    of_one = chart(asking, name, parameters | {"runs": f"run_id = {sql_text(run)}"}, settings)
    return of_one._replace(command=_command(name, parameters | {"runs": asking.names.get(run, run)}))


def _command(name: str, parameters: Mapping[str, str]) -> str:
    """The command that draws a chart, without its warehouse."""
    return " ".join(
        ["plot", name, *(shlex.quote(f"{key}={value}") for key, value in parameters.items()), "-o", f"{name}.pdf"]
    )


def _first_chart(
    asking: Asking, module: ModuleType, charts: Sequence[str], rows: "pl.DataFrame", settings: Mapping[str, str]
) -> _Chart:
    """The first of a finding's charts that can be drawn, else why its first one cannot.

    A chart that an earlier finding shows is not repeated.
    """
    refused = _Chart("", "")
    for chosen in charts:
        if chosen in asking.drawn:
            return _Chart("", "")
        drawn = _drawn(asking, chosen, module, rows, settings)
        if drawn.svg:
            asking.drawn.add(chosen)
            return drawn
        refused = refused if refused.refusal else drawn
    return refused


def chart(asking: Asking, name: str, parameters: Mapping[str, str], settings: Mapping[str, str]) -> _Chart:
    """Draws a chart.  One that refuses, or would be too large, says why."""
    asked = _command(name, parameters)
    if asked in asking.too_large:
        return _too_large(asking, name)
    try:
        drawn = draw(asking.session, name, parameters, settings, asking.answer)
    except UserError as refusal:
        return _Chart("", in_warehouse(as_sentence(f"There is no figure here: {refusal}"), _place(asking)))
    svg = rendering.drawing(drawn.chart, drawn.provenance, drawn.page, _MOST_CHART_BYTES)
    if not svg:
        asking.too_large.add(asked)
        return _too_large(asking, name)
    runs = drawn.rows["run_id"].unique().to_list() if "run_id" in drawn.rows.columns else []
    return _Chart(svg, "", run=runs[0] if len(runs) == 1 else "")


def _too_large(asking: Asking, name: str) -> _Chart:
    text = f"The figure is too large for this page: scalelens plot {name} -o {name}.pdf"
    return _Chart("", in_warehouse(text, _place(asking)))


def _place(asking: Asking) -> str:
    """Where the warehouse is, for the commands of the page."""
    return str(asking.session.root)
