"""Which node, or which other label of jobs, makes jobs slow: rank sums over many jobs, one label after the other."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from scalelens.statistics.job_shifts import NO_SHIFT, shift_of
from scalelens.statistics.labeled_jobs import (
    Jobs,
    Mask,
    Values,
    blocks,
    is_taken_for_time,
    jobs_where,
    prepared,
    residuals,
    stretches,
)
from scalelens.statistics.rank_sums import FEWEST, Scored, largest_scores, scored

PERMUTATIONS = 999
LEVEL = 0.025  # at which one label or more of a warehouse is accused by chance
_LIKELY = 6.0  # by which the squared score exceeds that of a rival: a likelihood ratio of 20
_APART = 2.0  # score of a label in the jobs without its rival, that tells it from the rival
_FEWEST_STRETCHES = 3  # times at which a label came, so that it is not the time that was slow
_POWER = 0.84  # normal score of being found in 80 of 100 cases
_MOST_NEEDED = 1000
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

    def values_of(self, jobs: Jobs) -> Values:
        """What is ranked of each job."""
        return residuals(jobs)

    def score(self) -> None:
        """Scores of the open labels over the kept jobs."""
        jobs, kept = self.jobs, self.kept
        self.part = jobs_where(jobs, kept)
        self.values, self.block = self.values_of(self.part), blocks(self.part)
        self.scored = scored(self.part.members, self.values, self.block)
        self.scores = np.where(self.open, self.scored.scores, -np.inf)

    def permute(self) -> None:
        """What the largest score of the open labels would be by chance."""
        rows = np.flatnonzero(self.open)
        of_open = Scored(self.scored.ranks, self.scored.scale[rows], *self.scored[2:])
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
        in_one_time = stretches(self.part.moment, self.part.members[label] > 0) < _FEWEST_STRETCHES
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
        shift = shift_of(self.values, self.block, had)
        is_hidden = not verdict and n_without > 0 and self.takes_off_time and is_taken_for_time(self.part.moment, had)
        if not verdict:
            is_bounded = shift.kind == "ci95" and shift.high is not None and shift.high < self.effect
            verdict = "ordinary" if is_bounded and not is_hidden else "unknown"
        if is_hidden:
            shift = NO_SHIFT._replace(n_jobs=n_with, n_others=n_without)
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
        others: Mask = np.asarray((jobs.members[accused] > 0).any(axis=0))
        if found.verdict != "slow" or (mine & ~others).sum() < FEWEST:
            return found
        part = jobs_where(jobs, ~others)
        mine = mine[~others]
        shift = shift_of(residuals(part, ~mine), blocks(part), mine)
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

    def values_of(self, jobs: Jobs) -> Values:
        return jobs.logs
