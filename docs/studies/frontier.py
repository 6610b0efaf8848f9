"""Writes the stand-in logs of the Frontier study: `python docs/studies/frontier.py FOLDER`.

The original logs are not public.  These are in the format of Megatron-DeepSpeed, so that the numbers of the article
on ORNL's training (The Next Platform, January 2024) come out: both strong efficiencies, the weak one, and the gain of
FlashAttention.  The article has no step time, no base of its efficiencies, no shape, and no number for tensor
parallelism across nodes: these are made up.
"""

import sys
from pathlib import Path
from typing import NamedTuple

from megatron_log import megatron_log

BATCH = 8000  # of strong scaling
NODE = 8  # GPUs, as the software counts them
SHAPES = {"175b": (96, 12288, 96), "1t": (128, 25600, 160)}  # layers, hidden size, heads


class Run(NamedTuple):
    """A run: its folder, which ends with its nodes, and what sets it apart."""

    name: str
    model: str
    devices: int
    batch: int
    step_s: float
    tp: int = 8
    pp: int = 16
    has_flash_attention: bool = True


def runs() -> list[Run]:
    base_s, base_1t_s = 1900.0, 1600.0
    return [
        Run("strong-175b-n16", "175b", 128, BATCH, base_s),
        Run("strong-175b-n128", "175b", 1024, BATCH, base_s * 128 / 1024 / 0.899),
        Run("strong-1t-n128", "1t", 1024, BATCH, base_1t_s, pp=64),
        Run("strong-1t-n384", "1t", 3072, BATCH, base_1t_s * 1024 / 3072 / 0.8705, pp=64),
        Run("weak-175b-n16", "175b", 128, 512, base_s / 16),
        Run("weak-175b-n128", "175b", 1024, 4096, base_s / 16),
        Run("no-flash-n16", "175b", 128, BATCH, base_s * 1.3, has_flash_attention=False),
        Run("tensor-8-n64", "175b", 512, 2560, base_s / 6),
        Run("tensor-16-n64", "175b", 512, 2560, base_s / 6 * 1.25, tp=16),
    ]


def log(run: Run) -> str:
    layers, hidden, heads = SHAPES[run.model]
    arguments = {
        "num_layers": layers, "hidden_size": hidden, "num_attention_heads": heads, "seq_length": 2048, "fp16": True,
        "padded_vocab_size": 50304, "micro_batch_size": 1, "global_batch_size": run.batch,
        "world_size": run.devices, "zero_stage": 1,
        "use_flash_attn": run.has_flash_attention,
    }  # fmt: skip
    return megatron_log(arguments, run.devices, (run.tp, run.pp), run.step_s)


def main(folder: Path) -> None:
    for run in runs():
        (folder / run.name).mkdir(parents=True)
        (folder / run.name / "train.log").write_text(log(run))
    facts = f'[facts]\nsystem = "frontier"\ndevice_unit = "gcd"\ndevices_per_node = {NODE}\n'
    (folder / "scalelens.toml").write_text(facts)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
