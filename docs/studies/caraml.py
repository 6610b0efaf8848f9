"""Writes the stand-in folders of the CARAML study: `python docs/studies/caraml.py FOLDER`.

The original folders are not public.  These are folders of JUBE as CARAML's benchmarks leave them.  Those of IPUs have
the numbers of the two tables in John et al., P3HPC at SC'24 (arXiv 2409.12994): logs of Graphcore's examples, and
jpwr's energy of each IPU.  Those of GPUs have the ratios that the talk states, between made-up numbers.  What else the
talk does not print is made up: the time of the first step, losses, and ResNet-50 on two and four IPUs.
"""

import sys
from pathlib import Path
from typing import NamedTuple

from megatron_log import RECORDS, megatron_log

IMAGES = 1_281_167  # of an epoch
STEPS = 4  # of an epoch of GPT

# batch, sequences per second of four IPUs, watt-hours of each IPU for an epoch
GPT = (
    (64, 64.99, 15.68),
    (128, 97.21, 18.20),
    (256, 129.96, 18.37),
    (512, 155.72, 18.56),
    (1024, 172.94, 19.07),
    (2048, 183.37, 20.05),
    (4096, 188.88, 21.88),
    (8192, 191.86, 25.47),
    (16384, 193.41, 33.00),
)
# batch, images per second of one IPU, watt-hours for an epoch
RESNET = (
    (16, 1827.72, 32.09),
    (32, 1857.90, 31.73),
    (64, 1879.29, 31.75),
    (128, 1888.11, 31.67),
    (256, 1887.23, 31.58),
    (512, 1891.74, 31.49),
    (1024, 1893.07, 31.50),
    (2048, 1889.87, 31.53),
    (4096, 1891.58, 31.51),
)
# images per second of two and of four IPUs, by the batch.  The talk states that the best is a batch of 16 on two
MORE_IPUS = {
    2: (2150, 1900, 1940, 1980, 2010, 2030, 2050, 2060, 2070),
    4: (1500, 1620, 1730, 1820, 1890, 1940, 1980, 2010, 2030),
}


class Gpus(NamedTuple):
    """A system with GPUs: `rate` is the throughput of a device over that of an A100, `power_w` that of a device."""

    name: str
    devices: int
    rate: float
    power_w: float


# The ratios that the talk states: 20 % and 2.45 (GH200), 1.3 and 1.6 (H100), 1.6, 1.3 and 1.7 (MI250)
A100_W = 300.0
JEDI_W = 530.0
PCIE_W = 305.0
GPUS = (
    Gpus("A100", 4, 1, A100_W),
    Gpus("GH200-JEDI", 4, 2.45 / 1.2, JEDI_W),
    Gpus("GH200-JRDC", 1, 2.45, JEDI_W * 1.21),
    Gpus("H100-PCIe", 4, 1.25, PCIE_W),
    Gpus("H100-SXM5", 4, 1.25 * 1.3, PCIE_W * 1.6),
    Gpus("MI250-GPU", 4, 1 / 1.6, A100_W * 1.3),
    Gpus("MI250-GCD", 4, 1.02 / 1.6, A100_W * 1.3 / 1.7),
)
GPU_BATCHES = (8, 32, 128, 512)
RUN_S = 3600.0  # the ratios of tokens for a watt-hour follow from the others only for equal times
A100_SAMPLES_PER_S, HALF_BATCH = 10.0, 24  # of a device with a large batch, and the batch with half of it


def gpu_run(gpus: Gpus, batch: int) -> tuple[int, str, float]:
    """A batch, the log of Megatron-LM of about RUN_S with it, and the watt-hours of each device."""
    load = batch / (batch + HALF_BATCH)
    step_s = batch / (gpus.devices * gpus.rate * A100_SAMPLES_PER_S * load)
    interval = round(RUN_S / RECORDS / step_s)
    arguments: dict[str, object] = {
        "num_layers": 16, "hidden_size": 2048, "num_attention_heads": 16, "seq_length": 2048, "bf16": True,
        "padded_vocab_size": 50304, "micro_batch_size": 2, "global_batch_size": batch, "log_interval": interval,
    }  # fmt: skip
    log = megatron_log(arguments, gpus.devices, (1, 1), step_s, interval=interval)
    power_w = gpus.power_w * (0.9 + 0.1 * load)
    return batch, log, power_w * interval * RECORDS * step_s / 3600


