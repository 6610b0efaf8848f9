"""Speed and memory of `scalelens ingest` on logs of Megatron, DeepSpeed (its pipeline engine, or its
throughput timer) or pytorch/examples, as ratios within one run.

    python benchmarks/ingest.py [--tool megatron|deepspeed|timer|imagenet] [--megabytes 250] [--files 8] [--rounds 3]
    python benchmarks/ingest.py [--tool ...] --small 4000 [--rounds 3]
    python benchmarks/ingest.py --mlperf FOLDER [--rounds 3]

Bound: a single-threaded Python script that reads the lines, finds the records and extracts every field as a number.
With --small, so many logs of 24 KB are read instead.  The bound then opens and hashes each of them, too, and what one
log alone takes is the start, which is left out of the cost of a file.  With --mlperf, a folder of MLPerf's results is
read; its bound decodes each `:::MLLOG` line with `json.loads`, and nothing else.  On a machine that others use, the
seconds of the processor tell more than those of the clock.
Prints one JSON object; the README quotes it with date and machine.
"""

import argparse
import contextlib
import hashlib
import json
import os
import platform
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

RECORD = (
    " [2026-01-02 03:{m:02d}:{s:02d}.{u:06d}] iteration {i:8d}/ 9000000 | consumed samples: {c:12d} | elapsed time per iteration (ms): {e:.1f}"
    " | throughput per GPU (TFLOP/s/GPU): {t:.1f} | learning rate: 2.991000E-04 | global batch size:   512 | lm loss: {l:.6E}"
    " | loss scale: 1.0 | grad norm: {g:.3f} | number of skipped iterations:   0 | number of nan iterations:   0 |\n"
)
NOISE = (
    "jwb0{k:03d}:21{k:03d}:21{k:03d} [{r}] NCCL INFO Channel {k:02d}/0 : {r}[{r}] -> {k}[{r}] via P2P/CUMEM/read\n",
    "[rank{r}]:[W102 03:04:05.678901 ProcessGroupNCCL.cpp:4115] Warning: using GPU {r} to perform barrier as devices are unknown.\n",
    " > loading shuffle-idx mapping from /data/indexmap/train_indexmap_{k}_document_shuffle_idx.npy\n",
    "    total number of samples: 1{k:06d}\n",
)
STEPS = "steps: {i} loss: {l:.4f} lm_loss: {m:.4f} iter time (s): {e:.3f} samples/sec: {r:.3f}\n"
TIMER = (
    "[2023-04-18 03:{m:02d}:{s:02d},{u:03d}] [INFO] [logging.py:96:log_dist] [Rank 0] step={i}, skipped={k}, lr=[{lr!r}, {lr!r}], mom=[(0.9, 0.95), (0.9, 0.95)]\n"
    "[2023-04-18 03:{m:02d}:{s:02d},{u:03d}] [INFO] [timer.py:199:stop] epoch={e}/micro_step={i}/global_step={i}, RunningAvgSamplesPerSec={a!r}, "
    "CurrSamplesPerSec={r!r}, MemAllocated=4.34GB, MaxMemAllocated=12.81GB\n"
)
EPOCH = 5000  # batches
SMALL_BYTES = 24_000
BATCH = (
    "Epoch: [{epoch}][{batch:4d}/5000]\tTime {time:6.3f} ({time:6.3f})\tData  0.001 ( 0.002)\tLoss {loss:.4e} ({loss:.4e})"
    "\tAcc@1  {top1:5.2f} ({top1:6.2f})\tAcc@5  {top5:5.2f} ({top5:6.2f})\n"
)


def batch_of_imagenet(number: int, rng: random.Random) -> str:
    epoch, batch = divmod(number, EPOCH)
    return BATCH.format(
        epoch=epoch, batch=batch, time=rng.gauss(0.3, 0.01), loss=rng.uniform(2, 3), top1=rng.uniform(10, 70),
        top5=rng.uniform(40, 90),
    )  # fmt: skip


