"""What keeps traced devices from computing all the time?"""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scalelens.report.text.sentences import FindingSentence, few, percent, plural

if TYPE_CHECKING:
    import polars as pl

PLACE = 60
SQL = "FROM efficiency_tree() WHERE train_step IS NULL ORDER BY parallel_efficiency, run_id"
GLANCE = ("run_id", "ranks", "devices", "parallel_efficiency%", "load_balance%", "communication_efficiency%",
          "orchestration_efficiency%", "computation_scalability%", "note")  # fmt: skip
ABOUT_TRACES = True
_NOT_HERE = "computation scalability"  # a factor that no sentence names
_LEAST_SHARE = 0.005  # of the loss; smaller shares are not mentioned
_FACTORS = {"load_balance": "uneven work", "communication_efficiency": "communication and copies that nothing hides",
           "orchestration_efficiency": "devices without work"}  # fmt: skip


def sentences(rows: "pl.DataFrame", names: Mapping[str, str]) -> list[FindingSentence]:
    known = rows.filter(rows["parallel_efficiency"].is_not_null()).iter_rows(named=True)
    return few([FindingSentence(_text_of(row, names), _doubt_of(row)) for row in known])


def _text_of(row: Mapping[str, Any], names: Mapping[str, str]) -> str:
    """The factors multiply, so their logarithms add up to that of the product: each has its share of the loss."""
    whole = row["parallel_efficiency"]
    text = f"{names[row['run_id']]}: {percent(whole)} of the devices' time is computation"
    factors = {words: row[name] for name, words in _FACTORS.items() if row[name] is not None}
    if not 0 < whole < 1 or any(factor <= 0 for factor in factors.values()):
        return f"{text}."
    lost = {words: math.log(factor) / math.log(whole) for words, factor in factors.items()}
    shares = sorted(
        ((words, share) for words, share in lost.items() if share > _LEAST_SHARE), key=lambda pair: -pair[1]
    )
    if len(shares) == 1:
        return f"{text}; the rest is lost to {shares[0][0]}."
    parts = ", ".join(
        f"{percent(share, 0)} {'' if k else 'is lost '}to {words}" for k, (words, share) in enumerate(shares)
    )
    return f"{text}; of the rest, {parts}."


def _doubt_of(row: Mapping[str, Any]) -> str:
    notes = [note for note in (row["note"] or "").split("; ") if note and _NOT_HERE not in note]
    return f"{'; '.join([plural(row['ranks'], 'traced rank'), *notes])}."


def nothing(rows: "pl.DataFrame") -> str:
    return "No device trace has steps."
