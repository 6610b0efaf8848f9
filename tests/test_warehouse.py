"""The warehouse keeps its promises: each content once, the newest reading counts, nothing half-visible, nothing lost.

Rules: commit records and live view in `warehouse.py`; which files are one run in `members.py`.
"""

import errno
import gzip
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq
import pytest

import scalelens.parsers
from asking import answer, connect
from asking import ask as ask_query
from conftest import FIXTURES
from logs import megatron_line
from scalelens.database.execute import frame as answer_of
from scalelens.errors import UserError
from scalelens.folders import modules_of
from scalelens.ingestion import batch as reading
from scalelens.ingestion import formats
from scalelens.ingestion import ingest as ingestion
from scalelens.ingestion.ingest import ingest
from scalelens.ingestion.walk import WalkedFile
from scalelens.parsers import megatron
from scalelens.parsing import rows as rows_module
from scalelens.parsing.part_facts import PartFacts
from scalelens.runs.joining import runs_of
from scalelens.runs.run import Run
from scalelens.tables import OLDEST_SCHEMA, SCHEMA_VERSION, STORED
from scalelens.warehouse import log as warehouse
from scalelens.warehouse import writer
from scalelens.warehouse.live import Live
from scalelens.warehouse.log import Warehouse
from scalelens.warehouse.records import Entry, segment

SETTINGS = (
    "using world size: 2, data-parallel-size: 1, tensor-model-parallel size: 2, pipeline-model-parallel size: 1\n"
)


def write_log(path: Path, steps: int = 5, first: int = 1, step_ms: float = 1000.0) -> Path:
    """A log of so many steps, that differs from others in their time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    records = (megatron_line(step, step_ms + step % 7) for step in range(first, first + steps))
    path.write_text(SETTINGS + "".join(records))
    return path


def write_logs(folder: Path, count: int, steps: int = 5) -> Path:
    for number in range(count):
        write_log(folder / f"{number}.log", steps, step_ms=1000.0 + 10 * number)
    return folder


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A folder of three logs."""
    return write_logs(tmp_path / "logs", 3)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Where a warehouse may be made."""
    return tmp_path / "warehouse"


def ask(home: Path, statement: str) -> list[Any]:
    return answer(home, statement).fetchall()


def steps_by_path(home: Path) -> dict[str, int]:
    """Steps of each file, those without any included."""
    counts = "SELECT path, (SELECT count(*) FROM steps WHERE steps.file_id = files.file_id) FROM files ORDER BY path"
    return {Path(path).name: count for path, count in ask(home, counts)}


def everything(home: Path) -> dict[str, list[Any]]:
    """All rows of all tables, in an order of their own; without the moment of the commit."""
    names = (*STORED, "members", "runs")
    connection = connect(home, about=" ".join((*names, "files")))
    tables = {name: connection.execute(f"FROM {name} ORDER BY ALL").fetchall() for name in names}
    return tables | {"files": connection.execute("SELECT * EXCLUDE ingested_at FROM files ORDER BY ALL").fetchall()}


def records(home: Path) -> list[str]:
    """What is committed; a record that is still being written has a temporary name."""
    return sorted(path.name for path in (home / "_log").glob("[0-9]*.json"))


def without_digest(record: Path) -> Path:
    """The name that an older version would have given to a record."""
    return record.with_name(f"{record.name[:20]}-0a1b2c3d.json")


def touch_later(path: Path) -> None:
    """Another time of change, however coarse the clock of the file system."""
    status = path.stat()
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 10**9))


# What counts


def test_a_record_counts_the_rows_of_each_segment(tmp_path: Path) -> None:
    """By these numbers it is told which tables are small."""
    ingest([write_logs(tmp_path / "logs", 3)], tmp_path / "w")
    home = Warehouse(tmp_path / "w")
    (batch,) = home.live().batches.values()
    stored = {table: pq.read_metadata(home.segments / segment(table, batch.id)).num_rows for table in batch.tables}
    assert batch.tables == stored and stored["steps"] == 15


def test_the_same_folder_again_does_nothing(logs: Path, home: Path) -> None:
    ingest([logs], home)
    before = records(home)
    report = ingest([logs], home)
    assert (report.entries, report.unchanged) == ([], 3)
    assert records(home) == before


def test_a_log_that_grew_replaces_what_it_said(logs: Path, home: Path) -> None:
    ingest([logs], home)
    write_log(logs / "1.log", steps=9)
    touch_later(logs / "1.log")
    ingest([logs], home)
    assert steps_by_path(home) == {"0.log": 5, "1.log": 9, "2.log": 5}
    assert ask(home, "SELECT count(*), count(DISTINCT run_id), count(run_id) FROM steps") == [(19, 3, 19)]


def test_a_log_that_was_rewritten_at_the_same_length_is_read_again(logs: Path, home: Path) -> None:
    ingest([logs], home)
    write_log(logs / "1.log", step_ms=1500.0)
    touch_later(logs / "1.log")
    ingest([logs], home)
    assert ask(home, "SELECT count(*) FROM steps WHERE step_s > 1.4") == [(5,)]
    assert ask(home, "SELECT count(*) FROM steps") == [(15,)]


def test_a_touched_file_keeps_its_rows(logs: Path, home: Path) -> None:
    ingest([logs], home)
    touch_later(logs / "1.log")
    ingest([logs], home)
    assert steps_by_path(home) == {"0.log": 5, "1.log": 5, "2.log": 5}
    assert ingest([logs], home).unchanged == 3


@pytest.mark.parametrize("together", [True, False], ids=["in one ingest", "one after the other"])
def test_the_same_bytes_under_two_paths_are_there_once(logs: Path, home: Path, tmp_path: Path, together: bool) -> None:
    copy = tmp_path / "copies" / "again.log"
    copy.parent.mkdir()
    shutil.copy(logs / "0.log", copy)
    for paths in ([logs, copy.parent],) if together else ([logs], [copy.parent]):
        ingest(paths, home)
    assert ask(home, "SELECT count(*) FROM steps") == [(15,)]
    assert ask(home, "SELECT paths FROM files WHERE len(paths) > 1") == [([str(copy), str(logs / "0.log")],)]


def test_compressed_bytes_are_another_content(logs: Path, home: Path) -> None:
    (logs / "0.log.gz").write_bytes(gzip.compress((logs / "0.log").read_bytes()))
    ingest([logs], home)
    assert ask(home, "SELECT count(*) FROM files") == [(4,)]


def test_a_newer_parser_reads_again(logs: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(logs / "0.log", logs / "copy.log")
    monkeypatch.setattr(formats, "our_formats", lambda: modules_of(scalelens.parsers))  # what is kept is of their files
    ingest([logs], home)
    monkeypatch.setattr(megatron, "VERSION", megatron.VERSION + 1)
    monkeypatch.setitem(megatron.COLUMNS, "lm loss", "accuracy")
    monkeypatch.setattr(megatron.Reader, "known", None)
    caches = (megatron.target, megatron.known_layout)
    for cache in caches:
        cache.cache_clear()
    try:
        ingest([logs], home)
    finally:
        for cache in caches:
            cache.cache_clear()
    assert ask(home, "SELECT count(*), count(loss), count(accuracy) FROM steps") == [(15, 0, 15)]
    assert ingest([logs], home).unchanged == 4


def test_another_time_zone_reads_again(logs: Path, home: Path) -> None:
    with (logs / "0.log").open("a") as log:
        log.write("[after training is done] datetime: 2026-06-10 09:31:19 \n")
    stamp = "SELECT CAST(ts AS VARCHAR), ts_origin FROM phases"
    ingest([logs], home)
    assert ask(home, stamp) == [("2026-06-10 09:31:19", "naive")]
    ingest([logs], home, time_zone="Europe/Berlin")
    assert ask(home, stamp) == [("2026-06-10 07:31:19", "utc")]


USER_FORMAT = '''"""Progress of a trainer of our own.

