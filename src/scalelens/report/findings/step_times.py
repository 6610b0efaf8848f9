"""How fast is each run?"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from scalelens.report.text.sentences import FindingSentence, KeyNumber, amount, plural, seconds

if TYPE_CHECKING:
    import polars as pl

PLACE = 20
_UNITS_S = ("1", "0.1", "0.01", "0.001", "0.0001", "0.00001")  # to which logs round times
_COARSE = 0.01  # of a time: a unit this large, or larger, hides what sets runs apart
# Of each run, whether all its times are multiples of a unit that is large beside them.
_ROUNDED = " OR\n        ".join(
    f"(avg(time_s) <= {unit} / {_COARSE} AND bool_and(abs(time_s / {unit} - round(time_s / {unit})) < 1e-5))"
    for unit in _UNITS_S
)
SQL = f"""
SELECT b.*, devices, device_unit, is_coarse FROM batch_stats() AS b LEFT JOIN runs USING (run_id)
LEFT JOIN (
    SELECT run_id,
        {_ROUNDED} AS is_coarse
    FROM (SELECT run_id, step_s * coalesce(averaged_steps, 1) AS time_s FROM steps WHERE step_s > 0 AND phase = 'train')
    GROUP BY run_id) USING (run_id)
ORDER BY run_id"""
GLANCE = ("run_id", "n_steps", "step_s", "p95_s", "p99_s", "mean_s", "samples_per_s", "tokens_per_s", "n_excluded",
          "value_kinds", "note")  # fmt: skip
CHARTS = ("batch_cdf", "throughput", "step_times", "batch_size_curve")
NUMBER_PLACE = 50
_FEWEST_LEFT_OUT = 2  # records: one alone is counted where the report says that nothing follows from it
FEWEST_TIMES = 5  # step times that a distribution needs to say more than they do one after the other


def charts(rows: "pl.DataFrame") -> tuple[str, ...]:
    most = rows["n_steps"].max()
    if most == 0:
        return ("throughput exclude=none", "step_times")
    if most is None or most >= FEWEST_TIMES:  # type: ignore[operator]
        return CHARTS
    return ("step_times", *(chart for chart in CHARTS if chart not in ("step_times", "batch_cdf")))


def sentences(rows: "pl.DataFrame", names: Mapping[str, str]) -> list[FindingSentence]:
    timed = rows.filter(rows["step_s"].is_not_null()).sort("step_s", "run_id")
    if timed.is_empty():
        return _all_left_out(rows.filter(rows["n_excluded"] > 0))
    fastest, slowest = timed.row(0, named=True), timed.row(-1, named=True)
    low, high = seconds(fastest["step_s"]), seconds(slowest["step_s"])
    text = f"{plural(timed.height, 'run')} with step times: the median step takes {low}"
    if low != high:
        text += f" in {names[fastest['run_id']]} to {high} in {names[slowest['run_id']]}"
    elif timed.height > 1:
        text += " in each"
    sure = (timed["interval_kind"] == "ci95").sum()
    doubt = (
        f"{plural(int(timed['n_steps'].sum()), 'step record')}, {int(timed['n_excluded'].sum() or 0):,} left out. "
        f"{_intervals(int(sure), timed.height)}"
    )
    if timed.height > 1:
        doubt += " Runs with other batches or settings are not comparable by their step time."
    return [FindingSentence(f"{text}.", doubt)]


def _all_left_out(rows: "pl.DataFrame") -> list[FindingSentence]:
    """That runs are too short to say how fast they are, where rules leave out all of their records."""
    if rows.is_empty() or rows["n_excluded"].sum() < _FEWEST_LEFT_OUT:
        return []
    records, runs = plural(int(rows["n_excluded"].sum()), "step record"), plural(rows.height, "run")
    text = f"Too short to say: the {records} of {runs} are all left out, most as warm-up."
    return [FindingSentence(text, "By which rule each is left out: scalelens query exclusions")]


def _intervals(sure: int, runs: int) -> str:
    """How many of the runs have an interval, and what the others have."""
    if sure == runs:
        return "The median has a 95 % interval." if runs == 1 else "Each median has a 95 % interval."
    if not sure:
        which = "The run is not" if runs == 1 else "No run is"
        return f"{which} long and steady enough for a 95 % interval: a range is given."
    return f"{plural(sure, 'run')} with a 95 % interval, {runs - sure} with a range."


def number(rows: "pl.DataFrame", names: Mapping[str, str]) -> KeyNumber | None:
    """The median step and the throughput of the run with the most devices, the fastest of them.

    A run whose log rounds its times to few digits is named only if no other run has as many devices.
    """
    timed = rows.filter(rows["step_s"].is_not_null())
    if timed.is_empty():
        return None
    order = ["devices", "is_coarse", "tokens_per_s", "samples_per_s", "step_s", "run_id"]
    largest = timed.sort(order, descending=[True, False, True, True, False, False], nulls_last=True).row(0, named=True)
    work = "tokens" if largest["tokens_per_s"] else "samples"
    rate = largest[f"{work}_per_s"]
    facts = [
        f"{amount(rate)} {work}/s" if rate else "",
        plural(largest["devices"], "device") if largest["devices"] else "",
        names[largest["run_id"]],
    ]
    return KeyNumber(seconds(largest["step_s"]), "median step", ", ".join(filter(None, facts)))


def nothing(rows: "pl.DataFrame") -> str:
    return "No log gives a step time."
