"""`scalelens compact`: the same answers from fewer segments, and nothing left of what was forgotten."""

import hashlib
import json
import os
import random
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from scalelens.errors import UserError
from scalelens.ingestion import ingest as ingestion
from scalelens.ingestion.ingest import ingest
from scalelens.ingestion.shards import Shard
from scalelens.ingestion.walk import walk
from scalelens.runs.stored_order import by_run
from scalelens.tables import SCHEMAS, STORED
from scalelens.warehouse import compact as compacting
from scalelens.warehouse import row_groups
from scalelens.warehouse.check import check
from scalelens.warehouse.compact import compact
from scalelens.warehouse.log import Warehouse, all_entries
from scalelens.warehouse.records import segment
from test_check import texts
from test_shards import study
from test_warehouse import SETTINGS, a_history, everything, records, steps_by_path, touch_later, write_log, write_logs

if TYPE_CHECKING:
    from command_line import Run


@pytest.fixture
def home(tmp_path: Path) -> Path:
    a_history(tmp_path / "warehouse", tmp_path / "logs")
    return tmp_path / "warehouse"


def segments(home: Path) -> list[str]:
    return sorted(path.name for path in (home / "segments").iterdir())


def test_the_answers_stay_and_the_segments_are_few(home: Path, run: "Run") -> None:
    before, count = everything(home), len(segments(home))
    ran = run("compact", "-w", home)
    assert (ran.code, ran.out) == (0, "") and f"{count} segments" in ran.err
    assert everything(home) == before
    assert len(records(home)) == 1
    live = Warehouse(home).live()
    assert len(live.batches) == 1 and len(segments(home)) == len(next(iter(live.batches.values())).tables)
    assert check(home) == (*([], []), 1, len(segments(home)))


def test_compacting_again_changes_no_segment(home: Path) -> None:
    compact(home)
    before, names = everything(home), segments(home)
    compact(home)
    assert (everything(home), segments(home)) == (before, names)


def test_what_is_compacted_is_not_read_again(home: Path, tmp_path: Path) -> None:
    Warehouse(home).forget([str(tmp_path / "logs" / "bad.log")])
    (tmp_path / "logs" / "bad.log").unlink()
    ingest([tmp_path / "logs"], home)
    compact(home)
    assert ingest([tmp_path / "logs"], home).entries == []


def test_forgotten_files_are_erased(tmp_path: Path) -> None:
    home, log = tmp_path / "w", tmp_path / "logs" / "secret.log"
    write_log(log)
    log.write_text(SETTINGS + " iteration 7/ 10 | elapsed time per iteration (ms): hunter2 |\n" + log.read_text())
    write_log(tmp_path / "logs" / "b.log", 3)
    ingest([tmp_path / "logs"], home)
    secrets = {entry.file_id for entry in Warehouse(home).live().paths.values() if "secret" in entry.path}
    assert all(secret in texts(home) for secret in (*secrets, "hunter2"))
    Warehouse(home).forget([str(log)])
    compact(home)
    assert steps_by_path(home) == {"b.log": 3}
    assert not any(secret in texts(home) for secret in (*secrets, "hunter2"))


def test_a_content_that_is_forgotten_under_one_path_stays_under_the_other(tmp_path: Path) -> None:
    home, logs = tmp_path / "w", write_logs(tmp_path / "logs", 2)
    ingest([logs], home)
    shutil.copy(logs / "0.log", logs / "copy.log")
    ingest([logs], home)
    Warehouse(home).forget([str(logs / "0.log")])
    for _ in range(2):
        compact(home)
        assert steps_by_path(home) == {"1.log": 5, "copy.log": 5}
    Warehouse(home).forget([str(logs / "copy.log")])
    compact(home)
    assert steps_by_path(home) == {"1.log": 5}


def test_an_altered_segment_gets_no_new_checksum(home: Path) -> None:
    path = next((home / "segments").glob("steps-*"))
    live = Warehouse(home).live()
    path = home / "segments" / f"steps-{next(iter(live.providers.values())).batch}.parquet"
    whole = path.read_bytes()
    path.write_bytes(whole[:100] + bytes([whole[100] ^ 1]) + whole[101:])
    names = records(home)
    with pytest.raises(UserError, match="is altered; .*scalelens check"):
        compact(home)
    assert records(home) == names


def test_segments_fill_up_to_the_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, target = tmp_path / "w", 20_000
    monkeypatch.setattr(row_groups, "GROUP_ROWS", dict.fromkeys(SCHEMAS, 50))
    for number in range(6):
        ingest([write_log(tmp_path / "logs" / f"{number}.log", 200, step_ms=1000.0 + number)], home)
    before = everything(home)
    compact(home, target_bytes=target)
    batches = Warehouse(home).live().batches.values()
    sizes = sorted(sum(segment.size_bytes for segment in batch.segments.values()) for batch in batches)
    assert len(sizes) > 1 and all(size >= target for size in sizes[1:])
    assert everything(home) == before


# The same bytes


def hashes(home: Path) -> list[str]:
    """Of the segments that count; what an earlier fold left behind is swept away later."""
    batches = Warehouse(home).live().batches.values()
    paths = (home / "segments" / segment(table, batch.id) for batch in batches for table in batch.tables)
    return sorted(hashlib.sha256(path.read_bytes()).hexdigest() for path in paths)


