"""All that is said of a run's energy: what agrees, and what cannot all be true."""

from pathlib import Path

import pytest

import scalelens
from asking import ask_sql
from conftest import FIXTURES
from little_warehouse import Row, Warehouse
from scalelens.ingestion.ingest import ingest


def said(warehouse: Warehouse) -> dict[tuple[str, str], Row]:
    return {(row["source"], row["scope"]): row for row in warehouse.ask("FROM energy_reconciled()")}


def measured(warehouse: Warehouse, joules: float, scope: str = "gpu", devices: int = 4, file: str = "e") -> None:
    """A tool's sums of one node's sensors, a minute long."""
    rows = [
        {
            "run_id": "r", "file_id": file, "line": line, "node": "n1", "device": str(line), "scope": scope,
            "energy_j": joules / devices, "span_s": 60.0, "method": "counter",
        }
        for line in range(devices)
    ]  # fmt: skip
    warehouse.insert("energy", rows)
    warehouse.insert("files", [{"file_id": file, "formats": [file]}])


def accounted(warehouse: Warehouse, joules: float, step: str | None = None, elapsed_s: float = 60.0) -> None:
    row = {"run_id": "r", "file_id": "j", "line": 1, "nodes": 1, "elapsed_s": elapsed_s, "step_id": step}
    warehouse.insert("jobs", [row | {"energy_j": joules}])


@pytest.fixture
def one_run(warehouse: Warehouse) -> Warehouse:
    warehouse.run("r", [1.0] * 60, devices=4)
    return warehouse


def test_a_job_of_794_joules_whose_devices_took_101630_is_a_contradiction(one_run: Warehouse) -> None:
    accounted(one_run, 794)
    measured(one_run, 101_630)
    rows = said(one_run)
    assert rows["scheduler", "job"]["note"] == "less than gpu of e, 101630 J, which is a part of it"
    assert rows["e", "gpu"]["note"] == "more than job of scheduler, 794 J, of which it is a part"
    assert (rows["e", "gpu"]["sensors"], rows["e", "gpu"]["energy_j"]) == (4, 101_630)


def test_a_job_that_takes_more_than_its_devices_is_none(one_run: Warehouse) -> None:
    accounted(one_run, 150_000)
    accounted(one_run, 149_000, step="0")
    measured(one_run, 101_630)
    assert [row["note"] for row in said(one_run).values()] == [None] * 3


def test_a_longer_measurement_of_a_part_is_none(one_run: Warehouse) -> None:
    accounted(one_run, 50_000, elapsed_s=20)
    measured(one_run, 101_630)
    assert [row["note"] for row in said(one_run).values()] == [None] * 2


def test_fewer_modules_than_devices_say_nothing(one_run: Warehouse) -> None:
    measured(one_run, 25_000, scope="module", devices=1, file="m")
    measured(one_run, 80_000)
    assert [row["note"] for row in said(one_run).values()] == [None] * 2


def test_two_tools_that_differ_on_the_same_devices_contradict_each_other(one_run: Warehouse) -> None:
    measured(one_run, 80_000, file="dcgm")
    measured(one_run, 100_000, file="nvidia_smi")
    rows = said(one_run)
    assert rows["dcgm", "gpu"]["note"] == "nvidia_smi reported 100000 J for the same"


@pytest.mark.parametrize(("joules", "why"), [(240, "draws so little"), (1e6, "draws so much")])
def test_what_no_device_draws(one_run: Warehouse, joules: float, why: str) -> None:
    measured(one_run, joules)
    assert why in said(one_run)["e", "gpu"]["note"]


def test_windows_of_zeus_add_up(one_run: Warehouse) -> None:
    common = {"run_id": "r", "file_id": "z", "device": "0,1,2,3", "scope": "gpu", "span_s": 30.0, "method": "zeus"}
    one_run.insert("files", [{"file_id": "z", "formats": ["zeus_log"]}])
    told = [{"line": k, "energy_j": 30_000.0, "ts": k * 30 * 10**9, "ts_origin": "relative"} for k in (1, 2)]
    one_run.insert("energy", [common | window for window in told])
    row = said(one_run)["zeus", "gpu"]
    assert (row["energy_j"], row["span_s"], row["covers"], row["mean_w"]) == (60_000, 60, 4, 250)


def test_windows_of_sixteen_devices_are_an_energy_per_sample(one_run: Warehouse) -> None:
    """Of Megatron-DeepSpeed's fork with Zeus: each window had counted as a run, its sixteen devices as one."""
    one_run.run("z", [10.0] * 10, devices=16, global_batch_size=16)
    common = {"run_id": "z", "file_id": "z", "scope": "gpu", "span_s": 50.0, "method": "zeus"}
    one_run.insert("files", [{"file_id": "z", "formats": ["zeus_log"]}])
    devices = ",".join(map(str, range(16)))
    told = [{"line": k, "energy_j": 1e5, "ts": k * 50 * 10**9, "ts_origin": "relative"} for k in (1, 2)]
    one_run.insert("energy", [common | {"device": devices} | window for window in told])
    [row] = one_run.ask("FROM energy_of_runs() WHERE run_id = 'z'")
    assert (row["units"], row["measured_share"], row["energy_j"]) == (16, 1, 2e5)


