"""Which node, or which other label of jobs, makes jobs slow: rank sums over many jobs, one label after the other."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

_Values = npt.NDArray[np.float64]
_Indexes = npt.NDArray[np.int64]
_Mask = npt.NDArray[np.bool_]
_Members = npt.NDArray[np.float32]  # 1 where the job of a column had the label of a row

PERMUTATIONS = 999
LEVEL = 0.025  # at which one label or more of a warehouse is accused by chance
_BLOCK = 48  # jobs of one configuration, next to each other in time, that are exchanged for each other
_NEIGHBORS = 6  # jobs before, and as many after, that say how long jobs lasted at that time
_FEWEST = 2  # jobs that had a label, and that had not, for it to be tested
_LIKELY = 6.0  # by which the squared score exceeds that of a rival: a likelihood ratio of 20
_APART = 2.0  # score of a label in the jobs without its rival, that tells it from the rival
_FEWEST_STRETCHES = 3  # times at which a label came, so that it is not the time that was slow
_MOST_HIDDEN = 0.5  # of an effect, that the medians of jobs next in time may take away
_POWER = 0.84  # normal score of being found in 80 of 100 cases
_ROWS = 512  # labels that are permuted at a time
_MOST_NEEDED = 1000
_FEWEST_FOR_INTERVAL = 6
_NORMAL_95 = 1.96
_OF_NEIGHBORS = 1.25  # variance, as the medians that are taken off scatter too; by simulation
_LEAST = 3.0  # score that is exceeded by chance, where there are too few jobs to tell


TIME = "its time"  # the rival of a label that came once or twice, however many jobs had it then


class Blame(NamedTuple):
    """What the jobs say of a label.  Shares are of the time of a job, 0.05 is 5 % slower."""

    name: str  # the label; several with a plus sign where no job had one without the other
    verdict: str  # slow, confounded, ordinary or unknown
    slowdown: float | None  # of the jobs that had it, against jobs that had not at the same time
    low: float | None  # its interval
    high: float | None
    kind: str | None  # of the interval: ci95, or range where there are fewer than six jobs
    n_slower: int  # jobs that had it and were slower than the median job that had not
    n_jobs: int  # jobs that had it, and whose configuration and time have jobs that had not
    n_others: int  # jobs that had not, of the same configurations and times
    score: float | None  # standardized rank sum
    p_value: float | None  # adjusted for all labels
    more_jobs: int | None  # further jobs with it that would show an effect of the size asked about
    rivals: str | None  # labels that it cannot be told from


class Jobs(NamedTuple):
    """Jobs, sorted by configuration and time.  Arrays of shape (jobs,), members of shape (labels, jobs)."""

    logs: _Values
    configuration: _Indexes
    moment: _Values  # seconds; NaN where not known
    members: _Members


def blame_labels(
    times: Sequence[float],
    configurations: Sequence[str],
    moments: Sequence[float | None],
    labels: Sequence[Sequence[str]],
    effect: float = 0.05,
) -> list[Blame]:
    """Labels that make jobs slow, over jobs of shape (n,): seconds, configuration, time in seconds, labels of each.

    log t = configuration + time + the worst of its labels.  Of each job the median of its configuration is taken off,
    then that of the jobs next to it in time.  A label's score is the rank sum of the jobs that had it, standardized by
    how such sums scatter if the jobs of a configuration that are next to each other in time are exchanged.  The
    largest score of all labels under such exchanges is what a score has to exceed, so that in 2.5 % of warehouses
    without a slow label one is accused.  The label with the largest score is accused first; the jobs that had it are
    then left out, as they say nothing of the others, and the rest is tested again.

    Labels of the same jobs are one label.  A label is `confounded` where another explains the same jobs about as well,
    or where all its jobs ran in one or two stretches of time, in which anything else may have been slow.
    `unknown` means that an effect of the size `effect` could not be excluded; `more_jobs` says how many more jobs
    would show it in 80 of 100 cases.  A label whose jobs came one after the other is `unknown` as well, with its time
    as rival: what they have in common goes with the median of the jobs next in time.
    """
    jobs, names = prepared(times, configurations, moments, labels)
    if not names:
        return []
    return _Search(jobs, names, effect).result()


def failing_labels(
    failed: Sequence[bool],
    configurations: Sequence[str],
    moments: Sequence[float | None],
    labels: Sequence[Sequence[str]],
) -> list[Blame]:
    """Labels whose jobs fail more often than chance, over jobs of shape (n,); as `blame_labels`, but for failures.

    The verdict is `slow` for a label whose jobs fail more often; the shares have no meaning.
    """
    jobs, names = prepared([float(np.exp(one)) for one in failed], configurations, moments, labels)
    return _SearchOfFailures(jobs, names, 0.5).result() if names else []


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


def _jobs_where(jobs: Jobs, kept: _Mask) -> Jobs:
    """Some of the jobs."""
    return Jobs(jobs.logs[kept], jobs.configuration[kept], jobs.moment[kept], jobs.members[:, kept])


def residuals(jobs: Jobs, reference: _Mask | None = None) -> _Values:
    """Logarithms less the median of the configuration, then less that of the jobs next in time; shape (jobs,).

    Only jobs of `reference` say what is usual, by default all; of a configuration that has none, all.
    """
    reference = np.ones(len(jobs.logs), bool) if reference is None else reference
    centered = jobs.logs.copy()
    for configuration in np.unique(jobs.configuration):
        its = jobs.configuration == configuration
        usual = its & reference if (its & reference).any() else its
        centered[its] -= np.median(jobs.logs[usual])
    dated = np.flatnonzero(np.isfinite(jobs.moment))
    dated = dated[np.argsort(jobs.moment[dated], kind="stable")]
    is_usual = reference[dated]
    usual_values = centered[dated[is_usual]]
    around = 2 * _NEIGHBORS
    if len(usual_values) <= around:
        return centered
    before: _Indexes = np.cumsum(is_usual) - is_usual  # usual jobs before each
    first = np.clip(before - _NEIGHBORS, 0, len(usual_values) - around - 1)
    places = first[:, None] + np.arange(around)
    places += is_usual[:, None] & (places >= before[:, None])  # a job does not say what is usual for itself
    centered[dated] -= np.median(usual_values[places], axis=1)
    return centered


def blocks(jobs: Jobs) -> _Indexes:
    """The block of each job, from 0: jobs of one configuration next to each other in time.  Shape (jobs,)."""
    result = np.zeros(len(jobs.logs), np.int64)
    n_blocks = 0
    for configuration in np.unique(jobs.configuration):
        its = np.flatnonzero(jobs.configuration == configuration)
        parts = max(1, round(len(its) / _BLOCK))
        result[its] = n_blocks + np.arange(len(its)) * parts // len(its)
        n_blocks += parts
    return result


class _Scored(NamedTuple):
    """Rank sums of labels."""

    ranks: _Values  # of the jobs, less the mean of their block, shape (jobs,)
    scale: _Values  # standard deviation of a label's rank sum, shape (labels,); inf where it cannot be tested
    scores: _Values  # sums over scale; -inf where a label cannot be tested
    n_with: _Indexes  # jobs that had the label, in blocks that have others
    n_without: _Indexes


def scored(members: _Members, values: _Values, block: _Indexes) -> _Scored:
    """Standardized rank sums of labels, of shape (labels, jobs), for the values of jobs in blocks."""
    ranks = _ranks(values)
    n_blocks = int(block.max(initial=-1)) + 1
    size = np.bincount(block, minlength=n_blocks).astype(float)
    ranks = ranks - (np.bincount(block, ranks, n_blocks) / np.maximum(size, 1))[block]
    spread = np.bincount(block, ranks**2, n_blocks) / np.maximum(size, 1)
    in_block = np.zeros((n_blocks, len(values)), np.float32)
    in_block[block, np.arange(len(values))] = 1
    had = members @ in_block.T  # labels by blocks
    mixed = (had > 0) & (had < size)
    variance = (had * (size - had) * (spread / np.maximum(size - 1, 1))).sum(axis=1)
    scale = np.sqrt(np.maximum(variance, 0)).astype(float)
    n_with = (had * mixed).sum(axis=1).astype(np.int64)
    n_without = ((size - had) * mixed).sum(axis=1).astype(np.int64)
    testable = (n_with >= _FEWEST) & (n_without >= _FEWEST) & (scale > 1e-9 * max(len(values), 1))
    scores = np.where(testable, (members @ ranks) / np.where(testable, scale, 1), -np.inf)
    return _Scored(ranks, np.where(testable, scale, np.inf), scores, n_with, n_without)


def _ranks(values: _Values) -> _Values:
    """Ranks from 1, the mean rank for equal values."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    return np.asarray((last - (count - 1) / 2)[place])


