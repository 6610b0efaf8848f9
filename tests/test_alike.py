"""Only like is compared with like: which runs are repeats, which are one series, and what is said of the others."""

import random
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from command_line import Run
from little_warehouse import Row, Warehouse
from logs import megatron_line
from scalelens import catalog
from scalelens.question import split_series

STUDY: Row = {"model": "m", "device_model": "d", "precision": "bf16", "global_batch_size": 8}
SETTINGS = [row for row in catalog.rows("settings_catalog") if row["setting"] not in ("job_id", "global_batch_size")]
COLUMNS = (
    "framework", "model", "precision", "dataset", "system", "nodes", "devices", "devices_per_node", "device_model",
    "device_unit", "micro_batch_size", "seq_length", "tp", "pp", "dp", "cp",
)  # fmt: skip
VALUES = {"flag": "True", "count": "3", "split": "3", "number": "1.5", "word": "another"}


@pytest.fixture
def warehouse() -> Warehouse:
    return Warehouse()


def state(warehouse: Warehouse, run_id: str, key: str, value: str, origin: str = "log") -> None:
    warehouse.insert(
        "params", [{"run_id": run_id, "file_id": run_id, "line": 1, "key": key, "value": value, "origin": origin}]
    )


def study(warehouse: Warehouse, of: str = "", **changed: Any) -> None:
    """Three repeats on one device, one of them changed, and a run on two."""
    for name, devices, time_s in (("a", 1, 1.0), ("b", 1, 1.01), ("c", 1, 1.02), ("d", 2, 0.6)):
        facts = {**STUDY, "model": f"m{of}", "devices": devices, **(changed if name == "c" else {})}
        run_id = f"{of}{name}"
        warehouse.run(run_id, [time_s] * 5, path=f"/study{of}/n{devices}/{name}.log", name=run_id, **facts)


def repeats(warehouse: Warehouse) -> list[list[str]]:
    """Runs of each row at one device that is in a series."""
    rows = warehouse.ask("SELECT DISTINCT coalesce(run_ids, [run_id]) AS runs FROM scaling() WHERE devices = 1")
    return sorted(sorted(row["runs"]) for row in rows)


def changed(warehouse: Warehouse, of: str, settings: Sequence[Row]) -> None:
    """A study whose run c has other values of some settings."""
    columns = {row["setting"]: value_of(row) for row in settings if row["setting"] in COLUMNS}
    study(warehouse, of, **columns)
    for row in settings:
        if row["setting"] not in COLUMNS:
            state(warehouse, f"{of}c", row["keys"].split()[-1], value_of(row))


def value_of(setting: Row) -> Any:
    value = VALUES[setting["kind"]]
    return int(value) if setting["setting"] in COLUMNS and setting["kind"] in ("count", "split") else value


@cache
def of_settings() -> tuple[list[list[str]], dict[str, Row]]:
    """Which runs are repeats, in a study for each setting in which run c has another value of it; and what differs
    where all of them have another value.
    """
    warehouse = Warehouse()
    for setting in SETTINGS:
        changed(warehouse, f"{setting['setting']}-", [setting])
    rows = repeats(warehouse)
    changed(warehouse, "all-", SETTINGS)
    return rows, {row["setting"]: row for row in warehouse.ask("FROM differences(a := 'all-a', b := 'all-c')")}


def test_all_settings_that_differ_are_told() -> None:
    assert set(of_settings()[1]) == {row["setting"] for row in SETTINGS}


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda row: row["setting"])
def test_a_performance_setting_keeps_runs_apart_and_a_neutral_one_does_not(setting: Row) -> None:
    name = setting["setting"]
    rows, differences = of_settings()
    alike = [f"{name}-{run}" for run in "abc"]
    apart = setting["class"] == "performance" and name != "dp"  # dp follows from devices, tp, pp and cp
    found = [row for row in rows if row[0].startswith(f"{name}-")]
    assert alike not in found if apart else found == [alike]
    assert differences[name]["class"] == setting["class"]
    is_stated = STUDY.get(name) or name == "devices"
    assert differences[name]["verdict"] == ("differs" if is_stated else "only b says it")


