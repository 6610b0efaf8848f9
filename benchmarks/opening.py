"""How long opening a warehouse takes: from its records, from the cache, after a commit, and with a run of many files.

    python benchmarks/opening.py [FILES ...]

The records of so many files are written directly, forty files a run, with no segments, because opening does not look at
rows.  The first table has the medians of five openings that make `members` and `runs`, in seconds of the processor and
of the clock, and the size of the records.  The commit is of forty new files in a folder of their own.

The second table is about the first question after the commit of the logs, or traces, of all ranks of one run, and of
jobs with eight ranks each, all in one folder: processor seconds for 1,000 and for 10,000 files, and their ratio.
"""

import itertools
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from scalelens.parsing.part_facts import PartFacts
from scalelens.question.session import Session
from scalelens.warehouse.log import Warehouse
from scalelens.warehouse.records import Batch, Entry

FILES_A_RUN, FILES_A_RECORD, ROUNDS = 40, 400, 5
QUESTION = "SELECT count(*) FROM members"
FIRST_QUESTION = "FROM runs"
START, END = datetime(2026, 1, 2, 3), datetime(2026, 1, 2, 4)


def write_records(home: Path, end: int, files: int) -> None:
    """The last files before a number: a log and a trace of each other rank for every run, in a folder of its own."""
    commit(home, [entry(number, *file_of_a_run(number)) for number in range(end - files, end)])


def commit(home: Path, entries: list[Entry]) -> None:
    warehouse = Warehouse(home)
    warehouse.create()
    for first in range(0, len(entries), FILES_A_RECORD):
        of_record = entries[first : first + FILES_A_RECORD]
        batch = Batch(f"batch{of_record[0].file_id[:12]}", {}, [one.file_id for one in of_record])
        for one in of_record:
            one.batch = batch.id
        warehouse.commit([batch], of_record)


def entry(number: int, path: str, facts: PartFacts) -> Entry:
    return Entry(
        path, "/scratch/study", f"{number:012x}{number:052x}", "", 10_000, 10**18 + number,
        formats=["megatron"], parser_version="1", rows=112, parts={0: facts},
    )  # fmt: skip


def file_of_a_run(number: int) -> tuple[str, PartFacts]:
    run, rank = divmod(number, FILES_A_RUN)
    facts = PartFacts(rows={"steps": 100, "params": 12}, steps={"None": (1, 100)}, attempts=1)
    name = f"slurm-{1_000_000 + run}.out"
    if rank:
        facts, name = PartFacts(rows={"events": 1000}, traced=[rank - 1]), f"rank{rank - 1}.json"
    return f"/scratch/study/run{run:06d}/{name}", facts


def log_of_a_rank(number: int, rank: int) -> tuple[str, PartFacts]:
    facts = PartFacts({"steps": 9}, {str(rank): (1, 9)}, 1, started_at=START, ended_at=END)
    return f"/scratch/study/run/{number - rank}_rank_{rank:04d}.log", facts


KINDS: dict[str, Callable[[int], tuple[str, PartFacts]]] = {
    "logs of one run": lambda number: log_of_a_rank(number, number),
    "traces of one run": lambda number: (
        f"/scratch/study/run/rank_{number:04d}.json",
        PartFacts({"events": 9}, traced=[number]),
    ),
    "logs of jobs": lambda number: log_of_a_rank(number, number % 8),
}


def medians(home: Path, before: Callable[[], object]) -> str:
    """Median seconds of opening, of the processor and of the clock; `before` is called before each."""
    times: list[tuple[float, float]] = []
    for _ in range(ROUNDS):
        before()
        begin = time.process_time(), time.perf_counter()
        Session(home, about=QUESTION).connection.execute(QUESTION).fetchall()
        times.append((time.process_time() - begin[0], time.perf_counter() - begin[1]))
    return ",".join(f"{statistics.median(kind):.2f}" for kind in zip(*times, strict=True))


def first_question(kind: str, files: int) -> float:
    """Processor seconds of the first question after the commit of so many files; the median of several warehouses."""
    times: list[float] = []
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder) / "w"
            commit(home, [entry(number, *KINDS[kind](number)) for number in range(files)])
            begin = time.process_time()
            Session(home, about=FIRST_QUESTION).connection.execute(FIRST_QUESTION).fetchall()
            times.append(time.process_time() - begin)
    return statistics.median(times)


def openings(counts: list[int]) -> None:
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


def first_questions() -> None:
    print("kind,first_1000_s,first_10000_s,ratio")
    first_question("logs of one run", 100)  # loads what is loaded once
    for kind in KINDS:
        small, large = first_question(kind, 1_000), first_question(kind, 10_000)
        print(f"{kind},{small:.2f},{large:.2f},{large / small:.1f}", flush=True)


if __name__ == "__main__":
    openings([int(text) for text in sys.argv[1:]] or [1_000, 10_000, 100_000])
    first_questions()
