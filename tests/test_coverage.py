"""Intervals cover what they promise, by simulation.  docs/statistics.md shows the table; `--update` writes it anew."""

import re
from functools import cache
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pytest

from conftest import ROOT
from scalelens.statistics.blocks import in_blocks
from scalelens.statistics.medians import median_intervals
from scalelens.statistics.ratios import ratio_interval
from simulated_series import PROCESSES

Values = npt.NDArray[np.float64]

PAGE = ROOT / "docs" / "statistics.md"
SERIES = {100: 2000, 1000: 1000, 5000: 1000}  # how many series by length; 95 % of 1,000 are known to 0.7 %
# What is promised where ci95 is printed, as shares of the series: at least, at most.
# Of a hundred steps the interval is 1.7 times as wide as need be: test_long_memory.py holds it to that.
IID = {**dict.fromkeys(SERIES, (0.93, 0.99)), 100: (0.93, 1.0)}
SLOW = {1000: (0.88, 1), 5000: (0.93, 1)}
ROUNDED = dict.fromkeys(SERIES, (0.95, 1))
PROMISED = {
    name: {100: (0.91, 1), 1000: (0.94, 1), 5000: (0.94, 1)} if "0.9" in name and name.startswith("AR")
    else ROUNDED if name.startswith("rounded")
    else {100: (0.885, 1), **SLOW} if "drift" in name
    else SLOW if "kept" in name
    else IID
    for name in PROCESSES
}  # fmt: skip


@cache
def simulated(name: str, n: int) -> tuple[float, float]:
    """Of many series the share that has a ci95, and of these the share whose ci95 holds the true median."""
    process = PROCESSES[name]
    rng = np.random.default_rng([n, crc32(name.encode())])
    found = in_blocks(median_intervals, list(process.make(rng, SERIES[n], n)), lambda values: (len(values), True))
    intervals = [interval for interval in found if interval]
    ends = [(interval.low, interval.high) for interval in intervals if interval.kind == "ci95"]
    covered = sum(low <= process.median <= high for low, high in ends if low is not None and high is not None)
    return len(ends) / len(intervals), covered / max(len(ends), 1)


@pytest.mark.parametrize(("name", "n"), [(name, n) for name, promised in PROMISED.items() for n in promised])
def test_ci95_covers_the_true_median(name: str, n: int) -> None:
    at_least, at_most = PROMISED[name][n]
    printed, covered = simulated(name, n)
    assert at_least <= covered <= at_most
    if name.startswith(("uncorrelated", "AR(1), phi = 0.5")):
        assert printed >= 0.8


def table() -> str:
    """Coverage in per cent by process and n; in brackets in how many per cent of the series a ci95 is printed."""
    lines = ["| process | " + " | ".join(f"n = {n:,}" for n in SERIES) + " |", "|---|" + "---:|" * len(SERIES)]
    for name in PROCESSES:
        cells = [simulated(name, n) for n in SERIES]
        texts = [f"{100 * covered:.1f}" + f" ({100 * printed:.0f})" * (printed < 0.995) for printed, covered in cells]
        lines.append(f"| {name} | " + " | ".join(texts) + " |")
    return "\n".join(lines) + "\n"


def test_the_page_shows_what_is_simulated(request: pytest.FixtureRequest) -> None:
    """Within a per cent and a half: another version of numpy may draw other numbers."""
    before, begin, rest = PAGE.read_text().partition("<!-- simulated -->\n")
    printed, end, after = rest.partition("<!-- end -->\n")
    assert begin and end
    simulation = table()
    if request.config.getoption("--update"):
        PAGE.write_text(before + begin + simulation + end + after)
        printed = simulation
    shown, expected = (
        [float(number) for number in re.findall(r"(?<=\| )[\d.]+(?= [|(])", text)] for text in (printed, simulation)
    )
    assert [line.split("|")[1] for line in printed.splitlines()] == [
        line.split("|")[1] for line in simulation.splitlines()
    ]
    assert len(expected) == len(PROCESSES) * len(SERIES)
    assert shown == pytest.approx(expected, abs=1.5)


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
