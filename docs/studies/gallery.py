"""Writes logs for examples of queries that the demo cannot give: `python docs/studies/gallery.py FOLDER`.

The gallery takes them for the charts that need what no published log has.  All numbers are made up.  The formats are
those of the tools: PyTorch's profiler and its snapshots of memory, `scalelens bench vision`, Megatron-LM, MLPerf, jpwr,
Zeus and nccl-tests.  The nights of a job that becomes slower are those of the study `slower`, the jobs on several nodes
those of `whose_fault`.
"""

import json
import math
import pickle
import random
import sys
from pathlib import Path

import slower
import whose_fault
from gpu_traces import write_traces

DEVICE = "NVIDIA H100 80GB HBM3"
START_S = 1_795_238_790.0
IDLE_W, BUSY_W = 110.0, 640.0
STEP_S = 0.25
STEPS, STEPS_OF_POWER = 600, 160
CHECKPOINT_AT, CHECKPOINT_S = 80, 6.0
START_UP_S = 8.0


def training_log(devices: int, batch: int, step_s: float) -> str:
    """A run without stalls; records differ by 0.4 %."""
    rng = random.Random(f"{devices} {batch}")
    return _log(devices, batch, [_step(n, batch * devices, step_s, rng) for n in range(1, STEPS + 1)])


def _step(number: int, samples: int, step_s: float, rng: random.Random) -> dict[str, object]:
    seconds = round(step_s * rng.gauss(1, 0.004), 6)
    return {"event": "step", "phase": "train", "epoch": 0, "step": number, "step_s": seconds, "samples": samples}