# How figures are added up


def tracked(*windows: tuple[float, float, float], **columns: str) -> list[Row]:
    """Windows of CodeCarbon: begin and end in seconds, and joules."""
    common = {
        "run_id": "r",
        "node": "a CPU",
        "device": "0,1",
        "scope": "gpu",
        "method": "codecarbon",
        "ts_origin": "naive",
    }
    return [
        {"file_id": "f", "line": line, "ts": round(ends * 10**9), "span_s": ends - begins, "energy_j": joules, **common, **columns}
        for line, (begins, ends, joules) in enumerate(windows, 2)
    ]  # fmt: skip


def test_trackers_of_several_machines_in_one_file_add_up(tmp_path: Path) -> None:
    """They follow each other on one machine, and another machine ran meanwhile."""
    ingest([FIXTURES / "codecarbon" / "machines.csv"], tmp_path / "w", jobs=1)
    rows = {row["scope"]: row for row in scalelens.query("energy_reconciled", tmp_path / "w").to_dicts()}
    assert {scope: row["energy_j"] for scope, row in rows.items()} == {
        "gpu": pytest.approx(9_000_000), "cpu": pytest.approx(662_400), "memory": pytest.approx(108_000),
        "total": pytest.approx(9_770_400),
    }  # fmt: skip
    assert rows["total"]["parts_j"] == pytest.approx(9_770_400) and rows["total"]["note"] is None
    assert (rows["gpu"]["windows"], rows["gpu"]["part_of"], rows["gpu"]["covers"]) == (3, "total", 5)
    assert rows["memory"]["addition"].startswith("estimated") and rows["gpu"]["addition"] is None
    assert rows["cpu"]["addition"] == "1 of 2 sensors are estimated"


@pytest.mark.parametrize(
    ("other", "rows"),
    [
        ([(0, 100, 5000), (300, 400, 6000)], 0),  # one measurement copied into a second file
        ([(120, 180, 2000), (300, 400, 6000)], 0),  # in a pause of the first run
        ([(0, 100, 5000), (220, 260, 2000)], 1),
    ],
)
def test_runs_share_a_machine_where_their_measurements_overlap(
    one_run: Warehouse, other: list[tuple[float, float, float]], rows: int
) -> None:
    one_run.insert("runs", [{"run_id": "s"}])
    one_run.insert("energy", tracked((0, 100, 5000), (200, 280, 4000)))
    one_run.insert("energy", [row | {"run_id": "s", "file_id": "g"} for row in tracked(*other)])
    assert len(one_run.ask("FROM energy_counted_twice()")) == rows


def test_trackers_that_overlap_in_part_have_bounds_and_no_energy(one_run: Warehouse) -> None:
    one_run.insert("energy", tracked((0, 100, 5000), (40.5, 160.5, 4000), (200, 210, 300)))
    row = said(one_run)["codecarbon", "gpu"]
    assert (row["energy_j"], row["low_j"], row["high_j"], row["span_s"]) == (None, 5300, 9300, 170.5)
    assert row["addition"] == "from 5300 to 9300 J: windows overlap in part"
    (row,) = one_run.ask("FROM energy_efficiency()")
    assert row["energy_j"] is None and row["note"].startswith("the energy is from 5300 J to 9300 J")


def test_a_window_within_another_adds_nothing(one_run: Warehouse) -> None:
    one_run.insert("energy", tracked((0, 100, 5000), (10, 60, 2500), (60, 90, 1500), (100, 120, 800)))
    row = said(one_run)["codecarbon", "gpu"]
    assert (row["energy_j"], row["windows"], row["span_s"]) == (5800, 4, 120)


def test_windows_within_another_that_hold_more_than_it_are_told(one_run: Warehouse) -> None:
    one_run.insert("energy", tracked((0, 100, 1000), (0, 50, 900), (50, 100, 900)))
    row = said(one_run)["codecarbon", "gpu"]
    assert (row["energy_j"], row["low_j"], row["high_j"]) == (None, 1000, 1800)
    assert "windows within another do not add up to it" in row["addition"]


def test_a_total_that_is_not_the_sum_of_its_parts_says_by_how_much(one_run: Warehouse) -> None:
    for scope, joules in (("gpu", 600), ("cpu", 300), ("total", 1000)):
        one_run.insert("energy", tracked((0, 10, joules), scope=scope))
    row = said(one_run)["codecarbon", "total"]
    assert (row["parts_j"], row["note"]) == (900, "its parts (cpu, gpu) add up to 900 J, 100 J less than it")
    assert [row["energy_j"] for row in one_run.ask("FROM energy_of_runs(per := 'node')")] == [1000]


