"""Writers that are killed, beside compact, forget and readers: nothing is lost, nothing is there twice.

The round in the suite is small; `make nightly` runs the large ones.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scalelens.ingestion.ingest import ingest
from scalelens.warehouse.check import check
from scalelens.warehouse.log import Warehouse
from test_warehouse import ask, steps_by_path, write_log

STEPS = 20
ROUND = """
import json, os, random, signal, sys, time, traceback
from pathlib import Path
import scalelens
from scalelens.errors import UserError
from scalelens.ingestion import formats
from scalelens.ingestion import ingest as ingestion
from scalelens.warehouse import compact
from scalelens.warehouse.log import Warehouse

formats.load()
ingestion.BATCH_FILES = 1
home, folders, writers, seed = Path(sys.argv[1]), json.loads(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
chance = random.Random(seed)
COUNTS = "SELECT path, (SELECT count(*) FROM steps s WHERE s.file_id = f.file_id) AS n, rows FROM files f"


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


def write(own):
    for folder in own:
        ingestion.ingest([Path(folder)], home, jobs=1)


def read():
    for _ in range(6):
        for path, count, rows in scalelens.sql(COUNTS, home).iter_rows():
            assert count == (STEPS if rows else 0), (path, count, rows)


def compacted():
    for _ in range(4):
        compact.compact(home)


def forget():
    for path in sorted(path for path in Warehouse(home).live().paths if "victim" in path):
        Warehouse(home).forget([path])


STEPS = int(sys.argv[5])
shares = [folders[k::writers] + chance.sample(folders, 2) for k in range(writers)]
actors = {forked(lambda own=own: write(own)): True for own in shares}
others = {forked(act): False for act in (compacted, forget, read)}
killed = chance.sample(sorted(actors), writers // 3)
for process in killed:
    time.sleep(chance.random() * 0.3)
    os.kill(process, signal.SIGKILL)
for process in (*actors, *others):
    status = os.waitpid(process, 0)[1]
    assert status == 0 or (process in killed and status == signal.SIGKILL), (process in actors, status)
"""


def round_of(tmp_path: Path, folders: int, writers: int, seed: int) -> None:
    home, victims = tmp_path / "w", tmp_path / "victims"
    for number in range(folders):
        for k in range(2):
            write_log(tmp_path / "logs" / str(number) / f"{k}.log", STEPS, step_ms=1000.0 + 20 * number + 10 * k)
        shutil.copy(tmp_path / "logs" / str(number) / "0.log", tmp_path / "logs" / str(number) / "copy.log")
    for k in range(3):
        write_log(victims / f"victim{k}.log", STEPS, step_ms=9000.0 + 10 * k)
    ingest([victims], home)
    names = json.dumps([str(tmp_path / "logs" / str(number)) for number in range(folders)])
    arguments = [home, names, str(writers), str(seed), str(STEPS)]
    done = subprocess.run([sys.executable, "-c", ROUND, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert check(home).damages == []
    ingest([tmp_path / "logs"], home)
    found = "SELECT count(*), count(DISTINCT (file_id, line)), count(DISTINCT file_id) FROM steps"
    assert ask(home, found) == [(2 * folders * STEPS, 2 * folders * STEPS, 2 * folders)]
    assert not any("victim" in path for path in steps_by_path(home))
    assert not Warehouse(home).live().without_rows()
    assert check(home).damages == []


def test_writers_that_are_killed_beside_compact_forget_and_readers(tmp_path: Path) -> None:
    round_of(tmp_path, folders=6, writers=3, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_twelve_writers_over_72_folders(tmp_path: Path, seed: int) -> None:
    round_of(tmp_path, folders=72, writers=12, seed=seed)
