"""How fast are collectives alone?"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from scalelens.report.text.sentences import FindingSentence, KeyNumber, few, few_of, plural

if TYPE_CHECKING:
    import polars as pl

PLACE = 90
SQL = """
SELECT run_id, test, place, count(*) AS measurements, count(*) FILTER (wrong > 0) AS with_wrong_values,
       max(busbw_bytes_per_s) AS busbw_bytes_per_s, arg_max(message_bytes, busbw_bytes_per_s) AS message_bytes
FROM collective_benchmarks() GROUP BY run_id, test, place ORDER BY run_id, test, place DESC"""
GLANCE = ("run_id", "test", "place", "busbw_bytes_per_s", "message_bytes", "measurements", "with_wrong_values")
CHARTS = ("collective_benchmarks",)
NUMBER_PLACE = 70
_PLACES = {"out": "out of place", "in": "in place"}


def sentences(rows: "pl.DataFrame", names: Mapping[str, str]) -> list[FindingSentence]:
    """Wrong values, then the fastest first, which is also the number of the first screen."""
    known = rows.filter(rows["busbw_bytes_per_s"] > 0)
    result = _wrong(rows, names)
    for row in known.sort("busbw_bytes_per_s", descending=True, maintain_order=True).iter_rows(named=True):
        text = (
            f"{names[row['run_id']]}: {row['test'] or 'unknown test'} {_PLACES[row['place']]} reaches "
            f"{row['busbw_bytes_per_s'] / 1e9:.4g} GB/s of bus bandwidth, at {row['message_bytes']:,} bytes."
        )
        wrong = f"; {row['with_wrong_values']} had wrong values" if row["with_wrong_values"] else ""
        result.append(FindingSentence(text, f"The highest of {plural(row['measurements'], 'measurement')}{wrong}."))
    return few(result)


def _wrong(rows: "pl.DataFrame", names: Mapping[str, str]) -> list[FindingSentence]:
    """Runs whose tests found values that differ from what they must be: more than any speed."""
    wrong = rows.filter(rows["with_wrong_values"] > 0)
    if wrong.is_empty():
        return []
    runs = [names[run] for run in wrong["run_id"].unique(maintain_order=True)]
    tested = rows["run_id"].n_unique()
    of_all = f" of {tested}" if tested > len(runs) else ""
    text = f"{plural(len(runs), 'run')}{of_all} received wrong values: {few_of(runs)}."
    doubt = "Counted by the tests themselves (#wrong). What trains with these calls may be wrong as well."
    return [FindingSentence(text, doubt, weight=1.0)]


def number(rows: "pl.DataFrame", names: Mapping[str, str]) -> KeyNumber | None:
    known = rows.filter(rows["busbw_bytes_per_s"] > 0).sort("busbw_bytes_per_s", descending=True)
    if known.is_empty():
        return None
    best = known.row(0, named=True)
    whose = f"{best['test'] or 'unknown test'}, {names[best['run_id']]}"
    return KeyNumber(f"{best['busbw_bytes_per_s'] / 1e9:.4g} GB/s", "best bus bandwidth", whose)


def nothing(rows: "pl.DataFrame") -> str:
    return "No output of nccl-tests, rccl-tests or all_reduce_bench.py was read."
