"""Readers beside `compact` and `ingest`: each keeps what it began with, and what it held is removed after it."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from logs import megatron_line
from scalelens.database import dated_file, views
from scalelens.database.connect import connect
from scalelens.database.export import export_parquet
from scalelens.ingestion.ingest import ingest
from scalelens.queries.load import load
from scalelens.report import bundling
from scalelens.report.html import write_report
from scalelens.report.plotting import plot
from scalelens.report.remaking import verified
from scalelens.warehouse import readers
from scalelens.warehouse.compact import compact
from scalelens.warehouse.gc import gc
from scalelens.warehouse.log import Warehouse
from test_promises import READERS, words_of_reader

if TYPE_CHECKING:
    from command_line import Run


def write(folder: Path, number: int, step_ms: float = 100.0) -> None:
    folder.mkdir(exist_ok=True)
    lines = (megatron_line(step, step_ms + number + step % 7) for step in range(1, 40))
    (folder / f"job{number}.log").write_text("".join(lines))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A warehouse of two logs, whose segments are read when a question is asked, as those of a large one are."""
    monkeypatch.setattr(views, "SMALL_BYTES", 0)
    for number in range(2):
        write(tmp_path / "logs", number, 100.0 + 50 * number)
    ingest([tmp_path / "logs"], tmp_path / "w", jobs=1)
    compact(tmp_path / "w")
    return tmp_path / "w"


def churn(home: Path, number: int) -> None:
    """Reads one log more and compacts, which replaces all segments."""
    before = {*Warehouse(home).stored_segments()}
    write(home.parent / "logs", number)
    ingest([home.parent / "logs"], home, jobs=1)
    compact(home)
    live = Warehouse(home).live()
    assert before.isdisjoint(f"steps-{batch}.parquet" for batch in live.batches)


def segments(home: Path) -> set[str]:
    return {*Warehouse(home).stored_segments()}


def of_records(home: Path) -> set[str]:
    live = Warehouse(home).live()
    return {f"{table}-{batch.id}.parquet" for batch in live.batches.values() for table in batch.tables}


def test_a_reader_keeps_what_it_began_with(home: Path) -> None:
    connection = connect(home, {})
    churn(home, 7)
    churn(home, 8)
    gc(home)
    assert connection.execute("SELECT count(DISTINCT file_id) FROM steps").fetchall() == [(2,)]
    assert segments(home) > of_records(home)
    del connection
    assert segments(home) == of_records(home) and not any((home / readers.FOLDER).iterdir())
    assert connect(home, {}).execute("SELECT count(DISTINCT file_id) FROM steps").fetchall() == [(4,)]


def test_segments_are_removed_at_once_where_nobody_reads(home: Path) -> None:
    connect(home, {}).close()
    churn(home, 7)
    assert segments(home) == of_records(home)


def test_a_reader_that_came_later_does_not_hold_back_what_was_replaced_before(home: Path) -> None:
    first = connect(home, {})
    churn(home, 7)
    time.sleep(0.02)  # more than the step of a file system's clock
    second = connect(home, {})
    del first
    assert segments(home) == of_records(home)
    assert second.execute("SELECT count(*) FROM steps").fetchall() == [(3 * 39,)]


def test_a_reader_that_was_killed_holds_nothing_back(home: Path) -> None:
    """At once on its own machine, elsewhere after an hour."""
    gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True)
    folder = home / readers.FOLDER
    folder.mkdir(exist_ok=True)
    here = folder / f"{readers.socket.gethostname()}~{int(gone.stdout)}~0"
    elsewhere = folder / "another-node~1~0"
    here.touch()
    churn(home, 7)
    assert segments(home) == of_records(home) and not here.exists()
    elsewhere.touch()
    churn(home, 8)
    assert segments(home) > of_records(home)
    os.utime(elsewhere, (0, 0))
    churn(home, 9)
    connect(home, {}).close()
    assert segments(home) == of_records(home) and not elsewhere.exists()


