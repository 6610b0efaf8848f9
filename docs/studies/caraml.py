"""Writes the stand-in folders of the CARAML study: `python docs/studies/caraml.py FOLDER`.

The original folders are not public.  These are two folders of JUBE as CARAML's benchmarks leave them, with the numbers
of the two tables of IPUs in John et al., P3HPC at SC'24 (arXiv 2409.12994): logs of Graphcore's examples, and jpwr's
energy of each IPU.  What the talk does not print is made up: the time of the first step, losses and accuracies.
"""

import sys
from pathlib import Path

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


def benchmark(folder: Path, model: str, devices: int, runs: list[tuple[int, str, float]]) -> None:
    """One folder of JUBE: a work package that trains for each batch, with the energy that jpwr reports."""
    packages = ""
    for number, (batch, log, energy_wh) in enumerate(runs):
        packages += package(
            number, "train", model=model, system_name="GC200", total_devices=devices, global_batch_size=batch
        )
        work = folder / f"{number:06}_train" / "work"
        work.mkdir(parents=True)
        (work / "train.log").write_text(log)
        energy = "".join(f"gc:{ipu},{energy_wh}\n" for ipu in range(devices))
        (work / "energy.jrc0900.1.csv").write_text(",0\n" + energy)
    (folder / "workpackages.xml").write_text(f"<workpackages>\n{packages}</workpackages>\n")


def main(folder: Path) -> None:
    gpt = [(batch, gpt_log(batch, rate), energy_wh) for batch, rate, energy_wh in GPT]
    resnet = [(batch, resnet_log(batch, rate), energy_wh) for batch, rate, energy_wh in RESNET]
    benchmark(folder / "llm_training" / "000000", "gpt-117m", 4, gpt)
    benchmark(folder / "resnet50" / "000000", "resnet50", 1, resnet)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
