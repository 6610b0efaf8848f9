"""Captures of Nsight Systems: the rows are those of the database, and the queries over traces work on them."""

import gzip
import sqlite3
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import scalelens
from asking import answer
from nsight import ALLREDUCE, ANTE, ONE_NODE, UTC_NS, capture, tid, two_processes

KINDS = {"kernel": "KERNEL", "gpu_memcpy": "MEMCPY", "gpu_memset": "MEMSET"}


def ask(folder: Path, sql: str, source: Path | None = None) -> list[Any]:
    warehouse = folder / "warehouse"
    if not warehouse.exists():
        scalelens.ingest(source or folder, warehouse=warehouse)
    return answer(warehouse, sql).fetchall()


def plain(path: Path, sql: str) -> Any:
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)
    try:
        return connection.execute(sql).fetchone()
    finally:
        connection.close()


def same_as_plain_sql(path: Path, folder: Path) -> None:
    """Counts and sums of kernels, copies, calls and ranges."""
    tables = {name for (name,) in sqlite3.connect(path).execute("SELECT name FROM sqlite_master")}
    checked = {f"category = '{category}'": f"CUPTI_ACTIVITY_KIND_{kind}" for category, kind in KINDS.items()}
    checked |= {"category IN ('cuda_runtime', 'cuda_driver')": "CUPTI_ACTIVITY_KIND_RUNTIME"}
    checked |= {"category = 'nvtx'": "(SELECT * FROM NVTX_EVENTS WHERE eventType IN (34, 59, 60))"}
    for condition, table in checked.items():
        if table in tables or (table.startswith("(") and "NVTX_EVENTS" in tables):
            wanted = plain(path, f'SELECT count(*), sum("end" - start) FROM {table}')
            assert ask(folder, f"SELECT count(*), sum(duration_ns) FROM events WHERE {condition}", path) == [wanted]


@pytest.mark.parametrize("of_export", [ANTE, "META_DATA_EXPORT"])
def test_rows_are_those_of_the_database(tmp_path: Path, of_export: str) -> None:
    path = capture(tmp_path / "a.sqlite", two_processes() | {"META_DATA_CAPTURE": ONE_NODE}, of_export)
    same_as_plain_sql(path, tmp_path)
    assert ask(tmp_path, "SELECT formats, status, problems FROM files") == [(["nsys_sqlite"], "ok", 0)]
    assert ask(tmp_path, "SELECT min(start_ns) FROM events WHERE category = 'kernel'") == [(UTC_NS + 1050,)]
    assert ask(tmp_path, "SELECT value FROM params WHERE key = 'trace_clock'") == [("unix",)]


def test_processes_of_one_node_are_ranks_of_one_run(tmp_path: Path) -> None:
    """Both processes use the same correlation ids: each kernel keeps its own launch."""
    capture(tmp_path / "a.sqlite", two_processes() | {"META_DATA_CAPTURE": ONE_NODE})
    work = """SELECT rank, count(*), sum(launch_start_ns - 1790000000000000000), min(launch_process), max(launch_process)
        FROM gpu_events() GROUP BY rank ORDER BY rank"""
    first = 1020 + 1210 + 2020 + 2210 + 1110
    assert ask(tmp_path, work) == [(0, 5, first, "100", "100"), (1, 5, first + 4 * 10, "101", "101")]
    assert ask(tmp_path, "SELECT count(*) FROM runs") == [(1,)]
    seen = ask(tmp_path, "SELECT rank, train_step, duration_ns, complete FROM trace_steps()")
    assert seen == [(0, 1, 900, True), (0, 2, 900, False), (1, 1, 900, True), (1, 2, 900, False)]
    split = "SELECT rank, compute_ns, exposed_comm_ns, exposed_memory_ns FROM temporal_breakdown(steps := 'all')"
    assert ask(tmp_path, split) == [(0, 600, 200, 100), (1, 600, 200, 100)]
    assert ask(tmp_path, "SELECT DISTINCT train_step FROM gpu_events(steps := 'complete')") == [(1,)]