def gpt_log(batch: int, rate: float) -> str:
    """GPT-2 in PyTorch: the first step holds the compilation."""
    times_s = [300.0, *[batch / rate] * STEPS]
    return "".join(
        f"step {step} of epoch 0, loss: 10.8, acc: 2.0e-05, lr: 7.5e-05, throughput: {batch / time_s:.6f} samples/sec, "
        f"step_time: {time_s:.9f}\n"
        for step, time_s in enumerate(times_s)
    )


def resnet_log(batch: int, rate: float) -> str:
    """ResNet-50 in TensorFlow: records of an epoch; the last batch holds what is left of the images."""
    whole = (IMAGES - 1) // batch
    records = [(1, batch), *((whole * n // 10, batch) for n in range(1, 11)), (whole + 1, IMAGES - whole * batch)]
    return "".join(
        f"step: {step}, iteration: {step}, epoch: {step / (whole + 1):.2f}, lr: 0.1, loss: 6.9, top-1 accuracy: 0.1%, "
        f"img/sec: {rate}, time: {images / rate:.9f}, total_time: {step * batch / rate:.1f}\n"
        for step, images in records
    )


def package(number: int, step: str, parent: str = "", **parameters: object) -> str:
    """A work package of JUBE."""
    values = "".join(
        f'<parameter name="{name}"><value>{value}</value></parameter>' for name, value in parameters.items()
    )
    return (
        f'<workpackage id="{number}"><step iteration="0" cycle="0">{step}</step><parameterset>{values}</parameterset>'
        f"<parents>{parent}</parents></workpackage>\n"
    )


def benchmark(
    folder: Path, model: str, system: str, devices: int, runs: list[tuple[int, str, float | None]], sensor: str = "gc"
) -> None:
    """One folder of JUBE: a work package that trains for each batch, with the energy that jpwr reports."""
    packages = ""
    for number, (batch, log, energy_wh) in enumerate(runs):
        packages += package(
            number, "train", model=model, system_name=system, total_devices=devices, global_batch_size=batch
        )
        work = folder / f"{number:06}_train" / "work"
        work.mkdir(parents=True)
        (work / "train.log").write_text(log)
        if energy_wh:
            energy = "".join(f"{sensor}:{device},{energy_wh}\n" for device in range(devices))
            (work / "energy.jrc0900.1.csv").write_text(",0\n" + energy)
    (folder / "workpackages.xml").write_text(f"<workpackages>\n{packages}</workpackages>\n")


def main(folder: Path) -> None:
    gpt = [(batch, gpt_log(batch, rate), energy_wh) for batch, rate, energy_wh in GPT]
    resnet = [(batch, resnet_log(batch, rate), energy_wh) for batch, rate, energy_wh in RESNET]
    benchmark(folder / "llm_training" / "000000", "gpt-117m", "GC200", 4, gpt)
    benchmark(folder / "resnet50" / "000000", "resnet50", "GC200", 1, resnet)
    for number, (ipus, rates) in enumerate(MORE_IPUS.items(), 1):
        more = [(batch, resnet_log(batch, rate), None) for (batch, *_), rate in zip(RESNET, rates, strict=True)]
        benchmark(folder / "resnet50" / f"{number:06}", "resnet50", "GC200", ipus, more)
    for number, gpus in enumerate(GPUS, 1):
        place = folder / "llm_training" / f"{number:06}"
        runs = [gpu_run(gpus, batch) for batch in GPU_BATCHES]
        benchmark(place, "gpt-800m", gpus.name, gpus.devices, runs, "rocm" if "MI250" in gpus.name else "pynvml")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
