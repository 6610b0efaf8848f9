"""What does each device do, by its log?"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from scalelens.charts.run_rates import MOST_RUNS
from scalelens.report.text.sentences import FindingSentence, KeyNumber, amount, plural

if TYPE_CHECKING:
    import polars as pl

PLACE = 19
TIMED = "SELECT run_id FROM steps WHERE phase = 'train' AND step_s > 0"
# Rates of a device that more logs print than times of steps, where none says on how many devices.
SQL = f"""
SELECT run_id, coalesce(tokens_per_s, samples_per_s) AS printed_per_s, tokens_per_s AS device_tokens_per_s,
       samples_per_s AS device_samples_per_s, if(tokens_per_s IS NULL, 'samples', 'tokens') AS work
FROM rates_logged() WHERE rate_scope = 'rank' AND coalesce(tokens_per_s, samples_per_s) > 0
QUALIFY count(*) OVER () BETWEEN greatest(2, 1 + (SELECT count(DISTINCT run_id) FROM ({TIMED}))) AND {MOST_RUNS}
    AND count(DISTINCT tokens_per_s IS NULL) OVER () = 1 AND NOT EXISTS (SELECT 1 FROM runs WHERE devices > 0)
ORDER BY printed_per_s DESC, run_id"""
GLANCE = ("run_id", "device_tokens_per_s", "device_samples_per_s")
CHARTS = ("throughput",)
NUMBER_PLACE = 45
ONLY_WITH_ROWS = True


def sentences(rows: "pl.DataFrame", names: Mapping[str, str]) -> list[FindingSentence]:
    if rows.is_empty():
        return []
    most, least = rows.row(0, named=True), rows.row(-1, named=True)
    text = (
        f"{plural(rows.height, 'run')}: a device does {amount(least['printed_per_s'])} {least['work']}/s in "
        f"{names[least['run_id']]} to {amount(most['printed_per_s'])} {most['work']}/s in {names[most['run_id']]}."
    )
    return [FindingSentence(text, "As the logs print them, whatever they include; none says on how many devices.")]


def number(rows: "pl.DataFrame", names: Mapping[str, str]) -> KeyNumber | None:
    if rows.is_empty():
        return None
    most = rows.row(0, named=True)
    return KeyNumber(
        f"{amount(most['printed_per_s'])} {most['work']}/s", "per device, as printed", names[most["run_id"]]
    )


def nothing(rows: "pl.DataFrame") -> str:
    return "No log prints the rate of a device."