@pytest.mark.parametrize("target", [15_000, pytest.param(compacting.TARGET_BYTES, marks=pytest.mark.slow)])
def test_whoever_read_the_files_the_bytes_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: int
) -> None:
    """One process, two processes, shards in another order, and an ingest of one file after the other."""
    logs, homes = study(tmp_path / "logs"), [tmp_path / f"w{number}" for number in range(4)]
    monkeypatch.setattr(row_groups, "GROUP_ROWS", dict.fromkeys(SCHEMAS, 37))
    ingest([logs], homes[0], jobs=1)
    monkeypatch.setattr(ingestion, "BATCH_FILES", 2)
    ingest([logs], homes[1], jobs=2)
    for number in (3, 1, 2):
        ingest([logs], homes[2], jobs=1, shard=Shard(number, 3))
    for file in sorted(walk([logs], []), reverse=True):
        ingest([Path(file.path)], homes[3], jobs=1)
    ingest([logs], homes[3], reread=True, jobs=1)
    before = everything(homes[0])
    assert len({tuple(hashes(home)) for home in homes}) > 2
    for home in homes:
        compact(home, target_bytes=target, order=by_run)
    assert len({tuple(hashes(home)) for home in homes}) == 1
    assert (len(Warehouse(homes[0]).live().batches) > 1) == (target == 15_000)
    assert everything(homes[0]) == before


def test_rows_stand_by_run_and_rank(tmp_path: Path) -> None:
    """A trace for each of twelve ranks: rank 10 comes after rank 9, not after rank 1."""
    for rank in (3, 0, 11, 10, 9, 1, 2):
        trace = {"distributedInfo": {"rank": rank, "world_size": 12}, "traceEvents": [
            {"ph": "X", "cat": "kernel", "name": "k", "ts": 10, "dur": 5, "pid": 0, "tid": 7, "args": {"stream": 7}}]}  # fmt: skip
        path = tmp_path / "logs" / f"rank{rank}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(trace))
    ingest([tmp_path / "logs"], tmp_path / "w")
    compact(tmp_path / "w", order=by_run)
    rows = pq.read_table(next((tmp_path / "w" / "segments").glob("events-*")), columns=["rank"])
    assert rows["rank"].to_pylist() == [0, 1, 2, 3, 9, 10, 11]


def test_large_batches_that_are_compact_are_not_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "w"
    monkeypatch.setattr(row_groups, "GROUP_ROWS", dict.fromkeys(SCHEMAS, 50))
    ingest([write_logs(tmp_path / "logs", 6, 200)], home)
    compact(home, target_bytes=20_000)
    names = {*segments(home)}
    ingest([write_log(tmp_path / "logs" / "z.log", 9)], home)
    before = everything(home)
    compact(home, target_bytes=20_000)
    assert len(names - {*segments(home)}) <= len(STORED) and names & {*segments(home)}
    assert everything(home) == before


# Beside other commands


def at_commit(monkeypatch: pytest.MonkeyPatch, act: Any) -> None:
    """Something that another process does at the moment of the next commit."""
    commit = Warehouse.commit

    def late(self: Warehouse, *arguments: Any, **options: Any) -> str:
        monkeypatch.setattr(Warehouse, "commit", commit)
        act()
        return commit(self, *arguments, **options)

    monkeypatch.setattr(Warehouse, "commit", late)


def test_a_log_that_is_read_meanwhile_is_kept(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grown = write_log(tmp_path / "logs" / "1.log", 9)
    touch_later(grown)
    other = write_log(tmp_path / "other" / "new.log", 4, step_ms=2000.0)
    at_commit(monkeypatch, lambda: ingest([other, grown], home))
    compact(home)
    steps = steps_by_path(home)
    assert steps["new.log"] == 4 and steps["1.log"] == 9
    assert check(home).damages == []


@pytest.mark.parametrize("who", ["fold", "compact"])
def test_a_record_of_what_was_there_before_does_not_bring_it_back(home: Path, who: str) -> None:
    """A fold or compact that read the log before another one finished commits after it."""
    late = Warehouse(home)
    seen = late.live()
    before = everything(home)
    gone = next(path for path in seen.paths if path.endswith("2.log"))
    if who == "fold":
        Warehouse(home).forget([gone])
    compact(home)
    late.replace(seen.records, list(seen.batches.values()), all_entries(seen))
    assert gone.endswith("2.log") and ("2.log" in steps_by_path(home)) == (who != "fold")
    if who != "fold":
        assert everything(home) == before
    Warehouse(home).fold(above=0)
    compact(home)
    assert check(home).damages == []


def test_a_compact_that_is_killed_at_any_step_loses_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = everything(home)
    for moment in ("replace", "erase", "unlink"):
        chance = random.Random(moment)

        def killed(*arguments: Any, moment: str = moment, chance: random.Random = chance, **_: Any) -> None:
            if moment != "unlink" or chance.random() < 0.3:
                raise KeyboardInterrupt
            os.remove(*arguments)

        owner = {"replace": Warehouse, "erase": compacting, "unlink": Path}[moment]
        monkeypatch.setattr(owner, moment, killed)
        with pytest.raises(KeyboardInterrupt):
            compact(home, target_bytes=1)
            compact(home)
        monkeypatch.undo()
        assert everything(home) == before, moment
        assert check(home).damages == []
    compact(home)
    assert everything(home) == before


def test_a_question_is_asked_again_where_its_segments_were_replaced(
    home: Path, monkeypatch: pytest.MonkeyPatch, run: "Run"
) -> None:
    from scalelens.database import connect as database

    close = database.close_to_files

    def late(*arguments: Any) -> None:
        monkeypatch.setattr(database, "close_to_files", close)
        close(*arguments)
        compact(home)

    monkeypatch.setattr(database, "close_to_files", late)
    steps = sum(steps_by_path(home).values())
    assert run("sql", "SELECT count(step_s) AS n FROM steps", "-w", home).out == f"n\n{steps}\n"
