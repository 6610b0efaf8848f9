"""Writes the logs of 60 jobs on 24 nodes, one of which is slow: `python docs/studies/whose_fault.py FOLDER`.

All of it is made up.  Each job trains on four nodes for some minutes; n0042 computes 5 % slower, n0057 loses a GPU in
some jobs.  Jobs differ as identical jobs on a real system do: most by half a percent, one in eight by 10 %, and all
jobs of a congested night last longer.  A log is the output file of a Slurm job: its environment, Megatron's records,
how it ended.
"""

import random
import sys
from datetime import datetime, timedelta
from pathlib import Path

JOBS = 60
NODES = [f"n{number:04}" for number in range(36, 60)]
PER_JOB = 4
SLOW, SLOWER = "n0042", 0.051
LOSES_GPUS = "n0057"
STEPS = 60
STEP_S = 9.4
FIRST = datetime(2026, 11, 2, 6, 0)
CONGESTED = range(31, 35)  # jobs that shared the network with a large one
SAVED_EVERY = 20

_OUT_OF_MEMORY = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
_LOST = "NVRM: Xid (PCI:0000:8a:00): 79, pid=4711, GPU has fallen off the bus."


def log(job: int) -> str:
    """The output of one job, from 1."""
    rng = random.Random(job)
    nodes = sorted(rng.sample(NODES, PER_JOB))
    job_id = 4_711_000 + job
    step_s = STEP_S * (1 + rng.gauss(0, 0.005) + 0.1 * (rng.random() < 1 / 8))
    step_s *= 1 + SLOWER * (SLOW in nodes)
    step_s *= 1 + 0.08 * (job in CONGESTED)
    time = FIRST + job * timedelta(hours=4)
    ending = _ending(rng, nodes, job_id)
    last = STEPS if not ending else rng.randrange(10, STEPS)
    numbers = ",".join(node.removeprefix("n") for node in nodes)
    lines = [
        f"SLURM_JOB_ID={job_id}", f"SLURM_JOB_NUM_NODES={PER_JOB}", f"SLURM_JOB_NODELIST=n[{numbers}]",
        "SLURM_GPUS_ON_NODE=4",
    ]  # fmt: skip
    for step in range(1, last + 1):
        took = step_s * (1 + rng.gauss(0, 0.004))
        time += timedelta(seconds=took)
        lines.append(
            f" [{time:%F %T}.000000] iteration {step:8}/{STEPS:8} | consumed samples: {512 * step:12} | elapsed time "
            f"per iteration (ms): {1000 * took:.1f} | learning rate: 3.750E-05 | global batch size:   512 | "
            f"lm loss: {9 - step / 50:.6E} | number of skipped iterations:   0 | number of nan iterations:   0 |"
        )
        if step % SAVED_EVERY == 0:
            lines.append(f"  successfully saved checkpoint from iteration {step:7} to checkpoints")
    if not ending:
        lines.append("[after training is done] datetime: " + f"{time:%F %T}")
    ending = [line.format(time=f"{time + timedelta(seconds=40):%FT%T}") for line in ending]
    return "\n".join([*lines, *ending]) + "\n"


def _ending(rng: random.Random, nodes: list[str], job_id: int) -> list[str]:
    """Lines of a job that failed; none for one that completed."""
    if LOSES_GPUS in nodes and rng.random() < 0.7:
        return [_LOST, f"srun: error: {LOSES_GPUS}: task 5: Exited with exit code 1"]
    chance = rng.random()
    if chance < 0.05:
        return [f"[rank7]: {_OUT_OF_MEMORY}", f"srun: error: {nodes[1]}: task 7: Exited with exit code 1"]
    if chance < 0.1:
        return [f"slurmstepd: error: *** JOB {job_id} ON {nodes[0]} CANCELLED AT {{time}} DUE TO TIME LIMIT ***"]
    return []


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for job in range(1, JOBS + 1):
        (folder / f"slurm-{4_711_000 + job}.out").write_text(log(job))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
