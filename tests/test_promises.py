"""One test for each promise about hostile files and busy warehouses, by the command line alone.

These tests import nothing that came with a promise, so they can be run on an older version to show what it did not
hold.  The classes of attacks stand in the tests that docs/reliability.md names.
"""

import errno
import hashlib
import json
import os
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow.parquet as pq
import pytest

from command_line import Run
from conftest import FIXTURES
from logs import megatron_line
from nsight import capture, two_processes
from scalelens.ingestion import batch
from scalelens.ingestion.ingest import ingest
from scalelens.parsing.source import Source
from scalelens.version import __version__
from scalelens.warehouse.compact import compact
from scalelens.warehouse.log import Warehouse

CPU_S = 8  # all of these files took longer, and take one or two seconds, most of it to start


def write_log(path: Path, step_ms: float, steps: int = 60) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(megatron_line(step, step_ms + step % 7) for step in range(1, steps)))


def rows(run: Run, home: Path, statement: str) -> Any:
    return json.loads(run("sql", statement, "-w", home / "w", "--format", "json").out)


@pytest.fixture
def home(tmp_path: Path, run: Run) -> Path:
    """A folder with the logs of two runs and their warehouse."""
    for number in range(2):
        write_log(tmp_path / "logs" / f"run{number}" / "job.log", 500.0 + 500 * number)
    assert run("ingest", tmp_path / "logs", "-w", tmp_path / "w", "--jobs", "1").code == 0
    return tmp_path


