"""List the charts, what each shows, and the query it draws."""

from scalelens.cli.options import OutputFormat
from scalelens.cli.output import show

PANEL = "Draw"


def charts(format: OutputFormat = None) -> None:
    """List the charts, what each shows, and the query it draws.

    Example:  scalelens charts
    """
    import polars as pl

    from scalelens.charts.load import load, title

    show(
        pl.DataFrame([{"name": name, "shows": title(chart), "query": chart.QUERY} for name, chart in load().items()]),
        format,
    )