def test_work_is_that_of_the_ranges_around_its_launch(tmp_path: Path) -> None:
    capture(tmp_path / "a.sqlite", two_processes() | {"META_DATA_CAPTURE": ONE_NODE})
    tree = "SELECT operators, class, calls, total_ns FROM kernel_tree() WHERE rank = 1 ORDER BY operators"
    assert ask(tmp_path, tree) == [
        ("step 1", "memory", 1, 100),
        ("step 1 / aten::mm", "compute", 1, 300),
        ("step 1 / ncclAllReduce", "communication", 1, 100),
        ("step 2 / aten::mm", "compute", 1, 300),
        ("step 2 / ncclAllReduce", "communication", 1, 100),
    ]
    named = "SELECT DISTINCT name, args FROM events WHERE name LIKE 'nccl%' AND category = 'nvtx'"
    assert ask(tmp_path, named) == [("ncclAllReduce", '{"domain":"NCCL"}')]
    marks = "SELECT side, name, calls, total_ns FROM annotation_summary() WHERE rank = 0 AND name LIKE 'aten%'"
    assert ask(tmp_path, marks) == [("host", "aten::mm", 2, 180)]
    assert ask(tmp_path, "SELECT count(*) FROM events WHERE ph = 'i' AND name = 'mark'") == [(2,)]


def test_processes_of_unknown_rank_are_runs_apart(tmp_path: Path) -> None:
    capture(tmp_path / "a.sqlite", two_processes())
    assert ask(tmp_path, "SELECT count(*), count(rank) FROM (SELECT DISTINCT run_id, rank FROM events)") == [(2, 0)]
    assert "the ranks of its processes are unknown" in ask(tmp_path, "SELECT note FROM files")[0][0]


def test_mpi_says_the_ranks_and_its_calls_are_events(tmp_path: Path) -> None:
    tables = two_processes() | {
        "MPI_RANKS": [(tid(100), 5), (tid(101), 4)],
        "MPI_COLLECTIVES_EVENTS": [(2100, 2200, tid(101), ALLREDUCE, None, 512, 512)],
    }
    capture(tmp_path / "a.sqlite", tables)
    assert ask(tmp_path, "SELECT DISTINCT process, rank FROM events WHERE thread IS NOT NULL ORDER BY process") == [
        ("100", 5),
        ("101", 4),
    ]
    calls = "SELECT name, rank, message_bytes, duration_ns FROM events WHERE category = 'mpi'"
    assert ask(tmp_path, calls) == [("MPI_Allreduce", 4, 512, 100)]


