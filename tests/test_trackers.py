"""Files of trackers: what their tools wrote, what damage costs, and what a history means."""

import importlib.util
import json
import math
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

import scalelens
from conftest import FIXTURES
from logs import megatron_line
from scalelens.parsing import leveldb_log
from scalelens.parsing.source import open_source
from test_formats import tables_of
from trackers import (
    BEGAN,
    BLOCK,
    HEADER,
    HISTORY,
    OUTPUT,
    environment,
    field,
    history,
    items,
    mlflow_database,
    run,
    small_run,
    summary,
    trackio_database,
    wandb_file,
)

SMALL = wandb_file(small_run())
LOGGED: list[tuple] = []  # its steps, once they were read


def read(path: Path, content: bytes | None = None) -> tuple[str, dict[str, list[dict]]]:
    """Status of a file and its rows by table."""
    if content is not None:
        path.write_bytes(content)
    status, tables = tables_of(open_source(path))
    return status, {name: table.drop(["file_id"]).to_pylist() for name, table in tables.items()}


def of_wandb(folder: Path, *records: bytes) -> dict[str, list[dict]]:
    return read(folder / "run-a.wandb", wandb_file([run("a", {}), *records]))[1]


def values(tables: dict[str, list[dict]], name: str) -> list[tuple[int | None, float]]:
    return [(row["step"], row["value"]) for row in tables.get("metrics", []) if row["name"] == name]


def test_the_fixtures_are_what_the_script_writes() -> None:
    assert (FIXTURES / "wandb_run" / "finished.wandb").read_bytes() == SMALL


def test_a_count_of_calls_is_no_step(tmp_path: Path) -> None:
    """Whether a call is a step is not known, so no time of a step is made of the stamps; --map can say it."""
    calls = [history(k, 0.5 * k, {"loss": 1.0}) for k in range(30)]
    assert {row["step_s"] for row in of_wandb(tmp_path, *calls)["steps"]} == {None}
    leaping = [history(10 * k, 0.5 * k, {"loss": 1.0}) for k in range(30)]
    timed = of_wandb(tmp_path, *leaping)["steps"]
    assert [(row["step_s"], row["averaged_steps"], row["value_kind"]) for row in timed[1:]] == [
        (0.05, 10, "interval_mean")
    ] * 29


def test_a_column_that_says_the_time_of_a_step_counts(tmp_path: Path) -> None:
    calls = [history(k, 0.5 * k, {"perf/step_time_ms": 250.0, "loss": 1.0}) for k in range(30)]
    assert {(row["step_s"], row["value_kind"]) for row in of_wandb(tmp_path, *calls)["steps"]} == {(0.25, "instant")}


def test_steps_of_two_counts_have_no_times(tmp_path: Path) -> None:
    """Where a validation counts epochs and the training steps, a difference is of neither."""
    steps = [value for k in range(20) for value in (100 * k, k)]
    mixed = [history(k, 2.5 * k, {"trainer/global_step": step, "loss": 1.0}) for k, step in enumerate(steps)]
    assert {row["step_s"] for row in of_wandb(tmp_path, *mixed)["steps"]} == {None}


def test_no_number_becomes_another_one(tmp_path: Path) -> None:
    odd = {"loss": math.nan, "a": math.inf, "b": -1e-300, "c": 1 << 60, "d": True, "e": "7", "f": [1], "g": None}
    tables = of_wandb(tmp_path, history(0, 0.0, odd), history(1, 1.0, {"loss": 1.0}))
    assert math.isnan(tables["steps"][0]["loss"])
    named = {row["name"]: row["value"] for row in tables["metrics"] if row["step"] == 0}
    assert named == {"a": math.inf, "b": -1e-300, "c": float(1 << 60), "_runtime": 0.0}


def test_the_summary_of_the_script_is_kept_and_that_of_the_client_is_not(tmp_path: Path) -> None:
    logged = {"loss": 1.0, "other": 2.0}
    tables = of_wandb(tmp_path, history(0, 0.0, logged), summary(logged), summary({"best": 7.0}, by_script=True))
    assert values(tables, "best") == [(None, 7.0)]
    assert values(tables, "other") == [(0, 2.0)]


