"""Folders in which the files of five jobs lie together: mixed, renamed and cut.  It is known which job wrote each file."""

import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from scalelens.ingestion.ingest import ingest
from scalelens.runs.joining import runs_of
from scalelens.warehouse.log import Warehouse

ZONE = timedelta(hours=2)  # of the local time that logs and nvidia-smi print
JOBS = 5
SECOND = timedelta(seconds=1)


class Shares(NamedTuple):
    """What became of the files."""

    files: int  # those with rows
    wrong: int  # in a run with a file of another job
    joined: int  # in the run with most files of their job

    def __add__(self, other: object) -> "Shares":
        assert isinstance(other, Shares)
        return Shares(self.files + other.files, self.wrong + other.wrong, self.joined + other.joined)


class _Job:
    """A job with a trainer, and the texts that it and its tools write."""

    def __init__(self, chance: random.Random, number: int, trainer: str, start: datetime) -> None:
        self.chance, self.id, self.trainer, self.start = chance, str(1_500_000 + number), trainer, start
        self.steps, self.step_s = chance.randrange(12, 60), chance.uniform(2, 20)
        self.first = start + chance.uniform(20, 90) * SECOND  # start of the first step
        self.end = self.first + (self.steps + 2) * self.step_s * SECOND
        self.ranks = chance.choice([1, 2, 4])
        self.traced = chance.randrange(1, 6)  # first of the steps that a profiler sees
        self.failed, self.names_job = chance.random() < 0.3, chance.random() < 0.5

    def at(self, step: int) -> datetime:
        return self.first + step * self.step_s * SECOND

    def took(self) -> float:
        return self.step_s * self.chance.uniform(0.98, 1.02)

    def files(self) -> dict[str, str]:
        """Texts by name."""
        header = f"SLURM_JOB_ID={self.id}\nSLURM_JOB_NUM_NODES=1\n" if self.chance.random() < 0.7 else "starting\n"
        lines, bars = getattr(self, f"_of_{self.trainer}")()
        ends = "Traceback (most recent call last):\nValueError: bad batch\n" if self.failed else ""
        if self.failed and self.chance.random() < 0.5:
            ends = f"slurmstepd: error: *** JOB {self.id} ON n01 CANCELLED AT {self.end:%FT%T} DUE TO TIME LIMIT ***\n"
        files = {"out": header + "".join(lines), "err": "WARNING: a library is old\n" + "".join(bars) + ends}
        if self.trainer == "runner":
            files |= {f"rank_{rank}.log": self._rank_log(rank) for rank in range(self.ranks)}
            if self.chance.random() < 0.5:
                files |= {f"trace_rank_{rank}.json": self._trace(rank) for rank in range(self.ranks)}
        elif self.trainer in ("titan", "megatron") and self.chance.random() < 0.7:  # nanogpt's log has no times
            files["power.csv"] = self._power()
        return files

    def _of_titan(self) -> tuple[list[str], list[str]]:
        stamp = "[rank0]:[titan] {:%F %T,000} - root - INFO - "
        begin = "Training starts at step 1, with local batch size 8, global batch size 32, sequence length 2048, total "
        return [stamp.format(self.first + ZONE) + f"{begin}steps {self.steps} (warmup 2)\n"] + [
            stamp.format(self.at(k) + ZONE)
            + f"step: {k:2}  loss: {8 - k / 99:8.5f}  grad_norm:  0.3290  memory:  5.52GiB(17.60%)  tps: "
            f"{16384 / self.took():,.0f}  tflops: 1.22  mfu: 0.39%\n"
            for k in range(1, self.steps + 1)
        ], []

    def _of_megatron(self) -> tuple[list[str], list[str]]:
        form = (
            " [{:%F %T}.000000] iteration {:8}/    1000 | consumed samples: {:12} | elapsed time per iteration (ms):"
            " {:.1f} | learning rate: 3.750E-05 | global batch size:    32 | lm loss: 1.203115E+01 |"
            " number of skipped iterations:   0 | number of nan iterations:   0 |\n"
        )
        steps = range(1, self.steps + 1)
        return [form.format(self.at(k) + ZONE, k, 32 * k, 1e3 * self.took()) for k in steps], []

    def _of_nanogpt(self) -> tuple[list[str], list[str]]:
        lines = [
            f"iter {k}: loss {8 - k / 99:.4f}, time {1e3 * self.took():.2f}ms, mfu 1.06%\n" for k in range(self.steps)
        ]
        return lines, []

    def _of_transformers(self) -> tuple[list[str], list[str]]:
        """Records in the output, and a bar of the same steps in the errors."""
        steps = range(1, self.steps + 1)
        records = [
            f"{{'loss': {8 - k / 99:.4f}, 'learning_rate': 5e-05, 'epoch': {k / self.steps:.2f}}}\n" for k in steps
        ]
        bars = [
            f"\r{100 * k // self.steps:3}%|{'█' * (k % 10):10}| {k}/{self.steps} "
            f"[{int(k * self.step_s) // 60:02}:{int(k * self.step_s) % 60:02}<00:30, {self.step_s:5.2f}s/it]"
            for k in range(self.steps + 1)
        ]
        return records, [*bars, "\n"]

    def _of_runner(self) -> tuple[list[str], list[str]]:
        """The runner's own log stands in the files of its ranks."""
        return [f"step {k} done\n" for k in range(0, self.steps, 10)], []

    def _rank_log(self, rank: int) -> str:
        run = {"event": "run", "rank": rank, "framework": "pytorch", "devices": self.ranks, "global_batch_size": 8}
        if self.names_job:
            run["job_id"] = self.id
        events = [run | {"time": self._epoch(self.first)}] + [
            {
                "event": "step", "rank": rank, "phase": "train", "step": k, "step_s": self.took(),
                "time": self._epoch(self.at(k)) + self.chance.uniform(0, 0.1),
            }
            for k in range(1, self.steps + 1)
        ]  # fmt: skip
        return "".join(f":::SCALELENS {json.dumps(event)}\n" for event in events)

    def _trace(self, rank: int) -> str:
        events = [
            {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1e6 * k * self.step_s, "dur": 900.5}
            for k in range(self.traced, self.traced + 3)
        ]
        about = {"backend": "nccl", "rank": rank, "world_size": self.ranks}
        base = int(self._epoch(self.first)) * 10**9
        return json.dumps({"distributedInfo": about, "baseTimeNanoseconds": base, "traceEvents": events}, indent=1)

    def _power(self) -> str:
        """Samples from the start of the job to its end."""
        spacing = (self.end - self.start) / 40
        stamps = [self.start + k * spacing + ZONE for k in range(41)]
        rows = [f"0, {stamp:%Y/%m/%d %T}.000, {self.chance.uniform(90, 400):.2f} W\n" for stamp in stamps]
        return "index, timestamp, power.draw [W]\n" + "".join(rows)

    @staticmethod
    def _epoch(time: datetime) -> float:
        return time.replace(tzinfo=UTC).timestamp()


