"""Draw a chart for a paper."""

import shlex
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from scalelens.cli import figure_options as opts
from scalelens.cli.completions import chart_names, query_parameters
from scalelens.cli.options import WAREHOUSE, QueryFolders, WarehouseOption, pairs
from scalelens.cli.other_kinds import refuse_chart
from scalelens.cli.other_sizes_beside import other_sizes, print_other_sizes
from scalelens.cli.output import errors
from scalelens.cli.pasting import in_warehouse
from scalelens.errors import UserError

if TYPE_CHECKING:
    from scalelens.charts.own import Marks
    from scalelens.question.session import Session
    from scalelens.report.plotting import Plotted

PANEL = "Draw"
_SERIES = "scaling"  # the chart of series: it says which sizes are in none

_Name = Annotated[
    str | None, typer.Argument(help="A chart; list them with: scalelens charts", autocompletion=chart_names)
]
_Parameters = Annotated[
    list[str] | None,
    typer.Argument(metavar="[KEY=VALUE]...", help="Parameters of its query.", autocompletion=query_parameters),
]


def plot(
    name: _Name = None,
    parameters: _Parameters = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="File: .pdf .svg .png .html or .json")] = None,
    warehouse: WarehouseOption = WAREHOUSE,
    folders: QueryFolders = None,
    data: opts.Data = None,
    caption_file: opts.CaptionFile = None,
    width: opts.Width = None,
    height: opts.Height = None,
    font_size: opts.FontSize = None,
    theme: opts.Theme = None,
    xlim: opts.XLimits = None,
    ylim: opts.Limits = None,
    log: opts.Log = None,
    title: opts.Title = None,
    caption: opts.Caption = None,
    label: opts.Label = None,
    order: opts.Order = None,
    colors: opts.Colors = None,
    sql: opts.Sql = None,
    mark: opts.Mark = None,
    x: opts.X = None,
    y: opts.Y = None,
    color: opts.Color = "",
    facet: opts.Facet = None,
    unit: opts.Unit = None,
) -> None:
    """Draw a chart for a paper, or the rows of your own SQL; without a name, scaling or what else these logs can show.

    The settings can stand in scalelens.toml, in this folder or above, below [figure.scaling] or [figure.sql].

    Examples:

    scalelens plot -o figure.pdf

    scalelens plot scaling -o scaling.pdf --width ieee-single

    scalelens plot batch_cdf runs="devices = 8" --log x -o cdf.svg --label "step time [s]=time of a batch [s]"

    scalelens plot accuracy --x tokens score_name=loss smooth=20 -o loss.pdf

    scalelens plot --sql "FROM batch_stats() JOIN runs USING (run_id)" --mark point --x devices --y step_s -o own.pdf
    """
    from scalelens.report import plotting

    kind, output = _asked(name, sql, output)
    chosen = partial(
        _settings, width=width, height=height, font_size=font_size, theme=theme, title=title, caption=caption,
        labels=label, order=order, colors=colors, xlim=xlim, ylim=ylim, log=log, facet=facet, unit=unit,
        mark=None if sql else mark,
    )  # fmt: skip
    if sql is not None:
        marks = _marks(mark or "line", x, y, color)
        drawn, remark = plotting.plot_sql(warehouse, sql, marks, output, chosen(kind), tuple(folders or ())), ""
    else:
        request = _Request(warehouse, tuple(folders or ()), x, chosen)
        drawn, remark = _drawn(request, kind, pairs(parameters), chosen(kind)) if kind else _first_drawn(request)
        plotting.save(drawn, output)
    _finish(drawn, (output, data, caption_file), remark)


_MOST_OTHERS = 3  # charts that are named below the one that `plot` chose


class _Request(NamedTuple):
    warehouse: Path
    folders: tuple[Path, ...]  # of the user's queries
    x: str | None
    settings: Callable[[str], dict[str, Any]]  # of a chart


def _remark_into(remarks: list[str], parameters: Mapping[str, Any]) -> "Callable[[Session, Plotted], None]":
    """What is called with the open session, to find out which sizes the figure does not show."""

    def remark(session: "Session", drawn: "Plotted") -> None:
        remarks.append(
            other_sizes(session, parameters, drawn.rows["series"].to_list(), drawn.rows["devices"].to_list())
        )

    return remark


