"""Opening and queries of traces over as many events as asked, without as many traces: their rows are written directly.

    python benchmarks/many_events.py FOLDER [--events 100000000] [--only QUERY ...]

The traces of ten runs of `growth.py`, with ten times its operators, are read once.  Each copy of their rows is a commit
with file ids and a folder of its own, so it counts as ten more runs: 10^9 events are those of 10,000 runs and 80,000
traces.  FOLDER keeps the warehouse, 0.3 GB for 10^8 events, and the script goes on where it was stopped.  Printed are the processor seconds, seconds and most memory of each thing, in a process of its own.
"""

import argparse
import hashlib
import shutil
import sys
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from growth import LIMIT_S, OPENING, OPS, RANKS, answered, measured, write_run
from scalelens.ingestion.ingest import ingest
from scalelens.question.session import Session
from scalelens.tables import SCHEMAS
from scalelens.warehouse.log import Warehouse
from scalelens.warehouse.records import Entry
from scalelens.warehouse.writer import BatchWriter

BASE_RUNS = 10
OPERATORS = 10 * OPS  # of a trace
EVENTS = BASE_RUNS * RANKS * (3 * OPERATORS + 2)  # of a copy: of each operator a call, a launch and a kernel; two steps
QUERIES = ("kernel_summary", "temporal_breakdown", "comm_overlap", "collectives", "annotation_summary", "run_matrix")


def base(folder: Path) -> tuple[list[Entry], dict[str, pa.Table]]:
    """The entries of the traces of ten runs, and their rows by table."""
    logs, home = folder / "logs", folder / "base"
    if not home.exists():
        shutil.rmtree(logs, ignore_errors=True)
        for number in range(BASE_RUNS):
            write_run(logs / f"run{number}", number, OPERATORS)
        ingest([logs], home, jobs=1)
    live = Warehouse(home).live()
    entries = [entry for entry in live.paths.values() if entry.path.endswith(".json")]
    of_traces = pa.array([entry.file_id for entry in entries])
    tables = {}
    for name in sorted({name for batch in live.batches.values() for name in batch.tables}):
        paths = sorted((home / "segments").glob(f"{name}-*.parquet"))
        rows = pa.concat_tables(pq.read_table(path).cast(SCHEMAS[name]) for path in paths)
        tables[name] = rows.filter(pc.is_in(rows["file_id"], value_set=of_traces)).combine_chunks()
    return entries, {name: rows for name, rows in tables.items() if rows.num_rows}


def write_copies(folder: Path, home: Path, copies: int) -> None:
    """Commits copies of the rows, as far as they are not there."""
    warehouse = Warehouse(home)
    warehouse.create()
    entries, tables = base(folder)
    for copy in range(len(warehouse.names()), copies):
        writer = BatchWriter(warehouse)
        for name, rows in tables.items():
            for part in copied(rows, copy).to_batches():
                writer.write(name, part)
        writer.commit(
            [
                msgspec.structs.replace(
                    entry, path=entry.path.replace("/logs/", f"/logs/copy{copy}/"),
                    file_id=file_id_of(entry.file_id, copy), batch=writer.id, order=0,
                )
                for entry in entries
            ]
        )  # fmt: skip


def copied(rows: pa.Table, copy: int) -> pa.Table:
    """The rows with the file ids of a copy."""
    ids = rows["file_id"].combine_chunks().dictionary_encode()
    new = pa.array([file_id_of(text, copy) for text in ids.dictionary.to_pylist()], pa.string())
    place = rows.schema.get_field_index("file_id")
    return rows.set_column(place, rows.schema.field(place), new.take(ids.indices))


def file_id_of(file_id: str, copy: int) -> str:
    return hashlib.sha256(f"{file_id} {copy}".encode()).hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--events", type=int, default=10**8)
    parser.add_argument("--only", nargs="+", default=QUERIES)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    home = given.folder / f"warehouse-{given.events}"
    copies = -(-given.events // EVENTS)
    print(f"{copies * EVENTS:,} events of {copies * BASE_RUNS * RANKS:,} traces")
    print("writing", measured(lambda: write_copies(given.folder, home, copies)), flush=True)
    shutil.rmtree(home / "_cache", ignore_errors=True)
    for what in ("opening without what is kept", "opening"):
        print(
            what,
            measured(lambda: Session(home, about=OPENING).connection.execute(OPENING).fetchall(), LIMIT_S),
            flush=True,
        )
    for name in given.only:
        print(name, measured(lambda name=name: answered(home, name), LIMIT_S), flush=True)


if __name__ == "__main__":
    sys.exit(main())
