"""How much work does a watt-hour give?"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scalelens.report.text.sentences import FindingSentence, KeyNumber, amount, few, percent, plural, watt_hours

if TYPE_CHECKING:
    import polars as pl

PLACE = 18
CHARTS = ("energy_by_batch", "energy_scaling", "energy")
NUMBER_PLACE = 30
# The energy of whole nodes, where no device of a run was measured.
SQL = (
    "FROM energy_efficiency() UNION ALL FROM energy_efficiency(per := 'node') "
    "WHERE run_id NOT IN (SELECT run_id FROM energy_efficiency()) ORDER BY run_id"
)
GLANCE = ("run_id", "devices", "global_batch_size", "energy_j", "unit", "units", "unit_w", "tdp_share%", "coverage%",
          "samples_per_wh", "tokens_per_wh", "energy_kind", "note")  # fmt: skip


def charts(rows: "pl.DataFrame") -> tuple[str, ...]:
    """The curve over the batch first where runs may be on one: two batches of one model on as many devices.

    None where one energy is known, which is a single bar: a number says as much.
    """
    if rows["energy_j"].count() <= 1:
        return ()
    known = rows.filter(rows["energy_j"].is_not_null() & rows["global_batch_size"].is_not_null())
    batches = known.group_by("system", "model", "precision", "devices").n_unique()["global_batch_size"]
    return CHARTS if (batches > 1).any() else ("energy_scaling", "energy", "energy_by_batch")


_WORK = {"tokens_per_wh": "tokens", "samples_per_wh": "samples"}


def question(rows: "pl.DataFrame") -> str:
    """What the rows answer: without known work only how much energy there was."""
    has_work = any(rows[column].count() for column in _WORK)
    return (
        "How much work does a watt-hour give?" if has_work or rows.is_empty() else "How much energy did the runs take?"
    )


def sentences(rows: "pl.DataFrame", names: Mapping[str, str]) -> list[FindingSentence]:
    return few([FindingSentence(_text_of(row, names), _doubt_of(row)) for row in _most_work_first(rows)])


def _most_work_first(rows: "pl.DataFrame") -> list[dict[str, Any]]:
    measured = rows.filter(rows["energy_j"].is_not_null())
    measured = measured.with_columns(is_of_devices=measured["unit"] != "node")
    order = ["is_of_devices", "tokens_per_wh", "samples_per_wh", "energy_j", "run_id"]
    return measured.sort(order, descending=[True, True, True, True, False], nulls_last=True).to_dicts()


def _text_of(row: Mapping[str, Any], names: Mapping[str, str]) -> str:
    energy = f"{watt_hours(row['energy_j'])} of {plural(row['units'] or 0, row['unit'])}"
    for column, what in _WORK.items():
        if row[column] is not None:
            return f"{names[row['run_id']]}: {amount(row[column])} {what} per Wh; {energy}."
    return f"{names[row['run_id']]}: {energy}."


def _doubt_of(row: Mapping[str, Any]) -> str:
    covered = f"; sensors cover {percent(row['coverage'], 0)} of the run" if row["coverage"] is not None else ""
    note = f"; {row['note']}" if row["note"] else ""
    return f"Energy {row['energy_kind']}{covered}{note}."


def number(rows: "pl.DataFrame", names: Mapping[str, str]) -> KeyNumber | None:
    """The most work per watt-hour; without known work the largest energy."""
    measured = _most_work_first(rows)
    if not measured:
        return None
    best = measured[0]
    for column, what in _WORK.items():
        if best[column] is not None:
            return KeyNumber(f"{amount(best[column])} {what}/Wh", "best work per energy", names[best["run_id"]])
    return KeyNumber(watt_hours(best["energy_j"]), f"largest energy of a run's {best['unit']}s", names[best["run_id"]])


def nothing(rows: "pl.DataFrame") -> str:
    return "No run has an energy measurement."
