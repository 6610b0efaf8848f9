"""How does the throughput grow with the devices?"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from scalelens.report.findings import scaling
from scalelens.report.findings.printed_rates import TIMED
from scalelens.report.text.sentences import FindingSentence, KeyNumber

if TYPE_CHECKING:
    import polars as pl

PLACE = 11
# Of logs that print rates, and no time of a step: else `scaling` answers.
SQL = f"FROM scaling(metric := 'throughput') WHERE NOT EXISTS ({TIMED})"
GLANCE = ("series", "devices", "nodes", "n_runs", "samples_per_s", "tokens_per_s", "speedup", "efficiency%", "note")
CHARTS = ("scaling", "throughput")
NUMBER_PLACE = scaling.NUMBER_PLACE
ONLY_WITH_ROWS = True


def sentences(rows: "pl.DataFrame", names: Mapping[str, str]) -> list[FindingSentence]:
    """One sentence per series, of its largest size."""
    return scaling.sentences(rows, names)


def number(rows: "pl.DataFrame", names: Mapping[str, str]) -> KeyNumber | None:
    return scaling.number(rows, names)


def nothing(rows: "pl.DataFrame") -> str:
    return "No log without times of steps prints rates on several numbers of devices."
