"""Writes the stand-in logs of the TAMU study: `python docs/studies/tamu.py FOLDER`.

The original logs are not public.  These are in the format of Graphcore's examples, and of Keras, with the numbers of
tables 1 to 4 of Nasari et al., PEARC'22, doi 10.1145/3491418.3530772.  What the paper does not print is made up: the
batches of an update, the first epoch of Keras, losses and accuracies.  No ratio rests on it.
"""

import sys
from pathlib import Path

IMAGES = 1_281_167  # training images of ImageNet-1k
BATCH = 1024  # images of an IPU in an update of table 1: made up
MICRO_BATCHES = 64  # of all IPUs together in an update of table 3: made up, the paper says roughly constant

# IPUs, instances, images per second in the first and in the second epoch
TABLE_1 = (
    (1, 1, 1113.0, 1862.9),
    (2, 2, 1538.2, 3717.2),
    (4, 4, 1893.9, 7078.1),
    (8, 8, 2233.7, 13931.7),
    (16, 8, 2189.7, 23082.9),
    (16, 16, 2256.2, 18532.6),
)
# model, IPUs of a replica, replicas, items per second
TABLE_2 = (
    ("efficientnet-b0", 2, 2, 8905.0),
    ("efficientnet-b4", 4, 4, 4200.0),
    ("mobilenet_v3_small", 1, 4, 7222.6),
    ("mobilenet_v3_large", 1, 16, 7347.6),
    ("bert-base-uncased", 4, 1, 1297.0),
)
# micro-batch, IPUs, images per second, seconds of training
TABLE_3 = (
    (2, 1, 786, 1948.5),
    (4, 1, 1181, 1297.3),
    (8, 1, 1608, 952.8),
    (14, 1, 1884, 813.0),
    (16, 1, 2030, 754.5),
    (18, 1, 2033, 753.6),
    (20, 1, 2130, 719.4),
    (20, 2, 3895, 393.4),
    (20, 4, 7804, 196.4),
    (20, 8, 15274, 99.7),
    (20, 16, 30170, 50.5),
    (20, 64, 107535, 11.8),
)
# device, devices, micro-batch, seconds of the second epoch
TABLE_4 = (
    ("a100", 2, 512, 8.1),
    ("a100", 2, 256, 11.7),
    ("a100", 2, 128, 21.8),
    ("a100", 2, 10, 255.5),
    ("a100", 1, 10, 259.0),
    ("ipu", 1, 10, 23.7),
    ("ipu", 2, 10, 13.5),
    ("ipu", 4, 10, 9.0),
    ("ipu", 8, 10, 6.3),
    ("ipu", 16, 10, 4.9),
)
IMAGES_4 = 70_000  # to which table 4 scales its epochs
RECORDS_3 = 9  # besides that of the first step

SIDECAR = """templates = [
    "table1/ipus-{devices}_*/*", "table2/{model}_*/*", "table3/batch-{micro_batch_size}_ipus-{devices}/*",
]

[facts]
model = "resnet50"
"""
MODEL_4 = 'model = "residual autoencoder on MNIST"\n'
SIDECARS_4 = {
    "a100": f'{MODEL_4}device_model = "NVIDIA A100 PCIe 40GB"\ndevice_unit = "gpu"\n',
    "ipu": f'{MODEL_4}device_model = "Graphcore GC200 IPU"\ndevice_unit = "ipu"\n',
}


def poprun(replicas: int, ipus_per_replica: int, instances: int) -> str:
    """What poprun prints before a program."""
    return (
        f"10:10:50.203 1 POPRUN [I] Running command: mpirun '-np' '{instances}' "
        f"'-x' 'POPDIST_NUM_TOTAL_REPLICAS={replicas}' '-x' 'POPDIST_NUM_IPUS_PER_REPLICA={ipus_per_replica}' "
        "'python3' 'train.py'\n"
    )


