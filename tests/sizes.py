"""Logs of a training on several numbers of devices, with an efficiency that is known because they are made with it."""

from collections.abc import Mapping
from pathlib import Path

from scalelens.ingestion.ingest import ingest

STEPS = 40
BASE_S = 1.0  # of a step on the smallest size
# Of weak scaling, by devices.
EFFICIENCIES = {8: 1.0, 64: 0.97, 512: 0.938}


def write_log(path: Path, step_s: float, **facts: object) -> Path:
    """A CSV with a row a step; times differ by a thousandth, so that they have a median and no two are placeholders."""
    columns = {"step_time_s": step_s, **facts}
    rows = [
        [step, step_s * (1 + (step % 3 - 1) / 1000), *facts.values()]
        for step in range(1, STEPS + 1)
    ]  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(",".join(map(str, row)) for row in [["step", *columns], *rows]) + "\n")
    return path


def write_weak_study(folder: Path, efficiencies: Mapping[int, float] = EFFICIENCIES, **facts: object) -> Path:
    """A log a size, each in a folder of its own; every device does the same work."""
    for devices, efficiency in efficiencies.items():
        common = {"model": "resnet50", "system": "lumi", "device_model": "MI250X"}
        write_log(folder / f"w{devices}" / "train.csv", BASE_S / efficiency, devices=devices, **common, **facts)
    return folder


def ingested(folder: Path, home: Path) -> Path:
    """The warehouse of a folder."""
    ingest([folder], home)
    return home
