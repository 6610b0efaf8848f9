"""Do repeats of the same settings agree?"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from scalelens.report.text.sentences import FindingSentence, few, few_of

if TYPE_CHECKING:
    import polars as pl

PLACE = 140
SQL = """
SELECT series, devices, any_value(is_unlike) AS is_unlike, max(scatter) AS factor,
       list_sort(list_distinct(flatten(list(run_ids)))) AS run_ids
FROM scaling_series() WHERE scatter IS NOT NULL GROUP BY series, devices ORDER BY factor DESC, series, devices"""
GLANCE = ("series", "devices", "factor", "run_ids", "is_unlike")


def sentences(rows: "pl.DataFrame", names: Mapping[str, str]) -> list[FindingSentence]:
    """The repeats of one size, whatever series they are in."""
    result: dict[tuple[str, ...], FindingSentence] = {}
    for row in rows.iter_rows(named=True):
        runs = tuple(row["run_ids"])
        named, size = few_of([names[run] for run in runs]), f"{len(runs)} runs on {row['devices']} devices"
        text = f"{named}: {size} have the same settings and differ by a factor of {row['factor']:.3g}."
        doubt = "No log says why. They have no efficiency." if row["is_unlike"] else "No log says why."
        result.setdefault(runs, FindingSentence(text, doubt, min(row["factor"] - 1, 1.0)))
    return few([*result.values()])


def nothing(rows: "pl.DataFrame") -> str:
    return "No repeats of a size within a scaling series differ by more than their own scatter and 5 %."