def test_files_without_times_are_one_energy_or_several(one_run: Warehouse) -> None:
    measured(one_run, 80_000, devices=1)
    one_run.insert("energy", [
        {"run_id": "r", "file_id": "e2", "line": 0, "node": "n1", "device": "0", "scope": "gpu", "energy_j": 70_000.0,
            "span_s": 55.0, "method": "counter"}
    ])  # fmt: skip
    one_run.insert("files", [{"file_id": "e2", "formats": ["e"]}])
    row = said(one_run)["e", "gpu"]
    assert (row["energy_j"], row["low_j"], row["high_j"]) == (None, 80_000, 150_000)


def test_jobs_of_a_run_add_up_and_nodes_of_a_step_do(one_run: Warehouse) -> None:
    common = {"run_id": "r", "line": 1, "nodes": 1, "elapsed_s": 60.0}
    one_run.insert("jobs", [
        *({**common, "file_id": "ear", "job_id": "7", "step_id": "0", "node_list": node, "energy_j": 1000.0} for node in "ab"),
        *({**common, "file_id": "sacct", "job_id": job, "energy_j": 5000.0} for job in ("7", "8")),
        {**common, "file_id": "seff", "job_id": "8", "energy_j": 5000.0},
    ])  # fmt: skip
    rows = said(one_run)
    assert (rows["scheduler", "job"]["energy_j"], rows["scheduler", "job"]["span_s"]) == (10_000, 120)
    assert (rows["scheduler", "job step 0"]["energy_j"], rows["scheduler", "job step 0"]["covers"]) == (2000, 2)


def test_rows_of_a_table_of_measurements_are_not_repetitions(tmp_path: Path) -> None:
    """Two that took the same are two: the bounds hold their sum."""
    (tmp_path / "runs.csv").write_text("program,energy_j,duration_s\na,50,9\nb,50,9\nc,20,4\n")
    ingest([tmp_path], tmp_path / "w")
    rows = ask_sql(tmp_path / "w", "SELECT low_j, high_j FROM energy_reconciled()").rows()
    assert rows == [(50, 120)]


@pytest.mark.parametrize(
    ("third", "found"),
    [
        ("c,20,4", ["a", "b", "c"]),
        ("b,20,4", []),  # two rows of one run: the column does not tell rows apart
    ],
)
def test_rows_that_a_column_names_each_a_run_are_runs(third: str, found: list[str], tmp_path: Path) -> None:
    (tmp_path / "runs.csv").write_text(f"run_id,energy_j,duration_s\na,50,9\nb,50,9\n{third}\n")
    ingest([tmp_path / "runs.csv"], tmp_path / "w")
    rows = ask_sql(
        tmp_path / "w", "SELECT name, energy_j, low_j, high_j FROM energy_reconciled() JOIN runs USING (run_id)"
    )
    if found:
        energies = zip(found, (50, 50, 20), strict=True)
        assert sorted(rows.select("name", "energy_j").rows()) == [*energies]
    else:
        assert rows.select("energy_j", "low_j", "high_j").rows() == [(None, 50, 120)]


def test_tasks_of_a_tracker_that_end_in_one_second_add_up(tmp_path: Path) -> None:
    (tmp_path / "tasks.csv").write_bytes((FIXTURES / "codecarbon" / "tasks.csv").read_bytes())
    ingest([tmp_path], tmp_path / "w")
    rows = ask_sql(tmp_path / "w", "SELECT energy_j FROM energy_reconciled() WHERE scope = 'total'").rows()
    assert rows == [(pytest.approx((1.21e-6 + 0.001594 + 2.12e-6) * 3.6e6, rel=1e-9),)]


@pytest.mark.parametrize(
    ("source", "scope", "joules"),
    [("pbs_accounting/two_jobs.log", "job", 4.5e6), ("cray_rur/output.log", "node_dc", 5959)],
)
def test_what_a_scheduler_accounts_stands_beside_what_tools_measure(
    tmp_path: Path, source: str, scope: str, joules: float
) -> None:
    (tmp_path / "run.log").write_bytes((FIXTURES / source).read_bytes())
    ingest([tmp_path], tmp_path / "w")
    rows = ask_sql(tmp_path / "w", "SELECT scope, energy_j FROM energy_reconciled()").rows()
    assert rows == [(scope, joules)]


def test_a_gpu_that_reads_zero_draws_too_little_not_too_much(one_run: Warehouse) -> None:
    one_run.insert("power", [
        {"run_id": "r", "file_id": "p", "line": n, "node": "n1", "device": "0", "scope": "gpu", "power_w": 0.0,
         "ts": n * 1_000_000, "ts_origin": "utc"}
        for n in range(60)
    ])  # fmt: skip
    one_run.insert("files", [{"file_id": "p", "formats": ["p"]}])
    (row,) = said(one_run).values()
    assert (row["energy_j"], row["mean_w"], row["note"]) == (0.0, None, "no accelerator draws so little on average")