def _log(devices: int, batch: int, events: list[dict[str, object]], **facts: object) -> str:
    nodes = -(-devices // 4)
    run = {
        "event": "run", "framework": "pytorch", "framework_version": "2.6.0", "model": "resnet50", "precision": "bf16",
        "dataset": "imagenet", "image_size": 224, "scaling": "weak", "micro_batch_size": batch,
        "global_batch_size": batch * devices, "nodes": nodes, "devices": devices, "devices_per_node": min(devices, 4),
        "device_model": DEVICE, "device_unit": "gpu", "epochs": 1, "warmup_steps": 0, **facts,
    }  # fmt: skip
    return "".join(f":::SCALELENS {json.dumps({**event, 'rank': 0})}\n" for event in [run, *events])


def energy(devices: int, watt_hours: float) -> str:
    """What jpwr reports of each device."""
    return ",0\n" + "".join(f"pynvml:{n},{watt_hours * (1 + 0.01 * (n % 3 - 1)):.5f}\n" for n in range(devices))


def power(folder: Path) -> None:
    """A run with a checkpoint in its middle, and the power of its four devices, ten times a second."""
    rng, time_s, busy = random.Random(1), START_S + START_UP_S, []
    events: list[dict[str, object]] = []
    for number in range(1, STEPS_OF_POWER + 1):
        step = _step(number, 1024, STEP_S, rng)
        busy.append((time_s, time_s + float(str(step["step_s"]))))
        time_s = busy[-1][1]
        events.append({**step, "time": round(time_s, 3)})
        if number == CHECKPOINT_AT:
            time_s += CHECKPOINT_S
            events.append({
                "event": "phase", "phase": "checkpoint", "step": number, "span_s": CHECKPOINT_S,
                "time": round(time_s, 3),
            })  # fmt: skip
    (folder / "train.log").write_text(_log(4, 256, events, model="resnet101", time=START_S))
    lines = [",timestamps," + ",".join(f"pynvml:{device}" for device in range(4))]
    level = [IDLE_W] * 4
    for sample in range(int((time_s + 5 - START_S) * 10)):
        now_s = START_S + sample / 10
        target = BUSY_W if any(begin <= now_s < end for begin, end in busy) else IDLE_W
        level = [w + 0.5 * (target * (1 - 0.03 * (device == 2)) - w) for device, w in enumerate(level)]
        lines.append(f"{sample},{now_s},{','.join(f'{w + rng.gauss(0, 6):.3f}' for w in level)}")
    (folder / "power.csv").write_text("\n".join(lines) + "\n")


def power_limits() -> str:
    """Zeus's windows of the same work under each limit: time grows where the limit binds, power falls with it."""
    lines, now_s = ["start_time,window_name,elapsed_time,gpu0_energy"], 1_000_000.0
    for limit in range(700, 150, -50):
        watts = min(limit - 5.0, BUSY_W)
        span_s = 20 * (0.75 + 0.25 * (BUSY_W / watts) ** 1.8)
        lines.append(f"{now_s:.6f},__GlobalPowerLimitOptimizer_{limit},{span_s:.6f},{watts * span_s:.3f}")
        now_s += span_s + 6
    return "\n".join([*lines, ""])


def collectives(devices: int) -> str:
    """nccl-tests of two collectives; the link is slower between nodes than within one."""
    rng, text = random.Random(devices), ""
    latency_us, link = (22.0, 380e3) if devices == 8 else (48.0, 190e3)  # bytes per microsecond
    for test, factor in (("all_reduce", 2 * (devices - 1) / devices), ("all_gather", (devices - 1) / devices)):
        text += "# nccl-tests version 2.17.8 nccl-headers=22809 nccl-library=22809\n"
        text += f"# Collective test starting: {test}_perf\n# nThread 1 nGpus 1 minBytes 1024 maxBytes 8589934592\n"
        text += "# Using devices\n" + "".join(
            f"#  Rank {n:2} Group  0 Pid   {7000 + n} on node{n // 8:03} device {n % 8:2} [0000:{n % 8}b:00] {DEVICE}\n"
            for n in range(devices)
        )
        text += (
            f"#\n#{'out-of-place':>73}{'in-place':>25}\n"
            "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   "
            "busbw  #wrong\n#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            "
            " (us)  (GB/s)  (GB/s)\n"
        )
        for size in (2**power for power in range(10, 34)):
            text += f"{size:12} {size // 4:13}     float     {'sum' if test == 'all_reduce' else 'none'}      -1"
            for place in (1.0, 0.93):
                time_us = (latency_us * place + size * factor / link) * rng.gauss(1, 0.01)
                rate = size / time_us / 1e3
                text += f" {time_us:8.2f} {rate:7.2f} {rate * factor:7.2f}       0"
            text += "\n"
        text += f"# Out of bounds values : 0 OK\n#\n# Collective test concluded: {test}_perf\n"
    return text


class Memory:
    """The caching allocator of PyTorch, which keeps what it has reserved."""

    def __init__(self) -> None:
        self.history: list[dict[str, object]] = []
        self.held: dict[int, int] = {}  # bytes by address
        self.next = self.reserved = 0

    def note(self, action: str, address: int, size: int, site: str) -> None:
        frames = [{"filename": f"/home/user/{site.split(':')[0]}", "line": int(site.split(":")[1]), "name": "forward"}]
        self.history.append({
            "action": action, "addr": address, "size": size, "stream": 0, "frames": frames,
            "time_us": int(START_S * 1e6) + 900 * len(self.history),
        })  # fmt: skip

    def allocate(self, size: int, site: str) -> int:
        if sum(self.held.values()) + size > self.reserved:
            self.note("segment_alloc", self.reserved, size, site)
            self.reserved += size
        self.next += size
        self.held[self.next] = size
        self.note("alloc", self.next, size, site)
        return self.next

    def free(self, address: int) -> None:
        for action in ("free_requested", "free_completed"):
            self.note(action, address, self.held[address], "train.py:60")
        del self.held[address]


def memory_snapshot() -> dict[str, object]:
    """Four steps of a model of twelve layers; the optimizer allocates its state in the first."""
    memory = Memory()
    for _ in range(12):
        memory.allocate(400 << 20, "model.py:20")
    for step in range(4):
        saved = [memory.allocate((300 << 20) + 4096 * layer, "model.py:48") for layer in range(12)]
        logits = memory.allocate(1200 << 20, "train.py:52")
        gradients = []
        for address in reversed(saved):
            gradients.append(memory.allocate(400 << 20, "train.py:60"))
            memory.free(address)
        memory.free(logits)
        for _ in range(24 if step == 0 else 0):
            memory.allocate(400 << 20, "train.py:64")
        for address in gradients:
            memory.free(address)
    blocks = [{"address": address, "size": size, "requested_size": size, "state": "active_allocated", "frames": []}
              for address, size in memory.held.items()]  # fmt: skip
    free = memory.reserved - sum(memory.held.values())
    blocks.append({"address": memory.next + 1, "size": free, "requested_size": 0, "state": "inactive", "frames": []})
    segment = {"device": 0, "address": 0, "total_size": memory.reserved, "segment_type": "large", "stream": 0}
    return {"segments": [{**segment, "blocks": blocks}], "device_traces": [memory.history]}


def serving() -> str:
    """A rank of a serving engine: prompts of 2048 tokens now and then, and requests that generate in between.

    Its kernels are left out: other pictures show those of one run.
    """
    rng, events, time_us = random.Random(3), [], 0.0
    for number in range(120):
        prompts, requests = (1 if number % 6 == 0 else 0), 24 + number % 8
        requests = 0 if number % 30 == 0 else requests
        name = f"execute_context_{prompts}({2048 * prompts})_generation_{requests}({requests})"
        length_us = (14_000 * prompts + (9_000 + 40 * requests if requests else 0)) * rng.gauss(1, 0.02)
        common = {"ph": "X", "ts": round(time_us, 3), "name": name, "args": {"External id": number}}
        events += [
            {**common, "cat": "user_annotation", "pid": 100, "tid": 100, "dur": 900.0},
            {**common, "cat": "gpu_user_annotation", "pid": 0, "tid": 7, "dur": round(length_us, 3)},
        ]
        time_us += length_us + 600
    return json.dumps({"schemaVersion": 1, "distributedInfo": {"rank": 0, "world_size": 1}, "traceEvents": events})


def result(devices: int, seed: int) -> str:
    """A result of MLPerf's BERT: an evaluation every so many samples, until the accuracy reaches 0.72."""
    rng, time_s, accuracy, lines = random.Random(f"{devices} {seed}"), 0.0, 0.33, []

    def log(key: str, value: object = None, **about: object) -> None:
        record = {"time_ms": round(1000 * (START_S + time_s)), "key": key, "value": value, "metadata": about}
        lines.append(f":::MLLOG {json.dumps(record)}")

    for key, value in (("submission_benchmark", "bert"), ("submission_org", "made up"), ("number_of_ranks", devices),
                       ("global_batch_size", 48 * devices), ("seed", seed)):  # fmt: skip
        log(key, value)
    log("run_start")
    for number in range(1, 100):
        time_s += 160 / devices**0.9 * rng.gauss(1, 0.01)
        accuracy += (0.727 - accuracy) * rng.uniform(0.25, 0.35)
        log("eval_accuracy", accuracy, epoch_num=150_000 * number)
        if accuracy >= 0.72:
            break
    log("run_stop", status="success")
    return "\n".join([*lines, ""])


def main(folder: Path) -> None:
    logs = {f"sizes/n{n}": (n, 256, STEP_S * (1 + 0.05 * math.log2(n / 4))) for n in (4, 8, 16, 32, 64)}
    logs |= {f"batches/b{b}": (4, b, 0.02 + STEP_S * b / 256) for b in (16, 32, 64, 128)}
    for name, (devices, batch, step_s) in logs.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "train.log").write_text(training_log(devices, batch, step_s))
        watts = IDLE_W + (BUSY_W - IDLE_W) * STEP_S * batch / 256 / step_s
        (folder / name / "energy.csv").write_text(energy(devices, watts * step_s * STEPS / 3600))
    (folder / "power").mkdir()
    power(folder / "power")
    (folder / "limits").mkdir()
    (folder / "limits" / "resnet50.csv").write_text(power_limits())
    (folder / "collectives").mkdir()
    for devices in (8, 16):
        (folder / "collectives" / f"gpus{devices}.log").write_text(collectives(devices))
    write_traces(folder / "traces")
    (folder / "serving").mkdir()
    (folder / "serving" / "rank0.json").write_text(serving())
    (folder / "memory").mkdir()
    (folder / "memory" / "rank0_memory.pickle").write_bytes(pickle.dumps(memory_snapshot()))
    for devices in (8, 16, 32, 64):
        (folder / "mlperf" / f"n{devices}").mkdir(parents=True)
        for seed in range(1, 6):
            (folder / "mlperf" / f"n{devices}" / f"result_{seed}.txt").write_text(result(devices, seed))
    slower.main(folder / "nights")
    whose_fault.main(folder / "jobs")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
