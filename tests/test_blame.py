"""Blame: which node slows jobs, by simulation of jobs with known nodes, and cases worked by hand."""

import csv
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

from conftest import CORPUS
from little_warehouse import Warehouse
from scalelens.statistics import blame
from scalelens.statistics.blame import Blame, blame_labels
from scalelens.statistics.labeled_jobs import Jobs, blocks, prepared, residuals
from scalelens.statistics.rank_sums import largest_scores, scored

Values = npt.NDArray[np.float64]
SPAN_S = 14 * 86_400.0


class JobsOnNodes(NamedTuple):
    """Jobs whose nodes are known, and by how much each node slows a job."""

    logs: Values
    configuration: npt.NDArray[np.int64]
    starts: Values
    nodes: list[list[int]]
    effects: Values

    def verdicts(self) -> list[Blame]:
        return blame_labels(*self.columns())

    def columns(self) -> tuple[list[float], list[str], list[float], list[list[str]]]:
        names = [[f"n{node}" for node in nodes] for nodes in self.nodes]
        return np.exp(self.logs).tolist(), [f"c{k}" for k in self.configuration], self.starts.tolist(), names

    def effect_of(self, name: str) -> float:
        return max(float(self.effects[int(node[1:])]) for node in name.split("+"))


def like_real_ones(random: np.random.Generator, n: int) -> Values:
    """Scatter of the shape of real jobs': most within half a percent, on some systems a share that is far slower."""
    narrow = random.choice([0.003, 0.007]) * random.standard_normal(n)
    return narrow + np.where(random.random(n) < random.choice([0.0, 0.1, 0.25]), random.uniform(0.08, 0.14, n), 0)


