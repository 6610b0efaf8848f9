"""The cache of commit records, brought up to date, says what all records say, whatever was committed in which order."""

import random
from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from scalelens.database import opening, updating
from scalelens.database.record_rows import record_tables
from scalelens.database.record_state import number_of, tied_to, ties_table
from scalelens.parsing.part_facts import PartFacts
from scalelens.parsing.values import nanoseconds_since_1970
from scalelens.runs.joining import join, runs_of
from scalelens.runs.run import Run
from scalelens.warehouse.live import Live, live_of
from scalelens.warehouse.log import Warehouse
from scalelens.warehouse.records import Batch, Entry

FOLDERS = [
    f"/s/{folder}" for folder in ("a", "a/b", "a/b/train", "c", "c/d", "e", "f/g", "f/h", "x/results/box/bert", "y")
]
NAMES = [
    "train.log", "train.log.json", "slurm-1234567.out", "slurm-7654321.out", "power.csv", "energy.csv", "power.rank0.csv",
    "rank0.json", "rank1.json", "rank0.log", "rank1.log", "trainer_state.json", "checkpoint-5/trainer_state.json",
    "checkpoint-10/trainer_state.json", "all_results.json", "train_results.json", "result_0.txt", "result_1.txt",
    "0123456789abcdef0123456789abcdef/metrics/loss", "0123456789abcdef0123456789abcdef/meta.yaml", "result.csv", "b.log",
]  # fmt: skip
SHARED = ["logs.tar", "logs.tar!a.log", "configuration.xml", "scalelens.toml"]
SIDECARS = ['[labels]\nstudy = "x"\ncount = 3', 'templates = ["{study}/*"]', 'runs = ["{job}/*"]', 'tz = "nowhere"']
MORNING = datetime(2026, 1, 2, 3, 4, 5)


def facts(chance: random.Random) -> PartFacts:
    """Facts that make any rule of joining apply now and then."""
    kind = chance.choice(["log", "log", "ranks", "trace", "power", "result", "timed", "failed", "none"])
    settings = {"devices": chance.choice("48")} if chance.random() < 0.3 else {}
    job = chance.choice(["11", "12"]) if chance.random() < 0.2 else None
    start = MORNING + timedelta(minutes=chance.randrange(3))
    times = {
        "started_at": start,
        "ended_at": start + timedelta(hours=1),
        "clocks": chance.choice([[], ["utc"], ["naive"]]),
    }
    span = (1, chance.choice([5, 9]))
    if kind == "log":
        return PartFacts({"steps": 9}, {"None": span}, 1, job_id=job, settings=settings)
    if kind == "ranks":
        return PartFacts({"steps": 9}, {str(chance.randrange(2)): (1, 9)}, 1, job_id=job, settings=settings, **times)
    if kind == "timed":
        return PartFacts({"steps": 9}, {"None": span}, 1, job_id=job, settings=settings, **times)
    if kind == "failed":
        return PartFacts({"params": 2}, of_lines=True, of_training=True, job_id=job, **chance.choice([times, {}]))
    if kind == "trace":
        return PartFacts({"events": 9}, traced=[chance.randrange(3)], job_id=job)
    if kind == "power":
        ranks = [str(chance.randrange(2))] if chance.random() < 0.5 else []
        begin = chance.choice([10, nanoseconds_since_1970(start)])
        span = begin, begin + 10 + chance.randrange(9)
        clocks = chance.choice([["utc"], ["naive"]])
        return PartFacts({"power": 9}, measured_by=ranks, measured=span, job_id=job, clocks=clocks)
    if kind == "result":
        return PartFacts({"steps": 1}, {"None": (0, 0)}, summary=True, job_id=job, settings=settings)
    return PartFacts({chance.choice(["params", "problems", "metrics"]): 2}, job_id=job, outcomes=[("completed", 3)])


def commit(chance: random.Random, warehouse: Warehouse, live: list[str]) -> None:
    """A few files that are new, or altered, or copies, or forgotten."""
    warehouse.read()
    batch, entries = f"batch{chance.randrange(10**12)}", []
    for _ in range(chance.choice([1, 1, 2, 4])):
        path = f"{chance.choice(FOLDERS)}/{chance.choice(NAMES)}"
        if chance.random() < 0.06:
            path = f"{chance.choice(FOLDERS)}/{chance.choice(SHARED)}"
        content = f"{chance.randrange(60):02x}" * 32
        entry = Entry(path, chance.choice(["/s", "/s/a"]), content, batch, 9, chance.randrange(9), formats=["megatron"])
        entry.parts = {part: facts(chance) for part in range(chance.choice([1, 1, 1, 2]))}
        if path.endswith(".toml"):
            entry.parts, entry.batch, entry.sidecar = {}, "", chance.choice(SIDECARS)
        elif path.endswith(".xml"):
            entry.parts[0].folders = [chance.choice(["b", "../c", "d"])]
        elif "result_" in path:
            entry.formats = ["mllog"]
        elif chance.random() < 0.2 and content in live:
            entry.batch, entry.parts, entry.status = "", {}, "duplicate"
        elif chance.random() < 0.15:
            entry = Entry(path, status="forgotten")
        elif chance.random() < 0.05:
            entry = Entry(path, "/s", status="unknown", note="cannot be read")
        entries.append(entry)
    contents = [entry.file_id for entry in entries if entry.batch]
    warehouse.commit([Batch(batch, {"steps": 9}, contents)] if contents else [], entries)


