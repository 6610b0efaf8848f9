"""All that is said of a run's energy: what agrees, and what cannot all be true."""

import pytest

from little_warehouse import Row, Warehouse


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