def largest_scores(members: _Members, scored_: _Scored, block: _Indexes, permutations: int) -> _Values:
    """The largest score of all labels, for jobs exchanged within blocks; sorted, shape (permutations,)."""
    random = np.random.default_rng(len(block))
    order = np.argsort(block, kind="stable")
    testable = np.flatnonzero(np.isfinite(scored_.scale))
    largest = np.full(permutations, -np.inf)
    if not len(testable):
        return largest
    step = max(1, min(permutations, 4_000_000 // max(len(block), 1)))
    for first in range(0, permutations, step):
        n = min(step, permutations - first)
        keys = block[order] + random.random((n, len(block)))
        exchanged = np.empty((n, len(block)), np.float32)
        exchanged[:, order] = scored_.ranks[order][np.argsort(keys, axis=1)]
        for row in range(0, len(testable), _ROWS):
            rows = testable[row : row + _ROWS]
            scores = (members[rows] @ exchanged.T) / scored_.scale[rows, None]
            largest[first : first + n] = np.maximum(largest[first : first + n], scores.max(axis=0))
    return np.sort(largest)


class _Shift(NamedTuple):
    """By which share jobs are slower than others."""

    slowdown: float | None
    low: float | None
    high: float | None
    kind: str | None
    n_slower: int
    n_jobs: int
    n_others: int


_NO_SHIFT = _Shift(None, None, None, None, 0, 0, 0)


def _shift(pairs: _Values, of_jobs: _Values, n_others: int, variance: float) -> _Shift:
    """Hodges and Lehmann's median of the differences of all pairs, and the interval that inverts the rank sum.

    For fewer than six jobs the range of their differences from the median of the others.
    """
    pairs = np.sort(pairs)
    n_slower = int((of_jobs > 0).sum())
    middle = float(np.expm1(np.median(pairs)))
    if len(of_jobs) < _FEWEST_FOR_INTERVAL:
        low, high = (float(np.expm1(end)) for end in (of_jobs.min(), of_jobs.max()))
        return _Shift(middle, low, high, "range", n_slower, len(of_jobs), n_others)
    first = max(0, int(np.floor(len(pairs) / 2 - _NORMAL_95 * np.sqrt(_OF_NEIGHBORS * variance))))
    low, high = (float(np.expm1(pairs[index])) for index in (first, len(pairs) - 1 - first))
    return _Shift(middle, low, high, "ci95", n_slower, len(of_jobs), n_others)


def _shift_of(values: _Values, block: _Indexes, had: _Mask) -> _Shift:
    """How much slower the jobs with a label are than the others of their blocks."""
    pairs, of_jobs, n_others, variance = [], [], 0, 0.0
    for one in np.unique(block[had]):
        its = block == one
        slow, others = values[its & had], values[its & ~had]
        if len(others):
            pairs.append((slow[:, None] - others).ravel())
            of_jobs.append(slow - np.median(others))
            n_others += len(others)
            variance += len(slow) * len(others) * (len(slow) + len(others) + 1) / 12
    return _shift(np.concatenate(pairs), np.concatenate(of_jobs), n_others, variance) if pairs else _NO_SHIFT


def _stretches(moment: _Values, had: _Mask) -> float:
    """How many times jobs without a label gave way to jobs with it; inf where times are not known."""
    dated = np.isfinite(moment)
    if not (dated & had).any():
        return np.inf
    in_order = had[dated][np.argsort(moment[dated], kind="stable")]
    return float(in_order[0]) + float((in_order[1:] & ~in_order[:-1]).sum())


def _is_taken_for_time(moment: _Values, had: _Mask) -> bool:
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


class _Search:
    """One label after the other, until none exceeds what chance would give."""

    takes_off_time = True  # of the values that are ranked

    def __init__(self, jobs: Jobs, names: list[str], effect: float) -> None:
        self.jobs, self.names, self.effect = jobs, names, effect
        self.kept = np.ones(len(jobs.logs), bool)  # jobs whose time no accused label explains
        self.open = np.ones(len(names), bool)  # labels that are not accused
        self.found: dict[int, Blame] = {}
        self.score()
        self.permute()

    def values_of(self, jobs: Jobs) -> _Values:
        """What is ranked of each job."""
        return residuals(jobs)

    def score(self) -> None:
        """Scores of the open labels over the kept jobs."""
        jobs, kept = self.jobs, self.kept
        self.part = _jobs_where(jobs, kept)
        self.values, self.block = self.values_of(self.part), blocks(self.part)
        self.scored = scored(self.part.members, self.values, self.block)
        self.scores = np.where(self.open, self.scored.scores, -np.inf)

    def permute(self) -> None:
        """What the largest score of the open labels would be by chance."""
        rows = np.flatnonzero(self.open)
        of_open = _Scored(self.scored.ranks, self.scored.scale[rows], *self.scored[2:])
        self.largest = largest_scores(self.part.members[rows], of_open, self.block, PERMUTATIONS)
        self.least = self.largest[-int(LEVEL * (PERMUTATIONS + 1))]
        self.is_permuted = True

    def result(self) -> list[Blame]:
        worst = 0.0
        while self.open.any() and np.isfinite(self.scores.max()):
            best = int(np.argmax(self.scores))
            if self.scores[best] <= self.least:
                if self.is_permuted:
                    break
                self.permute()  # fewer labels and jobs are left: less is needed
                continue
            worst = max(worst, self.p_value(best))
            self.accuse(best, worst)
        rest = [self.described(k, "", max(worst, self.p_value(k))) for k in np.flatnonzero(self.open).tolist()]
        slow = [
            self.measured(label, found) if found.verdict == "slow" else found for label, found in self.found.items()
        ]
        return [*slow, *rest]

    def p_value(self, label: int) -> float:
        above = PERMUTATIONS - int(np.searchsorted(self.largest, self.scores[label], side="left"))
        return (1 + above) / (1 + PERMUTATIONS)

    def accuse(self, label: int, p_value: float) -> None:
        """The label is slow, or one of it and its rivals is; either way the jobs that had it are explained."""
        rivals = self.rivals(label)
        in_one_time = _stretches(self.part.moment, self.part.members[label] > 0) < _FEWEST_STRETCHES
        verdict = "confounded" if rivals or in_one_time else "slow"
        named = [self.names[rival] for rival in rivals] + [TIME] * in_one_time
        self.found[label] = self.described(label, verdict, p_value)._replace(rivals=", ".join(named) or None)
        for rival in rivals:
            described = self.described(rival, verdict, max(p_value, self.p_value(rival)))
            others = [self.names[label], *(name for name in named if name != self.names[rival])]
            self.found[rival] = described._replace(rivals=", ".join(others))
        self.open[[label, *rivals]] = False
        self.kept &= self.jobs.members[label] == 0
        self.score()
        self.is_permuted = False

    def rivals(self, label: int) -> list[int]:
        """Labels that explain the jobs of this one about as well."""
        mine, members = self.part.members[label] > 0, self.part.members
        close = self.scores**2 > self.scores[label] ** 2 - _LIKELY
        close &= (self.scores > 0) & (members @ mine > 0)
        close[label] = False
        found = []
        for rival in np.flatnonzero(close):
            without = members[rival] == 0
            apart = scored(members[[label]][:, without], self.values[without], self.block[without]).scores[0]
            if apart < _APART:
                found.append(int(rival))
        return found

    def described(self, label: int, verdict: str, p_value: float) -> Blame:
        """What the kept jobs say of a label."""
        n_with, n_without = int(self.scored.n_with[label]), int(self.scored.n_without[label])
        had = self.part.members[label] > 0
        shift = _shift_of(self.values, self.block, had)
        is_hidden = not verdict and n_without > 0 and self.takes_off_time and _is_taken_for_time(self.part.moment, had)
        if not verdict:
            is_bounded = shift.kind == "ci95" and shift.high is not None and shift.high < self.effect
            verdict = "ordinary" if is_bounded and not is_hidden else "unknown"
        if is_hidden:
            shift = _NO_SHIFT._replace(n_jobs=n_with, n_others=n_without)
        score = float(self.scored.scores[label])
        return Blame(
            self.names[label], verdict, *shift,
            score if np.isfinite(score) else None, p_value if np.isfinite(score) else None,
            self.more_jobs(n_with, n_without) if verdict == "unknown" and not is_hidden else None,
            TIME if is_hidden else None,
        )  # fmt: skip

    def measured(self, label: int, found: Blame) -> Blame:
        """An accused label with its effect, over jobs that no other accused label explains."""
        accused = [other for other, blame_ in self.found.items() if other != label]
        jobs, mine = self.jobs, self.jobs.members[label] > 0
        others: _Mask = np.asarray((jobs.members[accused] > 0).any(axis=0))
        if found.verdict != "slow" or (mine & ~others).sum() < _FEWEST:
            return found
        part = _jobs_where(jobs, ~others)
        mine = mine[~others]
        shift = _shift_of(residuals(part, ~mine), blocks(part), mine)
        return found._replace(**shift._asdict()) if shift.slowdown is not None else found

    def more_jobs(self, n_with: int, n_without: int) -> int | None:
        """Further jobs with a label of so many jobs that would show the effect; None where it would take too many.

        n jobs of N that are slower raise the standardized rank sum by D sqrt(12 n (1 - n / N)), where D is by how much
        more often than not a job that is slower by the effect exceeds another.
        """
        ordered = np.sort(self.values)
        exceeded = np.searchsorted(ordered, ordered + np.log1p(self.effect)) / max(len(ordered), 1)
        more_often = float(exceeded.mean()) - 0.5 if len(ordered) else 0.0
        if more_often <= 0:
            return None
        share = min(n_with / (n_with + n_without), 0.5) if n_with else 0.0
        least = self.least if np.isfinite(self.least) else _LEAST
        needed = ((least + _POWER) / more_often) ** 2 / (12 * (1 - share))
        more = max(1, int(np.ceil(needed)) - n_with)
        return more if more <= _MOST_NEEDED else None


class _SearchOfFailures(_Search):
    """The same for jobs that fail: what is ranked is whether a job failed."""

    takes_off_time = False

    def values_of(self, jobs: Jobs) -> _Values:
        return jobs.logs
