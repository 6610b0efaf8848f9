"""Elbows: tails that were planted are found where they are, shapes without a tail have none; slow steps by class."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.signal
import scipy.stats

from little_warehouse import Warehouse
from scalelens.statistics.elbows import elbows, fast_mode
from scalelens.statistics.slow_classes import slow_classes

Values = npt.NDArray[np.float64]
Random = np.random.Generator

SIGMA = 0.01  # of the fast mode, in seconds and in parts of its time

# Tails that begin 6 sigma away from the fast mode: a mode of the same width in two distances, and other shapes.
TAILS: dict[str, Callable[[Random, int], Values]] = {
    "mode at 6 sigma": lambda rng, n: 1 + 6 * SIGMA + SIGMA * rng.standard_normal(n),
    "mode at 12 sigma": lambda rng, n: 1 + 12 * SIGMA + SIGMA * rng.standard_normal(n),
    "uniform": lambda rng, n: rng.uniform(1 + 6 * SIGMA, 1.5, n),
    "exponential": lambda rng, n: 1 + 6 * SIGMA + rng.exponential(0.1, n),
    "lognormal": lambda rng, n: 1 + 6 * SIGMA + 0.2 * np.exp(0.7 * rng.standard_normal(n)),
    "Pareto": lambda rng, n: 1 + 6 * SIGMA + 0.05 * rng.pareto(1.5, n),
}


def planted(rng: Random, tail: str, n: int, share: float, stays: float = 0.0) -> tuple[Values, float]:
    """Times of which a share is slow, and the share of fast ones that was drawn; a slow step stays slow or not."""
    slow = rng.random(n) < share
    if stays:
        into = share * (1 - stays) / (1 - share)
        chance = rng.random(n)
        for step in range(1, n):
            slow[step] = chance[step] < (stays if slow[step - 1] else into)
    times = 1 + SIGMA * rng.standard_normal(n)
    times[slow] = TAILS[tail](rng, int(slow.sum()))
    return times, float(1 - slow.mean())


@pytest.mark.parametrize("many", [10, pytest.param(100, marks=pytest.mark.slow)])
@pytest.mark.parametrize("n", [200, 1000])
@pytest.mark.parametrize("share", [0.05, 0.1, 0.3, 0.6])
@pytest.mark.parametrize("tail", TAILS)
def test_planted_tails_are_found_where_they_begin(tail: str, share: float, n: int, many: int) -> None:
    """Elbow and departure within 0.02 of the share of fast steps in the series, in 90 %; expected are 95 to 100 %."""
    rng = np.random.default_rng([20261122, n])
    near = {"elbow": 0, "departure": 0}
    for _ in range(many):
        times, fast = planted(rng, tail, n, share)
        found = elbows(times)
        near["elbow"] += bool(found.elbows) and abs(found.elbows[0].share - fast) <= 0.02
        near["departure"] += found.departure is not None and abs(found.departure.share - fast) <= 0.02
    assert min(near.values()) >= 0.9 * many - (many < 100)


def ar1(phi: float) -> Callable[[Random, int], Values]:
    def draw(rng: Random, n: int) -> Values:
        noise = scipy.signal.lfilter([1], [1, -phi], rng.standard_normal(n + 300))[300:]
        return np.asarray(1 + 0.1 * np.sqrt(1 - phi**2) * noise)

    return draw


TAILLESS: dict[str, Callable[[Random, int], Values]] = {
    "normal": lambda rng, n: 1 + 0.1 * rng.standard_normal(n),
    "narrow normal": lambda rng, n: 1 + 0.005 * rng.standard_normal(n),
    "uniform": lambda rng, n: rng.uniform(1, 2, n),
    "lognormal, sigma 0.1": lambda rng, n: np.exp(0.1 * rng.standard_normal(n)),
    "lognormal, sigma 0.2": lambda rng, n: np.exp(0.2 * rng.standard_normal(n)),
    "gamma, shape 20": lambda rng, n: rng.gamma(20, 0.05, n),
    "gamma, shape 8": lambda rng, n: rng.gamma(8, 0.1, n),
    "AR(1), phi 0.5": ar1(0.5),
    "AR(1), phi 0.9": ar1(0.9),
}


@pytest.mark.parametrize("n", [80, 200, 1000, 5000])
@pytest.mark.parametrize("shape", TAILLESS)
def test_shapes_without_a_tail_have_no_elbow(shape: str, n: int) -> None:
    """In 95 %; expected are 97 % of 80 steps, and more than 99 % of 200."""
    rng = np.random.default_rng([7, n])
    many = 200 if n < 5000 else 50
    assert sum(bool(elbows(TAILLESS[shape](rng, n)).elbows) for _ in range(many)) <= 0.05 * many


# One smooth distribution each, with a right side that bends everywhere.  The first five are those that once had elbows;
# the others are drawn anew by seed.
SMOOTH: dict[str, Callable[[Random, int], Values]] = {
    "lognormal, sigma 0.5": lambda rng, n: np.exp(0.5 * rng.standard_normal(n)),
    "exponential": lambda rng, n: 0.1 + rng.exponential(1, n),
    "Gumbel": lambda rng, n: rng.gumbel(1, 0.1, n),
    "lognormal, any sigma": lambda rng, n: 1 + np.exp(rng.uniform(0.3, 1.2) * rng.standard_normal(n)),
    "Pareto": lambda rng, n: 1 + rng.pareto(rng.uniform(1.5, 4), n),
    "gamma": lambda rng, n: rng.gamma(rng.uniform(1, 6), 1, n),
    "Weibull": lambda rng, n: 1 + rng.weibull(rng.uniform(0.8, 2), n),
    "inverse Gaussian": lambda rng, n: rng.wald(1, rng.uniform(1, 4), n),
    "log-logistic": lambda rng, n: 1 + 0.1 * (1 / rng.random(n) - 1) ** (-1 / rng.uniform(2, 5)),
    "half normal": lambda rng, n: 1 + np.abs(rng.standard_normal(n)),
    "Student's t": lambda rng, n: 1 + 0.01 * rng.standard_t(rng.uniform(2.5, 6), n),
    "Laplace": lambda rng, n: 1 + 0.01 * rng.laplace(size=n),
    "normal and exponential": lambda rng, n: (
        1 + 0.05 * rng.standard_normal(n) + rng.exponential(rng.uniform(0.05, 0.2), n)
    ),
    "skew normal": lambda rng, n: 1 + 0.05 * scipy.stats.skewnorm.rvs(4, size=n, random_state=rng),
    "logistic": lambda rng, n: 1 + 0.02 * rng.logistic(size=n),
    "gamma times gamma": lambda rng, n: 1 + 0.1 * rng.gamma(2, 1, n) * rng.gamma(3, 1, n),
    "Rayleigh": lambda rng, n: 1 + 0.1 * rng.rayleigh(size=n),
    "extreme value": lambda rng, n: 1 + 0.05 * scipy.stats.genextreme.rvs(-0.1, size=n, random_state=rng),
    "slowest of eight": lambda rng, n: 1 + 0.05 * rng.standard_normal((n, 8)).max(axis=1),
    "sum of three exponentials": lambda rng, n: 1 + 0.1 * rng.exponential(size=(n, 3)).sum(axis=1),
}


@pytest.mark.parametrize(
    ("n", "many", "seed"),
    [(100, 15, 1), (300, 10, 1), (1000, 6, 1)]
    + [pytest.param(n, 200, seed, marks=pytest.mark.slow) for n in (100, 300, 1000, 5000) for seed in (2, 3)],
)
@pytest.mark.parametrize("shape", SMOOTH)
def test_a_smooth_tail_is_no_elbow(shape: str, n: int, many: int, seed: int) -> None:
    """In nine of ten; in the small form two standard errors more."""
    rng = np.random.default_rng([seed, n])
    wrong = sum(bool(elbows(SMOOTH[shape](rng, n)).elbows) for _ in range(many))
    assert wrong <= 0.1 * many + (2 * np.sqrt(0.09 * many) if many < 100 else 0)


def rounded(times: Values, steps: int) -> Values:
    """Times as a log with few digits prints them: that many of its steps make a power of ten below their quartiles."""
    step = 10.0 ** np.floor(np.log10(np.subtract(*np.quantile(times, [0.75, 0.25])))) / steps
    return np.asarray(np.round(times / step) * step)


@pytest.mark.parametrize(
    ("n", "many", "seed"),
    [(300, 8, 1)] + [pytest.param(n, 100, seed, marks=pytest.mark.slow) for n in (100, 300, 1000) for seed in (2, 3)],
)
@pytest.mark.parametrize("steps", [1, 5])
@pytest.mark.parametrize("shape", SMOOTH)
def test_a_smooth_tail_of_rounded_times_is_no_elbow(shape: str, steps: int, n: int, many: int, seed: int) -> None:
    """As the values themselves.  Ties were once taken for what a density says: of Pareto's half had an elbow."""
    rng = np.random.default_rng([seed, n])
    wrong = sum(bool(elbows(rounded(SMOOTH[shape](rng, n), steps)).elbows) for _ in range(many))
    assert wrong <= 0.1 * many + (2 * np.sqrt(0.09 * many) if many < 100 else 0)


