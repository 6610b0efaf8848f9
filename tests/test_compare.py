"""Comparing runs: how often a verdict is wrong, what is never said of one run, what makes two sides incomparable."""

import csv
import json
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import scipy.signal
import scipy.stats

from command_line import Run, one_line
from little_warehouse import Row, Warehouse
from scalelens.cli.compare import exit_code, share_of
from scalelens.errors import UserError
from scalelens.statistics.blocks import in_blocks
from scalelens.statistics.comparisons import GroupRatio, RunValue, compare_groups, standard_error
from scalelens.statistics.medians import median_intervals, quantile_interval
from scalelens.statistics.repeats import repeats_to_settle, repeats_to_size

Values = npt.NDArray[np.float64]
BETWEEN = 0.02  # standard deviation between runs
THRESHOLD = 0.01


def known(values: Sequence[float] | Values) -> list[RunValue]:
    """Runs of which the values are known without error."""
    return [RunValue(float(value), None, None, None, None) for value in values]


def groups_of(random: np.random.Generator, groups: int, n: int, phi: float, shift: float = 0.0) -> list[list[RunValue]]:
    """Groups of n runs whose 200 steps are an AR(1) series that scatters by 2 %, and whose levels scatter by 2 %."""
    noise = scipy.signal.lfilter([1], [1, -phi], random.standard_normal((groups * n, 300)), axis=1)[:, 100:]
    levels = shift + BETWEEN * random.standard_normal((groups * n, 1))
    times = np.exp(0.02 * np.sqrt(1 - phi**2) * noise + levels)
    around = in_blocks(median_intervals, list(times), lambda run: (len(run), True))
    runs = [
        RunValue(float(np.median(run)), interval.low, interval.high, interval.kind, interval.n_eff)
        for run, interval in zip(times, around, strict=True)
    ]
    return [runs[first : first + n] for first in range(0, groups * n, n)]


def verdict(found: GroupRatio, threshold: float = THRESHOLD) -> str:
    """The rule of compare.sql, on the interval of a time."""
    if found.unit != "runs" or found.low is None or found.high is None:
        return "inconclusive"
    if found.low > 1 + threshold:
        return "slower"
    if found.high < 1 / (1 + threshold):
        return "faster"
    return "equivalent" if found.low >= 1 / (1 + threshold) and found.high <= 1 + threshold else "inconclusive"


# How often it is wrong


BY_DAY = {(1, 1, 0.9), (3, 3, 0.0), (1, 5, 0.9)}
PAIRS = [300, pytest.param(1000, marks=pytest.mark.slow)]


@pytest.mark.parametrize("n_pairs", PAIRS)
@pytest.mark.parametrize(
    ("first", "second", "phi"),
    [
        pytest.param(*sides, phi, marks=() if (*sides, phi) in BY_DAY else pytest.mark.slow)
        for sides in ((1, 1), (3, 3), (5, 5), (10, 10), (1, 5), (2, 10))
        for phi in (0.0, 0.9)
    ],
)
def test_runs_of_the_same_thing_are_seldom_called_slower(first: int, second: int, phi: float, n_pairs: int) -> None:
    random = np.random.default_rng(first + 100 * second)
    pairs = list(map(compare_groups, groups_of(random, n_pairs, first, phi), groups_of(random, n_pairs, second, phi)))
    wrong = sum(verdict(pair) in ("slower", "faster") for pair in pairs)
    assert wrong <= 0.05 * n_pairs
    assert (wrong == 0) if first == second == 1 else all(pair.unit == "runs" for pair in pairs)


@pytest.mark.parametrize("n_pairs", PAIRS)
@pytest.mark.parametrize("phi", [pytest.param(0.0, marks=pytest.mark.slow), 0.9])
def test_ten_repeats_find_five_percent(phi: float, n_pairs: int) -> None:
    random = np.random.default_rng(5)
    slower = groups_of(random, n_pairs, 10, phi, np.log(1.05))
    pairs = list(map(compare_groups, groups_of(random, n_pairs, 10, phi), slower))
    assert sum(verdict(pair) == "slower" for pair in pairs) >= 0.95 * n_pairs


