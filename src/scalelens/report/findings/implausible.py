"""Which printed numbers cannot be true as they stand?"""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from scalelens.report.text.sentences import FindingSentence, amount, few, few_of

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
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e[+-]\d+)?(?![\w.]\w)")
_SURE = {"certain": 0.5, "likely": 0.3, "possible": 0.1}  # how much the sentence weighs
_MOST_NAMED = 2  # runs in a sentence; of more their number
_UNITS = {"bytes/s": (1e9, " GB/s"), "bytes": (2**30, " GiB"), "J": (3600.0, " Wh"), "1": (0.01, " %")}
_NAMES = {"mfu": "MFU", "tflops": "rate of operations", "tokens": "rate of tokens",
          "profiler tflops": "profiler's rate", "busbw": "bus bandwidth",
          "algbw": "bandwidth of the algorithm"}  # fmt: skip


def sentences(rows: "pl.DataFrame", names: Mapping[str, str]) -> list[FindingSentence]:
    """One sentence for all runs of which the same is said."""
    said: dict[tuple[str, str, str, str], list[dict[str, object]]] = {}
    for row in rows.iter_rows(named=True):
        meaning = _NUMBER.sub("", row["meaning"])  # reasons that differ in their numbers alone are one reason
        said.setdefault((row["quantity"], row["relation"], row["certainty"], meaning), []).append(row)
    result = []
    for (quantity, relation, certainty, _), alike in said.items():
        first = alike[0]
        size, unit = _UNITS.get(str(first["unit"]), (1.0, f" {first['unit']}"))
        printed = [row["printed_value"] for row in alike if isinstance(row["printed_value"], (int, float))]
        ends = dict.fromkeys(amount(pick(printed) / size) for pick in (min, max)) if printed else {}
        value = f" of {' to '.join(ends)}{unit}" if ends else ""
        runs = [*dict.fromkeys(names.get(str(row["run_id"]), str(row["run_id"])) for row in alike)]
        named = "value" if quantity == "values" else _NAMES.get(quantity, quantity)
        whose = f"{len(runs)} runs" if len(runs) > _MOST_NAMED + 1 else few_of(runs)
        text = f"{whose}: the printed {named}{value} is not what it says: {relation}."
        how_sure = {"certain": "Certainly", "likely": "Most likely"}.get(certainty, "Possibly")
        doubt = f"{how_sure}: {_meaning([str(row['meaning']) for row in alike])}."
        doubt += f" Among them {few_of(runs, _MOST_NAMED)}." if len(runs) > _MOST_NAMED + 1 else ""
        result.append(FindingSentence(text, doubt, _SURE[certainty]))
    return few(sorted(result, key=lambda sentence: -sentence.weight))


def _meaning(meanings: Sequence[str]) -> str:
    """What is meant, with the least and the largest of each number: `3.99 to 21.1 TFLOP/s`."""
    numbers = [_NUMBER.findall(meaning) for meaning in meanings]
    ranges = iter(
        " to ".join(dict.fromkeys((min(several, key=float), max(several, key=float))))
        for several in zip(*numbers, strict=True)
    )
    return _NUMBER.sub(lambda _: next(ranges), meanings[0])


def nothing(rows: "pl.DataFrame") -> str:
    return "No printed number contradicts another, its device or arithmetic."