@pytest.mark.parametrize("name", ["precision", "zero_stage", "tp"])
def test_a_single_setting_that_differs_is_the_only_one_told(warehouse: Warehouse, name: str) -> None:
    changed(warehouse, "", [row for row in SETTINGS if row["setting"] == name])
    assert [row["setting"] for row in warehouse.ask("FROM differences(a := 'a', b := 'c')")] == [name]


@pytest.mark.parametrize(("key", "value"), [
    ("use_flash_attn", "False"), ("fp8", "None"), ("virtual_pipeline_model_parallel_size", "1"), ("num_experts", "0"),
    ("use_flash_attn", "Falseoptimizer"), ("num_layers", "24 ..... 24"), ("log_level", "debug"), ("an_unknown_key", "7"),
])  # fmt: skip
def test_what_is_off_broken_or_unknown_is_no_setting(warehouse: Warehouse, key: str, value: str) -> None:
    study(warehouse)
    state(warehouse, "c", key, value)
    assert repeats(warehouse) == [["a", "b", "c"]]


def test_a_recipe_of_fp8_that_is_off_is_no_setting(warehouse: Warehouse) -> None:
    study(warehouse)
    state(warehouse, "c", "fp8_recipe", "delayed")
    assert [row["setting"] for row in warehouse.ask("FROM differences(a := 'a', b := 'c')")] == ["fp8"]
    state(warehouse, "c", "fp8", "None")
    assert warehouse.ask("FROM differences(a := 'a', b := 'c')") == []
    assert repeats(warehouse) == [["a", "b", "c"]]


def test_names_of_frameworks_are_one_setting(warehouse: Warehouse) -> None:
    study(warehouse)
    for run, key in (
        ("a", "activation_checkpointing"),
        ("b", "gradient_checkpointing"),
        ("c", "checkpoint_activations"),
        ("d", "recompute"),
    ):
        state(warehouse, run, key, "True")
    assert repeats(warehouse) == [["a", "b", "c"]]


def test_a_stated_setting_goes_before_an_inferred_one(warehouse: Warehouse) -> None:
    study(warehouse)
    for run, origin, value in (
        ("a", "inferred", "7"),
        ("a", "log", "2"),
        ("b", "log", "2"),
        ("c", "log", "2"),
        ("d", "log", "2"),
    ):
        state(warehouse, run, "zero_stage", value, origin)
    assert repeats(warehouse) == [["a", "b", "c"]]


def test_without_a_model_there_is_throughput_and_no_efficiency(warehouse: Warehouse) -> None:
    for devices, time_s in ((1, 1.0), (2, 0.6)):
        warehouse.run(f"n{devices}", [time_s] * 5, devices=devices, global_batch_size=8, path=f"/s/n{devices}/a.log")
    rows = warehouse.ask("FROM scaling()")
    assert {(row["scaling"], row["efficiency"], row["speedup"]) for row in rows} == {("throughput", None, None)}
    assert [row["samples_per_s"] for row in rows] == [pytest.approx(8), pytest.approx(8 / 0.6)]
    assert all('set model = "..." under [facts] in scalelens.toml' in row["note"] for row in rows)


def test_a_shape_is_a_model(warehouse: Warehouse) -> None:
    for devices, time_s in ((1, 1.0), (2, 0.6)):
        warehouse.run(f"n{devices}", [time_s] * 5, devices=devices, global_batch_size=8, path=f"/s/n{devices}/a.log")
        state(warehouse, f"n{devices}", "num_layers", "24")
    assert {row["scaling"] for row in warehouse.ask("FROM scaling()")} == {"strong"}


def test_folders_without_a_common_study_or_a_system_are_no_series(warehouse: Warehouse) -> None:
    for name, devices, folder in (("a", 1, "ours"), ("b", 2, "theirs")):
        warehouse.run(name, [1.0] * 5, devices=devices, path=f"/logs/{folder}/runs/x.log", **STUDY)
    assert warehouse.ask("FROM scaling()") == []
    for name in ("a", "b"):
        state(warehouse, name, "study", "one", "sidecar")
    assert len(warehouse.ask("FROM scaling()")) == 2


def test_folders_of_one_system_are_one_series(warehouse: Warehouse) -> None:
    for name, devices, folder in (("a", 1, "ours"), ("b", 2, "theirs")):
        warehouse.run(name, [1.0] * 5, devices=devices, path=f"/logs/{folder}/x.log", system="lumi", **STUDY)
    assert len(warehouse.ask("FROM scaling()")) == 2


