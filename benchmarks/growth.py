"""How ingest, opening and each query grow with the warehouse: one table, and a figure.

    python benchmarks/growth.py FOLDER [--percent 0.1 1 10] [--only QUERY ...] [--table growth.md] [--figure growth.png]

At 100 % there are 10,000 runs, 100,000 files, 10^8 steps and 10^8 events: of each run a log of Megatron, a trace of each
of eight ranks, and a file of power.  The files are written to FOLDER, 4 GB of them at 10 %, and stay there; once they
were ingested, you may remove them.  What was measured stands in FOLDER/growth.csv, so that the script goes on where it was
stopped.

Each thing is measured in a process of its own: its processor time and the most memory it held.  A query has its default
parameters; one that says nothing without arguments is left out.  Its answer comes in pieces, as for the command line, and
no piece is kept.
"""

import argparse
import collections
import contextlib
import csv
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from scalelens.ingestion.ingest import ingest
from scalelens.queries.load import load
from scalelens.question.question import Question
from scalelens.question.session import Session, ask

RUNS, STEPS, RANKS, OPS = 10_000, 10_000, 8, 416  # at 100 %; steps of a log, and operators of a trace, at any size
SAMPLES = 25  # of power, of each device
LIMIT_S = 1800  # of processor time for one query
GB = 1 << 30
OPENING = "SELECT count(*) FROM members"
COLUMNS = ("runs", "what", "processor_s", "wall_s", "peak_gb", "ended")
DRAWN = (
    "ingest", "opening", "opening after a commit", "opening without what is kept", "runs_overview", "batch_stats",
    "kernel_summary", "outlier_gpus",
)  # fmt: skip

ARGUMENTS = (
    "using world size: {world}, data-parallel size: {world}, context-parallel size: 1, tensor-model-parallel size: 1, "
    "pipeline-model-parallel size: 1\n"
    "  num_layers ...................................... {layers}\n"
)
RECORD = (
    " iteration {:8d}/   10000 | consumed samples: {:12d} | elapsed time per iteration (ms): {:.1f} | learning rate: 3.0E-04 |"
    " global batch size: {:5d} | lm loss: {:.6E} | number of skipped iterations:   0 | number of nan iterations:   0 |\n"
)
EVENT = '{{"ph":"X","cat":"{}","name":"{}","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},"args":{{{}}}}}'