TRAINERS = tuple(name.removeprefix("_of_") for name in vars(_Job) if name.startswith("_of_"))


def write_folder(folder: Path, seed: int) -> dict[str, str]:
    """Writes the files of some jobs and of strangers into one folder.  Returns who wrote each, by its path."""
    chance = random.Random(seed)
    folder.mkdir(parents=True)
    files: list[tuple[str, str, str]] = []  # who wrote it, its name, its text
    renamed, start = chance.random() < 0.7, datetime(2026, 1, 2, 3, 4, 5)
    study = chance.choice(TRAINERS)
    for number in range(JOBS):
        trainer = study if chance.random() < 0.8 else chance.choice(TRAINERS)
        job = _Job(chance, 10 * seed + number, trainer, start + chance.uniform(0, 60) * SECOND)
        stem = (
            f"{chance.getrandbits(32):08x}"
            if renamed
            else f"slurm-{job.id}"
            if chance.random() < 0.5
            else f"run{number}"
        )
        for name, text in job.files().items():
            files.append(
                (job.id, f"{stem}.{name}" if name in ("out", "err") else _name(chance, renamed, stem, name), text)
            )
        if chance.random() < 0.85:  # the next one begins when this one has ended
            start = job.end
    files += _strangers(chance, start)
    chance.shuffle(files)
    writers: dict[str, str] = {}
    for writer, name, text in files:
        if chance.random() < 0.25:
            text = text[: int(len(text) * chance.uniform(0.1, 1))]
        elif chance.random() < 0.05:
            text = text[int(len(text) * chance.uniform(0, 0.9)) :]
        path = folder / name
        path.write_text(text)
        writers[str(path)] = writer
    return writers


def _name(chance: random.Random, renamed: bool, stem: str, name: str) -> str:
    """The name of a file that is not an output of the job: it may have lost all that it said."""
    suffix = name.rpartition(".")[2]
    return f"{chance.getrandbits(48):012x}.{suffix}" if renamed and chance.random() < 0.3 else f"{stem}_{name}"


def _strangers(chance: random.Random, start: datetime) -> list[tuple[str, str, str]]:
    """Files of other jobs, on other days: power, a job that failed early, a trace."""
    other = _Job(chance, 7, "titan", start + timedelta(days=chance.choice([-3, 2, 30])))
    failed = "[rank0]: Traceback (most recent call last):\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB.\n"
    kinds = {"old_power.csv": other._power(), "crash.log": failed, "old.out": other.files()["out"], "env.err": failed}
    writers = {"crash.log": "one stranger", "env.err": "another stranger"}
    return [(writers.get(name, "stranger"), name, text) for name, text in kinds.items() if chance.random() < 0.3]


def joined(home: Path, folders: dict[Path, dict[str, str]]) -> tuple[Shares, list[set[str]]]:
    """Reads folders, and says what became of their files; and the runs with files of several writers."""
    ingest([*folders], home)
    live = Warehouse(home).live()
    writers = {path: (folder, writer) for folder, of_files in folders.items() for path, writer in of_files.items()}
    most: dict[tuple[Path, str], int] = {}
    files: set[str] = set()
    mixed: list[set[str]] = []
    for run in runs_of(live):
        paths = {part.path for part in run.parts}
        files |= paths
        if len({writers[path] for path in paths}) > 1:
            mixed.append(paths)
        else:
            writer = writers[paths.copy().pop()]
            most[writer] = max(most.get(writer, 0), len(paths))
    return Shares(len(files), len(set().union(*mixed)), sum(most.values())), mixed
