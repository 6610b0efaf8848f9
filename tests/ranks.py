"""Ranks of a runner as torchrun starts them, but as forks of one process: importing PyTorch takes longer than their work.

Some tests of the runners start them by torchrun itself; see running.py.
"""

import atexit
import multiprocessing
import os
import runpy
import sys
from multiprocessing.process import BaseProcess
from pathlib import Path

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    ["torch.distributed", "torch.optim", "megatron.core.models.gpt", "megatron.core.optimizer", "megatron.core.timers"]
)


def start_ranks(words: list[str], ranks: int, environment: dict[str, str], out: Path, err: Path) -> list[BaseProcess]:
    """Starts a runner's ranks, which print to two files.  `words` are the script and its options."""
    if ranks > 1:
        environment = {
            "WORLD_SIZE": str(ranks),
            "LOCAL_WORLD_SIZE": str(ranks),
            "MASTER_ADDR": "127.0.0.1",
            **environment,
        }
    started: list[BaseProcess] = []
    for rank in range(ranks):
        of_rank = {"RANK": str(rank), "LOCAL_RANK": str(rank)} if ranks > 1 else {}
        started.append(FORKS.Process(target=be_rank, args=(words, ranks, environment | of_rank, out, err), daemon=True))
        started[-1].start()
    return started


def be_rank(words: list[str], ranks: int, environment: dict[str, str], out: Path, err: Path) -> None:
    os.environ.update(environment)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:ranks])
    for stream, path in ((1, out), (2, err)):
        with path.open("a") as file:
            os.dup2(file.fileno(), stream)
    import torch

    torch.set_num_threads(1)
    sys.argv, sys.path[0] = words, str(Path(words[0]).parent)
    runpy.run_path(words[0], run_name="__main__")
    atexit._run_exitfuncs()  # a fork ends without: a runner writes the rest of its log there
