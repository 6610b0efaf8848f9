"""How long opening a warehouse takes: understanding its records, from what is kept of them, and after a new commit.

    python benchmarks/opening.py [FILES ...]

Records of so many files are written directly, forty files a run, with no segment behind them: opening does not look at
rows.  Printed are the medians of five openings that make `members` and `runs`, in seconds of the processor and of the
clock, and the size of the records.  The commit is of forty new files, in a folder of their own.
"""

import itertools
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from scalelens.parsing.part_facts import PartFacts
from scalelens.question.session import Session
from scalelens.warehouse.log import Warehouse
from scalelens.warehouse.records import Batch, Entry

FILES_A_RUN, FILES_A_RECORD, ROUNDS = 40, 400, 5
ASKED = "SELECT count(*) FROM members"


def write_records(home: Path, end: int, files: int) -> None:
    """The last files before a number: a log and a trace of each other rank for every run, in a folder of its own."""
    warehouse = Warehouse(home)
    warehouse.create()
    for first in range(end - files, end, FILES_A_RECORD):
        numbers = range(first, min(end, first + FILES_A_RECORD))
        batch = Batch(f"batch{first}", {}, [f"{number:012x}{number:052x}" for number in numbers])
        warehouse.commit([batch], [entry(number, batch.id) for number in numbers])


def entry(number: int, batch: str) -> Entry:
    run, rank = divmod(number, FILES_A_RUN)
    facts = PartFacts(rows={"steps": 100, "params": 12}, steps={"None": (1, 100)}, attempts=1)
    name = f"slurm-{1_000_000 + run}.out"
    if rank:
        facts, name = PartFacts(rows={"events": 1000}, traced=[rank - 1]), f"rank{rank - 1}.json"
    path = f"/scratch/study/run{run:06d}/{name}"
    return Entry(
        path, "/scratch/study", f"{number:012x}{number:052x}", batch, 10_000, 10**18 + number,
        formats=["megatron"], parser_version="1", rows=112, parts={0: facts},
    )  # fmt: skip


def medians(home: Path, before: Callable[[], object]) -> str:
    """Median seconds of opening, of the processor and of the clock; `before` is called before each."""
    times: list[tuple[float, float]] = []
    for _ in range(ROUNDS):
        before()
        begin = time.process_time(), time.perf_counter()
        Session(home, about=ASKED).connection.execute(ASKED).fetchall()
        times.append((time.process_time() - begin[0], time.perf_counter() - begin[1]))
    return ",".join(f"{statistics.median(kind):.2f}" for kind in zip(*times, strict=True))


def main(counts: list[int]) -> None:
    kinds = ("without", "kept", "after_commit")
    print(
        ",".join(["files", "records_mb", *(f"{kind}_{unit}" for kind in kinds for unit in ("processor_s", "wall_s"))])
    )
    for files in counts:
        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder) / "w"
            write_records(home, files, files)
            size = sum(path.stat().st_size for path in (home / "_log").iterdir()) / 1e6
            new = itertools.count(files + FILES_A_RUN, FILES_A_RUN)
            acts = (
                lambda home=home: shutil.rmtree(home / "_cache", ignore_errors=True),
                lambda: None,
                lambda home=home, new=new: write_records(home, next(new), FILES_A_RUN),
            )
            print(f"{files},{size:.1f},{','.join(medians(home, act) for act in acts)}", flush=True)


if __name__ == "__main__":
    main([int(text) for text in sys.argv[1:]] or [1_000, 10_000, 100_000])