def test_the_summary_that_the_client_writes_before_its_record_is_not_kept(tmp_path: Path) -> None:
    logged = {"loss": 1.0, "other": 0.0, "_step": 0, "_runtime": 0.5, "_timestamp": BEGAN + 0.5}
    own = summary({"best": 7.0}, by_script=True)
    tables = of_wandb(tmp_path, summary(logged), history(0, 0.5, logged), summary(logged), own)
    assert values(tables, "best") == [(None, 7.0)]
    assert values(tables, "other") == [(0, 0.0)]
    assert not [row for row in tables["metrics"] if row["step"] is None and row["name"] != "best"]


def test_typed_items_are_read(tmp_path: Path) -> None:
    """The definition of the messages has fields for integers, beside those for JSON."""
    typed = field(2, "count") + field(5, 12)
    tables = of_wandb(tmp_path, field(HISTORY, field(1, typed) + items({"_step": 3})))
    assert values(tables, "count") == [(3, 12.0)]


def test_a_record_of_several_blocks_is_read(tmp_path: Path) -> None:
    many = {f"layer{k}/norm": k / 7 for k in range(1500)}
    tables = of_wandb(tmp_path, history(0, 0.0, many), history(1, 1.0, {"last": 1.0}))
    assert len(tables["metrics"]) == 1500 + 3
    assert values(tables, "layer1499/norm") == [(0, 1499 / 7)]
    assert values(tables, "last") == [(1, 1.0)]


@pytest.mark.parametrize("cut", range(0, len(SMALL), 53))
def test_a_cut_keeps_the_prefix(cut: int, tmp_path: Path) -> None:
    assert_prefix(tmp_path, cut)


@pytest.mark.slow
def test_a_cut_at_any_byte_keeps_the_prefix(tmp_path: Path) -> None:
    for cut in range(len(SMALL)):
        assert_prefix(tmp_path, cut)


def assert_prefix(folder: Path, cut: int) -> None:
    if not LOGGED:
        steps = read(folder / "whole.wandb", SMALL)[1]["steps"]
        LOGGED.extend((row["step"], row["loss"], row["ts"]) for row in steps)
    status, tables = read(folder / "cut.wandb", SMALL[:cut])
    kept = [(row["step"], row["loss"], row["ts"]) for row in tables.get("steps", [])]
    assert kept == LOGGED[: len(kept)]
    assert len(tables.get("problems", [])) <= 1
    if not tables.get("problems"):
        assert status in ("ok", "empty") or cut < len(HEADER)


def test_damage_costs_its_block(tmp_path: Path) -> None:
    records = [run("a", {}), *(history(10 * k, 0.5 * k, {"loss": 1.0, "text": "x" * 900}) for k in range(100))]
    whole = wandb_file(records)
    content = bytearray(whole)
    content[BLOCK + 5000] ^= 255
    status, tables = read(tmp_path / "a.wandb", bytes(content))
    steps = [row["step"] for row in tables["steps"]]
    assert status == "partial"
    assert len(tables["problems"]) == 1 and "damaged" in tables["problems"][0]["reason"]
    assert steps[0] == 0 and steps[-1] == 990 and 60 < len(steps) < 100
    zeros = whole[: 2 * BLOCK] + bytes(len(whole) - 2 * BLOCK)
    assert "zeros" in read(tmp_path / "a.wandb", zeros)[1]["problems"][0]["reason"]


def test_sizes_that_lie_cost_a_problem(tmp_path: Path) -> None:
    huge = field(HISTORY, field(1, b"\x12\x04loss\x82\x01" + b"\xff\xff\xff\xff\x07" + b"1.0"))
    cases = (huge, b"\x12\xff\xff\xff\xff\x0f", b"\x12", b"\x08", b"", b"\xff" * 30, b"\x12\x7f" + b"\x0a\x7f")
    for record in cases:
        tables = of_wandb(tmp_path, record, history(1, 1.0, {"loss": 2.0}))
        assert [row["loss"] for row in tables["steps"] if row["step"] == 1] == [2.0]
        assert len(tables.get("problems", [])) <= 1


def test_a_record_that_is_too_large_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leveldb_log, "MOST_BYTES", 2 * BLOCK)
    tables = of_wandb(tmp_path, field(1, b"x" * 3 * BLOCK), history(0, 0.0, {"loss": 1.0}))
    assert [row["loss"] for row in tables["steps"]] == [1.0]
    assert "passed over" in tables["problems"][0]["reason"]


