"""Jobs with their labels, such as the nodes that they ran on, and how long each took against those of its time."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from scalelens.statistics.plain_median import median

Values = npt.NDArray[np.float64]
Indexes = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Members = npt.NDArray[np.float32]  # 1 where the job of a column had the label of a row

_BLOCK = 48  # jobs of one configuration, next to each other in time, that are exchanged for each other
_NEIGHBORS = 6  # jobs before, and as many after, that say how long jobs lasted at that time
_MOST_HIDDEN = 0.5  # of an effect, that the medians of jobs next in time may take away


class Jobs(NamedTuple):
    """Jobs, sorted by configuration and time.  Arrays of shape (jobs,), members of shape (labels, jobs)."""

    logs: Values
    configuration: Indexes
    moment: Values  # seconds; NaN where not known
    members: Members


def prepared(
    times: Sequence[float],
    configurations: Sequence[str],
    moments: Sequence[float | None],
    labels: Sequence[Sequence[str]],
) -> tuple[Jobs, list[str]]:
    """The jobs in order, and the names of labels; those of the same jobs are one."""
    known = [k for k, time in enumerate(times) if time > 0 and labels[k]]
    seconds = np.array([np.nan if (moment := moments[k]) is None else moment for k in known], float)
    _, configuration = np.unique([configurations[k] for k in known], return_inverse=True)
    order = np.lexsort((seconds, configuration))
    of_label: dict[str, list[int]] = {}
    for column, k in enumerate(order):
        for label in {*labels[known[k]]}:
            of_label.setdefault(label, []).append(column)
    together: dict[tuple[int, ...], list[str]] = {}
    for label in sorted(of_label):
        together.setdefault(tuple(of_label[label]), []).append(label)
    members = np.zeros((len(together), len(known)), np.float32)
    for row, columns in enumerate(together):
        members[row, list(columns)] = 1
    logs = np.log(np.array([times[known[k]] for k in order], float))
    return Jobs(logs, configuration[order], seconds[order], members), ["+".join(same) for same in together.values()]


def jobs_where(jobs: Jobs, kept: Mask) -> Jobs:
    """Some of the jobs."""
    return Jobs(jobs.logs[kept], jobs.configuration[kept], jobs.moment[kept], jobs.members[:, kept])


def residuals(jobs: Jobs, reference: Mask | None = None) -> Values:
    """Logarithms less the median of the configuration, then less that of the jobs next in time; shape (jobs,).

    Only jobs of `reference` say what is usual, by default all; of a configuration that has none, all.
    """
    reference = np.ones(len(jobs.logs), bool) if reference is None else reference
    centered = jobs.logs.copy()
    for configuration in np.unique(jobs.configuration):
        its = jobs.configuration == configuration
        usual = its & reference if (its & reference).any() else its
        centered[its] -= median(jobs.logs[usual])
    dated = np.flatnonzero(np.isfinite(jobs.moment))
    dated = dated[np.argsort(jobs.moment[dated], kind="stable")]
    is_usual = reference[dated]
    usual_values = centered[dated[is_usual]]
    around = 2 * _NEIGHBORS
    if len(usual_values) <= around:
        return centered
    before: Indexes = np.cumsum(is_usual) - is_usual  # usual jobs before each
    first = np.clip(before - _NEIGHBORS, 0, len(usual_values) - around - 1)
    places = first[:, None] + np.arange(around)
    places += is_usual[:, None] & (places >= before[:, None])  # a job does not say what is usual for itself
    centered[dated] -= median(usual_values[places])
    return centered


def blocks(jobs: Jobs) -> Indexes:
    """The block of each job, from 0: jobs of one configuration next to each other in time.  Shape (jobs,)."""
    result = np.zeros(len(jobs.logs), np.int64)
    n_blocks = 0
    for configuration in np.unique(jobs.configuration):
        its = np.flatnonzero(jobs.configuration == configuration)
        parts = max(1, round(len(its) / _BLOCK))
        result[its] = n_blocks + np.arange(len(its)) * parts // len(its)
        n_blocks += parts
    return result


def stretches(moment: Values, had: Mask) -> float:
    """How many times jobs without a label gave way to jobs with it; inf where times are not known."""
    dated = np.isfinite(moment)
    if not (dated & had).any():
        return np.inf
    in_order = had[dated][np.argsort(moment[dated], kind="stable")]
    return float(in_order[0]) + float((in_order[1:] & ~in_order[:-1]).sum())


def is_taken_for_time(moment: Values, had: Mask) -> bool:
    """Whether what jobs with a label have in common goes with the median of the jobs next to them in time.

    That median has the effect where most of these jobs had the label.  It hides the effect as far as it has it more
    often for jobs with the label than for jobs without.
    """
    dated = np.flatnonzero(np.isfinite(moment))
    in_order = had[dated[np.argsort(moment[dated], kind="stable")]]
    around = 2 * _NEIGHBORS
    if len(in_order) <= around or in_order.all() or not in_order.any():
        return False
    sums = np.concatenate([[0], np.cumsum(in_order)])
    first = np.clip(np.arange(len(in_order)) - _NEIGHBORS, 0, len(in_order) - around - 1)
    is_mostly = sums[first + around + 1] - sums[first] - in_order >= _NEIGHBORS
    return bool(np.mean(is_mostly[in_order]) - np.mean(is_mostly[~in_order]) > _MOST_HIDDEN)
