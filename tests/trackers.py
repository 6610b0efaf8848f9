"""Files of trackers, written byte by byte: W&B's own record of a run, and the databases of MLflow and trackio.

`python tests/trackers.py` writes the fixtures again.
"""

import json
import sqlite3
import struct
import sys
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

FIXTURES = (
    "wandb_run", "mlflow_database", "trackio_database", "clearml_metrics", "clearml_task", "comet_messages",
    "neptune_operations", "aim_repository",
)  # fmt: skip
HEADER = b":W&B\xe1\xbe\x00"
BLOCK = 1 << 15
BEGAN = 1_790_000_000  # seconds since 1970
HISTORY, SUMMARY, CONFIG, STATS, OUTPUT, RUN, EXIT, VERSION, ENVIRONMENT, INFO = 2, 3, 5, 7, 13, 17, 18, 21, 26, 200


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    found = b""
    while value > 127:
        found, value = found + bytes([value & 127 | 128]), value >> 7
    return found + bytes([value])


def field(number: int, content: bytes | str | int) -> bytes:
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    content = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(content)) + content


def stamp(seconds: float) -> bytes:
    return field(1, int(seconds)) + field(2, round(seconds % 1 * 1e9))


def items(values: Mapping[str, Any], nested: bool = True, of: int = 1) -> bytes:
    """Items of a history (nested names) or of a configuration, whose values are JSON."""
    names = {name: name.split("|") if nested else [name] for name in values}
    written = (
        b"".join(field(2 if nested else 1, part) for part in names[name]) + field(16, json.dumps(value))
        for name, value in values.items()
    )
    return b"".join(field(of, item) for item in written)


def history(step: int, seconds: float, values: Mapping[str, Any]) -> bytes:
    own = {"_step": step, "_runtime": seconds, "_timestamp": BEGAN + seconds}
    return field(HISTORY, items({**values, **own}) + field(2, field(1, step)))


def summary(values: Mapping[str, Any], by_script: bool = False) -> bytes:
    return field(SUMMARY, items(values, nested=not by_script)) + (field(INFO, field(1, "id")) if by_script else b"")


def stats(seconds: float, values: Mapping[str, float]) -> bytes:
    return field(STATS, field(2, stamp(BEGAN + seconds)) + items(values, nested=False, of=3))


def run(name: str, configuration: Mapping[str, Any], **facts: str) -> bytes:
    numbers = {"run_id": 1, "project": 3, "group": 6, "host": 13}
    texts = b"".join(field(numbers[key], value) for key, value in facts.items())
    return field(
        RUN, texts + field(4, items(configuration, nested=False)) + field(8, name) + field(10, "a") + field(10, "b")
    )


def environment(slurm: Mapping[str, str], *arguments: str) -> bytes:
    jobs = b"".join(field(27, field(1, key) + field(2, value)) for key, value in slurm.items())
    command = b"".join(field(5, argument) for argument in arguments) + field(6, "train.py")
    return field(ENVIRONMENT, command + field(12, "node1") + field(18, "NVIDIA H100 80GB HBM3") + field(19, 4) + jobs)


def wandb_file(records: Iterable[bytes], header: bytes = HEADER) -> bytes:
    """Records in LevelDB's log format."""
    content = bytearray(header)
    for number, record in enumerate(records, 1):
        rest, first = field(1, number) + record, True
        while first or rest:
            left = BLOCK - len(content) % BLOCK
            if left < 7:
                content += bytes(left)
                continue
            piece, rest = rest[: left - 7], rest[left - 7 :]
            kind = (1 if not rest else 2) if first else (3 if rest else 4)
            content += struct.pack("<IHB", zlib.crc32(bytes([kind]) + piece), len(piece), kind) + piece
            first = False
    return bytes(content)


