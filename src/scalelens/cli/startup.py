"""Leaves out what a process that answers and ends has no use for: a tenth of the time of a small question."""

import gc
import os

_COLLECTED_AFTER = 50_000  # new objects


def reduce_overhead(words: list[str]) -> None:
    """Spares a command, of these first words, work of Python and numpy.

    Modules bring many objects and no garbage: the collector has little to do while they load.  numpy starts a thread
    for each core, and each waits by spinning; no command needs them.  `bench` hands its environment to the training,
    which may.
    """
    gc.set_threshold(_COLLECTED_AFTER)
    if words != ["bench"]:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
