"""Capture of Nsight Systems, exported as a folder of Parquet files.

Tool: NVIDIA Nsight Systems (nsys export --type parquetdir)
Versions: 2024.6 and later; read by the names of columns, not by the version
Yields: events, params
Source: closed; after NVIDIA's documentation, which gives each table of the SQLite export a file of its name.  No real
    folder was at hand

The tables and their columns are those of SQLite, and so are the rows (nsys_sqlite).  The folder is read at once, with
one of its files: the first of _FIRST that is there.  `files` shows the rows with it; the others have a note.  The name
of the folder may tell the rank.
"""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from scalelens.parsing import lazy_re as re
from scalelens.parsing.nsight_capture import read_capture
from scalelens.parsing.nsight_tables import READ_TABLES
from scalelens.parsing.parquet_file import is_text, most_bytes, stated_bytes, text_bytes
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.sqlite_file import written_database

VERSION = 1
IN_HEAD = (b"PAR1",)

_NAME = re.compile(
    r"(?:StringIds|ThreadNames|ProcessStreams|SystemInfo|UnwindMethodType|PROCESS\w*|(?:CUPTI|CUDA|CUBLAS|CUDNN|ENUM|"
    r"TARGET_INFO|META_DATA|NVTX|NCCL|MPI|UCX|NVSHMEM|OSRT|SCHED|GPU|DIAGNOSTIC|ANALYSIS|PROFILER|EXPORT|COMPOSITE|"
    r"GENERIC|NET|NIC|IB|OPENMP|OPENACC|OPENGL|VULKAN|WDDM|DX1\d|D3D1\d|SLI|FECS|KHR|ETW|SAMPLING|NV|NVVIDEO|"
    r"TOTAL_BYTES|DEMOTED_BYTES)_\w+)\.parquet"
)
_FIRST = tuple(f"{table}.parquet" for table in READ_TABLES)
_STRINGS = "StringIds.parquet"
_ALONE = (
    "a table of Nsight Systems without the other tables of its folder; ingest the folder, unpacked, or export SQLite "
    "(nsys export --type sqlite)"
)
_BATCH = 20_000  # rows


def recognise(head: bytes, name: str) -> bool:
    return head.startswith(b"PAR1") and _NAME.fullmatch(name) is not None


def read(source: Source, rows: Rows) -> str | None:
    folder = Path(source.path).parent
    first = next((name for name in _FIRST if (folder / name).is_file()), None)
    if "!" in source.path or first is None or not (folder / _STRINGS).is_file():
        rows.problem(None, _ALONE)
        return None
    if source.name != first:
        return f"a table of an export of Nsight Systems, read with {first} next to it"
    notes: list[str] = []
    try:
        with written_database(_tables(folder, rows)) as database:
            read_capture(database, rows, folder.name, notes)
    except sqlite3.Error as error:
        rows.problem(None, f"the tables cannot be read together ({error}): what was read before is kept")
    return "; ".join(notes) or None


def _tables(folder: Path, rows: Rows) -> Iterator[tuple[str, list[str], Iterator[list[tuple[Any, ...]]]]]:
    """Name, columns and rows of each table that is read.  One that is damaged is a problem and is left out."""
    wanted = {name.removesuffix(".parquet") for name in (*_FIRST, _STRINGS)}
    for path in sorted(folder.glob("*.parquet")):
        if path.stem not in wanted and not path.stem.startswith(("TARGET_INFO_", "META_DATA_", "DIAGNOSTIC_", "MPI_")):
            continue
        try:
            file = pq.ParquetFile(path)
            columns = [field.name for field in file.schema_arrow if _is_simple(field.type)]
            texts = [field.name for field in file.schema_arrow if is_text(field.type)]
            file = pq.ParquetFile(path, read_dictionary=texts)  # one long text may stand for all rows
            stated = stated_bytes(file.metadata, len(columns))
        except (pa.ArrowException, OSError, ValueError) as error:
            rows.problem(None, f"{path.name} cannot be read: {str(error).splitlines()[0]}")
            continue
        if stated > most_bytes(path.stat().st_size):
            rows.problem(None, f"{path.name} gives far more rows than its size allows, and is left out")
        elif columns:
            yield path.stem, columns, _batches(file, columns, path, rows)


def _batches(file: pq.ParquetFile, columns: list[str], path: Path, rows: Rows) -> Iterator[list[tuple[Any, ...]]]:
    name, text_left = path.name, most_bytes(path.stat().st_size)
    try:
        for batch in file.iter_batches(_BATCH, columns=columns):
            text_left -= sum(map(text_bytes, batch.columns))
            if text_left < 0:
                rows.problem(None, f"{name} gives far more text than its size allows: what was read before is kept")
                return
            yield list(zip(*(column.to_pylist() for column in batch.columns), strict=True))
    except (pa.ArrowException, OSError, ValueError) as error:
        rows.problem(None, f"{name} is cut or damaged ({str(error).splitlines()[0]}): what was read before is kept")


def _is_simple(kind: pa.DataType) -> bool:
    """Whether values are numbers or texts, as those of SQLite are."""
    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    kinds = (
        pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_string, pa.types.is_large_string,
        pa.types.is_null,
    )  # fmt: skip
    return any(is_one(inner) for is_one in kinds)
