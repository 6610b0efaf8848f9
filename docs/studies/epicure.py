"""Writes the stand-in logs of the EPICURE study: `python docs/studies/epicure.py FOLDER`.

The guide's logs are not published, and its figures print no numbers.  From the guide (version 1.0, 2026-05-29) are the
sizes, the batches, the images of an epoch, the efficiencies of language on LUMI at 32 times the base, and what the text
says of the shapes: which runs have a tail, and where it begins.  All times are made up.  The vision logs are in the
format of `scalelens bench vision`, those of language in Megatron's.
"""

import json
import random
import sys
from pathlib import Path

from megatron_log import megatron_log

IMAGES = 1_281_167
BATCH = 256  # of a GPU with 64 GiB
NODE = 8  # GPUs of a node of LUMI
EPOCHS = 5
NODES = (1, 2, 4, 8, 16, 32, 64)
STEP_S = {"fp32": 0.50, "amp": 0.28}
# of the first batch of an epoch: the guide's epochs lose more with the full data, whose images are larger
LOADING_S = {"imagenet-1k": 2.0, "tiny-imagenet-200": 0.5}
VALIDATION_S = 0.6  # beside its share of the work
DATASETS = {"imagenet-1k": 1.0, "tiny-imagenet-200": 0.3}  # the slowdown of a slow batch, relative to the full data


def slow_share(precision: str, doublings: int) -> float:
    """Share of the batches that are slow: more on more nodes, none on 64, half and more with AMP on 2 to 8 nodes."""
    if doublings == 6:
        return 0.0
    return 0.6 if precision == "amp" and doublings in (1, 2, 3) else 0.08 + 0.06 * doublings


def vision(precision: str, dataset: str, nodes: int) -> str:
    devices, doublings = nodes * NODE, nodes.bit_length() - 1
    rng = random.Random(f"{precision} {dataset} {nodes}")
    step_s = STEP_S[precision] * (1 + 0.012 * doublings / STEP_S[precision] * STEP_S["fp32"])
    share = slow_share(precision, doublings) if dataset == "imagenet-1k" else 0.05
    batches = -(-IMAGES // (BATCH * devices))
    settings = {
        "framework": "pytorch", "model": "resnet50", "precision": precision, "dataset": dataset, "image_size": 224,
        "scaling": "weak", "micro_batch_size": BATCH, "global_batch_size": BATCH * devices, "nodes": nodes,
        "devices": devices, "devices_per_node": NODE, "device_model": "AMD Instinct MI250X", "device_unit": "gcd",
        "steps_per_epoch": batches, "epochs": EPOCHS, "warmup_steps": 0,
    }  # fmt: skip
    events: list[dict[str, object]] = [{"event": "run", **settings}]
    for epoch in range(EPOCHS):
        train_s = 0.0
        for batch in range(batches):
            time_s = rng.gauss(step_s, step_s * 0.004)
            if rng.random() < share:
                time_s += rng.expovariate(1 / (0.12 * DATASETS[dataset]))
            time_s += LOADING_S[dataset] if batch == 0 else 0
            train_s += time_s
            step = epoch * batches + batch + 1
            events.append({
                "event": "step", "phase": "train", "epoch": epoch, "step": step, "step_s": round(time_s, 6),
                "samples": BATCH * devices,
            })  # fmt: skip
        validation_s = VALIDATION_S + 0.01 * step_s * batches
        for phase, span_s in (("train", train_s), ("validation", validation_s), ("epoch", train_s + validation_s)):
            events.append({
                "event": "phase", "phase": phase, "epoch": epoch, "step": (epoch + 1) * batches,
                "span_s": round(span_s, 6), "samples": 50_000 if phase == "validation" else IMAGES,
            })  # fmt: skip
    return "".join(f":::SCALELENS {json.dumps({**event, 'rank': 0})}\n" for event in events)


# model, scaling: shape, GPUs of a copy, base TFLOP/s of a GPU (made up), efficiency at 32 times the base, and the power
# of the doublings with which it falls (made up: strong scaling loses less at first, as the guide says)
LANGUAGE = {
    ("175b", "weak"): ((96, 12288, 96), 128, 55.0, 0.81, 2),
    ("175b", "strong"): ((96, 12288, 96), 128, 57.0, 0.45, 4),
    ("857m", "weak"): ((24, 1636, 4), 1, 34.0, 0.97, 2),
    ("857m", "strong"): ((24, 1636, 4), 1, 34.5, 0.83, 4),
}
SMALLEST = {"175b": 128, "857m": 8}
FIXED_BATCH = {"175b": 1536, "857m": 512}
OF_A_COPY = {"175b": 192, "857m": 16}  # micro-batches, with weak scaling


def language(model: str, scaling: str, doublings: int) -> tuple[int, str]:
    """GPUs and the log: the efficiency falls faster and faster, to the guide's value at 32 times the base."""
    (layers, hidden, heads), copy, base_tflops, last, power = LANGUAGE[model, scaling]
    devices = SMALLEST[model] * 2**doublings
    batch = FIXED_BATCH[model] if scaling == "strong" else OF_A_COPY[model] * devices // copy
    tflops = base_tflops * (1 - (1 - last) * (doublings / 5) ** power)
    arguments = {
        "num_layers": layers, "hidden_size": hidden, "num_attention_heads": heads, "seq_length": 2048, "fp16": True,
        "padded_vocab_size": 50304, "micro_batch_size": 1, "global_batch_size": batch,
    }  # fmt: skip
    parameters = 12 * layers * hidden**2
    step_s = 6 * parameters * batch * 2048 / (tflops * 1e12 * devices)
    return devices, megatron_log(arguments, devices, (8, 16) if copy > 1 else (1, 1), step_s, tflops)


def main(folder: Path) -> None:
    logs = {
        f"vision/{dataset}/{precision}-n{nodes}": vision(precision, dataset, nodes)
        for precision in STEP_S
        for dataset in DATASETS
        for nodes in NODES
    }
    for model, scaling in LANGUAGE:
        for doublings in range(6):
            devices, log = language(model, scaling, doublings)
            logs[f"language/{model}/{scaling}/n{devices // NODE}"] = log
    for name, log in logs.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "train.log").write_text(log)
    facts = '[facts]\nsystem = "lumi"\ndevice_unit = "gcd"\ndevice_model = "AMD Instinct MI250X"\n'
    (folder / "scalelens.toml").write_text(facts)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