def test_many_repeats_of_the_same_thing_are_equivalent() -> None:
    random = np.random.default_rng(1)
    pairs = [
        compare_groups(
            known(np.exp(0.004 * random.standard_normal(10))), known(np.exp(0.004 * random.standard_normal(10)))
        )
        for _ in range(200)
    ]
    assert sum(verdict(pair) == "equivalent" for pair in pairs) >= 190


def test_the_interval_is_welchs() -> None:
    random = np.random.default_rng(2)
    first, second = np.exp(random.standard_normal(4)), np.exp(1 + 2 * random.standard_normal(7))
    expected = scipy.stats.ttest_ind(np.log(second), np.log(first), equal_var=False).confidence_interval()
    found = compare_groups(known(first), known(second))
    assert (found.low, found.high) == pytest.approx((np.exp(expected.low), np.exp(expected.high)))
    back = compare_groups(known(second), known(first))
    assert (found.ratio, found.low, found.high) == pytest.approx(
        (1 / (back.ratio or 0), 1 / (back.high or 0), 1 / (back.low or 0))
    )


def test_values_that_a_log_rounds_to_the_same_digits_prove_nothing() -> None:
    found = compare_groups(known([0.12] * 3), known([0.13] * 3))
    assert (found.kind, found.reason) == (None, "runs of equal values do not show how they scatter")
    rounded = [RunValue(0.12, 0.11, 0.13, "ci95", 50.0)] * 3
    found = compare_groups(rounded, [run._replace(value=0.125, low=0.115, high=0.135) for run in rounded])
    assert found.low is not None and found.high is not None and found.low < 1 < found.high