Tool: trainer
Versions: 1
Yields: steps
Source: trainer.py

Samples:
    trainer: step 7 took 0.5 s
"""

import re

VERSION = 1
ANCHORS = ("trainer: step ",)
LINE = re.compile(r"trainer: step (\\d+) took ([\\d.]+) s$")


class Reader:
    claims = None

    def __init__(self, rows):
        self.rows = rows

    def take(self, line):
        if not (found := LINE.match(line.text)):
            return False
        self.rows.add("steps", line.number, step=int(found[1]), step_s=float(found[2]), phase="train")
        return True
'''


def test_a_new_format_of_the_user_reads_again(logs: Path, home: Path, tmp_path: Path) -> None:
    (logs / "own.log").write_text("trainer: step 7 took 0.5 s\n")
    ingest([logs], home)
    assert steps_by_path(home)["own.log"] == 0
    folder = tmp_path / "formats"
    folder.mkdir()
    (folder / "trainer.py").write_text(USER_FORMAT)
    ingest([logs], home, format_folders=(folder,))
    assert steps_by_path(home) == {"0.log": 5, "1.log": 5, "2.log": 5, "own.log": 1}


def test_documents_are_read_when_asked(logs: Path, home: Path) -> None:
    shutil.move(logs / "0.log", logs / "notes.md")
    ingest([logs], home)
    assert ask(home, "SELECT status FROM files WHERE path LIKE '%.md'") == [("document",)]
    ingest([logs], home, documents=True)
    assert steps_by_path(home)["notes.md"] == 5


def test_a_document_does_not_hide_a_log_of_the_same_content(logs: Path, home: Path) -> None:
    shutil.copy(logs / "0.log", logs / "0.html")
    ingest([logs], home)
    assert ask(home, "SELECT count(*) FROM steps") == [(15,)]


def test_forgotten_files_are_gone_until_they_are_read_again(logs: Path, home: Path) -> None:
    ingest([logs], home)
    Warehouse(home).forget([str(logs / "1.log")])
    assert steps_by_path(home) == {"0.log": 5, "2.log": 5}
    assert ask(home, "SELECT count(*) FROM runs") == [(2,)]
    ingest([logs], home)
    assert steps_by_path(home) == {"0.log": 5, "1.log": 5, "2.log": 5}


def test_forgetting_one_of_two_paths_keeps_the_content(logs: Path, home: Path) -> None:
    shutil.copy(logs / "0.log", logs / "copy.log")
    ingest([logs], home)
    Warehouse(home).forget([str(logs / "0.log")])
    assert steps_by_path(home) == {"copy.log": 5, "1.log": 5, "2.log": 5}
    Warehouse(home).forget([str(logs / "copy.log")])
    assert ask(home, "SELECT count(*) FROM steps") == [(10,)]


def test_names_that_are_not_utf8_are_said(logs: Path, home: Path) -> None:
    try:
        (logs / os.fsdecode(b"caf\xe9.log")).write_text("hello")
    except OSError:
        pytest.skip("the file system takes no such names")
    report = ingest([logs], home)
    assert len(report.entries) == 3
    assert ["not UTF-8" in line for line in report.unreadable] == [True]


def test_files_that_cannot_be_read_are_said_each_and_tried_again(
    logs: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: str) -> Any:
        if Path(path).name != "0.log":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return opened(path)

    opened = reading.open_source
    monkeypatch.setattr(reading, "open_source", refused)
    ingest([logs], home)
    assert ask(home, "SELECT status, count(*) FROM files GROUP BY ALL ORDER BY ALL") == [("ok", 1), ("unknown", 2)]
    monkeypatch.undo()
    ingest([logs], home)
    assert steps_by_path(home) == {"0.log": 5, "1.log": 5, "2.log": 5}


def test_a_read_that_fails_half_way_is_partial_and_tried_again(
    logs: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(self: Any, size: int = 0) -> Any:
        yield SETTINGS.encode() + megatron_line(1, 1000.0).encode()
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr("scalelens.parsing.source.Source.chunks", failing)
    monkeypatch.setattr("scalelens.parsing.source.Source.head", lambda self: SETTINGS.encode())
    ingest([logs / "0.log"], home)
    ((status, note),) = ask(home, "SELECT status, note FROM files")
    assert status == "partial"
    assert "cannot be read to its end" in note
    assert ask(home, "SELECT count(*), count(run_id) FROM steps") == [(1, 1)]
    monkeypatch.undo()
    ingest([logs / "0.log"], home)
    assert steps_by_path(home) == {"0.log": 5}


# Records


def a_history(home: Path, folder: Path) -> None:
    """Many commits: logs that grow, a copy, one whose first path is forgotten, one that is gone for good."""
    for steps in range(1, 4):
        for number in range(3):
            write_log(folder / f"{number}.log", steps, step_ms=1000.0 + 10 * number)
            touch_later(folder / f"{number}.log")
            ingest([folder], home)
    shutil.copy(folder / "0.log", folder / "copy.log")
    write_log(folder / "bad.log", step_ms=5000.0)
    ingest([folder], home)
    Warehouse(home).forget([str(folder / "0.log"), str(folder / "bad.log")])


def test_folding_keeps_all_answers(home: Path, tmp_path: Path) -> None:
    a_history(home, tmp_path / "logs")
    before = everything(home)
    assert len(records(home)) > 8
    Warehouse(home).fold(above=3)
    assert len(records(home)) == 1
    assert everything(home) == before
    Warehouse(home).fold(above=0)
    assert everything(home) == before


def test_a_short_log_is_not_folded(logs: Path, home: Path) -> None:
    ingest([logs], home)
    before = records(home)
    Warehouse(home).fold(above=1)
    assert records(home) == before


def test_ingest_folds_a_long_log(logs: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warehouse.Warehouse.fold, "__defaults__", (2,))
    for steps in range(5, 9):
        write_log(logs / "0.log", steps)
        touch_later(logs / "0.log")
        ingest([logs], home)
    assert len(records(home)) <= 2
    assert steps_by_path(home) == {"0.log": 8, "1.log": 5, "2.log": 5}


@pytest.mark.parametrize("removed", range(4))
def test_a_fold_that_is_killed_is_taken_up_by_the_next_one(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, removed: int
) -> None:
    a_history(home, tmp_path / "logs")
    before, names = everything(home), records(home)
    kept = {name: (home / "_log" / name).read_bytes() for name in names[removed:]}
    Warehouse(home).fold(above=3)
    for name, content in kept.items():  # as if it had been killed before it removed these
        (home / "_log" / name).write_bytes(content)
    assert everything(home) == before
    ingest([write_log(tmp_path / "other" / "later.log", step_ms=3000.0)], home)
    after = everything(home)
    Warehouse(home).fold(above=1)
    assert len(records(home)) == 1
    assert everything(home) == after


def test_a_log_that_is_folded_while_it_is_read_is_read_again(
    logs: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def vanished(log: Path, name: str) -> Any:
        monkeypatch.undo()
        raise FileNotFoundError(log / name)

    ingest([logs], home)
    monkeypatch.setattr("scalelens.warehouse.stored_records.text_of", vanished)
    assert len(Warehouse(home).live().paths) == 3


def test_an_older_schema_is_refused_with_the_remedy(logs: Path, home: Path) -> None:
    ingest([logs], home)
    (record,) = (home / "_log").glob("*.json")
    without_digest(record).write_text(json.dumps(json.loads(record.read_text()) | {"schema": OLDEST_SCHEMA - 1}))
    record.unlink()
    with pytest.raises(UserError, match=r"older ScaleLens.*make a new warehouse"):
        Warehouse(home).live()


def test_a_newer_schema_is_refused_with_the_remedy(logs: Path, home: Path) -> None:
    ingest([logs], home)
    (record,) = (home / "_log").iterdir()
    newer = json.loads(record.read_text()) | {"schema": SCHEMA_VERSION + 1, "entries": "of another shape"}
    without_digest(record).write_text(json.dumps(newer))
    record.unlink()
    with pytest.raises(UserError, match=r"newer ScaleLens.*pip install --upgrade scalelens"):
        connect(home)
    with pytest.raises(UserError, match="newer ScaleLens"):
        ingest([logs], home)


@pytest.mark.parametrize("older", [False, True])
def test_a_damaged_record_is_named(logs: Path, home: Path, older: bool) -> None:
    ingest([logs], home)
    (record,) = (home / "_log").iterdir()
    record = record.rename(without_digest(record)) if older else record
    whole = record.read_bytes()
    cut = [whole[:at] for at in range(0, len(whole), len(whole) // 20)]
    for damaged in (
        *cut,
        b"null",
        b"[]",
        b'{"schema": "1"}',
        b'{"schema": 1}x',
        b"\xff\xfe",
        whole.replace(b"path", b"p\xffth"),
    ):
        record.write_bytes(damaged)
        with pytest.raises(UserError, match=rf"{record.name} is damaged .*scalelens check"):
            connect(home)


def test_a_missing_segment_is_said(logs: Path, home: Path) -> None:
    ingest([logs], home)
    next((home / "segments").glob("steps-*")).unlink()
    with pytest.raises(UserError, match="segment of .* is missing"):
        connect(home)


def test_a_damaged_segment_is_said(logs: Path, home: Path) -> None:
    ingest([logs], home)
    next((home / "segments").glob("steps-*")).write_bytes(b"PAR1 and nothing else")
    with pytest.raises(UserError, match="segment of .* is missing or damaged"):
        connect(home)


def test_a_folder_with_other_content_is_left_alone(logs: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "main.tex").write_text("x")
    with pytest.raises(UserError, match="contains other files"):
        ingest([logs], tmp_path / "thesis")
    assert [path.name for path in (tmp_path / "thesis").iterdir()] == ["main.tex"]


def test_a_warehouse_inside_the_folder_is_not_read(logs: Path) -> None:
    ingest([logs], logs / "warehouse")
    assert ingest([logs], logs / "warehouse").unchanged == 3


def test_without_hard_links_a_record_is_renamed(logs: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", refused)
    ingest([logs], home)
    assert steps_by_path(home) == {"0.log": 5, "1.log": 5, "2.log": 5}
    assert len(records(home)) == 1


# Several processes


def test_the_number_of_workers_changes_no_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    logs = write_logs(tmp_path / "logs", 7)
    shutil.copy(logs / "0.log", logs / "copy.log")
    monkeypatch.setattr(ingestion, "BATCH_FILES", 2)
    for jobs in (1, 2):
        ingest([logs], tmp_path / f"by{jobs}", jobs=jobs)
    assert len(records(tmp_path / "by2")) == 4
    assert everything(tmp_path / "by1") == everything(tmp_path / "by2")


def test_a_script_without_a_main_guard_may_ingest(tmp_path: Path) -> None:
    write_logs(tmp_path / "logs", 4)
    script = tmp_path / "script.py"
    script.write_text(
        "import scalelens\n"
        "from scalelens.ingestion import ingest\n"
        "ingest.BATCH_FILES = 2\n"
        f"print(len(scalelens.ingest({str(tmp_path / 'logs')!r}, warehouse={str(tmp_path / 'w')!r}, jobs=2).entries))\n"
    )
    run = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert (run.stdout, run.stderr) == ("4\n", "")


# Ingests that are killed: at a moment, or at an access to the file system.  The process that forks has imported all
# that an ingest needs, so that a moment of it is a moment of the work, and does none of the work itself.
KILLED = """
import json, os, signal, sys, time, traceback
from pathlib import Path
from scalelens.ingestion import formats
from scalelens.ingestion import ingest as ingestion
from scalelens.question.session import Session