def record_of_megatron(number: int, rng: random.Random) -> str:
    step = number + 1
    return RECORD.format(
        i=step, c=step * 512, e=rng.gauss(1400, 20), t=rng.gauss(300, 5), l=rng.uniform(2, 3), g=rng.uniform(0, 1),
        m=step // 60 % 60, s=step % 60, u=rng.randrange(10**6),
    )  # fmt: skip


def record_of_deepspeed(number: int, rng: random.Random) -> str:
    seconds, loss = rng.gauss(1.4, 0.02), rng.uniform(2, 3)
    return STEPS.format(i=10 * (number + 1), l=loss, m=loss - 0.1, e=seconds, r=512 / seconds)


def record_of_timer(number: int, rng: random.Random) -> str:
    step = 10 * (number + 1)
    return TIMER.format(
        i=step, k=step // 5000, e=step // 50_000, lr=5e-05 * (1 - step / 1e8), a=rng.gauss(265, 0.1), r=rng.gauss(265, 5),
        m=step // 600 % 60, s=step // 10 % 60, u=rng.randrange(1000),
    )  # fmt: skip


START = re.compile(r"iteration\s+(\d+)\s*/\s*(\d+) \|")
BATCH_START = re.compile(r"Epoch: \[(\d+)\]\[\s*(\d+)/(\d+)\]")
METER = re.compile(r"([A-Za-z]\S*)\s+([\d.e+-]+)\s+\(\s*([\d.e+-]+)\)")


def plain_imagenet(path: Path) -> int:
    """The bound: what a researcher's script does, every meter of every batch as two numbers."""
    records = []
    with path.open() as log:
        for line in log:
            if match := BATCH_START.match(line):
                record = {"epoch": float(match[1]), "batch": float(match[2])}
                for name, value, mean in METER.findall(line, match.end()):
                    record[name], record[f"{name} mean"] = float(value), float(mean)
                records.append(record)
    return len(records)


def plain_megatron(path: Path) -> int:
    """The bound: what a researcher's script does, every field of every record as a number."""
    records = []
    with path.open() as log:
        for line in log:
            if "elapsed time per iteration" in line and (match := START.search(line)):
                record = {"iteration": float(match[1]), "of": float(match[2])}
                for field in line[match.end() :].split("|"):
                    key, colon, value = field.rpartition(":")
                    if colon:
                        record[key.strip()] = float(value)
                records.append(record)
    return len(records)


STEPS_FIELD = re.compile(r"([\w./-]+(?: time \(s\))?): ([\d.e+-]+)")


def plain_deepspeed(path: Path) -> int:
    """The bound: what a researcher's script does, every number of every record."""
    records = []
    with path.open() as log:
        for line in log:
            if "iter time (s): " in line and line.startswith("steps: "):
                records.append({key: float(value) for key, value in STEPS_FIELD.findall(line)})
    return len(records)


TIMER_FIELD = re.compile(r"(\w+)=([\d.e+-]+)")
RATES = re.compile(r"lr=\[([^\]]*)\]")


def plain_timer(path: Path) -> int:
    """The bound: what a researcher's script does, every number of every record and the learning rates above it."""
    records = []
    record: dict[str, object] = {}
    with path.open() as log:
        for line in log:
            if ", skipped=" in line and (rates := RATES.search(line)):
                record = {key: float(value) for key, value in TIMER_FIELD.findall(line)}
                record["lr"] = [float(rate) for rate in rates[1].split(",")]
            elif "SamplesPerSec=" in line:
                record |= {key: float(value) for key, value in TIMER_FIELD.findall(line)}
                records.append(record)
    return len(records)


class Tool(NamedTuple):
    """What a tool prints, and the bound for its logs."""

    record: Callable[[int, random.Random], str]
    noise: int  # lines of something else behind each record
    plain_script: Callable[[Path], int]


