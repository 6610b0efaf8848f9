"""How far one stands out among others that are alike."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from scalelens.statistics.peers import EXPECTED, WORTH, standing, true_spread


def test_middle_is_the_median_of_the_typical_others() -> None:
    chance = np.random.default_rng(1)
    for ranks in range(1, 12):
        levels, typical = chance.normal(1, 0.05, ranks).round(2), chance.random(ranks) < 0.8
        for rank, middle in enumerate(standing(levels, 0.0, typical).middle):
            others = [levels[other] for other in range(ranks) if other != rank and typical[other]]
            assert middle == pytest.approx(np.median(others)) if others else np.isnan(middle)


def test_p_is_that_of_a_moderated_t_test() -> None:
    levels = np.append(1 + 0.02 * np.random.default_rng(2).standard_normal(7), 1.2)
    others = levels[:7]
    variance = (WORTH * (EXPECTED**2 + 0.01**2) + 6 * others.var(ddof=1)) / (WORTH + 6)
    beyond = (1.2 - np.median(others)) / np.sqrt(variance * (1 + np.pi / 14))
    assert standing(levels, 0.01, np.ones(8, bool)).p[7] == pytest.approx(stats.t.sf(beyond, WORTH + 6), rel=1e-12)


def test_order_does_not_matter_and_one_alone_has_no_p() -> None:
    levels = np.random.default_rng(3).normal(1, 0.03, 20)
    order = np.random.default_rng(4).permutation(20)
    one, other = standing(levels, 0.01, np.ones(20, bool)), standing(levels[order], 0.01, np.ones(20, bool))
    assert other.p == pytest.approx(one.p[order], rel=1e-9)
    assert np.isnan(standing(np.ones(1), 0.0, np.ones(1, bool)).p).all()


def integrated(shape: Any, values: Any, spread: float) -> float:
    """The likelihood of values of one shape and spread, integrated over the middle, with densities of scipy."""

    places = np.linspace(min(values) - 3 * spread, max(values) + 3 * spread, 2001)
    scaled = (values - places[:, None]) / spread * shape.std() + shape.median()
    return float(np.trapezoid(np.prod(shape.pdf(scaled) * shape.std() / spread, axis=1), places))


def test_a_tail_is_the_share_of_what_explains_the_levels() -> None:
    """By the definition: two slow ones, one or none; of what is left, three shapes or normal scatter."""
    levels, noise = np.array([1.3, 0.99, 1.0, 5.0, 1.02, 1.16, 0.98, 1.005]), 0.004
    typical = levels < 5  # the one that is not counts for nothing
    ordered = np.sort(levels[typical])[::-1]
    shapes = ((stats.expon(), 0.09), (stats.moyal(), 0.22), (stats.gumbel_r(), 0.26), (stats.t(5), 0.43))
    spreads = np.geomspace(0.0035, 0.12, 16)
    likelihood = {}
    for center, width, tried in ((0.0175, 0.7, ((stats.norm(), 1.0),)), (0.025, 0.35, shapes)):
        weights = stats.norm.pdf(np.log(spreads / center), scale=width)
        for first in range(3):
            found = [
                weight
                * sum(share * integrated(shape, ordered[first:], np.hypot(spread, noise)) for shape, share in tried)
                for weight, spread in zip(weights / weights.sum(), spreads, strict=True)
            ]
            likelihood[len(tried), first] = sum(found)
    excess = [ordered[n] - np.median(ordered[n + 1 :]) for n in range(2)]
    out = [0.99 * stats.expon.pdf(one, scale=0.05) + 0.01 / (1 + one) ** 2 for one in excess]
    one = likelihood[4, 0], out[0] * likelihood[1, 1]
    two = likelihood[4, 0] + out[0] * likelihood[4, 1], out[0] * out[1] * likelihood[1, 2]
    found = standing(levels, noise, typical).tail_p
    assert found[0] == pytest.approx(one[0] / sum(one), rel=0.01)
    assert found[5] == pytest.approx(two[0] / sum(two), rel=0.01)
    assert np.isnan(found[[1, 2, 3, 4, 6, 7]]).all()
    assert np.isnan(standing(np.array([1.0, 1.5]), 0.0, np.ones(2, bool)).tail_p).all()


def test_a_tail_is_told_by_many_and_not_excluded_by_few() -> None:
    chance = np.random.default_rng(7)
    share = {}
    for ranks in (8, 64):
        for name, draw in (("exponential", chance.standard_exponential), ("normal", chance.standard_normal)):
            made = [np.append(1 + 0.03 * draw(ranks - 1), 1.0) for _ in range(100)]
            for levels in made:
                levels[-1] = np.median(levels) + (0.15 if name == "normal" else 0.0)
            found = [standing(levels / np.median(levels), 0.0, np.ones(ranks, bool)).tail_p for levels in made]
            tails = [tail[np.argmax(levels)] for tail, levels in zip(found, made, strict=True)]
            share[name, ranks] = np.nanmedian(tails)
    assert share["exponential", 64] > 0.9 and share["normal", 64] < 0.03 < share["normal", 8] < 0.7


@pytest.mark.parametrize("ranks", [4, 7, 16, 64, 300])
@pytest.mark.parametrize("shape", [stats.expon(), stats.moyal(), stats.lognorm(0.5)], ids=["exp", "Moyal", "lognormal"])
def test_the_end_of_a_long_tail_seldom_stands_apart(ranks: int, shape: Any) -> None:
    made = 0.03 * shape.rvs((300, ranks), random_state=np.random.default_rng(ranks)) / shape.std()
    found = [np.fmin.reduce(standing(1 + row - np.median(row), 0.0, np.ones(ranks, bool)).tail_p) for row in made]
    assert np.mean(np.array(found) < 0.03) <= 0.05


@pytest.mark.parametrize("times", [1.5, 2.4, 20.0])
def test_what_is_far_out_stands_apart(times: float) -> None:
    levels = np.array([0.99, 1.0, 1.0, 1.02, 1.01, 0.98, 1.005, times])
    assert standing(levels, 0.004, np.ones(8, bool)).tail_p[-1] < 0.03


@pytest.mark.parametrize("ranks", [5, 8])
def test_how_many_would_tell_is_what_would(ranks: int) -> None:
    """That many, of which the others scatter normally, and as those do that were seen."""

    def alike(many: int, spread: float) -> Any:
        return np.append(1 + spread * stats.norm.ppf((np.arange(1, many) - 0.375) / (many - 0.75)), 1.13)

    seen = alike(ranks, 0.02)
    first = standing(seen, 0.002, np.ones(ranks, bool))
    assert first.tail_p[-1] >= 0.03 and first.enough[-1] >= 2 * ranks and np.isnan(first.enough[:-1]).all()
    most = int(first.enough[-1])
    again = standing(alike(most, seen[:-1].std(ddof=1)), 0.002, np.ones(most, bool))
    assert again.tail_p[-1] < 0.03 and np.isnan(again.enough).all()


def test_true_spread_covers_what_was_planted() -> None:
    chance = np.random.default_rng(5)
    planted, noise, covered = 0.02, 0.01, 0
    for _ in range(500):
        said = true_spread(1 + np.hypot(planted, noise) * chance.standard_normal(24), noise, 50)
        covered += said.low <= planted <= said.high
    assert 0.92 <= covered / 500 <= 0.99


def test_true_spread_is_zero_where_noise_explains_all() -> None:
    assert true_spread(np.ones(8), 0.0, 5).p == 1
    levels = 1 + 0.001 * np.random.default_rng(6).standard_normal(8)
    assert (true_spread(levels, 0.05, 5).share, true_spread(levels, 0.05, 5).p) == (0, pytest.approx(1))
    assert np.isnan(true_spread(np.ones(3), 0.0, 5).share)
