"""How well are the devices used (MFU)?"""

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from scalelens.report.text.sentences import FindingSentence, KeyNumber, percent, plural

if TYPE_CHECKING:
    import polars as pl

PLACE = 30
SQL = "FROM mfu() ORDER BY run_id"
CHARTS = ("mfu",)
NUMBER_PLACE = 40
GLANCE = ("run_id", "model", "precision", "devices", "device", "mfu%", "formula_used", "peak_tflops", "model_tflops",
          "printed_tflops", "n_steps", "reason", "note")  # fmt: skip


def sentences(rows: "pl.DataFrame", names: Mapping[str, str]) -> list[FindingSentence]:
    """One sentence per formula, because values by different formulas are not comparable."""
    result = []
    for (formula,), group in rows.filter(rows["mfu"].is_not_null()).group_by("formula_used", maintain_order=True):
        ordered = group.sort("mfu", "run_id", descending=[True, False])
        best, worst = ordered.row(0, named=True), ordered.row(-1, named=True)
        text = f"MFU by formula {formula}: {percent(best['mfu'])} in {names[best['run_id']]}"
        if worst["run_id"] != best["run_id"]:
            text += f" down to {percent(worst['mfu'])} in {names[worst['run_id']]}"
        peak = f"{best['peak_tflops']:.4g} TFLOP/s in {best['peak_of']}"
        doubt = f"{plural(group.height, 'run')}; dense peak of {best['device']}: {peak}."
        result.append(FindingSentence(f"{text}.", doubt))
    return result


def number(rows: "pl.DataFrame", names: Mapping[str, str]) -> KeyNumber | None:
    known = rows.filter(rows["mfu"].is_not_null()).sort("mfu", "run_id", descending=[True, False])
    if known.is_empty():
        return None
    best = known.row(0, named=True)
    return KeyNumber(percent(best["mfu"]), "best MFU", f"{names[best['run_id']]}, formula {best['formula_used']}")


def nothing(rows: "pl.DataFrame") -> str:
    reasons = Counter(reason.split("; ")[0] for reason in rows["reason"] if reason)
    why = "; ".join(f"{reason} ({plural(count, 'run')})" for reason, count in reasons.most_common(3))
    return f"No MFU can be given: {why}." if why else "No MFU can be given: there are no runs."