@pytest.mark.parametrize("seeds", [range(3), pytest.param(range(3, 300), marks=pytest.mark.slow)])
def test_an_update_gives_what_all_records_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seeds: range) -> None:
    monkeypatch.setattr(updating, "MAX_TIED_SHARE", 1.0)
    updates = list[bool]()
    update = opening.update_cached_state
    monkeypatch.setattr(
        opening, "update_cached_state", lambda *given: updates.append(bool(state := update(*given))) or state
    )
    for seed in seeds:
        chance, warehouse = random.Random(seed), Warehouse(tmp_path / str(seed))
        warehouse.create()
        for step in range(40):
            contents = list(warehouse.live().providers)
            if chance.random() < 0.05:
                warehouse.fold(above=0)
            commit(chance, warehouse, contents)
            texts = warehouse.texts()
            found = opening.opened(warehouse, texts)
            live = live_of(warehouse.records(texts))
            expected = record_tables(live, runs_of(live))
            for name, table in expected.tables.items():
                assert found.tables[name].to_pylist() == table.to_pylist(), (seed, step, name)
            assert (found.labels, found.batches) == (expected.labels, expected.batches), (seed, step)
    assert sum(updates) > 0.3 * len(updates), sum(updates) / len(updates)


def test_a_description_that_has_another_path_now_describes_other_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two workpackages of JUBE have configurations with the same bytes, and the first of them goes."""
    monkeypatch.setattr(updating, "MAX_TIED_SHARE", 1.0)
    warehouse = Warehouse(tmp_path / "w")
    warehouse.create()
    log, params = PartFacts({"steps": 9}, {"None": (1, 9)}), PartFacts({"params": 9}, folders=["."])
    entries = [
        Entry("/s/b/configuration.xml", "/s", "c" * 64, "b", parts={0: params}),
        Entry("/s/a/configuration.xml", "/s", "c" * 64, status="duplicate"),
        Entry("/s/a/work/stdout", "/s", "1" * 64, "b", parts={0: log}),
        Entry("/s/b/work/stdout", "/s", "2" * 64, "b", parts={0: log}),
    ]
    warehouse.commit([Batch("b", {"steps": 9}, ["c" * 64, "1" * 64, "2" * 64])], entries)
    assert run_of_configuration(warehouse) == "1" * 12
    warehouse.forget(["/s/a/configuration.xml"])
    assert run_of_configuration(warehouse) == "2" * 12


def run_of_configuration(warehouse: Warehouse) -> str:
    members = opening.opened(warehouse, warehouse.texts()).tables["members"].to_pylist()
    (run_id,) = (row["run_id"] for row in members if row["file_id"] == "c" * 64)
    return str(run_id)


@pytest.mark.parametrize("seeds", [range(200), pytest.param(range(200, 20_000), marks=pytest.mark.slow)])
def test_contents_that_are_tied_have_the_same_runs_without_all_others(seeds: range) -> None:
    """Joining them alone is enough, so nothing but the ties decides what a commit can change."""
    joined_alone = 0
    for seed in seeds:
        chance = random.Random(seed)
        paths = [f"{chance.choice(FOLDERS)}/{chance.choice(NAMES)}" for _ in range(chance.choice([5, 20, 60]))]
        entries = {path: Entry(path, chance.choice(["/s", "/s/a"]), f"{k:064x}", "b") for k, path in enumerate(paths)}
        for path, entry in entries.items():
            entry.formats = ["mllog"] if "result_" in path else ["megatron"]
            entry.parts = {part: facts(chance) for part in range(chance.choice([1, 1, 1, 2]))}
            if chance.random() < 0.05:
                entry.parts[0].folders = [chance.choice(["b", "../c", "d"])]
        everything = join(live_with(entries))
        content_of = {number_of(entry.file_id): path for path, entry in entries.items()}
        ties = ties_table(everything.ties)
        left = set(content_of)
        while left:
            tied = tied_to({min(left)}, ties)
            alone = join(
                live_with({content_of[number]: entries[content_of[number]] for number in tied}),
                everything.described_folders,
            )
            ids = {entries[content_of[number]].file_id for number in tied}
            assert parts_of(alone.runs) == parts_of(run for run in everything.runs if run.parts[0].file_id in ids), seed
            joined_alone += len(tied) < len(entries)
            left -= tied
    assert joined_alone > len(seeds)


def live_with(entries: dict[str, Entry]) -> Live:
    return Live(entries, {entry.file_id: entry for entry in entries.values()}, {}, [])


def parts_of(runs: Iterable[Run]) -> list[list[tuple[str, int, str]]]:
    """Path, number and reason of the parts of each run."""
    return [[(part.path, part.part, why) for part, why in zip(run.parts, run.reasons, strict=True)] for run in runs]