def small_run(ended: bool = True) -> list[bytes]:
    """A run that logs each tenth step, with a validation, statistics of a GPU, and a configuration that grows."""
    configuration = {
        "model": {"hidden_size": 1024, "micro_batch_size": 4}, "world_size": 8, "bf16": True, "lr": 0.1, "_wandb": {},
        "notes": None,
    }  # fmt: skip
    records = [
        field(VERSION, field(1, field(1, "0.31.0+abc"))),
        run("first", configuration, run_id="abc", project="p", group="g", host="node1"),
        environment({"job_id": "4711"}, "--lr", "0.1"),
    ]
    for k in range(12):
        values = {"train/loss": 8 / (k + 1), "lr": 1e-3, "train/global_step": 10 * k, "perf/mfu": 0.4, "epoch": k / 4}
        if k == 5:
            values |= {"val/loss": 1.5}
        if k == 7:
            values |= {"text": "hello", "flag": True, "nested|a": 2, "z": float("inf")}
        records += [history(k, 2.5 * k, values), summary({"_wandb|runtime": 2}), summary(values)]
        if k % 4 == 0:
            records.append(stats(2.5 * k, {"gpu.0.powerWatts": 400.5 + k, "gpu.0.gpu": 97, "cpu": 3.5}))
            records.append(field(OUTPUT, field(3, f"step {k}\n")))
    records.append(field(CONFIG, items({"late": 5}, nested=False)))
    records.append(summary({"best": 0.5}, by_script=True))
    return [*records, field(EXIT, field(2, 31))] if ended else records


def event_file(records: Iterable[tuple[int, float, Mapping[str, float]]]) -> bytes:
    """An event file of TensorBoard: a step, a time in seconds since 1970, and scalars in each event."""
    events = [b"\x09" + struct.pack("<d", 1.7e9) + field(3, "brain.Event:2")]
    for step, seconds, scalars in records:
        values = (field(1, field(1, tag) + b"\x15" + struct.pack("<f", value)) for tag, value in scalars.items())
        events.append(b"\x09" + struct.pack("<d", seconds) + b"\x10" + varint(step) + field(5, b"".join(values)))
    lengths = [struct.pack("<Q", len(event)) for event in events]
    return b"".join(
        length + struct.pack("<I", _masked(length)) + event + bytes(4)
        for length, event in zip(lengths, events, strict=True)
    )


def _masked(text: bytes) -> int:
    """The checksum of a length in TensorBoard's files: CRC-32C, rotated and shifted."""
    crc = 0xFFFFFFFF
    for byte in text:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def mlflow_database(path: Path, runs: Sequence[Mapping[str, Any]]) -> Path:
    """A database of MLflow with the tables that hold runs."""
    path.unlink(missing_ok=True)
    database = sqlite3.connect(path)
    database.executescript("""
        CREATE TABLE experiments (experiment_id INTEGER PRIMARY KEY, name VARCHAR(256) UNIQUE NOT NULL);
        CREATE TABLE runs (run_uuid VARCHAR(32) PRIMARY KEY, name VARCHAR(250), status VARCHAR(9), start_time BIGINT,
            end_time BIGINT, lifecycle_stage VARCHAR(20), experiment_id INTEGER);
        CREATE TABLE metrics (key VARCHAR(250) NOT NULL, value FLOAT NOT NULL, timestamp BIGINT NOT NULL,
            run_uuid VARCHAR(32) NOT NULL, step BIGINT DEFAULT '0' NOT NULL, is_nan BOOLEAN DEFAULT '0' NOT NULL,
            PRIMARY KEY (key, timestamp, step, run_uuid, value, is_nan));
        CREATE TABLE params (key VARCHAR(250) NOT NULL, value VARCHAR(8000) NOT NULL, run_uuid VARCHAR(32) NOT NULL);
        CREATE TABLE tags (key VARCHAR(250) NOT NULL, value VARCHAR(8000), run_uuid VARCHAR(32) NOT NULL);
    """)
    for number, run in enumerate(runs):
        name, began = run["name"], (BEGAN + 100 * number) * 1000
        experiment = run.get("experiment", "pretraining")
        database.execute("INSERT OR IGNORE INTO experiments (name) VALUES (?)", (experiment,))
        (identity,) = database.execute("SELECT experiment_id FROM experiments WHERE name = ?", (experiment,)).fetchone()
        ended = began + 60_000 if run.get("status", "FINISHED") != "RUNNING" else None
        stage = run.get("stage", "active")
        row = (f"{number:032x}", name, run.get("status", "FINISHED"), began, ended, stage, identity)
        database.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        for table in ("params", "tags"):
            for key, value in run.get(table, {}).items():
                database.execute(f"INSERT INTO {table} VALUES (?, ?, ?)", (key, value, row[0]))
        for key, value, ms, step in run.get("metrics", ()):
            is_nan = value != value
            stored = 0 if is_nan else max(-sys.float_info.max, min(sys.float_info.max, value))
            database.execute(
                "INSERT INTO metrics VALUES (?, ?, ?, ?, ?, ?)", (key, stored, began + ms, row[0], step, is_nan)
            )
    database.commit()
    database.close()
    return path


