"""How fast were the runs, by the rates that their logs print?"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from scalelens.charts.run_rates import MOST_RUNS
from scalelens.report.text.sentences import FindingSentence, KeyNumber, amount, plural

if TYPE_CHECKING:
    import polars as pl

PLACE = 19
TIMED = "SELECT run_id FROM steps WHERE phase = 'train' AND step_s > 0"
# Rates of a device, of a job on known nodes, or else of a job or of what nothing says, that more logs print than times
# of steps, where none says on how many devices, or of jobs most do not.  A rate that does not grow at least with the
# root of the nodes may be of a device.
SQL = f"""
WITH rates AS (
    SELECT run_id, nodes, samples_per_s, tokens_per_s, coalesce(tokens_per_s, samples_per_s) AS per_s,
           if(tokens_per_s IS NULL, 'samples', 'tokens') AS work,
           CASE WHEN rate_scope = 'rank' THEN 'device' WHEN sizes > 1 THEN 'node'
               WHEN count(*) FILTER (rate_scope IS NULL) OVER () = 0 THEN 'job' ELSE 'run' END AS unit
    FROM rates_logged() JOIN runs USING (run_id), (SELECT count(DISTINCT coalesce(nodes, 0)) AS sizes FROM runs))
SELECT run_id, unit, if(unit = 'node', nodes, NULL) AS nodes, work, tokens_per_s, samples_per_s, per_s,
       per_s / if(unit = 'node', nodes, 1) AS printed_per_s
FROM rates WHERE printed_per_s > 0
QUALIFY count(*) OVER () BETWEEN greatest(2, 1 + (SELECT count(DISTINCT run_id) FROM ({TIMED}))) AND {MOST_RUNS}
    AND count(DISTINCT work) OVER () = 1 AND count(DISTINCT unit) OVER () = 1
    AND (unit <> 'node' OR max(nodes) OVER () > min(nodes) OVER ()
        AND max_by(per_s, [nodes, per_s]) OVER () / min_by(per_s, [nodes, per_s]) OVER ()
            >= sqrt(max(nodes) OVER () / min(nodes) OVER ()))
    AND (SELECT count(*) FROM runs WHERE devices > 0) <= if(unit IN ('job', 'run'), count(*) OVER () / 2, 0)
ORDER BY printed_per_s DESC, run_id"""
GLANCE = ("run_id", "nodes", "tokens_per_s", "samples_per_s")
CHARTS = ("throughput",)
NUMBER_PLACE = 45
_FEWEST_SIZES = 2
ONLY_WITH_ROWS = True


def sentences(rows: "pl.DataFrame", names: Mapping[str, str]) -> list[FindingSentence]:
    if rows.is_empty():
        return []
    most, least = rows.row(0, named=True), rows.row(-1, named=True)
    does = "prints" if most["unit"] == "run" else "does"
    text = (
        f"{plural(rows.height, 'run')}: a {most['unit']} {does} {amount(least['printed_per_s'])} {least['work']}/s in "
        f"{names[least['run_id']]} to {amount(most['printed_per_s'])} {most['work']}/s in {names[most['run_id']]}."
    )
    known = "few say" if most["unit"] in ("job", "run") else "none says"
    doubt = f"As the logs print them, whatever they include; {known} on how many devices."
    return [FindingSentence(text, doubt), *_of_sizes(rows)]


def _of_sizes(rows: "pl.DataFrame") -> list[FindingSentence]:
    """What the most nodes do against the fewest, whatever else differs: the best run of each size."""
    if rows["nodes"].n_unique() < _FEWEST_SIZES:
        return []
    best = rows.sort("nodes", "printed_per_s").group_by("nodes", maintain_order=True).last()
    fewest, largest = best.row(0, named=True), best.row(-1, named=True)
    gain = largest["nodes"] * largest["printed_per_s"] / (fewest["nodes"] * fewest["printed_per_s"])
    text = f"{largest['nodes']:,} nodes do {gain:.3g} times the {largest['work']}/s of {fewest['nodes']:,}."
    return [FindingSentence(text, "No log says that only the size differs, so this is not an efficiency.")]


def number(rows: "pl.DataFrame", names: Mapping[str, str]) -> KeyNumber | None:
    if rows.is_empty():
        return None
    most = rows.row(0, named=True)
    return KeyNumber(
        f"{amount(most['printed_per_s'])} {most['work']}/s", f"per {most['unit']}, as printed", names[most["run_id"]]
    )


def nothing(rows: "pl.DataFrame") -> str:
    return "No log prints a rate."