def answer(home, statement):
    return Session(home, about=statement).connection.execute(statement)


formats.load()
ingestion.BATCH_FILES = 2
logs, homes = Path(sys.argv[1]), Path(sys.argv[2])


def forked(act):
    process = os.fork()
    if not process:
        try:
            act()
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    return process


def whole(home):
    def act():
        if (home / "_log").is_dir():
            counts = "SELECT path, (SELECT count(*) FROM steps s WHERE s.file_id = f.file_id), rows FROM files f ORDER BY path"
            before = answer(home, counts).fetchall()
        else:
            before, counts = [], ""
        ingestion.ingest([logs], home, jobs=1)
        steps = "SELECT count(*), count(DISTINCT file_id) FROM steps"
        after = answer(home, steps).fetchall()
        print(json.dumps([before, after]), flush=True)
        os._exit(0)
    assert os.waitpid(forked(act), 0)[1] == 0, home


def killed_after(home, seconds):
    process = forked(lambda: ingestion.ingest([logs], home, jobs=1))
    time.sleep(seconds)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)


def killed_at(home, access):
    def act():
        left = access

        def count(event, facts):
            nonlocal left
            if event in ("open", "os.mkdir", "os.rename", "os.link", "os.remove", "os.scandir") and str(home) in str(facts):
                left -= 1
                if not left:
                    os.kill(os.getpid(), signal.SIGKILL)
        sys.addaudithook(count)
        ingestion.ingest([logs], home, jobs=1)
    os.waitpid(forked(act), 0)


