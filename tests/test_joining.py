"""Joining files to runs: the work grows as their number does, no row is lost, and nothing is joined without evidence."""

import json
import os
import random
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from asking import answer, ask_sql
from conftest import FIXTURES
from mixed_jobs import joined, write_folder
from scalelens.database.opening import opened
from scalelens.ingestion.ingest import ingest
from scalelens.parsing.part_facts import PartFacts
from scalelens.parsing.values import nanoseconds_since_1970
from scalelens.runs.joining import runs_of
from scalelens.warehouse.live import Live
from scalelens.warehouse.log import Warehouse
from scalelens.warehouse.records import Batch, Entry
from trackers import event_file

START, HOUR = datetime(2026, 1, 2, 3, 4, 5), timedelta(hours=1)
Files = dict[str, PartFacts]


def log(rank: int | None, start: datetime | None = START, **facts: Any) -> PartFacts:
    times = {"started_at": start, "ended_at": start + HOUR} if start else {}
    return PartFacts({"steps": 9}, {str(rank): (1, 9)}, 1, summary=False, **times, **facts)


def power(begin: int = 10, **facts: Any) -> PartFacts:
    return PartFacts({"power": 9}, measured=(begin, begin + 5), **facts)


def result(**facts: Any) -> PartFacts:
    return PartFacts({"steps": 1}, {"None": (0, 0)}, 1, summary=True, **facts)


def warehouse_of(home: Path, files: Files) -> Warehouse:
    """A warehouse of files by path, without rows."""
    warehouse = Warehouse(home)
    warehouse.create()
    contents = [f"{number:012x}{number:052x}" for number in range(len(files))]
    entries = [
        Entry(path, "/s", content, "b", 10, formats=["scalelens_run"], parts={0: facts}, rows=9)
        for content, (path, facts) in zip(contents, files.items(), strict=True)
    ]
    warehouse.commit([Batch("b", {}, contents)], entries)
    return warehouse


def members(home: Path, files: Files) -> dict[str, set[str]]:
    """Files of each run, by the path of its first file."""
    warehouse = warehouse_of(home, files)
    tables = opened(warehouse, warehouse.texts()).tables
    path_of = {row["file_id"]: row["path"] for row in tables["files"].to_pylist()}
    runs: dict[str, set[str]] = {row["run_id"]: set() for row in tables["_run_basics"].to_pylist()}
    for row in tables["members"].to_pylist():
        runs[row["run_id"]].add(path_of[row["file_id"]])
    first = {row["run_id"]: row["path"] for row in tables["_run_basics"].to_pylist()}
    return {first[run_id]: paths for run_id, paths in runs.items()}


# Work


def instructions(act: Callable[[], object]) -> int:
    """How many instructions of Python a call takes: unlike seconds, the same on every machine."""
    count = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal count
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        act()
    finally:
        sys.settrace(before)
    return count


def checkpoints(n: int) -> Files:
    return {f"/s/a/checkpoint-{k}/trainer_state.json": log(None, None) for k in range(n)}


