"""Folders into which a launcher writes the output of each rank, and nothing else says which rank that is.

torchrun --log-dir logs ...     logs/none_ab12cd/attempt_0/3/stdout.log     local rank 3 of the first launch
"""

import re
from typing import NamedTuple

_TORCHRUN = re.compile(r"(.*/attempt_\d{1,4})/(\d{1,4})/(stdout|stderr)\.log(?:\.\w{1,4})?\Z")


class _RankFile(NamedTuple):
    """The output of one rank of a launch."""

    launch: str  # the folder of the launch
    local_rank: int
    is_errors: bool

    @property
    def place(self) -> str:
        return f"local_rank {self.local_rank}"


def rank_file(path: str) -> _RankFile | None:
    """What the path of a file says, if torchrun wrote it."""
    if "/attempt_" not in path:
        return None
    match = _TORCHRUN.match(path)
    return _RankFile(match[1], int(match[2]), match[3] == "stderr") if match else None
