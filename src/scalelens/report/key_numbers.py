"""The four numbers of a report's first screen: those of its runs, then those that its findings give."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from scalelens.report.articles import Modules
from scalelens.report.text.sentences import KeyNumber, plural

if TYPE_CHECKING:
    import polars as pl

_MOST = 4
_MEGABYTE = 1e6
_OUTCOMES = {
    "completed": "completed", "oom": "out of memory", "collective_timeout": "timed out in a collective",
    "time_limit": "reached the time limit", "node_failure": "lost a node", "error": "ended with an error",
    "cancelled": "cancelled", "unknown": "of unknown outcome",
}  # fmt: skip


# What was read, for folders whose logs have little else.
SQL = """
SELECT (SELECT count(*) FROM energy) AS energies, (SELECT count(*) FROM power) AS samples,
    (SELECT count(*) FROM metrics) AS values, (SELECT count(DISTINCT name) FROM metrics) AS metrics,
    (SELECT count(*) FROM steps) AS steps, (SELECT count(*) FROM files) AS files,
    (SELECT sum(size_bytes)::BIGINT FROM files) AS bytes,
    (SELECT count(*) FROM problems WHERE format IS NOT NULL) AS problems"""


def key_numbers(
    overview: "pl.DataFrame",
    names: Mapping[str, str],
    modules: Modules,
    rows: Mapping[str, "pl.DataFrame"],
    read: Mapping[str, int] | None = None,
) -> list[KeyNumber]:
    """The numbers that most readers ask for first.

    `rows` are the answers of the findings by name, and `read` is the answer to SQL.
    """
    with_number = sorted((module.NUMBER_PLACE, name, module) for name, module in modules if hasattr(module, "number"))
    found: dict[int, KeyNumber] = {}
    for place, name, module in with_number:
        if place not in found and (number := module.number(rows[name], names)) is not None:
            found[place] = number
    said = {one.label for one in found.values()}
    further = [one for one in (*_of_runs(overview, names), *_of_files(read or {})) if one.label not in said]
    return [_of_outcomes(overview), *found.values(), *further][:_MOST]


def _of_outcomes(overview: "pl.DataFrame") -> KeyNumber:
    """How many runs there are, and how they ended."""
    counts = Counter(overview["outcome"])
    ordered = sorted(counts.items(), key=lambda pair: (pair[0] != "completed", pair[0] == "unknown", -pair[1], pair[0]))
    ended = [f"{count:,} {_OUTCOMES.get(outcome, outcome)}" for outcome, count in ordered]
    return KeyNumber(f"{overview.height:,}", "run" if overview.height == 1 else "runs", ", ".join(ended))


def _of_runs(overview: "pl.DataFrame", names: Mapping[str, str]) -> Iterator[KeyNumber]:
    """Numbers for folders whose findings have few."""
    sized = overview.filter(overview["devices"].is_not_null()).sort("devices", "run_id", descending=[True, False])
    if sized.height:
        largest = sized.row(0, named=True)
        devices = largest["devices"]
        yield KeyNumber(f"{devices:,}", f"device{'' if devices == 1 else 's'}, at most", names[largest["run_id"]])
    elif (placed := overview.filter(overview["nodes"].is_not_null()).sort("nodes", "run_id")).height:
        largest = placed.row(-1, named=True)
        nodes = largest["nodes"]
        yield KeyNumber(f"{nodes:,}", f"node{'' if nodes == 1 else 's'}, at most", names[largest["run_id"]])
    n_records = int(overview["n_records"].sum() or 0)
    if n_records:
        n_runs = int((overview["n_records"] > 0).sum())
        yield KeyNumber(f"{n_records:,}", "step records", f"in {n_runs:,} run{'' if n_runs == 1 else 's'}")


def _of_files(read: Mapping[str, int]) -> Iterator[KeyNumber]:
    """How much was read, and how much of it was not understood."""
    if not read:
        return
    if read["energies"]:
        yield KeyNumber(f"{read['energies']:,}", f"measured energ{'y' if read['energies'] == 1 else 'ies'}", "")
    if read["samples"]:
        yield KeyNumber(f"{read['samples']:,}", f"power sample{'' if read['samples'] == 1 else 's'}", "")
    if read["values"]:
        yield KeyNumber(f"{read['values']:,}", "values of metrics", plural(read["metrics"], "metric"))
    size = read["bytes"] or 0
    in_all = f"{size / 1e6:.3g} MB in all" if size >= _MEGABYTE else f"{size / 1e3:.3g} kB in all"
    yield KeyNumber(f"{read['files']:,}", "file" if read["files"] == 1 else "files", in_all)
    yield KeyNumber(f"{read['problems']:,}", "lines not understood", "of formats that ScaleLens knows")
    if not read["steps"]:
        yield KeyNumber("0", "step records", "no log prints the steps of a training")
