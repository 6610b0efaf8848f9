"""Which printed numbers cannot be true as they stand?"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from scalelens.report.text.sentences import FindingSentence, few, few_of

if TYPE_CHECKING:
    import polars as pl

PLACE = 25
SQL = "FROM implausible()"
GLANCE = (
    "run_id",
    "quantity",
    "tool",
    "printed_value",
    "expected",
    "unit",
    "certainty",
    "relation",
    "meaning",
    "n_records",
    "line",
)
_SURE = {"certain": 0.5, "likely": 0.3, "possible": 0.1}  # how much the sentence weighs
_MOST_NAMED = 2  # runs in a sentence; of more their number
_UNITS = {"bytes/s": (1e9, " GB/s"), "J": (3600.0, " Wh"), "1": (0.01, " %")}
_NAMES = {"mfu": "MFU", "tflops": "rate of operations", "tokens": "rate of tokens",
          "profiler tflops": "profiler's rate", "busbw": "bus bandwidth",
          "algbw": "bandwidth of the algorithm"}  # fmt: skip


def sentences(rows: "pl.DataFrame", names: Mapping[str, str]) -> list[FindingSentence]:
    """One sentence for all runs of which the same is said."""
    said: dict[tuple[str, str, str], list[dict[str, object]]] = {}
    for row in rows.iter_rows(named=True):
        said.setdefault((row["quantity"], row["relation"], row["certainty"]), []).append(row)
    result = []
    for (quantity, relation, certainty), alike in said.items():
        first = alike[0]
        size, unit = _UNITS.get(str(first["unit"]), (1.0, f" {first['unit']}"))
        printed = [row["printed_value"] for row in alike if isinstance(row["printed_value"], (int, float))]
        ends = dict.fromkeys(f"{pick(printed) / size:.4g}" for pick in (min, max)) if printed else {}
        value = f" of {' to '.join(ends)}{unit}" if ends else ""
        runs = [*dict.fromkeys(names.get(str(row["run_id"]), str(row["run_id"])) for row in alike)]
        named = "value" if quantity == "values" else _NAMES.get(quantity, quantity)
        whose = f"{len(runs)} runs" if len(runs) > _MOST_NAMED + 1 else few_of(runs)
        text = f"{whose}: the printed {named}{value} is not what it says: {relation}."
        how_sure = {"certain": "Certainly", "likely": "Most likely"}.get(certainty, "Possibly")
        doubt = f"{how_sure}: {first['meaning']}."
        doubt += f" Among them {few_of(runs, _MOST_NAMED)}." if len(runs) > _MOST_NAMED + 1 else ""
        result.append(FindingSentence(text, doubt, _SURE[certainty]))
    return few(sorted(result, key=lambda sentence: -sentence.weight))


def nothing(rows: "pl.DataFrame") -> str:
    return "No printed number contradicts another, its device or arithmetic."
