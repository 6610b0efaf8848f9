"""How long does an epoch take?"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from scalelens.report.findings.printed_rates import TIMED
from scalelens.report.text.sentences import FindingSentence, KeyNumber, plural, seconds

if TYPE_CHECKING:
    import polars as pl

PLACE = 17
# Of logs without a time of a step; the first epoch of several, which often is longer, and one that is cut do not count.
SQL = f"""
SELECT run_id, any_value(devices) AS devices, count(*) AS epochs, avg(whole_s) AS epoch_s,
       min(whole_s) AS shortest_s, max(whole_s) AS longest_s
FROM (
    SELECT e.run_id, devices, coalesce(e.epoch_s, e.train_s) AS whole_s,
           row_number() OVER (PARTITION BY e.run_id, attempt ORDER BY epoch) AS nth,
           count(*) OVER (PARTITION BY e.run_id, attempt) AS epochs_of_attempt
    FROM epoch_times() AS e JOIN runs AS r ON r.run_id = e.run_id
    WHERE coalesce(e.epoch_s, e.train_s) > 0 AND NOT coalesce(is_cut, false) AND NOT EXISTS ({TIMED}))
WHERE nth > 1 OR epochs_of_attempt = 1
GROUP BY run_id ORDER BY epoch_s, run_id"""
GLANCE = ("run_id", "devices", "epochs", "epoch_s", "shortest_s", "longest_s")
NUMBER_PLACE = 52
CHARTS = ("scaling", "epochs")  # the times of an epoch over the devices; side by side
ONLY_WITH_ROWS = True
_FEWEST_SIZES = 2


def charts(rows: "pl.DataFrame") -> tuple[str, ...]:
    over_devices, side_by_side = CHARTS
    if rows["devices"].drop_nulls().n_unique() >= _FEWEST_SIZES:
        return (over_devices,)
    return (side_by_side,) if rows.height > 1 and (rows["epochs"] > 1).any() else ()


def sentences(rows: "pl.DataFrame", names: Mapping[str, str]) -> list[FindingSentence]:
    if rows.is_empty():
        return []
    quick, slow = rows.row(0, named=True), rows.row(-1, named=True)
    doubt = f"Means of {_counted(rows)}, without the first of several."
    if rows.height == 1:
        return [FindingSentence(f"{names[quick['run_id']]}: an epoch takes {seconds(quick['epoch_s'])}.", doubt)]
    text = (
        f"{plural(rows.height, 'run')}: an epoch takes {seconds(quick['epoch_s'])} in {names[quick['run_id']]} to "
        f"{seconds(slow['epoch_s'])} in {names[slow['run_id']]}."
    )
    return [FindingSentence(text, doubt)]


def _counted(rows: "pl.DataFrame") -> str:
    """`9 epochs`, or `1 to 9 epochs` where the runs have not equally many."""
    least, most = int(rows["epochs"].sort()[0]), int(rows["epochs"].sort()[-1])
    return plural(most, "epoch") if least == most else f"{least} to {plural(most, 'epoch')}"


def number(rows: "pl.DataFrame", names: Mapping[str, str]) -> KeyNumber | None:
    if rows.is_empty():
        return None
    quick = rows.row(0, named=True)
    label = "an epoch, mean" if rows.height == 1 else "an epoch of the fastest run, mean"
    return KeyNumber(seconds(quick["epoch_s"]), label, names[quick["run_id"]])


def nothing(rows: "pl.DataFrame") -> str:
    return "No log without times of steps says how long an epoch takes."