def mutated(content: bytes, chance: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(chance.randint(1, 4)):
        if not changed:
            break
        at, length = chance.randrange(len(changed)), chance.randint(1, 40)
        kind = chance.randrange(4)
        if kind == 0:
            changed[at] ^= 1 << chance.randrange(8)
        elif kind == 1:
            del changed[at : at + length]
        elif kind == 2:
            changed[at:at] = chance.randbytes(length)
        else:
            changed[at : at + length] = changed[-at : length - at] if at > length else b"\xff" * length
    return bytes(changed)


def mutate_records(chance: random.Random) -> bytes:
    """Records that are damaged within, below checksums that are right."""
    return wandb_file([mutated(record, chance) if chance.random() < 0.3 else record for record in small_run()])


@pytest.mark.parametrize(
    "kind", ["wandb_run/finished.wandb", "mlflow_database/mlflow.sqlite", "trackio_database/trackio.sqlite"]
)
def test_mutated_files_cost_problems_only(kind: str, tmp_path: Path) -> None:
    assert_survives(kind, tmp_path, 25)


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", ["wandb_run/finished.wandb", "mlflow_database/mlflow.sqlite", "trackio_database/trackio.sqlite"]
)
def test_many_mutated_files_cost_problems_only(kind: str, tmp_path: Path) -> None:
    assert_survives(kind, tmp_path, 700)


def assert_survives(kind: str, folder: Path, count: int) -> None:
    chance, content = random.Random(kind), (FIXTURES / kind).read_bytes()
    for k in range(count):
        changed = mutate_records(chance) if kind.endswith("wandb") and k % 2 else mutated(content, chance)
        status, tables = read(folder / "mutated", changed)
        assert status in ("ok", "partial", "unknown", "empty")
        assert not [row for row in tables.get("problems", []) if "please report" in row["reason"]]


@pytest.mark.parametrize("damage", [
    "DROP TABLE metrics; CREATE VIEW metrics AS WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n) SELECT k"
    " AS key, 1.0 AS value, 1 AS timestamp, '0' AS run_uuid, k AS step, 0 AS is_nan FROM n",
    "UPDATE metrics SET value = 'text'", "UPDATE metrics SET step = 'x'", "UPDATE metrics SET timestamp = -1",
    "UPDATE runs SET start_time = 'x', end_time = 9e99", "ALTER TABLE metrics DROP COLUMN is_nan", "DELETE FROM runs",
])  # fmt: skip
def test_a_database_may_hold_anything(damage: str, tmp_path: Path) -> None:
    path = mlflow_database(tmp_path / "mlflow.db", [{"name": "a", "metrics": [("loss", 1.0, 0, 0)]}])
    database = sqlite3.connect(path)
    try:
        database.executescript(damage)
    except sqlite3.OperationalError:
        database.executescript("DROP TABLE metrics")
    database.close()
    status, tables = read(path)
    assert status in ("ok", "partial", "unknown")
    assert not [row for row in tables.get("problems", []) if "please report" in row["reason"]]
    assert not tables.get("steps") or "UPDATE runs" in damage


def test_a_damaged_name_in_a_schema_is_no_failure(tmp_path: Path) -> None:
    content = (FIXTURES / "mlflow_database" / "mlflow.sqlite").read_bytes()
    for damage in (b"CREATE TABLE m\xe5trics (", b"CREATE TABLE m\xe5tri(s ("):
        changed = content.replace(b"CREATE TABLE metrics (", damage)
        assert changed != content
        status, tables = read(tmp_path / "mlflow.db", changed)
        assert status in ("partial", "unknown")
        assert not [row for row in tables.get("problems", []) if "please report" in row["reason"]]


def test_a_cut_database_is_not_taken_for_a_whole_one(tmp_path: Path) -> None:
    """SQLite takes what is missing of the last page for zeros, and refuses a file that lacks whole pages."""
    content = (FIXTURES / "mlflow_database" / "mlflow.sqlite").read_bytes()
    for missing in (100, 5000):
        status, tables = read(tmp_path / "mlflow.db", content[:-missing])
        assert status in ("partial", "unknown")
        assert "cut or damaged" in tables["problems"][-1]["reason"]


