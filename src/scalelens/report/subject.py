"""What a report is about, from the logs: the system, the models, the devices, the dates.

A fact that no log states is said to be unknown: a reader would else take the page for complete.
"""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from scalelens.charts.words import natural
from scalelens.report.text.sentences import few_of, plural

if TYPE_CHECKING:
    import polars as pl

SQL = """
SELECT r.run_id, framework, model, system, device_model, device_unit, devices, precision,
       coalesce(started_at, t.first_ts, p.first_ts) AS started_at,
       coalesce(greatest(ended_at, t.last_ts), p.last_ts) AS ended_at, t.run_id IS NOT NULL AS has_steps
FROM runs AS r
LEFT JOIN (SELECT run_id, min(ts) AS first_ts, max(ts) AS last_ts FROM steps GROUP BY run_id) AS t USING (run_id)
LEFT JOIN (SELECT run_id, min(ts) AS first_ts, max(ts) AS last_ts FROM power WHERE year(ts) > 1970 GROUP BY run_id) AS p
    USING (run_id)"""
_UNITS = {"gpu": "GPU", "gcd": "GCD", "ipu": "IPU", "hpu": "HPU", "cpu": "CPU"}
_MOST_NAMES = 3
_MOST_IN_TITLE = 2


class Subject(NamedTuple):
    """A title, and facts by what they are; the text of an unknown fact is empty."""

    title: str
    facts: dict[str, str]


def subject_of(runs: "pl.DataFrame") -> Subject:
    """What the runs of a warehouse, the answer to SQL, have in common."""
    models, systems = _most_common(runs["model"]), _most_common(runs["system"])
    device_models = _most_common(runs["device_model"])
    facts = {
        "System": few_of(systems, _MOST_NAMES),
        "Model": few_of(models, _MOST_NAMES),
        "Devices": ", ".join(filter(None, [_sizes(runs), few_of(device_models, 2)])),
        "Framework": few_of(_most_common(runs["framework"]), _MOST_NAMES),
        "Precision": few_of(_most_common(runs["precision"]), _MOST_NAMES),
        "Dates": _dates([*runs["started_at"].drop_nulls(), *runs["ended_at"].drop_nulls()]),
    }
    places = systems or [*device_models, *(["unnamed devices"] if _mostly_unnamed(runs) else [])]
    has_steps = bool(runs["has_steps"].any())
    return Subject(_title(models, places, facts["Framework"], has_steps), facts)


def _mostly_unnamed(runs: "pl.DataFrame") -> bool:
    """Whether no more than half of the runs with steps say on what device they ran, but some do."""
    named = runs.filter(runs["has_steps"])["device_model"].is_not_null()
    return 0 < 2 * int(named.sum()) <= len(named)


def _most_common(values: "pl.Series") -> list[str]:
    """The texts of a column, the most frequent first, then as numbers go; those that differ in capitals alone once."""
    counts = Counter(str(value) for value in values.drop_nulls())
    ordered = sorted(counts, key=lambda text: (-counts[text], natural(text)))
    return [*{text.lower(): text for text in reversed(ordered)}.values()][::-1]


def _title(models: list[str], places: list[str], frameworks: str, has_steps: bool) -> str:
    """`resnet50 on LUMI`, `bert, resnet and 2 more on A100 and V100`, `Training with llm.c`; empty where none says."""
    what = _joined(models) or ("Training" if has_steps else "Runs")
    if places:
        return f"{what} on {_joined(places)}"
    return what if models else f"{what} with {frameworks}" if frameworks else ""


def _joined(names: list[str]) -> str:
    """All names of two, the first ones of more."""
    return " and ".join(names) if len(names) <= _MOST_IN_TITLE else few_of(names, _MOST_IN_TITLE)


def _sizes(runs: "pl.DataFrame") -> str:
    """`8 GPUs`, `1 to 64 GCDs`; `devices` where the runs have several kinds, or no log says which."""
    sizes = sorted(set(runs["devices"].drop_nulls()))
    if not sizes:
        return ""
    units = {_UNITS.get(unit, "device") for unit in runs.filter(runs["devices"].is_not_null())["device_unit"]}
    unit = units.pop() if len(units) == 1 else "device"
    return plural(sizes[0], unit) if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,} {unit}s"


def _dates(times: Iterable[datetime]) -> str:
    """The first and the last day."""
    days = sorted({time.date() for time in times})
    if not days:
        return ""
    first, last = (f"{day.day} {day:%B %Y}" for day in (days[0], days[-1]))
    return first if first == last else f"{first} to {last}"
