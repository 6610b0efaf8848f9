"""What would more devices give?"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scalelens.report.text.sentences import FindingSentence, few, percent, plural

if TYPE_CHECKING:
    import polars as pl

PLACE = 35
SQL = "FROM forecast(times_devices := 4)"
GLANCE = (
    "series",
    "devices",
    "doublings",
    "speedup",
    "efficiency%",
    "efficiency_at_least%",
    "efficiency_at_most%",
    "note",
)
CHARTS = ("forecast",)
_MOST_WIDTH = 1.0  # of an interval of the efficiency: a wider one says nothing


def sentences(rows: "pl.DataFrame", names: Mapping[str, str]) -> list[FindingSentence]:
    """One sentence per series, of twice its largest size, unless the interval is wider than it is worth."""
    told = rows.filter((rows["doublings"] == 1) & rows["efficiency_at_least"].is_not_null())
    return few([
        FindingSentence(_text_of(row), _doubt_of(row))
        for row in told.iter_rows(named=True)
        if row["efficiency_at_most"] - row["efficiency_at_least"] <= _MOST_WIDTH
    ])  # fmt: skip


def _text_of(row: Mapping[str, Any]) -> str:
    ends = f"{percent(row['efficiency_at_least'], 0)} to {percent(row['efficiency_at_most'], 0)}"
    return (
        f"{row['series']}: at {row['devices']:,} devices expect {ends} of ideal; {row['largest_devices']:,} were run."
    )


def _doubt_of(row: Mapping[str, Any]) -> str:
    return (
        f"A power law through the measured sizes; nine of ten such intervals contained the result in "
        f"{plural(row['n_residuals'], 'forecast')} whose result is known."
    )


def nothing(rows: "pl.DataFrame") -> str:
    if rows.is_empty():
        return "No series has several sizes."
    if rows["efficiency_at_least"].is_not_null().any():
        return "The measured sizes are too far from a line to forecast twice the largest."
    return "A forecast needs four sizes with rising speed; no series has them."