def test_infinite_and_missing_numbers_of_mlflow_come_back(tmp_path: Path) -> None:
    metrics = [("a", math.nan, 0, 0), ("b", math.inf, 0, 0), ("c", -math.inf, 0, 0)]
    found = read(mlflow_database(tmp_path / "mlflow.db", [{"name": "a", "metrics": metrics}]))[1]["metrics"]
    assert math.isnan(found[0]["value"]) and [row["value"] for row in found[1:]] == [math.inf, -math.inf]


def test_power_in_a_folder_of_mlflow_is_power_of_its_device(tmp_path: Path) -> None:
    folder = tmp_path / "mlruns" / "1" / ("0" * 32) / "metrics" / "system"
    folder.mkdir(parents=True)
    measured = b"1790000000500 310.5 0\n1790000010500 320.25 1\n"
    (row, other) = read(folder / "gpu_3_power_usage_watts", measured)[1]["power"]
    assert (row["device"], row["power_w"], row["ts_origin"], other["power_w"]) == ("3", 310.5, "utc", 320.25)
    used = read(folder / "gpu_3_utilization_percentage", measured)[1]
    assert values(used, "system/gpu_3_utilization_percentage") == [(0, 310.5), (1, 320.25)]


def test_stamps_of_records_that_were_sent_together_are_no_times(tmp_path: Path) -> None:
    sent = [(10 * k, 1.5 + 30 * (k // 10), {"loss": 1.0}) for k in range(40)]
    tables = read(trackio_database(tmp_path / "p.db", {"a": sent}))[1]
    assert {row["step_s"] for row in tables["steps"]} == {None}


def test_newer_rows_in_a_journal_are_told(tmp_path: Path) -> None:
    from scalelens.ingestion.recognize import read_rows
    from scalelens.parsing.rows import Rows
    from test_formats import LOADED

    path = trackio_database(tmp_path / "p.db", {"a": [(0, 0.0, {"loss": 1.0})]})
    (tmp_path / "p.db-wal").write_bytes(b"x" * 100)
    assert "p.db-wal (100 bytes) may have newer rows" in (read_rows(open_source(path), LOADED, Rows())[1] or "")


def study(
    folder: Path, name: str = "slurm.out", job: str | None = None, late_s: float = 0.0, timed: bool = True
) -> Path:
    """A Slurm output beside the folder of W&B, in local time two hours ahead of UTC."""
    lines = []
    for k in range(1, 30):
        began = datetime.fromtimestamp(BEGAN + 2.5 * k + late_s + 7200, UTC)
        line = megatron_line(10 * k).lstrip()
        lines.append(
            f" [{began:%Y-%m-%d %H:%M:%S}] {line if timed else line.replace('elapsed time per iteration', 'x')}"
        )
    (folder / name).write_text("".join(lines))
    tracked = folder / "wandb" / "offline-run-20260921_141320-abc"
    (tracked / "files").mkdir(parents=True)
    records = [run("a", {}), *([environment({"job_id": job})] if job else [])]
    records += [history(k - 1, 2.5 * k, {"train/global_step": 10 * k, "loss": 1.0, "mfu": 0.4}) for k in range(1, 30)]
    (tracked / "run-abc.wandb").write_bytes(wandb_file(records))
    (tracked / "files" / "config.yaml").write_text("wandb_version: 1\n\nlr:\n  desc: null\n  value: 0.1\n")
    return folder


def members(folder: Path) -> list[tuple]:
    warehouse = folder.with_name("warehouse")
    scalelens.ingest(folder, warehouse=warehouse)
    connection = scalelens.connect(warehouse)
    sql = "SELECT count(DISTINCT run_id), list(why ORDER BY why) FROM members"
    counted = "SELECT count(*), count(step_s) FROM step_times"
    return [*connection.execute(sql).fetchall(), *connection.execute(counted).fetchall()]


def test_a_log_and_what_the_tracker_kept_of_it_are_one_run(tmp_path: Path) -> None:
    """By their times: both began and ended together, in clocks of two zones."""
    (tmp_path / "study").mkdir()
    assert members(study(tmp_path / "study")) == [(1, ["file", "times", "twin"]), (29, 29)]


def test_printed_lines_that_the_tracker_kept_count_once(tmp_path: Path) -> None:
    """W&B's output.log repeats what the job printed; without a time of a step in it, the tracker's counts."""
    for name, timed in (("timed", True), ("untimed", False)):
        folder = tmp_path / name / "study"
        folder.mkdir(parents=True)
        (files,) = study(folder, timed=timed).glob("wandb/*/files")
        (files / "output.log").write_text("a line more\n" + (folder / "slurm.out").read_text())
        run, steps = members(folder)
        assert run[0] == 1 and steps == (29, 29 if timed else 28)


def test_printed_lines_within_the_record_are_its_log(tmp_path: Path) -> None:
    """In the folder of the run, as a file alone, and beside output.log or the job's output, which repeat them."""
    printed = [field(OUTPUT, field(3, megatron_line(10 * k))) for k in range(1, 30)]
    logged = [history(k - 1, 2.5 * k, {"train/global_step": 10 * k, "loss": 1.0}) for k in range(1, 30)]
    content = wandb_file([run("a", {}), *logged, *printed])
    for name in ("alone", "folder", "copied"):
        folder = tmp_path / name / "study"
        tracked = folder if name == "alone" else folder / "wandb" / "offline-run-20260921_141320-abc"
        (tracked / "files").mkdir(parents=True)
        (tracked / "run-abc.wandb").write_bytes(content)
        if name == "copied":
            lines = "".join(megatron_line(10 * k) for k in range(1, 30))
            (tracked / "files" / "output.log").write_text(f"a line more\n{lines}")
        (run_count, why), steps = members(folder)
        assert (run_count, why.count("twin"), steps) == (1, 1, (29, 29)), name
    shutil.make_archive(str(tmp_path / "packed" / "study" / "all"), "gztar", folder)
    (run_count, why), steps = members(tmp_path / "packed" / "study")
    assert (run_count, why.count("twin"), steps) == (1, 2, (29, 29))  # the archive has both copies of the lines
    tables = read(tmp_path / "alone" / "study" / "run-abc.wandb")[1]
    assert [row["line"] for row in tables["steps"] if row["part"] == 1] == list(range(1, 30))


def test_a_job_id_joins_a_tracker_with_the_log(tmp_path: Path) -> None:
    (tmp_path / "study").mkdir()
    found = members(study(tmp_path / "study", "slurm-4711123.out", "4711123", late_s=3600.0 * 0.1))
    assert found[0][0] == 1 and "twin" in found[0][1] and found[1] == (29, 29)


def test_neighbors_are_not_one_run(tmp_path: Path) -> None:
    (tmp_path / "study").mkdir()
    assert members(study(tmp_path / "study", late_s=100.0))[0][0] == 2


def exported(folder: Path, records: int = 30, fraction_s: float = 0.123456, cut: int = 0, late_s: float = 0.0) -> Path:
    """The client's record of a run, and beside it the CSV of the same history that the service gave."""
    tracked = folder / "wandb" / "run-20260921_141320-abc"
    tracked.mkdir(parents=True)
    times = [2.5 * k + fraction_s for k in range(records)]
    logged = [
        history(k, time, {"train/global_step": 10 * k, "loss": 1 / (k + 1), "text": "x" * 3000})
        for k, time in enumerate(times)
    ]
    content = wandb_file([run("a", {}), *logged])
    (tracked / "run-abc.wandb").write_bytes(content[: len(content) - cut])
    rows = [f"{k},{time + late_s},{BEGAN + time + late_s},{10 * k},{1 / (k + 1)}\n" for k, time in enumerate(times)]
    (folder / "export.csv").write_text("_step,_runtime,_timestamp,train/global_step,loss\n" + "".join(rows))
    return folder


@pytest.mark.parametrize("cut", [0, 20_000])
def test_a_record_and_its_own_export_are_one_run(cut: int, tmp_path: Path) -> None:
    """That of a killed run may lack what the service has: then the export counts."""
    (run_count, why), steps = members(exported(tmp_path / "study", cut=cut))
    assert (run_count, why) == (1, ["file", "twin"])
    assert steps == (30, 29)


def test_a_record_its_export_and_the_log_are_one_run(tmp_path: Path) -> None:
    folder = exported(tmp_path / "study")
    lines = (
        f" [{datetime.fromtimestamp(BEGAN + 2.5 * k + 7200, UTC):%Y-%m-%d %H:%M:%S}] {megatron_line(10 * k).lstrip()}"
        for k in range(1, 30)
    )
    (folder / "slurm.out").write_text("".join(lines))
    (run_count, why), steps = members(folder)
    assert (run_count, why.count("twin"), steps) == (1, 2, (29, 29))


def test_exports_of_other_runs_stay_apart(tmp_path: Path) -> None:
    assert members(exported(tmp_path / "other" / "study", late_s=0.001))[0][0] == 2
    assert members(exported(tmp_path / "coarse" / "study", fraction_s=0.0))[0][0] == 2


def test_an_export_that_a_sidecar_calls_a_run_stays_apart(tmp_path: Path) -> None:
    (exported(tmp_path / "study") / "scalelens.toml").write_text('runs = ["{of}.csv"]\n')
    assert members(tmp_path / "study")[0][0] == 2


_TABLES_OF_RUNS = [
    ("project", 3), ("chosen_columns", 2), ("by_id", 2), ("by_api", 3), ("by_script", 3), ("by_state", 3),
    ("by_prefix", 2), ("names_alone", 2),
]  # fmt: skip


@pytest.mark.parametrize(("name", "runs"), _TABLES_OF_RUNS)
def test_a_table_of_runs_has_a_run_in_each_row(name: str, runs: int, tmp_path: Path) -> None:
    (tmp_path / "study").mkdir()
    shutil.copy(FIXTURES / "wandb_runs" / f"{name}.csv", tmp_path / "study")
    (run_count, _), steps = members(tmp_path / "study")
    assert (run_count, steps) == (runs, (0, 0))


@pytest.mark.parametrize(("starts_s", "runs", "attempts"), [((0, 500), 2, 1), ((500, 0), 2, 1), ((0, None), 1, 2)])
def test_histories_without_a_name_are_runs_where_their_clocks_go_back(
    starts_s: tuple[int, int | None], runs: int, attempts: int, tmp_path: Path
) -> None:
    """A second history has `_runtime` from its own start; one that continues that of the first is the same run."""
    lines = ["_step,_runtime,_timestamp,train/loss"]
    for start_s in starts_s:
        since_s, at_s = (100, 100) if start_s is None else (0, start_s)
        lines += [f"{k},{since_s + k + 0.5},{BEGAN + at_s + k},{1 / (1 + k)}" for k in range(20)]
    (tmp_path / "history.csv").write_text("\n".join(lines) + "\n")
    steps = read(tmp_path / "history.csv")[1]["steps"]
    assert len({row["part"] for row in steps}) == runs
    assert len({row["attempt"] for row in steps}) == attempts
    assert len(steps) == 40


def test_a_history_from_last_to_first_is_one_run(tmp_path: Path) -> None:
    lines = ["_step,_runtime,_timestamp,loss", *(f"{k},{k + 0.5},{BEGAN + k},1.5" for k in range(20, 0, -1))]
    (tmp_path / "history.csv").write_text("\n".join(lines) + "\n")
    assert {row["part"] for row in read(tmp_path / "history.csv")[1]["steps"]} == {0}


def test_the_name_of_a_run_is_that_of_the_tracker(tmp_path: Path) -> None:
    """Hugging Face's setting `run_name` is another one."""
    (tmp_path / "runs.csv").write_text(
        '"Name","State","Created","Runtime","run_name"\n"one","finished","2026-03-02T10:38:30.000Z","7","tuned"\n'
    )
    params = {row["key"]: row["value"] for row in read(tmp_path / "runs.csv")[1]["params"]}
    assert (params["run_name"], params["argument.run_name"]) == ("one", "tuned")


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_histories_below_each_other_are_runs_of_their_own(form: str, tmp_path: Path) -> None:
    (tmp_path / "study").mkdir()
    records = [
        {"run": run, "_step": k, "_timestamp": BEGAN + 100 * at + k, "train/loss": 1 / (1 + k)}
        for at, run in enumerate(("a", "b", "c"))
        for k in range(20)
    ]
    lines = [json.dumps(record) for record in records]
    if form == "csv":
        lines = [",".join(records[0]), *(",".join(map(str, record.values())) for record in records)]
    (tmp_path / "study" / f"history.{form}").write_text("\n".join(lines) + "\n")
    (run_count, _), steps = members(tmp_path / "study")
    assert (run_count, steps) == (3, (60, 0))


@pytest.mark.parametrize(("column", "runs", "rows"), [("name", 1, 20), ("run_name", 2, 10)])
def test_a_column_called_name_may_be_of_something_else(column: str, runs: int, rows: int, tmp_path: Path) -> None:
    """Two texts take turns while `_step` grows; a column that can only name runs is believed, up to the first return."""
    lines = [f"{column},_step,_timestamp,loss"]
    lines += [f"{'train' if k < 5 else 'late' if k < 10 else 'train'},{k},{BEGAN + k},{1 / (1 + k)}" for k in range(20)]
    (tmp_path / "history.csv").write_text("\n".join(lines) + "\n")
    tables = read(tmp_path / "history.csv")[1]
    assert len(tables["steps"]) == rows
    assert len({row["part"] for row in tables["steps"]}) == runs
    assert ("run_name" in {row["key"] for row in tables["params"]}) == (column == "run_name")


def test_a_last_row_in_closed_quotes_is_whole(tmp_path: Path) -> None:
    """W&B's page ends its files without a line break."""
    header = '"Step","a - loss","a - loss__MIN","a - loss__MAX"\n"0","1.5","1.5","1.5"\n'
    for last, is_whole in (
        ('"1","1.25","1.25","1.25"', True),
        ('"1","1.25","1.25","1.2', False),
        ('"1","","",""', True),
    ):
        status, tables = read(tmp_path / "chart.csv", (header + last).encode())
        assert (status == "ok") is is_whole
        assert values(tables, "a - loss") == [(0, 1.5)] + ([(1, 1.25)] if is_whole and "1.25" in last else [])


def test_a_precision_with_decimals_is_a_metric(tmp_path: Path) -> None:
    """As of a classification, beside a recall."""
    assert values(read(tmp_path / "precision.tsv", b"step\tprecision\n0\t0.8866\n")[1], "precision") == [(0, 0.8866)]


def test_the_runs_of_a_database_stay_apart(tmp_path: Path) -> None:
    folder = tmp_path / "study"
    folder.mkdir()
    runs = [{"name": "trained", "metrics": [("loss", 1.0, 0, 0)]}, {"name": "failed", "params": {"tp": "8"}}]
    mlflow_database(folder / "mlflow.db", runs)
    assert members(folder)[0] == (2, ["file", "file"])


WANDB_SCRIPT = """
import wandb
run = wandb.init(project="p", name="n", config={"micro_batch_size": 4}, mode="offline", dir=".")
for k in range(40):
    run.log({"loss": 1 / (k + 1), "norm": k / 7}, step=10 * k)
run.finish()
"""


@pytest.mark.skipif(importlib.util.find_spec("wandb") is None, reason="wandb is not installed")
def test_what_wandb_writes_is_read(tmp_path: Path) -> None:
    environment = os.environ | {"WANDB_SILENT": "true", "HOME": str(tmp_path)}
    subprocess.run([sys.executable, "-c", WANDB_SCRIPT], cwd=tmp_path, check=True, env=environment, timeout=120)
    (path,) = tmp_path.glob("wandb/offline-run-*/run-*.wandb")
    status, tables = read(path)
    assert status == "ok"
    assert [(row["step"], row["loss"]) for row in tables["steps"]] == [(10 * k, 1 / (k + 1)) for k in range(40)]
    assert values(tables, "norm") == [(10 * k, k / 7) for k in range(40)]
    assert ("micro_batch_size", "4") in {(row["key"], row["value"]) for row in tables["params"]}


MLFLOW_SCRIPT = """
import mlflow
mlflow.set_tracking_uri("sqlite:///mlflow.db")
with mlflow.start_run(run_name="n"):
    mlflow.log_params({"micro_batch_size": 4})
    for k in range(10):
        mlflow.log_metrics({"loss": 1 / (k + 1), "norm": k / 7}, step=10 * k)
"""


@pytest.mark.skipif(importlib.util.find_spec("mlflow") is None, reason="mlflow is not installed")
def test_what_mlflow_writes_is_read(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", MLFLOW_SCRIPT], cwd=tmp_path, check=True, timeout=300)
    status, tables = read(tmp_path / "mlflow.db")
    assert status == "ok"
    assert [(row["step"], row["loss"]) for row in tables["steps"]] == [(10 * k, 1 / (k + 1)) for k in range(10)]
    assert values(tables, "norm") == [(10 * k, k / 7) for k in range(10)]


TOOLS = {  # what a script does, and what it leaves
    "trackio": ("""
import trackio
trackio.init(project="p", name="n", config={"micro_batch_size": 4}, embed=False)
for k in range(12):
    trackio.log({"loss": 1 / (k + 1), "norm": k / 7}, step=10 * k)
trackio.finish()
""", "**/p.db"),
    "comet_ml": ("""
import comet_ml
experiment = comet_ml.OfflineExperiment(project_name="p", workspace="w", offline_directory=".", display_summary_level=0)
experiment.log_parameters({"micro_batch_size": 4})
for k in range(12):
    experiment.log_metrics({"loss": 1 / (k + 1), "norm": k / 7}, step=10 * k)
experiment.end()
import glob, zipfile
zipfile.ZipFile(glob.glob("*.zip")[0]).extract("messages.json")
""", "messages.json"),
    "neptune": ("""
import neptune
run = neptune.init_run(mode="offline", project="w/p")
run["micro_batch_size"] = 4
for k in range(12):
    run["loss"].append(1 / (k + 1), step=10 * k)
    run["norm"].append(k / 7, step=10 * k)
run.stop()
""", ".neptune/offline/*/data-1.log"),
    "clearml": ("""
from clearml import Task
Task.set_offline(True)
task = Task.init("p", "n", auto_connect_frameworks=False, auto_resource_monitoring=False)
task.connect({"micro_batch_size": 4})
for k in range(12):
    task.get_logger().report_scalar("loss", "loss", 1 / (k + 1), 10 * k)
    task.get_logger().report_scalar("norm", "norm", k / 7, 10 * k)
task.close()
import glob, zipfile
zipfile.ZipFile(glob.glob(".clearml/cache/offline/*.zip")[0]).extractall("session", ["metrics.jsonl", "task.json"])
""", "session/*.json*"),
}  # fmt: skip


@pytest.mark.parametrize("tool", TOOLS)
def test_what_other_trackers_write_is_read(tool: str, tmp_path: Path) -> None:
    if importlib.util.find_spec(tool) is None:
        pytest.skip(f"{tool} is not installed")
    script, place = TOOLS[tool]
    environment = os.environ | {"TRACKIO_DIR": str(tmp_path), "HOME": str(tmp_path)}
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True, env=environment, timeout=300)
    tables: dict[str, list[dict]] = {}
    for path in sorted(tmp_path.glob(place)):
        status, of_file = read(path)
        assert status == "ok"
        tables = {name: tables.get(name, []) + of_file.get(name, []) for name in {*tables, *of_file}}
    assert [(row["step"], row["loss"]) for row in tables["steps"]] == [(10 * k, 1 / (k + 1)) for k in range(12)]
    assert values(tables, "norm") == [(10 * k, k / 7) for k in range(12)]
    assert ("micro_batch_size", "4") in {(row["key"], row["value"]) for row in tables["params"]}


KILLED = "import os, signal, time; time.sleep(8); os.kill(os.getpid(), signal.SIGKILL)"
KILLED_RUNS = {
    "wandb": (
        WANDB_SCRIPT.replace("range(40)", "range(4000)").replace("run.finish()", KILLED),
        "wandb/offline-run-*/run-*.wandb",
    ),
    "mlflow": (f"{MLFLOW_SCRIPT}    {KILLED}\n", "mlflow.db"),
    "trackio": (TOOLS["trackio"][0].replace("trackio.finish()", KILLED), "**/p.db"),
    "neptune": (TOOLS["neptune"][0].replace("run.stop()", KILLED), ".neptune/*/*/data-1.log"),
}


@pytest.mark.slow
@pytest.mark.parametrize("tool", KILLED_RUNS)
def test_what_a_killed_run_left_is_the_beginning_of_what_it_logged(tool: str, tmp_path: Path) -> None:
    if importlib.util.find_spec(tool) is None:
        pytest.skip(f"{tool} is not installed")
    script, place = KILLED_RUNS[tool]
    environment = os.environ | {"TRACKIO_DIR": str(tmp_path), "WANDB_SILENT": "true", "HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=environment, timeout=300)
    assert done.returncode == -9
    (path,) = tmp_path.glob(place)
    status, tables = read(path)
    assert status in ("ok", "partial", "empty")  # the last record may be cut, or nothing be written yet
    logged = [(row["step"], row["loss"]) for row in tables.get("steps", [])]
    assert logged == [(10 * k, 1 / (k + 1)) for k in range(len(logged))]
    assert len(logged) >= 10 or tool == "neptune"  # which keeps its records in memory for long
