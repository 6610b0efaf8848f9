"""How long opening a warehouse takes: understanding its records, and from what is kept of them.

    python benchmarks/opening.py [FILES ...]

Records of so many files are written directly, forty files a run, with no segment behind them: opening does not look at
rows.  Printed are the median seconds of five openings that make `members` and `runs`, and the size of the records.
"""

import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from scalelens.database.connect import connect
from scalelens.parsing.part_facts import PartFacts
from scalelens.warehouse.log import Warehouse
from scalelens.warehouse.records import Entry

FILES_A_RUN, FILES_A_RECORD, ROUNDS = 40, 400, 5
ASKED = "SELECT count(*) FROM members"


def write_records(home: Path, files: int) -> None:
    """A log and a trace of each other rank for every run, each run in a folder of its own."""
    warehouse = Warehouse(home)
    warehouse.create()
    for first in range(0, files, FILES_A_RECORD):
        warehouse.commit([], [entry(number) for number in range(first, min(files, first + FILES_A_RECORD))])


def entry(number: int) -> Entry:
    run, rank = divmod(number, FILES_A_RUN)
    facts = PartFacts(rows={"steps": 100, "params": 12}, steps={"None": (1, 100)}, attempts=1)
    name = f"slurm-{1_000_000 + run}.out"
    if rank:
        facts, name = PartFacts(rows={"events": 1000}, traced=[rank - 1]), f"rank{rank - 1}.json"
    path = f"/scratch/study/run{run:06d}/{name}"
    return Entry(
        path, "/scratch/study", f"{number:064x}", f"batch{number // FILES_A_RECORD}", 10_000, 10**18 + number,
        formats=["megatron"], parser_version="1", rows=112, parts={0: facts},
    )  # fmt: skip


def median_s(home: Path, *, kept: bool) -> float:
    times = []
    for _ in range(ROUNDS):
        if not kept:
            shutil.rmtree(home / "_cache", ignore_errors=True)
        begin = time.perf_counter()
        connect(home, asked=ASKED).execute(ASKED).fetchall()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def main(counts: list[int]) -> None:
    print("files,records_mb,without_s,kept_s")
    for files in counts:
        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder) / "w"
            write_records(home, files)
            size = sum(path.stat().st_size for path in (home / "_log").iterdir()) / 1e6
            without = median_s(home, kept=False)
            print(f"{files},{size:.1f},{without:.2f},{median_s(home, kept=True):.2f}", flush=True)


if __name__ == "__main__":
    main([int(text) for text in sys.argv[1:]] or [1_000, 10_000, 100_000])