def bounded(*words: object) -> "subprocess.CompletedProcess[str]":
    """A command that the kernel ends after so much processor time, however busy the machine is."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))

    command = [sys.executable, "-m", "scalelens", *map(str, words)]
    ran = subprocess.run(command, capture_output=True, text=True, preexec_fn=limit)
    assert ran.returncode != -signal.SIGXCPU and ran.returncode != -signal.SIGKILL, "it took too long"
    return ran


# verify certifies only what is the same


def verdict(run: Run, home: Path, path: Path) -> int:
    return run("verify", path, "-w", home / "w").code


def exchanged(text: str, pattern: str) -> str:
    """The first two different texts that a pattern finds change places."""
    first, *others = re.finditer(pattern, text)
    other = next(found for found in others if found[1] != first[1])
    return text[: first.start(1)] + other[1] + text[first.end(1) : other.start(1)] + first[1] + text[other.end(1) :]


def test_values_of_two_rows_of_an_envelope_change_places(run: Run, home: Path) -> None:
    path = home / "a.json"
    asked = "SELECT run_id, step_s FROM batch_stats()"
    text = run("sql", asked, "-w", home / "w", "--format", "envelope").out
    path.write_text(text)
    assert verdict(run, home, path) == 0
    start = text.index('"rows"', text.index('"columns"'))
    path.write_text(text[:start] + exchanged(text[start:], r"(?<![\w.])(\d\.\d{3})(?!\d)"))
    assert verdict(run, home, path) == 1


def test_values_of_two_rows_of_a_specification_change_places(run: Run, home: Path) -> None:
    path = home / "f.json"
    run("plot", "batch_cdf", "-o", path, "-w", home / "w")
    assert verdict(run, home, path) == 0
    path.write_text(exchanged(path.read_text(), r'"step_s": ([\d.]+)'))
    assert verdict(run, home, path) == 1


def test_a_row_outside_of_its_tabular(run: Run, home: Path) -> None:
    path = home / "t.tex"
    text = run("sql", "SELECT step, step_s FROM steps LIMIT 5", "-w", home / "w", "--format", "latex").out
    path.write_text(text)
    assert verdict(run, home, path) == 0
    row = next(line for line in reversed(text.splitlines(keepends=True)) if "&" in line)
    end = "\\end{tabular}\n"
    path.write_text(text.replace(row, "", 1).replace(end, end + row, 1))
    assert verdict(run, home, path) == 1


@pytest.mark.parametrize(
    "lie", ["scalelens", *(pytest.param(lie, marks=pytest.mark.slow) for lie in ("renderer", "definitions"))]
)
def test_a_picture_that_names_other_makers_is_never_the_same(run: Run, home: Path, lie: str) -> None:
    path = home / "f.json"
    run("plot", "batch_cdf", "-o", path, "-w", home / "w")
    spec = json.loads(path.read_text())
    said = spec["usermeta"]["scalelens"]
    said[lie] = {"scalelens": "0.0.1", "renderer": "by hand", "definitions": {}}[lie]
    spec["mark"], spec["title"] = "bar", "changed"
    path.write_text(json.dumps(spec))
    assert verdict(run, home, path) == 3


def test_a_shortened_list_of_inputs(run: Run, home: Path) -> None:
    """Else the log that was changed is one that nobody looks at."""
    path = home / "f.json"
    run("plot", "batch_cdf", "-o", path, "-w", home / "w")
    spec = json.loads(path.read_text())
    said = spec["usermeta"]["scalelens"]
    said["inputs"].popitem()
    said["scalelens"] = "0.0.1"
    path.write_text(json.dumps(spec))
    assert verdict(run, home, path) == 1


def test_an_altered_segment(run: Run, home: Path) -> None:
    """The same rows in other bytes: nothing but the digest shows it."""
    path = home / "t.md"
    path.write_text(run("query", "batch_stats", "-w", home / "w", "--format", "markdown").out)
    assert verdict(run, home, path) == 0
    (segment,) = (home / "w" / "segments").glob("steps-*")
    pq.write_table(pq.read_table(segment), segment, compression="gzip")
    assert verdict(run, home, path) == 2


# A file that changes


def test_a_large_file_that_changes_between_its_two_readings(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, digest, times = tmp_path / "logs" / "job.log", Source.digest, 0
    write_log(log, 100.0, 6_000)

    def digest_and_write(self: Source) -> str:
        nonlocal times
        found = digest(self)
        times += 1
        if times == 1:
            write_log(log, 200.0, 6_000)
        return found

    monkeypatch.setattr(Source, "digest", digest_and_write)
    run("ingest", log, "-w", tmp_path / "w", "--jobs", "1")
    assert times
    asked = "SELECT DISTINCT file_id, step_s > 0.15 AS is_new FROM steps"
    (found,) = rows(run, tmp_path, asked)
    assert found["is_new"] and found["file_id"] == hashlib.sha256(log.read_bytes()).hexdigest()


def test_other_bytes_of_the_same_size_and_time(run: Run, home: Path) -> None:
    log = home / "logs" / "run0" / "job.log"
    before = log.stat()
    log.write_bytes(log.read_bytes().replace(b"(ms): 50", b"(ms): 70"))
    os.utime(log, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert log.stat().st_size == before.st_size
    run("ingest", home / "logs", "-w", home / "w", "--jobs", "1")
    assert rows(run, home, "SELECT DISTINCT step_s > 0.6 AS is_new FROM steps WHERE step_s < 0.9") == [{"is_new": True}]


def test_all_can_be_read_again(run: Run, home: Path) -> None:
    ran = run("ingest", home / "logs", "-w", home / "w", "--jobs", "1", "--reread")
    assert ran.code == 0 and "unchanged" not in ran.err


# Sidecars from above, and rows of newer versions


def system_of(run: Run, home: Path) -> set[str | None]:
    return {row["system"] for row in rows(run, home, "SELECT system FROM runs")}


def test_a_sidecar_above_is_named(run: Run, home: Path) -> None:
    (home / "scalelens.toml").write_text('[facts]\nsystem = "above"\n')
    ran = run("ingest", home / "logs", "-w", home / "w", "--jobs", "1")
    assert str(home / "scalelens.toml") in ran.err.replace("\n", "") and system_of(run, home) == {"above"}


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
def test_a_sidecar_of_somebody_else(run: Run, home: Path) -> None:
    """Named where it lies among the logs, and not read where anybody may have put it there."""
    sidecar = home / "logs" / "scalelens.toml"
    sidecar.write_text('[facts]\nsystem = "theirs"\n')
    os.chown(sidecar, 12345, -1)
    assert "somebody else" in run("ingest", home / "logs", "-w", home / "w", "--jobs", "1").err.replace("\n", " ")
    (home / "logs").chmod(0o777)
    shutil.rmtree(home / "w")
    ran = run("ingest", home / "logs", "-w", home / "w", "--jobs", "1")
    assert "is not read" in ran.err.replace("\n", " ") and system_of(run, home) == {None}
    run("ingest", home / "logs", "-w", home / "w", "--jobs", "1", "--sidecars")
    assert system_of(run, home) == {"theirs"}


def test_rows_of_a_newer_version_stay(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    version = batch.reader_version
    with monkeypatch.context() as newer:
        newer.setattr(batch, "__version__", "9.1.0", raising=False)
        newer.setattr(batch, "reader_version", lambda *given: version(*given).replace("lines ", "lines new"))
        run("ingest", home / "logs", "-w", home / "w9", "--jobs", "1")
    before = sorted(path.name for path in (home / "w9" / "_log").iterdir())
    ran = run("ingest", home / "logs", "-w", home / "w9", "--jobs", "1")
    assert sorted(path.name for path in (home / "w9" / "_log").iterdir()) == before
    assert "9.1.0" in ran.err and __version__ != "9.1.0"


# What reaches people is inert

ACTS = "\x1b]0;x\x07"


SHOWN_BY = {"folder": "runs_overview", "sidecar": "configuration", "host": "energy_integrated"}


@pytest.mark.parametrize("place", SHOWN_BY)
def test_an_escape_sequence_does_not_reach_the_terminal(run: Run, tmp_path: Path, place: str) -> None:
    for number in range(2):
        folder = tmp_path / "logs" / (f"a{number}" + (ACTS if place == "folder" else "") + "z")
        write_log(folder / "job.log", 100.0 + number)
        if place == "sidecar":
            (folder / "scalelens.toml").write_text(f"[facts]\nprecision = {json.dumps(f'a{ACTS}{number}')}\n")
        if place == "host":
            samples = "".join(f"2026-01-02T03:04:0{s}Z,n{number}{ACTS},100\n" for s in range(9))
            (folder / "power.csv").write_text(f"timestamp,host,power_w\n{samples}")
    shown = [run("ingest", tmp_path / "logs", "-w", tmp_path / "w", "--jobs", "1")]
    for words in (("query", SHOWN_BY[place]), ("sql", "FROM files"), ("sql", "FROM runs")):
        shown.append(run(*words, "-w", tmp_path / "w", "--format", "table"))
    for ran in shown:
        assert not {"\x1b", "\x07"} & {*ran.out, *ran.err}, ran


# Small files stay small


def frame(path: Path, make: Callable[[h5py.Group], None]) -> Path:
    path.parent.mkdir(exist_ok=True)
    with h5py.File(path, "w") as file:
        group = file.create_group("jpwr")
        group.attrs["pandas_type"], group.attrs["nblocks"] = np.bytes_("frame"), 1
        group["block0_items"] = np.array([b"timestamps", b"rocm:0"])
        make(group)
    return path


def samples_of(count: int) -> np.ndarray:
    return np.array([[1.79e9 + k, 90.0 + k] for k in range(count)])


def external(group: h5py.Group) -> None:
    secret = Path(group.file.filename).parents[1] / "secret"
    secret.write_bytes(samples_of(9).tobytes())
    group.create_dataset("block0_values", (9, 2), "f8", external=[(str(secret), 0, 144)])


def virtual(group: h5py.Group) -> None:
    other = Path(group.file.filename).parents[1] / "other.h5"
    with h5py.File(other, "w") as file:
        file["x"] = samples_of(9)
    layout = h5py.VirtualLayout((9, 2), "f8")
    layout[:] = h5py.VirtualSource(str(other), "x", (9, 2))
    group.create_virtual_dataset("block0_values", layout)


def unwritten(group: h5py.Group) -> None:
    group.create_dataset("block0_values", (400_000, 2), "f8", chunks=(1000, 2), fillvalue=1.79e9)


def many_tables(group: h5py.Group) -> None:
    group["block0_values"] = samples_of(9)
    group.attrs["nblocks"] = 80
    for k in range(1, 80):
        group[f"block{k}_values"], group[f"block{k}_items"] = group["block0_values"], group["block0_items"]


@pytest.mark.parametrize("make", [external, virtual, unwritten, many_tables], ids=lambda make: make.__name__)
def test_numbers_that_an_hdf5_file_does_not_hold(run: Run, tmp_path: Path, make: Callable[[h5py.Group], None]) -> None:
    frame(tmp_path / "logs" / "power.h5", make)
    run("ingest", tmp_path / "logs", "-w", tmp_path / "w", "--jobs", "1")
    assert rows(run, tmp_path, "SELECT count(*) AS n FROM power") == [{"n": 0}]
    assert rows(run, tmp_path, "SELECT count(*) > 0 AS said FROM problems") == [{"said": True}]


def rows_of_database(run: Run, tmp_path: Path, path: Path, *statements: str) -> int:
    with sqlite3.connect(path) as base:
        for statement in statements:
            base.execute(statement)
    base.close()
    ran = bounded("ingest", path, "-w", tmp_path / "w", "--jobs", "1")
    assert ran.returncode in (0, 1), ran
    return int(rows(run, tmp_path, "SELECT count(*) AS n FROM events")[0]["n"])


@pytest.mark.parametrize("of", ["nsight", pytest.param("rocpd", marks=pytest.mark.slow)])
def test_a_view_is_not_read(run: Run, tmp_path: Path, of: str) -> None:
    """A few bytes of SQL in the place of a table make as many rows as they like."""
    count, path = 300_000, tmp_path / "a.sqlite"
    counting = f"WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n LIMIT {count})"
    if of == "nsight":
        tables = two_processes()
        tables.pop("CUPTI_ACTIVITY_KIND_KERNEL")
        view = f"""CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS {counting} SELECT k AS start, k + 1 AS "end", 0 AS deviceId,
            0 AS contextId, 7 AS streamId, k AS correlationId, 1677721600 AS globalPid, 3 AS demangledName,
            3 AS shortName FROM n"""
        statements = [view]
        capture(path, tables)
    else:
        shutil.copy(FIXTURES / "rocpd" / "one_process.sqlite", path)
        with sqlite3.connect(path) as base:
            table = next(
                name for (name,) in base.execute("SELECT name FROM sqlite_master WHERE name GLOB 'rocpd_region_*'")
            )
            columns = [row[1] for row in base.execute(f"PRAGMA table_info({table})")]
        base.close()
        told = ", ".join("k AS id" if name == "id" else f"r.{name}" for name in columns)
        statements = [
            f"ALTER TABLE {table} RENAME TO kept",
            f"CREATE VIEW {table} AS {counting} SELECT {told} FROM n, (SELECT * FROM kept LIMIT 1) r",
        ]
    assert rows_of_database(run, tmp_path, path, *statements) < count / 10


@pytest.mark.slow  # test_small_files.py has a form that starts no process
def test_a_join_that_multiplies(run: Run, tmp_path: Path) -> None:
    """Two tables whose rows all have the same key: a thousand of each gave a million events."""
    path = tmp_path / "a.db"
    shutil.copy(FIXTURES / "rocpd" / "one_process.sqlite", path)
    with sqlite3.connect(path) as base:
        (strings,) = next(base.execute("SELECT name FROM sqlite_master WHERE name GLOB 'rocpd_string_*'"))
        regions = strings.replace("string", "region")
        for table in (strings, regions):
            for _ in range(9):
                base.execute(f"INSERT INTO {table} SELECT * FROM {table} LIMIT 500")
    base.close()
    assert rows_of_database(run, tmp_path, path) < 10_000 + path.stat().st_size / 4


@pytest.mark.slow
def test_a_text_that_each_row_is_given(run: Run, tmp_path: Path) -> None:
    """The default of a new column stands in the file once, and in each of its rows that are read."""
    path, count = tmp_path / "a.sqlite", 20_000
    tables = two_processes()
    first = tables["NVTX_EVENTS"][0]
    tables["NVTX_EVENTS"] = [(k, k + 1, *first[2:]) for k in range(count)]
    capture(path, tables)
    with sqlite3.connect(path) as base:
        kept = [row[1] for row in base.execute("PRAGMA table_info(NVTX_EVENTS)")]
        base.execute("CREATE TABLE other AS SELECT * FROM NVTX_EVENTS")
        base.execute("DROP TABLE NVTX_EVENTS")
        base.execute("ALTER TABLE other RENAME TO NVTX_EVENTS")
        base.execute("ALTER TABLE NVTX_EVENTS DROP COLUMN text")
        base.execute(f"ALTER TABLE NVTX_EVENTS ADD COLUMN text DEFAULT '{'x' * 20_000}'")
    base.close()
    assert "text" in kept
    rows_of_database(run, tmp_path, path)
    (said,) = rows(run, tmp_path, "SELECT coalesce(sum(length(name)), 0) AS letters FROM events")
    assert said["letters"] <= 64_000_000 + 100 * path.stat().st_size


def test_a_name_that_nearly_fits_a_template_of_many_parts(tmp_path: Path) -> None:
    """It did not end, for a name of 243 letters."""
    log = tmp_path / "logs" / ("-" * 239 + ".log")
    write_log(log, 100.0)
    template = "-".join(f"{{p{k}}}" for k in range(7)) + "-end.log"
    (tmp_path / "logs" / "scalelens.toml").write_text(f"templates = [{json.dumps(template)}]\n")
    assert bounded("ingest", tmp_path / "logs", "-w", tmp_path / "w", "--jobs", "1").returncode == 0


def test_objects_within_objects(tmp_path: Path) -> None:
    """600 KB took a minute."""
    path = tmp_path / "trace.json"
    path.write_bytes(b'{"traceEvents": [' + b'{"a":' * 120_000)
    assert bounded("ingest", path, "-w", tmp_path / "w", "--jobs", "1").returncode in (0, 1)


# Files are written whole or not at all


def words_of_writer(name: str, home: Path) -> tuple[Path, list[str]]:
    path = home / {"report": "r.html", "connect": "d.duckdb"}[name]
    return path, [name, "-o", str(path), "-w", str(home / "w")]


@pytest.mark.parametrize(
    ("name", "size_bytes"),
    [("connect", 50_000), ("connect", 400_000), pytest.param("report", 4_096, marks=pytest.mark.slow)],
)
def test_a_full_disk_leaves_what_was_there(
    run: Run, home: Path, name: str, size_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A report left its first 4,096 bytes; a DuckDB file ended in a traceback, or was cut and called written."""
    path, words = words_of_writer(name, home)
    if name == "report":
        path.write_text("old")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, before[1]))
    try:
        ran = run(*words)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert ran.code == 2 and "Traceback" not in ran.err and len(ran.err.strip().splitlines()) == 1, ran
    assert (path.read_text() == "old") if name == "report" else not path.exists()