begin = time.time()
os.waitpid(forked(lambda: ingestion.ingest([logs], homes / "clean", jobs=1)), 0)
duration = time.time() - begin
for number, (kind, moment) in enumerate(json.loads(sys.argv[3])):
    home = homes / str(number)
    killed_after(home, moment * duration) if kind == "moment" else killed_at(home, moment)
    whole(home)
"""
FILES, STEPS = 12, 40


@pytest.mark.parametrize("kills", [16, pytest.param(200, marks=pytest.mark.slow)])
def test_an_ingest_may_be_killed_at_any_moment(tmp_path: Path, kills: int) -> None:
    logs = write_logs(tmp_path / "logs", FILES, STEPS)
    chance = random.Random(17)
    moments = [("moment", chance.random()) for _ in range(kills // 2)] + [
        ("access", chance.randrange(1, 60)) for _ in range(kills // 2)
    ]
    run = subprocess.run(
        [sys.executable, "-c", KILLED, logs, tmp_path, json.dumps(moments)], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    found = [json.loads(line) for line in run.stdout.splitlines()]
    assert len(found) == len(moments)
    ingest([logs], tmp_path / "by_one", jobs=1)
    rows = dict(ask(tmp_path / "by_one", "SELECT path, rows FROM files"))
    for (before, after), moment in zip(found, moments, strict=True):
        assert all((steps, count) == (STEPS, rows[path]) for path, steps, count in before), moment
        assert after == [[FILES * STEPS, FILES]], moment


IN_SMALL_BATCHES = (
    "from scalelens.ingestion import ingest; ingest.BATCH_FILES = 2; from scalelens.cli import main; main()"
)


def started(*arguments: str | Path, **options: Any) -> "subprocess.Popen[str]":
    """An ingest of many small batches, as a process of its own group."""
    return subprocess.Popen(
        [sys.executable, "-c", IN_SMALL_BATCHES, *map(str, arguments)], text=True, start_new_session=True, **options
    )


def until(condition: Callable[[], Any], seconds: float = 60.0) -> Any:
    """Waits for what must come sooner or later."""
    end = time.monotonic() + seconds
    while not (met := condition()):
        assert time.monotonic() < end, "it never came"
        time.sleep(0.01)
    return met


def processes_of(session: int) -> set[int]:
    """Processes of a session, those that only wait to be buried left out."""
    found = set()
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] not in "ZX":
            found.add(int(status.parent.name))
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
def test_workers_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    logs, home = write_logs(tmp_path / "logs", 40, 400), tmp_path / "warehouse"
    process = started("ingest", logs, "-w", home, "--jobs", "2", stderr=subprocess.DEVNULL)
    try:
        until(lambda: len(processes_of(process.pid)) > 2 and (home / "_log").is_dir() and records(home))
        process.kill()
        process.wait()
        until(lambda: not processes_of(process.pid))
    finally:
        for left in processes_of(process.pid):
            os.kill(left, signal.SIGKILL)
    assert set(steps_by_path(home).values()) == {400}
    ingest([logs], home)
    assert steps_by_path(home) == {f"{number}.log": 400 for number in range(40)}


def test_two_ingests_at_once_leave_each_file_once(tmp_path: Path) -> None:
    logs = write_logs(tmp_path / "logs", 12)
    shutil.copytree(logs, tmp_path / "logs" / "copies")
    homes = [tmp_path / "together", tmp_path / "alone"]
    folders = (logs, logs, logs / "copies")
    together = [started("ingest", folder, "-w", homes[0], stderr=subprocess.PIPE) for folder in folders]
    assert [(process.communicate()[1][-300:], process.returncode) for process in together if process.wait()] == []
    ingest([logs], homes[1])
    assert everything(homes[0]) == everything(homes[1])


def test_warehouses_may_be_made_at_once(logs: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Path.mkdir

    def interrupted(self: Path, *arguments: Any, **options: Any) -> None:
        made(self, *arguments, **options)
        if self.parent == home:  # another process is as far, and looks
            monkeypatch.setattr(Path, "mkdir", made)
            Warehouse(home).create()

    monkeypatch.setattr(Path, "mkdir", interrupted)
    ingest([logs], home)
    assert len(steps_by_path(home)) == 3


# A full disk


def full(*_: Any, **__: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # a writer closes when it is collected
@pytest.mark.parametrize(
    ("where", "name"),
    [
        (pq.ParquetWriter, "write_table"),
        (pq.ParquetWriter, "close"),
        (os, "fsync"),
        (os, "link"),
        (Path, "rename"),
        (Path, "mkdir"),
    ],
)
def test_a_full_disk_is_one_error_and_loses_nothing(
    logs: Path, home: Path, monkeypatch: pytest.MonkeyPatch, where: Any, name: str
) -> None:
    if name != "mkdir":
        ingest([logs / "0.log"], home)
    monkeypatch.setattr(where, name, full)
    with pytest.raises(UserError, match=r"no space is left .*free some space and run the same command again"):
        ingest([logs], home)
    monkeypatch.undo()
    if name != "mkdir":
        assert steps_by_path(home) == {"0.log": 5}
        assert not list(home.rglob("*.tmp"))
    ingest([logs], home)
    assert steps_by_path(home) == {"0.log": 5, "1.log": 5, "2.log": 5}


@pytest.mark.parametrize("is_first", [True, False])
def test_segments_that_no_record_could_name_go_with_a_first_ingest(
    logs: Path, home: Path, monkeypatch: pytest.MonkeyPatch, is_first: bool
) -> None:
    if not is_first:
        ingest([write_log(logs.parent / "before" / "a.log")], home)
    before = sorted(home.rglob("*.parquet"))
    monkeypatch.setattr(Warehouse, "commit", lambda *_: full())
    with pytest.raises(UserError, match="no space is left"):
        ingest([logs], home, jobs=1)
    monkeypatch.undo()
    assert home.exists() is not is_first
    assert {*before} <= {*home.rglob("*.parquet")}  # nothing committed is lost
    assert not ingest([logs], home).all_faults()


def test_a_full_disk_in_the_middle_of_a_file_is_no_problem_of_the_file(
    logs: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full_once(*_: Any) -> None:
        monkeypatch.undo()
        full()

    monkeypatch.setattr(rows_module, "BATCH", 2)  # so that rows are written while lines are taken
    monkeypatch.setattr(writer, "ROW_GROUP_BYTES", 1)
    monkeypatch.setattr(pq.ParquetWriter, "write_table", full_once)
    with pytest.raises(UserError, match="no space is left"):
        ingest([logs], home)
    assert not home.exists()
    assert not ingest([logs], home).all_faults()


LIMITED = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (6000, 6000)); " + IN_SMALL_BATCHES


def test_files_that_may_not_grow_are_one_error(tmp_path: Path, home: Path) -> None:
    pytest.importorskip("resource")
    logs = write_logs(tmp_path / "logs", 2, 2000)
    run = subprocess.run(
        [sys.executable, "-B", "-c", LIMITED, "ingest", logs, "-w", home], capture_output=True, text=True
    )
    assert (run.returncode, len(run.stderr.splitlines())) == (2, 1), run.stderr
    assert str(home) in run.stderr
    ingest([logs], home)
    assert steps_by_path(home) == {"0.log": 2000, "1.log": 2000}


def test_an_interrupted_batch_leaves_no_files(logs: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Warehouse, "commit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ingest([logs], home)
    assert not list(home.rglob("*.tmp"))
    assert records(home) == []


# Which files are one run


def steps_of(*ranks: int | None, steps: tuple[int, int] = (1, 5), **facts: Any) -> dict[str, Any]:
    """What is known of a log with steps of these ranks."""
    return {"rows": {"steps": 5}, "steps": {str(rank): steps for rank in ranks}, "attempts": 1} | facts


def trace_of(rank: int | None) -> dict[str, Any]:
    return {"rows": {"events": 9}, "steps": {}, "attempts": 0, "traced": [rank]}


def power(**facts: Any) -> dict[str, Any]:
    return {"rows": {"power": 9}, "steps": {}, "attempts": 0} | facts


def spans() -> dict[str, Any]:
    return {"rows": {"phases": 1}, "steps": {}, "attempts": 0}


def runs(files: dict[str, dict[str, Any]], roots: dict[str, str] | None = None) -> list[Run]:
    """Runs of files by their path below one root."""
    entries = [
        Entry(
            "/r/" + path,
            (roots or {}).get(path, "/r"),
            file_id=f"id of {path}",
            batch="b",
            parts={0: msgspec.convert(facts, PartFacts)},
        )
        for path, facts in files.items()
    ]
    return runs_of(Live({entry.path: entry for entry in entries}, {entry.file_id: entry for entry in entries}, {}, []))


def reasons(run: Run) -> dict[str, str]:
    """The rule that joined each file, by its path."""
    return {part.path: reason for part, reason in zip(run.parts, run.reasons, strict=True)}


def names(found: list[Run]) -> list[list[str]]:
    """Files by run."""
    return sorted(sorted(part.path.removeprefix("/r/") for part in run.parts) for run in found)


def test_the_launchers_log_of_the_ranks_steps_is_of_their_run() -> None:
    utc = {"started_at": "2026-01-02T10:59:30", "ended_at": "2026-01-02T11:20:00"}
    local = {"started_at": "2026-01-02T12:00:10", "ended_at": "2026-01-02T12:19:59"}
    later = {"started_at": "2026-01-02T12:07:00", "ended_at": "2026-01-02T12:27:00"}
    ranks = {"a/rank0.log": steps_of(0, **utc), "a/rank1.log": steps_of(1, **utc), "a/trace_rank0.json": trace_of(0)}
    (run,) = runs({**ranks, "a/job.out": steps_of(None, steps=(1, 4), **local)})
    assert run.parts[0].path == "/r/a/rank0.log"
    assert reasons(run)["/r/a/job.out"] == "twin"
    assert len(runs({"a/rank0.log": steps_of(0, **utc), "a/job.out": steps_of(None, **local)})) == 1
    for other in (steps_of(None, steps=(1, 6), **local), steps_of(None, **later), steps_of(None)):
        assert len(runs({**ranks, "a/job.out": other})) == 3


def test_every_copy_of_what_the_launcher_printed_is_of_the_ranks_run_in_whichever_folder() -> None:
    times = {"started_at": "2026-01-02T10:59:30", "ended_at": "2026-01-02T11:20:00"}
    sizes, model = {"devices": "2", "global_batch_size": "8"}, {"model": "gpt-0.2m-4x64"}
    ranks = {f"a/rank{k}.log": steps_of(k, **times, settings=sizes | {"model": "gpt"}) for k in (0, 1)}
    printed = steps_of(None, **times, settings=sizes | model)
    for copies in (["a/job.out", "a/other.out"], ["a/job.out", "slurm.out"], ["out/slurm.out"]):
        (run,) = runs({**ranks, **dict.fromkeys(copies, printed)})
        assert [reasons(run)[f"/r/{path}"] for path in copies] == ["twin"] * len(copies)
    other_size = steps_of(None, **times, settings={**sizes, "devices": "4"})
    other_job = {"slurm.out": printed | {"job_id": "77"}} | {k: v | {"job_id": "78"} for k, v in ranks.items()}
    twice = {**ranks, **{path.replace("a/", "b/"): facts for path, facts in ranks.items()}, "slurm.out": printed}
    assert len(runs({**ranks, "slurm.out": other_size})) == len(runs(other_job)) == 2
    assert len(runs({**ranks, "slurm.out": printed}, roots={"slurm.out": "/other"})) == 2
    assert len(runs(twice)) == 3  # it may be of either: it stays by itself
    later = {"started_at": "2026-01-02T10:59:50", "ended_at": "2026-01-02T11:20:20"}
    after = {path: facts | later if path.startswith("b/") else facts for path, facts in twice.items()}
    assert names(runs(after)) == [["a/rank0.log", "a/rank1.log", "slurm.out"], ["b/rank0.log", "b/rank1.log"]]


def test_logs_and_traces_of_the_ranks_of_a_folder_are_one_run() -> None:
    (run,) = runs({
        "a/rank0.log": steps_of(0), "a/rank1.log": steps_of(1),
        "a/trace_0.json": trace_of(0), "a/trace_1.json": trace_of(1),
    })  # fmt: skip
    assert (run.why, run.parts[0].path, run.name) == ("folder", "/r/a/rank0.log", "a")


def test_two_logs_of_the_same_steps_are_two_runs() -> None:
    assert names(runs({"a/one.log": steps_of(None), "a/two.log": steps_of(None)})) == [["a/one.log"], ["a/two.log"]]
    assert names(runs({"a/one.log": steps_of(0), "a/two.log": steps_of(0)})) == [["a/one.log"], ["a/two.log"]]


def test_two_logs_of_the_same_steps_are_two_runs_whatever_their_job_id() -> None:
    found = runs({"a/slurm-1234567.out": steps_of(0), "b/copy-1234567.out": steps_of(0)})
    assert names(found) == [["a/slurm-1234567.out"], ["b/copy-1234567.out"]]


def test_output_and_errors_of_a_job_are_one_run() -> None:
    (run,) = runs({"out/1234567.out": steps_of(None), "err/1234567.err": power()})
    assert run.why == "job id"
    (run,) = runs({"a/train-1234567.out": steps_of(None), "b/other.log": power(job_id="1234567")})
    assert run.why == "job id"
    (run,) = runs({"a/sweep.o123456": steps_of(None), "b/sweep.e123456": power()})  # of PBS
    assert (run.why, run.name) == ("job id", "sweep")


def test_scalars_that_tensorboard_exported_of_a_run_are_one_run() -> None:
    scalar = {"rows": {"metrics": 8}, "steps": {}, "attempts": 1}
    files = [f"{tag}/run-r50_gpux{n}-tag-{tag}.csv" for tag in ("Top1_val", "loss") for n in (4, 8)]
    found = runs(dict.fromkeys([*files, "loss/other.csv"], scalar))
    assert [(run.name, run.why, len(run.parts)) for run in found] == [
        ("r50_gpux4", "name", 2), ("r50_gpux8", "name", 2), ("other", "file", 1),
    ]  # fmt: skip
    assert len(runs(dict.fromkeys(files, scalar), {files[0]: "/r/Top1_val"})) == 3, "of one root"


def test_a_job_id_counts_within_one_root() -> None:
    roots = {"b/1234567.err": "/r/b"}
    assert len(runs({"a/1234567.out": steps_of(None), "b/1234567.err": power()}, roots)) == 2


def test_a_date_is_no_job_id() -> None:
    assert len(runs({"a/run-20260102.log": steps_of(0), "b/run-20260102.err": power()})) == 2


def test_a_power_file_beside_one_log_joins_it() -> None:
    assert names(runs({"a/job.log": steps_of(None), "a/power.csv": power()})) == [["a/job.log", "a/power.csv"]]
    assert names(runs({"a/1234567.out": steps_of(None), "a/power.csv": power()})) == [["a/1234567.out", "a/power.csv"]]


def test_a_power_file_beside_two_logs_is_alone() -> None:
    found = runs({"a/one.log": steps_of(None), "a/two.log": steps_of(None), "a/power.csv": power()})
    assert names(found) == [["a/one.log"], ["a/power.csv"], ["a/two.log"]]


def test_repeats_in_one_folder_are_told_apart_by_name() -> None:
    found = runs({f"a/{name}_rank{rank}.log": steps_of(rank) for name in ("base", "tuned") for rank in range(2)})
    assert names(found) == [["a/base_rank0.log", "a/base_rank1.log"], ["a/tuned_rank0.log", "a/tuned_rank1.log"]]


def test_folders_are_runs_of_their_own() -> None:
    assert names(runs({"a/job.log": steps_of(0), "b/job.log": steps_of(1)})) == [["a/job.log"], ["b/job.log"]]


def test_a_log_and_its_twin_in_json_are_one_run() -> None:
    (run,) = runs({"a/20260506.log": steps_of(None), "a/20260506.log.json": steps_of(None)})
    assert reasons(run) == {"/r/a/20260506.log": "file", "/r/a/20260506.log.json": "twin"}
    assert run.parts[0].path == "/r/a/20260506.log"
    assert run.name == "a"  # a date alone tells nothing
    found = runs({"a/one.log": power(), "a/one.log.json": steps_of(None)})  # the text holds no steps
    assert [reasons(run) for run in found] == [{"/r/a/one.log.json": "folder", "/r/a/one.log": "folder"}]


def test_the_files_of_a_hugging_face_trainer_are_one_run() -> None:
    """Each checkpoint holds the records of those before it; results are said again in up to three files."""
    states = {f"a/checkpoint-{step}/trainer_state.json": steps_of(None) for step in (500, 1000, 1500)}
    results = {f"a/{split}_results.json": spans() for split in ("all", "eval", "train")}
    for held, first in (
        (states, "a/checkpoint-1500/trainer_state.json"),
        ({**states, **results, "a/trainer_state.json": steps_of(None)}, "a/trainer_state.json"),
        (results, "a/all_results.json"),
    ):
        (run,) = runs(held)
        whys = {path.removeprefix("/r/"): reason for path, reason in reasons(run).items()}
        assert [path for path, why in whys.items() if why != "twin"] == [first]
        assert whys.keys() == held.keys()
    assert run.name == "a"
    others = {"a/job.out": steps_of(None), "b/all_results.json": spans(), "b/train_results.json": spans()}
    assert names(runs(others)) == [["a/job.out"], ["b/all_results.json", "b/train_results.json"]]


def test_the_records_of_a_twin_are_counted_once(tmp_path: Path, home: Path) -> None:
    shutil.copy(FIXTURES / "mmcv" / "epochs.log", tmp_path / "run.log")
    shutil.copy(FIXTURES / "mmcv_json" / "epochs.log.json", tmp_path / "run.log.json")
    ingest([tmp_path / "run.log", tmp_path / "run.log.json"], home, jobs=1)
    connection = connect(home)
    assert connection.execute("SELECT count(DISTINCT run_id), count(*) FROM steps").fetchall() == [(1, 4 + 5)]
    assert connection.execute("SELECT count(*) FROM step_times").fetchall() == [(4,)]
    assert connection.execute(
        "SELECT DISTINCT parse_filename(path) FROM step_times JOIN files USING (file_id)"
    ).fetchall() == [("run.log",)]  # fmt: skip


def test_the_files_of_an_mlflow_run_are_one_run(tmp_path: Path, home: Path) -> None:
    ids = ["0123456789abcdef" * 2, "fedcba9876543210" * 2]
    for number, name in enumerate(ids):
        run = tmp_path / "mlruns" / "1" / name
        for folder in ("metrics/train", "params", "tags"):
            (run / folder).mkdir(parents=True)
        (run / "meta.yaml").write_text(
            f"artifact_uri: {run}/artifacts\nend_time: 1790000060512\nexperiment_id: '1'\nlifecycle_stage: active\n"
            f"run_id: {name}\nstart_time: 1790000000512\nstatus: 3\n"
        )
        (run / "metrics" / "train" / "loss").write_text(f"1790000000512 6.{number} 0\n1790000030512 5.5 50\n")
        (run / "metrics" / "acc").write_text(f"1790000060512 0.1{number} 50\n")
        for value in ("params/batch_size", "params/workers", "tags/mlflow.user"):
            (run / value).write_text("32")
    ingest([tmp_path / "mlruns"], home, jobs=1)
    connection = connect(home)
    assert connection.execute(
        "SELECT r.name, r.outcome, list(DISTINCT m.name ORDER BY m.name) FROM runs r JOIN metrics m USING (run_id) "
        "GROUP BY ALL ORDER BY ALL"
    ).fetchall() == [(name, "completed", ["acc", "train/loss", "wall_time"]) for name in ids]  # fmt: skip
    assert connection.execute(
        "SELECT r.name, p.key, p.value FROM runs r JOIN params p USING (run_id) "
        "WHERE key IN ('batch_size', 'workers') ORDER BY ALL"
    ).fetchall() == [(name, key, "32") for name in ids for key in ("batch_size", "workers")]  # fmt: skip
    assert connection.execute("SELECT DISTINCT note FROM files WHERE status = 'document'").fetchall() == [
        ("a value of an MLflow run; its parameters are read with meta.yaml",)
    ]


def test_problems_alone_are_no_run() -> None:
    assert runs({"a/job.log": {"rows": {"problems": 1}, "steps": {}, "attempts": 0}}) == []


def test_the_order_of_files_changes_no_run() -> None:
    files = {
        "a/rank0.log": steps_of(0),
        "a/rank1.log": steps_of(1),
        "a/p.csv": power(),
        "b/7654321.out": steps_of(None),
    }
    assert runs(files) == runs(dict(reversed(files.items())))


def test_rows_know_their_run(tmp_path: Path, home: Path) -> None:
    write_log(tmp_path / "logs" / "train-1234567.out")
    cancelled = "slurmstepd: error: *** JOB 1234567 ON n1 CANCELLED AT 2026-06-10T09:59:21 DUE TO TIME LIMIT ***\n"
    (tmp_path / "logs" / "train-1234567.err").write_text(cancelled)
    (tmp_path / "logs" / "power.csv").write_text(",timestamps,pynvml:0\n0,1795238790.3,190.7\n")
    ingest([tmp_path / "logs"], home)
    ((run_id, outcome),) = ask(home, "SELECT run_id, outcome FROM runs")
    assert outcome == "time_limit"
    tables = ("steps", "params", "power", "members")
    assert {ask(home, f"SELECT DISTINCT run_id FROM {table}")[0][0] for table in tables} == {run_id}


OWN = """\
-- Rows.
--
-- Answers: How many?
--
-- Sources: kernel_summary
--
-- Columns:
--   n    BIGINT    rows
"""


@pytest.mark.parametrize(
    "select",
    [
        "SELECT count(*) AS n FROM kernel_summary(per := 'step', runs := 'devices IS NULL')",
        "SELECT count(*) AS n FROM kernel_summary(steps := 'complete')",
        "SELECT count(*) AS n FROM STEPS JOIN Runs USING (run_id)",
    ],
)
def test_what_a_query_of_the_users_own_needs_is_made(tmp_path: Path, select: str) -> None:
    home = tmp_path / "w"
    warehouse.Warehouse(home).create()
    (tmp_path / "mine.sql").write_text(OWN + select)
    assert ask_query(home, "mine", folders=(tmp_path,)).rows() == [(0,)]


def test_work_of_devices_has_row_groups_of_its_own(tmp_path: Path) -> None:
    names = ["aten::add", "gemm", "aten::mul", "nccl_all_reduce"]
    events = [
        {"ph": "X", "cat": "kernel" if k % 2 else "cpu_op", "name": names[k % 4], "ts": k, "dur": 1, "pid": 0, "tid": 7}
        | ({"args": {"stream": 7}} if k % 2 else {})
        for k in range(1000)
    ]
    (tmp_path / "trace.json").write_text(json.dumps({"traceEvents": events, "schemaVersion": 1}))
    home = tmp_path / "w"
    ingest([tmp_path / "trace.json"], home)
    (segment,) = (home / "segments").glob("events-*")
    file = pq.ParquetFile(segment)
    groups = [file.read_row_group(k, columns=["class", "line"]).to_pydict() for k in range(file.num_row_groups)]
    assert {frozenset(group["class"]) for group in groups} == {
        frozenset([None]),
        frozenset(["compute", "communication"]),
    }
    assert all(group["line"] == sorted(group["line"]) for group in groups)
    assert ask(home, "SELECT count(*), count(DISTINCT line), count(class) FROM events") == [(1000, 1000, 500)]


def test_compressed_files_are_batched_by_what_comes_out_of_them() -> None:
    traces = [WalkedFile("/logs", f"/logs/rank{k}.json.gz", 3 << 20, 0) for k in range(8)]
    assert [len(batch) for batch in ingestion.batched(traces, 1)] == [2, 2, 2, 2]
    logs = [WalkedFile("/logs", f"/logs/{k}.out", 3 << 20, 0) for k in range(8)]
    assert [len(batch) for batch in ingestion.batched(logs, 1)] == [8]


def test_the_last_batches_of_several_workers_are_small() -> None:
    traces = [WalkedFile("/logs", f"/logs/rank{k}.json", 8 << 20, 0) for k in range(48)]
    assert [len(batch) for batch in ingestion.batched(traces, 2)] == [8, 8, 8, 6, 4, 3, 2, 2, 1, 1, 1, 1, 1, 1, 1]


def test_a_question_makes_only_what_it_needs(tmp_path: Path) -> None:
    home = tmp_path / "w"
    warehouse.Warehouse(home).create()
    connection = connect(home, about="FROM kernel_summary(runs := 'run_id IN (SELECT run_id FROM power)')")
    listed = "SELECT view_name FROM duckdb_views() WHERE NOT internal UNION ALL SELECT table_name FROM duckdb_tables()"
    made = {name for (name,) in connection.execute(listed).fetchall()}
    assert {"events", "power", "runs"} <= made and not made & {"energy", "step_times"}
    assert connection.execute("FROM kernel_summary(runs := 'run_id IN (SELECT run_id FROM power)')").fetchall() == []
    with pytest.raises(UserError):
        answer_of(connection, "FROM scaling()")
    plain = connect(home, about="FROM kernel_summary()")
    made = {name for (name,) in plain.execute(listed).fetchall()}
    assert made == {"events", "members"}, "without a condition nobody asks for the facts of runs"
    assert plain.execute("FROM kernel_summary()").fetchall() == []
