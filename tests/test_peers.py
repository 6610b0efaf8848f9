"""How far one stands out among others that are alike."""

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


def test_the_gap_below_is_judged_by_those_below_it() -> None:
    levels = np.array([1.3, 0.99, 1.0, 5.0, 1.02, 1.25, 0.98])
    below = np.array([0.98, 0.99, 1.0, 1.02])
    typical = levels < 5  # the one that is not counts for nothing
    found = standing(levels, 0.0, typical).gap_p
    assert found[5] == pytest.approx(stats.f.sf((1.25 - 1.02) / below.std(ddof=1), 2, 6))
    assert found[0] == pytest.approx(stats.f.sf(0.05 / np.append(below, 1.25).std(ddof=1), 2, 8))
    assert np.isnan(found[[1, 3, 6]]).all()  # below two there is no scatter
    assert standing(np.array([1, 1, 1.5, 1.5, 1]), 0.0, np.ones(5, bool)).gap_p[2:4].tolist() == [0, 1]


@pytest.mark.parametrize(("make", "most"), [("standard_normal", 0.03), ("standard_exponential", 0.17)])
@pytest.mark.parametrize("ranks", [7, 16, 64])
def test_the_largest_of_alike_seldom_leaves_a_wide_gap(ranks: int, make: str, most: float) -> None:
    draw = getattr(np.random.default_rng(ranks), make)
    wide = 0
    for _ in range(4000):
        levels = 1 + 0.03 * draw(ranks)
        wide += standing(levels, 0.0, np.ones(ranks, bool)).gap_p[np.argmax(levels)] < 0.05
    assert wide / 4000 <= most


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
