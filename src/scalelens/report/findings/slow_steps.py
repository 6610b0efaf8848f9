"""What do slow steps cost?"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scalelens.report.text.sentences import FindingSentence, few, percent, plural, seconds

if TYPE_CHECKING:
    import polars as pl

PLACE = 100
SQL = """
WITH slow AS (
    SELECT s.* REPLACE (if(class = 'isolated' AND step = last_of_run, 'last', class) AS class)
    FROM slow_steps() AS s
    LEFT JOIN (SELECT run_id, max(step) AS last_of_run FROM step_times GROUP BY run_id) USING (run_id)
    WHERE class IS NOT NULL)
SELECT run_id, class, count(*) AS n_slow, sum(cost_s) AS cost_s, sum(cost_percent) / 100 AS cost_share,
       max(step_s) AS slowest_s, any_value(fast_s) AS fast_s, min(period_steps) AS period_steps,
       min(step) AS first_step, max(step) AS last_step,
       if(max(averaged_steps) = min(averaged_steps), max(averaged_steps), 0) AS averaged_steps
FROM slow GROUP BY run_id, class ORDER BY class = 'last', cost_share DESC, run_id, class"""
GLANCE = ("run_id", "class", "n_slow", "averaged_steps", "cost_share%", "cost_s", "slowest_s", "fast_s",
          "period_steps", "first_step", "last_step")  # fmt: skip
_LEAST_SHARE = 0.01  # of the time; smaller shares are only in the table
_WORDS = {"first_of_epoch": "slow first {} of epochs", "regime_shift": "{} of a slower phase",
         "periodic": "slow {} in a rhythm", "isolated": "isolated slow {}"}  # fmt: skip


def sentences(rows: "pl.DataFrame", names: Mapping[str, str]) -> list[FindingSentence]:
    costly = rows.filter(rows["cost_share"] >= _LEAST_SHARE).iter_rows(named=True)
    return few([FindingSentence(_text_of(row, names), _doubt_of(row), _weight_of(row)) for row in costly])


def _weight_of(row: Mapping[str, Any]) -> float:
    """The last step holds the end of the program, and says nothing about the pace."""
    return 0.0 if row["class"] == "last" else float(row["cost_share"])


def _text_of(row: Mapping[str, Any], names: Mapping[str, str]) -> str:
    if row["class"] == "last":
        slowest, fast = seconds(row["slowest_s"]), seconds(row["fast_s"])
        which = _noun_of(row, "last ")
        takes = "takes" if row["averaged_steps"] == 1 else "is"
        return f"{names[row['run_id']]}: its {which} ({row['last_step']}) {takes} {slowest} instead of {fast}."
    steps = _noun_of(row)
    rhythm = f", every {row['period_steps']} steps" if row["period_steps"] else ""
    what = f"{row['n_slow']} {_WORDS[row['class']].format(steps)}{rhythm}"
    cost = f"{percent(row['cost_share'])} of its step time is the extra cost of {what}"
    return f"{names[row['run_id']]}: {cost} ({_where(row)})."


def _noun_of(row: Mapping[str, Any], last: str = "") -> str:
    """What is slow: a step or several, else means of several steps."""
    if row["averaged_steps"] == 1:
        return f"{last}step" if row["n_slow"] == 1 else f"{last}steps"
    return f"{last}{'mean' if row['n_slow'] == 1 else 'means'} of {row['averaged_steps'] or 'several'} steps"


def _where(row: Mapping[str, Any]) -> str:
    """Which steps: one at the end of a run is a different matter than many all over it."""
    first, last = row["first_step"], row["last_step"]
    if row["n_slow"] == 1:
        return f"step {first}"
    return f"steps {first} and {last}" if row["n_slow"] == 2 else f"between steps {first} and {last}"


def _doubt_of(row: Mapping[str, Any]) -> str:
    if row["class"] == "last":
        return f"{percent(row['cost_share'])} of its total step time; the mean includes it, the median does not."
    takes = "takes" if row["averaged_steps"] == 1 else "is"
    slowest = f"the slowest {takes} {seconds(row['slowest_s'])} instead of {seconds(row['fast_s'])}"
    return f"They cost {seconds(row['cost_s'])} more than ordinary steps; {slowest}."


def nothing(rows: "pl.DataFrame") -> str:
    small = f" {plural(rows.height, 'kind')} of slow steps cost less." if rows.height else ""
    return f"No run is known to lose more than 1 % of its time in slow steps.{small}"
