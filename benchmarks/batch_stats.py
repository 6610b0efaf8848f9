"""Speed and memory of `batch_stats` on many steps, against a bare DuckDB median over the same Parquet.

    python benchmarks/batch_stats.py [--steps 10000000] [--runs 10000] [--rounds 3] [--warehouse FOLDER]

Bound: DuckDB's own median of each file's steps, on the same open connection.  Every file is a run.  The warehouse is
written by the writer of `scalelens ingest`, without logs.  Each answer is computed anew: DuckDB keeps no results.
Prints one JSON object; memory is the largest of the process that asks.
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
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from scalelens.database.connect import connect
from scalelens.parsing.part_facts import PartFacts
from scalelens.tables import SCHEMAS
from scalelens.warehouse.log import Warehouse
from scalelens.warehouse.records import Entry
from scalelens.warehouse.writer import BatchWriter

FILES_OF_A_SEGMENT = 1000
BOUND = "SELECT file_id, median(step_s) FROM read_parquet('{}/segments/steps-*.parquet') GROUP BY file_id"
ASKED = "FROM batch_stats()"


def write_warehouse(root: Path, runs: int, steps: int) -> None:
    """A run per file, of `steps` records: step times that scatter by 3 %, each like the one before it."""
    warehouse = Warehouse(root)
    warehouse.create()
    rng = np.random.default_rng(1)
    for first in range(0, runs, FILES_OF_A_SEGMENT):
        writer, entries = BatchWriter(warehouse), []
        for k in range(first, min(first + FILES_OF_A_SEGMENT, runs)):
            file_id = hashlib.sha256(str(k).encode()).hexdigest()
            writer.write("steps", steps_of(file_id, steps, rng))
            parts = {0: PartFacts(rows={"steps": steps}, steps={"0": (1, steps)}, attempts=1)}
            entries.append(
                Entry(f"/logs/{k}.log", "/logs", file_id, writer.id, formats=["megatron"], rows=steps, parts=parts)
            )
        writer.commit(entries)


def steps_of(file_id: str, steps: int, rng: np.random.Generator) -> pa.RecordBatch:
    noise = rng.standard_normal(steps + 1)
    columns = {
        "file_id": [file_id] * steps, "part": np.zeros(steps, np.int32), "line": np.arange(1, steps + 1),
        "attempt": np.zeros(steps, np.int32), "rank": np.zeros(steps, np.int32), "phase": ["train"] * steps,
        "step": np.arange(1, steps + 1), "step_s": 0.35 * (1 + 0.02 * (noise[1:] + noise[:-1])),
        "averaged_steps": np.ones(steps, np.int64), "value_kind": ["instant"] * steps,
        "samples": np.full(steps, 512.0), "loss": rng.random(steps),
    }  # fmt: skip
    schema = SCHEMAS["steps"]
    arrays = [pa.array(columns[field.name], field.type) if field.name in columns else pa.nulls(steps, field.type)
              for field in schema]  # fmt: skip
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def seconds(connection: duckdb.DuckDBPyConnection, statement: str) -> tuple[float, int]:
    """How long the answer takes, and its rows."""
    start = time.perf_counter()
    rows = connection.sql(statement).to_arrow_table().num_rows
    return time.perf_counter() - start, rows


def measure(root: Path, rounds: int) -> dict[str, object]:
    """Both in turn on one open connection, the least of the rounds."""
    connection = connect(root)
    bound, ours = [], []
    for _ in range(rounds):
        bound.append(seconds(connection, BOUND.format(root)))
        ours.append(seconds(connection, ASKED))
    assert bound[0][1] == ours[0][1]
    a, b = min(bound)[0], min(ours)[0]
    return {
        "runs": ours[0][1], "median_s": round(a, 2), "batch_stats_s": round(b, 2), "ratio": round(b / a, 2),
        "peak_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 2),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=10_000_000)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--warehouse", type=Path, help="where it is written, and read again if it is there")
    parser.add_argument("--ask", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.ask:  # in a process of its own, whose memory is that of asking
        print(json.dumps(measure(options.warehouse, options.rounds)))
        return
    with tempfile.TemporaryDirectory() as scratch:
        root = options.warehouse or Path(scratch) / "w"
        if not Warehouse(root).exists():
            write_warehouse(root, options.runs, options.steps // options.runs)
        command = [sys.executable, __file__, "--ask", "--warehouse", str(root), "--rounds", str(options.rounds)]
        measured = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    print(json.dumps({"machine": machine, "load": round(os.getloadavg()[0], 1), "steps": options.steps} | measured))


if __name__ == "__main__":
    main()
