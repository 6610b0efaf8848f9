"""Speed and memory of `batch_stats` or `runs_overview` on many steps, against a bare median over the same Parquet.

    python benchmarks/batch_stats.py [--query batch_stats] [--steps 10000000] [--runs 10000] [--rounds 5] [--full]
        [--uneven] [--exclude rules] [--warehouse FOLDER]

Bound: DuckDB's own median of each file's steps, on the same open connection.  Every file is a run.  With `--full` each
log also has epochs, TFLOP/s and evaluations, and is Megatron's, so that rules beside the warm-up leave records out.  With
`--uneven` hardly two logs have as many records: the statistics of runs about as long are computed together.  With
`--exclude steady` no run is read in one pass: every record goes through `selected_steps`.  The warehouse is written by
the writer of `scalelens ingest`, without logs.  Each answer is computed anew: DuckDB keeps no results.  Both are asked in
turn; each figure is the median of the rounds.  Prints one JSON object, and a line of a table; memory is the largest of
the process that asks.
"""

import argparse
import hashlib
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa

from scalelens.parsing.part_facts import PartFacts
from scalelens.question.question import Question
from scalelens.question.session import Session
from scalelens.tables import SCHEMAS
from scalelens.warehouse.log import Warehouse
from scalelens.warehouse.records import Entry
from scalelens.warehouse.writer import BatchWriter

FILES_OF_A_SEGMENT = 1000
BOUND = "SELECT file_id, median(step_s) FROM read_parquet('{}/segments/steps-*.parquet') GROUP BY file_id"
ASKED = "FROM {}(exclude := '{}')"
EPOCH = 100  # steps
LINE = (
    "| {day}, {machine}, load {load} | {query}, {steps:.0e} steps of {runs:,} runs, logs {logs}, exclude {exclude} | "
    "{ratio} times a bare median ({query_s} s), {ratio_of_processor_time} of processor time | {peak_gb} GB |"
)


