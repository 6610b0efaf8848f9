"""What is newer follows from what a writer had read, never from a clock; and no race between commands loses a file."""

import itertools
import random
import time
from pathlib import Path
from typing import Any

import pytest

from scalelens.ingestion.ingest import ingest
from scalelens.warehouse.live import live_of
from scalelens.warehouse.log import Warehouse, all_entries
from scalelens.warehouse.records import Batch, CommitRecord, Entry
from test_warehouse import steps_by_path, touch_later, write_log, write_logs

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