@pytest.mark.slow
def test_a_report_follows_no_link(run: Run, home: Path) -> None:
    path, words = words_of_writer("report", home)
    (home / "other").write_text("untouched")
    path.symlink_to(home / "other")
    assert run(*words).code == 0
    assert (home / "other").read_text() == "untouched" and not path.is_symlink()


def test_a_file_system_without_hard_links(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without links and renames nothing can be committed, which is said before anything is read."""

    def refused(*_: object, **__: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    for name in ("link", "rename"):
        monkeypatch.setattr(os, name, refused)
    monkeypatch.setattr(batch, "read_rows", lambda *_: pytest.fail("it was read"), raising=False)
    ran = run("ingest", home / "logs", "-w", home / "w2", "--jobs", "1")
    assert ran.code == 2 and "neither links nor renames" in ran.err and not (home / "w2").exists(), ran


def test_what_leaves_the_house_can_be_anonymous(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "ada.l" / "logs" / "job.log"
    write_log(log, 500.0)
    log.write_text("SLURM_JOB_ID=8812345\ndata_path ....... /home/ada.l/c4\n" + log.read_text())
    assert run("ingest", log.parent.parent, "-w", tmp_path / "w", "--jobs", "1").code == 0
    ran = run("export", "--anonymous", tmp_path / "out", "-w", tmp_path / "w")
    assert ran.code == 0 and "replaced" in ran.err, ran
    told = [
        f"{path.name}: {row}"
        for path in (tmp_path / "out").rglob("*.parquet") for row in pq.read_table(path).to_pylist()
    ]  # fmt: skip
    assert told and not [row for row in told if "ada.l" in row or "8812345" in row]


# Reading beside compact

READERS = {
    "query": "query batch_stats", "sql": "sql FROM|steps --format csv", "envelope": "query batch_stats --format envelope",
    "compare": "compare RUN0 RUN1", "history": "history", "review": "review", "next_runs": "next-runs RUN0 RUN1",
    "numbers": "numbers a=SELECT|min(step_s)|FROM|batch_stats() -o {}/n.tex", "plot": "plot batch_cdf -o {}/f.json",
    "report": "report -o {}/r.html", "explore": "explore -o {}/e.html", "export": "export {}/t",
    "connect": "connect -o {}/d.duckdb", "copy": "connect --copy -o {}/e.duckdb", "bundle": "bundle {}/b {}/../t.md",
    "verify": "verify {}/../t.md", "audit": "audit {}/../paper.md", "check": "check",
}  # fmt: skip


def words_of_reader(name: str, place: Path, run: str = "run") -> list[str]:
    """The words of a command that writes into a folder `place`, beside which are a table and a paper.

    Its runs are called `run` and a number.
    """
    return [word.replace("{}", str(place)).replace("|", " ").replace("RUN", run) for word in READERS[name].split()]


QUICK = ("sql", "numbers", "export", "verify")  # the others are tried at night


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in READERS]
)
def test_a_command_beside_compact(run: Run, home: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All segments are replaced as soon as the command has read the records, the first two times that it does."""
    (home / "out").mkdir()
    (home / "t.md").write_text(run("query", "batch_stats", "-w", home / "w", "--format", "markdown").out)
    (home / "paper.md").write_text("The median step of run0 takes 0.503 s.\n")
    words = words_of_reader(name, home / "out")
    monkeypatch.setattr("scalelens.database.views.SMALL_BYTES", 0)  # segments are read when they are asked for
    times, is_churning = 0, False

    def churning(read: Callable[[Warehouse], Any]) -> Callable[[Warehouse], Any]:
        def read_and_churn(self: Warehouse) -> Any:
            nonlocal times, is_churning
            found = read(self)
            if self.root == home / "w" and times < 2 and not is_churning:
                times, is_churning = times + 1, True
                churn(home, times)
                is_churning = False
            return found

        return read_and_churn

    monkeypatch.setattr(Warehouse, "texts", churning(Warehouse.texts))
    monkeypatch.setattr(Warehouse, "live", churning(Warehouse.live))
    ran = run(*words, "-w", home / "w")
    assert times and ran.code in (0, 1) and "Traceback" not in ran.err, ran


def churn(home: Path, number: int) -> None:
    """Reads one log more and compacts, which replaces all segments."""
    write_log(home / "logs" / f"more{number}" / "job.log", 600.0 + number)
    ingest([home / "logs"], home / "w", jobs=1)
    compact(home / "w")
