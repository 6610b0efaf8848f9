"""Twelve writers over 72 folders, a third of them killed, beside `compact`, `forget`, `gc` and readers.

Nothing that a writer committed is lost, nothing is there twice, and no reader sees a half of a file.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from scalelens.ingestion.ingest import ingest
from scalelens.warehouse.check import check
from test_warehouse import steps_by_path, write_log

WRITERS, FOLDERS, LOGS, STEPS = 12, 72, 2, 30
# The process that forks has imported all that the work needs, and does none of it itself.
ROUND = """
import json, os, random, signal, sys, time, traceback
from pathlib import Path
import scalelens
from scalelens.ingestion import formats
from scalelens.ingestion.ingest import ingest
from scalelens.runs.stored_order import by_run
from scalelens.warehouse.compact import compact
from scalelens.warehouse.gc import gc
from scalelens.warehouse.log import Warehouse

formats.load()
logs, home, seed, writers, steps = Path(sys.argv[1]), Path(sys.argv[2]), *map(int, sys.argv[3:])
chance = random.Random(seed)
folders = sorted(logs.iterdir())
COUNTS = "SELECT file_id, count(*) FROM steps GROUP BY ALL"


def forked(act):
    process = os.fork()
    if not process:
        try:
            act()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
        os._exit(1)
    return process


def write(number):
    for folder in folders[number::writers]:
        ingest([folder], home, jobs=1)


def read():
    while True:
        halves = [row for row in scalelens.sql(COUNTS, home).rows() if row[1] != steps]
        assert not halves, halves


def forget_and_read_again():
    while True:
        ingest([folders[0]], home, jobs=1)
        Warehouse(home).forget([str(path) for path in folders[0].iterdir()])


def clean():
    while True:
        compact(home, order=by_run)
        gc(home)


Warehouse(home).create()
beside = [forked(act) for act in (clean, forget_and_read_again, read, read)]
working = {number: forked(lambda: write(number)) for number in range(writers)}
killed = chance.sample(range(1, writers), writers // 3)
for number in killed:
    time.sleep(chance.random() * 0.5)
    os.kill(working[number], signal.SIGKILL)
codes = {number: os.waitpid(process, 0)[1] for number, process in working.items()}
ended_early = [process for process in beside if os.waitpid(process, os.WNOHANG)[0]]
for process in beside:
    if process not in ended_early:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
assert not ended_early and all(codes[number] == 0 for number in codes if number not in killed), codes
whole = [folder.name for number in codes if number not in killed for folder in folders[number::writers][number == 0:]]
print(json.dumps(whole))
"""


@pytest.mark.parametrize("rounds", [1, pytest.param(20, marks=pytest.mark.slow)])
def test_writers_that_are_killed_beside_everything_else(tmp_path: Path, rounds: int) -> None:
    logs = tmp_path / "logs"
    for folder in range(FOLDERS):
        for log in range(LOGS):
            name = f"{folder:02d}-{log}.log"
            write_log(logs / f"{folder:02d}" / name, STEPS, step_ms=1000.0 + 10 * (2 * folder + log))
    for seed in range(rounds):
        home = tmp_path / f"w{seed}"
        arguments = [str(text) for text in (logs, home, seed, WRITERS, STEPS)]
        ran = subprocess.run([sys.executable, "-c", ROUND, *arguments], capture_output=True, text=True, timeout=300)
        assert ran.returncode == 0, ran.stderr
        committed = steps_by_path(home)
        lost = [
            f"{name}-{log}.log"
            for name in json.loads(ran.stdout)
            for log in range(LOGS)
            if committed.get(f"{name}-{log}.log") != STEPS
        ]
        assert lost == [] and {*committed.values()} == {STEPS}
        ingest([logs], home, jobs=1)
        assert len(steps_by_path(home)) == FOLDERS * LOGS and {*steps_by_path(home).values()} == {STEPS}
        assert check(home).damages == []
