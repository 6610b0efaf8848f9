"""The steady state: change points by simulation, the verdict, and what `exclude := 'steady'` leaves out."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
import scipy.signal

import simulated_series
from little_warehouse import Warehouse
from scalelens.statistics.level_shifts import level_shifts
from scalelens.statistics.steady import steadiness

Values = npt.NDArray[np.float64]
Series = Callable[[np.random.Generator, int], Values]


def ar1(phi: float) -> Series:
    """Step times of 1 s with a standard deviation of 2 %, each like the one before."""

    def draw(rng: np.random.Generator, n: int) -> Values:
        noise = scipy.signal.lfilter([1], [1, -phi], rng.standard_normal(n + 300))[300:]
        return np.asarray(1 + 0.02 * np.sqrt(1 - phi**2) * noise)

    return draw


def two_modes(rng: np.random.Generator, n: int) -> Values:
    return np.where(rng.random(n) < 0.3, 1.5, 1.0) + 0.01 * rng.standard_normal(n)


def every_tenth_is_slow(rng: np.random.Generator, n: int) -> Values:
    return 1 + 0.01 * rng.standard_normal(n) + 0.5 * (np.arange(n) % 10 == 3)


CLEAN: dict[str, Series] = {
    **{f"AR(1), phi {phi}": ar1(phi) for phi in (0.0, 0.5, 0.7, 0.9)},
    "Pareto tail": lambda rng, n: 1 + 0.01 * rng.pareto(1.5, n),
    "two modes": two_modes,
    "rounded to 0.1 s": lambda rng, n: np.round(1 + 0.05 * rng.standard_normal(n), 1),
    "every tenth is slow": every_tenth_is_slow,
}


@pytest.mark.parametrize("n", [100, 200, 500, 2000])
@pytest.mark.parametrize("process", CLEAN)
def test_clean_series_have_no_change_points(process: str, n: int) -> None:
    """In at most 5 %; expected are at most 3.5 % (phi 0.9, 100 steps) and mostly 1 %."""
    rng = np.random.default_rng([20261122, n])
    many = 300 if n < 500 else 150
    found = sum(bool(level_shifts(CLEAN[process](rng, n))) for _ in range(many))
    assert found <= 0.05 * many


@pytest.mark.parametrize("n", [200, 1000])
def test_a_shift_of_three_sigma_is_found_where_it_is(n: int) -> None:
    rng = np.random.default_rng(1)
    found = [level_shifts(ar1(0.5)(rng, n) + 0.06 * (np.arange(n) >= 0.6 * n)) for _ in range(50)]
    near = [min((abs(change - 0.6 * n) for change in changes), default=n) <= 0.03 * n for changes in found]
    assert sum(near) >= 45


def test_constant_times_and_short_series_have_no_change_points() -> None:
    assert level_shifts(np.full(500, 0.25)) == []
    assert level_shifts(np.repeat([1.0, 2.0], 15)) == []
    assert level_shifts(np.array([])) == []


def test_change_points_do_not_depend_on_the_unit() -> None:
    values = ar1(0.3)(np.random.default_rng(5), 600) + 0.1 * (np.arange(600) < 90)
    assert level_shifts(values) == level_shifts(1000 * values) == [90]


def test_many_steps_with_many_levels() -> None:
    """A staircase: three levels explain little of it, and it is found all the same."""
    n = 200_000
    changes = level_shifts(ar1(0.5)(np.random.default_rng(9), n) + 0.02 * (np.arange(n) // (n // 10)))
    places = [k * n // 10 for k in range(1, 10)]
    assert all(min(abs(change - place) for change in changes) < 200 for place in places)


SHAPES: dict[str, tuple[str, Callable[[Values, int], Values]]] = {
    "a fifth slower at the start": ("warming", lambda i, n: 0.1 * (i < 0.2 * n)),
    "twenty slow steps at the start": ("warming", lambda i, n: 0.5 * (i < 20)),
    "an exponential start": ("warming", lambda i, n: np.exp(-i / 15)),
    "slower from 60 %": ("slowing", lambda i, n: 0.1 * (i >= 0.6 * n)),
    "slower all the time": ("slowing", lambda i, n: 0.2 * i / n),
    "slower for a fifth in between": ("unsteady", lambda i, n: 0.1 * (abs(i - 0.5 * n) < 0.1 * n)),
    "a stall of four steps": ("steady", lambda i, n: 0.5 * (abs(i - 0.5 * n) < 2)),
    "a change of 0.5 %": ("steady", lambda i, n: 0.005 * (i > 0.5 * n)),
}


@pytest.mark.parametrize("phi", [0.0, 0.5])
@pytest.mark.parametrize("n", [300, 2000])
@pytest.mark.parametrize("shape", SHAPES)
def test_each_verdict_is_told_right(shape: str, n: int, phi: float) -> None:
    rng = np.random.default_rng(3)
    verdict, added = SHAPES[shape]
    states = [steadiness(ar1(phi)(rng, n) + added(np.arange(n, dtype=float), n)) for _ in range(20)]
    assert sum(state.verdict == verdict for state in states) >= 18
    firsts = [state.first for state in states if state.verdict == verdict and state.first]
    if shape == "a fifth slower at the start":
        assert np.median(firsts) == pytest.approx(0.2 * n, abs=3)
    if shape == "slower from 60 %":
        assert np.median(firsts) == pytest.approx(0.6 * n, abs=3)


def test_a_series_that_wanders_is_too_short_to_tell() -> None:
    rng = np.random.default_rng(4)
    states = [steadiness(ar1(0.98)(rng, 60)) for _ in range(50)]
    said = [state.reason for state in states if state.verdict == "too_short"]
    assert len(said) >= 30 and all(reason and "too similar: 60 are worth" in reason for reason in said)


def test_a_level_that_holds_little_may_not_be_the_last() -> None:
    values = 1 + 0.2 * (np.arange(400) >= 350) + 0.001 * np.random.default_rng(6).standard_normal(400)
    state = steadiness(values)
    assert (state.verdict, state.first, state.changes) == ("slowing", None, [350])
    assert state.reason == "the last level has 50 of 400 records: it may not be the final one"


@pytest.mark.parametrize("n", [10, 39, 40, 200])
def test_times_that_only_grow_are_slowing(n: int) -> None:
    """Forty records from 38 to 489 s, each larger than the last, were once too short to tell."""
    random = np.random.default_rng(n)
    growing = [
        np.linspace(38, 489, n), np.geomspace(1, 3, n), np.cumsum(random.exponential(1, n)) + 5,
        np.sort(random.uniform(1, 2, n)), 1 + np.arange(n) ** 2 / n**2, np.sort(np.round(random.uniform(1, 9, n), 3)),
    ]  # fmt: skip
    for values in growing:
        state = steadiness(values)
        assert (state.verdict, state.first) == ("slowing", None)
        assert state.reason and f"each of {n} records is longer" in state.reason
        assert steadiness(values[::-1]).verdict == "warming"


def test_nine_records_or_growth_of_less_than_a_percent_are_no_trend() -> None:
    assert steadiness(np.linspace(1, 2, 9)).verdict == "too_short"
    assert steadiness(np.ones(1)).reason == "1 record: 40 are needed"
    assert "longer" not in (steadiness(np.linspace(1, 1.005, 30)).reason or "")
    assert "longer" not in (steadiness(np.repeat([1.0, 1.1, 1.2], 10)).reason or "")


def test_independent_records_are_never_taken_for_a_trend() -> None:
    random = np.random.default_rng(2)
    for _ in range(2000):
        assert steadiness(1 + 0.1 * random.random(10)).verdict == "too_short"


# What says nothing about a trend.  At most 5 % may be `warming` or `slowing` without a note that says what else they are.
def modes(stay: float) -> Callable[[np.random.Generator, int, int], Values]:
    return simulated_series.two_modes(0.5, 0.05, stay).make


WITHOUT_TREND = {
    **{f"modes kept for {stay} steps": modes(stay) for stay in (5, 20, 50, 100, 300)},
    "1/f by seven relaxations": simulated_series.pink,
    "telegraph": simulated_series.telegraph,
    "sawtooth of a leaking memory": simulated_series.sawtooth,
    "bursts of congestion": simulated_series.congested,
    "thermal, 15 steps": simulated_series.thermal,
    "AR(2) with a period": simulated_series.swinging,
    "gamma and lognormal": simulated_series.gamma_and_lognormal,
    "checkpoints": simulated_series.with_checkpoints,
    "GARCH": simulated_series.clustered,
}


@pytest.mark.parametrize(
    ("n", "many", "seed"),
    [(100, 60, 1), *(pytest.param(n, 400, 2, marks=pytest.mark.slow) for n in (100, 300, 1000))],
)
@pytest.mark.parametrize("process", WITHOUT_TREND)
def test_a_trend_that_is_none_is_named_as_such(process: str, n: int, many: int, seed: int) -> None:
    """docs/statistics.md has the shares; here two standard errors more."""
    simulated = WITHOUT_TREND[process](np.random.default_rng([seed, n]), many, n)
    simulated = simulated if simulated.min() > 0 else 20 + simulated  # added to all, 20 would make levels alike
    states = [steadiness(values) for values in simulated]
    alarms = sum(state.verdict in ("warming", "slowing") and not state.reason for state in states)
    assert alarms <= many * 0.05 + 2 * np.sqrt(many * 0.05)


def test_a_change_of_steps_that_are_not_alike_has_no_note() -> None:
    noise = np.random.default_rng(3).standard_normal((60, 300))
    states = [steadiness(20 + values) for values in noise + 3 * (np.arange(300) >= 180)]
    assert all(state.verdict == "slowing" for state in states)
    assert sum(state.reason is None for state in states) >= 57


@pytest.mark.parametrize(("phi", "n", "at_least"), [(0.0, 100, 0.9), (0.3, 300, 0.85), (0.5, 1000, 0.9)])
def test_a_clear_change_has_no_note_where_steps_are_alike_either(phi: float, n: int, at_least: float) -> None:
    noise = simulated_series.ar1(phi)(np.random.default_rng(4), 60, n)
    states = [steadiness(20 + values) for values in noise + 3 * (np.arange(n) >= 0.6 * n)]
    assert sum(state.verdict == "slowing" and state.reason is None for state in states) >= 60 * at_least


def test_a_weak_change_says_so() -> None:
    noise = np.random.default_rng(11).standard_normal((40, 100))
    states = [steadiness(20 + values) for values in noise + (np.arange(100) >= 60)]
    weak = [state.reason for state in states if state.verdict == "slowing" and state.reason]
    assert len(weak) >= 10 and set(weak) == {"a weak change: a run that wanders may show as much"}


def test_levels_that_may_be_modes_are_named() -> None:
    noise = 0.01 * np.random.default_rng(3).standard_normal(200)
    once = steadiness(1 + 0.3 * (np.arange(200) >= 120) + noise)
    assert once.reason == "two levels, changed once: a mode that will end would look the same"
    back = steadiness(1 + 0.3 * (abs(np.arange(200) - 100) < 40) + noise)
    assert back.verdict == "unsteady" and back.reason and "changed 2 times: modes that come and go" in back.reason


def test_a_run_that_wanders_is_named() -> None:
    wandering = [steadiness(20 + values) for values in simulated_series.pink(np.random.default_rng(2), 100, 1000)]
    reasons = [state.reason for state in wandering if state.verdict in ("warming", "slowing") and state.first]
    assert reasons and all(reason and "are correlated (autocorrelation" in reason for reason in reasons)


# In SQL


def warming(n: int = 200, slow: int = 50) -> list[float]:
    noise = np.random.default_rng(8).standard_normal(n)
    return [float(value) for value in 1 + 0.3 * (np.arange(n) < slow) + 0.01 * noise]


def test_steady_state_says_from_which_step(warehouse: Warehouse) -> None:
    warehouse.run("a", warming(), first=101)
    warehouse.run("b", warming(slow=0))
    warehouse.run("c", warming()[:20])
    rows = warehouse.ask("FROM steady_state()")
    assert [(row["run_id"], row["verdict"], row["steady_from_step"], row["n_before"]) for row in rows] == [
        ("a", "warming", 151, 50), ("b", "steady", 1, 0), ("c", "too_short", None, None),
    ]  # fmt: skip
    assert rows[0]["change_steps"] == "151" and rows[0]["before_s"] == pytest.approx(1.3, abs=0.01)
    assert rows[2]["note"] == "20 records: 40 are needed"


def test_steady_leaves_out_what_comes_before(warehouse: Warehouse) -> None:
    warehouse.run("a", warming())
    ledger = warehouse.ask(
        "SELECT rule, count(*) AS n, max(step) AS last FROM exclusions(exclude := 'steady') GROUP BY 1 ORDER BY 1"
    )
    assert [(row["rule"], row["n"], row["last"]) for row in ledger] == [("not_steady", 50, 50), ("warmup", 2, 2)]
    assert warehouse.column("SELECT n_steps FROM batch_stats(exclude := 'steady')") == [150]
    assert warehouse.column("SELECT n_steps FROM batch_stats()") == [198]
    assert warehouse.column("SELECT count(*) FROM exclusions() WHERE rule = 'not_steady'") == [0]


def test_each_attempt_has_a_steady_state_of_its_own(warehouse: Warehouse) -> None:
    warehouse.run("a", warming())
    again = [
        {"run_id": "a", "file_id": "a", "line": 900 + step, "attempt": 1, "step": 200 + step, "step_s": step_s,
         "value_kind": "instant", "averaged_steps": 1}
        for step, step_s in enumerate(warming(slow=30), start=1)
    ]  # fmt: skip
    warehouse.insert("step_times", again)
    rows = warehouse.ask("SELECT attempt, steady_from_step FROM steady_state()")
    assert [(row["attempt"], row["steady_from_step"]) for row in rows] == [(0, 51), (1, 231)]
    assert warehouse.column("SELECT count(*) FROM exclusions(exclude := 'steady') WHERE rule = 'not_steady'") == [80]


def test_what_the_log_calls_warmup_gets_no_other_rule(warehouse: Warehouse) -> None:
    warehouse.run("a", warming(), first=11)
    warm = {"run_id": "a", "file_id": "a", "attempt": 0, "phase": "warmup", "value_kind": "instant", "step_s": 9.0}
    warehouse.insert("steps", [{**warm, "line": step, "step": step} for step in range(1, 11)])
    rules = warehouse.column("SELECT excluded_by FROM selected_steps(exclude := 'steady') WHERE step <= 10")
    assert rules == [["logged_warmup"]] * 10
