"""Which launch of a run printed a record: launches and unlabelled ranks, interleaved in one file."""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import scalelens
from asking import answer
from conftest import as_dicts
from scalelens.ingestion import formats
from scalelens.ingestion.ingest import ingest
from scalelens.ingestion.recognize import read_rows
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import open_source

LOADED = formats.load()
BEGIN = datetime(2026, 3, 4, 5, 6, 7)


@dataclass
class Record:
    """What one rank prints of one step."""

    at: float  # seconds since the first launch
    launch: int
    rank: int
    step: int
    step_s: float


def rows_of(path: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """Rows of steps, and what is said of the file: the reasons of its problems."""
    batches = defaultdict(list)
    rows = Rows("f", lambda table, batch: batches[table].extend(as_dicts(batch)))
    read_rows(open_source(path), LOADED, rows)
    rows.flush()
    steps = sorted(batches["steps"], key=lambda row: row["line"])
    return steps, [problem["reason"] for problem in batches["problems"]]


def launches(random: random.Random) -> list[list[Record]]:
    """Launches of all ranks.  Each begins ten step times after the one before, at the first step or at a checkpoint."""
    ranks, count, every = random.randint(1, 16), random.randint(1, 5), random.choice((3, 4, 5))
    usual, spread = random.choice((0.5, 1.25, 8.0)), random.choice((0.0, 0.05, 0.4))
    first, clock, printed = 1, 0.0, list[list[Record]]()
    for launch in range(count):
        last = first + random.randint(3, 12)
        records = []
        for rank in range(ranks):
            slow = random.uniform(0, 1.2 if spread else 0.01) * usual  # behind the others
            end = last - (random.random() < 0.2)  # it died before it printed its last step
            at = clock + slow
            for step in range(first, end + 1):
                step_s = round(usual * (1 + spread * random.random()), 4)
                at = max(at, clock + slow + (step - first) * usual * (1 + spread / 2)) + step_s * 1e-3
                records.append(Record(at + random.uniform(0, 0.3) * spread * usual, launch, rank, step, step_s))
        records.sort(key=lambda record: (record.at, record.rank))
        printed.append(in_order_of_each_rank(records))
        clock = max(record.at for record in records) + 11 * usual * (1 + spread)
        checkpoint = (last - 1) // every * every
        first = random.choice((1, max(checkpoint, 1)))
    return printed


def in_order_of_each_rank(records: list[Record]) -> list[Record]:
    """A rank prints its steps in order, whatever the jitter."""
    of_rank = {
        rank: iter(sorted((record for record in records if record.rank == rank), key=lambda record: record.step))
        for rank in {record.rank for record in records}
    }
    ordered = []
    for record in records:
        following = next(of_rank[record.rank])
        following.at = record.at
        ordered.append(following)
    return ordered


def litgpt(printed: list[list[Record]], random: random.Random) -> Iterator[str]:
    """Headers of each rank, records without a time."""
    for records in printed:
        ranks = len({record.rank for record in records})
        yield from (
            f"Initializing distributed: GLOBAL_RANK: {rank}, MEMBER: {rank + 1}/{ranks}" for rank in range(ranks)
        )
        yield from ("Verifying settings ..." for _ in range(random.choice((1, ranks))))
        yield from (litgpt_record(record) for record in records)


def litgpt_record(record: Record) -> str:
    time = f"{record.step_s * 1000:.2f} ms (step)"
    loss = f"{2 + record.rank / 100 - record.step / 1000:.3f}"
    return f"Epoch 1 | iter {record.step} step {record.step} | loss train: {loss}, val: n/a | iter time: {time}"


def megatron(printed: list[list[Record]], random: random.Random) -> Iterator[str]:
    """No header, records with a time."""
    for records in printed:
        yield from (megatron_record(record) for record in records)


def megatron_record(record: Record) -> str:
    stamp = (BEGIN + timedelta(seconds=record.at)).isoformat(" ")
    stamp += "" if "." in stamp else ".000000"
    return (
        f" [{stamp}] iteration {record.step:8d}/     500 | consumed samples: {record.step * 64:12d} | elapsed time per "
        f"iteration (ms): {record.step_s * 1000 + record.rank / 1000:.3f} | learning rate: 1.500000E-04 | global batch size:    64 | "
        f"lm loss: {9 - record.step / 1000:.6E} | loss scale: 1.0 | grad norm: 1.000 | number of skipped iterations:   0 | "
        "number of nan iterations:   0 |"
    )


def imagenet(printed: list[list[Record]], random: random.Random) -> Iterator[str]:
    """A header of each rank, records without a time; every tenth batch is printed."""
    for records in printed:
        yield from ("=> creating model 'resnet50'" for _ in {record.rank for record in records})
        yield from (imagenet_record(record) for record in records)


def imagenet_record(record: Record) -> str:
    loss = f"{7 + record.rank / 100 - record.step / 1000:.4e}"
    return (
        f"Epoch: [0][{record.step * 10:3d}/500]\tTime {record.step_s:6.3f} ({record.step_s:6.3f})\t"
        f"Data  0.001 ( 0.002)\tLoss {loss} ({loss})\tAcc@1   0.39 (  0.40)\tAcc@5   1.56 (  1.60)"
    )


def cut(lines: list[str], random: random.Random) -> tuple[str, bool]:
    """The text of a file, and whether its last line is cut before the time of its record."""
    if random.random() < 0.3:
        return "\n".join([*lines[:-1], lines[-1][: random.randint(1, 40)]]), True
    return "\n".join(lines) + "\n", False


def slowest(records: list[Any], key: Callable[[Any], Any], time: Callable[[Any], float]) -> dict[Any, float]:
    times = defaultdict(list)
    for record in records:
        times[key(record)].append(time(record))
    return {place: max(of_place) for place, of_place in times.items()}


@pytest.mark.parametrize("cases", [60, pytest.param(500, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("write", "printed_steps", "precision_s"), [(litgpt, 1, 1e-4), (megatron, 1, 1e-4), (imagenet, 10, 6e-4)]
)
def test_launches_and_ranks_are_told_apart(
    write: Callable[..., Iterator[str]], printed_steps: int, precision_s: float, cases: int, tmp_path: Path
) -> None:
    generator, right, path = random.Random(14), 0, tmp_path / "job.out"
    for case in range(cases):
        printed = launches(generator)
        text, is_cut = cut(list(write(printed, generator)), generator)
        path.write_text(text)
        steps, reasons = rows_of(path)
        records = [record for of_launch in printed for record in of_launch]
        records = records[:-1] if is_cut else records
        for row in steps:
            row["step"] //= printed_steps
        ours = slowest(steps, lambda row: (row["attempt"], row["step"]), lambda row: row["step_s"])
        true = slowest(records, lambda record: (record.launch, record.step), lambda record: record.step_s)
        counted = Counter((row["attempt"], row["step"]) for row in steps)
        if counted == Counter((record.launch, record.step) for record in records):
            right += 1
            assert ours == pytest.approx(true, abs=precision_s), case
        else:
            assert any("ambiguous" in reason for reason in reasons), case
    assert right >= 0.99 * cases


def test_without_headers_and_times_launches_side_by_side_are_ambiguous(tmp_path: Path) -> None:
    """Two launches write one file at the same time: no statistics, and every record is listed with the rule."""
    (tmp_path / "logs").mkdir()
    ahead = [Record(0, 0, 0, step, 0.5) for step in range(20, 60)]
    behind = [Record(0, 1, 0, step, 0.75) for step in range(1, 41)]
    lines = [litgpt_record(record) for pair in zip(ahead, behind, strict=True) for record in pair]
    (tmp_path / "logs" / "job.out").write_text("\n".join(lines) + "\n")
    ingest([tmp_path / "logs"], tmp_path / "w", jobs=1)
    assert scalelens.query("batch_stats", tmp_path / "w")["step_s"].drop_nulls().is_empty()
    rules = scalelens.query("exclusions", tmp_path / "w")
    assert (rules["rule"] == "ambiguous").sum() == len(set(zip(rules["attempt"], rules["step"], strict=True))) > 40
    _, reasons = rows_of(tmp_path / "logs" / "job.out")
    assert sum("ambiguous" in reason for reason in reasons) == 1


def test_what_two_ranks_print_is_no_restart(tmp_path: Path) -> None:
    """The first step twice proves nothing; the first step after a later one is a launch."""
    path = tmp_path / "job.out"
    for steps, attempts in (([1, 1, 2, 2, 3, 3], [0] * 6), ([1, 2, 3, 4, 1, 2, 3, 4, 5], [0] * 4 + [1] * 5)):
        path.write_text("".join(litgpt_record(Record(0, 0, 0, step, 0.5)) + "\n" for step in steps))
        rows, reasons = rows_of(path)
        assert [row["attempt"] for row in rows] == attempts
        assert reasons == []


def test_header_of_a_rank_that_is_named_concerns_that_rank(tmp_path: Path) -> None:
    """Rank 1 starts late: its header is no launch of rank 0."""
    path = tmp_path / "job.out"
    of_rank = [["Verifying settings ...", *(litgpt_record(Record(0, 0, 0, step, 0.5)) for step in (1, 2, 3))]] * 2
    (header, *first), late = of_rank
    lines = [f"0: {text}" for text in (header, first[0])] + [f"1: {text}" for text in late]
    path.write_text("\n".join([*lines, *(f"0: {text}" for text in first[1:])]) + "\n")
    rows, _ = rows_of(path)
    assert [(row["rank"], row["attempt"]) for row in rows] == [(0, 0), (1, 0), (1, 0), (1, 0), (0, 0), (0, 0)]


def test_long_launch_keeps_its_place(tmp_path: Path) -> None:
    """More steps than are remembered: each record is a mean over the steps since the one before."""
    path = tmp_path / "job.out"
    records = [Record(step * 0.5, 0, 0, step, 0.5) for step in range(10, 6000, 10)]
    path.write_text("".join(megatron_record(record) + "\n" for record in records))
    rows, _ = rows_of(path)
    assert {row["averaged_steps"] for row in rows[2:]} == {10}
    assert {row["attempt"] for row in rows} == {0}


def test_jobs_of_one_file_are_runs_of_their_own(tmp_path: Path) -> None:
    """Two jobs, the second of which was requeued: two runs, with the id and the outcome of each."""
    generator = random.Random(3)
    lines: list[str] = []
    (first, *_), (second, *_), (third, *_) = launches(generator), launches(generator), launches(generator)
    for job, reason, records in (
        ("4711", "", first), ("4712", " DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS", second),
        ("4712", " DUE TO TIME LIMIT", third),
    ):  # fmt: skip
        lines += [f"SLURM_JOB_ID={job}", *litgpt([records], generator)]
        lines.append(f"slurmstepd: error: *** JOB {job} ON node01 CANCELLED AT 2026-03-04T05:06:07{reason} ***")
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "slurm.out").write_text("\n".join(lines) + "\n")
    ingest([tmp_path / "logs"], tmp_path / "w", jobs=1)
    runs = answer(tmp_path / "w", "SELECT job_id, attempts, outcome FROM runs ORDER BY job_id").fetchall()
    assert runs == [("4711", 1, "cancelled"), ("4712", 2, "time_limit")]