def epochs(batch: int, batches: int, rates: tuple[float, ...]) -> str:
    """What Graphcore's CNNs in PyTorch print of epochs."""
    log = ""
    for epoch, rate in enumerate(rates, 1):
        minutes, seconds = divmod(round(batch * batches / rate), 60)
        log += (
            f"Loss:6.9 | Accuracy:0.10%: 100%|##########| {batches}/{batches} [{minutes:02}:{seconds:02}<00:00]\n"
            f"[INFO] Epoch {epoch}\n[INFO] loss: 6.9,\n[INFO] accuracy: 0.10 %\n[INFO] throughput: {rate} samples/sec\n"
        )
    return log


def pytorch(ipus: int, instances: int, rates: tuple[float, ...]) -> str:
    """A training of table 1."""
    batch = BATCH * ipus
    log = f"[INFO] Total replicas: {ipus}\n[INFO] Global batch size: {batch}\n[INFO] Number of IPUs required: {ipus}\n"
    return poprun(ipus, 1, instances) + log + epochs(batch, IMAGES // batch, rates)


def other_models(model: str, ipus_per_replica: int, replicas: int, rate: float) -> str:
    """A training of table 2: two epochs alike, because the paper gives one throughput."""
    if model.startswith("bert"):
        records = (
            f"Epoch: {n // 5}, Step:{n % 5}, LR=1.21e-05, loss=2.750, throughput={rate} samples/s\n" for n in range(10)
        )
        return poprun(replicas, ipus_per_replica, 1) + "".join(records)
    return (
        poprun(replicas, ipus_per_replica, 1)
        + f"[INFO] Global batch size: {BATCH}\n"
        + epochs(BATCH, 1251, (rate, rate))
    )


def tensorflow(micro_batch: int, rate: float, train_s: float) -> str:
    """What Graphcore's CNNs in TensorFlow 1 print, ten times within a training."""
    step_s = micro_batch * MICRO_BATCHES / rate
    steps = [1, *(round(train_s / step_s * n / RECORDS_3) for n in range(1, RECORDS_3 + 1))]
    records = (
        f"step: {n:6}, iteration: {n:6}, epoch: {0.9 * n / steps[-1]:6.2f}, lr: 0.1, loss: 6.9, top-1 accuracy: 0.1%, "
        f"img/sec: {rate:.2f}, time: {step_s:.9f}, total_time: {step_s * n:.1f}\n"
        for n in steps
    )
    return "".join(records)


def keras(devices: int, micro_batch: int, epoch_s: float) -> str:
    """Two epochs in Keras, whose bar has whole seconds.  The first one, with compilation, is made up."""
    batches = IMAGES_4 // (micro_batch * devices)
    return "".join(
        f"Epoch {n}/2\n{batches}/{batches} [==============================] - {seconds:.0f}s "
        f"{1000 * seconds / batches:.0f}ms/step - loss: 0.0450\n"
        for n, seconds in enumerate((3 * epoch_s, epoch_s), 1)
    )


def main(folder: Path) -> None:
    logs = {
        f"table1/ipus-{ipus}_instances-{instances}": pytorch(ipus, instances, rates)
        for ipus, instances, *rates in TABLE_1
    }
    logs |= {
        f"table2/{model}_replicas-{replicas}": other_models(model, ipus, replicas, rate)
        for model, ipus, replicas, rate in TABLE_2
    }
    logs |= {f"table3/batch-{batch}_ipus-{ipus}": tensorflow(batch, *others) for batch, ipus, *others in TABLE_3}
    logs |= {
        f"table4/{device}-{devices}_batch-{batch}": keras(devices, batch, s) for device, devices, batch, s in TABLE_4
    }
    for name, log in logs.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "train.log").write_text(log)
    for device, devices, batch, _ in TABLE_4:
        facts = f"devices = {devices}\ndp = {devices}\nmicro_batch_size = {batch}\n"
        path = folder / f"table4/{device}-{devices}_batch-{batch}" / "scalelens.toml"
        path.write_text(f"[facts]\n{SIDECARS_4[device]}{facts}")
    (folder / "scalelens.toml").write_text(SIDECAR)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