def mlflow_runs() -> list[dict[str, Any]]:
    """Two experiments: a run that restarts, one that is still running, one that was deleted."""
    steps = [*range(0, 60, 10), *range(30, 80, 10)]
    trained = [
        (key, value, 2_500 * k, step)
        for k, step in enumerate(steps)
        for key, value in (("train/loss", 8 / (k + 1)), ("lr", 1e-3), ("train/global_step", step), ("mfu", 0.25))
    ]
    power = [("system/gpu_0_power_usage_watts", 300.5 + k, 1_000 * k, k) for k in range(3)]
    power += [("system/gpu_0_utilization_percentage", 98.0, 0, 0), ("system/cpu_utilization_percentage", 5.0, 0, 0)]
    odd = [("diverged", float("inf"), 2, 1)]
    parameters = {"world_size": "8", "micro_batch_size": "4", "model": "gpt", "bf16": "True", "optimizer.name": "adam"}
    return [
        {"name": "restarted", "params": parameters, "tags": {"team": "x", "mlflow.user": "u"}, "metrics": trained + power},
        {"name": "epochs", "experiment": "other", "status": "RUNNING",
         "metrics": [("val_accuracy", 0.5 + k / 10, 1_000 * k, k) for k in range(4)] + odd},
        {"name": "gone", "stage": "deleted", "metrics": [("loss", 1.0, 0, 0)]},
    ]  # fmt: skip


def trackio_database(path: Path, runs: Mapping[str, Sequence[tuple[int, float, Mapping[str, Any]]]]) -> Path:
    """A database of trackio: the records of each run as step, seconds and values."""
    path.unlink(missing_ok=True)
    database = sqlite3.connect(path)
    columns = (
        "id INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL, timestamp TEXT NOT NULL, run_name TEXT NOT NULL"
    )
    database.execute(f"CREATE TABLE metrics ({columns}, step INTEGER NOT NULL, metrics TEXT NOT NULL)")
    database.execute(f"CREATE TABLE system_metrics ({columns}, metrics TEXT NOT NULL)")
    database.execute(
        "CREATE TABLE configs (id INTEGER PRIMARY KEY, run_id TEXT, run_name TEXT, config TEXT, created_at TEXT)"
    )
    for name, records in runs.items():
        configuration = json.dumps({"micro_batch_size": 2, "model": "gpt", "_Group": "g", "_Username": "u"})
        database.execute(
            "INSERT INTO configs (run_id, run_name, config) VALUES (?, ?, ?)", (f"id-{name}", name, configuration)
        )
        for step, seconds, values in records:
            whole, text = f"2026-09-21T14:{int(seconds) // 60:02}:{seconds % 60:06.3f}+00:00", json.dumps(values)
            row = (f"id-{name}", whole, name, step, text)
            database.execute(
                "INSERT INTO metrics (run_id, timestamp, run_name, step, metrics) VALUES (?, ?, ?, ?, ?)", row
            )
        row = (
            f"id-{name}",
            "2026-09-21T14:00:01+00:00",
            name,
            json.dumps({"gpu/0/power": 250.5, "gpu/0/utilization": 90}),
        )
        database.execute("INSERT INTO system_metrics (run_id, timestamp, run_name, metrics) VALUES (?, ?, ?, ?)", row)
    database.commit()
    database.close()
    return path


def trackio_runs() -> dict[str, list[tuple[int, float, dict[str, Any]]]]:
    counted = [(10 * k, 2.5 * k, {"train/loss": 4 / (k + 1), "note": "a", "nested": {"b": 1}}) for k in range(6)]
    sent_together = [
        (k, 1.5 if k < 3 else 30.5, {"loss": 1.0, "z": "Infinity", "step_time_ms": 250.0}) for k in range(6)
    ]
    return {"counted": counted, "together": sent_together}


def clearml_events() -> list[list[dict[str, Any]]]:
    scalars = [
        {"timestamp": BEGAN * 1000 + 2500 * k, "type": "training_stats_scalar", "task": "offline-1", "iter": 10 * k,
         "metric": name, "variant": series, "value": value, "method": "get"}
        for k in range(6) for name, series, value in (("loss", "loss", 6 / (k + 1)), ("accuracy", "train", 0.1 * k))
    ]  # fmt: skip
    best = {**scalars[0], "metric": "Summary", "variant": "best", "iter": -(1 << 31), "value": 0.5}
    monitor = {**scalars[0], "metric": ":monitor:gpu", "variant": "gpu_0_utilization", "iter": 30, "value": 97.0}
    return [scalars[:6], [*scalars[6:], best, monitor]]


