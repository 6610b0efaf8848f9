"""Options of a figure: size and axes, texts and series, the marks of a figure of one's own SQL, files beside it."""

from pathlib import Path
from typing import Annotated

import typer

AXES, TEXTS, OWN, FILES = "Size and axes", "Texts and series", "A figure of your own SQL", "Files"

_WIDTHS = (
    "single, double, ieee-single, ieee-double, acm-single, acm-double, springer-single, springer-double, lncs, slides"
)

Data = Annotated[Path | None, typer.Option(help="Write the rows as CSV too.", rich_help_panel=FILES)]
CaptionFile = Annotated[Path | None, typer.Option(help="Write the caption as text too.", rich_help_panel=FILES)]

Width = Annotated[str | None, typer.Option(metavar="WIDTH", help=f"{_WIDTHS}; or 86mm, 3.4in.", rich_help_panel=AXES)]
Height = Annotated[
    str | None, typer.Option(metavar="LENGTH", help="Height of the whole figure: 60mm.", rich_help_panel=AXES)
]
FontSize = Annotated[float | None, typer.Option(help="Size of the smallest text, in points.", rich_help_panel=AXES)]
Theme = Annotated[
    str | None,
    typer.Option(metavar="light|dark", help="Background; dark suits slides and screens.", rich_help_panel=AXES),
]
Limits = Annotated[
    list[str] | None, typer.Option(metavar="[TITLE=]LOW:HIGH", help="Ends of a y axis.", rich_help_panel=AXES)
]
XLimits = Annotated[
    list[str] | None,
    typer.Option(metavar="[TITLE=]LOW:HIGH", help="Limits of an x axis; dates as 2024-05-01.", rich_help_panel=AXES),
]
Log = Annotated[
    list[str] | None, typer.Option(metavar="x|y|TITLE", help="Axis to make logarithmic.", rich_help_panel=AXES)
]

Facet = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="A panel for each value of a column.", rich_help_panel=AXES)
]

Unit = Annotated[
    str | None, typer.Option(metavar="gpu", help="Count the two GCDs of a module as one GPU.", rich_help_panel=AXES)
]

Title = Annotated[str | None, typer.Option(help="Text above the figure.", rich_help_panel=TEXTS)]
Caption = Annotated[
    bool | None, typer.Option("--caption/--no-caption", help="The caption below it.", rich_help_panel=TEXTS)
]
Label = Annotated[
    list[str] | None, typer.Option(metavar="OLD=NEW", help="Rename a series or an axis.", rich_help_panel=TEXTS)
]
Order = Annotated[
    str | None, typer.Option(metavar="A,B", help="Series and panels that come first.", rich_help_panel=TEXTS)
]
Colors = Annotated[
    str | None, typer.Option(metavar="#D55E00,B=#0072B2", help="Colors of series.", rich_help_panel=TEXTS)
]

Sql = Annotated[str | None, typer.Option(metavar="SQL", help="Rows to draw.", rich_help_panel=OWN)]
_MARKS = "Mark for --sql, line by default; throughput takes bar."
Mark = Annotated[str | None, typer.Option(metavar="line|bar|point", help=_MARKS, rich_help_panel=OWN)]
_ALONG = "The x axis. Of accuracy: epochs, steps, tokens, hours or energy."
X = Annotated[str | None, typer.Option(metavar="COLUMN", help=_ALONG, rich_help_panel=OWN)]
Y = Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of numbers for the y axis.", rich_help_panel=OWN)]
Color = Annotated[
    str, typer.Option(metavar="COLUMN", help="Column that distinguishes the series.", rich_help_panel=OWN)
]