@pytest.mark.parametrize("many", [6, pytest.param(100, marks=pytest.mark.slow)])
@pytest.mark.parametrize("share", [0.1, 0.3])
@pytest.mark.parametrize("tail", [tail for tail in TAILS if tail != "mode at 6 sigma"])
def test_planted_tails_of_rounded_times_are_found(tail: str, share: float, many: int) -> None:
    """Rounded to one sigma of the fast mode."""
    rng = np.random.default_rng([20261129])
    near = 0
    for _ in range(many):
        times, fast = planted(rng, tail, 1000, share)
        found = elbows(np.round(times, 2)).elbows
        near += bool(found) and abs(found[0].share - fast) <= 0.02
    assert near >= 0.9 * many - (many < 100)


@pytest.mark.parametrize("many", [10, pytest.param(100, marks=pytest.mark.slow)])
@pytest.mark.parametrize("n", [200, 1000])
def test_a_mode_in_bursts_beside_a_lognormal_body_is_found(n: int, many: int) -> None:
    rng = np.random.default_rng([94, n])
    near = 0
    for _ in range(many):
        is_slow = np.repeat(np.arange(n) % 2 == 1, rng.geometric(np.where(np.arange(n) % 2, 1 / 4, 1 / 36)))[:n]
        times = np.exp(0.05 * rng.standard_normal(n) + 0.4 * is_slow)
        found = elbows(times).elbows
        near += bool(found) and abs(found[0].share - (1 - is_slow.mean())) <= 0.02
    assert near >= 0.9 * many - (many < 100)


