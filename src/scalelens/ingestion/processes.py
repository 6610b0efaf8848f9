"""Reads batches in several processes, and is fair to the other users of a login node."""

import concurrent.futures.process
import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from scalelens.errors import UserError
from scalelens.ingestion.batch import Contents, IngestOptions, Progress, known_contents, read_batch
from scalelens.ingestion.formats import Formats, load
from scalelens.ingestion.walk import WalkedFile
from scalelens.warehouse.log import Warehouse
from scalelens.warehouse.records import Entry

# Libraries with threads, which a copy of the process lacks.
_THREADED = {"duckdb", "polars", "torch", "scalelens.warehouse.bucket"}
_POLITE_JOBS = 4  # most workers outside a Slurm job, on a login node
_MOST_WAITED_S = 5  # for the thread of a pool whose workers were ended


def in_parallel(
    batches: list[list[WalkedFile]], options: IngestOptions, workers: int, progress: Progress
) -> Iterator[list[Entry]]:
    """Entries of each batch, in the order in which the batches end."""
    context = multiprocessing.get_context(start_method())
    counter = context.Value("q", 0)
    with concurrent.futures.ProcessPoolExecutor(workers, context, _start_worker, (options, counter)) as pool:
        reported = 0
        try:
            with undisturbed():
                try:
                    pending = {pool.submit(_work, batch) for batch in batches}
                except concurrent.futures.process.BrokenProcessPool:
                    raise
                except RuntimeError as error:  # no memory for the pool's threads
                    raise UserError(
                        f"no further processes can be started ({error})", "run the same command with --jobs 1"
                    ) from None
                except OSError:  # the pool is broken already and has closed its queues
                    raise concurrent.futures.process.BrokenProcessPool from None
            while pending:
                done, pending = concurrent.futures.wait(pending, 0.2, concurrent.futures.FIRST_COMPLETED)
                progress(counter.value - reported)
                reported = counter.value
                for future in done:
                    yield future.result()
        except BaseException as error:
            for process in list(pool._processes.values()):  # terminate workers before shutdown closes their queues
                process.terminate()
            manager: Any = pool._executor_manager_thread
            pool.shutdown(wait=False, cancel_futures=True)
            if manager is not None:
                manager.join(_MOST_WAITED_S)  # else it closes its pipe while Python writes to it on exit
            if isinstance(error, concurrent.futures.process.BrokenProcessPool):
                raise UserError(
                    "a worker process was ended from outside, perhaps for its memory",
                    "run the same command again with fewer --jobs: what was committed is kept",
                ) from None
            raise


@contextlib.contextmanager
def interruptible(progress: Progress) -> Iterator[Progress]:
    """Lets ^C end the work at the next report of progress; elsewhere Python may lose it.  A second ^C does not wait."""
    pressed: list[int] = []

    def note(number: int, frame: Any) -> None:
        if pressed:
            signal.default_int_handler(number, frame)
        pressed.append(number)

    def report(count: int) -> None:
        if pressed:
            raise KeyboardInterrupt
        progress(count)

    is_main_thread = threading.current_thread() is threading.main_thread()
    if not is_main_thread or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield progress
        return
    signal.signal(signal.SIGINT, note)
    try:
        yield report
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Starts processes safely: ^C waits and goes to the parent alone, and no worker runs the caller's script again."""
    main, sys.modules["__main__"] = sys.modules["__main__"], ModuleType("__main__")
    pressed: list[int] = []
    before: Any = None
    if threading.current_thread() is threading.main_thread():
        before = signal.signal(signal.SIGINT, lambda number, _: pressed.append(number))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # new processes inherit it
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if before is not None:
            signal.signal(signal.SIGINT, before)
        sys.modules["__main__"] = main
    if pressed and callable(before):
        before(pressed[0], None)


_worker: tuple[IngestOptions, Formats, Contents, Progress, Warehouse]


def _start_worker(options: IngestOptions, counter: Any) -> None:
    """Starts a worker: loads the formats and the list of known contents, and makes it end with its parent."""
    global _worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if "SLURM_JOB_ID" not in os.environ:
        os.nice(5)

    def progress(count: int) -> None:
        with counter.get_lock():
            counter.value += count

    formats = load(options.format_folders)
    store = Warehouse(options.warehouse)
    live, _ = store.read()
    _worker = (options, formats, known_contents(live, formats, options), progress, store)


def _end_with_parent() -> None:
    """Ends the worker when its parent is gone.  Workers of a parent that was killed would wait for work forever."""
    parent = multiprocessing.parent_process()
    if parent:
        parent.join()
        os._exit(1)


def _work(batch: list[WalkedFile]) -> list[Entry]:
    options, formats, contents, progress, store = _worker
    return read_batch(batch, options, formats, contents, progress, store)


def start_method() -> str:
    """How workers start: as a copy of this process, which saves each the imports, if it has no other thread.

    Another thread may hold a lock at the moment of the copy, and the copy would wait for that lock forever.
    """
    alone = threading.active_count() == 1 and not _THREADED & sys.modules.keys()
    return "fork" if sys.platform == "linux" and alone else "spawn"


def default_jobs() -> int:
    """How many workers are fair to others: as many as the cores available to us, outside a Slurm job at most four."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with contextlib.suppress(OSError, ValueError):
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        cores = max(1, min(cores, round(int(quota) / int(period))))
    return cores if "SLURM_JOB_ID" in os.environ else min(cores, _POLITE_JOBS)
