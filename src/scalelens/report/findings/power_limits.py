"""What does a lower power limit save?"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from scalelens.report.text.sentences import FindingSentence, KeyNumber, few

if TYPE_CHECKING:
    import polars as pl

PLACE = 18
SQL = "FROM energy_by_limit() QUALIFY count(*) OVER (PARTITION BY run_id) > 1 ORDER BY run_id, limit_w"
GLANCE = ("run_id", "limit_w", "devices", "time_s", "energy_j", "power_w", "saved%", "longer%", "note")
CHARTS = ("energy_by_limit",)
ONLY_WITH_ROWS = True
NUMBER_PLACE = 25


def sentences(rows: "pl.DataFrame", names: Mapping[str, str]) -> list[FindingSentence]:
    """A sentence for each run, the one that saves most first."""
    least = sorted((row for row in rows.to_dicts() if row["is_least"]), key=lambda row: (-row["saved"], row["run_id"]))
    highest = {row["run_id"]: row["limit_w"] for row in rows.to_dicts()}  # the last row of each run
    found = []
    for row in least:
        name, top, limit = names[row["run_id"]], highest[row["run_id"]], row["limit_w"]
        saved, longer = 100 * row["saved"], 100 * row["longer"]
        text = f"{name}: the highest limit, {top:.0f} W, takes the least energy."
        if limit < top:
            text = (
                f"{name}: a limit of {limit:.0f} W takes {saved:.0f} % less energy than {top:.0f} W, and "
                f"{abs(longer):.0f} % {'more' if longer >= 0 else 'less'} time."
            )
        found.append(FindingSentence(text, row["note"] or ""))
    return few(found)


def number(rows: "pl.DataFrame", names: Mapping[str, str]) -> KeyNumber | None:
    best = max((row for row in rows.to_dicts() if row["is_least"]), key=lambda row: row["saved"], default=None)
    if best is None or best["saved"] <= 0:
        return None
    return KeyNumber(f"{100 * best['saved']:.0f} %", "of the energy saved", f"at a limit of {best['limit_w']:.0f} W")


def nothing(rows: "pl.DataFrame") -> str:
    return "No run was measured under several power limits."
