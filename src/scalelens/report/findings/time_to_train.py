"""How long does each run take to reach its target?"""

from collections.abc import Mapping
from statistics import median
from typing import TYPE_CHECKING, Any

from scalelens.report.text.sentences import FindingSentence, KeyNumber, amount, few, plural

if TYPE_CHECKING:
    import polars as pl

PLACE = 16
SQL = "FROM time_to_train() WHERE is_converged IS NOT NULL OR n_evaluations > 0"
GLANCE = ("run_id", "devices", "nodes", "minutes", "is_converged", "seed", "last_score", "n_evaluations",
          "global_batch_size", "note")  # fmt: skip
CHARTS = ("time_to_train", "accuracy", "accuracy score_name=eval_accuracy")
ONLY_WITH_ROWS = True
NUMBER_PLACE = 20  # that of MLPerf's scores, which are times of the same runs
_OF_SIZE = ("model", "submitter", "system", "devices")


def sentences(rows: "pl.DataFrame", names: Mapping[str, str]) -> list[FindingSentence]:
    groups = rows.group_by(_OF_SIZE, maintain_order=True)
    return few([FindingSentence(_text_of(of_size), _doubt_of(of_size)) for _, of_size in groups])


def _text_of(rows: "pl.DataFrame") -> str:
    """`bert: 86.73 to 94.23 min, the median 91.79 min, on 32 devices of lumi.`"""
    first = rows.row(0, named=True)
    times = sorted(_reached(rows)["minutes"].to_list())
    time = f"{amount(times[0])} min" if times else "no run with a time reached its target"
    if len(times) > 1:
        time = f"{amount(times[0])} to {amount(times[-1])} min, the median {amount(median(times))} min"
    devices, system = first["devices"], first["system"]
    size = plural(devices, "device") if devices else ""
    place = " of ".join(filter(None, [size, system]))
    where = ", ".join([*([f"on {place}"] if place else []), *([] if devices else ["number of devices unknown"])])
    return f"{first['model'] or 'unknown model'}: {time}, {where}."


def _doubt_of(rows: "pl.DataFrame") -> str:
    missed = rows.filter(~rows["is_converged"].fill_null(True)).height
    unknown = rows["minutes"].null_count()
    doubts = [
        plural(_reached(rows).height, "run") + " from start to end",
        f"{plural(missed, 'run')} did not reach the target" if missed else "",
        f"{plural(unknown, 'run')} without an end" if unknown else "",
    ]
    return "; ".join(filter(None, doubts)) + "."


def _reached(rows: "pl.DataFrame") -> "pl.DataFrame":
    """The runs with a time, without those that did not reach their target."""
    return rows.filter(rows["minutes"].is_not_null() & rows["is_converged"].fill_null(True))


def number(rows: "pl.DataFrame", names: Mapping[str, str]) -> KeyNumber | None:
    reached = _reached(rows).sort("minutes", "run_id")
    if reached.is_empty():
        return None
    best: dict[str, Any] = reached.row(0, named=True)
    return KeyNumber(f"{amount(best['minutes'])} min", "fastest run to its target", names[best["run_id"]])


def nothing(rows: "pl.DataFrame") -> str:
    return "No MLPerf log says when a run ended."