def test_a_warehouse_that_cannot_be_written_is_read(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError

    monkeypatch.setattr(readers.Path, "touch", refused)
    assert connect(home, {}).execute("SELECT count(*) FROM steps").fetchall() == [(2 * 39,)]


def test_reading_what_is_not_there_makes_nothing(tmp_path: Path) -> None:
    readers.Reading(tmp_path / "w").release()
    assert not (tmp_path / "w").exists()


# Every command


def report(home: Path, place: Path) -> None:
    write_report(home, place / "page.html", "A title")


def export(home: Path, place: Path) -> None:
    export_parquet(home, place / "tables")


def connect_to_file(home: Path, place: Path) -> None:
    dated_file.write_dated_file(home, place / "study.duckdb", copy=True)


def plotted(home: Path, place: Path) -> None:
    plot(home, "step_times", place / "a.svg", {"runs": "job0"})


def bundled(home: Path, place: Path) -> None:
    bundling.part_of_warehouse(home, place / "part", {"steps", "params"}, None)


def verify(home: Path, place: Path) -> None:
    plotted(home, place)
    found = verified(place / "a.svg", home)
    assert not found.doubts


COMMANDS = (report, export, connect_to_file, plotted, bundled, verify)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.__name__)
def test_a_command_beside_compact(
    home: Path, tmp_path: Path, command: Callable[[Path, Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All segments are replaced as soon as the command has read the records, the first two times that it does."""
    texts, times = Warehouse.texts, 0
    live = Warehouse.live

    def churned(read: Callable[[Warehouse], object]) -> Callable[[Warehouse], object]:
        def read_and_churn(self: Warehouse) -> object:
            nonlocal times
            found = read(self)
            if self.root.name == "w" and times < 2:
                times += 1
                monkeypatch.setattr(Warehouse, "texts", texts)
                monkeypatch.setattr(Warehouse, "live", live)
                churn(home, 10 + times)
                begin()
            return found

        return read_and_churn

    def begin() -> None:
        monkeypatch.setattr(Warehouse, "texts", churned(texts))
        if command is bundled:
            monkeypatch.setattr(Warehouse, "live", churned(live))

    (tmp_path / "out").mkdir()
    begin()
    command(home, tmp_path / "out")
    assert times


@pytest.fixture
def busy(home: Path) -> Iterator[Path]:
    """The warehouse, and a process that reads a changed log and compacts without a pause."""
    log = home.parent / "busy.log"
    with log.open("w") as said:
        process = subprocess.Popen(
            [sys.executable, "-c", CHURN_BUSY, Path(__file__).parent, home], stdout=said, stderr=said
        )
        yield home
        assert process.poll() is None, log.read_text()
        process.kill()
        process.wait()


CHURN_BUSY = """
import itertools, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from test_readers import write
from scalelens.ingestion.ingest import ingest
from scalelens.warehouse.compact import compact
home = Path(sys.argv[2])
for number in itertools.count():
    write(home.parent / "logs", 3, 100.0 + number)
    ingest([home.parent / "logs"], home, jobs=1)
    compact(home)
"""


SLOW = ("report", "explore", "audit", "bundle", "copy")  # those that take a second


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_rounds_beside_a_busy_compact(busy: Path, tmp_path: Path, run: "Run", name: str) -> None:
    """512 rounds in all, of each command that reads."""
    (tmp_path / "paper.md").write_text("The median step of job0 takes 0.103 s.\n")
    of_one_run = ("query", "batch_stats", "runs=job0", "-w", busy, "--format", "markdown")  # which does not change
    (tmp_path / "t.md").write_text(run(*of_one_run).out)
    for number in range(14 if name in SLOW else 34):
        place = tmp_path / f"out{number}"
        place.mkdir()
        ran = run(*words_of_reader(name, place, "job"), "-w", busy)
        assert ran.code in (0, 1) and "Traceback" not in ran.err, (number, ran)
        assert not ran.err.startswith("scalelens: "), (number, ran)
        shutil.rmtree(place)


def test_queries_are_asked_by_name_beside_compact(home: Path) -> None:
    connection = connect(home, load())
    churn(home, 7)
    assert connection.execute("SELECT count(*) FROM batch_stats()").fetchall() == [(2,)]