def test_repeats_that_scatter_show_their_range_and_say_so(warehouse: Warehouse) -> None:
    for name, devices, time_s in (("a", 1, 1.0), ("b", 1, 1.2), ("c", 2, 0.6)):
        warehouse.run(name, [time_s] * 50, devices=devices, path=f"/s/n{devices}/x.log", **STUDY)
    one, two = warehouse.ask("FROM scaling()")
    assert (one["n_runs"], one["interval_kind"], one["step_s_low"], one["step_s_high"]) == (2, "range", 1.0, 1.2)
    assert "repeats differ by a factor of 1.20" in one["note"]
    assert "differences(a := 'a', b := 'b')" in one["note"]
    assert two["efficiency"] == pytest.approx(1.1 / 1.2) and two["note"] is None


def test_runs_that_differ_by_half_are_no_repeats(warehouse: Warehouse) -> None:
    for name, devices, time_s in (("a", 1, 1.0), ("b", 1, 8.0), ("c", 2, 0.6)):
        warehouse.run(name, [time_s] * 50, devices=devices, path=f"/s/n{devices}/x.log", **STUDY)
    rows = warehouse.ask("FROM scaling()")
    assert [(row["run_id"], row["n_runs"], row["efficiency"]) for row in rows] == [
        ("a", 1, None),
        ("b", 1, None),
        ("c", 1, None),
    ]
    assert "runs of the same settings differ by a factor of 8.00" in rows[0]["note"]
    assert rows[2]["note"] == "the base is not one configuration: no efficiency"


def test_repeats_within_their_own_intervals_are_pooled_without_a_word(warehouse: Warehouse) -> None:
    draw = random.Random(7)
    noisy = [draw.uniform(0.6, 1.4) for _ in range(60)]
    for name, devices, times in (("a", 1, noisy), ("b", 1, [1.09 * time_s for time_s in noisy]), ("c", 2, noisy)):
        warehouse.run(name, times, devices=devices, path=f"/s/n{devices}/x.log", **STUDY)
    assert {row["note"] for row in warehouse.ask("FROM scaling()")} == {None}


def test_series_of_one_name_say_what_sets_them_apart(warehouse: Warehouse) -> None:
    for name, devices, flash in (("a", 1, None), ("b", 2, None), ("c", 1, "True"), ("d", 2, "True")):
        warehouse.run(name, [1.0] * 5, devices=devices, path=f"/s/n{devices}/x.log", **STUDY)
        if flash:
            state(warehouse, name, "use_flash_attn", flash)
    names = sorted({row["series"] for row in warehouse.ask("FROM scaling() WHERE scaling = 'strong'")})
    assert names == ["m · bf16 · flash_attention true · strong (global batch 8)", "m · bf16 · strong (global batch 8)"]


def test_differences_name_runs_on_both_sides(warehouse: Warehouse) -> None:
    study(warehouse)
    for wanted, complaint in (("", "a: name a run; there are "), ("nobody", "a: no run is called 'nobody'")):
        with pytest.raises(Exception, match=complaint):
            warehouse.ask(f"FROM differences(a := '{wanted}', b := 'b')")


@pytest.mark.parametrize(("facts", "reason", "remedy"), [
    ({"devices": None}, "no log states the number of devices", "devices = ... under [facts] in /s/scalelens.toml"),
    ({"global_batch_size": None}, "no log states the global batch", "set global_batch_size = ... under [facts] in scalelens.toml"),
    ({}, "no other size was run", "run a second size with a batch of 8 per device, or with a global batch of 8"),
])  # fmt: skip
def test_a_run_that_cannot_be_compared_says_what_is_missing(
    warehouse: Warehouse, facts: Row, reason: str, remedy: str
) -> None:
    warehouse.run("a", [1.0] * 5, path="/s/a.log", name="a", **{**STUDY, "devices": 1, **facts})
    (row,) = warehouse.ask("FROM not_compared()")
    assert (row["run_id"], row["reason"], row["nearest"]) == ("a", reason, None)
    assert remedy in row["remedy"]