def write_run(folder: Path, number: int, operators: int = OPS) -> None:
    """The files of a run: one of twenty configurations, on 8 to 64 devices; its traces have so many operators."""
    chance = np.random.default_rng(number)
    world, layers = 8 << number % 4, 12 + 6 * (number // 4 % 5)
    folder.mkdir(parents=True)
    step_ms = layers * 30 * (1 + 0.01 * chance.standard_normal()) * (1 + 0.02 * chance.standard_normal(STEPS))
    loss, batch = chance.random(STEPS) + 2, 4 * world
    records = (
        RECORD.format(step, step * batch, step_ms[step - 1], batch, loss[step - 1]) for step in range(1, STEPS + 1)
    )
    arguments = ARGUMENTS.format(world=world, layers=layers)
    (folder / f"slurm-{1_000_000 + number}.out").write_text(arguments + "".join(records))
    for rank in range(RANKS):
        (folder / f"rank{rank}.json").write_text(trace(chance, rank, number, operators))
    (folder / "power.csv").write_text("".join(power(chance, number)))


def trace(chance: np.random.Generator, rank: int, number: int, operators: int) -> str:
    """A trace of two steps: of each operator its call, its launch and its kernel."""
    base = 1.7e15 + number * 1e9
    events = []
    durations = 20 * (1 + 0.1 * chance.random(operators))
    for k, duration in enumerate(durations):
        begin, link = base + 40 * k, f'"correlation":{k + 1}'
        name = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL" if k % 8 == 7 else f"gemm_{k % 5}"
        events += [
            EVENT.format("cpu_op", "aten::mm", 1, 1, begin, 9, f'"External id":{k + 1}'),
            EVENT.format("cuda_runtime", "cudaLaunchKernel", 1, 1, begin + 2, 5, link),
            EVENT.format("kernel", name, rank, 7, begin + 8, duration, f'"device":{rank},"stream":7,{link}'),
        ]
    half = 40 * operators / 2
    events += [EVENT.format("user_annotation", f"ProfilerStep#{k}", 1, 1, base + k * half, half, "") for k in (0, 1)]
    told = json.dumps({"rank": rank, "world_size": RANKS, "backend": "nccl"})
    return f'{{"schemaVersion":1,"distributedInfo":{told},"traceEvents":[\n' + ",\n".join(events) + "\n]}"


def power(chance: np.random.Generator, number: int) -> Iterator[str]:
    yield "timestamp, index, power.draw [W]\n"
    for k in range(SAMPLES):
        for device in range(RANKS):
            yield f"2026/01/{1 + number % 28:02d} 03:{k:02d}:05.{device:03d}, {device}, {300 + 50 * chance.random():.2f} W\n"


# Measuring


def measured(what: Callable[[], Any], limit_s: int = -1) -> dict[str, Any]:
    """Processor seconds, seconds and most gigabytes of a function, in a process of its own."""
    begin, process = time.perf_counter(), os.fork()
    if not process:
        resource.setrlimit(resource.RLIMIT_CPU, (limit_s, limit_s))
        with contextlib.suppress(BaseException):
            what()
            os._exit(0)
        os._exit(1)
    _, status, usage = os.wait4(process, 0)
    return {
        "processor_s": round(usage.ru_utime + usage.ru_stime, 3), "wall_s": round(time.perf_counter() - begin, 3),
        "peak_gb": round(usage.ru_maxrss * 1024 / GB, 3), "ended": os.waitstatus_to_exitcode(status),
    }  # fmt: skip


def things(logs: Path, home: Path, only: list[str]) -> Iterator[tuple[str, Callable[[], Any], int]]:
    """What is measured, in this order, with its name and its limit in seconds."""

    def opened() -> None:
        Session(home, about=OPENING).connection.execute(OPENING).fetchall()

    yield "ingest", lambda: ingest([logs], home, jobs=1), -1
    shutil.rmtree(home / "_cache", ignore_errors=True)
    yield "opening without what is kept", opened, -1
    yield "opening", opened, -1
    (logs / "late").mkdir(parents=True, exist_ok=True)
    (logs / "late" / "late.log").write_text(RECORD.format(time.time_ns() % 10**8, 4, 1.5, 4, 2.5))
    ingest([logs / "late"], home)
    yield "opening after a commit", opened, -1
    for name, query in sorted(load().items()):
        if not query.is_helper and name in (only or [name]):
            yield name, lambda name=name: answered(home, name), LIMIT_S


def answered(home: Path, name: str) -> None:
    """Asks a query, and lets go of each piece of the answer."""
    collections.deque(ask(home, Question(name)).pieces, maxlen=0)


def measure(folder: Path, percent: float, table: Path, only: list[str]) -> None:
    """Writes the files of one size, and measures what is not in the table."""
    logs, home, runs = folder / f"logs-{percent:g}", folder / f"warehouse-{percent:g}", round(RUNS * percent / 100)
    known = {row["what"] for row in rows_of(table) if int(row["runs"]) == runs}
    for number in range(runs) if "ingest" not in known else ():
        if not (logs / f"run{number:05d}" / "power.csv").exists():
            shutil.rmtree(logs / f"run{number:05d}", ignore_errors=True)
            write_run(logs / f"run{number:05d}", number)
    for what, act, limit_s in things(logs, home, only):
        if what not in known:
            row = {"runs": runs, "what": what, **measured(act, limit_s)}
            print(row, flush=True)
            with table.open("a") as file:
                csv.DictWriter(file, COLUMNS).writerow(row)


def rows_of(table: Path) -> list[dict[str, str]]:
    with table.open() as file:
        return [*csv.DictReader(file)]


# Showing


def page(rows: list[dict[str, str]]) -> str:
    """The table: seconds at each size, how much more for the last ten times, and the memory of the largest."""
    sizes = sorted({int(row["runs"]) for row in rows})
    cells = {(row["what"], int(row["runs"])): row for row in rows if row["ended"] == "0"}
    lines = [
        "| | "
        + " | ".join(f"{runs:,} runs" for runs in sizes)
        + f" | {sizes[-1] / sizes[-2]:g} times the runs | memory |",
        "|---|" + "--:|" * (len(sizes) + 2),
    ]
    names = {row["what"] for row in rows}
    for what in sorted(names, key=lambda what: (what in load(), what)):
        of_sizes = [cells.get((what, runs)) for runs in sizes]
        if any(of_sizes):
            times = [f"{float(cell['processor_s']):.2f} s" if cell else "-" for cell in of_sizes]
            *_, before, last = of_sizes
            growth = (
                f"{float(last['processor_s']) / float(before['processor_s']):.1f} times" if before and last else "-"
            )
            memory = f"{float(last['peak_gb']):.2f} GB" if last else "-"
            lines.append(f"| {what} | {' | '.join(times)} | {growth} | {memory} |")
    return "\n".join(lines) + "\n"


def draw(rows: list[dict[str, str]], home: Path, figure: Path) -> None:
    """The figure, by `scalelens plot --sql`."""
    values = ", ".join(
        f"({row['runs']}, '{row['what']}', {row['processor_s']}::DOUBLE)"
        for row in rows
        if row["what"] in DRAWN and row["ended"] == "0"
    )
    sql = f"SELECT * FROM (VALUES {values}) measured(runs, what, processor_s) ORDER BY what, runs"
    subprocess.run(
        [sys.executable, "-m", "scalelens", "plot", "--sql", sql, "--x", "runs", "--y", "processor_s", "--color", "what",
         "--log", "x", "--log", "y", "--width", "double", "-w", str(home), "-o", str(figure)],
        check=True,
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--percent", type=float, nargs="+", default=[0.1, 1, 10])
    parser.add_argument("--only", nargs="+", default=[], help="these queries, not all")
    parser.add_argument("--table", type=Path)
    parser.add_argument("--figure", type=Path)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    table = options.folder / "growth.csv"
    if not table.exists():
        table.write_text(",".join(COLUMNS) + "\n")
    for percent in options.percent:
        measure(options.folder, percent, table, options.only)
    print(shown := page(rows_of(table)))
    if options.table:
        options.table.write_text(shown)
    if options.figure:
        draw(rows_of(table), options.folder / f"warehouse-{options.percent[0]:g}", options.figure)


if __name__ == "__main__":
    main()
