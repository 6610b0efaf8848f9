"""Intervals cover what they promise, by simulation."""

import numpy as np
import numpy.typing as npt
import pytest

from scalelens.statistics.ratios import ratio_interval

Values = npt.NDArray[np.float64]


RUNS = [  # runs of the first and of the second, and by how much each scatter
    (6, 6, 0.02, 0.02), (7, 7, 0.05, 0.05), (8, 8, 0.01, 0.01), (10, 10, 0.02, 0.02), (20, 20, 0.03, 0.03),
    (6, 20, 0.02, 0.02), (6, 20, 0.05, 0.01), (6, 20, 0.01, 0.05), (10, 7, 0.01, 0.05),
]  # fmt: skip


def run_medians(kind: str, scatter: float, n: int, rng: np.random.Generator) -> Values:
    """Medians of n runs with a relative scatter between them; the true median is 1."""
    noise = scatter * rng.standard_normal(n)
    return 1 + noise if kind == "normal" else np.exp(noise)


@pytest.mark.parametrize("kind", ["normal", "lognormal"])
@pytest.mark.parametrize(("n", "m", "scatter", "scatter_of_second"), RUNS)
def test_ratio_of_medians_over_runs_is_covered(
    kind: str, n: int, m: int, scatter: float, scatter_of_second: float
) -> None:
    rng = np.random.default_rng(20261122)
    covered = 0
    for _ in range(2000):
        first, second = run_medians(kind, scatter, n, rng), run_medians(kind, scatter_of_second, m, rng)
        interval = ratio_interval(first, second)
        assert interval.low is not None and interval.high is not None
        assert interval.low <= np.median(first) / np.median(second) <= interval.high
        covered += interval.low <= 1 <= interval.high
    assert 0.93 <= covered / 2000 <= 0.99


def test_interval_of_ten_repeats_is_as_wide_as_their_scatter_warrants() -> None:
    """95 % of the ratios of two medians of ten runs that scatter by 2 % lie within 1 -+ 2.1 %."""
    rng = np.random.default_rng(5)
    pairs = [(run_medians("normal", 0.02, 10, rng), run_medians("normal", 0.02, 10, rng)) for _ in range(2000)]
    low, high = np.quantile([np.median(first) / np.median(second) for first, second in pairs], [0.025, 0.975])
    intervals = [ratio_interval(first, second) for first, second in pairs]
    width = np.mean([interval.high - interval.low for interval in intervals])  # type: ignore[operator]
    assert 1 <= width / (high - low) <= 1.25