@pytest.mark.parametrize(("changed", "reason", "differs"), [
    ({"precision": "fp16"}, "other sizes were run with other settings", "precision"),
    ({"path": "/elsewhere/all/runs/x.log"}, "no log names the system, and the folders are not those of one study", ""),
    ({"global_batch_size": 12}, "no other size has the same global batch, or the same batch per device", ""),
])  # fmt: skip
def test_the_nearest_run_of_another_size_is_named(
    warehouse: Warehouse, changed: Row, reason: str, differs: str
) -> None:
    warehouse.run("a", [1.0] * 5, name="a", **{"path": "/s/a.log", **STUDY, "devices": 1})
    warehouse.run("b", [1.0] * 5, name="b", **{"path": "/s/b.log", **STUDY, "devices": 2, **changed})
    rows = warehouse.ask("FROM not_compared()")
    assert [(row["run_id"], row["nearest"], row["reason"], row["differs"]) for row in rows] == [
        ("a", "b", reason, differs), ("b", "a", reason, differs),
    ]  # fmt: skip


def test_runs_of_a_series_are_not_listed_as_not_compared(warehouse: Warehouse) -> None:
    study(warehouse)
    assert warehouse.ask("FROM not_compared()") == []


def test_scaling_without_rows_says_why_on_the_command_line(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "logs" / "job.log"
    log.parent.mkdir()
    log.write_text("".join(megatron_line(step) for step in range(1, 6)))
    run("ingest", log.parent, "-w", tmp_path / "w")
    ran = run("query", "scaling", "-w", tmp_path / "w", "--format", "csv")
    assert ran.code == 0 and len(ran.out.splitlines()) == 1
    assert re.search(
        r"1 run: no log states the number of devices; set devices = ... under \[facts\] in \S+/logs/scalelens.toml",
        ran.err,
    )
    assert f"scalelens query not_compared -w {tmp_path / 'w'}" in ran.err


def split_study(warehouse: Warehouse, *stated: tuple[int, str]) -> None:
    """Runs on 1 to 8 devices, and what those on some of them state."""
    for devices in (1, 2, 4, 8):
        facts = {**STUDY, "global_batch_size": 8 * devices, "devices": devices}
        warehouse.run(f"n{devices}", [1.0] * 5, path=f"/study/n{devices}.log", name=f"n{devices}", **facts)
    for devices, version in stated:
        state(warehouse, f"n{devices}", "nccl_version", version)


def said_of_series(warehouse: Warehouse) -> str:
    rows = warehouse.ask("FROM scaling()")
    return split_series.remark([row["series"] for row in rows], [row["devices"] for row in rows])


def test_a_setting_that_some_logs_state_splits_a_series_and_saying_it_joins_it(warehouse: Warehouse) -> None:
    split_study(warehouse, (4, "2.29"), (8, "2.29"))
    assert said_of_series(warehouse) == (
        "only nccl_version tells the series apart, and no log on 1 to 2 devices states it: if it was 2.29 there, too, "
        'set nccl_version = "2.29" under [labels] in scalelens.toml'
    )
    for devices in (1, 2, 4, 8):
        state(warehouse, f"n{devices}", "nccl_version", "2.29", origin="sidecar")
    rows = warehouse.ask("FROM scaling()")
    assert len({row["series"] for row in rows}) == 1 and [row["devices"] for row in rows] == [1, 2, 4, 8]
    assert said_of_series(warehouse) == ""


@pytest.mark.parametrize(
    "stated",
    [
        [],
        [(1, "2.28"), (2, "2.28"), (4, "2.29"), (8, "2.29")],  # both are stated
        [(devices, "2.29") for devices in (1, 2, 4, 8)],
    ],
)
def test_series_that_differ_by_what_logs_state_are_left_apart(
    warehouse: Warehouse, stated: list[tuple[int, str]]
) -> None:
    split_study(warehouse, *stated)
    assert said_of_series(warehouse) == ""


def test_of_two_values_elsewhere_none_is_proposed() -> None:
    names = ["m · weak (batch 8 per device)"] + [
        f"m · nccl_version {v} · weak (batch 8 per device)" for v in (2.28, 2.29)
    ]
    assert split_series.remark(names, [1, 2, 4]) == ""
