"""The global batch that follows from other facts: when, from which, and what it excludes."""

import re
from pathlib import Path
from typing import Any

import duckdb
import pytest

from asking import ask, ask_sql
from conftest import FIXTURES
from little_warehouse import Warehouse
from scalelens.database.dated_file import write_dated_file
from scalelens.runs.sidecar import SIDECAR_NAME
from sizes import EFFICIENCIES, ingested, write_log, write_weak_study

BATCHES = "SELECT value, origin FROM params WHERE key = 'global_batch_size' ORDER BY ALL"
PLAIN = "micro-batch and devices"


def batches(home: Path) -> list[tuple[Any, ...]]:
    return ask_sql(home, BATCHES).rows()


@pytest.mark.parametrize("micro_batch", [256, 128])
def test_weak_scaling_without_a_stated_batch(tmp_path: Path, micro_batch: int) -> None:
    home = ingested(write_weak_study(tmp_path / "logs", micro_batch_size=micro_batch), tmp_path / "w")
    rows = ask(home, "scaling").to_dicts()
    assert [(row["devices"], row["scaling"], row["global_batch_size"], row["note"]) for row in rows] == [
        (devices, "weak", micro_batch * devices, f"global batch inferred from {PLAIN}") for devices in EFFICIENCIES
    ]
    assert [row["efficiency"] for row in rows] == pytest.approx([*EFFICIENCIES.values()])
    assert ask(home, "not_compared").is_empty() and ask(home, "contradictions").is_empty()
    stated = "SELECT DISTINCT p.line, f.path LIKE '%train.csv' FROM params AS p JOIN files AS f USING (file_id) "
    assert ask_sql(home, stated + "WHERE key LIKE 'global_batch_size%'").rows() == [(2, True)]


STATED: list[tuple[dict[str, object], int | None, str | None]] = [
    ({}, 32, PLAIN),
    ({"gradient_accumulation": 1}, 32, PLAIN),
    ({"gradient_accumulation": 4}, 128, PLAIN + ", with accumulation"),
    ({"tp": 2}, 16, PLAIN),
    ({"tp": 3}, None, None),
    ({"cp": 2}, 16, PLAIN),
    ({"dp": 2}, 8, PLAIN),
    ({"pp": 2}, None, None),
    ({"pp": 1}, 32, PLAIN),
    ({"pp": 2, "gradient_accumulation": 4}, 64, PLAIN + ", with accumulation"),
    ({"device_unit": "ipu"}, None, None),
    ({"device_unit": "ipu", "dp": 2}, 8, PLAIN),
    ({"framework": "composer"}, None, None),
    ({"framework": "composer", "gradient_accumulation": 2}, 64, PLAIN + ", with accumulation"),
    ({"global_batch_size": 64}, 64, None),
    ({"global_batch_size": 64, "pp": 2}, 64, None),
    ({"batch_per_device": 16}, 128, None),
    ({"batch_per_device": 4.5}, 36, None),
    ({"batch_per_device": 4.3}, 32, PLAIN),
    ({"batch_per_device": 16, "global_batch_size": 64}, 64, None),
]