def ranks_and_captures(n: int) -> Files:
    ranks = {f"/s/a/rank_{k:04d}.log": log(k) for k in range(n // 2)}
    return ranks | {f"/s/b/{k}.out": log(None) for k in range(n // 2)}


def jobs_and_captures(n: int) -> Files:
    """Jobs that ended a few seconds after each other, in quarters of an hour."""
    starts = [START + k * timedelta(minutes=15, seconds=5) for k in range(n // 2)]
    ranks = {f"/s/a{k}/rank_0.log": log(0, start) for k, start in enumerate(starts)}
    return ranks | {f"/s/b{k}/job.out": log(None, start) for k, start in enumerate(starts)}


def workpackages(n: int) -> Files:
    configuration = {f"/s/{k:06d}_a/configuration.xml": PartFacts({"params": 9}, folders=["."]) for k in range(n // 2)}
    return configuration | {f"/s/{k:06d}_a/work/stdout": log(None) for k in range(n // 2)}


def a_workpackage(n: int) -> Files:
    results = {f"/s/000000_a/work/{k}.csv": result() for k in range(n)}
    return results | {"/s/000000_a/configuration.xml": PartFacts({"params": 9}, folders=["."])}


def repeated(n: int) -> Files:
    logs = {f"/s/a/{k}.log": log(None, None) for k in range(n // 2)}
    return logs | {f"{path}.json": facts for path, facts in logs.items()}


def logs_and_power(n: int) -> Files:
    """Jobs one after the other, with a power file each, all in one folder."""
    starts = [START + k * 2 * HOUR for k in range(n // 2)]
    logs = {f"/s/a/{k}x.log": log(None, start, clocks=["naive"]) for k, start in enumerate(starts)}
    return logs | {f"/s/a/{k}y.csv": sampled(start, 1) for k, start in enumerate(starts)}


def outputs_and_errors(n: int) -> Files:
    outputs = {f"/s/a/{k}x.out": log(None) for k in range(n // 2)}
    return outputs | {f"/s/a/{k}x.err": stepless(job_id=str(k) if k % 2 else None) for k in range(n // 2)}


KINDS: dict[str, Callable[[int], Files]] = {
    "logs of the ranks of a run": lambda n: {f"/s/a/rank_{k:04d}.log": log(k) for k in range(n)},
    "traces of the ranks of a run": lambda n: {
        f"/s/a/rank_{k:04d}.json": PartFacts({"events": 9}, traced=[k]) for k in range(n)
    },
    "jobs of eight ranks": lambda n: {
        f"/s/a/{k // 8}_rank_{k % 8}.log": log(k % 8, job_id=str(k // 8)) for k in range(n)
    },
    "results of a job": lambda n: {f"/s/{k}.csv": result(job_id="11") for k in range(n)} | {"/s/a": log(0, job_id="11")},
    "one launch measured by its ranks": lambda n: {f"/s/a/power_{k}.csv": power(measured_by=[str(k)]) for k in range(n)},
    "launches measured by one rank": lambda n: {f"/s/a/power_{k}.csv": power(measured_by=["0"]) for k in range(n)},
    "launches measured one after the other": lambda n: {f"/s/a/power_{k}.csv": power(10 * k) for k in range(n)},
    "one launch measured on many nodes": lambda n: {f"/s/a/power_{k}.csv": power() for k in range(n)},
    **{
        kind.__name__: kind
        for kind in (
            checkpoints, ranks_and_captures, jobs_and_captures, workpackages, a_workpackage, repeated, logs_and_power,
            outputs_and_errors,
        )
    },
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_the_work_of_opening_grows_as_the_number_of_files(tmp_path: Path, kind: str) -> None:
    def work(n: int) -> int:
        warehouse = warehouse_of(tmp_path / str(n), KINDS[kind](n))
        texts = warehouse.texts()
        return instructions(lambda: opened(warehouse, texts))

    work(40)  # what is done once in a process
    small, large = work(100), work(400)
    assert large < 4.4 * small, large / small


# Rows


def test_the_result_of_a_log_in_a_workpackage_is_kept_where_that_log_is_a_capture(tmp_path: Path) -> None:
    """The workpackage has two logs, and one of them is what the launcher printed of ranks that log elsewhere."""
    of_two, of_four = {"devices": "2"}, {"devices": "4"}
    files = {
        "/s/logs/rank_0.log": log(0, settings=of_two),
        "/s/logs/rank_1.log": log(1, settings=of_two),
        "/s/jube/000000_train/configuration.xml": PartFacts({"params": 9}, folders=["."]),
        "/s/jube/000000_train/work/other.log": log(None, None, settings=of_four),
        "/s/jube/000000_train/work/stdout": log(None, settings=of_two),
        "/s/jube/result/result.csv": result(settings=of_two),
    }
    package, logs, table = "/s/jube/000000_train", "/s/logs", "/s/jube/result/result.csv"
    assert members(tmp_path, files) == {
        f"{logs}/rank_0.log": {f"{logs}/rank_0.log", f"{logs}/rank_1.log", f"{package}/work/stdout", table},
        f"{package}/work/other.log": {f"{package}/work/other.log", f"{package}/configuration.xml"},
    }


def test_power_files_go_to_the_first_launch_that_they_fit(tmp_path: Path) -> None:
    """By names, then ranks, then times; one of the same rank at the same time is of another launch."""
    files = {
        "power_1": power(10, measured_by=["0"]),
        "power_2": power(90),
        "power_3": power(10, measured_by=["0"]),
        "power_4": power(92, measured_by=["0"]),
        "power_5": power(500, measured_by=["0"]),
        "power_6": power(500, measured_by=["1"]),
        "power_7": power(12),
        "power_8": power(12, measured_by=["1"]),
        "energy_9": power(300),
        "other": power(300),
        "node_1": power(10, measured_by=["0", "1"]),
        "node_2": power(90),
        "node_3": power(10, measured_by=["0"]),
        "node_4": power(92, measured_by=["1"]),
        "node_5": power(700, measured_by=["0"]),
    }
    found = members(tmp_path, {f"/s/a/{name}.csv": facts for name, facts in files.items()})
    launches = sorted(sorted(path.rpartition("/")[2].removesuffix(".csv") for path in run) for run in found.values())
    assert launches == [
        ["energy_9"], ["node_1"], ["node_2", "node_4", "node_5"], ["node_3"], ["other"],
        ["power_1", "power_6", "power_7"], ["power_2", "power_4", "power_8"], ["power_3"], ["power_5"],
    ]  # fmt: skip


def test_the_first_and_the_last_year_of_the_calendar_are_times(tmp_path: Path) -> None:
    """A program in Go prints the year 1 for a time that is not set."""
    for number, start in enumerate((datetime.min, datetime.max - HOUR)):
        files = {"/s/a/rank_0.log": log(0, start), "/s/b/job.out": log(None, start)}
        assert len(members(tmp_path / str(number), files)) == 1


# Evidence


def stepless(**facts: Any) -> PartFacts:
    """The log of a training that ended before its first step."""
    return PartFacts({"params": 2}, of_lines=True, of_training=True, **facts)


def sampled(start: datetime, hours: float, clock: str = "naive") -> PartFacts:
    begin, end = (nanoseconds_since_1970(time) for time in (start, start + hours * HOUR))
    return PartFacts({"power": 9}, measured=(begin, end), clocks=[clock])


def reasons(files: Files) -> dict[str, str]:
    """The rule that joined each file, by its name."""
    entries = {
        f"/s/a/{name}": Entry(f"/s/a/{name}", "/s", f"id of {name}", "b", parts={0: facts})
        for name, facts in files.items()
    }
    live = Live(entries, {entry.file_id: entry for entry in entries.values()}, {}, [])
    return {
        part.path.rpartition("/")[2]: reason
        for run in runs_of(live)
        for part, reason in zip(run.parts, run.reasons, strict=True)
    }


def runs_in_folder(files: Files, home: Path) -> list[list[str]]:
    found = members(home, {f"/s/a/{name}": facts for name, facts in files.items()})
    return sorted(sorted(path.removeprefix("/s/a/") for path in run) for run in found.values())


def test_training_logs_are_not_one_run_because_they_lie_in_one_folder(tmp_path: Path) -> None:
    files = {
        "gpt.log": log(None, None), "flux.log": stepless(outcomes=[("error", 5)]), "vit.log": stepless(outcomes=[("oom", 9)]),
    }  # fmt: skip
    assert runs_in_folder(files, tmp_path) == [["flux.log"], ["gpt.log"], ["vit.log"]]


def test_other_files_beside_the_only_training_log_are_of_its_run() -> None:
    files = {
        "gpt.log": log(None), "power.csv": power(), "env.txt": PartFacts({"params": 9}, of_lines=True),
        "t0.json": PartFacts({"events": 9}, traced=[0]),
    }  # fmt: skip
    assert reasons(files) == dict.fromkeys(files, "folder")


@pytest.mark.parametrize(
    ("log_name", "error_name", "reason"),
    [
        ("16-node.out", "16-node.err", "name"), ("job.out.gz", "job.err.gz", "name"), ("rank0.log", "rank1.log", "name"),
        ("a.log", "b.log", ""), ("run1.log", "run2.log", ""), ("train.log", "train2.err", ""),
    ],
)  # fmt: skip
def test_a_log_without_steps_joins_the_log_of_its_name(log_name: str, error_name: str, reason: str) -> None:
    files = {log_name: log(None), error_name: stepless(outcomes=[("time_limit", 7)])}
    assert reasons(files)[error_name] == (reason or "file")


def test_the_job_that_one_output_names_is_that_of_the_other(tmp_path: Path) -> None:
    files = {
        "16.out": log(None),
        "16.err": stepless(job_id="36652"),
        "8.out": log(None),
        "8.err": stepless(job_id="36651"),
    }
    assert runs_in_folder(files, tmp_path) == [["16.err", "16.out"], ["8.err", "8.out"]]


def test_a_bar_in_the_errors_counts_the_steps_of_the_output(tmp_path: Path) -> None:
    files = {"a.out": log(None), "a.err": log(None), "b.out": log(None), "b.log": log(None)}
    assert runs_in_folder(files, tmp_path) == [["a.err", "a.out"], ["b.log"], ["b.out"]]


def printed(outcome: str = "oom", **facts: Any) -> PartFacts:
    """What a launcher printed of a job that ended before its first step."""
    return PartFacts({"params": 3}, of_lines=True, of_training=True, outcomes=[(outcome, 7)], **facts)


def started() -> PartFacts:
    """What a rank logged of it."""
    return PartFacts({"params": 3, "phases": 1}, of_lines=True, of_training=True)


@pytest.mark.parametrize(
    ("files", "is_joined"),
    [
        ({"rank0.log": log(0), "rank1.log": log(1), "job.out": printed()}, True),
        ({"rank0.log": started(), "rank1.log": started(), "job.out": printed()}, True),
        ({"rank0.log": log(0, settings={"tp": "2"}), "job.out": printed(settings={"tp": "2", "pp": "4"})}, True),
        ({"rank0.log": log(0, settings={"tp": "2"}), "job.out": printed(settings={"tp": "4"})}, False),
        ({"rank0.log": log(0, outcomes=[("completed", 9)]), "job.out": printed()}, False),
        ({"rank0.log": log(0), "job.out": printed(), "other.out": printed()}, False),
        ({"good.log": log(None), "bad.log": printed()}, False),
        ({"rank0.log": log(0), "other.log": log(None), "job.out": printed()}, False),
    ],
)
def test_what_a_launcher_printed_beside_the_logs_of_ranks_is_of_their_run(
    tmp_path: Path, files: Files, is_joined: bool
) -> None:
    runs = members(tmp_path, {f"/s/{name}": facts for name, facts in files.items()})
    assert (len(runs) == 1) is is_joined, runs


def test_of_several_runs_a_file_joins_the_only_one_at_its_time(tmp_path: Path) -> None:
    naive = {"clocks": ["naive"]}
    first, later = log(None, START, **naive), log(None, START + 3 * HOUR, **naive)
    both = {"first.log": first, "later.log": later}
    for number, (name, facts, of) in enumerate(
        [
            ("p.csv", sampled(START - HOUR / 9, 1.2), "first.log"),
            ("p.csv", sampled(START + 3.5 * HOUR, 1), "later.log"),
            ("p.csv", sampled(START, 5), ""),  # of both
            ("p.csv", sampled(START + 9 * HOUR, 1), ""),  # of neither
            ("p.csv", sampled(START, 1, "utc"), ""),  # of another clock
            ("p.csv", sampled(START, 1, "relative"), ""),
            ("crash.log", stepless(started_at=START, ended_at=START, **naive), "first.log"),
        ]
    ):
        expected = [[name, of]] if of else [[name]]
        found = runs_in_folder(both | {name: facts}, tmp_path / str(number))
        assert [sorted(run) for run in found if name in run] == [sorted(run) for run in expected], number


def test_a_time_tells_nothing_where_a_log_has_none(tmp_path: Path) -> None:
    files = {"first.log": log(None, clocks=["naive"]), "other.log": log(None, None), "p.csv": sampled(START, 1)}
    assert ["p.csv"] in runs_in_folder(files, tmp_path)


def test_a_power_file_of_another_day_is_not_of_the_only_log(tmp_path: Path) -> None:
    files = {"train.log": log(None, clocks=["naive"]), "power.csv": sampled(START + 24 * HOUR, 1)}
    assert runs_in_folder(files, tmp_path) == [["power.csv"], ["train.log"]]


def test_ranks_that_began_on_other_days_are_two_runs(tmp_path: Path) -> None:
    times = {"clocks": ["utc"]}
    files = {
        "x.log": log(0, **times), "y.log": log(1, **times),
        "z.log": log(1, START + 24 * HOUR, **times), "w.log": log(0, START + 24 * HOUR, **times),
    }  # fmt: skip
    assert runs_in_folder(files, tmp_path) == [["w.log", "z.log"], ["x.log", "y.log"]]


def test_the_log_of_another_time_is_not_what_a_launcher_printed(tmp_path: Path) -> None:
    """Of one clock, times differ by no zone."""
    ranks = {f"rank{rank}.log": log(rank, clocks=["naive"]) for rank in range(2)}
    for number, hours in enumerate((0, 2)):
        other = {"job.out": log(None, START + hours * HOUR, clocks=["naive"])}
        assert len(runs_in_folder(ranks | other, tmp_path / str(number))) == (2 if hours else 1)


FOLDERS = int(os.environ.get("SCALELENS_MIXED_FOLDERS", "30"))  # 1,000 take some minutes


def test_no_file_of_folders_of_five_jobs_is_in_a_wrong_run(tmp_path: Path) -> None:
    """Mixed, renamed and cut, with files of strangers among them: nearly all are joined, and none is joined wrongly."""
    folders = {tmp_path / "s" / str(seed): write_folder(tmp_path / "s" / str(seed), seed) for seed in range(FOLDERS)}
    shares, mixed = joined(tmp_path / "w", folders)
    print(f"{shares.files} files in {FOLDERS} folders: {shares.wrong} in a wrong run, {shares.joined} joined")
    assert not mixed
    assert shares.joined >= 0.95 * shares.files, shares


def training_fixtures() -> dict[str, list[Path]]:
    """Fixtures of one file with records of training, by format."""
    found: dict[str, list[Path]] = {}
    for golden in sorted(FIXTURES.glob("*/*.steps.csv")):
        case = golden.parent.glob(f"{golden.name.split('.')[0]}.*")
        logs = [path for path in case if path.suffix in (".log", ".out", ".txt")]
        if logs and ",train," in golden.read_text():
            found.setdefault(golden.parent.name, []).extend(logs[:1])
    return found


@pytest.mark.parametrize("seed", range(4))
def test_logs_of_unlike_trainings_stay_apart_in_whatever_order_they_lie_among_strangers(
    tmp_path: Path, seed: int
) -> None:
    chance, fixtures = random.Random(seed), training_fixtures()
    assert len(fixtures) >= 40
    names = list(range(15))
    chance.shuffle(names)
    folder = tmp_path / "logs"
    folder.mkdir()
    for number, format in zip(names, chance.sample(sorted(fixtures), 12), strict=False):
        path = chance.choice(fixtures[format])
        (folder / f"{number:02d}{path.suffix}").write_bytes(path.read_bytes())
    strangers = ("nothing to see here\n", "a,b\n1,2\n", "mkdir: created directory 'out'\n")
    for number, text in zip(names[12:], strangers, strict=True):
        (folder / f"{number:02d}.txt").write_text(text)
    ingest([folder], tmp_path / "w", jobs=1)
    runs = answer(tmp_path / "w", "SELECT list(DISTINCT path) FROM members JOIN files USING (file_id) GROUP BY run_id")
    assert [paths for (paths,) in runs.fetchall() if len(paths) > 1] == []


def test_what_stable_baselines3_writes_to_three_files_is_one_run_and_counts_once(tmp_path: Path) -> None:
    """Other steps in a log.txt beside a progress.csv are those of another training."""
    same, shorter = log(None, None), PartFacts({"steps": 5}, {"None": (1, 5)}, 1)
    files = {"/s/a/log.txt": same, "/s/a/progress.csv": same, "/s/a/progress.json": same, "/s/b/progress.csv": same}
    assert members(tmp_path / "same", files | {"/s/b/log.txt": shorter, "/s/c/log.txt": same}) == {
        "/s/a/progress.csv": {"/s/a/log.txt", "/s/a/progress.csv", "/s/a/progress.json"},
        "/s/b/log.txt": {"/s/b/log.txt"},
        "/s/b/progress.csv": {"/s/b/progress.csv"},
        "/s/c/log.txt": {"/s/c/log.txt"},
    }


def test_a_log_and_the_statistics_of_one_training_are_one_run(tmp_path: Path) -> None:
    """Of StyleGAN and EDM: one of the two lacks the last tick, where the run was ended in between."""
    ticks = PartFacts({"steps": 10}, {"None": (0, 9)}, 1)
    one_less, other = PartFacts({"steps": 9}, {"None": (0, 8)}, 1), PartFacts({"steps": 9}, {"None": (1, 9)}, 1)
    files = {"/s/a/stats.jsonl": one_less, "/s/a/log.txt": ticks, "/s/b/stats.jsonl": ticks, "/s/b/log.txt": other}
    assert members(tmp_path / "ticks", files) == {
        "/s/a/stats.jsonl": {"/s/a/log.txt", "/s/a/stats.jsonl"},
        "/s/b/log.txt": {"/s/b/log.txt"},
        "/s/b/stats.jsonl": {"/s/b/stats.jsonl"},
    }


def test_what_ms_swift_printed_is_the_run_of_what_it_wrote_below(tmp_path: Path) -> None:
    """Where several logs or several records have the same steps, nothing tells which belong together."""
    steps, others = PartFacts({"steps": 20}, {"None": (1, 20)}, 1), PartFacts({"steps": 30}, {"None": (1, 30)}, 1)
    one = {"/s/a/log.txt": steps, "/s/a/out/v0-20260102-030405/logging.jsonl": steps, "/s/a/loss.tsv": steps}
    two_logs = {"/s/b/1.log": steps, "/s/b/2.log": steps, "/s/b/out/v0/logging.jsonl": steps}
    two_records = {"/s/c/1.log": steps, "/s/c/v0/logging.jsonl": steps, "/s/c/v1/logging.jsonl": steps}
    of_others = {
        "/s/d/1.log": steps,
        "/s/d/v0/logging.jsonl": others,
        "/s/e/f/g/h/logging.jsonl": steps,
        "/s/e.log": steps,
    }
    joined = members(tmp_path / "swift", one | two_logs | two_records | of_others)
    together = [paths for paths in joined.values() if len(paths) > 1]
    assert together == [{"/s/a/log.txt", "/s/a/out/v0-20260102-030405/logging.jsonl"}]


def trained(seed: int, steps: int = 40, pace: float = 0.4) -> list[tuple[int, float, float]]:
    """Steps of a training with their losses, which the seed decides, and their times, which are its own."""
    of_losses, of_times = random.Random(seed), random.Random(f"{seed} {pace}")
    return [(k, 3 / (1 + k / 9) + of_losses.uniform(0, 0.2), of_times.uniform(0.7, 1.4) * pace) for k in range(steps)]


def as_log(steps: list[tuple[int, float, float]], timed: bool = True) -> str:
    times = [f", step time {1000 * step_s:.1f} ms" if timed else "" for *_, step_s in steps]
    lines = [f"train step {k}/40 loss {loss:.4f}{time}" for (k, loss, _), time in zip(steps, times, strict=True)]
    return "\n".join(lines) + "\n"


def as_table(steps: list[tuple[int, float, float]], digits: int = 4, timed: bool = True, every: int = 1) -> str:
    rows = [f"{k},{loss:.{digits}f}" + f",{step_s:.3f}" * timed for k, loss, step_s in steps if k % every == 0]
    return "\n".join(["step,loss" + ",step_time_s" * timed, *rows]) + "\n"


MADE_OF_A_LOG = {
    "all": (as_log(trained(1)), as_table(trained(1))),
    "fewer digits": (as_log(trained(1)), as_table(trained(1), 3)),
    "without times": (as_log(trained(1)), as_table(trained(1), timed=False)),
    "every fifth step": (as_log(trained(1)), as_table(trained(1), every=5)),
    "times that the log lacks": (as_log(trained(1), timed=False), as_table(trained(1))),
    "a little earlier": (as_log(trained(1)), as_table(trained(1)[:37])),
}
NOT_MADE_OF_IT = {
    "another seed": (as_log(trained(1)), as_table(trained(2))),
    "the same seed at other times": (as_log(trained(1)), as_table(trained(1, pace=0.5))),
    "more steps than the log": (as_log(trained(1)[:30]), as_table(trained(1))),
    "the beginning alone": (as_log(trained(1)), as_table(trained(1)[:20])),
    "few digits": (as_log(trained(1)), as_table(trained(1), 1, timed=False)),
    "one loss that differs": (as_log(trained(1)), as_table([(k, v + 0.01 * (k == 20), s) for k, v, s in trained(1)])),
    "losses that stay the same": (
        as_log([(k, 0.6931, s) for k, _, s in trained(1)]), as_table([(k, 0.6931, s) for k, _, s in trained(1)]),
    ),
}  # fmt: skip


def runs_with(files: dict[str, str], folder: Path) -> list[set[str]]:
    for name, text in files.items():
        (folder / "s" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "s" / name).write_text(text)
    ingest([folder / "s"], folder / "w")
    runs = answer(folder / "w", "SELECT list(path) FROM members JOIN files USING (file_id) GROUP BY run_id").fetchall()
    return [{path.removeprefix(f"{folder}/s/") for path in paths} for (paths,) in runs]


@pytest.mark.parametrize("case", MADE_OF_A_LOG)
def test_a_table_that_was_made_of_a_log_is_of_its_run_and_counts_once(tmp_path: Path, case: str) -> None:
    log_text, table = MADE_OF_A_LOG[case]
    files = {"train.log": log_text, "plots/loss.csv": table, "other/train.log": as_log(trained(3))}
    runs = runs_with(files, tmp_path)
    assert sorted(map(sorted, runs)) == [["other/train.log"], ["plots/loss.csv", "train.log"]]
    counted = "SELECT count(*), count(DISTINCT step) FROM step_times JOIN runs USING (run_id) GROUP BY run_id"
    assert answer(tmp_path / "w", counted).fetchall() == [(40, 40)] * 2


@pytest.mark.parametrize("case", NOT_MADE_OF_IT)
def test_a_table_beside_a_log_of_another_training_is_a_run_of_its_own(tmp_path: Path, case: str) -> None:
    log_text, table = NOT_MADE_OF_IT[case]
    runs = runs_with({"train.log": log_text, "loss.csv": table}, tmp_path)
    assert sorted(map(sorted, runs)) == [["loss.csv"], ["train.log"]]


def test_a_table_that_two_logs_may_have_given_is_of_neither(tmp_path: Path) -> None:
    """Repeats with one seed have the same losses: only their times tell which of them a table is of."""
    repeats = {f"{k}.log": as_log(trained(1, pace=pace)) for k, pace in enumerate((0.4, 0.5))}
    untimed = runs_with(repeats | {"loss.csv": as_table(trained(1), timed=False)}, tmp_path / "untimed")
    assert sorted(map(sorted, untimed)) == [["0.log"], ["1.log"], ["loss.csv"]]
    timed = runs_with(repeats | {"loss.csv": as_table(trained(1, pace=0.5))}, tmp_path / "timed")
    assert sorted(map(sorted, timed)) == [["0.log"], ["1.log", "loss.csv"]]


def as_titan_log(steps: list[tuple[int, float, float]], prefix: str) -> str:
    """What torchtitan prints: a time stamp each, and the first step also."""
    stamp, lines = datetime(2026, 5, 3, 1, 27), []
    for k, loss, step_s in steps[1:]:
        stamp += timedelta(seconds=step_s)
        lines.append(
            f"{prefix}[titan] {stamp:%Y-%m-%d %H:%M:%S},{stamp.microsecond // 1000:03} - root - INFO - "
            f"step: {k:2}  loss: {loss:8.5f}  memory:  5.52GiB(17.60%)  tps: 1,201  mfu: 0.39%"
        )
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("prefix", ["", "[rank0]:", "[rank3]:"])
def test_what_torchtitan_wrote_for_tensorboard_is_of_its_log_and_counts_once(tmp_path: Path, prefix: str) -> None:
    """The rank that prints may be any one: the last stage of a pipeline has the loss."""
    folder, named = tmp_path / "s" / "tb" / "20260503-0127", "events.out.tfevents.1777770000.n1.1.0"
    folder.mkdir(parents=True)
    for seed, name in ((1, named), (2, f"{named}.other")):
        records = [
            (k, 1777770000.0 + k, {"loss_metrics/global_avg_loss": loss, "time_metrics/end_to_end(s)": step_s})
            for k, loss, step_s in trained(seed)[1:]
        ]
        (folder / name).write_bytes(event_file(records))
    runs = runs_with({"train.log": as_titan_log(trained(1), prefix)}, tmp_path)
    below = f"tb/20260503-0127/{named}"
    assert sorted(map(sorted, runs)) == [[below, "train.log"], [f"{below}.other"]]
    counted = "SELECT count(*) FROM step_times JOIN runs USING (run_id) WHERE path LIKE '%train.log'"
    assert answer(tmp_path / "w", counted).fetchall() == [(39,)]


def test_the_ranks_of_a_launch_by_torchrun_are_one_run_and_another_launch_is_another(tmp_path: Path) -> None:
    """What a rank writes to its errors is of its run, also where it holds steps."""
    first, second = "/s/logs/none_ab12/attempt_0", "/s/logs/none_ab12/attempt_1"
    outputs = {f"{launch}/{rank}/stdout.log": log(None, None) for launch in (first, second) for rank in range(3)}
    errors = {f"{first}/1/stderr.log": log(None, None)}
    loose = {f"/s/attempt_0/of_{rank}/stdout.log": log(None, None) for rank in range(2)}
    assert members(tmp_path / "launches", outputs | errors | loose) == {
        f"{first}/0/stdout.log": {*(f"{first}/{rank}/stdout.log" for rank in range(3)), f"{first}/1/stderr.log"},
        f"{second}/0/stdout.log": {f"{second}/{rank}/stdout.log" for rank in range(3)},
        **{path: {path} for path in loose},
    }


def test_steps_in_torchruns_folders_have_the_local_rank_as_their_place(tmp_path: Path) -> None:
    for rank in range(2):
        folder = tmp_path / "logs" / "none_ab12" / "attempt_0" / str(rank)
        folder.mkdir(parents=True)
        lines = (f"step {step} loss {3 - step / 50:.3f} step_time 0.4{step % 3}{rank} s\n" for step in range(1, 31))
        (folder / "stdout.log").write_text("".join(lines))
    ingest([tmp_path / "logs"], tmp_path / "w", jobs=1)
    places = answer(tmp_path / "w", "SELECT place, count(*) AS n FROM steps GROUP BY place ORDER BY place").fetchall()
    assert places == [("local_rank 0", 30), ("local_rank 1", 30)]
    assert answer(tmp_path / "w", "SELECT count(DISTINCT run_id), count(*) FROM step_times").fetchall() == [(1, 30)]


def test_a_result_that_a_second_file_of_the_folder_repeats_is_one_run_and_counts_once(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    rows = [("cpu", 412.2, 13.6), ("gpu", 54.4, 102.8)]
    document = [{"config": name, "avg_epoch_s": span, "images_per_s": rate} for name, span, rate in rows]
    (folder / "results.json").write_text(json.dumps(document))
    further = [rows[0], ("gpu", 54.4, 99.9), ("ddp", 50.2, 111.5)]  # the second has the name of another result
    table = "".join(f"{name},{span},{rate}\n" for name, span, rate in further)
    (folder / "summary.csv").write_text(f"config,avg_epoch_s,images_per_s\n{table}")
    ingest([folder], tmp_path / "w", jobs=1)
    found = ask_sql(tmp_path / "w", "SELECT n_steps, samples_per_s FROM rates_logged() ORDER BY samples_per_s").rows()
    assert [(steps, round(rate, 1)) for steps, rate in found] == [(1, 13.6), (1, 99.9), (1, 102.8), (1, 111.5)]