def test_a_whole_graph_is_busy_and_said_to_be_unknown(tmp_path: Path) -> None:
    process = tid(100) & ~0xFFFFFF
    capture(tmp_path / "a.sqlite", {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE": [(10, 60, 0, 7, 3, process, 4, 5)]})
    assert ask(tmp_path, "SELECT name, class, duration_ns FROM gpu_events()") == [("CUDA graph 4", "compute", 50)]
    assert "whole CUDA graphs" in ask(tmp_path, "SELECT reason FROM problems")[0][0]


def test_a_compressed_or_damaged_capture(tmp_path: Path) -> None:
    path = capture(tmp_path / "a.sqlite", two_processes())
    content = path.read_bytes()
    path.unlink()
    (tmp_path / "rank3.sqlite.gz").write_bytes(gzip.compress(content))
    for cut in (5000, len(content) // 2, len(content) - 5000):
        (tmp_path / f"cut{cut}.sqlite").write_bytes(content[:cut])
    whole = "SELECT count(*) FROM events JOIN files USING (file_id) WHERE path LIKE '%.gz' AND category = 'kernel'"
    assert ask(tmp_path, whole) == [(8,)]
    for (reason,) in ask(tmp_path, "SELECT reason FROM problems"):
        assert "database is cut or damaged" in reason


@pytest.mark.parametrize("name", ["h100_2gpu_1s", "mfu_2gpu_before", "saxpy-mpi-cuda_nsys_perlmutter0", "report1"])
def test_real_captures(name: str, corpus: Path, tmp_path: Path) -> None:
    (path,) = (corpus / "more").glob(f"*/{name}.sqlite")
    same_as_plain_sql(path, tmp_path)


def as_parquet(database: Path, folder: Path) -> None:
    """The tables of an export of SQLite, each as a file of Parquet."""
    folder.mkdir()
    connection = sqlite3.connect(database)
    for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        cursor = connection.execute(f"SELECT * FROM {table}")
        names = [column[0] for column in cursor.description]
        columns = list(zip(*cursor.fetchall(), strict=True)) or [()] * len(names)
        pq.write_table(pa.table(dict(zip(names, columns, strict=True))), folder / f"{table}.parquet")
    connection.close()


ROWS = "SELECT * EXCLUDE (run_id, file_id) FROM events ORDER BY line"


def test_a_folder_of_parquet_files_gives_the_rows_of_sqlite(tmp_path: Path) -> None:
    for of in ("sqlite", "parquet"):
        (tmp_path / of).mkdir()
    database = capture(tmp_path / "sqlite" / "a.sqlite", two_processes() | {"META_DATA_CAPTURE": ONE_NODE})
    as_parquet(database, tmp_path / "parquet" / "a_pqtdir")
    there = ask(tmp_path / "sqlite", ROWS)
    assert len(there) > 20 and ask(tmp_path / "parquet", ROWS) == there
    facts = "SELECT key, value FROM params ORDER BY ALL"
    assert ask(tmp_path / "parquet", facts) == ask(tmp_path / "sqlite", facts)
    notes = "SELECT DISTINCT note FROM files WHERE formats = ['nsys_parquet'] AND note IS NOT NULL"
    kernels = "CUPTI_ACTIVITY_KIND_KERNEL.parquet"
    assert ask(tmp_path / "parquet", notes) == [
        (f"a table of an export of Nsight Systems, read with {kernels} next to it",)
    ]


def test_the_name_of_a_folder_of_parquet_files_tells_the_rank(tmp_path: Path) -> None:
    tables = two_processes()
    alone = {
        name: [row for row in rows if tid(100) & ~0xFFFFFF in row or tid(100) in row] for name, rows in tables.items()
    }
    for rank in (0, 3):
        database = capture(
            tmp_path / f"{rank}.db", alone | {"StringIds": [(k + 1, f"text {k} {rank}") for k in range(8)]}
        )
        as_parquet(database, tmp_path / f"rank{rank}_pqtdir")
        database.unlink()
        path = tmp_path / f"rank{rank}_pqtdir" / "CUPTI_ACTIVITY_KIND_KERNEL.parquet"
        pq.write_table(pq.read_table(path).append_column("sharedMemoryExecuted", pa.array([rank] * 4)), path)
    assert ask(tmp_path, "SELECT rank, count(*) FROM events WHERE category = 'kernel' GROUP BY ALL ORDER BY ALL") == [
        (0, 4),
        (3, 4),
    ]


def test_a_damaged_table_of_parquet_is_lost_alone(tmp_path: Path) -> None:
    database = capture(tmp_path / "a.db", two_processes() | {"META_DATA_CAPTURE": ONE_NODE})
    as_parquet(database, tmp_path / "a")
    database.unlink()
    copies = tmp_path / "a" / "CUPTI_ACTIVITY_KIND_MEMCPY.parquet"
    copies.write_bytes(copies.read_bytes()[:-20])
    many = pa.table({name: pa.array([1] * 9_000_000) for name in ("start", "end", "globalPid")})
    pq.write_table(many, tmp_path / "a" / "CUPTI_ACTIVITY_KIND_MEMSET.parquet")
    assert ask(
        tmp_path, "SELECT category, count(*) FROM events WHERE category LIKE 'gpu%' OR category = 'kernel' GROUP BY ALL"
    ) == [("kernel", 8)]
    reasons = " ".join(reason for (reason,) in ask(tmp_path, "SELECT reason FROM problems"))
    assert "MEMCPY.parquet cannot be read" in reasons and "far more rows" in reasons


def test_a_table_of_parquet_alone_says_what_to_do(tmp_path: Path) -> None:
    alone = "CUPTI_ACTIVITY_KIND_KERNEL.parquet"
    pq.write_table(pa.table({"start": [1], "end": [2]}), tmp_path / alone)
    asked = "SELECT status, reason FROM files JOIN problems USING (file_id)"
    ((status, reason),) = ask(tmp_path, asked, tmp_path / alone)
    assert status == "partial" and "ingest the folder" in reason and "nsys export --type sqlite" in reason