def test_wild_times_raise_nothing() -> None:
    """Tails over many powers of ten, ties, and gaps of a million."""
    rng = np.random.default_rng(0)
    for _ in range(60):
        n = int(rng.integers(80, 300))
        for times in (
            1e-9 + rng.pareto(rng.uniform(0.2, 3), n) * 10 ** rng.uniform(-6, 6),
            np.exp(rng.uniform(0.1, 8) * rng.standard_normal(n)),
            np.where(rng.random(n) < 0.1, 1e6, 1) + 1e-6 * rng.random(n),
            np.where(rng.random(n) < 0.6, rng.uniform(1.06, 1.5, n), 1 + 0.01 * rng.standard_normal(n)),
            np.r_[np.ones(n // 2), 1 + rng.random(n - n // 2)],
        ):
            assert elbows(times).reason or elbows(times).elbows


def test_the_reason_is_one_smooth_distribution() -> None:
    found = elbows(np.random.default_rng(2).exponential(1, 500) + 0.1)
    assert found.elbows == [] and found.departure
    assert found.reason and found.reason.startswith("one smooth distribution")


@pytest.mark.parametrize(("share", "stays"), [(0.1, 0.0), (0.3, 0.0), (0.3, 0.9), (0.6, 0.9)])
def test_the_interval_covers_the_share_of_the_process(share: float, stays: float) -> None:
    """Of 95 % intervals; stalls that stay need more steps to say as much."""
    rng = np.random.default_rng(11)
    corners = [elbows(planted(rng, "mode at 12 sigma", 1000, share, stays)[0]).departure for _ in range(200)]
    covered = [corner is not None and corner.share_low <= 1 - share <= corner.share_high for corner in corners]
    assert 0.91 <= np.mean(covered) <= 1


def test_places_of_a_corner_run_from_low_to_high() -> None:
    corner = elbows(planted(np.random.default_rng(2), "exponential", 500, 0.2)[0]).elbows[0]
    assert corner.share_low < corner.share < corner.share_high
    assert corner.step_s_low <= corner.step_s <= corner.step_s_high


def test_departure_below_a_half_and_elbow_in_the_tail() -> None:
    """A narrow fast mode of 40 %, a broad slow one of 58 %, and 2 % far away: the two questions have two answers."""
    rng = np.random.default_rng(3)
    times = np.concatenate([rng.normal(1, 0.01, 400), rng.normal(1.2, 0.03, 580), rng.uniform(4, 6, 20)])
    found = elbows(rng.permutation(times))
    assert found.departure and found.departure.share == pytest.approx(0.4, abs=0.005)
    assert found.elbows[0].share == pytest.approx(0.98, abs=0.02)


def test_further_elbows_inside_the_tail() -> None:
    rng = np.random.default_rng(4)
    times = np.concatenate([rng.normal(1, 0.01, 1400), rng.normal(1.5, 0.01, 500), rng.normal(3, 0.05, 100)])
    shares = [corner.share for corner in elbows(rng.permutation(times)).elbows]
    assert shares == [pytest.approx(0.7, abs=0.002), pytest.approx(0.95, abs=0.002)]


def test_one_stall_is_no_tail() -> None:
    times = 1 + 0.01 * np.random.default_rng(5).standard_normal(1000)
    times[500] = 60
    reason = elbows(times).reason
    assert reason and reason.startswith("no tail")


def test_reasons() -> None:
    rng = np.random.default_rng(6)
    assert elbows(np.arange(1.0, 80.0)).reason == "few: 79 records, 80 are needed"
    assert elbows(np.round(rng.uniform(1, 1.5, 500), 1)).reason == "quantized: 6 distinct times, 10 are needed"
    assert elbows(np.ones(500)).reason == "quantized: 1 distinct time, 10 are needed"
    assert elbows(np.ones(1)).reason == "few: 1 record, 80 are needed"
    modes = np.concatenate([rng.normal(middle, 0.01, 300) for middle in (1.0, 1.2, 1.4)])
    several = elbows(rng.permutation(modes))
    assert several.reason and several.reason.startswith("several modes: at 1.001, 1.2, 1.401 s, each with")
    assert several.departure and several.departure.share == pytest.approx(1 / 3, abs=0.005)


def test_times_scale_and_shares_stay() -> None:
    times, _ = planted(np.random.default_rng(7), "lognormal", 700, 0.2)
    once, thrice = elbows(times), elbows(4 * times)
    assert once.departure and thrice.departure
    assert thrice.departure.share == once.departure.share
    assert thrice.departure.step_s == pytest.approx(4 * once.departure.step_s, rel=1e-12)


def test_the_fast_mode_may_hold_the_smaller_half() -> None:
    times, fast = planted(np.random.default_rng(8), "mode at 6 sigma", 4000, 0.7)
    mode = fast_mode(np.sort(times))
    assert mode.median_s == pytest.approx(1, abs=0.001)
    assert mode.sigma_s == pytest.approx(SIGMA, rel=0.1)
    assert float(np.mean(times <= mode.end_s)) == pytest.approx(fast, abs=0.005)


# Slow steps


def classified(
    n: int, rng: Random, *, every: int = 0, alone: float = 0, slow_from: float = 1, epoch: int = 0
) -> Counter[Any]:
    """Pairs of what was planted and what was said, of steps that either calls slow."""
    places = np.arange(n)
    times = 1 + SIGMA * rng.standard_normal(n)
    true = np.full(n, "", dtype=object)
    for kind, where, added in (
        ("isolated", rng.random(n) < alone, 0.2 + rng.exponential(0.3, n)),
        ("periodic", places % every == every // 3 if every else np.zeros(n, bool), 0.3),
        ("regime_shift", (places >= slow_from * n) & (places < (slow_from + 0.2) * n), 0.3),
        ("first_of_epoch", places % epoch == 0 if epoch else np.zeros(n, bool), 2.0),
    ):
        times[where] = (times + added)[where]
        true[where] = kind
    is_first = true == "first_of_epoch"
    found = slow_classes(times, places + 1, is_first, ~is_first)
    said = np.full(n, "", dtype=object)
    said[found.position] = found.kind
    assert {period for period in found.period if period} <= {every}
    return Counter((a, b) for a, b in zip(true, said, strict=True) if a or b)


@pytest.mark.parametrize(
    "planted_classes",
    [
        {"alone": 0.03}, {"alone": 0.2}, {"every": 10}, {"every": 25, "alone": 0.03}, {"every": 7, "alone": 0.1},
        {"slow_from": 0.4}, {"slow_from": 0.4, "every": 10, "alone": 0.03}, {"slow_from": 0.8, "alone": 0.03},
        {"epoch": 50, "alone": 0.02}, {"epoch": 100, "every": 20},
    ],
)  # fmt: skip
@pytest.mark.parametrize("n", [300, 3000])
def test_each_class_is_told_right(n: int, planted_classes: dict[str, Any]) -> None:
    rng = np.random.default_rng(9)
    pairs: Counter[Any] = Counter()
    for _ in range(10):
        pairs += classified(n, rng, **planted_classes)
    right = sum(count for (true, said), count in pairs.items() if true == said)
    assert right >= 0.98 * sum(pairs.values())


def test_without_a_slow_step_there_is_no_class() -> None:
    none = np.zeros(50, bool)
    found = slow_classes(np.linspace(1, 1.01, 50), np.arange(50), none, ~none)
    assert (found.position, found.reason) == ([], None)
    few = slow_classes(np.ones(39), np.arange(39), none[:39], ~none[:39])
    assert slow_classes(np.ones(39), np.arange(39), none[:39], ~none[:39], 1.5).reason is None
    assert few.reason == "few: 39 records, 40 are needed"


# In SQL


def times_with_stalls(n: int = 400, every: int = 8) -> list[float]:
    noise = np.random.default_rng(10).standard_normal(n)
    return [float(value) for value in 1 + SIGMA * noise + 0.5 * (np.arange(n) % every == 5)]


def test_elbow_of_a_run(warehouse: Warehouse) -> None:
    warehouse.run("a", times_with_stalls())
    (row,) = warehouse.ask("FROM elbow(warmup := 0)")
    assert (row["n_steps"], row["label"], row["elbow_number"], row["reason"]) == (400, "single steps", 1, None)
    assert row["elbow_share"] == row["departure_share"] == 0.875
    assert row["elbow_share_low"] < 0.875 < row["elbow_share_high"]
    assert row["elbow_s"] == sorted(times_with_stalls())[349]
    assert row["elbow_s"] <= row["departure_s"] < 1.4 and row["median_contaminated"] is False


def test_a_median_of_slow_steps_is_called_contaminated(warehouse: Warehouse) -> None:
    warehouse.run("a", times_with_stalls(every=8) + [1.5 + time / 1000 for time in range(600)])
    (row,) = warehouse.ask("FROM elbow() WHERE elbow_number = 1 OR elbow_number IS NULL")
    assert row["departure_share"] == pytest.approx(0.35, abs=0.01) and row["median_contaminated"] is True


def test_elbows_of_means_are_labelled_or_refused(warehouse: Warehouse) -> None:
    warehouse.run("interval", times_with_stalls(), steps={"value_kind": "interval_mean", "averaged_steps": 10})
    warehouse.run("running", times_with_stalls(), steps={"value_kind": "running_mean"})
    interval, running = warehouse.ask("FROM elbow()")
    assert interval["label"] == "means of 10 steps" and interval["elbow_number"] == 1
    assert running["reason"] == "running_mean: a mean of many steps hides the tail of single ones"
    assert {running[name] for name in ("label", "elbow_number", "elbow_s", "departure_s", "fast_s")} == {None}


def epochs(warehouse: Warehouse, lengths: list[int]) -> None:
    warehouse.insert("runs", [{"run_id": "a"}])
    times = iter(times_with_stalls(sum(lengths)))
    step = 0
    for epoch, length in enumerate(lengths):
        rows = [
            {"run_id": "a", "file_id": "a", "line": step + k, "attempt": 0, "epoch": float(epoch), "step": step + k,
             "step_s": next(times) + 2 * (k == 0), "averaged_steps": 1, "value_kind": "instant"}
            for k in range(length)
        ]  # fmt: skip
        warehouse.insert("step_times", rows)
        step += length


def test_short_epochs_are_pooled(warehouse: Warehouse) -> None:
    epochs(warehouse, [300, 60, 250, 70, 80])
    rows = warehouse.ask("SELECT DISTINCT epochs, n_steps FROM elbow(by_epoch := true, exclude := 'none') ORDER BY ALL")
    assert [(row["epochs"], row["n_steps"]) for row in rows] == [("0", 300), ("1,3,4", 210), ("2", 250)]
    assert {row["epochs"] for row in warehouse.ask("FROM elbow()")} == {"0-4"}


def test_slow_steps_of_a_run(warehouse: Warehouse) -> None:
    epochs(warehouse, [100] * 6)
    rows = warehouse.ask("FROM slow_steps()")
    by_class = Counter(row["class"] for row in rows)
    assert by_class == {"first_of_epoch": 5, "periodic": 75}  # the first batch of all is warm-up
    assert {row["period_steps"] for row in rows if row["class"] == "periodic"} == {8}
    first = next(row for row in rows if row["class"] == "first_of_epoch")
    assert (first["epoch"], first["step"], first["line"]) == (1, 100, 100)
    assert first["cost_s"] == pytest.approx(2, abs=0.05)
    total = sum(warehouse.column("SELECT step_s FROM step_times WHERE step >= 2 AND step % 100 <> 99 AND step <> 0"))
    assert first["cost_percent"] == pytest.approx(100 * first["cost_s"] / total, rel=0.01)


def test_a_run_without_slow_steps_says_so(warehouse: Warehouse) -> None:
    warehouse.run("a", [1 + 0.001 * (step % 7) for step in range(100)])
    warehouse.run("b", [1.0] * 10)
    rows = warehouse.ask("SELECT run_id, step, reason FROM slow_steps()")
    assert [tuple(row.values()) for row in rows] == [
        ("a", None, "no record took longer than 1.053 s"), ("b", None, "few: 8 records, 40 are needed"),
    ]  # fmt: skip


def test_the_distribution_marks_the_elbows(warehouse: Warehouse) -> None:
    warehouse.run("a", times_with_stalls())
    warehouse.run("b", times_with_stalls(every=1000))
    said = warehouse.ask(
        "SELECT run_id, elbow_number, elbow_s, elbow_share, elbow_share_low FROM elbow() WHERE elbow_number > 0"
    )
    marked = warehouse.ask(
        "SELECT run_id, elbow_number, step_s AS elbow_s, cdf AS elbow_share, elbow_share_low FROM batch_cdf() WHERE elbow_number > 0"
    )
    assert marked == said and [row["run_id"] for row in said] == ["a"]
    reasons = warehouse.column("SELECT DISTINCT note FROM batch_cdf() ORDER BY 1 NULLS LAST")
    assert reasons == warehouse.column("SELECT reason FROM elbow() ORDER BY 1 NULLS LAST") and reasons[1] is None


def test_sql_calls_the_same_functions(warehouse: Warehouse) -> None:
    times = times_with_stalls()
    warehouse.connection.execute("CREATE OR REPLACE TEMP TABLE series AS SELECT ? AS times", [times])
    (row,) = warehouse.ask(
        "SELECT elbows(times) AS found, elbows(NULL) AS none, steadiness(NULL) AS nothing FROM series"
    )
    found = elbows(np.array(times))
    assert found.fast and found.departure
    assert row["found"]["fast"] == found.fast._asdict() and row["found"]["departure"] == found.departure._asdict()
    assert row["found"]["elbows"] == [corner._asdict() for corner in found.elbows]
    assert row["none"] is None and row["nothing"] is None
    assert warehouse.column("SELECT slow_classes(NULL, NULL, NULL, NULL, 0.0)") == [None]


def test_a_threshold_takes_the_place_of_the_limit_that_the_distribution_gives(warehouse: Warehouse) -> None:
    warehouse.run("r", [1.0, 1.01] * 40 + [1.3, 1.6, 2.5])
    for slower_than, slow in ((1.2, [1.3, 1.6, 2.5]), (1.5, [1.6, 2.5]), (2, [2.5])):
        rows = warehouse.ask(f"FROM slow_steps(slower_than := {slower_than})")
        assert [row["step_s"] for row in rows] == slow
        assert rows[0]["limit_s"] == pytest.approx(slower_than * rows[0]["fast_s"])
    assert [row["reason"] for row in warehouse.ask("FROM slow_steps(slower_than := 3)")] == [
        "no record took longer than 3.03 s"
    ]