def simulated(
    random: np.random.Generator,
    n_slow: int | None = None,
    scatter: Callable[[np.random.Generator, int], Values] = like_real_ones,
    in_turn: bool = False,
) -> JobsOnNodes:
    """60 to 200 jobs on 10 to 200 nodes; congested hours; pairs that come together; nodes that serve in turn."""
    n_jobs, n_nodes = (int(random.integers(*ends)) for ends in ((60, 201), (10, 201)))
    n_configurations = int(random.integers(1, 4))
    starts = np.sort(random.uniform(0, SPAN_S, n_jobs))
    configuration = random.integers(n_configurations, size=n_jobs)
    sizes = np.minimum(random.choice([1, 2, 4, 8], size=n_configurations), n_nodes // 3)
    pairs = int(random.integers(0, 4))
    effects = np.zeros(n_nodes)
    chosen = random.choice(n_nodes, int(random.integers(1, 4)) if n_slow is None else n_slow, replace=False)
    effects[chosen] = random.uniform(0.03, 0.12, len(chosen))
    nodes = []
    for job in range(n_jobs):
        first, serving = (int((n_nodes - n_nodes // 3) * job / n_jobs), n_nodes // 3) if in_turn else (0, n_nodes)
        drawn = first + random.choice(serving, min(int(sizes[configuration[job]]), serving), replace=False)
        nodes.append(sorted({*drawn.tolist(), *(node ^ 1 for node in drawn.tolist() if node < 2 * pairs)}))
    logs = scatter(random, n_jobs) + 1.3 * configuration
    logs += np.array([np.log1p(effects[of_job].max()) for of_job in nodes])
    for _ in range(int(random.integers(0, 4))):
        begins, lasts = random.uniform(0, SPAN_S), random.uniform(0.02, 0.08) * SPAN_S
        logs[(starts > begins) & (starts < begins + lasts)] += random.uniform(0.03, 0.15)
    return JobsOnNodes(logs, configuration, starts, nodes, effects)


def found_by_an_oracle(jobs: JobsOnNodes) -> set[str]:
    """Slow nodes that are found by the same rank sum and threshold if all other effects are known and taken off.

    Jobs in which another node is as slow say nothing of a node, whoever knows it.
    """
    whole, names = prepared(*jobs.columns())
    effects = np.array([jobs.effect_of(name) for name in names])
    found = set()
    for node in np.flatnonzero(effects > 0):
        others = np.where(np.arange(len(names)) == node, 0, effects)
        worst = (whole.members * others[:, None]).max(axis=0)
        kept = ~((whole.members[node] > 0) & (worst >= effects[node]))
        logs = whole.logs - np.log1p(worst)
        part = Jobs(logs[kept], whole.configuration[kept], whole.moment[kept], whole.members[:, kept])
        block = blocks(part)
        sums = scored(part.members, residuals(part), block)
        largest = largest_scores(part.members, sums, block, 999)
        if sums.scores[node] > largest[-int(blame.LEVEL * 1000)]:
            found.add(names[node])
    return found


class Counts(NamedTuple):
    """What became of simulated data sets."""

    n_true: int
    n_false: int
    sets_with_false: int
    by_oracle: int
    covered: int
    intervals: int


def counts(data_sets: Sequence[JobsOnNodes], with_oracle: bool = True) -> Counts:
    total = np.zeros(6, int)
    for jobs in data_sets:
        accused = [row for row in jobs.verdicts() if row.verdict == "slow"]
        false = [row for row in accused if not jobs.effect_of(row.name)]
        measured = [row for row in accused if row not in false and row.kind == "ci95"]
        covered = sum(row.low <= jobs.effect_of(row.name) <= row.high for row in measured)
        oracle = len(found_by_an_oracle(jobs)) if with_oracle and jobs.effects.any() else 0
        total += (len(accused) - len(false), len(false), bool(false), oracle, covered, len(measured))
    return Counts(*total.tolist())


# Worked by hand


def by_hand(slow: dict[str, float], nodes: list[list[str]], **options: float) -> dict[str, Blame]:
    """Jobs an hour apart whose times differ by less than a tenth of a percent, but for slow nodes."""
    times = [
        10 * (1 + 0.0001 * (7 * job % 11)) * max(slow.get(node, 1.0) for node in of_job)
        for job, of_job in enumerate(nodes)
    ]
    moments = [3600.0 * job for job in range(len(nodes))]
    return {row.name: row for row in blame_labels(times, ["c"] * len(nodes), moments, nodes, **options)}


def test_a_slow_node_is_named_with_its_effect() -> None:
    pairs = [["a", "b"], ["a", "c"], ["b", "c"], ["c", "d"], ["b", "d"], ["a", "d"]]
    rows = by_hand({"c": 1.08}, pairs * 6)
    assert {name: row.verdict for name, row in rows.items()} == {
        "c": "slow", "a": "ordinary", "b": "ordinary", "d": "ordinary",
    }  # fmt: skip
    slow = rows["c"]
    assert (slow.n_slower, slow.n_jobs, slow.n_others) == (18, 18, 18)
    assert slow.slowdown == pytest.approx(0.08, abs=0.001) and slow.low < 0.08 < slow.high
    assert slow.p_value == 1 / (1 + blame.PERMUTATIONS)


def test_the_worst_node_does_not_hide_the_second() -> None:
    random = np.random.default_rng(1)
    nodes = [[f"n{k}" for k in random.choice(12, 2, replace=False)] for _ in range(120)]
    rows = by_hand({"n3": 1.1, "n7": 1.04}, nodes)
    assert [name for name, row in rows.items() if row.verdict == "slow"] == ["n3", "n7"]
    assert rows["n7"].slowdown == pytest.approx(0.04, abs=0.002)


def test_nodes_that_always_came_together_are_named_together() -> None:
    rows = by_hand({"a": 1.1}, [["a", "b"], ["c", "d"], ["e"], ["c", "e"]] * 8)
    assert rows["a+b"].verdict == "slow"
    assert not {"a", "b"} & rows.keys()


def test_nodes_that_nearly_always_came_together_are_not_told_apart() -> None:
    nodes = [["a", "b"], ["c"], ["d"], ["c", "d"]] * 8 + [["b", "c"]]  # one job alone says that it is a
    rows = by_hand({"a": 1.1}, nodes)
    assert "slow" not in {rows["b"].verdict, rows["c"].verdict, rows["d"].verdict}
    twice = by_hand({"b": 1.1}, [["a", "b"], ["c"], ["d"], ["c", "d"]] * 8)
    assert twice["a+b"].verdict == "slow"


def test_a_node_that_ran_alone_in_a_congested_time_is_not_accused() -> None:
    nodes = [["a"], ["b"]] * 12 + [["c"]] * 12 + [["a"], ["b"]] * 12
    times = [10 + 0.001 * (7 * job % 11) + (1.5 if of_job == ["c"] else 0) for job, of_job in enumerate(nodes)]
    rows = blame_labels(times, ["x"] * len(nodes), [3600.0 * job for job in range(len(nodes))], nodes)
    assert [(row.name, row.verdict, row.rivals) for row in rows if row.verdict != "ordinary"] == [
        ("c", "confounded", blame.TIME)
    ]


def test_a_node_that_is_taken_for_its_time_is_not_called_ordinary() -> None:
    """One node after the other, the second 6 % slower: what its jobs have in common goes with the time."""
    times = (1 + 0.005 * np.random.default_rng(3).standard_normal(40)) * np.repeat([1.0, 1.06], 20)
    moments = [3600.0 * k for k in range(40)]
    in_a_row = blame_labels(times.tolist(), ["c"] * 40, moments, [["a"]] * 20 + [["b"]] * 20)
    assert [(one.name, one.verdict, one.rivals, one.slowdown) for one in in_a_row] == [
        ("a", "unknown", "its time", None),
        ("b", "unknown", "its time", None),
    ]
    alternating = np.argsort(np.tile([0, 1], 20), kind="stable").argsort()
    mixed = blame_labels(times[alternating].tolist(), ["c"] * 40, moments, [["a"], ["b"]] * 20)
    assert [(one.name, one.verdict) for one in mixed] == [("b", "slow"), ("a", "unknown")]


def test_equal_times_accuse_nobody() -> None:
    rows = blame_labels(
        [10.0] * 40, ["c"] * 40, [float(job) for job in range(40)], [["a"], ["b"], ["a", "c"], ["c"]] * 10
    )
    assert {row.verdict for row in rows} <= {"unknown", "ordinary"}
    assert all(row.p_value is None for row in rows)


def test_configurations_are_not_compared_with_each_other() -> None:
    rows = blame_labels([10.0, 20.0] * 20, ["fast", "slow"] * 20, [None] * 40, [["a"], ["b"]] * 20)
    assert [(row.verdict, row.n_jobs) for row in rows] == [("unknown", 0)] * 2


def test_nothing_to_compare() -> None:
    assert blame_labels([], [], [], []) == []
    assert blame_labels([1.0, 2.0], ["c", "c"], [None, None], [[], []]) == []
    assert [row.verdict for row in blame_labels([1.0], ["c"], [None], [["a"]])] == ["unknown"]


def test_order_and_unit_change_nothing() -> None:
    jobs = simulated(np.random.default_rng(3))
    times, configurations, starts, nodes = jobs.columns()
    order = np.random.default_rng(4).permutation(len(times))
    shuffled = blame_labels(*([column[k] for k in order] for column in (times, configurations, starts, nodes)))
    in_ms = blame_labels([1000 * time for time in times], configurations, starts, nodes)
    for other in (shuffled, in_ms):
        assert [(row.name, row.verdict, row.n_jobs) for row in other] == [
            (row.name, row.verdict, row.n_jobs) for row in jobs.verdicts()
        ]


def test_more_jobs_are_as_many_as_it_takes() -> None:
    """So many jobs with a node that is slower by the effect find it in about 80 of 100 cases."""
    random = np.random.default_rng(5)

    def asked(jobs_with: int, effect: float) -> Blame:
        of_job = [["x"] if job < jobs_with else [f"n{job % 20}"] for job in random.permutation(100)]
        logs = 0.02 * random.standard_normal(100) + np.array([effect * (nodes == ["x"]) for nodes in of_job])
        rows = blame_labels(np.exp(logs).tolist(), ["c"] * 100, list(range(100)), of_job, 0.05)
        return next(row for row in rows if row.name == "x")

    needed = [3 + (asked(3, 0.0).more_jobs or 0) for _ in range(10)]
    found = [asked(int(np.median(needed)), 0.05).verdict == "slow" for _ in range(40)]
    assert 0.6 <= np.mean(found) <= 1


# By simulation


def test_simulated_jobs() -> None:
    random = np.random.default_rng(6)
    slow = counts([simulated(random) for _ in range(40)])
    assert slow.n_true >= 0.9 * slow.by_oracle > 20
    assert slow.n_false <= 0.05 * slow.n_true + 1
    assert slow.covered >= 0.85 * slow.intervals
    assert counts([simulated(random, n_slow=0) for _ in range(40)]).sets_with_false <= 3


@pytest.mark.slow
@pytest.mark.parametrize("name", ["frontier_nanogpt", "perlmutter_deepcam", "perlmutter_nanogpt"])
@pytest.mark.parametrize("in_turn", [False, True])
def test_jobs_with_the_scatter_of_real_ones(name: str, in_turn: bool, corpus) -> None:
    with (CORPUS / "noise" / f"{name}.csv").open() as file:
        logs = np.log([float(row["total_s"]) for row in csv.DictReader(file)])
    logs -= np.median(logs)

    def scatter(random: np.random.Generator, n: int) -> Values:
        return random.choice(logs, n)

    random = np.random.default_rng([7, in_turn])
    slow = counts([simulated(random, None, scatter, in_turn) for _ in range(400)])
    none = counts([simulated(random, 0, scatter, in_turn) for _ in range(400)])
    print(name, in_turn, slow, none)
    assert slow.n_true >= 0.95 * (slow.n_true + slow.n_false)
    assert slow.n_true >= 0.9 * slow.by_oracle
    assert max(slow.sets_with_false, none.sets_with_false) <= 0.05 * 400
    assert slow.covered >= 0.9 * slow.intervals


# In a warehouse


def test_ten_thousand_jobs_on_a_thousand_nodes_in_the_statistic() -> None:
    """The largest warehouse that is promised takes seconds; here a tenth of its nodes and jobs."""
    random = np.random.default_rng(8)
    nodes = [[f"n{k}" for k in random.choice(100, 8, replace=False)] for _ in range(1000)]
    rows = by_hand({"n7": 1.05}, nodes)
    assert [name for name, row in rows.items() if row.verdict == "slow"] == ["n7"]


def test_a_host_without_its_domain(warehouse: Warehouse) -> None:
    warehouse.insert("runs", [{"run_id": run} for run in "abcd"])
    warehouse.insert("jobs", [{"run_id": "a", "node_list": "n1.cluster.example,10.0.0.7"}])
    warehouse.insert(
        "params",
        [{"run_id": "b", "key": "rank_places", "value": "n1/0 n1/1 n2/0 n2/1"},
         {"run_id": "b", "key": "node_list", "value": "n8,n9"}, {"run_id": "c", "key": "node_list", "value": "n8,n9"}],
    )  # fmt: skip
    places = ["n4/0", "n5/1", "3", "default0", "pod pid=3"]
    warehouse.insert("steps", [{"run_id": "d", "rank": rank, "place": place} for rank, place in enumerate(places)])
    rows = warehouse.ask(
        "SELECT run_id, source, list(node ORDER BY node) AS nodes FROM run_nodes() GROUP BY ALL ORDER BY ALL"
    )
    assert [tuple(row.values()) for row in rows] == [
        ("a", "scheduler", ["10.0.0.7", "n1"]), ("b", "nccl", ["n1", "n2"]), ("c", "environment", ["n8", "n9"]),
        ("d", "log", ["n4", "n5"]),
    ]  # fmt: skip


def jobs_of_two_versions(warehouse: Warehouse) -> None:
    for job in range(40):
        version = "1.2" if job % 2 else "1.1"
        started = datetime(2026, 11, 2) + timedelta(hours=job)
        time = (1.06 if version == "1.2" else 1.0) + 0.0001 * (7 * job % 11)
        warehouse.run(f"r{job:02}", [time] * 5, devices=8, started_at=started)
        warehouse.insert("params", [{"run_id": f"r{job:02}", "key": "driver_version", "value": version}])


def test_a_setting_may_be_to_blame(warehouse: Warehouse) -> None:
    jobs_of_two_versions(warehouse)
    [slow, other] = warehouse.ask("FROM blame(suspects := 'setting')")
    assert (slow["suspect"], slow["verdict"], slow["n_jobs"]) == ("driver_version 1.2", "slow", 20)
    assert slow["slowdown"] == pytest.approx(0.06, abs=0.002)
    assert (other["suspect"], other["n_jobs"]) == ("driver_version 1.1", 0), "all that is left are its own jobs"
    assert warehouse.ask("FROM blame()") == []


def of_jobs(warehouse: Warehouse, **arguments: str) -> dict[str, dict[str, Any]]:
    """The rows of `blame_jobs` by run."""
    given = ", ".join(f"{name} := {value}" for name, value in arguments.items())
    return {row["run_id"]: row for row in warehouse.ask(f"FROM blame_jobs({given})")}


def test_jobs_beside_the_usual_time_of_their_configuration(warehouse: Warehouse) -> None:
    """Two configurations that read the same; in the second each job has the slow node; a third one has one job."""
    times: dict[str, list[float]] = {"ordinary": [], "c": [], "always": []}
    for job in range(40):
        nodes = ["a", "b", "c"][job % 3], ["b", "c", "a"][job % 3]
        time = (1.08 if "c" in nodes else 1.0) + 0.0001 * (7 * job % 11)
        started = datetime(2026, 11, 2) + timedelta(hours=job)
        if job >= 36:
            nodes, time = ("c", "a"), 3 + 0.01 * job
        facts = {"devices": 8 if job < 39 else 16, "started_at": started}
        warehouse.run(f"r{job:02}", [time] * 5, **facts)
        warehouse.insert("jobs", [{"run_id": f"r{job:02}", "node_list": ",".join(nodes)}])
        if 36 <= job < 39:
            warehouse.insert(
                "params", [{"run_id": f"r{job:02}", "key": "attention", "value": "x", "origin": "sidecar"}]
            )
        times["always" if 36 <= job < 39 else "c" if "c" in nodes else "ordinary"].append(time)
    [accused] = warehouse.ask("FROM blame() WHERE verdict IN ('slow', 'confounded')")
    rows = of_jobs(warehouse)
    assert accused["suspect"] == "c" and len(rows) == 40
    assert sorted(run for run, row in rows.items() if row["suspect"] == "c") == accused["run_ids"]
    usual = float(np.median(times["ordinary"]))
    for job in range(36):
        row = rows[f"r{job:02}"]
        assert row["usual_step_s"] == pytest.approx(usual) and row["n_usual"] == len(times["ordinary"])
        assert row["slower"] == pytest.approx(row["step_s"] / usual - 1)
        assert row["note"] is None and row["verdict"] == ("slow" if row["suspect"] else None)
    for job in range(36, 39):
        row = rows[f"r{job}"]
        assert row["usual_step_s"] == pytest.approx(np.median(times["always"])) and row["n_usual"] == 3
        assert row["note"].startswith("all jobs of its configuration had an accused suspect")
    assert rows["r39"]["slower"] is None and rows["r39"]["note"].startswith("no other job of its configuration")
    assert {row["configuration"] for row in rows.values()} == {"8 devices (1)", "8 devices (2)", "16 devices"}


def test_the_only_ordinary_job_is_not_compared_with_itself(warehouse: Warehouse) -> None:
    jobs_of_two_versions(warehouse)
    for run, version in (("alone", "1.1"), ("other", "1.2")):
        warehouse.run(run, [5.0 if run == "alone" else 6.0] * 5, devices=64)
        warehouse.insert("params", [{"run_id": run, "key": "driver_version", "value": version}])
    rows = of_jobs(warehouse, suspects="'setting'")
    assert rows["alone"]["slower"] is None and rows["alone"]["started_at"] is None
    assert rows["other"]["slower"] == pytest.approx(0.2) and rows["other"]["suspect"] == "driver_version 1.2"


def test_a_job_may_have_several_suspects(warehouse: Warehouse) -> None:
    random = np.random.default_rng(2)
    slow = {"n3": 1.1, "n7": 1.05}
    for job in range(120):
        nodes = ["n3", "n7"] if job % 40 == 7 else [f"n{k}" for k in random.choice(12, 2, replace=False)]
        time = max(slow.get(node, 1.0) for node in nodes) + 0.0001 * (7 * job % 11)
        warehouse.run(f"r{job:03}", [time] * 5, devices=8, started_at=datetime(2026, 11, 2) + timedelta(hours=job))
        warehouse.insert("jobs", [{"run_id": f"r{job:03}", "node_list": ",".join(nodes)}])
    found = {(row["suspect"], row["first_suspect"]) for row in of_jobs(warehouse).values()}
    assert found == {(None, None), ("n3", "n3"), ("n7", "n7"), ("n3, n7", "n3")}


def test_jobs_without_nodes_are_no_rows(warehouse: Warehouse) -> None:
    warehouse.run("r", [1.0] * 5, devices=8)
    assert of_jobs(warehouse) == {}


def test_an_hour_may_be_to_blame(warehouse: Warehouse) -> None:
    for job in range(120):
        started = datetime(2026, 11, 2) + timedelta(hours=3 * job)
        time = (1.1 if started.hour == 18 else 1.0) + 0.0001 * (7 * job % 11)
        warehouse.run(f"r{job:03}", [time] * 5, devices=8, started_at=started)
    rows = warehouse.ask("FROM blame(suspects := 'hour')")
    assert [row["suspect"] for row in rows if row["verdict"] == "slow"] == ["18:00"]
