"""Versions are ordered by what each writer had read, never by a clock; and no race between commands loses a file."""

import errno
import itertools
import os
import random
import shutil
import tarfile
import time
from pathlib import Path
from typing import Any

import pytest

from scalelens.ingestion import ingest as ingestion
from scalelens.ingestion.ingest import ingest
from scalelens.parsing import archives
from scalelens.parsing import source as sources
from scalelens.parsing.source import Source
from scalelens.warehouse.live import live_of
from scalelens.warehouse.log import Warehouse, all_entries
from scalelens.warehouse.records import Batch, CommitRecord, Entry
from test_warehouse import everything, steps_by_path, touch_later, write_log, write_logs

HOUR_NS = 3600 * 10**9


def shift_clock(monkeypatch: pytest.MonkeyPatch, by_ns: int) -> None:
    monkeypatch.undo()
    now = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: now() + by_ns)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "warehouse"


# Clocks


def test_a_host_whose_clock_is_ahead_does_not_win_for_ever(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = write_log(tmp_path / "logs" / "a.log", 5)
    shift_clock(monkeypatch, HOUR_NS)
    ingest([log], home)
    for steps, clock in ((7, 0), (9, -HOUR_NS), (11, -2 * HOUR_NS)):
        shift_clock(monkeypatch, clock)
        write_log(log, steps)
        touch_later(log)
        ingest([log], home)
        assert steps_by_path(home) == {"a.log": steps}


@pytest.mark.parametrize("skew_ns", [-2 * 10**9, -HOUR_NS, HOUR_NS])
def test_what_is_forgotten_by_a_clock_that_is_wrong_is_gone_and_may_come_back(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch, skew_ns: int
) -> None:
    logs = write_logs(tmp_path / "logs", 2)
    ingest([logs], home)
    shift_clock(monkeypatch, skew_ns)
    Warehouse(home).forget([str(logs / "1.log")])
    assert steps_by_path(home) == {"0.log": 5}
    monkeypatch.undo()
    ingest([logs], home)
    assert steps_by_path(home) == {"0.log": 5, "1.log": 5}


def test_records_of_older_versions_are_older(tmp_path: Path, home: Path) -> None:
    """They were ordered by the nanoseconds of a clock, which may have been ahead."""
    log = write_log(tmp_path / "logs" / "a.log", 5)
    ingest([log], home)
    live = Warehouse(home).live()
    (record,) = (home / "_log").iterdir()
    record.unlink()
    as_by_an_older_version(home, live.paths[str(log)], live.batches, time.time_ns() + HOUR_NS)
    assert steps_by_path(home) == {"a.log": 5}
    write_log(log, 8)
    touch_later(log)
    ingest([log], home)
    assert steps_by_path(home) == {"a.log": 8}
    Warehouse(home).forget([str(log)])
    assert steps_by_path(home) == {}


def as_by_an_older_version(home: Path, entry: Entry, batches: dict[str, Batch], now: int) -> None:
    import msgspec

    from scalelens.tables import SCHEMA_VERSION

    entry.order, entry.committed_ns = 0, now
    content = msgspec.to_builtins(CommitRecord(SCHEMA_VERSION, "scalelens 0.1", list(batches.values()), [entry]))
    del content["builds_on"]
    for batch in content["batches"]:
        del batch["segments"]
    (home / "_log" / f"{now:020d}-0a1b2c3d.json").write_bytes(msgspec.json.encode(content))


def test_two_writers_that_do_not_know_of_each_other_agree_on_the_file_that_changed_last(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first writer reads the log of five steps and is slow; the other reads that of nine and commits first."""
    log = write_log(tmp_path / "logs" / "a.log", 5)
    Warehouse(home).create()
    commit = Warehouse.commit

    def slow(self: Warehouse, *arguments: Any, **options: Any) -> str:
        monkeypatch.setattr(Warehouse, "commit", commit)
        write_log(log, 9)
        touch_later(log)
        ingest([log], home)
        return commit(self, *arguments, **options)

    monkeypatch.setattr(Warehouse, "commit", slow)
    ingest([log], home)
    assert steps_by_path(home) == {"a.log": 9}


# What counts does not depend on the order in which records are found, folded, and folded again


def test_folding_any_records_any_number_of_times_changes_no_path() -> None:
    """A fold may leave out the rows of a content that it thinks nobody has; then the file is read again."""
    chance = random.Random(3)
    for _ in range(300):
        records = {f"{k:020d}-x.json": random_record(chance, k) for k in range(8)}
        whole = live_of(records)
        some = dict(chance.sample(sorted(records.items()), 4))
        folds = {"f.json": folded(some), "g.json": folded(dict(itertools.islice(records.items(), 6)))}
        for kept in (records, {name: record for name, record in records.items() if name not in some}):
            again = live_of(kept | folds)
            assert again.paths == whole.paths
            assert again.providers.keys() <= whole.providers.keys()
        once = {"h.json": folded(records)}
        for kept in (records, {}):
            assert live_of(kept | once).providers == whole.providers
            assert live_of(kept | once | {"i.json": folded(kept | once)}).providers == whole.providers


def random_record(chance: random.Random, number: int) -> CommitRecord:
    entries = []
    for path in chance.sample("pqrs", 2):
        status = chance.choice(["ok", "ok", "forgotten"])
        batch = chance.choice(["", f"b{number}"]) if status == "ok" else ""
        file_id = chance.choice("cd") if status == "ok" else ""
        order = chance.randrange(1, 5)
        entries.append(Entry(path, file_id=file_id, batch=batch, order=order, status=status, committed_ns=number + 1))
    return CommitRecord(7, "test", [Batch(f"b{number}", {"steps": 1}, ["c", "d"])], entries)


def folded(records: dict[str, CommitRecord]) -> CommitRecord:
    live = live_of(records)
    return CommitRecord(7, "test", list(live.batches.values()), all_entries(live), list(records))


# Races and removals


def forgotten_and_folded_before(commit: Any, monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    """At the moment of the next commit, another process forgets a path and folds the log."""

    def late(self: Warehouse, *arguments: Any, **options: Any) -> str:
        monkeypatch.setattr(Warehouse, "commit", commit)
        other = Warehouse(self.root)
        other.forget([str(path)])
        other.fold(above=0)
        return commit(self, *arguments, **options)

    monkeypatch.setattr(Warehouse, "commit", late)


@pytest.mark.parametrize("killed", [False, True])
def test_a_duplicate_whose_other_path_goes_meanwhile_is_read(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch, killed: bool
) -> None:
    logs = write_logs(tmp_path / "logs", 2)
    ingest([logs], home)
    copy = tmp_path / "copies" / "copy.log"
    copy.parent.mkdir()
    shutil.copy(logs / "0.log", copy)
    forgotten_and_folded_before(Warehouse.commit, monkeypatch, logs / "0.log")
    if killed:
        monkeypatch.setattr(ingestion, "with_lost_contents", lambda entries, *_: entries)
    report = ingest([copy], home)
    monkeypatch.undo()
    if killed:
        assert steps_by_path(home) == {"copy.log": 0, "1.log": 5}
        report = ingest([copy], home)
    assert [entry.status for entry in report.entries] == ["ok"]
    assert steps_by_path(home) == {"copy.log": 5, "1.log": 5}
    assert ingest([copy], home).unchanged == 1


def pack(path: Path, *logs: Path) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for log in logs:
            tar.add(log, log.name)
    return path


def test_a_duplicate_member_whose_other_path_goes_meanwhile_is_read(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = write_logs(tmp_path / "logs", 2)
    ingest([logs], home)
    packed = pack(tmp_path / "logs.tar.gz", logs / "0.log", logs / "1.log")
    forgotten_and_folded_before(Warehouse.commit, monkeypatch, logs / "0.log")
    ingest([packed], home)
    assert steps_by_path(home) == {"logs.tar.gz": 0, "logs.tar.gz!0.log": 5, "logs.tar.gz!1.log": 5}


def test_members_that_vanish_from_an_archive_no_longer_count(tmp_path: Path, home: Path) -> None:
    logs = write_logs(tmp_path / "logs", 3)
    packed = pack(tmp_path / "logs.tar.gz", *sorted(logs.iterdir()))
    ingest([packed], home)
    assert len(steps_by_path(home)) == 4
    pack(packed, logs / "0.log")
    touch_later(packed)
    ingest([packed], home)
    assert steps_by_path(home) == {"logs.tar.gz": 0, "logs.tar.gz!0.log": 5}
    before = everything(home)
    Warehouse(home).fold(above=0)
    assert everything(home) == before
    pack(packed, *sorted(logs.iterdir()))
    ingest([packed], home)
    assert len(steps_by_path(home)) == 4


def test_members_behind_the_damage_of_an_archive_still_count(tmp_path: Path, home: Path) -> None:
    logs = write_logs(tmp_path / "logs", 3, 400)
    packed = tmp_path / "logs.tar"
    with tarfile.open(packed, "w") as tar:
        for log in sorted(logs.iterdir()):
            tar.add(log, log.name)
    ingest([packed], home)
    packed.write_bytes(packed.read_bytes()[:-40_000])
    touch_later(packed)
    ingest([packed], home)
    assert set(steps_by_path(home).values()) == {0, 400} and len(steps_by_path(home)) == 4


def test_an_exclamation_mark_in_a_name_is_no_archive(tmp_path: Path, home: Path) -> None:
    log = write_log(tmp_path / "logs" / "wow!" / "a!b.log")
    ingest([log], home)
    ingest([write_log(tmp_path / "logs" / "wow", 3)], home)
    assert steps_by_path(home) == {"a!b.log": 5, "wow": 3}


@pytest.mark.parametrize("at", ["archive", "member", "no temporary folder"])
def test_a_passing_fault_of_an_archive_is_tried_again(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    logs = write_logs(tmp_path / "logs", 2)
    packed = pack(tmp_path / "logs.tar.gz", *sorted(logs.iterdir()))
    beside = write_log(tmp_path / "z.log", 3, step_ms=700.0)
    blocks = Source._blocks

    def failing(self: Source, size: int) -> Any:
        if self.path.endswith("logs.tar.gz" if at == "archive" else "!1.log") and size != sources.CHUNK:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        yield from blocks(self, size)

    def nowhere(*_: Any, **__: Any) -> Any:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found")

    if at == "no temporary folder":
        monkeypatch.setattr(archives.tempfile, "SpooledTemporaryFile", nowhere)
    else:
        monkeypatch.setattr(Source, "_blocks", failing)
    report = ingest([packed, beside], home)
    (entry,) = (entry for entry in report.entries if entry.path == str(packed))
    assert entry.status == "partial" and "cannot be read" in (entry.note or "")
    assert steps_by_path(home)["z.log"] == 3
    monkeypatch.undo()
    ingest([packed, beside], home)
    assert steps_by_path(home) == {"logs.tar.gz": 0, "logs.tar.gz!0.log": 5, "logs.tar.gz!1.log": 5, "z.log": 3}
    assert ingest([packed, beside], home).unchanged == 2


@pytest.mark.parametrize("code", ["EPERM", "EXDEV", "EACCES", "EINVAL", "EIO", "ENOTSUP"])
def test_without_hard_links_a_record_is_renamed(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    def refused(*_: Any) -> None:
        raise OSError(getattr(errno, code), code)

    monkeypatch.setattr(os, "link", refused)
    ingest([write_log(tmp_path / "a.log")], home)
    assert steps_by_path(home) == {"a.log": 5}


def test_a_record_that_another_process_wrote_at_the_same_time_is_there_once(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Warehouse(home).create()
    stores = [Warehouse(home), Warehouse(home)]
    monkeypatch.setattr(time, "time_ns", lambda: 10**18)
    for store in stores:
        store.read()
    assert len({store.commit([], [Entry("/a", status="forgotten")]) for store in stores}) == 1
    assert len(Warehouse(home).names()) == 1


def test_no_thread_is_needed(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left(*_: Any) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("concurrent.futures.ThreadPoolExecutor.submit", none_left)
    ingest([write_log(tmp_path / "a.log")], home)
    assert steps_by_path(home) == {"a.log": 5}
