"""The order in which `compact` stores contents: run after run, and within a run rank after rank.

A question about one run or one rank then reads few row groups.  The rows of a content keep the order of its lines,
which is that of its steps.
"""

from scalelens.runs.joining import runs_of
from scalelens.warehouse.compact import by_path
from scalelens.warehouse.live import Live


def by_run(live: Live) -> list[str]:
    """Contents by run and rank; those without a run come last, by path."""
    runs = sorted(runs_of(live), key=lambda run: (min(part.path for part in run.parts), run.run_id))
    parts = [
        part for run in runs for part in sorted(run.parts, key=lambda part: (min(part.ranks, default=-1), part.path))
    ]
    return list(dict.fromkeys([*(part.file_id for part in parts), *by_path(live)]))
