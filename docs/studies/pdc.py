"""Writes the stand-in logs of the PDC study: `python docs/studies/pdc.py FOLDER`.

The article on Dardel's GPUs (PDC newsletter) prints no throughput: its figures are bars.  From it are the models, the
two clusters, the precisions, ten epochs, and the order of the bars.  All throughputs are made up.  The logs are in the
format of `scalelens bench vision`.
"""

import json
import random
import sys
from pathlib import Path

EPOCHS = 10
BATCHES = 20  # of an epoch
BATCH = 64  # of a GPU
FIRST_S = 20.0  # initialisation, within the first epoch
CARDS = (1, 2, 4)
CLUSTERS = {"dardel": "AMD Instinct MI250X", "nvidia-cluster": "NVIDIA A100"}
DEVICES_OF_A_CARD = {"dardel": 2, "nvidia-cluster": 1}  # PyTorch sees each of the two chiplets of an MI250X
# model, cluster: images per second of a card in FP32 and in mixed precision
RATES = {
    ("inception_v3", "dardel"): (420, 760),
    ("inception_v3", "nvidia-cluster"): (330, 470),
    ("resnet101", "dardel"): (380, 700),
    ("resnet101", "nvidia-cluster"): (290, 560),
    ("resnet50", "dardel"): (640, 1150),
    ("resnet50", "nvidia-cluster"): (480, 920),
}


def log(model: str, cluster: str, precision: str, cards: int, rate: float) -> str:
    """The log of a training: `rate` is in images per second of a card."""
    devices = cards * DEVICES_OF_A_CARD[cluster]
    step_s = BATCH * devices / (rate * cards) * (1 + 0.01 * (cards - 1))
    rng = random.Random(f"{model} {cluster} {precision} {cards}")
    events: list[dict[str, object]] = [{
        "event": "run", "framework": "pytorch", "framework_version": "1.13.0", "model": model, "precision": precision,
        "dataset": "synthetic", "image_size": 224, "scaling": "weak", "micro_batch_size": BATCH,
        "global_batch_size": BATCH * devices, "nodes": 1, "devices": devices, "devices_per_node": devices,
        "device_model": CLUSTERS[cluster], "device_unit": "gcd" if cluster == "dardel" else "gpu",
        "steps_per_epoch": BATCHES, "epochs": EPOCHS, "warmup_steps": 0,
    }]  # fmt: skip
    for epoch in range(EPOCHS):
        times_s = [round(rng.gauss(step_s, step_s / 100), 6) for _ in range(BATCHES)]
        times_s[0] += FIRST_S if epoch == 0 else 0
        for batch, time_s in enumerate(times_s, 1):
            events.append({
                "event": "step", "phase": "train", "epoch": epoch, "step": epoch * BATCHES + batch, "step_s": time_s,
                "samples": BATCH * devices,
            })  # fmt: skip
        events.append({
            "event": "phase", "phase": "train", "epoch": epoch, "step": (epoch + 1) * BATCHES,
            "span_s": round(sum(times_s), 6), "samples": BATCH * devices * BATCHES,
        })  # fmt: skip
    return "".join(f":::SCALELENS {json.dumps({**event, 'rank': 0})}\n" for event in events)


def main(folder: Path) -> None:
    for (model, cluster), rates in RATES.items():
        for precision, rate in zip(("fp32", "amp"), rates, strict=True):
            for cards in CARDS:
                place = folder / cluster / model / f"{cluster}-{precision}-{cards}cards"
                place.mkdir(parents=True)
                (place / "train.log").write_text(log(model, cluster, precision, cards, rate))
    (folder / "scalelens.toml").write_text('templates = ["{system}/{model}/*/*"]\n')


if __name__ == "__main__":
    main(Path(sys.argv[1]))
