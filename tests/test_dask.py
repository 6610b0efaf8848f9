"""Ingest on Dask's workers: the rows of one process, also where a worker is killed in the middle."""

import os
import shlex
import shutil
import signal
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from scalelens.errors import UserError
from scalelens.ingestion import ingest as ingestion
from scalelens.ingestion.ingest import ingest
from scalelens.question import by_run as asked_by_run
from scalelens.runs.stored_order import by_run
from scalelens.warehouse.compact import compact
from test_compact import hashes
from test_warehouse import everything, records, write_logs

if TYPE_CHECKING:
    from command_line import Run

distributed = pytest.importorskip("distributed", reason="the extra 'dask' is not installed")


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(ingestion, "BATCH_FILES", 2)
    logs = write_logs(tmp_path / "logs", 9)
    shutil.copy(logs / "0.log", logs / "copy.log")
    ingest([logs], tmp_path / "one", jobs=1)
    return logs


def test_two_workers_give_the_rows_of_one_process(logs: Path, tmp_path: Path) -> None:
    report = ingest([logs], tmp_path / "w", jobs=2, dask="local")
    assert len(report.entries) == 10 and len(records(tmp_path / "w")) == 5
    assert everything(tmp_path / "w") == everything(tmp_path / "one")
    assert ingest([logs], tmp_path / "w", dask="local").entries == []  # and no cluster is started for nothing
    for home in (tmp_path / "w", tmp_path / "one"):
        compact(home, order=by_run)
    assert hashes(tmp_path / "w") == hashes(tmp_path / "one")


def test_a_cluster_that_runs_on_is_given_the_next_ingest(logs: Path, tmp_path: Path) -> None:
    """Its workers must not remember what was committed at the time of the first one."""
    with distributed.LocalCluster(1, threads_per_worker=4, memory_limit=0, dashboard_address=None) as cluster:
        for home in (tmp_path / "w", tmp_path / "w", tmp_path / "v"):
            shutil.rmtree(home, ignore_errors=True)
            ingest([logs], home, jobs=2, dask=cluster.scheduler_address)
            assert everything(home) == everything(tmp_path / "one")


def test_a_worker_that_is_killed_costs_time_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    logs, home = write_logs(tmp_path / "logs", 40, steps=300), tmp_path / "w"
    ingest([logs], tmp_path / "one", jobs=1)
    monkeypatch.setattr(ingestion, "BATCH_FILES", 2)
    with distributed.LocalCluster(2, threads_per_worker=1, memory_limit=0, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            victim = next(iter(client.run(os.getpid).values()))

        def kill() -> None:
            while not (home / "_log").is_dir() or len(records(home)) < 3:
                time.sleep(0.002)
            os.kill(victim, signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        ingest([logs], home, dask=cluster.scheduler_address)
        killer.join()
    rows = {name: everything(folder) for name, folder in (("w", home), ("one", tmp_path / "one"))}
    assert all(rows["w"][table] == rows["one"][table] for table in ("steps", "params", "members", "runs"))
    assert ingest([logs], home).entries == []


def test_runs_are_asked_on_workers(logs: Path, tmp_path: Path, run: "Run", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asked_by_run, "GROUP_ROWS", 20)
    asked = ("query", "batch_stats", "-w", tmp_path / "one")
    with distributed.LocalCluster(2, threads_per_worker=1, memory_limit=0, dashboard_address=None) as cluster:
        apart = run(*asked, "--dask", cluster.scheduler_address)
    assert apart.out == run(*asked).out and apart.out.count("\n") > 9
    for refused in (("query", "scaling"), ("query", "batch_stats", "--limit", 1)):
        assert "all runs at once" in run(*refused, "-w", tmp_path / "one", "--dask", "local").err
    assert "--dask cannot be combined with --format latex" in run(*asked, "--format", "latex", "--dask", "local").err


SBATCH = """#!/bin/bash
cp "$1" "$1.copy"
bash "$1.copy" >"$1.out" 2>&1 </dev/null &
echo "Submitted batch job $!"
"""


def test_slurm_jobs_are_workers(logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("dask_jobqueue", reason="the extra 'dask' is not installed")
    commands = tmp_path / "bin"
    commands.mkdir()
    for name, text in (("sbatch", SBATCH), ("scancel", '#!/bin/bash\nkill "$@"\n')):
        (commands / name).write_text(text)
        (commands / name).chmod(0o755)
    python = tmp_path / "my environment" / "python"
    python.parent.mkdir()
    python.write_text(f'#!/bin/bash\nexec {shlex.quote(sys.executable)} "$@"\n')
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.setenv("PATH", f"{commands}:{os.environ['PATH']}")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    ingest([logs], tmp_path / "w", jobs=1, dask="slurm")
    assert everything(tmp_path / "w") == everything(tmp_path / "one")


def test_a_cluster_that_cannot_be_used_is_one_line(
    logs: Path, tmp_path: Path, run: "Run", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scalelens.ingestion.clusters.CONNECT_S", 1)
    for where, said in (("tcp://127.0.0.1:1", "--dask"), ("no address", "--dask"), ("slurm", "sbatch was not found")):
        with pytest.raises(UserError, match=said):
            ingest([logs], tmp_path / "w", dask=where)
    assert "sbatch was not found" in run("ingest", logs, "-w", tmp_path / "w", "--dask", "slurm").err
