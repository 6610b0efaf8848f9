"""Leaves out what a process that answers and ends has no use for: a tenth of the time of a small question."""

import atexit
import gc
import os
import sys
import threading

_COLLECTED_AFTER = 200_000  # new objects; loading all formats makes half as many


def reduce_overhead(words: list[str]) -> None:
    """Spares a command, of these first words, work of Python and numpy.

    Modules bring many objects and no garbage: the collector has little to do while they load.  numpy starts a thread
    for each core, and each waits by spinning; no command needs them.  `bench` hands its environment to the training,
    which may.
    """
    gc.set_threshold(_COLLECTED_AFTER)
    if not os.environ.get("POLARS_MAX_THREADS", "1").strip("0").isdigit():  # polars ends the process that says 0
        del os.environ["POLARS_MAX_THREADS"]
    if words != ["bench"]:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def open_streams() -> None:
    """Opens what the caller has closed, so that no file of ours gets the number of stdout, and is written to as such.

    Whoever writes a result to a stdout that was closed is told so: it is open for reading alone.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            handle = os.open(os.devnull, os.O_WRONLY if name == "stderr" else os.O_RDONLY)
            if handle != number:
                os.dup2(handle, number)
                os.close(handle)
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115


def end_process(code: int) -> None:
    """Ends this process at once, where no thread is left to wait for.

    To take down numpy, Arrow and DuckDB object by object takes a tenth of the time of a small question, and the system
    takes all of it back in any case.
    """
    if threading.active_count() > 1:
        return
    atexit._run_exitfuncs()  # what removes temporary folders, and closes connections
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        return  # Python itself says what is wrong with them
    os._exit(code)
