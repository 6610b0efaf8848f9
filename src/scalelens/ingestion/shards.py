"""Divides the files of an ingest among processes that know nothing about each other, such as the tasks of a job array.

A file goes to a shard by a hash of its path below the ingested folder, so every process finds the same division by
itself.  The files of one run may go to different shards: runs are put together when the warehouse is opened.
"""

import hashlib
import os
import re
import shlex
from pathlib import Path
from typing import NamedTuple

from scalelens.errors import UserError
from scalelens.ingestion.walk import WalkedFile

_REMEDY = "write --shard 1/8 for the first of eight, or --shard slurm in a job array without gaps"
_SCRIPT = """#!/bin/bash
#SBATCH --job-name=scalelens-ingest
#SBATCH --array=1-{count}
#SBATCH --cpus-per-task=4
#SBATCH --time=01:00:00
# Add what your center requires, such as --account and --partition.  A task that failed may be sent again by itself.
{command} --shard "$SLURM_ARRAY_TASK_ID/{count}" --jobs "${{SLURM_CPUS_PER_TASK:-1}}"
"""


class Shard(NamedTuple):
    """One of `total` parts of the work, numbered from 1."""

    number: int
    total: int

    def holds(self, file: WalkedFile) -> bool:
        """Whether a file belongs to this part.  Nodes may see the folder under different names: its own is left out."""
        path = file.path.removeprefix(file.root)
        return int.from_bytes(hashlib.blake2b(path.encode(), digest_size=8).digest()) % self.total == self.number - 1


def shard_of(text: str) -> Shard:
    """The shard that `2/8` names, or `slurm`: the task of a job array that this process is.  Raises UserError."""
    if text == "slurm":
        return _shard_of_task()
    found = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text)
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        raise UserError(f"'{text}' is not a shard", _REMEDY)
    return Shard(int(found[1]), int(found[2]))


def _shard_of_task() -> Shard:
    """The shard of a Slurm job array's task.  An array with gaps leaves open which task of how many this one is."""
    names = ("ID", "MIN", "MAX", "COUNT")
    try:
        number, first, last, count = (int(os.environ[f"SLURM_ARRAY_TASK_{name}"]) for name in names)
    except (KeyError, ValueError):
        raise UserError("this is not a task of a Slurm job array", _REMEDY) from None
    if last - first + 1 != count or not first <= number <= last:
        raise UserError(f"the job array has {count} tasks between {first} and {last}, so it has gaps", _REMEDY)
    return Shard(number - first + 1, count)


def job_array(
    count: int, paths: list[Path], warehouse: Path, flags: dict[str, bool], values: dict[str, list[str]]
) -> str:
    """The script of a Slurm job array whose tasks ingest a shard each.  Paths are absolute: jobs start anywhere."""
    words = ["scalelens", "ingest", *(str(path.resolve()) for path in paths), "-w", str(warehouse.resolve())]
    words += [name for name, is_on in flags.items() if is_on]
    words += [word for name, texts in values.items() for text in texts for word in (name, text)]
    return _SCRIPT.format(count=count, command=shlex.join(words))