def _finish(drawn: "Plotted", paths: tuple[Path, Path | None, Path | None], remark: str) -> None:
    """Writes what stands beside the figure, and says which files there are, and of series what they do not show."""
    from scalelens.report import plotting

    plotting.save_beside(drawn, *paths[1:])
    errors.print("\n".join(str(path) for path in paths if path), markup=False)
    print_other_sizes(remark)


def _settings(kind: str, **given: Any) -> dict[str, Any]:
    """The settings of a figure: those of scalelens.toml, and above them those that were given."""
    from scalelens.report.settings import figure_settings

    return {**figure_settings(kind, Path.cwd()), **{key: value for key, value in given.items() if value is not None}}


def _asked(name: str | None, sql: str | None, output: Path | None) -> tuple[str, Path]:
    """What the settings of the figure stand below, and the file to draw to: its chart, `sql`, or "" for any chart."""
    if name is not None and sql is not None:
        raise UserError("name a chart or give --sql, not both", "list the charts with: scalelens charts")
    if name:
        refuse_chart(name)
    kind = name or ("sql" if sql is not None else "")
    if output is None:
        raise UserError("no file to draw to", f"choose a file with -o {kind or 'figure'}.pdf")
    return kind, output


def _drawn(
    request: _Request, name: str, parameters: Mapping[str, Any], settings: Mapping[str, Any], is_asked_for: bool = True
) -> "tuple[Plotted, str]":
    """A chart, and of scaling which sizes it does not show.

    Of one that `is_asked_for` a refusal says why that is, and what can be drawn instead.
    """
    from scalelens.report import plotting

    remarks: list[str] = []
    remark = _remark_into(remarks, parameters) if name == _SERIES else None
    given = {**parameters, **({"x": request.x} if request.x else {})}
    draw = partial(plotting.plot, path=None) if is_asked_for else plotting.attempt
    drawn = draw(
        request.warehouse, name, parameters=given, settings=settings, query_folders=request.folders, beside=remark
    )
    return drawn, "".join(remarks[-1:])


def _first_drawn(request: _Request) -> "tuple[Plotted, str]":
    """The chart of scaling if it can be drawn, else the first chart that these logs can show.

    Raises UserError with what the warehouse holds where there is none.
    """
    name, drawn, others = _SERIES, _shown(request, _SERIES, {}), list[str]()
    if isinstance(drawn, UserError):
        name, drawn, others = _other_drawn(request)
    errors.print(f"the chart is {name}; list the others with: scalelens charts", markup=False)
    if others:
        errors.print(in_warehouse(f"these logs also show: scalelens {', scalelens '.join(others)}"), markup=False)
    return drawn


def _other_drawn(request: _Request) -> "tuple[str, tuple[Plotted, str], list[str]]":
    """The first chart but that of scaling that can be drawn, and commands that draw the next few.

    Raises UserError where there is none.
    """
    from scalelens.question.session import in_session
    from scalelens.report import other_figures
    from scalelens.report.nothing_to_draw import nothing_to_draw

    about = other_figures.about(_SERIES)
    commands = in_session(request.warehouse, lambda session: other_figures.shown_by(session, _SERIES), about=about)
    commands = [command for command in commands if command.startswith("plot ")]
    for command in commands:
        _, name, *further = shlex.split(command)
        drawn = _shown(request, name, pairs([word for word in further if "=" in word]))
        if not isinstance(drawn, UserError):
            others = {shlex.split(other)[1]: other for other in reversed(commands) if shlex.split(other)[1] != name}
            return name, drawn, [*reversed(others.values())][:_MOST_OTHERS]
    raise nothing_to_draw(request.warehouse, request.folders)


def _shown(request: _Request, name: str, parameters: Mapping[str, Any]) -> "tuple[Plotted, str] | UserError":
    """A chart, or why it cannot be drawn.  Raises UserError where it can, but not with these settings."""
    settings = request.settings(name)
    try:
        return _drawn(request, name, parameters, settings, is_asked_for=False)
    except UserError as refusal:
        if settings and not isinstance(_shown(request._replace(settings=lambda name: {}), name, parameters), UserError):
            raise
        return refusal


def _marks(mark: str, x: str | None, y: str | None, color: str) -> "Marks":
    from scalelens.charts.own import Marks

    if not x or not y:
        raise UserError("--sql needs two columns to draw", "name them: --x devices --y step_s")
    return Marks(mark, x, y, color)