@pytest.fixture(scope="module")
def stated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run for each case: micro-batches of 4 on 8 devices, with more facts in a sidecar."""
    folder = tmp_path_factory.mktemp("stated")
    for place, (facts, _, _) in enumerate(STATED):
        logs = folder / "logs" / f"case{place}"
        write_log(logs / "train.csv", 1.0 + place / 1000, devices=8, micro_batch_size=4)
        lines = (f'{key} = "{fact}"' if isinstance(fact, str) else f"{key} = {fact}" for key, fact in facts.items())
        (logs / SIDECAR_NAME).write_text("[facts]\n" + "\n".join(lines) + "\n")
    return ingested(folder / "logs", folder / "w")


def test_what_the_batch_follows_from(stated: Path) -> None:
    names = dict(ask_sql(stated, "SELECT run_id, path FROM runs").rows())
    place_of = {run: int(re.findall(r"case(\d+)", path)[0]) for run, path in names.items()}
    batches = {
        place_of[run]: batch for run, batch in ask_sql(stated, "SELECT run_id, global_batch_size FROM runs").rows()
    }
    said = ask_sql(stated, "SELECT run_id, value FROM params WHERE key = 'global_batch_size_origin'").rows()
    origins = {place_of[run]: origin for run, origin in said}
    contradicted = [(place_of[row["run_id"]], row["key"]) for row in ask(stated, "contradictions").to_dicts()]
    assert len(batches) == len(STATED) and len(origins) == len(said)
    for place, (facts, batch, origin) in enumerate(STATED):
        assert (batches[place], origins.get(place)) == (batch, origin), facts
        contradictions = [key for of_place, key in contradicted if of_place == place]
        is_contradicted = {"batch_per_device", "global_batch_size"} <= {*facts}
        assert contradictions == (["global_batch_size"] * 2 if is_contradicted else []), facts


def test_a_batch_per_device_counts_as_much_as_a_sidecars_global_batch(tmp_path: Path) -> None:
    """It goes before the batch of a log, and the two are a contradiction."""
    write_log(tmp_path / "logs" / "train.csv", 1.0, devices=8, global_batch_size=64)
    (tmp_path / "logs" / SIDECAR_NAME).write_text("[facts]\nbatch_per_device = 16\n")
    home = ingested(tmp_path / "logs", tmp_path / "w")
    assert ask_sql(home, "SELECT global_batch_size FROM runs").rows() == [(128,)]
    rows = ask(home, "contradictions", select="value, origin, chosen FROM {}").rows()
    assert rows == [("128", "sidecar", True), ("64", "log", False)]


def test_a_template_names_the_batch_per_device(tmp_path: Path) -> None:
    write_log(tmp_path / "logs" / "b16" / "train.csv", 1.0, devices=8)
    (tmp_path / "logs" / SIDECAR_NAME).write_text('templates = ["b{batch_per_device}/*"]\n')
    home = ingested(tmp_path / "logs", tmp_path / "w")
    assert batches(home) == [("128", "sidecar")]
    assert "label_batch_per_device" not in ask_sql(home, "FROM runs").columns


def test_a_batch_below_what_the_devices_compute_at_once_is_a_contradiction(tmp_path: Path) -> None:
    """With a global batch of 256 for all sizes, a micro-batch of 256 on 512 devices is impossible."""
    logs = write_weak_study(tmp_path / "logs", micro_batch_size=256)
    (logs / SIDECAR_NAME).write_text("[facts]\nglobal_batch_size = 256\n")
    home = ingested(logs, tmp_path / "w")
    rows = ask(home, "contradictions", {"runs": "devices = 512"}).join(
        ask_sql(home, "SELECT file_id, parse_filename(path) AS file FROM files"), "file_id"
    )
    assert rows.select("key", "value", "origin", "chosen", "file", "line").rows() == [
        ("global_batch_size", "256", "sidecar", True, SIDECAR_NAME, 2),
        ("global_batch_size", "131072", "inferred", False, "train.csv", 2),
    ]
    assert all(
        f"micro-batch 256 on {row['devices']} devices excludes a global batch of 256" in row["note"]
        for row in ask(home, "scaling").to_dicts()
    )


def test_a_batch_of_as_many_samples_as_are_computed_at_once_is_none(tmp_path: Path) -> None:
    write_log(tmp_path / "logs" / "train.csv", 1.0, devices=8, micro_batch_size=4, global_batch_size=32)
    home = ingested(tmp_path / "logs", tmp_path / "w")
    assert ask(home, "contradictions").is_empty() and batches(home) == [("32", "log")]


def test_numbers_beyond_all_bounds_are_no_batch(tmp_path: Path) -> None:
    huge = 2**62
    write_log(tmp_path / "logs" / "train.csv", 1.0, devices=512, micro_batch_size=huge)
    home = ingested(tmp_path / "logs", tmp_path / "w")
    assert ask_sql(home, "SELECT count(*) FROM runs").rows() == [(1,)] and batches(home) == []


def test_the_samples_of_the_records_go_before_an_inferred_batch(warehouse: Warehouse) -> None:
    """Accumulation that no log states shows in what the records count."""
    for devices in (1, 2):
        facts = {"model": "m", "system": "s", "devices": devices, "global_batch_size": 8 * devices}
        warehouse.run(f"n{devices}", [1.0] * 9, **facts)
        warehouse.insert("params", [{"run_id": f"n{devices}", "key": "global_batch_size_origin", "value": PLAIN}])
    assert {row["note"].split(";")[0] for row in warehouse.ask("FROM scaling()")} == {
        f"global batch inferred from {PLAIN}"
    }
    warehouse.insert(
        "steps",
        [{"run_id": f"n{n}", "file_id": f"n{n}", "line": 1, "phase": "train", "samples": 32.0 * n} for n in (1, 2)],
    )
    rows = warehouse.ask("FROM scaling()")
    assert [row["global_batch_size"] for row in rows] == [32, 64]
    assert not any("inferred" in (row["note"] or "") for row in rows)


@pytest.mark.parametrize(("argument", "batch"), [("", 512), (" --gradient-accumulation-count 16", 512)])
def test_rate_and_time_of_a_log_decide_the_batch(tmp_path: Path, argument: str, batch: int) -> None:
    """TensorFlow on IPUs: 8 samples on 4 replicas, 16 times an update, whether the command says so or not."""
    log = FIXTURES / "graphcore" / "cnn_tf1_poprun.log"
    (tmp_path / "logs").mkdir()
    text = log.read_text().replace("--micro-batch-size 8", "--micro-batch-size 8" + argument)
    (tmp_path / "logs" / "train.log").write_text(text)
    home = ingested(tmp_path / "logs", tmp_path / "w")
    assert ask_sql(home, "SELECT global_batch_size FROM runs").rows() == [(batch,)]
    assert ask(home, "contradictions").is_empty()


@pytest.mark.parametrize("key", ["gradient_accumulation_count", "accumulate_grad_batches", "accum_freq"])
def test_an_accumulation_counts_under_each_of_its_names(tmp_path: Path, key: str) -> None:
    command = f"+ python train.py --micro-batch-size 4 --{key.replace('_', '-')} 4\n"
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "train.log").write_text(command + "iter 10: loss 4.3133, time 245.53ms, mfu 8.77%\n" * 2)
    (tmp_path / "logs" / SIDECAR_NAME).write_text("[facts]\ndevices = 8\n")
    home = ingested(tmp_path / "logs", tmp_path / "w")
    assert batches(home) == [("128", "inferred")]


@pytest.mark.parametrize(("samples", "contradicts"), [(512.0, True), (32.3, False)])
def test_samples_of_records_contradict_an_inferred_batch(
    warehouse: Warehouse, samples: float, contradicts: bool
) -> None:
    warehouse.run("r", [1.0] * 3, devices=4, global_batch_size=32)
    warehouse.insert("params", [{"run_id": "r", "key": "global_batch_size", "value": "32", "origin": "inferred"}])
    warehouse.insert("params", [{"run_id": "r", "key": "global_batch_size_origin", "value": PLAIN}])
    record = {"run_id": "r", "file_id": "f", "phase": "train", "value_kind": "instant", "samples": samples}
    warehouse.insert("steps", [record | {"line": line} for line in (7, 8)])
    rows = warehouse.ask("SELECT value, origin, chosen, line FROM contradictions() WHERE key = 'global_batch_size'")
    found = [(row["value"], row["origin"], row["chosen"]) for row in rows]
    assert found == ([("32", "inferred", True), ("512", "log", False)] if contradicts else [])


@pytest.mark.parametrize("copy", [False, True])
def test_a_dated_file_holds_the_inferred_batch(tmp_path: Path, copy: bool) -> None:
    home = ingested(write_weak_study(tmp_path / "logs", micro_batch_size=256), tmp_path / "w")
    write_dated_file(home, tmp_path / "study.duckdb", copy)
    with duckdb.connect(tmp_path / "study.duckdb", read_only=True) as connection:
        assert connection.execute("SELECT max(global_batch_size) FROM runs").fetchall() == [(131072,)]
        assert connection.execute(BATCHES).fetchall() == batches(home)