@pytest.mark.parametrize(("n", "many"), [(20, 2000), (39, 2000), pytest.param(70, 20_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("quantile", [0.05, 0.25, 0.5, 0.75, 0.9, 0.95])
def test_the_error_of_a_quantile_is_known_from_a_range_too(quantile: float, n: int, many: int) -> None:
    """As far as the quantiles of such series scatter, and up to 1.6 times as far; it was 0.6 of it for the 95th."""
    times = np.exp(0.02 * np.random.default_rng([n, 42]).standard_normal((many, n)))
    values = np.quantile(times, quantile, axis=1)
    found = np.median(
        [
            standard_error(RunValue(float(value), run.min(), run.max(), "range", float(n), quantile))
            for value, run in zip(values, times, strict=True)
        ]
    )
    assert 0.9 <= found / np.std(np.log(values)) <= 1.6


# One run a side


def test_of_two_runs_nothing_is_said_but_within_them(warehouse: Warehouse) -> None:
    random = np.random.default_rng(3)
    warehouse.run("a", np.exp(0.01 * random.standard_normal(200)))
    warehouse.run("b", 2 * np.exp(0.01 * random.standard_normal(200)))
    row = compared(warehouse)
    assert row["verdict"] == "inconclusive"
    assert row["interval_of"] == "steps"
    assert row["ratio_low"] < 2 < row["ratio_high"]
    assert row["sentence"].startswith("within these runs b takes 2 times as long as a (1.99 to 2.01 times)")
    assert "one run on each side cannot tell" in row["sentence"]
    assert exit_code(row, 0.03, strict=False) == 0
    assert exit_code(row, 0.03, strict=True) == 1


def test_a_range_of_steps_is_explained(warehouse: Warehouse) -> None:
    """Steps that wander are worth few independent ones: what is printed is their range, which one stall decides."""
    times = [1.0 + 0.01 * (step // 20) for step in range(60)] + [6.0]
    warehouse.run("a", times)
    warehouse.run("b", times)
    row = compared(warehouse)
    assert row["interval_kind"] == "range"
    assert "too few independent steps for a 95 % interval" in row["note"]


def test_a_side_without_a_value_says_where_to_look(warehouse: Warehouse) -> None:
    warehouse.run("a", [1.0] * 60)
    warehouse.run("b", [1.0] * 3, steps={"skipped_steps": 1})
    row = compared(warehouse)
    assert row["ratio"] is None
    assert "1 run has no value of this measure: exclusions say why" in row["note"]


def test_large_differences_are_told_as_times(warehouse: Warehouse) -> None:
    """`2124.2 % slower` is read by nobody."""
    for run, level in (("a", 1.0), ("b", 3.0)):
        warehouse.run(run, [level * (1 + 0.001 * (k % 3)) for k in range(60)])
    assert compared(warehouse)["sentence"].startswith("within these runs b takes 3 times as long as a (")
    assert compared(warehouse, "b", "a")["sentence"].startswith("within these runs b is 3 times as fast as a (")


def test_one_run_against_repeats_scatters_as_they_do() -> None:
    old = known([1.00, 1.01, 0.99, 1.02, 0.98])
    assert verdict(compare_groups(old, known([1.02]))) == "inconclusive"
    assert verdict(compare_groups(old, known([1.60]))) == "slower"
    assert verdict(compare_groups([*old, *known([1.01, 0.99, 1.0, 1.01, 1.0])], known([1.20]))) == "slower"


def test_one_run_beside_five_may_be_a_slow_one_of_the_same_job() -> None:
    found = compare_groups(known([1.00, 1.01, 0.99, 1.02, 0.98]), known([1.20]))
    assert verdict(found) == "inconclusive"
    assert found.reason and found.reason.startswith("5 against 1 runs are too few to tell a difference from slow")


def of_modes(random: np.random.Generator, n: int, share: float, apart: float, scatter: float) -> list[RunValue]:
    return known(np.exp(scatter * random.standard_normal(n) + np.log1p(apart) * (random.random(n) < share)))


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 9))])
@pytest.mark.parametrize(
    ("first", "second"),
    [(1, 2), (1, 3), (1, 5), (1, 7), (1, 10), (1, 12), (1, 30), (2, 2), (2, 3), (2, 6), (3, 3), (4, 4), (3, 8)],
)
def test_runs_of_two_modes_are_seldom_called_slower(first: int, second: int, seed: int) -> None:
    """Modes of any share, up to 35 % apart, that scatter by 0.3 to 2 %, drawn anew: at most 5 % are called different."""
    random = np.random.default_rng([seed, first, second])
    for share in (1 / (first + second), random.uniform(0.05, 0.5), 0.5):
        apart, scatter = random.uniform(0.05, 0.35), random.uniform(0.003, 0.02)
        wrong = 0
        for _ in range(400):
            sides = [of_modes(random, n, share, apart, scatter) for n in (first, second)]
            wrong += verdict(compare_groups(*sides)) in ("slower", "faster")
        assert wrong <= 0.05 * 400 + 2 * np.sqrt(0.05 * 400)


# Logarithms of times of identical runs that scatter in other ways.
SCATTERS: dict[str, Callable[[np.random.Generator, int], Values]] = {
    "Gumbel": lambda rng, n: rng.gumbel(0, 0.02, n),
    "Student's t": lambda rng, n: 0.01 * rng.standard_t(3, n),
    "three modes": lambda rng, n: (
        0.006 * rng.standard_normal(n) + np.log1p(rng.choice([0, 0.05, 0.12], n, p=[0.5, 0.3, 0.2]))
    ),
    "exponential": lambda rng, n: np.log1p(0.04 * rng.exponential(size=n)),
    "uniform": lambda rng, n: rng.uniform(0, 0.08, n),
    "lognormal": lambda rng, n: np.log1p(0.03 * rng.lognormal(0, 1, n)),
}


@pytest.mark.parametrize("many", [200, pytest.param(2000, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("first", "second"), [(1, 2), (1, 5), (2, 3), (3, 3), (5, 5)])
@pytest.mark.parametrize("scatter", SCATTERS)
def test_runs_that_scatter_in_any_way_are_seldom_called_slower(
    scatter: str, first: int, second: int, many: int
) -> None:
    """At most 5 %, with 200 pairs two standard errors more."""
    random = np.random.default_rng([92, first, second])
    wrong = 0
    for _ in range(many):
        sides = [known(np.exp(SCATTERS[scatter](random, n))) for n in (first, second)]
        wrong += verdict(compare_groups(*sides)) in ("slower", "faster")
    assert wrong <= 0.05 * many + (2 * np.sqrt(0.0475 * many) if many < 1000 else 0)


@pytest.mark.parametrize(("text", "share"), [("3%", 0.03), ("0.03", 0.03), (" 2.5 % ", 0.025), ("100%", 1), ("0", 0)])
def test_a_share_is_written_as_a_number_or_in_percent(text: str, share: float) -> None:
    assert share_of(text) == pytest.approx(share)


# What makes two sides incomparable


def compared(warehouse: Warehouse, a: str = "a", b: str = "b", more: str = "") -> Row:
    quoted = [side.replace("'", "''") for side in (a, b)]
    return warehouse.ask(f"FROM compare(a := '{quoted[0]}', b := '{quoted[1]}'{more})")[0]


def repeats(warehouse: Warehouse, side: str, level: float, n: int = 5, **facts: object) -> None:
    random = np.random.default_rng(len(side) + n)
    for k in range(n):
        times = level * np.exp(0.002 * random.standard_normal() + 0.01 * random.standard_normal(60))
        warehouse.run(f"{side}{k}", times, model="m", precision=side, **facts)


def test_groups_are_chosen_by_label_or_condition(warehouse: Warehouse) -> None:
    repeats(warehouse, "fp32", 1.0, global_batch_size=8, devices=4)
    repeats(warehouse, "bf16", 0.5, global_batch_size=8, devices=4)
    for a, b in (("precision=fp32", "precision=bf16"), ("precision = 'fp32'", "run_id LIKE 'bf16%'")):
        row = compared(warehouse, a, b)
        assert (row["verdict"], row["a_runs"], row["b_runs"]) == ("faster", 5, 5)
        assert row["ratio_low"] < row["ratio"] < row["ratio_high"] < 0.55
    rate = compared(warehouse, "precision=fp32", "precision=bf16", ", measure := 'samples_per_s'")
    assert rate["verdict"] == "faster"
    assert rate["slowdown"] == pytest.approx(row["slowdown"])


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        ("nothing", "x", "a: no run is called 'nothing'; there are .*twin.*; or select runs by key=value"),
        (
            "twin",
            "x",
            "'twin' fits 2 runs; name one of twin .*, twin .*, or select runs by key=value or by a condition",
        ),
        ("x", "name='x'", "both sides"),
    ],
)
def test_what_names_no_side_is_an_error(warehouse: Warehouse, a: str, b: str, said: str) -> None:
    warehouse.run("t1", [1.0] * 5, name="twin")
    warehouse.run("t2", [1.0] * 5, name="twin")
    warehouse.run("r", [1.0] * 5, name="x")
    with pytest.raises(UserError, match=said):
        compared(warehouse, a, b)


def test_sizes_mixed_on_a_side_have_no_verdict(warehouse: Warehouse) -> None:
    repeats(warehouse, "fp32", 1.0, devices=4, global_batch_size=8)
    repeats(warehouse, "bf16", 0.5, devices=4, global_batch_size=8)
    warehouse.run("bf16-large", [0.5] * 60, model="m", precision="bf16", devices=8, global_batch_size=8)
    row = compared(warehouse, "precision=fp32", "precision=bf16")
    assert row["verdict"] == "inconclusive" and not row["comparable"]
    assert "devices (4, 8)" in row["note"]
    assert row["sentence"] == "b cannot be compared with a"
    assert exit_code(row, 0.0, strict=True) == 1


def test_steps_of_unlike_work_have_no_verdict_but_rates_do(warehouse: Warehouse) -> None:
    repeats(warehouse, "fp32", 1.0, devices=4, global_batch_size=8)
    repeats(warehouse, "bf16", 1.0, devices=4, global_batch_size=16)
    steps = compared(warehouse, "precision=fp32", "precision=bf16")
    assert steps["verdict"] == "inconclusive" and "not the same work" in steps["note"]
    rates = compared(warehouse, "precision=fp32", "precision=bf16", ", measure := 'samples_per_s'")
    assert rates["verdict"] == "faster"
    assert rates["ratio"] == pytest.approx(2, rel=0.01)


def test_means_of_steps_have_no_slow_tail(warehouse: Warehouse) -> None:
    warehouse.run("a", [1.0, 1.1] * 30, steps={"averaged_steps": 100, "value_kind": "interval_mean"})
    warehouse.run("b", [1.0, 1.1] * 30)
    row = compared(warehouse, more=", quantile := 0.9")
    assert "means of steps" in row["note"] and not row["comparable"]


def test_an_unknown_measure_is_an_error(warehouse: Warehouse) -> None:
    warehouse.run("a", [1.0] * 9)
    warehouse.run("b", [1.0] * 9)
    with pytest.raises(UserError, match="'speed' is none of step_s"):
        compared(warehouse, more=", measure := 'speed'")


@pytest.mark.parametrize(("quantile", "n"), [(0.1, 500), (0.75, 400), (0.95, 1000)])
def test_intervals_of_quantiles_cover(quantile: float, n: int) -> None:
    random = np.random.default_rng(4)
    truth = float(scipy.stats.norm.ppf(quantile))
    found = [quantile_interval(random.standard_normal(n), quantile) for _ in range(500)]
    ends = [(one.low, one.high) for one in found if one.kind == "ci95" and one.low is not None and one.high is not None]
    assert len(ends) >= 490
    assert sum(low <= truth <= high for low, high in ends) >= 0.93 * len(ends)


# Exit codes


@pytest.mark.parametrize(
    ("low", "high", "strict", "code"),
    [
        (0.04, 0.06, False, 1),
        (0.01, 0.02, False, 0),
        (0.02, 0.06, False, 0),
        (0.02, 0.06, True, 1),
        (-0.5, -0.4, True, 0),
    ],
)
def test_exit_codes_of_a_regression(low: float, high: float, strict: bool, code: int) -> None:
    row = {"slowdown_low": low, "slowdown_high": high, "interval_of": "runs", "comparable": True}
    assert exit_code(row, 0.03, strict) == code


def test_the_command(demo_runs: Path, run: Run) -> None:
    ran = run("compare", "fp32-r1", "bf16-r1", "-w", demo_runs, "--format", "csv")
    assert ran.code == 0
    assert "precision: fp32 -> bf16" in ran.err
    assert "faster: within these runs b is " in ran.err and "a verdict by precedent" in ran.err
    assert run("compare", "fp32-r1", "bf16-r1", "--fail-above", "3%", "--strict", "-w", demo_runs).code == 0
    assert run("compare", "bf16-r1", "fp32-r1", "--fail-above", "3%", "-w", demo_runs).code == 1
    one_line(run("compare", "fp32-r1", "bf16-r1", "--fail-above", "much", "-w", demo_runs), "write 3% or 0.03")
    plan = run("next-runs", "fp32-r1", "bf16-r1", "-w", demo_runs, "--format", "csv")
    assert plan.code == 0
    assert "scalelens bench vision --nproc 1" in plan.err
    assert "--precision bf16" in plan.err


def test_the_command_it_prints_runs(demo_runs: Path, run: Run) -> None:
    ran = run("compare", "precision = 'fp32'", "bf16-r1", "quantile=0.9", "-w", demo_runs, "--format", "table")
    assert "columns in all: --format csv" in ran.err
    hint = command_in(ran.err, "how many repeats would tell: ")
    assert hint == ["next-runs", "precision = 'fp32'", "bf16-r1", "quantile=0.9", "-w", str(demo_runs)]
    assert run(*hint).code == 0


def test_records_that_rules_leave_out_are_told_with_the_command_that_compares_them(tmp_path: Path, run: Run) -> None:
    """Every iteration of bigscience's repeats on 64 GPUs was skipped: the loss scale overflowed."""
    line = (
        " iteration {k:8}/ 10 | consumed samples: 16 | elapsed time per iteration (ms): {ms} | learning rate: 0.0 |"
        " global batch size: 4 | loss scale: 65536.0 | number of skipped iterations: 1 | number of nan iterations: 0 |"
    )
    for name, ms in (("first", 1000.0), ("run again", 1020.0)):
        text = "\n".join(line.format(k=k, ms=ms + k) for k in range(1, 5))
        (tmp_path / f"{name}.out").write_text(text + "\n")
    warehouse = tmp_path / "warehouse"
    assert run("ingest", tmp_path, "-w", warehouse).code == 0
    ran = run("compare", "first", "run again", "-w", warehouse)
    assert "b cannot be compared with a" in ran.err
    assert "a: all 4 records are left out: skipped 4, warmup 2" in ran.err
    anyway = command_in(ran.err, "compare them anyway: ")
    assert anyway == ["compare", "first", "run again", "exclude=none", "-w", str(warehouse)]
    missing = run(*anyway, "measure=data_s")
    assert "b: none of its 4 records has data_s" in missing.err


def test_unlike_work_prints_the_comparison_of_rates(tmp_path: Path, run: Run) -> None:
    for name, samples in (("small", 8), ("large", 16)):
        rows = "".join(f"{step},0.5,{samples}\n" for step in range(60))
        (tmp_path / f"{name}.csv").write_text("step,step_time_s,global_batch_size\n" + rows)
    warehouse = tmp_path / "warehouse"
    assert run("ingest", tmp_path, "-w", warehouse).code == 0
    ran = run("compare", "small", "large", "-w", warehouse)
    rates = command_in(ran.err, "the same of work done: ")
    assert rates[:4] == ["compare", "small", "large", "measure=samples_per_s"]
    assert "b is 2 times as fast as a" in run(*rates).err
    for measure, other in (("step_s", "samples_per_s"), ("samples_per_s", "")):
        asked = run("query", "compare", "a=small", "b=large", f"measure={measure}", "-w", warehouse).out
        assert [row["other_measure"] for row in csv.DictReader(asked.splitlines())] == [other]


def test_traces_of_both_sides_are_evidence(tmp_path: Path, run: Run) -> None:
    """Traces without annotated steps; names of kernels are held against each other by the command that is printed."""
    for name, lasts in (("before", 100), ("after", 160)):
        kernel = {"ph": "X", "cat": "kernel", "pid": 0, "tid": 7, "args": {"device": 0, "stream": 7}}
        events = [kernel | {"name": "sgemm", "ts": 1000 * k, "dur": lasts} for k in range(3)]
        events += [kernel | {"name": "ncclDevKernel_AllReduce_Sum", "ts": 1000 * k + 500, "dur": 50} for k in range(3)]
        (tmp_path / f"{name}.json").write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
        assert run("ingest", tmp_path / f"{name}.json", "-w", tmp_path / "warehouse").code == 0
    told = run("compare", "before", "after", "-w", tmp_path / "warehouse").err
    assert "class compute: 0.300 -> 0.480 ms (+0.180) per step" in told
    assert "collective ncclDevKernel_AllReduce_Sum: 0.150 -> 0.150 ms (+0.000) per step" in told
    assert "kernel sgemm: 0.300 -> 0.480 ms (+0.180) per step" in told
    assert "traces without annotated steps count as one step" in told
    ran = run(*command_in(told, "name by name: "))
    assert "device,sgemm,unchanged,3,3,0,300000,480000,180000,1.6" in ran.out


def command_in(text: str, before: str) -> list[str]:
    """Words of a printed command, as the shell would take them, without the program."""
    line = next(line for line in text.splitlines() if line.startswith(before))
    program, *words = shlex.split(line.removeprefix(before))
    assert program == "scalelens"
    return words


@pytest.fixture(scope="module")
def demo_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import scalelens

    root = tmp_path_factory.mktemp("demo") / "warehouse"
    logs = Path(scalelens.__file__).parent / "demo" / "logs"
    scalelens.ingest(logs / "fp32-r1", logs / "bf16-r1", warehouse=root)
    return root


# How many repeats


def test_the_number_of_repeats_settles_it_in_nine_of_ten_cases() -> None:
    random = np.random.default_rng(6)
    settled = asked = 0
    for _ in range(250):
        difference = random.uniform(-0.1, 0.1)
        sides = [np.exp(shift + BETWEEN * random.standard_normal(5)) for shift in (0.0, difference)]
        if verdict(compare_groups(*map(known, sides))) != "inconclusive":
            continue
        plan = repeats_to_settle(known(sides[0]), known(sides[1]), THRESHOLD)
        if plan.repeats is None:
            assert plan.reason and "too near to the threshold" in plan.reason
            continue
        more = int(plan.repeats) - 5
        sides = [
            np.r_[side, np.exp(shift + BETWEEN * random.standard_normal(more))]
            for side, shift in zip(sides, (0.0, difference), strict=True)
        ]
        asked += 1
        settled += verdict(compare_groups(*map(known, sides))) != "inconclusive"
    assert asked >= 30
    assert settled >= 0.9 * asked


def test_too_many_repeats_are_a_reason_in_place_of_a_number(warehouse: Warehouse) -> None:
    for side, levels in (("fp32", (1.0, 1.3, 1.7)), ("bf16", (1.02, 1.3, 1.72))):
        for k, level in enumerate(levels):
            warehouse.run(
                f"{side}{k}", [level, 1.001 * level] * 30, model="m", precision=side, global_batch_size=8, devices=4
            )
    row = compared(warehouse, "precision=fp32", "precision=bf16")
    assert (row["verdict"], row["comparable"], row["runs_needed"]) == ("inconclusive", True, None)
    assert row["note"].count("200 runs a side settle it in") == 1


@pytest.mark.parametrize("cases", [50, pytest.param(100, marks=pytest.mark.slow)])
def test_the_number_of_repeats_gives_a_ratio_to_a_share(cases: int) -> None:
    random = np.random.default_rng(7)
    reached = 0
    for _ in range(cases):
        sides = [np.exp(BETWEEN * random.standard_normal(4)) for _ in range(2)]
        repeats = int(repeats_to_size(known(sides[0]), known(sides[1]), 0.02).repeats or 0)
        sides = [np.r_[side, np.exp(BETWEEN * random.standard_normal(max(repeats - 4, 0)))] for side in sides]
        found = compare_groups(*map(known, sides))
        reached += (found.high or 9) / (found.ratio or 1) <= 1.02
    assert reached >= 0.9 * cases


def test_one_run_a_side_asks_for_three_of_each() -> None:
    plan = repeats_to_settle(known([1.0]), known([1.1]), THRESHOLD)
    assert plan.repeats == 3 and plan.chance is None
    assert plan.reason and "does not show how runs scatter" in plan.reason


def test_missing_sizes_and_failures_of_a_study(warehouse: Warehouse) -> None:
    facts = {"model": "m", "system": "lumi", "precision": "bf16"}
    for devices in (1, 2, 8):
        warehouse.run(f"d{devices}", [1.0] * 5, devices=devices, outcome="completed", **facts)
    warehouse.run("d16", [], devices=16, outcome="oom", outcome_line=812, **facts)
    states = {row["devices"]: (row["state"], row["why"]) for row in warehouse.ask("FROM run_matrix()")}
    assert states == {
        1: ("done", None), 2: ("done", None), 4: ("missing", None), 8: ("done", None),
        16: ("failed", "oom (line 812)"),
    }  # fmt: skip
