"""Writes stand-in logs of two other systems of the EPICURE guide: `python docs/studies/epicure_systems.py FOLDER`.

From the guide (version 1.0, 2026-05-29) are the efficiencies that its text prints for Leonardo and MareNostrum 5, the
sizes, the batches, and the TFLOP/s of a GPU of MareNostrum 5.  All times are made up.
"""

import json
import sys
from pathlib import Path

from megatron_log import megatron_log

IMAGES = 1_281_167
BATCH = 256  # of a GPU with 64 GiB
NODE = 4  # GPUs of a node of both systems
EPOCHS = 5
TRAINING = {True: 0.97, False: 0.96}  # share of an epoch, on one node and on more: validation has fixed costs
DEVICES = {"leonardo": "NVIDIA A100 64GB", "marenostrum5": "NVIDIA H100 64GB"}
# system, precision, data: seconds of a step, and by nodes the efficiency of the median batch and of the epoch
VISION = {
    ("leonardo", "fp32", "tiny-imagenet-200"): (0.62, {1: (1, 1), 16: (0.98, 0.90), 64: (0.97, 0.77)}),
    ("marenostrum5", "fp32", "imagenet-1k"): (0.33, {1: (1, 1), 64: (0.93, 0.60)}),
    ("marenostrum5", "amp", "imagenet-1k"): (0.16, {1: (1, 1), 64: (0.90, 0.50)}),
}
FULL_TFLOPS = 384.0  # the most that the guide prints
SMALL_TFLOPS = FULL_TFLOPS * (1 - 0.77)
# model, scaling: shape, parallelism, batch, TFLOP/s of a GPU by the number of GPUs
LANGUAGE = {
    ("175b", "weak"): ((96, 12288, 96), (8, 16), 192, {128: FULL_TFLOPS - 4, 512: (FULL_TFLOPS - 4) * 0.80}),
    ("175b", "strong"): ((96, 12288, 96), (8, 16), 1536, {128: FULL_TFLOPS, 512: FULL_TFLOPS * 0.75}),
    ("857m", "weak"): ((24, 1636, 4), (1, 1), 64, {4: SMALL_TFLOPS, 128: SMALL_TFLOPS * 0.97}),
    ("857m", "strong"): ((24, 1636, 4), (1, 1), 512, {4: SMALL_TFLOPS + 1, 128: (SMALL_TFLOPS + 1) * 0.92}),
}


def vision(key: tuple[str, str, str], nodes: int, step_s: float, epoch_s: float) -> str:
    system, precision, dataset = key
    devices = nodes * NODE
    batches, samples = -(-IMAGES // (BATCH * devices)), BATCH * devices
    settings = {
        "framework": "pytorch", "model": "resnet50", "precision": precision, "dataset": dataset, "image_size": 224,
        "scaling": "weak", "micro_batch_size": BATCH, "global_batch_size": BATCH * devices, "nodes": nodes,
        "devices": devices, "devices_per_node": NODE, "device_model": DEVICES[system], "device_unit": "gpu",
        "epochs": EPOCHS, "warmup_steps": 0,
    }  # fmt: skip
    events: list[dict[str, object]] = [{"event": "run", **settings}]
    for epoch in range(EPOCHS):
        for step in range(epoch * batches + 1, (epoch + 1) * batches + 1):
            time_s = round(step_s * (1 + 0.001 * (step % 7 - 3)), 6)
            whole = {"event": "step", "phase": "train", "epoch": epoch, "step": step, "step_s": time_s}
            events.append({**whole, "samples": samples})
        for phase, span_s in (("train", epoch_s * TRAINING[nodes == 1]), ("epoch", epoch_s)):
            end = {"event": "phase", "phase": phase, "epoch": epoch, "step": (epoch + 1) * batches}
            events.append({**end, "span_s": round(span_s, 6), "samples": IMAGES})
    return "".join(f":::SCALELENS {json.dumps({**event, 'rank': 0})}\n" for event in events)


def main(folder: Path) -> None:
    logs = {}
    for key, (step_s, sizes) in VISION.items():
        epoch_s = step_s * IMAGES / (BATCH * NODE) * 1.05
        for nodes, (of_batch, of_epoch) in sizes.items():
            log = vision(key, nodes, step_s / of_batch, epoch_s / nodes / of_epoch)
            logs[f"{key[0]}/vision/{key[1]}-n{nodes}"] = log
    for (model, scaling), ((layers, hidden, heads), (tp, pp), base_batch, rates) in LANGUAGE.items():
        smallest = min(rates)
        for devices, tflops in rates.items():
            batch = base_batch if scaling == "strong" else base_batch * devices // smallest
            arguments: dict[str, object] = {
                "num_layers": layers, "hidden_size": hidden, "num_attention_heads": heads, "seq_length": 2048,
                "fp16": True, "padded_vocab_size": 50304, "micro_batch_size": 1, "global_batch_size": batch,
            }  # fmt: skip
            step_s = 6 * 12 * layers * hidden**2 * batch * 2048 / (tflops * 1e12 * devices)
            log = megatron_log(arguments, devices, (tp, pp), step_s, tflops)
            logs[f"marenostrum5/language/{model}/{scaling}/n{devices // NODE}"] = log
    for name, log in logs.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "train.log").write_text(log)
    (folder / "scalelens.toml").write_text('templates = ["{system}/**"]\n\n[facts]\ndevice_unit = "gpu"\n')


if __name__ == "__main__":
    main(Path(sys.argv[1]))