def write_warehouse(root: Path, runs: int, steps: int, full: bool, uneven: bool) -> None:
    """A run per file, of `steps` records: step times that scatter by 3 %, each like the one before it.

    Where they are `uneven`, a run has half to one and a half times as many.
    """
    warehouse = Warehouse(root)
    warehouse.create()
    rng = np.random.default_rng(1)
    for first in range(0, runs, FILES_OF_A_SEGMENT):
        writer = BatchWriter(warehouse)
        entries: list[Entry] = []
        for k in range(first, min(first + FILES_OF_A_SEGMENT, runs)):
            file_id = hashlib.sha256(str(k).encode()).hexdigest()
            n = int(rng.integers(steps // 2, steps * 3 // 2)) if uneven else steps
            tables = tables_of(file_id, n, rng, full)
            for table, rows in tables.items():
                writer.write(table, rows)
            counts = {table: rows.num_rows for table, rows in tables.items()}
            parts = {0: PartFacts(rows=counts, steps={"0": (1, n)}, attempts=1)}
            entries.append(
                Entry(f"/logs/{k}.log", "/logs", file_id, writer.id, formats=["megatron"], rows=n, parts=parts)
            )
        writer.commit(entries)


def tables_of(file_id: str, steps: int, rng: np.random.Generator, full: bool) -> dict[str, pa.RecordBatch]:
    """Rows of one file by table."""
    noise, number = rng.standard_normal(steps + 1), np.arange(1, steps + 1)
    columns = {
        "line": number, "attempt": np.zeros(steps, np.int32), "rank": np.zeros(steps, np.int32),
        "phase": ["train"] * steps, "step": number, "step_s": 0.35 * (1 + 0.02 * (noise[1:] + noise[:-1])),
        "averaged_steps": np.ones(steps, np.int64), "value_kind": ["instant"] * steps,
        "samples": np.full(steps, 512.0), "loss": rng.random(steps),
    }  # fmt: skip
    if not full:
        return {"steps": batch("steps", file_id, columns)}
    evaluated = number[number % EPOCH == 0]
    return {
        "steps": batch("steps", file_id, columns | {
            "epoch": (number - 1) // EPOCH, "tflops_per_device": 20 / columns["step_s"], "skipped_steps": number // steps,
        }),
        "phases": batch("phases", file_id, {
            "line": evaluated, "phase": ["evaluation"] * len(evaluated), "step": evaluated,
        }),
        "params": batch("params", file_id, {"line": [1], "key": ["framework"], "value": ["megatron"], "origin": ["log"]}),
    }  # fmt: skip


def batch(table: str, file_id: str, columns: dict[str, Any]) -> pa.RecordBatch:
    """Rows of one file with these columns; the others are NULL."""
    n, schema = len(columns["line"]), SCHEMAS[table]
    columns = {"file_id": [file_id] * n, "part": np.zeros(n, np.int32)} | columns
    arrays = [pa.array(columns[field.name], field.type) if field.name in columns else pa.nulls(n, field.type)
              for field in schema]  # fmt: skip
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def seconds(session: Session, statement: str) -> tuple[float, float, int]:
    """How long the answer takes, by the clock and of the processor, and its rows.  Asked as `scalelens` asks."""
    start, processor = time.perf_counter(), time.process_time()
    rows = session.ask(Question(sql=statement, unsafe=True)).table.num_rows
    return time.perf_counter() - start, time.process_time() - processor, rows


def measure(root: Path, rounds: int, query: str, exclude: str) -> dict[str, object]:
    """Both in turn on one open connection."""
    session = Session(root, unsafe=True)
    pairs = [
        (seconds(session, BOUND.format(root)), seconds(session, ASKED.format(query, exclude))) for _ in range(rounds)
    ]
    assert all(bound[2] == ours[2] for bound, ours in pairs)
    return {
        "runs": pairs[0][1][2],
        "median_s": round(median(bound[0] for bound, _ in pairs), 2),
        "query_s": round(median(ours[0] for _, ours in pairs), 2),
        "ratio": round(median(ours[0] / bound[0] for bound, ours in pairs), 1),
        "ratio_of_processor_time": round(median(ours[1] / bound[1] for bound, ours in pairs), 1),
        "peak_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--query", choices=["batch_stats", "runs_overview"], default="batch_stats", help="what is asked"
    )
    parser.add_argument("--steps", type=int, default=10_000_000)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--full", action="store_true", help="epochs, TFLOP/s and evaluations in each log")
    parser.add_argument("--uneven", action="store_true", help="logs of different lengths")
    parser.add_argument("--exclude", choices=["rules", "none", "steady"], default="rules", help="as of batch_stats")
    parser.add_argument("--warehouse", type=Path, help="where it is written, and read again if it is there")
    parser.add_argument("--ask", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.ask:  # in a process of its own, whose memory is that of asking
        print(json.dumps(measure(options.warehouse, options.rounds, options.query, options.exclude)))
        return
    with tempfile.TemporaryDirectory() as scratch:
        root = options.warehouse or Path(scratch) / "w"
        if not Warehouse(root).exists():
            write_warehouse(root, options.runs, options.steps // options.runs, options.full, options.uneven)
        command = [sys.executable, __file__, "--ask", "--warehouse", str(root), "--rounds", str(options.rounds)]
        command += ["--query", options.query, "--exclude", options.exclude]
        measured = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    logs = "with epochs, TFLOP/s and evaluations" if options.full else "of steps alone"
    logs += ", of uneven lengths" if options.uneven else ""
    said = {
        "query": options.query,
        "machine": machine,
        "load": round(os.getloadavg()[0], 1),
        "steps": options.steps,
        "logs": logs,
        "exclude": options.exclude,
    } | measured
    print(json.dumps(said))
    print(LINE.format(day=date.today(), **said))


if __name__ == "__main__":
    main()