TOOLS = {
    "megatron": Tool(record_of_megatron, 8, plain_megatron),
    "deepspeed": Tool(record_of_deepspeed, 2, plain_deepspeed),
    "timer": Tool(record_of_timer, 4, plain_timer),
    "imagenet": Tool(batch_of_imagenet, 0, plain_imagenet),
}


def write_log(path: Path, tool: Tool, megabytes: int, seed: int) -> None:
    rng = random.Random(seed)
    size = number = 0
    with path.open("w") as log:
        while size < megabytes * 1_000_000:
            lines = [tool.record(number, rng)]
            lines += [rng.choice(NOISE).format(k=rng.randrange(999), r=rng.randrange(8)) for _ in range(tool.noise)]
            size += log.write("".join(lines))
            number += 1


def write_small(folder: Path, tool: Tool, files: int) -> None:
    """A log, cut into many small ones."""
    whole = folder / "whole"
    write_log(whole, tool, files * SMALL_BYTES // 1_000_000 + 1, 0)
    with whole.open() as log:
        for k in range(files):
            (folder / f"{k}.log").write_text("".join(log.readlines(SMALL_BYTES)))
    whole.unlink()


def plain_small(folder: Path, plain_script: Callable[[Path], int]) -> int:
    """The bound of small logs: each is opened, hashed and read by the script."""
    records = 0
    for path in sorted(folder.iterdir()):
        hashlib.sha256(path.read_bytes()).hexdigest()
        records += plain_script(path)
    return records


def plain_mlperf(folder: Path) -> int:
    """The bound of MLPerf's results: each record decoded, those of one file kept at once."""
    count = 0
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            records = []
            with path.open(errors="replace") as log:
                for line in log:
                    if (tag := line.find(":::MLLOG")) >= 0:
                        with contextlib.suppress(ValueError):
                            records.append(json.loads(line[tag + len(":::MLLOG") :]))
            count += len(records)
    return count


def command(*arguments: str) -> tuple[float, float, float]:
    """Seconds, peak resident megabytes, and seconds of the processor, of one Python process."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}  # modules are compiled once, as for any user
    before = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
    )
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - before
    assert status == 0, arguments
    megabytes = usage.ru_maxrss / (1024 if sys.platform == "linux" else 1024**2)
    return seconds, megabytes, usage.ru_utime + usage.ru_stime


def least_cpu(measured: list[tuple[float, float, float]]) -> float:
    return min(cpu for _, _, cpu in measured)


def machine() -> str:
    return f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"


def small_logs(tool: str, files: int, rounds: int) -> dict[str, object]:
    """Processor time of a small log, beyond what one log alone takes."""
    with tempfile.TemporaryDirectory() as scratch:
        many, one, warehouse = (Path(scratch) / name for name in ("many", "one", "w"))
        many.mkdir()
        one.mkdir()
        write_small(many, TOOLS[tool], files)
        size = sum(path.stat().st_size for path in many.iterdir())
        shutil.copy(many / "0.log", one)
        bound: dict[Path, list[tuple[float, float, float]]] = {many: [], one: []}
        ours: dict[Path, list[tuple[float, float, float]]] = {many: [], one: []}
        for _ in range(rounds):
            for folder in (many, one):
                bound[folder].append(command(__file__, "--tool", tool, "--plain", str(folder)))
                shutil.rmtree(warehouse, ignore_errors=True)
                ours[folder].append(
                    command("-m", "scalelens", "ingest", str(folder), "-w", str(warehouse), "--jobs", "1")
                )
    plain_s, ours_s = (least_cpu(of[many]) - least_cpu(of[one]) for of in (bound, ours))
    return {
        "machine": machine(), "tool": tool, "small_logs": files, "kilobytes_of_one": round(size / files / 1000, 1),
        "start_cpu_s": round(least_cpu(ours[one]), 2), "all_cpu_s": round(least_cpu(ours[many]), 2),
        "plain_script_cpu_ms_a_log": round(plain_s / (files - 1) * 1000, 2),
        "ingest_cpu_ms_a_log": round(ours_s / (files - 1) * 1000, 2),
        "ingest_over_plain_script_cpu": round(ours_s / plain_s, 2),
    }  # fmt: skip


def mlperf(folder: Path, rounds: int) -> dict[str, object]:
    """Processor time of a folder of MLPerf's results, start included."""
    bound, ours = [], []
    with tempfile.TemporaryDirectory() as scratch:
        warehouse = Path(scratch) / "w"
        for _ in range(rounds):
            bound.append(command(__file__, "--mlperf", str(folder), "--plain", str(folder)))
            shutil.rmtree(warehouse, ignore_errors=True)
            ours.append(command("-m", "scalelens", "ingest", str(folder), "-w", str(warehouse), "--jobs", "1"))
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {
        "machine": machine(), "mlperf": folder.name, "files": len(files),
        "megabytes": round(sum(path.stat().st_size for path in files) / 1e6),
        "json_loads_cpu_s": round(least_cpu(bound), 2), "ingest_cpu_s": round(least_cpu(ours), 2),
        "ingest_over_json_loads_cpu": round(least_cpu(ours) / least_cpu(bound), 2),
        "peak_memory_mb": round(max(peak for _, peak, _ in ours)),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", choices=TOOLS, default="megatron")
    parser.add_argument("--megabytes", type=int, default=250)
    parser.add_argument("--files", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--small", type=int, metavar="FILES", help="read so many logs of 24 KB instead")
    parser.add_argument("--mlperf", type=Path, metavar="FOLDER", help="read a folder of MLPerf's results instead")
    parser.add_argument("--plain", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    tool = TOOLS[options.tool]
    if options.mlperf:
        of_folder = plain_mlperf(options.plain) if options.plain else mlperf(options.mlperf, options.rounds)
        print(json.dumps(of_folder, indent=1))
        return
    if options.plain:
        script = tool.plain_script
        print(plain_small(options.plain, script) if options.plain.is_dir() else script(options.plain))
        return
    if options.small:
        print(json.dumps(small_logs(options.tool, options.small, options.rounds), indent=1))
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "logs"
        folder.mkdir()
        for k in range(options.files):
            write_log(folder / f"run{k}.log", tool, options.megabytes, k)
        one, warehouse = folder / "run0.log", Path(scratch) / "w"
        bound, ours, alone, both = [], [], [], []
        for _ in range(options.rounds):
            bound.append(command(__file__, "--tool", options.tool, "--plain", str(one)))
            shutil.rmtree(warehouse, ignore_errors=True)
            ours.append(command("-m", "scalelens", "ingest", str(one), "-w", str(warehouse), "--jobs", "1"))
        for jobs, times in ((1, alone), (2, both)):
            shutil.rmtree(warehouse, ignore_errors=True)
            times.append(
                command("-m", "scalelens", "ingest", str(folder), "-w", str(warehouse), "--jobs", str(jobs))[0]
            )
        rows = subprocess.run(
            [sys.executable, "-m", "scalelens", "sql", "SELECT count(*) FROM steps", "-w", str(warehouse), "--format", "csv"],
            capture_output=True, text=True, check=True,
        ).stdout.split()[-1]  # fmt: skip
    print(json.dumps({
        "machine": machine(),
        "tool": options.tool, "megabytes": options.megabytes, "steps_of_all_files": int(rows),
        "plain_script_s": round(min(bound)[0], 2), "ingest_s": round(min(ours)[0], 2),
        "ingest_over_plain_script": round(min(ours)[0] / min(bound)[0], 2),
        "plain_script_cpu_s": round(least_cpu(bound), 2), "ingest_cpu_s": round(least_cpu(ours), 2),
        "ingest_over_plain_script_cpu": round(least_cpu(ours) / least_cpu(bound), 2),
        "peak_memory_mb": round(max(peak for _, peak, _ in ours)),
        "files": options.files, "two_processes_over_one": round(min(both) / min(alone), 2),
    }, indent=1))  # fmt: skip


if __name__ == "__main__":
    main()
