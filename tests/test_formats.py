"""One body for all formats: headings, samples taken by their format alone, and a golden CSV per fixture and table.

Fixtures: tests/fixtures/<format>/<case>.<suffix>; goldens beside them: <case>.<table>.csv, and <case>.status where the
file is not understood as a whole: without one its status is ok.
"""

import csv
import gzip
import io
from collections import defaultdict
from pathlib import Path

import pyarrow as pa
import pytest

from conftest import FIXTURES, as_dicts
from scalelens.ingestion import formats
from scalelens.ingestion.format_check import recognizers, takers
from scalelens.ingestion.recognize import read_rows
from scalelens.parsing.format_file import heading, name_of, samples, title
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source, open_source
from spread import spread

LOADED = formats.load()
MODULES = {name_of(module): module for module in (*LOADED.of_lines, *LOADED.of_files)}


def is_golden(path: Path) -> bool:
    return path.suffix == ".status" or (path.suffix == ".csv" and path.name.count(".") > 1)


CASES = sorted(path for name in MODULES for path in (FIXTURES / name).glob("*") if not is_golden(path))


def tables_of(source: Source) -> tuple[str, dict[str, pa.Table]]:
    """Status of a file and its rows by table."""
    batches = defaultdict(list)
    rows = Rows("f", lambda table, batch: batches[table].append(batch))
    status, _ = read_rows(source, LOADED, rows)
    rows.flush()
    return status, {table: pa.Table.from_batches(of_table) for table, of_table in sorted(batches.items())}


def as_csv(table: pa.Table) -> str:
    """Rows as CSV, without the columns that hold nothing."""
    filled = [name for name in table.column_names if name != "file_id" and table[name].null_count < table.num_rows]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(filled)
    for row in as_dicts(table.select(filled)):
        writer.writerow(
            "" if value is None else f"{value:.10g}" if isinstance(value, float) else value for value in row.values()
        )
    return text.getvalue()


@pytest.mark.parametrize("name", MODULES)
def test_header_says_what_it_must(name: str) -> None:
    module = MODULES[name]
    assert title(module).endswith(".")
    for wanted in ("Tool", "Versions", "Yields", "Source"):
        assert heading(module, wanted), f"{name} lacks {wanted}:"
    assert isinstance(module.VERSION, int)
    assert not hasattr(module, "ANCHORS") or samples(module), f"{name} lacks samples"
    assert list((FIXTURES / name).glob("*")), f"{name} has no fixture"


@pytest.mark.parametrize(
    ("name", "sample"), [(name_of(module), sample) for module in LOADED.of_lines for sample in samples(module)]
)
def test_sample_is_taken_by_its_format_alone(name: str, sample: str) -> None:
    assert takers(sample, LOADED) == [name]


@pytest.mark.parametrize("module", LOADED.of_files, ids=name_of)
def test_file_of_the_samples_is_recognized_by_its_format_alone(module) -> None:
    lines = samples(module)
    recognized = recognizers("\n".join(lines) + "\n", LOADED)
    if not lines:
        heads = [path.read_bytes()[:64] for path in CASES if path.parent.name == name_of(module)]
        is_binary = [any(byte < 9 or 13 < byte < 32 for byte in head) for head in heads]  # bytes that no text has
        assert heads and all(is_binary), "a format of text shows how its files begin"
        assert recognized == []
    elif module in LOADED.second:  # it reads what no other format took
        assert module.recognise("\n".join(lines).encode(), "") and recognized == []
    elif module in LOADED.last:  # readers of tables are asked in turn, after all others
        assert name_of(module) in recognized and set(recognized) <= set(map(name_of, LOADED.last))
    else:
        assert recognized == [name_of(module)]


NAMES_OF_FILES = {name_of(module) for module in LOADED.of_files}
OF_FILES = [path for path in CASES if path.parent.name in NAMES_OF_FILES]


@pytest.mark.parametrize("path", OF_FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_fixture_is_recognized_by_its_format_alone(path: Path) -> None:
    """A table that only readers of tables know may suit several of them: they are asked in turn."""
    source = open_source(path)
    found = [module for module in LOADED.of_files if module.recognise(source.head(), source.name)]
    first = [name_of(module) for module in found if module not in LOADED.last]
    assert first == [path.parent.name] or (not first and path.parent.name in map(name_of, found))


@pytest.mark.parametrize(
    "path",
    [path for path in OF_FILES if hasattr(MODULES[path.parent.name], "IN_HEAD")],
    ids=lambda path: f"{path.parent.name}/{path.name}",
)
def test_no_file_is_recognized_without_the_texts_that_its_format_names(path: Path) -> None:
    module, source = MODULES[path.parent.name], open_source(path)
    head = source.head()
    for text in module.IN_HEAD:
        head = head.replace(text, b"?" * len(text))
    assert not module.recognise(head, source.name)


@pytest.mark.parametrize("path", CASES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_fixture_gives_golden_rows(path: Path, golden) -> None:
    status, tables = tables_of(open_source(path))
    stem = path.name.split(".")[0]
    golden("" if status == "ok" else f"{status}\n", path.with_name(f"{stem}.status"))
    old = {known.name for known in path.parent.glob(f"{stem}.*.csv")}
    for table in sorted({*tables, *(name.split(".")[1] for name in old)}):
        golden(as_csv(tables[table]) if table in tables else "", path.with_name(f"{stem}.{table}.csv"))


def rows_in(read: tuple[str, dict]) -> tuple[str, dict]:
    """What was read of a file, its rows as text, in which not a number equals itself."""
    return read[0], {name: (table.schema, repr(list(as_dicts(table)))) for name, table in read[1].items()}


@pytest.mark.parametrize("path", spread(CASES, lambda path: f"{path.parent.name}/{path.name}", "gzip"))
def test_same_rows_from_gzip_under_another_name(path: Path, tmp_path: Path) -> None:
    packed = tmp_path / "renamed.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    plain, other = tables_of(open_source(path)), tables_of(open_source(packed))
    if path.parent.name == "nsys_parquet" or path.name in (
        "devices_alone_power.csv",
        "rails_power.csv",
    ):  # by name alone
        assert plain[0] == "partial" and other == ("unknown", {})
    elif path.parent.name not in (
        "kineto",
        "jpwr",
        "jpwr_energy",
        "jpwr_hdf5",
        "system_json",
        "tensorboard_scalar",
        "mlflow_metric",
        "xprof_trace",
        "rocprof",
        "rocprof_csv",
        "ascend_kernels",
        "paddle_trace",
        "nsys_stats",
        "nccl_profiler",
        "rocprof_v1",
        "nccl_tests",
        "flight_recorder",
    ):  # these find something in the name
        assert rows_in(plain) == rows_in(other)
    else:
        assert {name: table.num_rows for name, table in plain[1].items()} == {
            n: t.num_rows for n, t in other[1].items()
        }
