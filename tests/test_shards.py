"""Ingests that divide the work: whoever reads which part, in whatever order, the answers are those of one process."""

import random
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from conftest import FIXTURES
from scalelens.errors import UserError
from scalelens.ingestion.ingest import ingest
from scalelens.ingestion.shards import Shard, shard_of
from scalelens.ingestion.walk import walk
from scalelens.warehouse.log import Warehouse
from test_order import pack
from test_warehouse import everything, write_log, write_logs

if TYPE_CHECKING:
    from command_line import Run


def study(folder: Path) -> Path:
    """Logs and power files that complement each other, copies, an archive, and a sidecar."""
    write_logs(folder / "a", 5)
    write_logs(folder / "b" / "c", 3, steps=9)
    shutil.copy(folder / "a" / "0.log", folder / "copy.log")
    pack(folder / "packed.tar", folder / "a" / "1.log", write_log(folder / "z" / "slurm-1234567.out", 7))
    for name in ("jpwr", "kineto"):
        shutil.copytree(FIXTURES / name, folder / "b" / name, ignore=shutil.ignore_patterns("*.*.csv", "*.status"))
    (folder / "b" / "scalelens.toml").write_text('timezone = "Europe/Berlin"\n[labels]\nstudy = "b"\n')
    return folder


@pytest.mark.parametrize("count", [2, 5])
def test_shards_in_any_order_give_the_answers_of_one_process(tmp_path: Path, count: int) -> None:
    logs = study(tmp_path / "logs")
    ingest([logs], tmp_path / "one", jobs=1)
    for seed in range(2):
        home, numbers = tmp_path / f"{seed}", random.Random(seed).sample(range(1, count + 1), count)
        reports = [ingest([logs], home, jobs=1, shard=Shard(number, count)) for number in numbers]
        assert sum(bool(report.entries) for report in reports) > 1
        assert but_who_came_first(everything(home)) == but_who_came_first(everything(tmp_path / "one"))
        assert ingest([logs], home, jobs=1).entries == []


def but_who_came_first(tables: dict[str, list[object]]) -> dict[str, list[object]]:
    """All rows, without the table of files: a content that is there twice has the status of whoever read it first."""
    return {name: rows for name, rows in tables.items() if name != "files"}


def test_every_file_belongs_to_one_shard_wherever_the_folder_is(tmp_path: Path) -> None:
    logs = study(tmp_path / "logs")
    files = list(walk([logs], []))
    assert all(sum(Shard(number, 7).holds(file) for number in range(1, 8)) == 1 for file in files)
    shutil.copytree(logs, tmp_path / "mounted" / "logs")
    elsewhere = list(walk([tmp_path / "mounted" / "logs"], []))
    assert [Shard(3, 7).holds(file) for file in files] == [Shard(3, 7).holds(file) for file in elsewhere]


def test_a_shard_does_not_give_up_what_it_did_not_read(tmp_path: Path) -> None:
    home, logs = tmp_path / "w", write_logs(tmp_path / "logs", 4)
    for number in range(4):
        ingest([logs / f"{number}.log"], home)
    sorted((home / "_log").iterdir())[1].unlink()
    assert ingest([logs], home, reread=True, shard=Shard(1, 2)).damages
    ingest([logs], home, reread=True, shard=Shard(2, 2))
    with pytest.raises(UserError, match="is gone"):
        Warehouse(home).live()
    assert not ingest([logs], home, reread=True).damages


def task(monkeypatch: pytest.MonkeyPatch, **numbers: int) -> None:
    for name, number in numbers.items():
        monkeypatch.setenv(f"SLURM_ARRAY_TASK_{name}", str(number))


def test_a_task_of_a_job_array_is_a_shard(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="not a task of a Slurm job array"):
        shard_of("slurm")
    task(monkeypatch, ID=0, MIN=0, MAX=3, COUNT=4)
    assert shard_of("slurm") == Shard(1, 4)
    task(monkeypatch, ID=8, MIN=5, MAX=8, COUNT=4)
    assert shard_of("slurm") == Shard(4, 4)
    task(monkeypatch, ID=5, MIN=1, MAX=9, COUNT=4)
    with pytest.raises(UserError, match="gaps"):
        shard_of("slurm")


@pytest.mark.parametrize("text", ["0/4", "5/4", "1", "a/b", "1/0", "-1/4", "1/4/2", ""])
def test_what_is_no_shard_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="not a shard"):
        shard_of(text)


def test_the_printed_job_array_ingests_all(run: "Run", tmp_path: Path) -> None:
    home, logs = tmp_path / "w", write_logs(tmp_path / "my logs", 6)
    script = run("ingest", logs, "-w", home, "--tz", "Europe/Berlin", "--slurm", 3)
    assert script.code == 0 and "#SBATCH --array=1-3" in script.out and not home.exists()
    command = script.out.splitlines()[-1]
    for number in (1, 2, 3):
        task = f"scalelens() {{ printf '%s\\n' \"$@\"; }}; SLURM_ARRAY_TASK_ID={number}; {command}"
        words = subprocess.run(["bash", "-c", task], capture_output=True, text=True, check=True).stdout.splitlines()
        assert run(*words).code == 0
    assert len(ingest([logs], home, time_zone="Europe/Berlin").entries) == 0
    assert {Path(path).name for path in Warehouse(home).live().paths} == {f"{number}.log" for number in range(6)}
