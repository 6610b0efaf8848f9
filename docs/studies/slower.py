"""Writes the logs of a job that runs every night and becomes slower: `python docs/studies/slower.py FOLDER`.

All of it is made up.  From the eleventh night on another version of PyTorch is there, and each step waits longer for
data.  Nights differ by 1 %, as repeats of a job do.  The logs are in the format of `scalelens bench vision`.
"""

import json
import random
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

NIGHTS = 14
FIRST_SLOW = 11
STEPS = 120
BATCH = 256  # of a GPU
DEVICES = 8
COMPUTE_S = 0.230
WAIT_S, LONGER_WAIT_S = 0.004, 0.020
BETWEEN_NIGHTS = 0.01
BETWEEN_STEPS = 0.005
FIRST_NIGHT = datetime(2026, 11, 2, 1, 30, tzinfo=UTC)


def log(night: int) -> str:
    """The log of one night, from 1."""
    rng = random.Random(night)
    is_slow = night >= FIRST_SLOW
    level = rng.gauss(1, BETWEEN_NIGHTS)
    time = FIRST_NIGHT + timedelta(days=night - 1)
    events: list[dict[str, object]] = [{
        "event": "run", "framework": "pytorch", "framework_version": "2.6.0" if is_slow else "2.5.1",
        "model": "resnet50", "precision": "bf16", "dataset": "imagenet", "image_size": 224, "scaling": "weak",
        "micro_batch_size": BATCH, "global_batch_size": BATCH * DEVICES, "nodes": 2, "devices": DEVICES,
        "devices_per_node": DEVICES // 2, "device_model": "NVIDIA A100", "device_unit": "gpu", "epochs": 1,
        "warmup_steps": 0, "time": time.timestamp(),
    }]  # fmt: skip
    for step in range(1, STEPS + 1):
        wait_s = (LONGER_WAIT_S if is_slow else WAIT_S) * rng.gauss(1, 0.1)
        step_s = COMPUTE_S * level * rng.gauss(1, BETWEEN_STEPS) + wait_s
        time += timedelta(seconds=step_s)
        events.append({
            "event": "step", "phase": "train", "epoch": 0, "step": step, "step_s": round(step_s, 6),
            "data_s": round(wait_s, 6), "samples": BATCH * DEVICES, "time": time.timestamp(),
        })  # fmt: skip
    return "".join(f":::SCALELENS {json.dumps({**event, 'rank': 0})}\n" for event in events)


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for night in range(1, NIGHTS + 1):
        (folder / f"night-{night:02}.log").write_text(log(night))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