def clearml_task() -> dict[str, Any]:
    entries = {"lr": "0.1", "micro_batch_size": "4", "net/hidden_size": "1024"}
    settings = {name: {"name": name, "section": "General", "value": value} for name, value in entries.items()}
    return {
        "hyperparams": {"General": settings}, "id": "offline-1", "name": "first", "offline_folder": "/tmp/offline-1",
        "project_name": "p", "tags": ["x"], "type": "training",
    }  # fmt: skip


def comet_messages() -> list[dict[str, Any]]:
    def message(kind: str, **content: Any) -> dict[str, Any]:
        return {"payload": {"local_timestamp": BEGAN * 1000, "message_id": 1, **content}, "type": kind}

    def metric(name: str, value: float, step: int | None, seconds: float) -> dict[str, Any]:
        values = {"epoch": step and step // 20, "metricName": name, "metricValue": value, "step": step}
        return message("metric_msg", local_timestamp=round((BEGAN + seconds) * 1000), metric=values)

    logged = [metric(name, 1 / (k + 1), 10 * k, 2.5 * k) for k in range(6) for name in ("train/loss", "norm")]
    settings = [("lr", 0.1), ("net|hidden_size", 1024), ("micro_batch_size", 4)]
    parameters = [
        message("parameter_msg", param={"paramName": name, "paramValue": value, "step": None})
        for name, value in settings
    ]
    return [
        message("file_name", file_name="train.py"), message("system_details", command=["train.py"], hostname="node1"),
        message("log_other", key="Name", value="first"), *parameters, metric("sys.gpu.0.gpu_utilization", 97.0, None, 0.0),
        *logged,
    ]  # fmt: skip


def neptune_operations() -> list[dict[str, Any]]:
    def operation(kind: str, path: str, **content: Any) -> dict[str, Any]:
        return {"obj": {"type": kind, "path": path.split("/"), **content}, "version": 1, "at": BEGAN}

    def values(path: str, value: float, step: int | None, seconds: float) -> dict[str, Any]:
        return operation("LogFloats", path, values=[{"value": value, "step": step, "ts": BEGAN + seconds}])

    return [
        operation("AssignString", "sys/name", value="first"), operation("AssignString", "monitoring/a/hostname", value="n1"),
        operation("AssignFloat", "parameters/lr", value=0.1), operation("AssignInt", "parameters/micro_batch_size", value=4),
        values("monitoring/a/cpu", 5.0, None, 0.0), *(values("train/loss", 1 / (k + 1), 10 * k, 2.5 * k) for k in range(6)),
        *(values("uncounted", float(k), None, 20.0 + k) for k in range(3)),
    ]  # fmt: skip


def aim_repository(path: Path) -> None:
    path.unlink(missing_ok=True)
    database = sqlite3.connect(path)
    database.executescript("""
        CREATE TABLE run (id INTEGER PRIMARY KEY, hash VARCHAR, name VARCHAR, is_archived BOOLEAN, finalized_at DATETIME,
            experiment_id INTEGER);
        CREATE TABLE run_tag (run_id INTEGER, tag_id INTEGER);
    """)
    database.close()


def write_fixtures(folder: Path) -> None:
    for name in FIXTURES:
        (folder / name).mkdir(exist_ok=True)
    aim_repository(folder / "aim_repository" / "run_metadata.sqlite")
    (folder / "clearml_task" / "task.json").write_text(json.dumps(clearml_task()))
    for place, lines in (
        ("clearml_metrics/metrics.jsonl", clearml_events()), ("comet_messages/messages.json", comet_messages()),
        ("neptune_operations/data-1.log", neptune_operations()),
    ):  # fmt: skip
        (folder / place).write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    (folder / "wandb_run" / "finished.wandb").write_bytes(wandb_file(small_run()))
    (folder / "wandb_run" / "killed.wandb").write_bytes(wandb_file(small_run(ended=False))[:-9])
    mlflow_database(folder / "mlflow_database" / "mlflow.sqlite", mlflow_runs())
    trackio_database(folder / "trackio_database" / "trackio.sqlite", trackio_runs())


if __name__ == "__main__":
    write_fixtures(Path(__file__).with_name("fixtures"))
