"""`scalelens gc`: what nothing names is removed, and nothing that somebody may still commit."""

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from scalelens.errors import UserError
from scalelens.ingestion.ingest import ingest
from scalelens.warehouse import compact as compacting
from scalelens.warehouse.files import LocalFiles
from scalelens.warehouse.gc import gc
from scalelens.warehouse.log import Warehouse
from test_warehouse import a_history, everything, records, steps_by_path, write_log

if TYPE_CHECKING:
    from command_line import Run

DAY_S = 24 * 3600


@pytest.fixture
def home(tmp_path: Path) -> Path:
    a_history(tmp_path / "warehouse", tmp_path / "logs")
    return tmp_path / "warehouse"


def age(path: Path, seconds: float) -> Path:
    os.utime(path, (time.time() - seconds,) * 2)
    return path


def leftovers(home: Path, seconds: float) -> list[str]:
    """A segment without a record and the temporary files of a writer that was killed."""
    names = ("segments/steps-0.parquet", "segments/.steps-1.parquet.tmp", "_log/.0a1b.tmp")
    for name in names:
        (home / name).write_bytes(b"0123456789")
        age(home / name, seconds)
    return sorted(names)


def test_what_nothing_names_is_said_and_then_removed(home: Path, run: "Run") -> None:
    before, files = everything(home), {*home.rglob("*")}
    names = leftovers(home, DAY_S + 60)
    said = run("gc", "-w", home, "--dry-run")
    assert sorted(line.partition(": ")[0] for line in said.out.splitlines()) == names and "would be" in said.err
    assert all((home / name).exists() for name in names)
    assert run("gc", "-w", home).out == said.out
    assert {*home.rglob("*")} == files and everything(home) == before
    assert run("gc", "-w", home).out == ""


def test_what_may_still_be_committed_stays(home: Path) -> None:
    names = leftovers(home, DAY_S - 60)
    assert gc(home) == [] and all((home / name).exists() for name in names)


def test_all_that_is_named_stays_however_old(home: Path) -> None:
    before = everything(home)
    for path in home.rglob("*.*"):
        age(path, 400 * DAY_S)
    gc(home)
    assert everything(home) == before


def test_the_clock_of_this_host_is_not_asked(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = leftovers(home, 60)
    monkeypatch.setattr(time, "time", lambda: 2e9 + 30 * DAY_S)
    assert gc(home) == [] and all((home / name).exists() for name in names)


def test_records_that_a_killed_fold_left_are_removed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, unlink = everything(home), Path.unlink
    old = records(home)
    monkeypatch.setattr(
        Path, "unlink", lambda path, **options: unlink(path, **options) if path.suffix == ".tmp" else None
    )
    Warehouse(home).fold(1)
    monkeypatch.undo()
    assert {*old} < {*records(home)}
    for name in records(home):
        age(home / "_log" / name, 2 * DAY_S)
    assert len(gc(home)) == len(old) and len(records(home)) == 1
    assert everything(home) == before


def test_a_damaged_log_is_left_alone(home: Path) -> None:
    names = leftovers(home, 2 * DAY_S)
    record = home / "_log" / records(home)[0]
    record.write_bytes(record.read_bytes()[:-1])
    with pytest.raises(UserError, match="scalelens check"):
        gc(home)
    assert all((home / name).exists() for name in names)


def test_a_commit_between_the_list_and_the_log_is_seen(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer that slept for a day commits its segments while gc has listed them and not yet read the log."""
    clock, logs = LocalFiles.clock_ns, write_log(tmp_path / "late" / "late.log", 9).parent

    def late(files: LocalFiles, folder: Path) -> int:
        if folder.name == "segments":
            ingest([logs], home, jobs=1)
            for path in folder.glob("*.parquet"):
                age(path, 2 * DAY_S)
        return clock(files, folder)

    monkeypatch.setattr(LocalFiles, "clock_ns", late)
    gc(home)
    assert steps_by_path(home)["late.log"] == 9


def test_a_compaction_of_more_than_a_day_keeps_its_segments(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, rewritten = everything(home), compacting.rewritten

    def slow(*arguments: object) -> object:
        for batch in rewritten(*arguments):  # type: ignore[arg-type]
            for path in (home / "segments").glob(f"*-{batch.id}.parquet"):
                age(path, 2 * DAY_S)
            yield batch

    def beside(self: Warehouse, *arguments: object) -> None:
        gc(home)
        replace(self, *arguments)  # type: ignore[arg-type]

    replace = Warehouse.replace
    monkeypatch.setattr(compacting, "rewritten", slow)
    monkeypatch.setattr(Warehouse, "replace", beside)
    compacting.compact(home)
    assert everything(home) == before
