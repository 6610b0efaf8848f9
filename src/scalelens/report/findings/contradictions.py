"""Do the sources agree with each other?"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from scalelens.report.text.sentences import FindingSentence, few, few_within

if TYPE_CHECKING:
    import polars as pl

PLACE = 220
IS_REMARK = True
SQL = (
    "SELECT *, run_id IN (SELECT run_id FROM steps WHERE step_s > 0) AS is_timed FROM contradictions() "
    "ORDER BY run_id, key, chosen DESC, origin, value"
)
GLANCE = ("run_id", "key", "value", "unit", "origin", "line", "chosen")
# Facts whose size goes into speed, efficiency and energy.
_COUNTED = ("devices", "global_batch_size", "seq_length", "step_s")
_FACTS = {"devices": "number of devices", "global_batch_size": "global batch", "seq_length": "sequence length",
          "step_s": "time of a step", "device_model": "device", "parameters": "number of parameters"}  # fmt: skip
_ORIGINS = {"log": "the log", "scheduler": "the scheduler", "nccl": "NCCL's lines", "path": "the path",
            "environment": "the system's description", "sidecar": "scalelens.toml",
            "inferred": "inference"}  # fmt: skip


def sentences(rows: "pl.DataFrame", names: Mapping[str, str]) -> list[FindingSentence]:
    """One sentence for all runs whose sources say the same."""
    runs: dict[tuple[str, tuple[tuple[str, str], ...], str, bool], list[str]] = {}
    for (run, key), group in rows.group_by("run_id", "key", maintain_order=True):
        said = dict.fromkeys((row["value"], row["origin"]) for row in group.iter_rows(named=True))
        chosen = group.filter(group["chosen"])["value"].to_list()
        facts = str(key), tuple(said), chosen[0] if chosen else "", bool(group["is_timed"][0])
        runs.setdefault(facts, []).append(names[str(run)])
    result = [_sentence(*facts, whose) for facts, whose in runs.items()]
    return few(sorted(result, key=lambda sentence: -sentence.weight))


def _sentence(
    key: str, said: Sequence[tuple[str, str]], chosen: str, is_timed: bool, runs: Sequence[str]
) -> FindingSentence:
    """What the sources say; a run without the time of a step has no speed that differs with it."""
    by_value: dict[str, list[str]] = {}
    for value, origin in said:
        by_value.setdefault(value, []).append(_ORIGINS.get(origin, origin))
    unit = " s" if key == "step_s" else ""
    by_origins: dict[str, list[str]] = {}
    for value, origins in by_value.items():
        by_origins.setdefault(" and ".join(origins), []).append(f"{value}{unit}")
    values = ", ".join(f"{' and '.join(several)} by {origins}" for origins, several in by_origins.items())
    text = f"{few_within(runs)}: the {_FACTS.get(key, key.replace('_', ' '))} is {values}."
    factor = _factor(list(by_value), chosen) if key in _COUNTED and is_timed else 1.0
    used = f"This page uses {chosen}." if chosen else "This page uses none of them."
    if factor > 1:
        used += f" With the other value, what follows from it differs by a factor of {factor:.3g}."
    return FindingSentence(text, used, min(factor - 1, 1.0))


def _factor(values: Sequence[str], chosen: str) -> float:
    """The factor between the chosen value and the furthest from it; 1 where they are not positive numbers."""
    try:
        sizes, used = [float(value) for value in values], float(chosen or values[0])
    except ValueError:
        return 1.0
    return max(max(size / used, used / size) for size in sizes) if min(*sizes, used) > 0 else 1.0


def nothing(rows: "pl.DataFrame") -> str:
    return "No two sources of a run contradict each other."
