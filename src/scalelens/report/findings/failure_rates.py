"""What keeps failing, and how often?"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scalelens.charts import words
from scalelens.report.text.sentences import FindingSentence, few, percent, plural

if TYPE_CHECKING:
    import polars as pl

PLACE = 205
IS_REMARK = True
CHARTS = ("failures",)
SQL = "SELECT * EXCLUDE (run_ids) FROM failures()"
GLANCE = (
    "part", "what", "failures", "n_runs", "failures_per_1000_node_h", "mtbf_h", "verdict", "p_value", "named",
    "lost_node_hours", "first_line",
)  # fmt: skip
_FEWEST_DRAWN = 3  # failures; a single bar with its interval is not worth a figure
_FEWEST_RUNS = 10  # below, a rate says nothing


def sentences(rows: "pl.DataFrame", names: Mapping[str, str]) -> list[FindingSentence]:
    of_all = next((row for row in rows.iter_rows(named=True) if row["part"] == "all"), None)
    if not of_all or not of_all["failures"] or of_all["n_runs"] < _FEWEST_RUNS:
        return []
    found = [FindingSentence(_text_of_all(of_all, rows), _doubt_of_all(of_all))]
    for row in rows.iter_rows(named=True):
        if row["verdict"] in ("failing", "confounded"):
            found.append(_of_node(row, of_all))
    return few(found)


def charts(rows: "pl.DataFrame") -> tuple[str, ...]:
    failures = sum(row["failures"] for row in rows.iter_rows(named=True) if row["part"] == "all")
    return CHARTS if failures >= _FEWEST_DRAWN else ()


def _text_of_all(row: Mapping[str, Any], rows: "pl.DataFrame") -> str:
    causes = [
        f"{words.cause(cause['what'])} {cause['failures']}"
        for cause in rows.iter_rows(named=True)
        if cause["part"] == "cause"
    ]
    hours = f", one in {row['mtbf_h']:.3g} hours of a running job" if row["mtbf_h"] else ""
    return f"{row['failures']} of {plural(row['n_runs'], 'run')} failed{hours}. By cause: {', '.join(causes)}."


def _doubt_of_all(row: Mapping[str, Any]) -> str:
    rate = ""
    if row["failures_per_1000_node_h"]:  # 0 where no run that failed has a known time
        value, low, high = (row[f"failures_per_1000_node_h{end}"] for end in ("", "_low", "_high"))
        rate = f"{value:.3g} in 1,000 node-hours (95 % interval {low:.3g} to {high:.3g})."
    unknown = f" How {plural(row['n_unknown'], 'further run')} ended is not known." if row["n_unknown"] else ""
    return f"{rate}{unknown}".strip()


def _of_node(row: Mapping[str, Any], of_all: Mapping[str, Any]) -> FindingSentence:
    share = row["failures"] / max(row["n_runs"], 1)
    text = f"{row['failures']} of {plural(row['n_runs'], 'run')} with {row['what']} failed"
    rivals = f"; it cannot be told from {row['rivals']}" if row["rivals"] else ""
    named = f" The line that reports the failure names it in {row['named']}." if row["named"] else ""
    usual = percent(of_all["failures"] / of_all["n_runs"], 0)
    doubt = f"p {row['p_value']:.2g} for all nodes together.{named}"
    return FindingSentence(f"{text}, {percent(share, 0)}, where {usual} of all runs did{rivals}.", doubt, share)


def nothing(rows: "pl.DataFrame") -> str:
    if rows.filter((rows["part"] == "all") & (rows["failures"] > 0)).is_empty():
        return "No log reports a failure, so there is no failure rate."
    return f"Fewer than {_FEWEST_RUNS} logs show how their run ended: too few for a rate."
